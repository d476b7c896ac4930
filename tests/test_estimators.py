"""The classifiers: scikit-learn's conventions, and the same numbers as the references."""

import pickle
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from cases import all_cases, random_stream
from reference import kernel_expansion
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

import budgetrun
from budgetrun import learners
from budgetrun.estimators import CLASSIFIERS

BY_NAME = {next(iter(made._learners.values())).name: made for made in CLASSIFIERS.values()}
REQUIRED = {"shrinking_perceptron": {"phi": 0.99}}


def make(name, **given):
    return BY_NAME[name](**{**REQUIRED.get(name, {}), **given})


def test_every_learner_has_a_classifier():
    assert sorted(BY_NAME) == sorted(learners.registry())
    assert set(CLASSIFIERS) == {"Perceptron", "RemoveOldest", "ShrinkingPerceptron", "Forgetron", "CKS", "RBP"}
    assert budgetrun.Forgetron is CLASSIFIERS["Forgetron"]


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_check_estimator(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = check_estimator(make(name), on_fail=None)
    assert [(c["check_name"], c["exception"]) for c in checks if c["status"] == "failed"] == []
    # The one exception: array libraries other than numpy.
    assert {c["check_name"] for c in checks if c["status"] == "skipped"} <= {"check_array_api_input"}


@pytest.mark.parametrize("case_id", [case[0] for case in all_cases()])
def test_same_as_the_reference_however_the_stream_is_cut(case_id):
    name, variant, parameters, function = next(rest for i, *rest in all_cases() if i == case_id)
    X, y = random_stream(T=150)
    trace = function(X, y, kernel_expansion.gaussian(0.5))
    given = parameters | ({"variant": variant} if variant else {})
    whole = make(name, gamma=0.5, **given).fit(X, y)
    pieces = make(name, gamma=0.5, **given)
    for start, end in [(0, 1), (1, 4), (4, 70), (70, 71), (71, 150)]:
        pieces.partial_fit(X[start:end], y[start:end], classes=[-1, 1])
        pieces = pickle.loads(pickle.dumps(pieces))
    for fitted in (whole, pieces):
        assert fitted.mistakes_ == sum(trace.mistakes)
        assert fitted.n_rounds_ == 150
        np.testing.assert_allclose(fitted.weights_, trace.alpha[-1], rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(fitted.support_set_, X[trace.active[-1]])
    k = kernel_expansion.gaussian(0.5)
    points = np.random.default_rng(5).normal(size=(7, 2))
    alpha = dict(zip(trace.active[-1], trace.alpha[-1], strict=True))
    expected = [kernel_expansion.value(alpha, X, x, k) for x in points]
    np.testing.assert_allclose(whole.decision_function(points), expected, atol=1e-12)


@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array])
@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_sparse_and_dense_agree(name, container):
    rng = np.random.default_rng(0)
    X = rng.random((200, 30)) * (rng.random((200, 30)) < 0.2)
    y = np.where(X[:, 0] + X[:, 1] > 0.1, "yes", "no")
    dense, sparse = make(name, gamma=0.5).fit(X, y), make(name, gamma=0.5).fit(container(X), y)
    assert dense.mistakes_ == sparse.mistakes_
    np.testing.assert_allclose(dense.decision_function(X), sparse.decision_function(container(X)), atol=1e-10)
    assert list(dense.classes_) == ["no", "yes"]


def test_memory_stays_as_small_as_the_budget():
    rng = np.random.default_rng(1)
    for variant in ("basic", "self_tuned", "greedy"):
        model = budgetrun.Forgetron(variant=variant, budget=20, gamma=1.0)
        for _ in range(40):
            X = rng.normal(size=(500, 3))
            model.partial_fit(X, rng.choice([0, 1], 500), classes=[0, 1])
        assert len(model.weights_) == 20
        assert model._group.pool.capacity < 200
        assert len(pickle.dumps(model)) < 60_000


def test_sigma_is_another_way_to_say_gamma():
    X, y = random_stream()
    one = budgetrun.RBP(budget=10, sigma=2.0).fit(X, y)
    other = budgetrun.RBP(budget=10, gamma=0.125).fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X))
    assert clone(one).get_params()["sigma"] == 2.0


def test_seed_is_the_learner_s_own():
    X, y = random_stream()
    runs = [budgetrun.RBP(budget=10, seed=s, gamma=0.5).fit(X, y).weights_.tolist() for s in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"budget": 0}, "budget must be an integer >= 1, got 0"),
        ({"budget": 2.5}, "budget must be an integer >= 1, got 2.5"),
        ({"variant": "bold"}, "variant must be one of basic, greedy, self_tuned, got 'bold'"),
        ({"kernel": "gauss"}, "kernel must be one of gaussian, linear, polynomial, got 'gauss'"),
        ({"gamma": -1.0}, "gamma must be a number > 0, got -1.0"),
        ({"gamma": 1.0, "sigma": 1.0}, "the gaussian kernel takes either gamma or sigma (gamma = 1 / (2 sigma^2))"),
        ({"tie": "skip"}, "tie must be one of mistake, positive, got 'skip'"),
        ({"dtype": "float16"}, "dtype must be one of float64, float32, got 'float16'"),
    ],
)
def test_bad_parameters(given, sentence):
    X, y = random_stream()
    with pytest.raises(ValueError, match=re.escape(sentence)):
        budgetrun.Forgetron(**given).fit(X, y)


def test_bad_calls():
    X, y = random_stream()
    with pytest.raises(TypeError, match="Forgetron has no argument 'bugdet'; it takes variant, budget"):
        budgetrun.Forgetron(bugdet=3)
    with pytest.raises(TypeError, match="ShrinkingPerceptron needs the argument 'phi'"):
        budgetrun.ShrinkingPerceptron()
    with pytest.raises(NotFittedError):
        budgetrun.CKS().predict(X)
    with pytest.raises(ValueError, match=r"one class only \(\[1.0\]\) and two are needed"):
        budgetrun.CKS().fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        budgetrun.CKS().fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match=r"y has labels \[5\] that are not among the classes \[-1, 1\]"):
        budgetrun.CKS().partial_fit(X, y, classes=[-1, 1]).partial_fit(X, np.where(y > 0, 5, -1))
    with pytest.raises(ValueError, match="NaN"):
        budgetrun.CKS().fit(np.where(X > 0, np.nan, X), y)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = budgetrun.Nothing


def test_overflow_is_an_error_and_not_a_nan():
    X = np.full((4, 1), 1e200)
    with pytest.raises(FloatingPointError, match="kernel overflows float64 on this data"):
        budgetrun.Perceptron(kernel="polynomial", degree=3).fit(X, [0, 1, 0, 1])
