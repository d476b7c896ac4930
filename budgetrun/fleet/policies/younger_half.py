"""Sizes by the square root of the mistakes that half of the memory would make."""

from typing import Any

from budgetrun.fleet.policies.square_root import SquareRoot


class YoungerHalf(SquareRoot):
    """As `SquareRoot`, with the mistakes that the younger half of a learner's entries would have made alone.

    Where labels are noise, half of the entries err about as often as all; where memory helps, they err more often, and
    the learner may hold more.
    """

    name = "younger_half"
    by_halves = True

    def worth(self, memory: Any, j: int) -> float:
        return float(memory.of_younger[j])
