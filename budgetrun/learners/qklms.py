"""QKLMS: kernel least mean squares over a quantized set of examples."""

import math

import numpy as np

from budgetrun.base.params import Budget, NotNegative, Positive
from budgetrun.engine.hypotheses import Expansion
from budgetrun.engine.pool import Pool
from budgetrun.learners.base import RegressionLearner, as_fields, gaussian_rate


@as_fields
class QKLMS(RegressionLearner):
    """Gradient descent on the squared error, where a step goes to the nearest support example if one is near.

    Parameters:
    budget : int, >= 1, or None
        B, the most support examples. With so many, an example near none of them changes nothing. None: no limit.
    step : float, > 0
        eta. A step adds eta (y - f(x)) to the weight of the nearest support example, or adds the example with it.
    epsilon : float, >= 0
        An example is near if its distance from the nearest support example is at most this.

    Notes: O(B d) per round. Only for the Gaussian kernel, whose values tell distances. Support examples at the same
    distance, up to rounding, are a tie; the oldest is taken. Departures from the source: the budget.

    References: Chen, Zhao, Zhu & Principe (2012), "Quantized kernel least mean square algorithm", IEEE Trans. Neural
    Networks and Learning Systems 23(1).

    >>> diabetes(QKLMS(step=0.5, epsilon=0.1), gamma=50).max_support
    127
    """

    name = "qklms"
    title = "QKLMS"

    budget: Budget | None = None
    step: Positive = 0.9
    epsilon: NotNegative = 0.1

    def start(self, pool: Pool) -> Expansion:
        rate = gaussian_rate(pool, "qklms", "it finds near examples by the gaussian kernel")
        # The kernel value at this distance.
        self.near = math.exp(-rate * self.epsilon**2)
        return Expansion(pool)

    def update(self, f: Expansion, y: float, score: float) -> None:
        weight = self.step * (y - score)
        if f.size > 0:
            row = f.kernel_row()
            nearest = int(np.argmax(row >= (1 - f.rounding) * row.max()))
            if row[nearest] >= (1 - f.rounding) * self.near:
                f.shift(nearest, weight)
                return
        if f.size != self.budget:
            f.add(weight)
