"""Examples as rows of numbers: floats, dense or sparse, or small integers with a factor per row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Matrix: TypeAlias = "np.ndarray | csr_array"
Rows: TypeAlias = "Matrix | IntegerRows"
# The largest absolute value in a row of small integers, and what the sum of its squares is below.
MOST_WHOLE = 32767
MOST_SQUARES = 2.0**31
# With more features, sparse rows stay sparse in kernels.
DENSE_FEATURES = 8192
# The bytes that hold a value, at most.
BYTES = {"bits": 1, "integers": 2, "floats": 8}
# Values that are checked at a time.
_CHUNK = 1 << 16
# Units whose squares neither underflow nor overflow.
_UNITS = 1e-100, 1e100


class IntegerRows:
    """Rows of small integers, each times a factor: ``x_i = factors[i] * integers[i]``.

    Parameters
    ----------
    integers : ndarray or csr_array, shape (n, d), of whole numbers
    factors : ndarray of float64, shape (n,)
    """

    def __init__(self, integers: Matrix, factors: np.ndarray) -> None:
        self.integers, self.factors = integers, factors

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and of features."""
        n, d = self.integers.shape
        return int(n), int(d)

    def __getitem__(self, rows: Any) -> IntegerRows:
        return IntegerRows(self.integers[rows], self.factors[rows])

    def floats(self) -> Matrix:
        """Return the rows as float64, dense or sparse as they are."""
        X = self.integers
        if isinstance(X, np.ndarray):
            return X * self.factors[:, None]
        return type(X)((X.data * np.repeat(self.factors, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)


def floats(X: Rows) -> Matrix:
    """Return examples as floats, dense or sparse as they are."""
    return X.floats() if isinstance(X, IntegerRows) else X


def stored(X: Rows) -> Matrix:
    """Return the matrix that holds the numbers of examples, without their factors if they have any."""
    return X.integers if isinstance(X, IntegerRows) else X


def whole_squares(X: Matrix) -> np.ndarray:
    """Return the sum of squares of each row of whole numbers, shape (n,), float64; exact below 2^53."""
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij->i", X, X, dtype=np.int64).astype(np.float64)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    squares = np.square(X.data, dtype=np.float64)
    return np.bincount(rows, weights=squares, minlength=X.shape[0])


def as_whole(X: Matrix) -> Rows:
    """Return a matrix as rows of small integers times one factor, if that gives back every value exactly.

    The factor is 1 or the least absolute value except 0. Other matrices are returned as they are.
    """
    values = (X if isinstance(X, np.ndarray) else X.data).reshape(-1)
    found = _divided(values, 1.0)
    unit = 1.0
    if found is None:
        chunks = (np.abs(chunk[chunk != 0]) for chunk in _chunks(values))
        unit = float(min(chunk.min(initial=np.inf) for chunk in chunks))
        found = _divided(values, unit) if _UNITS[0] < unit < _UNITS[1] else None
    if found is None:
        return X
    integers = found.reshape(X.shape) if isinstance(X, np.ndarray) else type(X)((found, X.indices, X.indptr), X.shape)
    if whole_squares(integers).max(initial=0.0) >= MOST_SQUARES:
        return X
    return IntegerRows(integers, np.full(X.shape[0], unit))


def _chunks(values: np.ndarray) -> list[np.ndarray]:
    return [values[start : start + _CHUNK] for start in range(0, len(values), _CHUNK)]


def _divided(values: np.ndarray, unit: float) -> np.ndarray | None:
    """Return numbers divided by a unit, in one or two bytes each; None unless that is exact and they are small."""
    if values.dtype.kind == "u" and values.itemsize == 1:
        return values
    whole = np.empty(len(values), dtype=np.int16)
    for chunk, out in zip(_chunks(values), _chunks(whole), strict=True):
        with np.errstate(over="ignore"):
            numbers = np.rint(chunk / unit)
            fits = (np.abs(numbers) <= MOST_WHOLE) & (numbers * unit == chunk)
        if not fits.all():
            return None
        out[:] = numbers
    small = whole.min(initial=0) >= -128 and whole.max(initial=0) <= 127
    return whole.astype(np.int8) if small else whole
