"""Examples with odd keys, values and labels in river's classes: they count as numbers, or nothing changes."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentences import one_sentence

pytestmark = pytest.mark.faults

river = pytest.importorskip("budgetrun.river")

KEYS = st.sampled_from(["a", "b", "", " a", "é", "a\n", "\x1b[1m", "\ud800", "a is missing", 0, 1, -1, 2**70, True])
KEYS |= st.sampled_from([1.0, math.nan, None, ("a", 1), (), frozenset(), b"a", Fraction(1, 2), np.int64(7), "x" * 500])
GOOD = [0, 1, -2.5, True, np.float32(0.5), np.int8(3), np.bool_(True), Fraction(1, 3), Decimal("0.25"), 1e-320, 1e30]
ODD = [
    math.nan, math.inf, -math.inf, None, "", "1", "red", 10**400, 10**5000, 1j, b"1", [1.0], (2,), {}, {"a": 1}, pd.NA,
    pd.NaT, np.array(1.5), np.array([1.0]), np.array([1.0, 2.0]), np.nan, object, np.datetime64("2024-01-01"),
]  # fmt: skip
VALUES = st.sampled_from(GOOD * 4 + ODD)
LABELS = [
    0, 1, True, "spam", "ham", 1.0, np.int64(1), np.str_("spam"), ("a",), None, math.nan, [1], {}, "\ud800", pd.NA,
]  # fmt: skip
TARGETS = [
    0, 1.5, -2, True, np.float32(3), Fraction(1, 2), 1e200, math.inf, math.nan, None, "1", 10**400, [1], 1j, pd.NA,
]  # fmt: skip
EXAMPLES = st.dictionaries(KEYS, VALUES, max_size=4) | st.sampled_from([{}, {"a": 1.0}, {"a": -1.0, "b": 2.0}])
WRONG = st.sampled_from([None, [], "a", 1, [("a", 1.0)], pd.Series({"a": 1.0}), np.zeros(2), set()])
HELD = [{"a": 1.0, "b": -2.0}, {"a": 0.5, 1: 2.0}, {}]


def is_missing(value):
    return value is None or value is pd.NA or (isinstance(value, float | np.floating) and value != value)


def scores(model):
    """Return what a model says of some examples."""
    return [np.asarray(model._score_of(x)).tolist() for x in HELD]


def refused(call, *given):
    """Return whether a call is refused with one sentence."""
    try:
        call(*given)
    except (ValueError, TypeError) as error:
        one_sentence(error, most=900)
        return True
    return False


@st.composite
def calls(draw, labels):
    """Draw calls: one example or a table of several, with their labels."""
    found = []
    for _ in range(draw(st.integers(1, 8))):
        if draw(st.integers(0, 3)):
            x = draw(EXAMPLES) if draw(st.integers(0, 9)) else draw(WRONG)
            found.append(("learn_one", x, draw(st.sampled_from(labels))))
            continue
        keys = draw(st.lists(st.sampled_from(["a", "b", 1, "é\n"]), min_size=1, max_size=3))
        rows = draw(st.lists(st.lists(VALUES, min_size=len(keys), max_size=len(keys)), max_size=3))
        frame = pd.DataFrame([[*row] for row in rows], columns=keys, dtype=object)
        frame = frame.infer_objects() if draw(st.booleans()) else frame
        few = draw(st.lists(st.sampled_from(labels), min_size=len(rows), max_size=len(rows) + draw(st.booleans())))
        found.append(("learn_many", frame, pd.Series(few, dtype=object)))
    return found


def check(model, twin, calls, code):
    """Feed a model, and its twin only with what the model took, as plain floats; they say the same."""
    total, n = {}, 0
    for name, given_x, y in calls:
        before, labels = scores(model), dict(getattr(model, "labels", {}))
        if refused(getattr(model, name), given_x, y):
            assert scores(model) == before
            assert dict(getattr(model, "labels", {})) == labels
            continue
        rows = [(given_x, y)]
        if name == "learn_many":
            each = zip(given_x.values, y, strict=True)
            rows = [(dict(zip(given_x.columns, row, strict=True)), label) for row, label in each]
        for x, label in rows:
            lost = [key for key, value in x.items() if is_missing(value)]
            plain = {key: float(0 if key in lost else value) for key, value in x.items()}
            plain |= {key: total.get(key, 0.0) / max(1, n) for key in lost}
            plain |= {(key, "is missing"): 1.0 for key in lost}
            assert all(map(math.isfinite, plain.values()))
            twin.learn_one(plain, code(label))
            n += 1
            for key, value in plain.items():
                total[key] = total.get(key, 0.0) + value
    assert scores(model) == scores(twin)
    assert np.isfinite(scores(model)).all()
    for x in [*HELD, *(x for name, x, _ in calls if name == "learn_one")]:
        refused(model.predict_one, x)


@given(calls=calls(LABELS))
def test_examples_of_a_classifier(calls):
    check(river.RBP(budget=2), river.RBP(budget=2), calls, lambda label: label)


@given(calls=calls(TARGETS))
def test_examples_of_a_regressor(calls):
    models = [river.KLMS(budget=3, step=0.5) for _ in range(2)]
    check(*models, calls, float)


@given(calls=calls(LABELS))
def test_examples_of_several_classes(calls):
    models = [river.Perceptron(classes=[0, "spam", ("a",)]) for _ in range(2)]
    check(*models, calls, lambda label: label)
