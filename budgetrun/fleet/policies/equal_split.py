"""Equal split: the floors are the split, and nobody holds more."""

from typing import Any

from budgetrun.fleet.policies.base import Policy


class EqualSplit(Policy):
    """A learner that holds more than its floor pays at once; each is a Forgetron with its floor as the budget."""

    name = "equal_split"

    def is_over(self, memory: Any) -> bool:
        return True
