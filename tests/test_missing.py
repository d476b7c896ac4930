"""Missing values in estimators and river's classes: filled with means, and told by features of their own."""

import copy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from faults import raises

import budgetrun
from budgetrun.estimators import base

river = pytest.importorskip("budgetrun.river")
RNG = np.random.default_rng(0)
WHOLE = RNG.normal(size=(160, 4)) + 2
LABELS = (WHOLE[:, 0] * WHOLE[:, 1] > 4).astype(int)
GAPS = np.where(RNG.random(WHOLE.shape) < 0.1, np.nan, WHOLE)
GAPS[:9] = WHOLE[:9]


def filled(X):
    """Return rows as a plain loop fills them: the values, then what was missing."""
    rows, total, count = [], [0.0] * X.shape[1], [0] * X.shape[1]
    for x in X.tolist():
        gone = [value != value for value in x]
        rows.append([total[j] / max(count[j], 1) if gone[j] else x[j] for j in range(len(x))] + [*map(float, gone)])
        for j, value in enumerate(x):
            total[j], count[j] = total[j] + (0.0 if gone[j] else value), count[j] + (not gone[j])
    return np.array(rows)


MODELS = [
    budgetrun.RBP(budget=20), budgetrun.Forgetron(budget=20, gamma=0.3), budgetrun.FOGD(features=20, gamma=0.3),
    budgetrun.KLMS(budget=30), budgetrun.Ahpatron(budget=20, probabilities=True),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_rows_with_gaps_are_those_of_a_plain_loop(model, monkeypatch, reloaded):
    monkeypatch.setattr(base, "_EARLY", 100)
    numbers = isinstance(model, budgetrun.KLMS)
    options = {} if numbers else {"classes": [0, 1]}
    expected = copy.deepcopy(model).partial_fit(filled(GAPS), LABELS, **options)
    for starts in ([0], [0, 4, 9, 10, 50, 101], [*range(160)]):
        found = copy.deepcopy(model)
        for start, end in zip(starts, [*starts[1:], 160], strict=True):
            found.partial_fit(GAPS[start:end], LABELS[start:end], **options)
            if end == 50:
                found = reloaded(found)
        assert (found.n_features_in_, found.n_rounds_) == (4, 160)
        if not isinstance(model, budgetrun.FOGD):
            np.testing.assert_array_equal(found.support_set_, expected.support_set_)
            means = np.nanmean(GAPS, axis=0)
            row = np.array([[np.nan, 1, 2, 3]])
            full = [[means[0], 1, 2, 3, 1, 0, 0, 0]]
            np.testing.assert_allclose(found.predict(row), expected.predict(full), rtol=1e-12)
            if not numbers:
                scores = found.decision_function(row), expected.decision_function(full)
                np.testing.assert_allclose(*scores, rtol=1e-9)
            np.testing.assert_array_equal(found.predict(WHOLE[:5]), [found.predict(x[None])[0] for x in WHOLE[:5]])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_sparse_rows_count_in_means_and_may_come_after_gaps(model):
    options = {} if isinstance(model, budgetrun.KLMS) else {"classes": [0, 1]}
    dense, mixed = copy.deepcopy(model), copy.deepcopy(model)
    forms = np.asarray, sp.csr_array, np.asarray, sp.csr_array
    for start, end, form in zip((0, 9, 60, 110), (9, 60, 110, 160), forms, strict=True):
        for one, rows in ((dense, GAPS[start:end]), (mixed, form(GAPS[start:end]))):
            one.partial_fit(rows, LABELS[start:end], **options)
    np.testing.assert_array_equal(mixed.predict(sp.csr_array(GAPS)), dense.predict(GAPS))
    np.testing.assert_array_equal(mixed.typical, dense.typical)
    np.testing.assert_array_equal(mixed._values(GAPS), dense._values(GAPS))


def test_none_is_missing_and_other_values_are_refused():
    model = budgetrun.RBP(budget=9).fit(GAPS, LABELS)
    objects = np.where(np.isnan(GAPS), None, GAPS.astype(object))
    np.testing.assert_array_equal(budgetrun.RBP(budget=9).fit(objects, LABELS).weights_, model.weights_)
    before = model.decision_function(GAPS)
    for X, y in ((np.where(np.isnan(GAPS), np.inf, GAPS), LABELS), (GAPS, LABELS + 3)):
        raises(ValueError, r"infinity|not among", model.partial_fit, X, y)
        np.testing.assert_array_equal(model.decision_function(GAPS), before)
    for strict in (budgetrun.RBP(budget=9, missing="refuse"), budgetrun.SelectingClassifier(budgetrun.RBP(budget=9))):
        raises(ValueError, "Input X contains NaN", strict.fit, GAPS, LABELS)
    raises(ValueError, "Input X contains NaN", budgetrun.RBP(budget=9).fit, sp.csr_array(GAPS), LABELS)
    tasks = budgetrun.RBP(budget=9, kernel="multitask", n_tasks=2, gamma=0.5).fit(np.c_[WHOLE, LABELS], LABELS)
    for use in (tasks.fit, tasks.partial_fit):
        raises(ValueError, "Input X contains NaN", use, np.c_[GAPS, LABELS], LABELS)
    with pytest.raises(ValueError, match="missing must be one of fill, refuse, got 'drop'"):
        budgetrun.RBP(missing="drop").fit(WHOLE, LABELS)


@pytest.mark.parametrize("none", [None, np.nan, pd.NA, np.float32("nan")])
def test_river_fills_like_the_estimator(none):
    one, many, twin = (river.RBP(budget=20) for _ in range(3))
    for i, (x, y) in enumerate(zip(GAPS, LABELS.tolist(), strict=True)):
        one.learn_one({j: none if v != v else v for j, v in enumerate(x)}, y)
        row = filled(GAPS[: i + 1])[-1]
        lost = {(j, "is missing"): 1.0 for j in range(4) if row[4 + j]}
        # The mean of all rows before, with what was filled in them: the same up to rounding.
        twin.learn_one(dict(enumerate(row[:4])) | lost, y)
    for start in range(0, 160, 50):
        many.learn_many(pd.DataFrame(GAPS[start : start + 50]), pd.Series(LABELS[start : start + 50]))
    table = pd.DataFrame(GAPS)
    scores = [model._scores_of(table) for model in (one, many, twin)]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert one.estimator.mistakes_ == twin.estimator.mistakes_
    np.testing.assert_allclose(scores[0], [one._score_of(dict(enumerate(x))) for x in GAPS], rtol=1e-9)
    strict = river.RBP(budget=20, missing="refuse")
    raises(ValueError, r"feature 'a' must be a finite number, got", strict.learn_one, {"a": none}, True)
