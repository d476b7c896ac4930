"""Multiclass scores, weights and support sets are the same bits for all block sizes, compiled or in numpy."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from budgetrun import kernels
from budgetrun.engine import Group
from budgetrun.kernels import compiling
from budgetrun.learners import find

pytestmark = pytest.mark.compiled

LEARNERS = [("perceptron", {}), ("rbp", {"budget": 40, "seed": 1}), ("passive_aggressive", {"C": 0.3})]


def whole_numbers():
    """Few different examples, so that many scores tie."""
    rng = np.random.default_rng(0)
    return rng.integers(-3, 4, size=(500, 3)).astype(float), rng.integers(4, size=500)


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:700] / 16, y[:700]


STREAMS = {"whole_numbers": whole_numbers, "digits": digits}
KERNELS = [kernels.Gaussian(gamma=0.05), kernels.Polynomial(degree=2, gamma=0.5, coef0=1.0)]


def outcome(name, given, kernel, X, y, cuts, monkeypatch, compiled=True):
    with monkeypatch.context() as patch:
        if not compiled:
            patch.setattr(compiling, "on", lambda: False)
        group = Group(kernel, [find(name, task="multiclass")(**given)], n_classes=y.max() + 1)
        parts = np.split(np.arange(len(y)), cuts)
        scores = np.concatenate([group.feed(X[part], y[None, part])[0] for part in parts], axis=1)
        f = group.members[0].hypothesis
        return scores, f.score(X[:50]), f.coef, f.rounds, group.members[0].count.mistakes


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(("name", "given"), LEARNERS)
def test_same_bits(name, given, stream, kernel, monkeypatch):
    X, y = STREAMS[stream]()
    whole = outcome(name, given, kernel, X, y, [], monkeypatch)
    ways = [(np.arange(b, len(y), b), compiled) for b in (7, 64, 256) for compiled in (True, False)]
    ways += [([], False), ([1, 2, 3, 60, 63, 65, 130, 300], True)]
    if name == "rbp":
        ways.append((np.arange(1, len(y)), True))
    for cuts, compiled in ways:
        for one, other in zip(whole, outcome(name, given, kernel, X, y, cuts, monkeypatch, compiled), strict=True):
            np.testing.assert_array_equal(one, other)


def test_ties_are_decided_alike_although_sums_round(monkeypatch):
    """Of two classes with the same examples in another order, the lower one is the rival, whatever the last bits."""
    rng = np.random.default_rng(3)
    points, order = rng.normal(size=(40, 2)), rng.permutation(40)
    X = np.concatenate([points, points[order], points])
    y = np.repeat([0, 1, 2], 40)
    scores, *_, mistakes = outcome("passive_aggressive", {}, KERNELS[0], X, y, [], monkeypatch)
    for b in (1, 7, 50):
        cuts = np.arange(b, len(y), b)
        for compiled in (True, False):
            again = outcome("passive_aggressive", {}, KERNELS[0], X, y, cuts, monkeypatch, compiled)
            np.testing.assert_array_equal(again[0], scores)
            assert again[-1] == mistakes
