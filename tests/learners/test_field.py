"""Properties of the learners of the field beside the five papers that their references do not cover."""

import re

import numpy as np
import pytest
from cases import STREAMS, random_stream
from reference.dualsgd import drawn, dualsgd
from reference.kernel_expansion import gaussian

from budgetrun import kernels
from budgetrun.engine import Group, run
from budgetrun.learners import find
from budgetrun.learners.bpa import onto_two

KERNEL = kernels.Gaussian(gamma=0.5)
BPA = ("simple", "nearest", "projecting")


def watched(learner, X, y, look=lambda f, t: None):
    group = Group(KERNEL, [learner], watch=lambda i, t: look(group.members[i].hypothesis, t))
    return group, group.feed(X, y[None])[0]


@pytest.mark.parametrize("variant", BPA)
def test_with_room_enough_bpa_is_passive_aggressive(variant):
    X, y = random_stream()
    ours = watched(find("bpa", variant)(budget=len(y), C=0.3), X, y)[1]
    np.testing.assert_array_equal(ours, watched(find("passive_aggressive")(C=0.3), X, y)[1])


@pytest.mark.parametrize("C", [0.2, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_first_removal_of_bpa_costs_less_the_more_examples_take_its_part(C, seed):
    X, y = random_stream(seed=seed)
    costs = []
    for variant in BPA:
        learner = find("bpa", variant)(budget=10, C=C) if variant != "projecting" else None
        learner = learner or find("bpa", variant)(budget=10, C=C, ridge=1e-9)
        held = []
        watched(learner, X, y, lambda f, t, held=held: held.append((f.rounds.copy(), f.coef.copy(), t)))
        (rounds, coef, _), (new_rounds, new_coef, t) = held[9:11]
        change = np.zeros(len(y))
        change[new_rounds] += new_coef
        margin = y[t] * (change @ KERNEL.between(X, X[t : t + 1])[:, 0])
        change[rounds] -= coef
        costs.append(change @ KERNEL.between(X, X) @ change / 2 + C * max(0, 1 - margin))
    assert costs[0] >= costs[1] - 1e-9
    assert costs[1] >= costs[2] - 1e-7


def test_keeping_f_depends_on_the_objective():
    """With C = 1 and orthogonal examples, every removal costs as much as the loss of the new example."""
    X, y = 100.0 * np.eye(6), np.ones(6, dtype=int)
    for variant in BPA:
        keeps, replaces = (find("bpa", variant)(budget=3, keep=keep) for keep in (True, False))
        assert watched(keeps, X, y)[0].members[0].hypothesis.rounds.tolist() == [0, 1, 2]
        assert watched(replaces, X, y)[0].members[0].hypothesis.rounds.tolist() == [3, 4, 5]


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


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(("name", "variant"), [("bpa", "projecting"), ("bsgd", "projection")])
def test_inverses_stay_inverses(stream, name, variant):
    X, y = STREAMS[stream](T=400)
    learner = find(name, variant)(budget=12, **({"regulariser": 0.05} if name == "bsgd" else {}))

    def look(f, t):
        if learner._inverse.additions:
            K = KERNEL.between(X[f.rounds], X[f.rounds]) + learner.ridge * np.eye(f.size)
            held = learner._inverse.places[: f.size]
            np.testing.assert_allclose(learner._inverse.matrix[np.ix_(held, held)], K, atol=1e-12)
            np.testing.assert_allclose(learner._inverse.values[np.ix_(held, held)] @ K, np.eye(f.size), atol=1e-6)
            np.testing.assert_allclose(learner._inverse.values.sum(), learner._inverse.values[np.ix_(held, held)].sum())

    watched(learner, X, y, look)
    assert learner._inverse.additions > 24


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


def test_bsgd_is_pegasos_with_weights_that_all_are_equal():
    X, y = random_stream()
    learner = find("bsgd")(budget=15, regulariser=0.05)

    def look(f, t):
        np.testing.assert_array_equal(f.coef, y[f.rounds])
        assert (np.diff(f.rounds) > 0).all()

    group, scores = watched(learner, X, y, look)
    # The oldest leaves: the examples held are the last ones with a margin below 1, of f = scores / (lambda t).
    passed = np.maximum(np.arange(len(y)), 1)
    lossy = np.flatnonzero(y * scores / (0.05 * passed) < 1)
    assert group.members[0].hypothesis.rounds.tolist() == lossy[-15:].tolist()


def test_the_first_example_of_bsgd_is_added_even_if_it_is_predicted():
    X, _ = random_stream(T=3)
    group = Group(KERNEL, [find("bsgd")(budget=5, regulariser=1e-4)], tie="positive")
    group.feed(X[:1], np.array([[1]]))
    assert group.members[0].hypothesis.size == 1
    assert group.members[0].count.mistakes == 0


def test_no_weight_of_bogd_is_larger_than_its_clip():
    X, y = random_stream()
    learner = find("bogd")(budget=12, step=0.5, clip=1.3)

    def look(f, t):
        assert np.abs(f.coef).max() <= 0.65 * (1 + 1e-12)

    watched(learner, X, y, look)


@pytest.mark.parametrize("name", ["norma", "bogd"])
def test_a_regulariser_that_is_too_large_is_refused(name):
    sentence = (
        "step * regulariser must be below 1, because a round multiplies all weights by 1 minus that, got 1; "
        "with step=2 use a regulariser below 0.5"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        find(name)(budget=5, step=2.0, regulariser=0.5)


def test_norma_with_a_vanishing_margin_is_remove_oldest():
    X, y = random_stream()
    norma = watched(find("norma")(budget=11, step=1.0, rho=1e-12), X, y)[1]
    oldest = watched(find("remove_oldest")(budget=11), X, y)[1]
    np.testing.assert_allclose(norma, oldest, atol=1e-12)


def test_the_stoptron_stops():
    X, y = random_stream()
    (group, stopped), (_, perceptron) = (
        watched(learner, X, y) for learner in (find("stoptron")(budget=12), find("perceptron")())
    )
    f = group.members[0].hypothesis
    last = f.rounds[-1]
    np.testing.assert_array_equal(stopped[: last + 2], perceptron[: last + 2])
    np.testing.assert_allclose(stopped[last + 1 :], f.score(X[last + 1 :]), atol=1e-12)


def test_the_tighter_perceptron_removes_what_it_can_spare():
    """The third example is classified by the first, and the others by none but themselves."""
    X = np.array([[0.0, 0.0], [9.0, 0.0], [0.1, 0.0], [0.0, 9.0]])
    learner = find("tighter")(budget=3, beta=1.2)
    group, _ = watched(learner, X, np.array([1, 1, 1, 1]))
    assert group.members[0].hypothesis.rounds.tolist() == [1, 2, 3]


def test_mavp_ogs_with_two_classes_is_the_same_as_a_binary_learner():
    X, y = random_stream()
    given = {"alpha": 0.2, "epsilon": 0.5, "U": 1.5, "c": 0.3}
    scores = watched(find("mavp_ogs")(**given), X, y)[1]
    group = Group(KERNEL, [find("mavp_ogs", None, "multiclass")(**given)], n_classes=2)
    np.testing.assert_allclose(group.feed(X, (y[None] > 0).astype(int))[0], [-scores, scores], atol=1e-9)


def test_after_its_switch_aogd_ald_adds_every_example_and_is_gradient_descent():
    X, y = random_stream()
    group, _ = watched(find("aogd_ald")(alpha=0.3, switch=6), X, y)
    f = group.members[0].hypothesis
    switched = f.rounds[5]
    assert f.rounds[5:].tolist() == list(range(switched, len(y)))
    sparse = watched(find("aogd_ald")(alpha=0.3), X, y)[0].members[0].hypothesis
    assert sparse.rounds[:6].tolist() == f.rounds[:6].tolist()
    # Copies of an example, too, are added one by one.
    twice = np.repeat(X[:40], 2, axis=0)
    group, _ = watched(find("aogd_ald")(alpha=0.0, switch=1), twice, np.repeat(y[:40], 2))
    assert group.members[0].hypothesis.size == 80


@pytest.mark.parametrize("order", ["paper", "program"])
def test_predictions_of_aons_ogs_are_cut(order):
    X, y = random_stream()
    group, scores = watched(find("aons_ogs")(alpha=0.1, C=0.3, order=order), X, y)
    assert np.abs(scores).max() == 0.3
    assert np.abs(group.members[0].hypothesis.score(X)).max() == 0.3
    # Where the authors' program predicts +1: the whole difference of their counts.
    assert np.flatnonzero(scores == 0).tolist() == [0, 1]


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


@pytest.mark.parametrize(("budget", "columns", "sampled", "rank"), [(3, 2, 1, 1), (11, 8, 2, 1), (100, 75, 15, 10)])
def test_sizes_of_a_sketch_are_shares_of_the_budget_rounded(budget, columns, sampled, rank):
    learner = find("skegd")(budget=budget)
    assert (learner.columns, learner.sampled, learner.rank) == (columns, sampled, rank)
