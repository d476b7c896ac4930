"""The theorems of the Ahpatron paper about AVP and Ahpatron, checked on runs up to rounding.

Numbers of theorems are those of Liao, Li, Liao, Hu & Dang (2024), AAAI.
"""

import math

import numpy as np
import pytest
from cases import STREAMS, paired, random_stream

from budgetrun import kernels
from budgetrun.engine import Group
from budgetrun.learners import find

GAUSSIAN = kernels.Gaussian(gamma=0.5)


def long_stream():
    return random_stream(T=700, seed=8)


ALL_STREAMS = {**STREAMS, "long": long_stream}
AHPATRONS = [
    {"budget": 10, "epsilon": 0.5},
    {"budget": 50, "epsilon": 0.9},
    {"budget": 50, "epsilon": 0.8, "U": math.sqrt(50) / 4, "step": math.sqrt(2) / 4, "norm": "shrunk"},
    {"budget": 60, "epsilon": 0.7, "U": 1.5, "step": math.sqrt(2) * 1.5 / math.sqrt(60), "norm": "shrunk"},
    {"budget": 2, "epsilon": 0.6, "U": 0.5, "eta": 1.0},
]


def watch(learner, X, y, look, **options):
    """Run a learner; call ``look(f, t)`` after each of its updates; return it as a member of its group."""
    group = Group(GAUSSIAN, [learner], watch=lambda i, t: look(group.members[i].hypothesis, t), **options)
    group.feed(X, y[None])
    return group.members[0]


@pytest.mark.parametrize("stream", ALL_STREAMS)
@pytest.mark.parametrize("given", AHPATRONS, ids=str)
def test_norm_and_budget_are_kept(stream, given):
    X, y = ALL_STREAMS[stream]()
    K, learner = GAUSSIAN.between(X, X), find("ahpatron")(**given)

    def look(f, t):
        assert f.size <= given["budget"]
        norm_sq = f.coef @ K[np.ix_(f.rounds, f.rounds)] @ f.coef
        assert math.sqrt(max(0.0, norm_sq)) <= learner.U * (1 + 1e-9)
        assert f.norm_sq == pytest.approx(norm_sq, rel=1e-7, abs=1e-9)

    watch(learner, X, y, look)


@pytest.mark.parametrize("stream", ALL_STREAMS)
@pytest.mark.parametrize("U", [0.7, 3.0])
def test_avp_stays_in_its_ball(stream, U):
    X, y = ALL_STREAMS[stream]()
    learner = find("avp")(epsilon=0.6, U=U)
    watch(learner, X, y, lambda f, t: None if f.norm_sq <= U**2 * (1 + 1e-9) else pytest.fail(f"{f.norm_sq} at {t}"))


@pytest.mark.parametrize("stream", ["random", "duplicated", "far", "long"])
@pytest.mark.parametrize("given", AHPATRONS[:4], ids=str)
def test_halving_keeps_the_largest_half_and_the_norm(stream, given):
    X, y = ALL_STREAMS[stream]()
    K, learner = GAUSSIAN.between(X, X), find("ahpatron")(**given)
    halve, half, moves = learner.halve, given["budget"] // 2, []

    def watched(f):
        rounds, before = f.rounds.copy(), f.coef.copy()
        assert len(rounds) == given["budget"]
        halve(f)
        assert f.size == half
        stayed = np.isin(rounds, f.rounds)
        assert np.abs(before[stayed]).min() >= np.abs(before[~stayed]).max() * (1 - 1e-8)
        here = K[np.ix_(rounds, rounds)]
        norm = math.sqrt(before @ here @ before)
        wanted = norm if learner.norm == "kept" else 0.6 * learner.U
        after = np.zeros(len(rounds))
        after[stayed] = f.coef
        assert math.sqrt(after @ here @ after) == pytest.approx(wanted)
        # Eq. (7): the direction of f_2 plus the ridge projection of f_1.
        K_2 = here[np.ix_(stayed, stayed)] + learner.eta * np.eye(half)
        wished = before[stayed] + np.linalg.solve(K_2, here[np.ix_(stayed, ~stayed)] @ before[~stayed])
        np.testing.assert_allclose(f.coef / np.linalg.norm(f.coef), wished / np.linalg.norm(wished), atol=1e-7)
        moves.append(math.sqrt(max(0.0, (before - after) @ here @ (before - after))))

    learner.halve = watched
    member = watch(learner, X, y, lambda f, t: None)
    facts = learner.facts(member.hypothesis)
    assert facts["halvings"] == len(moves) > 0
    assert facts["moved"] == pytest.approx(sum(moves), abs=1e-6)
    assert facts["zeta"] == pytest.approx(max(moves) / learner.U, abs=1e-6)
    # Inequality (11), and zeta <= 2.
    assert facts["moved"] <= facts["zeta"] * learner.U * facts["halvings"] * (1 + 1e-12)
    assert facts["zeta"] <= 2


@pytest.mark.parametrize("stream", ALL_STREAMS)
@pytest.mark.parametrize("tie", ["mistake", "positive"])
def test_within_the_budget_ahpatron_is_avp(stream, tie):
    """With steps of 1 and a ball so large that it never matters."""
    X, y = ALL_STREAMS[stream]()
    budget = len(y) + len(y) % 2
    both = [find("avp")(epsilon=0.6), find("ahpatron")(budget=budget, epsilon=0.6, U=1e6, step=1.0)]
    group = Group(GAUSSIAN, both, tie=tie)
    scores = group.feed(X, y[None])
    np.testing.assert_array_equal(*scores)
    avp, ahpatron = group.members
    assert avp.count.mistakes == ahpatron.count.mistakes
    assert avp.count.updates == ahpatron.count.updates
    assert ahpatron.learner.facts(ahpatron.hypothesis) == {"halvings": 0, "zeta": 0, "moved": 0}


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
