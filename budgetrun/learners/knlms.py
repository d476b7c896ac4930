"""KNLMS: normalized kernel least mean squares with the coherence criterion."""

import numpy as np

from budgetrun.base.params import Budget, Positive, PositiveShare
from budgetrun.engine.hypotheses import Expansion
from budgetrun.kernels.sums import inner
from budgetrun.learners.base import RegressionLearner, as_fields


@as_fields
class KNLMS(RegressionLearner):
    """Normalized gradient steps on all weights; an example is added if its kernel values with the others are small.

    Parameters:
    budget : int, >= 1, or None
        B, the most support examples: with so many, none is added. None means no limit.
    step : float, > 0
        eta. A round adds eta (y - f(x)) k / (regulariser + ||k||^2) to the weights, where k has the kernel values of x
        with the support examples.
    coherence : float in (0, 1]
        mu0. An example is added, first with weight 0, if |k(x, x_i)| <= mu0 sqrt(k(x, x) k(x_i, x_i)) for all x_i held.
    regulariser : float, > 0
        Is added to ||k||^2.

    Notes: O(B d) per round, plus O(B) for each later score that a step changes. Departures from the source: none
    without a budget; it has kernels with k(x, x) = 1, and a coherence that is equal up to rounding counts as equal.

    References: Richard, Bermudez & Honeine (2009), "Online prediction of time series data with kernels", IEEE Trans.
    Signal Processing 57(3): KNLMS, the affine projection algorithm of order 1.

    >>> diabetes(KNLMS(coherence=0.5), gamma=50).max_support
    78
    """

    name = "knlms"
    title = "KNLMS"

    budget: Budget | None = None
    step: Positive = 0.5
    coherence: PositiveShare = 0.95
    regulariser: Positive = 0.01

    def update(self, f: Expansion, y: float, score: float) -> None:
        row = f.kernel_row()
        limits = (self.coherence + f.rounding) * np.sqrt(f.squares * f.square)
        if f.size != self.budget and (np.abs(row) <= limits).all():
            f.add(0.0)
            row = f.kernel_row()
        step = self.step * (y - score) / (self.regulariser + inner(row, row))
        for i in range(len(row)):
            f.shift(i, step * row[i])
