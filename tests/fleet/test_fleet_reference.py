"""One memory for many Forgetrons, in the reference: its invariant, and bounds on adversarial streams."""

import pytest
from cases import paired
from reference import fleet_adversaries
from reference.fleet import POLICIES, Oldest, U_of, split
from reference.fleet_adversaries import K, Restless, Spiteful, Watched

ROUNDING = 1e-9


EVERY_POLICY = [*POLICIES.values(), Spiteful, Restless]


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


@pytest.mark.parametrize("stream", fleet_adversaries.STREAMS)
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


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("m", [2, 3, 5])
def test_no_policy_wins_at_paging(policy, m):
    """Learners that share one orthonormal example more than fits: the one that is missing is asked for."""
    T, floors = 200, split(2 * m - 1, range(m)) if policy == "equal_split" else 1
    made, best = fleet_adversaries.paging(m, T, POLICIES[policy](), floors=floors)
    assert made.M == T
    assert best <= T / m + 2 * m - 1
