"""The Remove-Oldest Perceptron."""

from budgetrun.engine.hypotheses import Expansion
from budgetrun.learners.base import BinaryLearner, Budgeted
from budgetrun.learners.forgetron import damage, weight_and_margin


class RemoveOldest(Budgeted, BinaryLearner):
    """The Perceptron; past the budget, remove the oldest example.

    Attributes:
    damage : float
        The sum of Psi(1, mu) over the removals, in Corollary 1.

    Notes: O(B d) per round. There is no mistake bound that is known before the run: Corollary 1 depends on ``damage``.

    References: Dekel, Shalev-Shwartz & Singer (2008), SIAM J. Comput. 37(5), section 3, eqs. (7)-(9).

    >>> breast_cancer(RemoveOldest(budget=20), gamma=0.03).mistakes
    52
    """

    name = "remove_oldest"
    title = "Remove-Oldest"
    tracks = {"track": "oldest"}
    alike_until_full = "adds mistakes"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.damage = 0.0

    def update(self, f: Expansion, y: int, score: float) -> None:
        f.add(y)
        if f.size > self.budget:
            self.damage += damage(*weight_and_margin(f, 0))
            f.evict(0)

    def facts(self, f: Expansion) -> dict[str, float]:
        return {"damage": self.damage}
