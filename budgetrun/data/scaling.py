"""Scaling the examples of a stream."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from budgetrun.base.errors import InputError, OutOfRangeError
from budgetrun.engine.standardised import Standardised
from budgetrun.kernels.kinds import IntegerRows, Matrix, Rows, floats, whole_squares

Dense = NDArray[np.float64]
_TOO_LARGE = "scale: the values are too large for '{}' in float64; use 'scale: none'"


def scaled(X: Rows, scale: str, where: str, test: Rows | None = None) -> tuple[Rows, Rows | None]:
    """Return examples and a test set as `scale_in_place` does; with ``unit_norm``, integers stay integers."""
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

    Raises InputError: ``minmax`` for a sparse matrix with negative values, or values for which a statistic overflows.
    """
    if scale == "none":
        return
    scalings = {"unit_norm": _unit_norm, "minmax": _minmax, "standard": _standard, "running": _running}
    if scale not in scalings:
        raise InputError(f"{where}: scale: unknown '{scale}'; allowed: none {' '.join(scalings)}")
    with np.errstate(over="ignore", invalid="ignore"):
        scalings[scale](X, [] if test is None else [test], where)
        if test is not None:
            _finite(test if isinstance(test, np.ndarray) else test.data, scale, f"{where}: test set")


def _finite(statistic: Dense, scale: str, where: str) -> Dense:
    if not np.isfinite(statistic).all():
        raise InputError(f"{where}: {_TOO_LARGE.format(scale)}")
    return statistic


def _nonzero(divisor: Dense) -> Dense:
    return np.where(divisor == 0, 1.0, divisor)


def _running(X: Matrix, tests: list[Matrix], where: str) -> None:
    running = Running(X.shape[1])
    try:
        running.scale(X)
        where += ": test set"
        for test in tests:
            running.scale(test, learn=False)
    except OutOfRangeError as error:
        raise InputError(f"{where}: {error}") from None


def _unit_norm(X: Matrix, tests: list[Matrix], where: str) -> None:
    for matrix in (X, *tests):
        if isinstance(matrix, np.ndarray):
            norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
            matrix /= _nonzero(_finite(norms, "unit_norm", where))[:, None]
        else:
            norms = np.sqrt(whole_squares(matrix))
            matrix.data /= np.repeat(_nonzero(_finite(norms, "unit_norm", where)), np.diff(matrix.indptr))


def _minmax(X: Matrix, tests: list[Matrix], where: str) -> None:
    sparse = not isinstance(X, np.ndarray)
    least, most = (found.toarray().ravel() if sparse else found for found in (X.min(axis=0), X.max(axis=0)))
    if sparse:
        _refuse_moved_zeros(X, least < 0, "it has negative values", where)
    span = _finite(most - least, "minmax", where)
    for test in tests if sparse else ():
        _refuse_moved_zeros(test, least != 0, "it has none in the stream", f"{where}: test set")
    for matrix in (X, *tests):
        _move_and_divide(matrix, least, span, span == 0)


def _move_and_divide(X: Matrix, origin: Dense, divisor: Dense, constant: NDArray[np.bool_]) -> None:
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
    faults = np.flatnonzero(moves & (np.bincount(X.indices, minlength=X.shape[1]) < X.shape[0]))
    if len(faults):
        raise InputError(
            f"{where}: scale: 'minmax' would make zeros of feature {faults[0] + 1} non-zero, because {reason}; "
            "use 'standard' or 'unit_norm', or give the data as a dense table (.csv, .npz)"
        )


def _standard(X: Matrix, tests: list[Matrix], where: str) -> None:
    if isinstance(X, np.ndarray):
        constant = X.max(axis=0) == X.min(axis=0)
        # The mean of a constant column may differ from its value by rounding; subtracting the value gives exactly 0.
        center = np.where(constant, X[0], X.mean(axis=0))
        X -= center
        deviation = _finite(np.sqrt(np.einsum("ij,ij->j", X, X) / len(X)), "standard", where)
        X /= _nonzero(deviation)
        for test in tests:
            _move_and_divide(test, center, deviation, constant)
        return
    n, d = X.shape
    stored = np.bincount(X.indices, minlength=d)
    mean = np.bincount(X.indices, weights=X.data, minlength=d) / n
    squares = np.bincount(X.indices, weights=(X.data - mean[X.indices]) ** 2, minlength=d)
    deviation = _finite(np.sqrt((squares + (n - stored) * mean**2) / n), "standard", where)
    for matrix in (X, *tests):
        matrix.data /= _nonzero(deviation)[matrix.indices]


class Running(Standardised):
    """`Standardised` by the rows so far, but nothing is cut, and bits are numbers as any other."""

    _most = math.inf

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features, bits=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        Running.__init__(self, len(state["mean"]))
        self.__dict__.update(state)
        if not self.stored.any():
            # Version 0.2.0 counted the values of sparse rows alone.
            self.stored[:] = self.n_rows

    def scale(self, X: Any, learn: bool = True) -> None:
        """Scale rows in place, as `scaled`; an OutOfRangeError says that they are too large for their squares."""
        try:
            super().scale(X, learn)
        except FloatingPointError:
            wrong = np.flatnonzero(~np.isfinite(self.squares))
            value = f"a value of feature {wrong[0] + 1}" if len(wrong) else "a value"
            advice = "correct it, leave its row out, or use 'scale: none'"
            raise OutOfRangeError(f"scale: {value} is too large for 'running' in float64; {advice}") from None

    def typical(self) -> tuple[Dense, Dense]:
        """Return the mean and the deviation of each column of dense rows, shape (n_features,)."""
        return self.mean, np.sqrt(self.squares / max(1, self.n_rows))


class Means:
    """Running means of columns, which take the place of later missing values; with ``spread``, deviations, too."""

    squares: Dense = np.zeros(0)  # empty in models of earlier versions

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
