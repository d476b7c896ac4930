"""The theorems of the Forgetron paper, checked on runs up to rounding."""

import math
from itertools import pairwise

import numpy as np
import pytest
from cases import STREAMS, random_stream
from reference import forgetron, remove_oldest, shrinking_perceptron
from reference.kernel_expansion import gaussian

from budgetrun import kernels
from budgetrun.engine import Group, run
from budgetrun.learners import find
from budgetrun.learners.forgetron import damage, gentlest_shrinking

KERNEL = kernels.Gaussian(gamma=0.5)


def watch_run(learner, X, y, look, kernel=KERNEL):
    group = Group(kernel, [learner], watch=lambda i, t: look(group.members[i].hypothesis))
    group.feed(X, y[None])
    return group.members[0].count


def long_stream():
    return random_stream(T=1200, seed=8)


@pytest.mark.parametrize("stream", [*STREAMS.values(), long_stream])
@pytest.mark.parametrize("budget", [1, 5, 40, 100])
@pytest.mark.parametrize(("variant", "given"), [("self_tuned", {}), ("greedy", {}), ("greedy", {"test": "cumulative"})])
def test_shrinking_and_damage_stay_within_bounds(stream, budget, variant, given):
    X, y = stream()
    learner = find("forgetron", variant)(budget=budget, **given)

    def look(f):
        assert 0 < learner.phi <= 1
        assert 15 / 32 * f.mistakes + 1e-9 >= learner.Q
        weights = np.abs(f.coef)
        assert (weights <= 1).all()
        assert (weights > 0).all()
        assert (f.labels == y[f.rounds]).all()

    watch_run(learner, X, y, look)


@pytest.mark.parametrize("budget", [1, 5, 40, 100])
@pytest.mark.parametrize("stream", [*STREAMS.values(), long_stream])
def test_basic_forgetron_stays_in_its_ball(stream, budget):
    X, y = stream()
    learner = find("forgetron", "basic")(budget=budget)

    def look(f):
        K = KERNEL.between(X[f.rounds], X[f.rounds])
        assert f.norm_sq == pytest.approx(f.coef @ K @ f.coef, rel=1e-8, abs=1e-10)
        # ||f''|| <= U, and removing an example of weight s moves it by s at most.
        assert math.sqrt(f.norm_sq) <= learner.U + learner.factor ** (budget + 1) + 1e-9

    watch_run(learner, X, y, look)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(
    ("variant", "given"),
    [
        ("basic", {}),
        ("basic", {"cap": "when_full", "logarithm": "base2"}),
        ("self_tuned", {}),
        ("greedy", {}),
        ("greedy", {"test": "cumulative"}),
    ],
)
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


def test_expected_removals_of_rbp_are_uniform():
    """Chi-square of the evicted positions over many seeds, at a fixed stream."""
    X, y = random_stream(T=60, seed=4)
    counts = np.zeros(5)
    for seed in range(400):
        seen = []
        group = Group(KERNEL, [find("rbp")(budget=5, seed=seed)])
        group.watch = lambda i, t, group=group, seen=seen: seen.append(group.members[i].hypothesis.rounds.tolist())
        group.feed(X, y[None])
        before, after = next((a, b) for a, b in pairwise(seen) if len(a) == len(b) == 5)
        counts[next(i for i, r in enumerate(before) if r not in after)] += 1
    assert ((counts - 80) ** 2 / 80).sum() < 18.5  # 0.1% point of chi-square with 4 degrees of freedom
