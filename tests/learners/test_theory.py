"""The theorems of the papers on the Forgetron and Ahpatron and of Sutskever (2009), on runs, and their parameters."""

import math
import re

import numpy as np
import pytest
from cases import STREAMS, paired, random_stream
from faults import raises
from reference import forgetron, remove_oldest, shrinking_perceptron
from reference.kernel_expansion import gaussian

from budgetrun import kernels
from budgetrun.engine import Group, run
from budgetrun.learners import find
from budgetrun.learners.ahpatron import Ahpatron
from budgetrun.learners.forgetron import damage, gentlest_shrinking
from budgetrun.learners.modified_rbp import ModifiedRBP
from budgetrun.learners.simplified_forgetron import SimplifiedForgetron

KERNEL = kernels.Gaussian(gamma=0.5)


def watch(learner, X, y, look, **options):
    """Run a learner; call ``look(f, t)`` after each of its updates; return it as a member of its group."""
    group = Group(KERNEL, [learner], watch=lambda i, t: look(group.members[i].hypothesis, t), **options)
    group.feed(X, y[None])
    return group.members[0]


def long_stream():
    return random_stream(T=1000, seed=8)


@pytest.mark.parametrize("stream", [*STREAMS.values(), long_stream])
@pytest.mark.parametrize("budget", [1, 5, 40, 100])
@pytest.mark.parametrize(("variant", "given"), [("self_tuned", {}), ("greedy", {}), ("greedy", {"test": "cumulative"})])
def test_shrinking_and_damage_stay_within_bounds(stream, budget, variant, given):
    X, y = stream()
    learner = find("forgetron", variant)(budget=budget, **given)

    def look(f, t):
        assert 0 < learner.phi <= 1
        assert 15 / 32 * f.mistakes + 1e-9 >= learner.Q
        weights = np.abs(f.coef)
        assert (weights <= 1).all()
        assert (weights > 0).all()
        assert (f.labels == y[f.rounds]).all()

    watch(learner, X, y, look)


@pytest.mark.parametrize("budget", [1, 5, 40, 100])
@pytest.mark.parametrize("stream", [*STREAMS.values(), long_stream])
def test_basic_forgetron_stays_in_its_ball(stream, budget):
    X, y = stream()
    learner = find("forgetron", "basic")(budget=budget)

    def look(f, t):
        K = KERNEL.between(X[f.rounds], X[f.rounds])
        assert f.norm_sq == pytest.approx(f.coef @ K @ f.coef, rel=1e-8, abs=1e-10)
        # ||f''|| <= U, and removing an example of weight s moves it by s at most.
        assert math.sqrt(f.norm_sq) <= learner.U + learner.factor ** (budget + 1) + 1e-9

    watch(learner, X, y, look)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(("variant", "given"), [
    ("basic", {}),
    ("basic", {"cap": "when_full", "logarithm": "base2"}),
    ("self_tuned", {}),
    ("greedy", {}),
    ("greedy", {"test": "cumulative"}),
])  # fmt: skip
def test_what_lemma_6_needs_is_counted_as_the_paper_defines_it(stream, variant, given):
    X, y = STREAMS[stream]()
    X, y = X[:100], y[:100]
    for budget in (1, 6, 20):
        learner = find("forgetron", variant)(budget=budget, **given)
        run(learner, KERNEL, X, y)
        trace = getattr(forgetron, variant)(X, y, gaussian(KERNEL.gamma), budget, **given)
        facts = learner.facts(None)
        assert facts["damage"] == pytest.approx(trace.Q[-1] if trace.Q else 0.0, abs=1e-7)
        assert facts["shrinking"] == pytest.approx(-sum(map(math.log, trace.Phi)), abs=1e-6)


@pytest.mark.parametrize("stream", STREAMS)
def test_what_corollaries_1_and_2_need_is_counted_as_the_paper_defines_it(stream):
    X, y = STREAMS[stream]()
    X, y = X[:100], y[:100]
    for budget in (1, 6, 20):
        learner = find("remove_oldest")(budget=budget)
        run(learner, KERNEL, X, y)
        trace = remove_oldest.remove_oldest(X, y, gaussian(KERNEL.gamma), budget)
        assert learner.facts(None) == {"damage": pytest.approx(sum(trace.Q), abs=1e-7)}
    for _, given, reference in shrinking_perceptron.CASES:
        learner = find("shrinking_perceptron")(**given)
        run(learner, KERNEL, X, y)
        phi = reference(X, y, gaussian(KERNEL.gamma)).phi
        assert learner.facts(None) == {"shrinking": pytest.approx(-sum(map(math.log, phi)), abs=1e-7)}


def test_gentlest_shrinking_is_the_largest_that_the_constraint_allows():
    """Every branch of eq. (43), against a fine search."""
    rng = np.random.default_rng(0)
    grid = np.linspace(1e-6, 1, 5_001)
    branches = set()
    for _ in range(2000):
        sigma, mu, M = rng.uniform(0.01, 1), rng.choice([rng.normal() * 3, rng.normal() * 30]), int(rng.integers(1, 50))
        Q = 15 / 32 * (M - 1) - rng.exponential() * rng.integers(0, 2)
        if rng.random() < 0.1:
            mu = sigma / 2  # a = 0
        phi = gentlest_shrinking(sigma, mu, Q, M)
        allowed = damage(grid * sigma, grid * mu) + Q <= 15 / 32 * M + 1e-12
        a = sigma**2 - 2 * sigma * mu
        branches.add((np.sign(round(a, 12)), phi < 1))
        assert 0 < phi <= 1
        assert damage(phi * sigma, phi * mu) + Q <= 15 / 32 * M + 1e-9
        assert phi >= grid[allowed].max() - 1e-4
    assert branches >= {(1, True), (1, False), (-1, True), (-1, False), (0, True), (0, False)}


# -- Liao, Li, Liao, Hu & Dang (2024), AAAI --------------------------------------------------------------------------


ALL_STREAMS = {**STREAMS, "long": long_stream}
AHPATRONS = [
    {"budget": 10, "epsilon": 0.5},
    {"budget": 50, "epsilon": 0.9},
    {"budget": 50, "epsilon": 0.8, "U": math.sqrt(50) / 4, "step": math.sqrt(2) / 4, "norm": "shrunk"},
    {"budget": 60, "epsilon": 0.7, "U": 1.5, "step": math.sqrt(2) * 1.5 / math.sqrt(60), "norm": "shrunk"},
    {"budget": 2, "epsilon": 0.6, "U": 0.5, "eta": 1.0},
]


@pytest.mark.parametrize("stream", ALL_STREAMS)
@pytest.mark.parametrize("given", AHPATRONS, ids=str)
def test_norm_and_budget_are_kept(stream, given):
    X, y = ALL_STREAMS[stream]()
    K, learner = KERNEL.between(X, X), find("ahpatron")(**given)

    def look(f, t):
        assert f.size <= given["budget"]
        norm_sq = f.coef @ K[np.ix_(f.rounds, f.rounds)] @ f.coef
        assert math.sqrt(max(0.0, norm_sq)) <= learner.U * (1 + 1e-9)
        assert f.norm_sq == pytest.approx(norm_sq, rel=1e-7, abs=1e-9)

    watch(learner, X, y, look)


@pytest.mark.parametrize("stream", ["random", "duplicated", "far", "long"])
@pytest.mark.parametrize("given", AHPATRONS[:4], ids=str)
def test_what_theorem_6_needs_is_counted_as_the_paper_defines_it(stream, given):
    X, y = ALL_STREAMS[stream](**({"T": 130} if stream == "random" else {}))
    K, learner = KERNEL.between(X, X), find("ahpatron")(**given)
    halve, moves = learner.halve, []

    def watched(f):
        rounds, before = f.rounds.copy(), f.coef.copy()
        halve(f)
        after = np.zeros(len(rounds))
        after[np.isin(rounds, f.rounds)] = f.coef
        moved = before - after
        moves.append(math.sqrt(max(0.0, moved @ K[np.ix_(rounds, rounds)] @ moved)))

    learner.halve = watched
    facts = learner.facts(watch(learner, X, y, lambda f, t: None).hypothesis)
    assert facts["halvings"] == len(moves) > 0
    assert facts["moved"] == pytest.approx(sum(moves), abs=1e-6)
    assert facts["zeta"] == pytest.approx(max(moves) / learner.U, abs=1e-6)
    # Inequality (11), and zeta <= 2.
    assert facts["moved"] <= facts["zeta"] * learner.U * facts["halvings"] * (1 + 1e-12)
    assert facts["zeta"] <= 2


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(("U", "tie"), paired([None, 0.8, 3.0], ["mistake", "positive"]))
@pytest.mark.parametrize("epsilon", [0.55, 0.9])
def test_what_corollary_2_needs_is_counted_as_the_paper_defines_it(stream, tie, U, epsilon):
    X, y = STREAMS[stream]()
    learner, margins, steps = find("avp")(epsilon=epsilon, U=U), [], []
    update = learner.update

    def recorded(f, label, score):
        update(f, label, score)
        margins.append(label * score)
        steps.append(1.0 if U is None else U / math.sqrt(U**2 + learner.misses))

    learner.update = recorded
    member = watch(learner, X, y, lambda f, t: None, tie=tie)
    margins, steps = np.array(margins), np.array(steps)
    missed = margins <= 0
    assert (margins < 1 - epsilon).all()
    assert member.count.mistakes <= missed.sum() == learner.misses
    expected = (steps[~missed] / 2 - epsilon).sum()
    assert learner.facts(member.hypothesis) == {"margin_steps": pytest.approx(expected)}


class NearlyZero:
    """A full hypothesis whose squared norm is below 0 by rounding."""

    size, norm_sq = 4, -1e-17
    coef = np.array([0.25, -0.25, 0.25, -0.25])
    kept = None

    def gram(self, order):
        return (np.eye(4) * 1e-3 + 1)[np.ix_(order, order)]

    def keep(self, stays, weights, norm_sq):
        self.kept = stays.tolist(), weights.tolist(), norm_sq


def test_a_norm_below_0_by_rounding_is_0():
    f = NearlyZero()
    Ahpatron(budget=4, epsilon=0.5).halve(f)
    assert f.kept == ([0, 1], [0.0, 0.0], 0.0)


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


@pytest.mark.parametrize(("given", "sentence"), [
    ({"budget": 5}, "got 1.06439; with budget=5 and step=0.03125 use a larger budget or a regulariser below 32"),
    ({"budget": 100, "radius": 0.05},
     "got 3.125; with budget=100 and step=0.03125 use a larger radius or a regulariser below 32"),
    ({"budget": 100, "step": 0.5, "regulariser": 2.0}, "got 1; with budget=100 and step=0.5 use a regulariser "),
    ({"budget": 100, "radius": 1e-200}, "got inf; with budget=100"),
])  # fmt: skip
def test_a_regulariser_that_leaves_nothing_is_refused(given, sentence):
    begins = "step * regulariser must be below 1, because a mistake multiplies earlier weights by 1 minus that, "
    raises(ValueError, f"^{re.escape(begins + sentence)}", SimplifiedForgetron, **given)
