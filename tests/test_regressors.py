"""The regressors: scikit-learn's conventions, and the numbers of the engine."""

import copy
import doctest

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EXHAUSTIVE
from estimating import failed_checks, in_pieces
from faults import raises
from sklearn.base import is_regressor
from sklearn.metrics import r2_score

import budgetrun
from budgetrun import engine, learners
from budgetrun.estimators import CLASSIFIERS, REGRESSORS
from budgetrun.kernels import Gaussian

BY_NAME = {next(iter(made._learners.values())).name: made for made in REGRESSORS.values()}
GIVEN = {name: {"gamma": 0.3} for name in BY_NAME}
for name in ("klms", "nogd", "fogd"):
    GIVEN[name]["step"] = 0.1


def stream(T=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(T, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=T)


def test_every_regression_learner_has_a_regressor():
    assert sorted(BY_NAME) == sorted(learners.registry("regression"))
    assert {"KLMS", "KRLS", "NOGDRegressor"} <= set(REGRESSORS)
    assert budgetrun.KRLS is REGRESSORS["KRLS"]
    assert not REGRESSORS.keys() & CLASSIFIERS.keys()
    assert all(is_regressor(made()) for made in REGRESSORS.values())


@pytest.mark.parametrize("name", BY_NAME if EXHAUSTIVE else ["klms", "krls", "nogd", "fogd"])
def test_check_estimator(name):
    assert failed_checks(BY_NAME[name]()) == []


@pytest.mark.parametrize("name", BY_NAME)
def test_calls_of_any_size_are_one_pass_of_the_engine(name, reloaded):
    X, y = stream()
    made = BY_NAME[name]
    whole = made(**GIVEN[name]).fit(X, y)
    pieces = in_pieces(made(**GIVEN[name]), X, y)
    np.testing.assert_allclose(pieces.weights_, whole.weights_, rtol=1e-7, atol=1e-8)
    learner = learners.find(name, task="regression")
    given = {key: value for key, value in whole.get_params().items() if key in learners.parameters(learner)}
    group = engine.Group(Gaussian(gamma=0.3), [learner(**given)])
    group.feed(X, y[None])
    np.testing.assert_allclose(whole.predict(X), engine.score(group.members[0], X), rtol=1e-7, atol=1e-8)
    assert whole.score(X, y) == r2_score(y, whole.predict(X))
    sparse = made(**GIVEN[name]).fit(sp.csr_array(X), y)
    if name != "auto":
        # It subtracts no means from sparse rows.
        np.testing.assert_allclose(sparse.predict(X), whole.predict(X), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(reloaded(whole).predict(X), whole.predict(X))


def test_single_rows_are_rounds():
    X, y = stream()
    fitted = budgetrun.QKLMS(gamma=0.3, epsilon=0.5).fit(X, y)
    model = budgetrun.QKLMS(gamma=0.3, epsilon=0.5)
    for i in range(len(y)):
        model.learn_one(X[i] if i % 2 else X[i].tolist(), y[i] if i % 3 else float(y[i]))
        if i == 100:
            model = copy.deepcopy(model)
    np.testing.assert_array_equal(model.weights_, fitted.weights_)
    assert [model.predict_one(x) for x in X[:9]] == fitted.predict(X[:9]).tolist()
    assert model.predict(X[:1]).tolist() == fitted.predict(X[:1]).tolist()
    raises(ValueError, "Input y contains NaN", model.learn_one, X[0], np.nan)
    raises(ValueError, "Input X contains infinity", model.learn_one, np.full(3, np.inf), 1.0)
    model.step = 0.1
    raises(ValueError, r"fitted with step=0.9, now 0.1: call fit", model.learn_one, X[0], 1.0)


def test_what_regressors_refuse():
    X, y = stream()
    raises(TypeError, "KLMS has no argument 'tie'", budgetrun.KLMS, tie="positive")
    raises(ValueError, "KLMS takes no sample_weight", budgetrun.KLMS().fit, X, y, sample_weight=np.ones(len(y)))
    raises(ValueError, "could not convert string to float", budgetrun.KLMS().fit, X, ["a"] * len(y))
    raises(ValueError, "budget must be an integer >= 1, got 0", budgetrun.KLMS(budget=0).fit, X, y)


@pytest.mark.parametrize("made", REGRESSORS.values(), ids=REGRESSORS)
def test_pages(made):
    text = made.__doc__
    assert "mistake" not in text
    assert "classes_" not in text
    for argument in made().get_params():
        assert f"\n{argument} : " in text or argument in ("coef0",)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(doctest.DocTestParser().get_doctest(text, {}, made.__name__, None, 0))
    assert (runner.failures, runner.tries > 2) == (0, True)
