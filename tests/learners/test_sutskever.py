"""The two algorithms of Sutskever (2009) on long streams, and the statements of the paper about them."""

import math
import re
from itertools import pairwise

import numpy as np
import pytest
from cases import STREAMS, random_stream
from scipy.stats import chisquare

from budgetrun.engine import Group, run
from budgetrun.kernels import Gaussian, Linear
from budgetrun.learners import find
from budgetrun.learners.modified_rbp import ModifiedRBP
from budgetrun.learners.simplified_forgetron import SimplifiedForgetron

GAMMA = 0.5
KERNEL = Gaussian(gamma=GAMMA)


# -- Fact 1 and the ball ---------------------------------------------------------------------------------------------


def looked_at(learner, X, y, kernel=KERNEL):
    """Run the learner, and yield its hypothesis' weights, true norm and tracked norm after each mistake."""
    found = []

    def watch(i, t):
        f = group.members[i].hypothesis
        K = kernel.between(X[f.rounds], X[f.rounds])
        found.append((f.coef.copy(), math.sqrt(max(0.0, f.coef @ K @ f.coef)), f.norm_sq))

    group = Group(kernel, [learner], watch=watch)
    for start in range(0, len(y), 100):
        group.feed(X[start : start + 100], y[None, start : start + 100])
    return found


@pytest.mark.parametrize(("make", "given"), [
    (ModifiedRBP, {"budget": 60, "seed": 1}),
    (ModifiedRBP, {"budget": 60, "radius": 0.12, "seed": 1}),
    (ModifiedRBP, {"budget": 9, "step": 0.7, "radius": 1.0, "seed": 2}),
    (SimplifiedForgetron, {"budget": 60}),
    (SimplifiedForgetron, {"budget": 60, "radius": 0.1}),
    (SimplifiedForgetron, {"budget": 9, "step": 0.7, "radius": 0.8}),
])  # fmt: skip
@pytest.mark.parametrize("stream", [*STREAMS.values(), lambda: random_stream(T=800, seed=8)])
def test_weights_are_at_most_eta_and_the_ball_is_never_left(make, given, stream):
    X, y = stream()
    learner = make(**given)
    for coef, norm, tracked in looked_at(learner, X, y):
        assert np.abs(coef).max() <= learner.step * (1 + 1e-12)
        assert norm <= learner.radius * (1 + 1e-9)
        assert tracked == pytest.approx(norm**2, rel=1e-8, abs=1e-12)


# -- removals --------------------------------------------------------------------------------------------------------


def held_on_orthogonal_examples(learner, T):
    held = []
    group = Group(Linear(), [learner], watch=lambda i, t: held.append(group.members[i].hypothesis.rounds.tolist()))
    group.feed(np.eye(T), np.ones((1, T)))
    return held


def test_an_example_leaves_with_probability_n_over_b_and_any_slot_alike():
    """Every round is a mistake: the examples are orthogonal, so all scores are 0."""
    B, T, seeds = 6, 24, 400
    counts = np.zeros((B + 1, B + 1), dtype=int)  # by examples held before the mistake; which left, or none (last)
    sizes = np.zeros((seeds, T), dtype=int)
    for seed in range(seeds):
        held = held_on_orthogonal_examples(ModifiedRBP(budget=B, seed=seed), T)
        sizes[seed] = [len(after) for after in held]
        for t, (before, after) in enumerate(pairwise([[], *held])):
            assert after[-1] == t
            left = [slot for slot, example in enumerate(before) if example not in after]
            assert len(left) <= 1
            counts[len(before), left[0] if left else B] += 1
    assert counts.sum() == seeds * T
    for n in range(1, B + 1):
        assert (counts[n, n:B] == 0).all()
        chances = np.append(np.full(n, 1 / B), (B - n) / B)
        observed = np.append(counts[n, :n], counts[n, B])
        possible = chances > 0
        assert not observed[~possible].any()
        total = observed.sum()
        assert total > 300
        assert chisquare(observed[possible], total * chances[possible]).pvalue > 1e-3
    # After m mistakes B (1 - (1 - 1/B)^m) examples are held on average.
    m = np.arange(1, T + 1)
    expected = B * (1 - (1 - 1 / B) ** m)
    error = sizes.std(axis=0, ddof=1) / math.sqrt(seeds)
    assert (np.abs(sizes.mean(axis=0) - expected) <= 4 * error + 1e-12).all()


def test_s_of_w_is_w_over_b_in_expectation():
    """Over the draw, a removal takes away w / B: the update is a gradient step on the regularised loss, eq. (7)."""
    B, weights = 5, np.array([0.05, -0.03, 0.06])

    class Held:
        norm_sq, size = 0.0, len(weights)

        def __init__(self):
            self.coef = np.append(weights, 0.0)

        def add(self, weight):
            self.coef[-1] = weight

        def evict(self, i):
            self.coef[i] = 0.0

    class Drawing:
        def __init__(self, slot):
            self.slot = slot

        def integers(self, least, n):
            assert (least, n) == (0, B)
            return self.slot

    mean = np.zeros(4)
    for slot in range(B):
        learner, f = ModifiedRBP(budget=B), Held()
        learner._random = Drawing(slot)
        learner.update(f, -1, 0.0)
        mean += f.coef / B
    np.testing.assert_allclose(mean, np.append(weights * (1 - 1 / B), -1 / 16), atol=1e-16)


def test_the_oldest_leaves_and_the_new_example_does_not_shrink():
    learner, B = SimplifiedForgetron(budget=8), 8
    seen = []
    group = Group(Linear(), [learner], watch=lambda i, t: seen.append((f.rounds.tolist(), f.coef.copy())))
    f = group.members[0].hypothesis
    group.feed(np.eye(20), np.ones((1, 20)))
    for t, (rounds, coef) in enumerate(seen):
        assert rounds == list(range(max(0, t - B + 1), t + 1))
        np.testing.assert_allclose(coef, learner.factor ** np.arange(len(coef))[::-1] / 32, rtol=1e-12)


# -- parameters ------------------------------------------------------------------------------------------------------


def test_defaults_are_those_of_the_theorems():
    rbp, forgetron = ModifiedRBP(budget=1024), SimplifiedForgetron(budget=1024)
    assert (rbp.step, rbp.radius) == (1 / 16, 4.0)
    U_squared = 1024 / (32 * 13)
    assert (forgetron.step, forgetron.radius) == (1 / 32, pytest.approx(math.sqrt(U_squared) / 2))
    assert forgetron.regulariser == pytest.approx(1 / U_squared)
    assert forgetron.factor == pytest.approx(1 - 13 / 1024)
    # eq. (11): the factor of M on the right-hand side; and the U >= 1 of section 3.2, from a smaller B than it says.
    for budget in (500, 1000, 10_000):
        learner = SimplifiedForgetron(budget=budget)
        U = 2 * learner.radius
        assert 1 / 8 + 9 / 64 + U * learner.factor**budget <= 1 / 2
    assert 2 * SimplifiedForgetron(budget=368).radius < 1 < 2 * SimplifiedForgetron(budget=369).radius


def test_without_a_projection_the_step_does_not_matter():
    X, y = random_stream(T=400)
    mistakes = {run(ModifiedRBP(budget=30, seed=1, step=s, radius=1e6), KERNEL, X, y).mistakes for s in (1 / 16, 1.0)}
    assert mistakes == {run(ModifiedRBP(budget=30, seed=1), KERNEL, X, y).mistakes}
    by_step = [SimplifiedForgetron(budget=30, step=s, radius=1e6, regulariser=0.1 / s) for s in (1 / 32, 1.0)]
    assert len({run(learner, KERNEL, X, y).mistakes for learner in by_step}) == 1


def test_without_a_regulariser_and_a_ball_it_removes_the_oldest():
    X, y = random_stream(T=400)
    simplified = run(SimplifiedForgetron(budget=20, step=1.0, radius=1e6, regulariser=0.0), KERNEL, X, y)
    oldest = run(find("remove_oldest")(budget=20), KERNEL, X, y)
    assert (simplified.mistakes, simplified.max_support) == (oldest.mistakes, oldest.max_support)


@pytest.mark.parametrize(("given", "sentence"), [
    ({"budget": 5}, "got 1.06439; with budget=5 and step=0.03125 use a larger budget or a regulariser below 32"),
    ({"budget": 100, "radius": 0.05},
     "got 3.125; with budget=100 and step=0.03125 use a larger radius or a regulariser below 32"),
    ({"budget": 100, "step": 0.5, "regulariser": 2.0}, "got 1; with budget=100 and step=0.5 use a regulariser "),
    ({"budget": 100, "radius": 1e-200}, "got inf; with budget=100"),
])  # fmt: skip
def test_a_regulariser_that_leaves_nothing_is_refused(given, sentence):
    begins = "step * regulariser must be below 1, because a mistake multiplies earlier weights by 1 minus that, "
    with pytest.raises(ValueError, match=f"^{re.escape(begins + sentence)}"):
        SimplifiedForgetron(**given)
