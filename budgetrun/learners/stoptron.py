"""The Stoptron: the Perceptron until the budget is full, and then the same hypothesis for good."""

from budgetrun.engine.hypotheses import Expansion
from budgetrun.learners.base import BinaryLearner, Budgeted


class Stoptron(Budgeted, BinaryLearner):
    """Add every misclassified example until the budget is full; after that, leave f unchanged.

    Notes: O(B d) per round. A baseline: what other learners with the same budget gain, they gain after it is full.
    There is no mistake bound, since mistakes after that change nothing. Departures from the source: none.

    References: Wang, Crammer & Vucetic (2012), "Breaking the curse of kernelization", JMLR 13, section 2.4.

    >>> breast_cancer(Stoptron(budget=20), gamma=0.03).mistakes
    43
    """

    name = "stoptron"
    title = "Stoptron"
    alike_until_full = "adds mistakes"
    only_adds = True

    def update(self, f: Expansion, y: int, score: float) -> None:
        if f.size < self.budget:
            f.add(y)
