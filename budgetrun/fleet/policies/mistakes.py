"""Sizes by shares of mistakes."""

from typing import Any

from budgetrun.fleet.policies.base import Policy


class Mistakes(Policy):
    """The learner pays that holds the largest part of its mistakes, so that sizes go by the share of mistakes."""

    name = "mistakes"

    def price(self, memory: Any, j: int) -> float:
        return float(-memory.size(j) / memory.mistakes(j))
