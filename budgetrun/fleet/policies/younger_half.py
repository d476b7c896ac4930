"""Sizes by the square root of the mistakes that half of the memory would make."""

from typing import Any

from budgetrun.fleet.policies.square_root import SquareRoot


class YoungerHalf(SquareRoot):
    """As `SquareRoot`, with the mistakes that the younger half of a learner's entries would have made alone.

    They count what its memory is good for: labels that are noise cost mistakes, but half the entries make no more.
    """

    name = "younger_half"
    by_halves = True

    def worth(self, memory: Any, j: int) -> float:
        return float(memory.of_younger[j])
