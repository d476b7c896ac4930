"""Examples as the loops see them, labels included: a matrix, the three arrays of CSR, two of them and a value
for each example where all its values are the same, or a Gram matrix.

With a matrix or CSR, ``a`` is a weight vector. With a Gram matrix it is the scores y_k <a, x_k> of all examples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit, types
from numba.extending import overload, register_jitable

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Rows = np.ndarray | tuple[np.ndarray, ...]

VECTOR = types.float64[::1]
# Unsigned: no look for a negative index, which costs a loop over few values half its time.
INDICES = types.uint32[::1]
INTEGERS = types.int64[::1]
DENSE = types.float64[:, ::1]
BINARY = types.Tuple((INDICES, INDICES, VECTOR))
SPARSE = types.Tuple((VECTOR, INDICES, INDICES))
GRAM = types.Tuple((DENSE,))
KINDS = (DENSE, SPARSE, BINARY, GRAM)


def signed_rows(X: np.ndarray | csr_array, y: np.ndarray) -> Rows:
    """Return y_k x_k for all k, in arrays of the loops' own.

    A matrix that is mostly zeros becomes sparse: a zero costs a loop as much as any other value.
    """
    from scipy.sparse import csr_array

    if isinstance(X, np.ndarray) and np.count_nonzero(X) >= _DENSE_SHARE * X.size:
        return X * y.astype(np.float64)[:, None]
    X = csr_array(X)
    columns, starts = X.indices.astype(np.uint32), X.indptr.astype(np.uint32)
    if X.nnz and (X.data == X.data[0]).all():
        return columns, starts, X.data[0] * y
    return X.data * np.repeat(y.astype(np.float64), np.diff(X.indptr)), columns, starts


def signed_gram(K: np.ndarray, y: np.ndarray, rho: float | None) -> Rows:
    """Return y_i y_k (k(x_i, x_k) + rho^2) for all pairs, in ``K`` itself."""
    if rho is not None:
        K += rho**2
    K *= y[:, None]
    K *= y
    return (K,)


def dot(rows: Rows, k: int, a: np.ndarray) -> float:
    """Return y_k <a, x_k>."""
    raise NotImplementedError("for compiled loops only")


def add(rows: Rows, k: int, factor: float, a: np.ndarray) -> None:
    """Add factor times y_k x_k to a."""
    raise NotImplementedError("for compiled loops only")


@overload(dot)
def _dot(rows, k, a):  # noqa: ANN001, ANN202
    return {DENSE: _dot_dense, SPARSE: _dot_sparse, BINARY: _dot_binary, GRAM: _dot_gram}[rows]


@overload(add)
def _add(rows, k, factor, a):  # noqa: ANN001, ANN202
    return {DENSE: _add_dense, SPARSE: _add_sparse, BINARY: _add_binary, GRAM: _add_gram}[rows]


# numba wants these spelled like the ones above, so without types. Two sums at a time: one alone waits for each addition
# to finish before the next.
def _dot_dense(rows, k, a):  # noqa: ANN001, ANN202
    row = rows[k]
    d = row.shape[0]
    even, odd = 0.0, 0.0
    for j in range(0, d - 1, 2):
        even += row[j] * a[j]
        odd += row[j + 1] * a[j + 1]
    if d % 2:
        even += row[d - 1] * a[d - 1]
    return even + odd


def _dot_sparse(rows, k, a):  # noqa: ANN001, ANN202
    values, columns, starts = rows
    end = starts[k + 1]
    even, odd = 0.0, 0.0
    j = starts[k]
    while j < end - 1:
        even += values[j] * a[columns[j]]
        odd += values[j + 1] * a[columns[j + 1]]
        j += 2
    if j < end:
        even += values[j] * a[columns[j]]
    return even + odd


def _dot_binary(rows, k, a):  # noqa: ANN001, ANN202
    columns, starts, values = rows
    end = starts[k + 1]
    even, odd = 0.0, 0.0
    j = starts[k]
    while j < end - 1:
        even += a[columns[j]]
        odd += a[columns[j + 1]]
        j += 2
    if j < end:
        even += a[columns[j]]
    return values[k] * (even + odd)


def _dot_gram(rows, k, a):  # noqa: ANN001, ANN202
    return a[k]


@register_jitable
def _add_dense(rows, k, factor, a):  # noqa: ANN001, ANN202
    row = rows[k]
    for j in range(row.shape[0]):
        a[j] += factor * row[j]


def _add_sparse(rows, k, factor, a):  # noqa: ANN001, ANN202
    values, columns, starts = rows
    for j in range(starts[k], starts[k + 1]):
        a[columns[j]] += factor * values[j]


def _add_binary(rows, k, factor, a):  # noqa: ANN001, ANN202
    columns, starts, values = rows
    change = factor * values[k]
    for j in range(starts[k], starts[k + 1]):
        a[columns[j]] += change


def _add_gram(rows, k, factor, a):  # noqa: ANN001, ANN202
    _add_dense(rows[0], k, factor, a)


@njit([types.void(kind, VECTOR, VECTOR) for kind in KINDS], cache=True, error_model="numpy")
def scores(rows: Rows, a: np.ndarray, out: np.ndarray) -> None:
    """Put y_k <a, x_k> into out, for all k."""
    for k in range(out.shape[0]):
        out[k] = dot(rows, k, a)


_DENSE_SHARE = 0.5
