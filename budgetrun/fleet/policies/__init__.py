"""Policies: which learner gives up an entry when the memory is full, one module each, found by file."""

from functools import cache

from budgetrun.base.registry import classes
from budgetrun.fleet.policies.base import Policy

__all__ = ["Policy", "registry"]


@cache
def registry() -> dict[str, type[Policy]]:
    """Return the policies by name."""
    return {policy.name: policy for policy in classes(__name__, Policy) if policy.name}
