"""Sizes by the square root of the share of mistakes."""

import math
from typing import Any

from budgetrun.fleet.policies.base import Policy
from budgetrun.learners.forgetron import damage

# Above every damage of a learner with less than half as many entries.
_MOST = 2.0**20


class SquareRoot(Policy):
    """Of the oldest entries that may go without shrinking, that of least damage; else who holds most for sqrt(M) pays.

    If a learner with n entries makes about a / n mistakes more than with all, and a grows as its mistakes M do, then
    all make the fewest mistakes with sizes in proportion to sqrt(M).
    """

    name = "square_root"

    def price(self, memory: Any, j: int) -> float:
        sigma, mu = memory.weight_and_margin(memory.oldest(j))
        if memory.phi(j, sigma, mu) == 1:
            return damage(sigma, mu)
        return float(_MOST - memory.size(j) / math.sqrt(self.worth(memory, j)))

    def worth(self, memory: Any, j: int) -> float:
        """Return the number to whose square root the size of learner ``j`` should be proportional."""
        return float(memory.mistakes(j))
