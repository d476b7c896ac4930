"""One memory for many Forgetrons, in the reference: special cases, invariants, and bounds on adversarial streams."""

import numpy as np
import pytest
from cases import STREAMS, paired
from reference import fleet_adversaries, forgetron
from reference.fleet import POLICIES, Oldest, U_of, events, fleet, multitask, split
from reference.fleet_adversaries import K, Restless, Spiteful, Watched, several
from reference.kernel_expansion import linear

EACH = pytest.mark.parametrize("policy", POLICIES)
ROUNDING = 1e-9


EVERY_STREAM = pytest.mark.parametrize("stream", fleet_adversaries.STREAMS)
EVERY_POLICY = [*POLICIES.values(), Spiteful, Restless]


@pytest.mark.parametrize(("policy", "stream"), paired(POLICIES, STREAMS))
@pytest.mark.parametrize("budget", [2, 8, 30])
def test_one_key_is_the_forgetron(stream, budget, policy):
    X, y = STREAMS[stream](120)
    alone = forgetron.greedy if POLICIES[policy].greedy else forgetron.self_tuned
    expected = alone(X, y, K, budget)
    made = fleet(events([0] * len(y), X, y), K, budget, policy, floors=budget)
    check_same(made, 0, expected)


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("budget", [2, 8, 30])
def test_one_greedy_key_is_the_greedy_forgetron(stream, budget):
    X, y = STREAMS[stream](120)
    made = fleet(events([0] * len(y), X, y), K, budget, "oldest", floors=budget, greedy=True)
    check_same(made, 0, forgetron.greedy(X, y, K, budget))


def check_same(made, key, expected):
    assert [erred[key] for erred in made.mistakes if key in erred] == expected.mistakes
    f = made.learners[key]
    np.testing.assert_allclose([e.y * e.sigma for e in f.held], expected.alpha[-1], rtol=1e-9)
    assert pytest.approx(expected.Q[-1] if expected.Q else 0, abs=1e-9) == f.Q


@pytest.mark.parametrize("greedy", [False, True])
def test_the_equal_split_is_separate_forgetrons(greedy):
    rounds = several(300, 4, 5)
    made = fleet(rounds, K, 30, "equal_split", floors=split(30, range(4)), greedy=greedy)
    for key, budget in split(30, range(4)).items():
        own = [(x, labels[key]) for _, x, labels in rounds if key in labels]
        alone = (forgetron.greedy if greedy else forgetron.self_tuned)(
            *map(np.array, zip(*own, strict=True)), K, budget
        )
        check_same(made, key, alone)


def test_without_a_limit_each_learner_is_a_perceptron():
    rounds = several(200, 4, 6)
    assert not fleet(rounds, K, 10_000, "oldest").removals


@pytest.mark.parametrize(("policy", "stream"), paired(EVERY_POLICY, fleet_adversaries.STREAMS))
@pytest.mark.parametrize("floor", [0, 5])
def test_invariant_limit_floors_and_measured_bounds(stream, policy, floor):
    shared = stream == "shared rows"
    made = Watched(K, 25, policy(), floor, entry=0 if shared else 1, row=int(shared))
    if policy is POLICIES["equal_split"]:
        made.floors = 6
    fleet_adversaries.STREAMS[stream](made)
    assert made.removals
    assert made.size() <= 25
    check(made)


@pytest.mark.parametrize(
    ("stream", "policy"), paired(fleet_adversaries.STREAMS, [Oldest, Spiteful, POLICIES["least_damage"]])
)
def test_theorem_with_floors_of_83(policy, stream):
    """There is room for six entries above the floors."""
    made = Watched(K, 83 * 3 + 6, policy(), {0: 83, 1: 83, 2: 83})
    fleet_adversaries.STREAMS[stream](made, 3, 3)
    assert made.removals or stream in ("own rows", "bursts", "shared rows")
    assert {"floor", "product"} <= check(made).keys()


@EVERY_STREAM
@pytest.mark.parametrize("floor", [0, 2])
def test_sum_bound(stream, floor):
    """M <= 2 sum ||g||^2 + 4 sum L for competitors that share U^2; N is what the policy promises."""
    B = 90
    made = fleet_adversaries.STREAMS[stream](Watched(K, B, POLICIES["sum_bound"](), floor), 2)
    N = B + 1 - floor * len(made.learners) + floor
    assert N >= 84
    assert made.N >= N
    assert fleet_adversaries.sum_ratio(made, U_of(N - 1)) <= 1 + ROUNDING
    check(made)


def check(made):
    """Check the invariant and every bound whose conditions hold; return the ratios."""
    assert fleet_adversaries.smallest_slack_holds(made)
    found = fleet_adversaries.ratios(made)
    assert max(found.values()) <= 1 + ROUNDING, found
    return found


@EACH
@pytest.mark.parametrize("m", [2, 3, 5])
def test_no_policy_wins_at_paging(policy, m):
    """Learners that share one orthonormal example more than fits: the one that is missing is asked for."""
    T, floors = 200, split(2 * m - 1, range(m)) if policy == "equal_split" else 1
    made, best = fleet_adversaries.paging(m, T, POLICIES[policy](), floors=floors)
    assert made.M == T
    assert best <= T / m + 2 * m - 1


@EACH
def test_rows_are_stored_once(policy):
    rounds = several(120, 4, 1, shared=True)
    made = fleet(rounds, K, 600, policy, floors=2, entry=8, row=40)
    rows = {e.row for f in made.learners.values() for e in f.held}
    entries = sum(len(f.held) for f in made.learners.values())
    assert made.size() == 8 * entries + 40 * len(rows)
    if policy != "equal_split":
        assert made.size() <= 600
    assert len(rows) < entries


def test_one_entry_leaves_all_holders_of_a_row_if_none_frees_a_byte():
    rounds = [(t, np.eye(4)[t], {0: 1, 1: 1}) for t in range(3)]
    made = fleet(rounds, linear(), 2, "least_damage", entry=0, row=1)
    assert [(t, key) for t, key, *_ in made.removals] == [(2, 0), (2, 1)]


def test_the_multitask_kernel_without_sharing_is_one_forgetron_of_independent_tasks():
    rounds = several(200, 3, 4)
    trace = forgetron.self_tuned(*multitask(rounds, K, 3, 0.0), 200)
    assert sum(trace.mistakes) == fleet(rounds, K, 200, "oldest").M
