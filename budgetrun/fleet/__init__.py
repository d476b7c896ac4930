"""Many learners in one memory: a Forgetron per key, and policies that share the memory out among them."""

from functools import cache
from typing import Any, cast

from budgetrun.base.registry import defined_in, parameters
from budgetrun.fleet import policies
from budgetrun.fleet.memory import SharedMemory
from budgetrun.fleet.policies import Policy

__all__ = ["Policy", "SharedMemory", "make", "registry"]


@cache
def registry() -> dict[str, type[Policy]]:
    """Return the policies by name."""
    return {policy.name: policy for policy in defined_in(policies, Policy) if policy.name}


def make(name: str, seed: int = 0) -> Policy:
    """Return the policy of a name; only those that draw have a seed."""
    policy: Any = registry()[name]
    return cast(Policy, policy(seed=seed) if "seed" in parameters(policy) else policy())
