"""Means of hypotheses with examples beside the span, and margins with costs, against what defines them."""

import numpy as np
import pytest

from budgetrun.engine import Group, score
from budgetrun.kernels import Gaussian
from budgetrun.learners import find

KERNEL = Gaussian(gamma=0.5)


def test_the_mean_of_those_that_predicted_counts_examples_beside_the_span():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(6, 2)), 5, axis=0) + 1e-4 * rng.normal(size=(30, 2))
    y = np.where(rng.random(30) < 0.5, 1, -1)
    group = Group(KERNEL, [find("projectron++")(eta=1e-12)])
    f = group.members[0].hypothesis
    hypotheses = []
    for t in range(30):
        hypotheses.append(f.score(X))
        group.feed(X[t : t + 1], y[None, t : t + 1])
    assert f._beside.any()
    np.testing.assert_allclose(f.score(X, averaged=True), np.mean(hypotheses, axis=0), atol=1e-7)


def test_a_form_whose_weights_fade_refuses_the_mean():
    group = Group(KERNEL, [find("bogd++")(budget=5, step=0.5)])
    group.feed(np.eye(3), np.array([[1, -1, 1]]))
    with pytest.raises(NotImplementedError, match=r"bogd.* does not keep what the mean of all hypotheses needs"):
        score(group.members[0], np.eye(3), averaged=True)


def test_margins_with_costs_of_a_learner_from_elsewhere():
    costs = np.array([[0.0, 0.5, 1.2], [0.7, 0.0, 0.9], [1.5, 0.4, 0.0]])

    class Costly(find("perceptron", task="multiclass")):
        """Acts on rounds whose margin with costs is below 0.8."""

        alike_until_full = None
        compiled = False

        def __init__(self):
            self.costs = costs

        def margins(self, f, t, y, rivals):
            return 0.8

        def update(self, f, y, rival, margin):
            f.add(y, rival, 0.25)

    rng = np.random.default_rng(1)
    y = rng.integers(3, size=60)
    X = rng.normal(size=(60, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[y]
    group = Group(KERNEL, [Costly()], n_classes=3)
    group.feed(X, y[None])
    acted, weights = [], np.zeros((3, 0))
    for t in range(60):
        scores = weights @ KERNEL.between(X[acted], X[t : t + 1])[:, 0] if acted else np.zeros(3)
        others = np.where(np.arange(3) == y[t], -np.inf, scores)
        rival, margin = int(others.argmax()), scores[y[t]] - others.max()
        if margin > 0:
            with_costs = np.where(np.arange(3) == y[t], -np.inf, costs[y[t]] + scores)
            rival, margin = int(with_costs.argmax()), 1 - (with_costs.max() - scores[y[t]])
        if margin < 0.8:
            acted.append(t)
            step = np.zeros((3, 1))
            step[y[t]], step[rival] = 0.25, -0.25
            weights = np.hstack([weights, step])
    f = group.members[0].hypothesis
    assert 20 < len(acted) < 60
    assert f.rounds.tolist() == acted
    np.testing.assert_allclose(f.coef, weights, atol=1e-12)
