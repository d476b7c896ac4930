"""Inputs on one scale, by the rows so far."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from budgetrun.kernels import Rows, compiling
from budgetrun.kernels.kinds import Matrix, floats

# The largest absolute value; and the rows that decide whether all are bits.
MOST = 10.0
DECIDED = 1024


class Standardised:
    """The mean and deviation of each column so far, by which the next rows are standardised; bits stay bits.

    A value becomes its distance from the mean of the rows before it, divided by their (population) standard deviation
    and cut to [-10, 10]; 0 if they are all equal. The zeros of sparse rows stay zeros: their columns are divided, but
    the mean is not subtracted. As long as every column has only had zeros and one other number, this row included,
    values are divided by that number instead; whether that is so after `DECIDED` rows is not looked at again. Results
    have the same bits however rows are divided into calls.

    References: Welford (1962), Technometrics 4(3). For the zeros: Chan, Golub & LeVeque (1979), eq. (2.1).
    """

    def __init__(self, n_features: int) -> None:
        # Of each column: the number of stored values, their mean and the sum of their squared distances from it, and
        # the first number other than 0. Whether all are bits: one number.
        self._n_rows, self._bits = 0, np.ones(1, dtype=bool)
        self._stored = np.zeros(n_features, dtype=np.int64)
        self._mean, self._squares, self._one = np.zeros((3, n_features))

    def scaled(self, X: Rows, learn: bool = True) -> Matrix:
        """Return the next rows, shape (n, d), each by those before it; without ``learn``, all by the rows so far."""
        given: Any = floats(X)
        dense = isinstance(given, np.ndarray)
        Z: Any = (
            np.array(given, dtype=np.float64, order="C") if dense else sp.csr_array(given, dtype=np.float64, copy=True)
        )
        n, d = Z.shape
        values = Z.ravel() if dense else Z.data
        places = np.tile(np.arange(d), n) if dense else Z.indices.astype(np.intp)
        starts = np.arange(n + 1) * d if dense else Z.indptr.astype(np.intp)
        columns = self._stored, self._mean, self._squares, self._one, self._bits
        with np.errstate(over="ignore", invalid="ignore"):
            compiling.call(_scale, values, places, starts, self._n_rows, *columns, dense, learn)
        if not (np.isfinite(values).all() and np.isfinite(self._squares).all()):
            raise FloatingPointError("the values are too large for their squares; scale the examples")
        self._n_rows += n if learn else 0
        scaled: Matrix = Z
        return scaled

    def rearrange(self, features: Sequence[int], n_features: int) -> None:
        """Do what `Group.rearrange` says."""
        for name in ("_stored", "_mean", "_squares", "_one"):
            old = getattr(self, name)
            new = np.zeros(n_features, dtype=old.dtype)
            new[: len(features)] = old[features]
            setattr(self, name, new)


def _scale(
    values: np.ndarray,
    places: np.ndarray,
    starts: np.ndarray,
    n_rows: int,
    stored: np.ndarray,
    mean: np.ndarray,
    squares: np.ndarray,
    one: np.ndarray,
    bits: np.ndarray,
    centred: bool,
    learn: bool,
) -> None:
    for t in range(len(starts) - 1):
        row = range(starts[t], starts[t + 1])
        if learn and n_rows < DECIDED and bits[0]:
            for i in row:
                j, x = places[i], values[i]
                one[j] = x if one[j] == 0 else one[j]
                bits[0] = bits[0] and (x == 0 or x == one[j])
        for i in row:
            j, x, z = places[i], values[i], 0.0
            n = stored[j]
            if bits[0]:
                z = x / one[j] if one[j] != 0 else 1.0 * (x != 0)
            elif n:
                # Of the stored values and of the zeros in the other rows.
                spread = squares[j] + mean[j] * mean[j] * (n * (n_rows - n) / n_rows)
                if spread > 0.0:
                    z = (x - mean[j] * (n / n_rows) if centred else x) / math.sqrt(spread / n_rows)
            values[i] = min(max(z, -MOST), MOST)
            if learn:
                one[j] = x if one[j] == 0 else one[j]
                distance = x - mean[j]
                stored[j] = n + 1
                mean[j] += distance / (n + 1)
                squares[j] += distance * (x - mean[j])
        if learn:
            n_rows += 1
