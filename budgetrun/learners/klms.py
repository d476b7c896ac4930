"""KLMS: kernel least mean squares, a gradient step on every example."""

import math

from budgetrun.base.params import Budget, Positive
from budgetrun.engine.hypotheses import Expansion
from budgetrun.learners.base import RegressionLearner, as_fields


@as_fields
class KLMS(RegressionLearner):
    """Gradient descent on the squared error: add every example with its error times a step, until the budget is full.

    Parameters:
    budget : int, >= 1, or None
        B, the most support examples; after B rounds, f does not change any more. None means that every example is kept.
    step : float, > 0
        eta. An example is added with weight eta (y - f(x)).

    Notes: O(B d) per round. Departures from the source: none without a budget; the source has none.

    References: Liu, Pokharel & Principe (2008), "The kernel least-mean-square algorithm", IEEE Trans. Signal Processing
    56(2).

    >>> diabetes(KLMS(budget=100, step=0.5), gamma=50).max_support
    100
    """

    name = "klms"
    title = "KLMS"

    budget: Budget | None = None
    step: Positive

    def tolerance(self, f: Expansion) -> float:
        return math.inf if f.size == self.budget else -1.0

    def update(self, f: Expansion, y: float, score: float) -> None:
        f.add(self.step * (y - score))
