"""Whatever does no harm, whoever holds it."""

from typing import Any

from budgetrun.fleet.policies.base import Policy
from budgetrun.learners.forgetron import damage

# Above every damage that is harmless.
_MOST = 2.0**52


class Harmless(Policy):
    """Of all entries that do no harm, the one of least damage goes; if there is none, the oldest entry of all.

    Learners that share rows lose the oldest row together, so that its bytes are freed.
    """

    name = "harmless"
    by_age = by_row = True
    greedy = True

    def price(self, memory: Any, j: int) -> float:
        r, _ = memory.least_harmful(j)
        Psi = damage(*memory.weight_and_margin(r))
        return Psi if memory.is_harmless(Psi) else float(_MOST + memory.birth(memory.oldest(j)))
