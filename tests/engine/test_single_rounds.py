"""Rounds of one example, whose state stays in compiled code, have the bits of rounds in blocks."""

import copy
import pickle

import numpy as np
import pytest
from cases import EXHAUSTIVE
from faults import raises
from sklearn.base import clone

from budgetrun import estimators, river
from budgetrun.base.errors import OutOfRangeError
from budgetrun.engine import Group, group
from budgetrun.kernels import Gaussian, Linear, Polynomial
from budgetrun.learners import bpa, forgetron, perceptron, rbp

pytestmark = pytest.mark.compiled

T, D = 700, 11
LEARNERS = {
    "perceptron": lambda: perceptron.Perceptron(),
    "rbp": lambda: rbp.RBP(budget=30, seed=3),
    "self_tuned": lambda: forgetron.SelfTunedForgetron(budget=30),
    "greedy": lambda: forgetron.GreedyForgetron(budget=30),
}
CLASSIFIERS = {
    "perceptron": lambda: estimators.Perceptron(gamma=0.02),
    "rbp": lambda: estimators.RBP(budget=30, seed=3, gamma=0.02),
    "self_tuned": lambda: estimators.Forgetron(budget=30, gamma=0.02),
    "auto gamma": lambda: estimators.Forgetron(budget=30),
}
GAUSSIAN = Gaussian(gamma=0.02)
# "widening": bits, then integers, then floats. Each learner, kernel and kind is compiled, so not all combinations.
CASES = [("perceptron", GAUSSIAN, "widening"), ("rbp", GAUSSIAN, "bits"), ("self_tuned", Linear(), "floats")]
if EXHAUSTIVE:
    CASES += [
        ("perceptron", Polynomial(degree=2, gamma=0.1), "integers"),
        ("perceptron", Linear(), "floats"),
        ("self_tuned", GAUSSIAN, "widening"),
        ("self_tuned", GAUSSIAN, "bits"),
        ("greedy", GAUSSIAN, "floats"),
    ]


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(group, "_PATIENCE", 0)


def stream(kind, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(T, D)).astype(float)
    if kind != "bits":
        X *= rng.integers(-9, 10, size=(T, D))
    if kind == "floats":
        X += rng.normal(size=(T, D))
    if kind == "widening":
        X[:150] = X[:150] != 0
        X[400:] += 0.5
    return X, np.where(rng.random(T) < 0.3, -1, 1) * np.where(X[:, 0] + X[:, 1] > 0.7, 1, -1)


def cuts(rng, longest):
    """Divide a stream into calls: mostly runs of single rows, and blocks."""
    start = 0
    while start < T:
        sizes = [1] * int(rng.integers(1, 90)) if rng.random() < 0.8 else [int(rng.integers(2, longest))]
        for size in sizes:
            if start < T:
                yield slice(start, min(start + size, T))
                start += size


@pytest.mark.parametrize(("name", "kernel", "kind"), CASES, ids=str)
def test_scores_and_hypotheses_are_those_of_blocks(name, kernel, kind):
    X, y = stream(kind)
    whole, single = (Group(kernel, [LEARNERS[name]()], tie="positive") for _ in range(2))
    scores = whole.feed(X, y[None])[0]
    rng = np.random.default_rng(1)
    short = 0
    for rows in cuts(rng, 100):
        one = single.feed_one(X[rows.start], int(y[rows.start])) if rows.stop - rows.start == 1 else None
        if one is not None:
            short += 1
            assert single.pool.dtype.type(one) == scores[rows.start]
            if rng.random() < 0.9:
                continue
            given = single.members[0].hypothesis.scores
        else:
            given = single.feed(X[rows], y[None, rows])[0]
        np.testing.assert_array_equal(given, scores[rows])
    assert short > T / 2
    f, g = whole.members[0].hypothesis, single.members[0].hypothesis
    for attribute in ("coef", "rounds", "support_set", "mistakes", "updates", "largest_size", "norm_sq"):
        np.testing.assert_array_equal(getattr(f, attribute), getattr(g, attribute))
    assert single.rounds == whole.rounds
    assert single.pool.used <= len(g.held) + 1


def test_the_memory_of_a_model_as_river_measures_it_is_without_compiled_code():
    X, y = stream("floats")
    model = river.RBP(budget=30, gamma=0.02, probabilities=False)
    for x, label in zip(X[:50], y[:50], strict=True):
        model.learn_one(dict(enumerate(x)), bool(label > 0))
    assert model.estimator._group._single is not None
    assert model._raw_memory_usage < 100_000


def test_rounds_whose_updates_are_not_compiled_are_played_by_feed():
    X, y = stream("floats")
    whole, single = (Group(GAUSSIAN, [bpa.ProjectingBPA(budget=30)], tie="positive") for _ in range(2))
    scores = whole.feed(X, y[None])[0]
    ones = []
    for t in range(T):
        one = single.feed_one(X[t], int(y[t]))
        ones.append(one)
        assert scores[t] == (single.feed(X[t : t + 1], y[None, t : t + 1]) if one is None else one)
    assert None in ones[100:]
    assert len([one for one in ones if one is not None]) > T / 2
    np.testing.assert_array_equal(single.members[0].hypothesis.coef, whole.members[0].hypothesis.coef)


MIXED = [(name, kind) for name, kernel, kind in CASES if kernel == GAUSSIAN and name in CLASSIFIERS]


@pytest.mark.parametrize(("name", "kind"), [*MIXED, ("auto gamma", "floats"), ("auto gamma", "widening")])
def test_calls_of_a_classifier_can_be_mixed(name, kind, monkeypatch):
    monkeypatch.setattr("budgetrun.estimators.base._EARLY", 300)
    X, y = stream(kind)
    labels = np.array(["no", "yes"])[(y > 0).astype(int)]
    fitted = CLASSIFIERS[name]().fit(X, labels)
    mixed = CLASSIFIERS[name]().fit(X[:100], labels[:100])
    rng = np.random.default_rng(2)
    at = 100
    while at < T:
        way = rng.integers(5)
        if way == 0:
            n = int(rng.integers(1, 80))
            mixed.partial_fit(X[at : at + n], labels[at : at + n])
            at += n
            continue
        for i in range(at, min(at + int(rng.integers(1, 60)), T)):
            if way == 1:
                mixed.partial_fit(X[i : i + 1], labels[i : i + 1])
            elif way == 2:
                mixed.partial_fit(X[i : i + 1].tolist(), [labels[i]])
            else:
                assert mixed.decision_one(X[i]) == mixed.decision_function(X[i - 1 : i + 1])[1]
                mixed.learn_one(X[i].tolist() if way == 3 else X[i], labels[i])
            at = i + 1
        if rng.random() < 0.3:
            mixed = copy.deepcopy(mixed) if rng.random() < 0.5 else pickle.loads(pickle.dumps(mixed))
    np.testing.assert_array_equal(mixed.weights_, fitted.weights_)
    np.testing.assert_array_equal(mixed.support_set_, fitted.support_set_)
    assert (mixed.n_rounds_, mixed.mistakes_) == (fitted.n_rounds_, fitted.mistakes_)
    for decide in (mixed.decision_one, lambda x: mixed.decision_function(x[None])[0]):
        np.testing.assert_array_equal([decide(x) for x in X[:50]], fitted.decision_function(X[:50]))
    assert [mixed.predict_one(x) for x in X[:50]] == fitted.predict(X[:50]).tolist()
    # Missing values are the means of all rows.
    gaps = np.where(np.arange(D) < 5, np.nan, X[:50])
    np.testing.assert_allclose(mixed.decision_function(gaps), fitted.decision_function(gaps), rtol=1e-9)
    np.testing.assert_array_equal([mixed.predict(x[None])[0] for x in X[:50]], fitted.predict(X[:50]))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_in_the_middle_of_a_tile_are_independent(duplicate):
    X, y = stream("bits")
    model = estimators.Forgetron(budget=30, gamma=0.02).fit(X[:130], y[:130])
    for i in range(130, 170):
        model.learn_one(X[i], y[i])
    other, fresh = duplicate(model), clone(model)
    assert not hasattr(fresh, "classes_")
    for i in range(170, 400):
        model.learn_one(X[i], y[i])
        other.learn_one(X[T - i], -y[T - i])
        if i == 300:
            other = duplicate(other)
    back = T - np.arange(170, 400)
    for got, X_rest, y_rest in ((model, X[170:400], y[170:400]), (other, X[back], -y[back])):
        fresh.fit(np.vstack([X[:170], X_rest]), np.concatenate([y[:170], y_rest]))
        np.testing.assert_array_equal(got.weights_, fresh.weights_)
        np.testing.assert_array_equal(got.decision_function(X), fresh.decision_function(X))


def test_rows_that_are_not_numbers_are_refused_and_change_nothing():
    X, y = stream("floats")
    model = estimators.Perceptron(gamma=0.02, missing="refuse").fit(X[:100], y[:100])
    model.learn_one(X[100], y[100])
    before = model.decision_function(X)
    huge, nan = np.full(D, 1e200), np.full(D, np.nan)
    for row, label, sentence in (
        (nan, 1, "Input X contains NaN"),
        (np.full(D, np.inf), 1, "Input X contains infinity"),
        (X[0][:-1], 1, f"X has {D - 1} features, but Perceptron is expecting {D} features"),
        (X[0], 7, r"y has labels \[7\] that are not among the classes \[-1, 1\]"),
        (X[0] * 1j, 1, "Complex data not supported"),
        (["a"] * D, 1, "could not convert string to float"),
    ):
        for call in (
            lambda row=row, label=label: model.learn_one(row, label),
            lambda row=row, label=label: model.partial_fit(np.asarray(row)[None], [label]),
        ):
            raises(ValueError, sentence, call)
        if label == 1:
            raises(ValueError, sentence, model.decision_one, row)
            raises(ValueError, sentence, model.predict, np.asarray(row)[None])
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert model.n_rounds_ == 101
    with pytest.raises(OutOfRangeError, match=f"rounds {T + 1} to {T + 1}: .* kernel overflows float64"):
        estimators.Perceptron(kernel="polynomial").fit(X, y).learn_one(huge, 1)


def test_scores_that_overflow_are_an_error():
    one = Group(Linear(), [perceptron.Perceptron()])
    one.feed(np.array([[0.5, 0.5]]), np.array([[1]]))

    def play(*x):
        assert one.feed_one(1.2e154 * np.array(x), 1) is not None

    play(-1.0, 0.0)
    play(0.0, -1.0)
    with pytest.raises(OutOfRangeError, match=r"perceptron, round 4: (the scores are not finite|numbers are out of)"):
        play(-np.sqrt(0.5), -np.sqrt(0.5))
