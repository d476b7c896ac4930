"""The globally oldest entry."""

from typing import Any

from budgetrun.fleet.policies.base import Policy


class Oldest(Policy):
    """The owner of the oldest entry of all pays."""

    name = "oldest"
    by_age = True

    def price(self, memory: Any, j: int) -> float:
        return float(memory.birth(memory.oldest(j)))
