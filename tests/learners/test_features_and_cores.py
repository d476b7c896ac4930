"""Properties of DualSGD, AVM and PROS-N-KONS that their references do not cover."""

import numpy as np
import pytest
from cases import STREAMS
from reference.dualsgd import drawn, dualsgd
from reference.kernel_expansion import gaussian

from budgetrun import kernels
from budgetrun.engine import Group, run
from budgetrun.learners import find

KERNEL = kernels.Gaussian(gamma=0.5)
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

    run(Checked(**given), KERNEL, X, y, block_size=50)


def test_the_draws_are_those_of_the_seed_and_shared():
    X, y = STREAMS["random"]()
    k, given = gaussian(0.5), {"budget": 9, "features": 7, "regulariser": 0.02}
    draws = np.random.default_rng(3).normal(0, 1.0, (7, X.shape[1]))
    np.testing.assert_array_equal(drawn(X, k, 7, 3, "right"), draws)
    trace = dualsgd(X, y, k, merged=4, draws=draws, **given)
    learners = [find("dualsgd")(k=4, seed=3, **given), find("fogd")(features=7, step=0.1, seed=3)]
    group = Group(KERNEL, learners, [0, 0])
    group.feed(X, y[None])
    assert group.members[0].count.mistakes == sum(trace.mistakes)
    assert len(group.pool.shared) == 1


def test_no_more_examples_leave_than_there_are():
    with pytest.raises(ValueError, match=r"^k must be at most budget, 5, got 6$"):
        find("dualsgd")(budget=5, k=6)
    assert [find("dualsgd")(budget=B).k for B in (1, 12, 13, 100)] == [1, 2, 3, 20]


@pytest.mark.parametrize("variant", ["hypersphere", "hypercell"])
def test_a_distance_of_delta_is_near_and_the_oldest_of_the_nearest_cores_is_taken(variant):
    """Cores 0 and 3; 1.5 is halfway between them, and 3.0 and 4.5 are 1.5 from core 3 at most."""
    X = 0.1 * np.array([[0.0], [3.0], [1.5], [4.5], [9.0]])
    learner = find("avm", variant)(delta=0.15, max_size=2, regulariser=1.0)
    group = Group(kernels.Gaussian(gamma=1e-9), [learner])
    group.feed(X, np.array([[1, -1, 1, -1, 1]]))
    f = group.members[0].hypothesis
    assert f.rounds.tolist() == [0, 1]
    # The example at 9 is dropped, and the losses of the others are positive.
    np.testing.assert_array_equal(f.coef, [2.0, -2.0])


def test_kernel_values_of_distances_are_exact_where_those_of_the_kernel_are_all_one():
    X, y = STREAMS["tied"]()
    runs = []
    for gamma in (0.5, 1e-17):
        group = Group(kernels.Gaussian(gamma=gamma), [find("avm")(delta=1, regulariser=0.05)])
        group.feed(X, y[None])
        runs.append(group.members[0].hypothesis.rounds.tolist())
    assert runs[0] == runs[1]
