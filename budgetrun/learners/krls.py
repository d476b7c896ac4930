"""KRLS: recursive least squares with kernels, on examples that are not nearly dependent."""

import numpy as np
from scipy.linalg.lapack import dpotrs, dtrtrs

from budgetrun.base.params import Budget, Positive
from budgetrun.engine.hypotheses import Expansion
from budgetrun.learners.base import RegressionLearner


class KRLS(RegressionLearner):
    """Least squares over all examples so far, in the span of those that are not nearly linear combinations of others.

    Parameters:
    budget : int, >= 1, or None
        B, the most support examples: with so many, none is added. None means no limit.
    nu : float, > 0
        An example is added if its squared distance from the span of the support examples is above this.

    Notes: O(B d + B^2) per round, and memory for 2 B^2 numbers. Departures from the source: it updates the inverse of
    the kernel matrix, and here that is the Cholesky factor, which loses half as many digits if nu is small. With a
    budget, an example that would be added is treated like its projection. A distance that is nu up to rounding is nu.

    References: Engel, Mannor & Meir (2004), "The kernel recursive least-squares algorithm", IEEE Trans. Signal
    Processing 52(8), Table I.

    >>> diabetes(KRLS(nu=0.1), gamma=10).max_support
    41
    """

    name = "krls"
    title = "KRLS"
    compiled = False
    revision = 2

    def __init__(self, *, budget: Budget | None = None, nu: Positive = 1e-4) -> None:
        self.budget = budget
        self.nu = nu
        # The upper Cholesky factor of the kernel matrix K; and P, the inverse of A^T A, where A has the rows a_t of all
        # rounds.
        self.factor = self.P = np.zeros((0, 0))

    def bytes_needed(self, size: int) -> float:
        # The factor and P, and a copy of both while they grow.
        return 32.0 * size**2

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        return 16.0 * size**2

    def update(self, f: Expansion, y: float, score: float) -> None:
        n, row, error = f.size, f.kernel_row(), y - score
        column = dtrtrs(self.factor, row, trans=1)[0] if n else row
        a = dtrtrs(self.factor, column)[0] if n else row
        distance = f.square - column @ column
        if n != self.budget and distance > self.nu + f.rounding * f.square:
            weight = error / distance
            # In the order of columns, which LAPACK takes without a copy.
            factor, P = np.zeros((n + 1, n + 1), order="F"), np.zeros((n + 1, n + 1))
            factor[:n, :n], factor[:n, n], factor[n, n] = self.factor, column, np.sqrt(distance)
            P[:n, :n], P[n, n] = self.P, 1.0
            self.factor, self.P = factor, P
            f.keep(np.arange(n), f.coef - weight * a)
            f.add(weight)
        elif n:
            gain = self.P @ a
            q = gain / (1 + a @ gain)
            self.P = self.P - np.outer(q, gain)
            f.keep(np.arange(n), f.coef + error * dpotrs(self.factor, q)[0])
