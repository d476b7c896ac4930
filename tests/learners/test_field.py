"""Properties of the learners of the field beside the five papers that their references do not cover."""

import numpy as np
import pytest
from cases import STREAMS, random_stream
from faults import raises

from budgetrun import kernels
from budgetrun.engine import Group, run
from budgetrun.learners import find
from budgetrun.learners.bpa import onto_two


def test_projections_on_two_examples():
    rng = np.random.default_rng(0)
    for _ in range(50):
        K = np.cov(rng.normal(size=(3, 5)))
        weights = onto_two(K[0, 1], K[0, 2], K[1, 2], K[1, 1], K[2, 2], 1e-9)
        np.testing.assert_allclose(weights, np.linalg.solve(K[1:, 1:], K[1:, 0]), rtol=1e-8)
    assert onto_two(0.5, 0.5, 1.0, 1.0, 1.0, 1e-9) == (0.5, 0.0)
    assert onto_two(0.0, 0.5, 0.0, 0.0, 2.0, 1e-9) == (0.0, 0.25)
    assert onto_two(0.5, 0.0, 0.0, 2.0, 0.0, 1e-9) == (0.25, 0.0)
    assert onto_two(0.0, 0.0, 0.0, 0.0, 0.0, 1e-9) == (0.0, 0.0)


@pytest.mark.parametrize(("name", "variant"), [("bpa", "projecting"), ("bsgd", "projection")])
def test_projections_are_exact_though_examples_are_nearly_dependent(name, variant):
    X, y = random_stream(T=300, d=2)
    # All kernel values are near 1: the largest eigenvalue of G is 3e6 times the smallest.
    flat = kernels.Gaussian(gamma=0.001)
    learner = find(name, variant)(budget=30, ridge=1e-5, **({"regulariser": 0.05} if name == "bsgd" else {}))
    inverse, remove, removed = learner._inverse, learner._inverse.remove, []

    def compared(i):
        G = inverse.matrix[np.ix_(inverse.places[: inverse.size], inverse.places[: inverse.size])]
        others = np.arange(inverse.size) != i
        shares = remove(i)
        np.testing.assert_allclose(shares[others], np.linalg.solve(G[others][:, others], G[others, i]), atol=1e-7)
        removed.append(i)
        return shares

    inverse.remove = compared
    scores = Group(flat, [learner]).feed(X, y[None])[0]
    assert np.isfinite(scores).all()
    assert len(removed) > 100


# -- features and cores ----------------------------------------------------------------------------------------------

SOME = [
    ("dualsgd", None, {"budget": 9, "k": 4, "features": 7, "regulariser": 0.02}),
    ("avm", "hypersphere", {"delta": 0.7, "max_size": 20, "regulariser": 0.02}),
    ("avm", "hypercell", {"delta": 0.7, "max_size": 20, "regulariser": 0.02}),
    ("pros_n_kons", None, {}),
    ("con_kons", None, {"C": 0.4}),
]


@pytest.mark.parametrize(("name", "variant", "given"), SOME)
@pytest.mark.parametrize("stream", STREAMS)
def test_the_current_value_is_that_of_the_changed_hypothesis(name, variant, given, stream):
    X, y = STREAMS[stream]()

    class Checked(find(name, variant)):
        compiled = False

        def update(self, f, label, score):
            super().update(f, label, score)
            assert f.current == pytest.approx(f.score(X[f.now - 1 : f.now]).item(), rel=1e-8, abs=1e-8)

    run(Checked(**given), kernels.Gaussian(gamma=0.5), X, y, block_size=50)


def test_no_more_examples_leave_than_there_are():
    raises(ValueError, r"^k must be at most budget, 5, got 6$", find("dualsgd"), budget=5, k=6)
    assert [find("dualsgd")(budget=B).k for B in (1, 12, 13, 100)] == [1, 2, 3, 20]


def test_kernel_values_of_distances_are_exact_where_those_of_the_kernel_are_all_one():
    X, y = STREAMS["tied"]()
    runs = []
    for gamma in (0.5, 1e-17):
        group = Group(kernels.Gaussian(gamma=gamma), [find("avm")(delta=1, regulariser=0.05)])
        group.feed(X, y[None])
        runs.append(group.members[0].hypothesis.rounds.tolist())
    assert runs[0] == runs[1]


@pytest.mark.parametrize(("budget", "columns", "sampled", "rank"), [(3, 2, 1, 1), (11, 8, 2, 1), (100, 75, 15, 10)])
def test_sizes_of_a_sketch_are_shares_of_the_budget_rounded(budget, columns, sampled, rank):
    learner = find("skegd")(budget=budget)
    assert (learner.columns, learner.sampled, learner.rank) == (columns, sampled, rank)
