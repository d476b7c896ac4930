"""Policies: which learner gives up an entry when the memory is full, one module each, found by file."""

from functools import cache
from typing import Any, cast

from budgetrun.base.registry import classes, parameters
from budgetrun.fleet.policies.base import Policy

__all__ = ["Policy", "make", "registry"]


@cache
def registry() -> dict[str, type[Policy]]:
    return {policy.name: policy for policy in classes(__name__, Policy) if policy.name}


def make(name: str, seed: int = 0) -> Policy:
    """Return the policy of a name; only those that draw have a seed."""
    policy: Any = registry()[name]
    return cast(Policy, policy(seed=seed) if "seed" in parameters(policy) else policy())
