"""KRLS: recursive least squares with kernels, on examples that are not nearly dependent."""

import math
from typing import Any

import numpy as np

from budgetrun.base.params import Budget, Positive
from budgetrun.engine.hypotheses import Expansion
from budgetrun.kernels.compiling import interpreted
from budgetrun.kernels.kinds import enlarged
from budgetrun.kernels.sums import add_outer, copy, product
from budgetrun.learners.base import BinaryLearner, Learner, RegressionLearner


class RecursiveSquares(Learner):
    """Recursive least squares with kernels.

    Parameters:
    budget : int, >= 1, or None
        B, the most support examples: with so many, none is added. None means no limit.
    nu : float, > 0
        An example is added if its squared distance from the span of the support examples is above this.

    Notes: O(B d + B^2) per round, and memory for 2 B^2 numbers. Departures from the source: it updates the inverse of
    the kernel matrix, and here that is the inverse of its Cholesky factor, which loses half as many digits if nu is
    small; P is kept in the orthonormal coordinates of this factor. With a budget, an example that would be added is
    treated like its projection. A distance that is nu up to rounding is nu.

    References: Engel, Mannor & Meir (2004), "The kernel recursive least-squares algorithm", IEEE Trans. Signal
    Processing 52(8), Table I.
    """

    name = "krls"
    title = "KRLS"
    revision = 2
    tracks = {"stepwise": True}

    def __init__(self, *, budget: Budget | None = None, nu: Positive = 1e-4) -> None:
        self.budget = budget
        self.nu = nu
        # L^-1, where the kernel matrix is L L^T; and L^-1 P L^-T, where P is the inverse of A^T A, and A has the rows
        # a_t of all rounds. Both have room for more examples, in which they are 0.
        self.frame = self.spread = np.zeros((0, 0))

    def bytes_needed(self, size: int) -> float:
        # Both matrices, and a copy of both while they grow.
        return 32.0 * size**2

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        return 16.0 * size**2

    def uncompiled(self, f: Expansion) -> bool:
        return f.size == len(self.frame) and f.size != self.budget

    def update(self, f: Expansion, y: float, score: float) -> None:
        n, error = f.size, y - score
        if self.uncompiled(f):
            self._make_room(n)
        frame, spread, row = self.frame, self.spread, np.zeros(len(self.frame))
        copy(f.kernel_row(), row)
        z = product(frame, row)
        gain = product(spread, z)
        growth, distance = 1.0 + product(z, gain), f.square - product(z, z)
        if n != self.budget and distance > self.nu + f.rounding * f.square:
            weight, length, a = error / distance, math.sqrt(distance), product(frame.T, z)
            frame[n], frame[n, n] = a / -length, 1.0 / length
            spread[n] = spread[:, n] = gain / -length
            spread[n, n] = growth / distance
            f.keep(np.arange(n), f.coef - weight * a[:n])
            f.add(weight)
        elif n:
            add_outer(spread, -1.0 / growth, gain)
            f.keep(np.arange(n), f.coef + error / growth * product(frame.T, gain)[:n])

    @interpreted
    def _make_room(self, n: int) -> None:
        room = max(16, n + n // 4) if self.budget is None else min(self.budget, max(16, n + n // 4))
        self.frame, self.spread = enlarged(self.frame, room, room), enlarged(self.spread, room, room)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the state; those of earlier versions have the Cholesky factor, L^T, and P."""
        if "factor" in state:
            frame = np.linalg.inv(state.pop("factor")).T.copy()
            state |= {"frame": frame, "spread": frame @ state.pop("P") @ frame.T}
        self.__dict__.update(state)


class KRLS(RecursiveSquares, RegressionLearner):
    """Least squares over all examples so far, in the span of those that are not nearly linear combinations of others.

    >>> diabetes(KRLS(nu=0.1), gamma=10).max_support
    41
    """


class KRLSClassifier(RecursiveSquares, BinaryLearner):
    """Least squares with the labels -1 and +1 as numbers, in the span of examples that are not nearly dependent.

    >>> breast_cancer(KRLSClassifier(budget=20, nu=0.1), gamma=0.03).mistakes
    23
    """

    margin = math.inf
