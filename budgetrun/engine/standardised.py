"""Inputs on one scale, by the rows so far."""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np
import scipy.sparse as sp

from budgetrun.kernels import Rows, compiling
from budgetrun.kernels.arithmetic import LEAST_SUM
from budgetrun.kernels.kinds import Matrix, enlarged, floats

# The largest absolute value; and the rows that decide whether all are bits.
MOST = 10.0
DECIDED = 1024
# Larger values count as this one: sums of its square are finite.
LARGEST = 1e100
# A column has long tails if its standard deviation is above so many median absolute deviations; a normal one has 1.48.
LONG = 2.5
# Where quantiles are taken, and what they are of a standard normal distribution, the same on every machine.
LEVELS = [(2 * k + 1) / 32 for k in range(16)]
SCORES = np.array([round(NormalDist().inv_cdf(level), 6) for level in LEVELS])


class Standardised:
    """The mean and deviation of each column so far, by which the next rows are standardised.

    A value becomes its distance from the mean of the rows before it, divided by their (population) standard deviation
    and cut to [-10, 10]; 0 if they are all equal. The zeros of sparse rows stay zeros: their columns are divided, but
    the mean is not subtracted. Results have the same bits however rows are divided into calls.

    Parameters:
    bits : bool
        Whether bits stay bits: as long as every column has only had zeros and one other number, this row included,
        values are divided by that number instead. Whether that is so after `DECIDED` rows is not looked at again.

    Attributes:
    n_rows : int
        The rows so far.
    stored : ndarray, shape (n_features,), int64
        The number of values of each column that these rows store: all of dense rows; others are zeros.
    mean, squares : ndarray, shape (n_features,), float64
        The mean of the stored values of each column, and the sum of their squared distances from it.
    bits : ndarray of bool, shape (1,)
        Whether every column has only had zeros and one other number.
    one : ndarray, shape (n_features,), float64
        That number of each column: the first other than 0.

    References: Welford (1962), Technometrics 4(3). For the zeros: Chan, Golub & LeVeque (1979), Stanford
    STAN-CS-79-773, eq. (2.1).
    """

    _most = MOST
    # In deviations: after the first `DECIDED` rows, values farther from the mean count for later rows as these do.
    _farthest = math.inf

    def __init__(self, n_features: int, bits: bool = True) -> None:
        self.n_rows, self.bits = 0, np.array([bits])
        self.stored = np.zeros(n_features, dtype=np.int64)
        self.mean, self.squares, self.one = np.zeros((3, n_features))

    def scaled(self, X: Rows, learn: bool = True) -> Matrix:
        """Return the next rows, shape (n, d), each by those before it; without ``learn``, all by the rows so far."""
        given: Any = floats(X)
        if isinstance(given, np.ndarray):
            Z: Any = np.array(given, dtype=np.float64, order="C")
        else:
            Z = sp.csr_array(given, dtype=np.float64, copy=True)
        self.scale(Z, learn)
        return Z

    def scale(self, X: Any, learn: bool = True) -> None:
        """Do what `scaled` does, in place; X is float64."""
        (n, d), dense = X.shape, isinstance(X, np.ndarray)
        if dense and not X.flags.c_contiguous:
            X[:] = self.scaled(X, learn)
            return
        # Values, their places, which dense rows need not have, and the starts of rows.
        none = np.zeros(0, dtype=np.int32)
        rows = (X.reshape(-1), none, d * np.arange(n + 1)) if dense else (X.data, X.indices, X.indptr)
        columns = self.stored, self.mean, self.squares, self.one, self.bits
        with np.errstate(over="ignore", invalid="ignore"):
            given = *rows, self.n_rows, *columns, self._most, self._farthest, dense, learn
            compiling.call(_scale, *given, interpreted=_scale_by_row)
        if not (np.isfinite(rows[0]).all() and np.isfinite(self.squares).all()):
            raise FloatingPointError("the values are too large for their squares; scale the examples")
        self.n_rows += n if learn else 0

    def long_tails(self, X: np.ndarray) -> bool:
        """Return whether a column has long tails; X, shape (n, d), are the rows so far."""
        X = np.clip(X, -LARGEST, LARGEST)
        spread = np.median(np.abs(X - np.median(X, axis=0)), axis=0)
        return bool((self.squares > self.n_rows * (LONG * spread) ** 2)[spread > 0].any())

    def rearrange(self, features: Sequence[int], n_features: int) -> None:
        """Do what `Group.rearrange` says."""
        for name in ("stored", "mean", "squares", "one"):
            setattr(self, name, enlarged(getattr(self, name)[features], n_features))


class Guarded(Standardised):
    """`Standardised`, but after `DECIDED` rows, one wrong value does not set the scale: it counts as 30 deviations.

    Values above 1e100 are cut to that from the first row on, so that their squares are finite.
    """

    _farthest = 30.0

    def scale(self, X: Any, learn: bool = True) -> None:
        values = X if isinstance(X, np.ndarray) else X.data
        np.clip(values, -LARGEST, LARGEST, out=values)
        super().scale(X, learn)


class NormalScores(Standardised):
    """Inputs by rank: `Standardised` makes them of what the values would be in a normal distribution.

    The quantiles of a column in the first rows, at levels of 1/32, 3/32, ..., 31/32, become those of a standard normal
    distribution; equal ones become the mean of these. In between, the change is linear, and beyond, values are cut. So
    a column whose values are nearly all equal is left out: it becomes 0.

    Parameters:
    first : ndarray, shape (n, n_features)
        The first rows; they count among the rows so far.

    Attributes:
    knots, scores, slopes : ndarray, shape (16, n_features), the last (15, n_features), float64
        The quantiles of the columns, what they become, and how steep the change is between two.

    References: van der Waerden (1952), Indagationes Mathematicae 14, for normal scores.
    """

    def __init__(self, first: np.ndarray) -> None:
        super().__init__(first.shape[1], bits=False)
        self.knots = np.quantile(first, LEVELS, axis=0)
        equal = self.knots[:, None] == self.knots
        self.scores = (equal * SCORES[:, None, None]).sum(axis=0) / equal.sum(axis=0)
        steps = np.diff(self.knots, axis=0)
        wide = steps > LEAST_SUM
        self.slopes = np.divide(np.diff(self.scores, axis=0), steps, out=np.zeros(steps.shape), where=wide)
        self.scaled(first)

    def scaled(self, X: Rows, learn: bool = True) -> Matrix:
        given: Any = floats(X)
        x = np.clip(given.toarray() if sp.issparse(given) else given, self.knots[0], self.knots[-1])
        at = sum(x >= knot for knot in self.knots[1:-1]), np.arange(x.shape[1])
        Z = self.scores[at] + self.slopes[at] * (x - self.knots[at])
        self.scale(Z, learn)
        return Z

    def rearrange(self, features: Sequence[int], n_features: int) -> None:
        super().rearrange(features, n_features)
        for name in ("knots", "scores", "slopes"):
            old = getattr(self, name)
            setattr(self, name, enlarged(old[:, features], len(old), n_features))


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
    most: float,
    farthest: float,
    dense: bool,
    learn: bool,
) -> None:
    for t in range(len(starts) - 1):
        first, end = starts[t], starts[t + 1]
        if learn and n_rows < DECIDED and bits[0]:
            for i in range(first, end):
                j, x = i - first if dense else places[i], values[i]
                one[j] = x if one[j] == 0 else one[j]
                bits[0] = bits[0] and (x == 0 or x == one[j])
        are_bits = bits[0]
        for k in range(end - first):
            j, x, z = k if dense else places[first + k], values[first + k], 0.0
            n = stored[j]
            if are_bits:
                z = x / one[j] if one[j] != 0 else 1.0 * (x != 0)
            elif n:
                spread, centre = squares[j], mean[j]
                if n < n_rows:
                    # Of the stored values and of the zeros in the other rows.
                    spread += centre * centre * (n * (n_rows - n) / n_rows)
                    centre *= n / n_rows
                if spread > 0.0:
                    z = (x - centre if dense else x) / math.sqrt(spread / n_rows)
                    if abs(z) > farthest and n_rows >= DECIDED:
                        x = math.copysign(farthest, z) * math.sqrt(spread / n_rows) + (centre if dense else 0.0)
            values[first + k] = min(max(z, -most), most)
            if learn:
                one[j] = x if one[j] == 0 else one[j]
                distance = x - mean[j]
                stored[j] = n + 1
                mean[j] += distance / (n + 1)
                squares[j] += distance * (x - mean[j])
        if learn:
            n_rows += 1


def _scale_by_row(values: np.ndarray, places: np.ndarray, starts: np.ndarray, n_rows: int, *columns: Any) -> None:
    """Do what `_scale` does, a whole row at a time, and without ``learn`` all rows at once."""
    stored, mean, squares, one, bits, most, farthest, dense, learn = columns
    for first, end in pairwise(starts.tolist() if learn else (0, len(values))):
        row = values[first:end] if learn or not dense else values.reshape(-1, len(mean))
        j, x = slice(None) if dense else places[first:end], row.copy()
        n, centre, spread = stored[j], mean[j], squares[j]
        if learn:
            one[j] = np.where(one[j] == 0, x, one[j])
            bits[0] = bits[0] and (n_rows >= DECIDED or ((x == 0) | (x == one[j])).all())
        if bits[0]:
            z = np.divide(x, one[j], out=np.asarray(x != 0, dtype=np.float64), where=one[j] != 0)
        else:
            few = n < n_rows
            if few.any():
                spread = np.where(few, spread + centre * centre * (n * (n_rows - n) / n_rows), spread)
                centre = np.where(few, centre * (n / n_rows), centre)
            z = np.divide(x - centre if dense else x, np.sqrt(spread / n_rows), out=np.zeros(x.shape), where=spread > 0)
            if n_rows >= DECIDED and (far := np.abs(z) > farthest).any():
                cut = np.copysign(farthest, z) * np.sqrt(spread / n_rows) + (centre if dense else 0.0)
                x = np.where(far, cut, x)
        row[...] = np.minimum(np.maximum(z, -most), most)
        if learn:
            distance = x - mean[j]
            mean[j] += distance / (n + 1)
            squares[j] += distance * (x - mean[j])
            stored[j] = n + 1
            n_rows += 1
