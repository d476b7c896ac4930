"""Scaling the examples of a stream."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from budgetrun.base.errors import InputError, OutOfRangeError
from budgetrun.kernels import compiling
from budgetrun.kernels.kinds import IntegerRows, Matrix, Rows, floats, whole_squares

Dense = NDArray[np.float64]
M = TypeVar("M", "Dense", "csr_array")


def scaled(X: Rows, scale: str, where: str, test: Rows | None = None) -> tuple[Rows, Rows | None]:
    """Return examples scaled as `scale_in_place` does, and the test set: with ``unit_norm``, integers stay integers.

    Arrays of floats are changed in place.
    """
    if scale == "none":
        return X, test
    if scale == "unit_norm" and isinstance(X, IntegerRows):
        of_test = None if test is None else scaled(test, scale, where)[0]
        return IntegerRows(X.integers, 1.0 / _nonzero(np.sqrt(whole_squares(X.integers)))), of_test
    of_stream, of_test = floats(X), None if test is None else floats(test)
    scale_in_place(of_stream, scale, where, of_test)
    return of_stream, of_test


def scale_in_place(X: Matrix, scale: str, where: str, test: Matrix | None = None) -> None:
    """Scale examples, shape (n, d), in place by statistics of the rows of X, that is of the stream as it is used.

    A test set is scaled by the statistics of X as well, so that its values may lie outside [0, 1] with ``minmax``;
    features that are constant in X become 0 in both. The scale is one of:

    ``unit_norm``: every row to Euclidean norm 1; all-zero rows stay as they are.
    ``minmax``: every feature to [0, 1]; constant features become 0. In a sparse matrix, a feature with both zeros
    and negative values is refused, because its zeros would become non-zeros.
    ``standard``: every feature to mean 0 and (population) standard deviation 1; constant features become 0. A
    sparse matrix is divided by the standard deviations but not centered, so that its zeros stay zeros; there,
    features with standard deviation 0 stay as they are.
    ``running``: the same for every row, by the mean and standard deviation of the rows before it (`Running`); a
    feature that is constant so far becomes 0. A test set is scaled by the statistics of all rows of X.

    Raises InputError, which names ``where``: ``minmax`` for a sparse matrix with negative values, or values so large
    that a statistic overflows.
    """
    if scale == "none":
        return
    scalings = {"unit_norm": _unit_norm, "minmax": _minmax, "standard": _standard, "running": _running}
    if scale not in scalings:
        raise InputError(f"{where}: scale: unknown '{scale}'; allowed: none {' '.join(scalings)}")
    with np.errstate(over="ignore", invalid="ignore"):
        scalings[scale](X, test, where)
        if test is not None:
            _finite(test if isinstance(test, np.ndarray) else test.data, scale, f"{where}: test set")


def _finite(statistic: Dense, scale: str, where: str) -> Dense:
    if not np.isfinite(statistic).all():
        raise InputError(f"{where}: scale: the values are too large for '{scale}' in float64; use 'scale: none'")
    return statistic


def _nonzero(divisor: Dense) -> Dense:
    return np.where(divisor == 0, 1.0, divisor)


def _running(X: Matrix, test: Matrix | None, where: str) -> None:
    running = Running(X.shape[1])
    try:
        running.scale(X)
        if test is not None:
            where += ": test set"
            running.scale(test, learn=False)
    except OutOfRangeError as error:
        raise InputError(f"{where}: {error}") from None


def _unit_norm(X: Matrix, test: Matrix | None, where: str) -> None:
    for matrix in (X,) if test is None else (X, test):
        if isinstance(matrix, np.ndarray):
            norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
            matrix /= _nonzero(_finite(norms, "unit_norm", where))[:, None]
        else:
            rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
            norms = np.sqrt(np.bincount(rows, weights=matrix.data**2, minlength=matrix.shape[0]))
            matrix.data /= _nonzero(_finite(norms, "unit_norm", where))[rows]


def _minmax(X: Matrix, test: Matrix | None, where: str) -> None:
    sparse = not isinstance(X, np.ndarray)
    least, most = (found.toarray().ravel() if sparse else found for found in (X.min(axis=0), X.max(axis=0)))
    if sparse:
        _refuse_moved_zeros(X, least < 0, "it has negative values", where)
    span = _finite(most - least, "minmax", where)
    if sparse and test is not None:
        _refuse_moved_zeros(test, least != 0, "it has none in the stream", f"{where}: test set")
    for matrix in (X,) if test is None else (X, test):
        _move_and_divide(matrix, least, span, span == 0)


def _move_and_divide(X: Matrix, origin: Dense, divisor: Dense, constant: NDArray[np.bool_]) -> None:
    """Move and divide features in place; those that are constant become 0."""
    if isinstance(X, np.ndarray):
        X -= origin
        X /= _nonzero(divisor)
        X[:, constant] = 0.0
    else:
        X.data -= origin[X.indices]
        X.data /= _nonzero(divisor)[X.indices]
        X.data[constant[X.indices]] = 0.0
        X.eliminate_zeros()


def _refuse_moved_zeros(X: csr_array, moves: NDArray[np.bool_], reason: str, where: str) -> None:
    """Raise an InputError if a feature that moves has zeros."""
    faults = np.flatnonzero(moves & (np.bincount(X.indices, minlength=X.shape[1]) < X.shape[0]))
    if len(faults):
        raise InputError(
            f"{where}: scale: 'minmax' would make zeros of feature {faults[0] + 1} non-zero, because {reason}; "
            "use 'standard' or 'unit_norm', or give the data as a dense table (.csv, .npz)"
        )


def _standard(X: Matrix, test: Matrix | None, where: str) -> None:
    if isinstance(X, np.ndarray):
        constant = X.max(axis=0) == X.min(axis=0)
        # The mean of a constant column may differ from its value by rounding; subtracting the value gives exactly 0.
        center = np.where(constant, X[0], X.mean(axis=0))
        X -= center
        deviation = _finite(np.sqrt(np.einsum("ij,ij->j", X, X) / len(X)), "standard", where)
        X /= _nonzero(deviation)
        if test is not None:
            _move_and_divide(test, center, deviation, constant)
        return
    n, d = X.shape
    stored = np.bincount(X.indices, minlength=d)
    mean = np.bincount(X.indices, weights=X.data, minlength=d) / n
    squares = np.bincount(X.indices, weights=(X.data - mean[X.indices]) ** 2, minlength=d)
    deviation = _finite(np.sqrt((squares + (n - stored) * mean**2) / n), "standard", where)
    sparse: list[csr_array] = [X] if test is None else [X, test]
    for matrix in sparse:
        matrix.data /= _nonzero(deviation)[matrix.indices]


class Running:
    """The mean and standard deviation of the rows so far, by which the next row is scaled.

    Each value of a column becomes its distance from the mean of the rows before it, divided by their (population)
    standard deviation; 0 if they are all equal, as before the second row. The zeros of a sparse matrix stay zeros: its
    values are divided by the standard deviations, but the mean is not subtracted. However rows are divided into
    matrices, results are bit-identical. The time is that of reading the values a few times.

    Parameters:
    n_features : int, >= 0

    Attributes:
    n_rows : int
        The rows so far.
    stored : ndarray, shape (n_features,), int64
        The number of values of each column that these rows store, if they are sparse; their other values are zeros.
    mean, squares : ndarray, shape (n_features,), float64
        The mean of the values of each column, or of its stored values, and the sum of their squared distances from it.

    References: Welford (1962), Technometrics 4(3). For the zeros: Chan, Golub & LeVeque (1979), Stanford
    STAN-CS-79-773, eq. (2.1).
    """

    def __init__(self, n_features: int) -> None:
        self.n_rows = 0
        self.stored = np.zeros(n_features, dtype=np.int64)
        self.mean, self.squares = np.zeros(n_features), np.zeros(n_features)

    def scaled(self, X: M) -> M:
        """Return the next rows scaled, each by those before it; they count for the rows that follow.

        X, float64, shape (n, n_features), is not changed. All rows of a stream are dense, or all are sparse. An
        OutOfRangeError says that the values are too large for their squares, or for dividing them.
        """
        X = X.copy()
        self.scale(X)
        return X

    def scale(self, X: Dense | csr_array, learn: bool = True) -> None:
        """Scale rows in place, as `scaled`; without ``learn``, all of them by the rows so far alone."""
        values = X if isinstance(X, np.ndarray) else X.data
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(X, np.ndarray):
                compiling.call(_scale_dense, X, self.n_rows, self.mean, self.squares, learn)
            else:
                of = X.data, X.indices, X.indptr, self.n_rows, self.stored, self.mean, self.squares
                compiling.call(_scale_sparse, *of, learn)
        if learn:
            self.n_rows += X.shape[0]
        if not (np.isfinite(self.squares).all() and np.isfinite(values).all()):
            raise OutOfRangeError("scale: the values are too large for 'running' in float64; use 'scale: none'")

    def typical(self) -> tuple[Dense, Dense]:
        """Return the mean and the deviation of each column of dense rows, shape (n_features,)."""
        return self.mean, np.sqrt(self.squares / max(1, self.n_rows))


class Means:
    """Running means of columns, which take the place of missing values: those of the rows before.

    With ``spread``, their deviations, too.
    """

    # Empty in models of earlier versions.
    squares: Dense = np.zeros(0)

    def __init__(self, n_columns: int, learns: bool = True, spread: bool = False) -> None:
        self.learns = learns
        self.totals, self.counts = np.zeros(n_columns), np.zeros(n_columns)
        if spread:
            self.squares = np.zeros(n_columns)

    def fill(self, values: Dense, learn: bool = True) -> NDArray[np.bool_]:
        """Fill rows of shape (n, n_columns) in place; return which values were missing."""
        lost: NDArray[np.bool_] = np.isnan(values)
        if not (self.learns and learn):
            values[lost] = np.broadcast_to(self.totals / np.maximum(self.counts, 1), values.shape)[lost]
            return lost
        with np.errstate(over="ignore", invalid="ignore"):
            totals = np.cumsum(np.vstack([self.totals, np.where(lost, 0.0, values)]), axis=0)
            counts = np.cumsum(np.vstack([self.counts, ~lost]), axis=0)
            values[lost] = (totals / np.maximum(counts, 1))[:-1][lost]
            if len(self.squares):
                known = np.where(lost, 0.0, values) if lost.any() else values
                self.squares = self.squares + np.einsum("ij,ij->j", known, known)
        self.totals, self.counts = totals[-1], counts[-1]
        return lost

    def learn(self, row: Dense) -> None:
        """Count a row without missing values, shape (n_columns,)."""
        self.totals, self.counts = self.totals + row, self.counts + 1
        if len(self.squares):
            self.squares = self.squares + row * row

    def typical(self) -> tuple[Dense, Dense] | None:
        """Return the mean and the deviation of each column, shape (n_columns,); None if they are not known."""
        if not len(self.squares) or not self.counts.all():
            return None
        mean = self.totals / self.counts
        return mean, np.sqrt(np.maximum(self.squares / self.counts - mean**2, 0.0))


def _scale_dense(X: Dense, n_rows: int, mean: Dense, squares: Dense, learn: bool) -> None:
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
    data: Dense,
    indices: NDArray[np.int32],
    starts: NDArray[np.int32],
    n_rows: int,
    stored: NDArray[np.int64],
    mean: Dense,
    squares: Dense,
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
