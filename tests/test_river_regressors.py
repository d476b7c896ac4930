"""The regressors for river: its own checks, the numbers of the estimators, and keys that come and go."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from cases import EXHAUSTIVE

from budgetrun.estimators import REGRESSORS as ESTIMATORS

pytest.importorskip("river", reason="river is not installed: pip install 'budgetrun[river]'")

from river import checks, datasets, evaluate, metrics, preprocessing

from budgetrun import river as models

REGRESSORS = models.REGRESSORS
of_learner = pytest.mark.parametrize("name", REGRESSORS)
# The parameters that have no default, and small budgets.
ALL = {"gamma": 0.5, "step": 0.1, "budget": 20}
GIVEN = {
    name: {key: value for key, value in ALL.items() if key in inspect.signature(made).parameters}
    for name, made in REGRESSORS.items()
}
GIVEN["FOGDRegressor"]["features"] = 20
# Random frequencies belong to columns.
BY_COLUMN = ("FOGDRegressor", "RakerRegressor", "AdaRakerRegressor")


def make(name, **given):
    return REGRESSORS[name](**(GIVEN[name] | given))


def stream(T=130, d=6, seed=0):
    """Rows of eighths, so that sums over features are exact in any order, and numbers."""
    rng = np.random.default_rng(seed)
    X = np.round(8 * rng.normal(size=(T, d))) / 8
    return X, np.round(np.sin(X[:, 0]) + X[:, 1] / 2, 3)


def dicts(X):
    return [dict(zip("abcdefghijkl", row, strict=False)) for row in X.tolist()]


def learned(model, examples, y):
    for x, label in zip(examples, y.tolist(), strict=True):
        model.learn_one(x, label)
    return model


# Its checks take seconds for each, and all have one adapter.
@pytest.mark.parametrize("name", REGRESSORS if EXHAUSTIVE else ["KLMS", "NOGDRegressor", "FOGDRegressor"])
def test_check_estimator(name, monkeypatch):
    if not (EXHAUSTIVE and name == "KLMS"):
        monkeypatch.setattr(checks, "_yield_datasets", lambda model, scale=1: [list(datasets.TrumpApproval().take(10))])
    skipped = {"check_shuffle_features_no_impact"} if name in BY_COLUMN else set()
    for check in checks.yield_checks(make(name)):
        if check.__name__ not in skipped:
            check(make(name))


def test_every_regression_learner_has_a_regressor():
    assert REGRESSORS.keys() == ESTIMATORS.keys()
    assert models.KRLS is REGRESSORS["KRLS"]
    for name, made in REGRESSORS.items():
        assert list(inspect.signature(made).parameters) == list(inspect.signature(ESTIMATORS[name]).parameters)
        for word in ("probabilities", "mistake", "classes"):
            assert word not in made.__doc__


@of_learner
def test_the_numbers_of_the_estimator_one_by_one_and_in_tables(name):
    X, y = stream(T=80)
    model, estimator = make(name), ESTIMATORS[name](**GIVEN[name])
    assert model.predict_one({"a": 1.0}) == 0.0
    predicted = []
    for x, row, label in zip(dicts(X), X, y.tolist(), strict=True):
        predicted.append(model.predict_one(x))
        if hasattr(estimator, "_group"):
            assert predicted[-1] == estimator.predict_one(row)
        model.learn_one(x, label)
        estimator.learn_one(row, label)
    np.testing.assert_array_equal(model.estimator.weights_, estimator.weights_)
    table = pd.DataFrame(dicts(X), index=range(7, 7 + len(y)))
    found = model.predict_many(table)
    assert found.index.equals(table.index)
    np.testing.assert_allclose(found, [model.predict_one(x) for x in dicts(X)], rtol=1e-9, atol=1e-9)
    for size in (1, 50, 1000) if EXHAUSTIVE else (50,):
        many = make(name)
        assert many.predict_many(table).tolist() == [0.0] * len(y)
        for start in range(0, len(y), size):
            many.learn_many(table[start : start + size], pd.Series(y[start : start + size]))
        np.testing.assert_array_equal(many.estimator.weights_, estimator.weights_)


@pytest.mark.parametrize("name", [name for name in REGRESSORS if name not in BY_COLUMN])
def test_keys_may_come_and_go(name):
    """The numbers are those of a run in which all keys are known from the start."""
    X, y = stream()
    growing = [
        {key: value for j, (key, value) in enumerate(x.items()) if value and t >= 15 * j}
        for t, x in enumerate(dicts(X))
    ]
    whole = [{key: x.get(key, 0.0) for key in "abcdef"} for x in growing]
    grown, known = learned(make(name), growing, y), learned(make(name), whole, y)
    grown = pickle.loads(pickle.dumps(grown))
    np.testing.assert_array_equal(grown.estimator.weights_, known.estimator.weights_)
    new = {"a": 0.5, "new": 2.0}
    columns = dict(grown.column_of)
    assert grown.predict_one(new) == pytest.approx(known.predict_one(new), rel=1e-12, abs=1e-15)
    assert grown.column_of == columns


def test_what_regressors_refuse():
    model = make("KLMS")
    for label in ("a", None, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="the label must be a finite number, got "):
            model.learn_one({"a": 1.0}, label)
    with pytest.raises(ValueError, match=r"feature 'a' is the text 'x': use preprocessing\.OneHotEncoder"):
        model.learn_one({"a": "x"}, 1.0)
    assert model.estimator is None
    model.learn_one({"a": 1.0}, True)
    with pytest.raises(ValueError, match="feature 'b' must be a finite number, got nan"):
        model.predict_one({"b": float("nan")})
    with pytest.raises(ValueError, match="X has 1 rows, but y has 2 labels"):
        model.learn_many(pd.DataFrame([{"a": 1.0}]), pd.Series([1.0, 2.0]))
    with pytest.raises(ValueError, match="budget must be an integer >= 1, got 0"):
        make("KLMS", budget=0).learn_one({"a": 1.0}, 1.0)
    with pytest.raises(TypeError, match="KLMS has no argument 'probabilities'"):
        make("KLMS", probabilities=True)


def test_progressive_validation():
    model = preprocessing.StandardScaler() | models.KRLS(budget=50, gamma=0.1)
    found = evaluate.progressive_val_score(datasets.TrumpApproval().take(300), model, metrics.MAE())
    assert 0 < found.get() < 5
