"""SelectingClassifier in river: the same predictions as on rows, also as keys of the examples come and go."""

import numpy as np
import pandas as pd
import pytest

from budgetrun import NORMA, RBP
from budgetrun import SelectingClassifier as Estimator

river = pytest.importorskip("budgetrun.river")

GIVEN = {
    "estimators": [RBP(budget=20), NORMA(budget=20)],
    "grid": [{"gamma": [0.01, 0.5, 5]}, {"gamma": [0.5]}],
    "rule": "racing",
    "rule_parameters": {"confidence": 0.9},
}


def stream(n):
    X = np.random.default_rng(1).normal(size=(n, 3))
    return X, X[:, 0] * X[:, 1] > 0


def test_it_predicts_what_the_estimator_does():
    X, y = stream(400)
    model, known = river.SelectingClassifier(**GIVEN), Estimator(**GIVEN)
    known.partial_fit(X[:1], y[:1], classes=[False, True])
    model.learn_one(dict(enumerate(X[0])), bool(y[0]))
    mistakes = 0
    for x, label in zip(X[1:], y[1:].tolist(), strict=True):
        example = dict(enumerate(x))
        predicted = model.predict_one(example)
        mistakes += predicted != label
        assert predicted == known.predict(x[None])[0]
        model.learn_one(example, label)
        known.partial_fit(x[None], [label])
    assert model.estimator.mistakes_ == known.mistakes_
    assert 0 < mistakes < 150
    assert (known.candidate_weights_ == 0).any()
    twin = model.clone()
    assert twin.estimator is None
    twin.learn_many(pd.DataFrame(X), pd.Series(y))
    assert twin.estimator.mistakes_ == known.mistakes_
    np.testing.assert_array_equal(twin.estimator.candidate_weights_, known.candidate_weights_)


def test_features_move_after_a_candidate_has_left():
    X, y = stream(100)
    group = Estimator([RBP(budget=20), RBP(budget=5)], grid={"gamma": [0.5, 1]}).fit(X, y)._group
    group.rule.live[:] = [False, True, False, False]
    group._drop(~group.rule.live)
    before = group.score(X[:9])
    assert group.features_in_use().all()
    group.rearrange([0, 1, 2], 5)
    np.testing.assert_array_equal(group.score(np.hstack([X[:9], np.zeros((9, 2))])), before)


def test_keys_come_and_go():
    X, y = stream(200)
    plain, moving = river.SelectingClassifier(**GIVEN), river.SelectingClassifier(**GIVEN)
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        example = dict(zip("abc", x.tolist(), strict=True))
        # A key that is 0 need not be there; here, it has another name in every round.
        named = {f"new {t}": 0.0, **example}
        assert moving.predict_one(named) == plain.predict_one(example)
        plain.learn_one(example, label)
        moving.learn_one(named, label)
    assert len(moving.column_of) < 100
    assert 0 <= moving.predict_proba_one(example)[True] <= 1
