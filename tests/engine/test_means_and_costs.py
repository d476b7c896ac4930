"""Means of hypotheses with examples beside the span, against what defines them; and where there is none."""

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
