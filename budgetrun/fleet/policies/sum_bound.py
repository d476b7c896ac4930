"""The policy of the bound for the sum of all learners' mistakes."""

from typing import Any

from budgetrun.fleet.policies.base import Policy
from budgetrun.learners.forgetron import damage

# Above every damage that is allowed.
_MOST = 2.0**52


class SumBound(Policy):
    """Of the oldest entries that may go without shrinking, the one of least damage; else the oldest entry of all."""

    name = "sum_bound"
    by_age = True

    def price(self, memory: Any, j: int) -> float:
        r = memory.oldest(j)
        sigma, mu = memory.weight_and_margin(r)
        return damage(sigma, mu) if memory.phi(j, sigma, mu) == 1 else _MOST + memory.birth(r)
