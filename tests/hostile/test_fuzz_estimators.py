"""Classifiers on extreme data and parameters: scores are finite, or a sentence says what to change."""

import inspect
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from faults import raises
from hypothesis import given
from hypothesis import strategies as st
from sentences import or_one_sentence

import budgetrun
from budgetrun.base.errors import InputError, OutOfRangeError
from budgetrun.engine import Group
from budgetrun.estimators import CLASSIFIERS
from budgetrun.kernels import Linear
from budgetrun.learners import find

pytestmark = pytest.mark.faults

BASE = np.random.default_rng(0).normal(size=(40, 3))
Y = np.where(BASE[:, 0] + BASE[:, 1] ** 2 > 0.5, 1, 0)
SIZES = [5e-324, 1e-300, 1e-160, 1e-80, 1e-10, 0.0, 1.0, 1e8, 1e30, 1e80, 1e150, 1e160, 1e200, 1e300]
NUMBERS = [0, 1e-320, 1e-170, 1e-100, 1e-50, 1e-5, 0.1, 0.5, 1, 1 + 1e-9, 2, 10, 10**9, 1e50, 1e100, 1e308, -1, 10**30]
NUMBERS += [np.inf, np.nan]
FORMS = {
    "dense": lambda X: X, "csr": sp.csr_array, "csc": sp.csc_matrix, "fortran": np.asfortranarray,
    "every_other": lambda X: np.repeat(X, 2, axis=1)[:, ::2], "object": lambda X: X.astype(object),
    "list": np.ndarray.tolist,
}  # fmt: skip
# Refused as a whole before the first round, so that what was learned stays.
WRONG = {"narrow": BASE[:, :2], "nan": BASE * np.nan, "none": BASE[:0], "huge": BASE * 1e300}

# Random features approximate this kernel, or all kernels have its form.
ONLY_GAUSSIAN = ("AdaRaker", "DualSGD", "FOGD", "IOKS", "OKS", "Raker")


def arguments(classifier):
    """Return values of the arguments that must be given, for a classifier of this kind."""
    given = inspect.signature(classifier).parameters.values()
    values = {p.name: 0.5 if p.name in ("epsilon", "phi") else 4 for p in given if p.default is p.empty}
    return values | {name: 10 for name in ("budget", "features") if name in inspect.signature(classifier).parameters}


@st.composite
def examples(draw):
    X = BASE.copy()
    for column in range(3):
        X[:, column] *= draw(st.sampled_from(SIZES))
    X += draw(st.sampled_from([0, 0, 0, 1, 1e8, 1e160]))
    match draw(st.sampled_from(["all", "all", "few", "equal", "one_far"])):
        case "few":
            X = X[:2]
        case "equal":
            X[:] = X[0]
        case "one_far":
            X[20] = draw(st.sampled_from(SIZES))
    # scikit-learn refuses infinite values.
    return X if draw(st.booleans()) else np.clip(X, -1e36, 1e36).astype("f4")


@given(data=st.data())
def test_scores_are_finite_or_refused_in_a_sentence(data):
    finite_or_refused(data, sorted(CLASSIFIERS))


@pytest.mark.compiled
@given(data=st.data())
def test_compiled_scores_are_finite_or_refused_in_a_sentence(data):
    finite_or_refused(data, ["Forgetron"])


def finite_or_refused(data, names):
    name = data.draw(st.sampled_from(names))
    classifier = CLASSIFIERS[name]
    own = arguments(classifier)
    kernels = ["gaussian"] if name in ONLY_GAUSSIAN else ["gaussian", "linear", "polynomial", "multitask"]
    kernel = data.draw(st.sampled_from(kernels))
    own |= {"kernel": kernel, "n_tasks": 4, "dtype": data.draw(st.sampled_from(["float64", "float32"]))}
    numeric = [key for key, p in inspect.signature(classifier).parameters.items() if key not in ("kernel", "dtype")]
    for key in data.draw(st.lists(st.sampled_from(numeric), max_size=2)):
        own[key] = data.draw(st.sampled_from(NUMBERS))
    several = classifier._several and data.draw(st.booleans())
    X = data.draw(examples())
    if kernel == "multitask" and data.draw(st.booleans()):
        X[:, -1] = np.arange(len(X)) % 4
    y = np.arange(len(X)) % (3 if several and len(X) > 2 else 2) if data.draw(st.booleans()) else Y[: len(X)]
    given = FORMS[data.draw(st.sampled_from(sorted(FORMS)))](X)
    with or_one_sentence(most=2000, lines=9, kinds=(InputError, ValueError)):
        fitted = classifier(**own).fit(given, y)
        fitted.partial_fit(given, y)
        if hasattr(fitted, "averaged"):
            fitted.averaged = data.draw(st.booleans())
        scores = fitted.decision_function(given)
        assert np.isfinite(scores).all()
        assert set(fitted.predict(given)) <= set(y)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).decision_function(given), scores)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_refused_call_changes_nothing(name):
    kernel = "gaussian" if name in ONLY_GAUSSIAN else "linear"
    fitted = CLASSIFIERS[name](**arguments(CLASSIFIERS[name]), kernel=kernel, missing="refuse").fit(BASE, Y)
    before = fitted.decision_function(BASE)
    for X in (X for key, X in WRONG.items() if key != "huge" or kernel == "linear"):
        raises(ValueError, r"overflows|features|NaN|minimum", fitted.partial_fit, X, Y[: len(X)])
    raises(ValueError, "not among the classes", fitted.partial_fit, BASE, Y + 5)
    np.testing.assert_array_equal(fitted.decision_function(BASE), before)
    assert fitted.n_rounds_ == len(BASE)


def test_a_call_that_fails_half_way_leaves_nothing_fitted():
    fitted = budgetrun.Perceptron(kernel="linear").fit(BASE, Y)
    X = np.vstack([BASE] * 10)
    X[300] = 1e300
    raises(ValueError, r"rounds 321 to 384: the linear kernel overflows float64", fitted.partial_fit, X, np.tile(Y, 10))
    raises(ValueError, "not fitted yet", fitted.predict, BASE)


@pytest.mark.parametrize(("raised", "said"), [
    (ZeroDivisionError("division by zero"), "numbers are out of range (division by zero); scale the examples, or "),
    (OverflowError(34, "too large"), "numbers are out of range ((34, 'too large')); scale the examples, or "),
    (np.linalg.LinAlgError("Singular"), "numbers are out of range (Singular); scale the examples, or "),
    # The next score is the first one that is not finite.
    (None, "the scores are not finite; scale the examples, or "),
])  # fmt: skip
def test_one_sentence_names_learner_and_round(raised, said):
    acted = []

    class Faulty(find("perceptron")):
        alike_until_full = None

        def update(self, f, y, score):
            if f.size == 3:
                acted.append(f.now)
                if raised is not None:
                    raise raised
                f.add(float("nan"))
            f.add(y)

    group = Group(Linear(), [Faulty(), find("perceptron")()], isolate=(Exception,))
    for start in range(0, 40, 10):
        scores = group.feed(BASE[start : start + 10], (2 * Y - 1)[None, start : start + 10])
    failed, good = group.members
    assert str(failed.error) == f"perceptron, round {acted[0] + (raised is None)}: {said}choose less extreme parameters"
    assert isinstance(failed.error, OutOfRangeError)
    assert good.error is None
    assert np.isfinite(scores[1]).all()


def test_frequencies_that_do_not_fit_into_memory():
    with pytest.raises(InputError, match=r"1,000,000 random frequencies of 784 features need 12\.5 GB"):
        budgetrun.FOGD(features=1_000_000, step=0.1).fit(np.ones((2, 784)), [0, 1])
    with pytest.raises(ValueError, match=r"features must be at most 1,000,000, got 1,000,000,000"):
        budgetrun.FOGD(features=10**9, step=0.1).fit(BASE, Y)
