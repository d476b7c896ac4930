"""Scaling each row of a stream by the rows before it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.errors import OutOfRangeError
from budgetrun.kernels import compiling

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
M = TypeVar("M", "Floats", "csr_array")


class Running:
    """The mean and standard deviation of the rows so far, by which the next row is scaled.

    Each value of a column becomes its distance from the mean of the rows before it, divided by their (population)
    standard deviation; 0 if they are all equal, as before the second row. The zeros of a sparse matrix stay zeros: its
    values are divided by the standard deviations, but the mean is not subtracted. However rows are divided into
    matrices, results are bit-identical. The time is that of reading the values a few times.

    Parameters
    ----------
    n_features : int, >= 0

    Attributes
    ----------
    n_rows : int
        The rows so far.
    stored : ndarray, shape (n_features,), int64
        The number of values of each column that these rows store, if they are sparse; their other values are zeros.
    mean, squares : ndarray, shape (n_features,), float64
        The mean of the values of each column, or of its stored values, and the sum of their squared distances from it.

    References
    ----------
    Welford (1962), Technometrics 4(3). For the zeros: Chan, Golub & LeVeque (1979), Stanford STAN-CS-79-773, eq. (2.1).
    """

    def __init__(self, n_features: int) -> None:
        self.n_rows = 0
        self.stored = np.zeros(n_features, dtype=np.int64)
        self.mean, self.squares = np.zeros(n_features), np.zeros(n_features)

    def scaled(self, X: M) -> M:
        """Return the next rows scaled, each by those before it; they count for the rows that follow.

        Parameters
        ----------
        X : ndarray or csr_array, shape (n, n_features), float64
            Not changed. All rows of a stream are dense, or all are sparse.

        Raises
        ------
        OutOfRangeError
            The values are too large for their squares, or for dividing them.
        """
        X = X.copy()
        self.scale(X)
        return X

    def scale(self, X: Floats | csr_array, learn: bool = True) -> None:
        """Scale rows in place, as `scaled`; without ``learn``, all of them by the rows so far alone."""
        values = X if isinstance(X, np.ndarray) else X.data
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(X, np.ndarray):
                _compiled(_scale_dense)(X, self.n_rows, self.mean, self.squares, learn)
            else:
                of = X.data, X.indices, X.indptr, self.n_rows, self.stored, self.mean, self.squares
                _compiled(_scale_sparse)(*of, learn)
        if learn:
            self.n_rows += X.shape[0]
        if not (np.isfinite(self.squares).all() and np.isfinite(values).all()):
            raise OutOfRangeError("scale: the values are too large for 'running' in float64; use 'scale: none'")


def _scale_dense(X: Floats, n_rows: int, mean: Floats, squares: Floats, learn: bool) -> None:
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = X[i, j]
            distance = x - mean[j]
            spread = squares[j]
            X[i, j] = distance / math.sqrt(spread / n_rows) if spread > 0.0 else 0.0
            if learn:
                mean[j] += distance / (n_rows + 1)
                squares[j] += distance * (x - mean[j])
        if learn:
            n_rows += 1


def _scale_sparse(
    data: Floats,
    indices: NDArray[np.int32],
    starts: NDArray[np.int32],
    n_rows: int,
    stored: Counts,
    mean: Floats,
    squares: Floats,
    learn: bool,
) -> None:
    for i in range(len(starts) - 1):
        for k in range(starts[i], starts[i + 1]):
            j = indices[k]
            x, n = data[k], stored[j]
            # Squared distances of the stored values, and of the zeros in the other rows, from their mean.
            spread = squares[j] + mean[j] * mean[j] * (n * (n_rows - n) / n_rows) if n else 0.0
            data[k] = x / math.sqrt(spread / n_rows) if spread > 0.0 else 0.0
            if learn:
                distance = x - mean[j]
                stored[j] = n + 1
                mean[j] += distance / (n + 1)
                squares[j] += distance * (x - mean[j])
        if learn:
            n_rows += 1


@cache
def _compiled(loop: Callable[..., None]) -> Callable[..., None]:
    """Return a loop compiled, if code is compiled at all; the results are the same."""
    return compiling.function(loop) if compiling.on() else loop
