"""Sums that many learners compute together have the bits of those that each computes alone."""

import numpy as np
import pytest
from cases import fed

from budgetrun.engine import Group
from budgetrun.kernels import Gaussian, Linear, compiling
from budgetrun.learners import find

N_TASKS, T = 12, 896
MAKERS = {
    "perceptron": lambda: find("perceptron")(),
    "passive_aggressive": lambda: find("passive_aggressive")(C=0.3),
    "remove_oldest": lambda: find("remove_oldest")(budget=60),
}


@pytest.mark.compiled
@pytest.mark.parametrize("scale", [1.0, 0.1], ids=["integers", "floats"])
def test_learners_together_and_alone_have_the_same_bits(scale):
    rng = np.random.default_rng(4)
    X = scale * rng.integers(-40, 41, (T, 5))
    Y = rng.choice([-1, 1], (N_TASKS, T))
    kernel = Gaussian(gamma=1e-3 / scale**2)
    made = [(MAKERS[name], task) for task in range(N_TASKS) for name in MAKERS]

    def scores(pairs):
        group = Group(kernel, [make() for make, _ in pairs], [task for _, task in pairs])
        return fed(group, X, Y, 256), [member.hypothesis for member in group.members]

    together, hypotheses = scores(made)
    known = {name: f._n_known for name, f in zip(MAKERS, hypotheses, strict=False)}
    assert known["perceptron"] > 0
    assert known["remove_oldest"] <= 0
    for i, pair in enumerate(made):
        alone, (f,) = scores([pair])
        np.testing.assert_array_equal(together[i : i + 1], alone)
        np.testing.assert_array_equal(hypotheses[i].coef, f.coef)


@pytest.mark.compiled
@pytest.mark.parametrize("tie", ["mistake", "positive"])
@pytest.mark.parametrize("given", [{}, {"rates": "constant"}, {"splines": True}], ids=["adagrad", "plain", "splines"])
def test_linear_functions_that_differ_in_their_labels_have_the_bits_of_each_alone(given, tie, monkeypatch):
    rng = np.random.default_rng(4)
    X, Y = np.round(rng.normal(size=(300, 5)), 1), rng.choice([-1, 1], (3, 300))
    monkeypatch.setenv("BUDGETRUN_COMPILED", "1")

    def played(tasks, on=True):
        monkeypatch.setattr(compiling, "on", lambda: on)
        group = Group(Linear(), [find("logistic")(**given) for _ in tasks], tasks, tie=tie)
        return fed(group, X, Y, 90), group.members

    together, members = played([0, 1, 2])
    for task, member in enumerate(members):
        alone, (other,) = played([task], on=False)
        np.testing.assert_array_equal(together[task : task + 1], alone)
        for name in ("w", "_squared"):
            np.testing.assert_array_equal(getattr(member.hypothesis, name), getattr(other.hypothesis, name))
        for name in ("mistakes", "updates", "now"):
            assert getattr(member.hypothesis, name) == getattr(other.hypothesis, name)
