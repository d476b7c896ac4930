"""KRLS: recursive least squares with kernels, on examples that are not nearly dependent."""

from __future__ import annotations

import numpy as np

from budgetrun.engine.hypotheses import Expansion
from budgetrun.learners.base import RegressionLearner
from budgetrun.params import Budget, Positive


class KRLS(RegressionLearner):
    """Least squares over all examples so far, in the span of those that are not nearly linear combinations of others.

    Parameters
    ----------
    budget : int, >= 1, or None
        B, the most support examples: with so many, none is added. None means no limit.
    nu : float, > 0
        An example is added if its squared distance from the span of the support examples is above this.

    Notes
    -----
    O(B d + B^2) per round, and memory for 2 B^2 numbers. The inverse of the kernel matrix grows as in the source, so
    with a small nu it loses digits: about as many as 1 / nu has. Departures from the source: none without a budget;
    with it, an example that would be added is treated like its projection. A distance that is equal to nu up to
    rounding counts as equal.

    References
    ----------
    Engel, Mannor & Meir (2004), "The kernel recursive least-squares algorithm", IEEE Trans. Signal Processing 52(8),
    Table I.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_diabetes(return_X_y=True)
    >>> run(KRLS(nu=0.1), Gaussian(gamma=10), X, y).max_support
    41
    """

    name = "krls"
    title = "KRLS"
    compiled = False

    def __init__(self, *, budget: Budget | None = None, nu: Positive = 1e-4) -> None:
        self.budget = budget
        self.nu = nu
        # The inverse of the kernel matrix K; and P, the inverse of A^T A, where the rows of A are a_t of all rounds.
        self.inverse = self.P = np.zeros((0, 0))

    def update(self, f: Expansion, y: float, score: float) -> None:
        n, row, error = f.size, f.kernel_row(), y - score
        a = self.inverse @ row
        distance = f.square - row @ a
        if n != self.budget and distance > self.nu + f.rounding * f.square:
            weight = error / distance
            column = np.append(a, -1.0)
            inverse, P = np.zeros((2, n + 1, n + 1))
            inverse[:n, :n], P[:n, :n], P[n, n] = self.inverse, self.P, 1.0
            self.inverse, self.P = inverse + np.outer(column, column / distance), P
            f.keep(np.arange(n), f.coef - weight * a)
            f.add(weight)
        elif n:
            gain = self.P @ a
            q = gain / (1 + a @ gain)
            self.P = self.P - np.outer(q, gain)
            f.keep(np.arange(n), f.coef + error * (self.inverse @ q))
