"""The errors of regression learners: each round's prediction is compared with its label before that is learned."""

from __future__ import annotations

import math

import numpy as np


class Errors:
    """Sums over the rounds so far, for each of ``n`` learners.

    Attributes
    ----------
    squared : ndarray of float64, shape (n,)
        The sum of (y - f(x))^2.
    """

    def __init__(self, n: int) -> None:
        self.squared = np.zeros(n)
        self._absolute = np.zeros(n)
        self._n_rounds = 0

    def add(self, scores: np.ndarray, y: np.ndarray) -> None:
        """Add rounds with these predictions, shape (n, b), and labels, of the same shape."""
        errors = scores.astype(np.float64, copy=False) - y
        self.squared += np.square(errors).sum(axis=1)
        self._absolute += np.abs(errors).sum(axis=1)
        self._n_rounds += scores.shape[1]

    def rmse(self, i: int) -> float:
        """Return the root mean squared error of learner ``i`` so far."""
        return math.sqrt(self.squared[i] / self._n_rounds)

    def columns(self, i: int, y: np.ndarray) -> dict[str, float | None]:
        """Return the columns of learner ``i`` at the end of a stream with the labels ``y``, shape (T,).

        ``r2`` is 1 minus the sum of its squared errors over that of the squared deviations of the labels from their
        mean over the whole stream; None if all labels are equal.
        """
        spread = float(np.square(y - y.mean()).sum())
        r2 = 1 - float(self.squared[i]) / spread if spread > 0 else None
        return {"mae": float(self._absolute[i]) / self._n_rounds, "rmse": self.rmse(i), "r2": r2}
