"""The errors of regression learners: each round's prediction is compared with its label before that is learned."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from budgetrun.base.problem import SQUARED_ERROR


class Errors:
    """Sums over the rounds so far, for each of ``n`` learners.

    Attributes
    ----------
    squared : ndarray of float64, shape (n,)
        The sum of (y - f(x))^2.

    Notes
    -----
    The sums do not depend on how the rounds are divided into calls, not even in the last bit. That of the squared
    deviations of the labels is updated as by Welford (1962), "Note on a method for calculating corrected sums".
    """

    def __init__(self, n: int) -> None:
        self.squared = np.zeros(n)
        self._absolute = np.zeros(n)
        self._n_rounds, self._mean, self._spread = 0, 0.0, 0.0

    def add(self, scores: Sequence[np.ndarray], labels: Sequence[np.ndarray]) -> None:
        """Add rounds: each learner's predictions and labels, shape (b,); the labels are the same for all."""
        y = labels[0]
        errors = np.stack(scores).astype(np.float64, copy=False) - y
        self.squared = _continued(self.squared, np.square(errors))
        self._absolute = _continued(self._absolute, np.abs(errors))
        for label in y.tolist():
            self._n_rounds += 1
            deviation = label - self._mean
            self._mean += deviation / self._n_rounds
            self._spread += deviation * (label - self._mean)

    def rmse(self, i: int) -> float:
        """Return the root mean squared error of learner ``i`` so far."""
        return math.sqrt(self.squared[i] / self._n_rounds)

    def now(self) -> dict[str, list[float]]:
        """Return the points of the curves, a number per learner."""
        return {SQUARED_ERROR: self.squared.tolist()}

    def prefix(self, i: int) -> dict[str, float]:
        """Return the columns of learner ``i`` for a prefix that ends now."""
        return {"prefix_rmse": self.rmse(i)}

    def columns(self, i: int) -> dict[str, float | None]:
        """Return the columns of learner ``i`` after the rounds so far.

        ``r2`` is 1 minus the sum of its squared errors over that of the squared deviations of the labels from their
        mean over these rounds; None if all labels are equal.
        """
        r2 = 1 - float(self.squared[i]) / self._spread if self._spread > 0 else None
        return {"mae": float(self._absolute[i]) / self._n_rounds, "rmse": self.rmse(i), "r2": r2}


def _continued(sums: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Return sums, shape (n,), with further terms, shape (n, b), added one after the other."""
    totals: np.ndarray = np.cumsum(np.column_stack([sums, terms]), axis=1)[:, -1]
    return totals
