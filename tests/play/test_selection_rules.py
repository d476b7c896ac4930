"""The rules: as their references, however the rounds are divided, and within their bounds on every stream."""

import numpy as np
import pytest
from reference import selection as slow

from budgetrun.base.problem import VOTES_TIE as TIE
from budgetrun.play.selection import registry

RULES = {
    "hedge": ({}, slow.hedge),
    "fixed_share": ({"share": 0.01}, lambda losses: slow.fixed_share(losses, 0.01)),
    "racing": ({"confidence": 0.3}, lambda losses: slow.racing(losses, 0.3)),
    "omkc": ({"beta": 0.9}, lambda losses: slow.omkc(losses, 0.9)),
    # The weights follow all mistakes, also those on rounds from which a candidate does not learn.
    "omkc_sd": ({"beta": 0.8}, lambda losses: slow.omkc(losses, 0.8)),
}


def made(name):
    return registry()[name](**RULES[name][0])


def independent(rng, N, T):
    return (rng.random((N, T)) < rng.random(N)[:, None] * 0.5).astype(int)


def shifting(rng, N, T):
    """The best candidate changes."""
    best = np.arange(T) * N // T
    return (rng.random((N, T)) < np.where(np.arange(N)[:, None] == best, 0.1, 0.4)).astype(int)


def alike(rng, N, T):
    """Candidates that never differ, which tie."""
    return np.repeat((rng.random((1, T)) < 0.3).astype(int), N, axis=0)


def alternating(rng, N, T):
    """Each leads in turn: the worst that can be done to those who follow the leader."""
    return (np.arange(T) % N == np.arange(N)[:, None]).astype(int)


STREAMS = (independent, shifting, alike, alternating)


def played(rule, votes, losses, sizes, n_classes=2):
    """Play blocks of these sizes, over and over; candidates may be dropped after every 64th round."""
    rule.start(len(losses))
    found, start, k = [], 0, 0
    while start < losses.shape[1]:
        end = min(start + sizes[k % len(sizes)], start + 64 - start % 64, losses.shape[1])
        found.append(rule.play(votes[:, start:end], losses[:, start:end], n_classes))
        start, k = end, k + 1
        if start % 64 == 0:
            rule.drop()
    return np.concatenate(found)


def test_every_rule_is_tested():
    assert set(RULES) == set(registry())


@pytest.mark.parametrize("N", [1, 2, 7])
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", RULES)
def test_weights_and_votes_are_those_of_the_reference(name, stream, N):
    rng = np.random.default_rng(N)
    losses = stream(rng, N, 700)
    true = rng.integers(2, size=700)
    votes = np.where(losses, 1 - true, true)
    weights = np.array(list(RULES[name][1](losses.tolist()))) if N > 1 else np.ones((700, 1))
    rule = made(name)
    predicted = played(rule, votes, losses, [64])
    lead = ((2 * votes - 1) * weights.T).sum(axis=0)
    np.testing.assert_array_equal(predicted, np.where(np.abs(lead) <= TIE, -1, (lead > 0).astype(int)))
    assert rule.expected == pytest.approx((weights.T * losses).sum(), abs=1e-6)


@pytest.mark.parametrize("name", RULES)
def test_nothing_depends_on_how_rounds_are_divided(name):
    rng = np.random.default_rng(3)
    losses = independent(rng, 6, 500)
    votes = np.where(losses, rng.integers(1, 4, losses.shape), 0)
    rules = [made(name) for _ in range(3)]
    predictions = [played(r, votes, losses, sizes, 4) for r, sizes in zip(rules, ([64], [1], [7, 1, 30]), strict=True)]
    for rule, predicted in zip(rules, predictions, strict=True):
        np.testing.assert_array_equal(predicted, predictions[0])
        assert rule.facts() == rules[0].facts()
        np.testing.assert_array_equal(rule.next_weights(), rules[0].next_weights())


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", RULES)
def test_the_bounds_hold_on_every_stream(name, stream):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        for N, T in ((2, 100), (9, 1000)):
            losses, rule = stream(rng, N, T), made(name)
            wrong = int((played(rule, 1 - losses, losses, [64]) != 1).sum())
            for bound in rule.guarantees(rule.facts(), wrong, T):
                assert bound.count <= bound.value + 1e-6, bound
            kept = losses.sum(axis=1)[rule.live].min()
            assert rule.facts()["best_mistakes"] == kept


@pytest.mark.parametrize("stream", STREAMS)
def test_the_best_sequence_of_fixed_share_is_the_cheapest_of_all(stream):
    losses, rule = stream(np.random.default_rng(1), 3, 7), made("fixed_share")
    played(rule, 1 - losses, losses, [2])
    assert rule.facts()["best_sequence"] == pytest.approx(slow.best_sequence(losses.tolist(), 0.01))


def test_a_race_drops_what_is_worse_and_not_what_is_as_good():
    rng = np.random.default_rng(2)
    losses = (rng.random((5, 1500)) < [[0.3], [0.3], [0.3], [0.3], [0.5]]).astype(int)
    rule = registry()["racing"]()
    played(rule, 1 - losses, losses, [64])
    assert rule.live.tolist() == [True] * 4 + [False]
    assert rule.losses[4] < losses[4].sum()
    assert rule.next_weights()[4] == 0
