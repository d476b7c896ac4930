"""The examples as the compiled loops need them, multiplied by their labels.

They are a matrix; the three arrays of CSR; two of these and a value for each example, if all nonzero values are equal;
or a Gram matrix. With a Gram matrix, ``a`` holds the scores y_k <a, x_k> of all examples; otherwise it is a weight
vector.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from budgetrun.kernels.compiling.plain import by_type, compiled, types
from budgetrun.kernels.kinds import Matrix

Floats = NDArray[np.float64]
Indices = NDArray[np.uint32]
SignedRows = Floats | tuple[NDArray[Any], ...]

Tuple: Any = types.Tuple
VECTOR = types.float64[::1]
# Unsigned: testing for negative indices doubles the time of a loop over few values.
INDICES = types.uint32[::1]
INTEGERS = types.int64[::1]
DENSE = types.float64[:, ::1]
BINARY = Tuple((INDICES, INDICES, VECTOR))
SPARSE = Tuple((VECTOR, INDICES, INDICES))
GRAM = Tuple((DENSE,))
KINDS = (DENSE, SPARSE, BINARY, GRAM)


def signed_rows(X: Matrix, y: NDArray[Any]) -> SignedRows:
    """Return y_k x_k for all k, in new arrays."""
    # A matrix that is mostly zeros becomes sparse, because in a loop a zero costs as much as any other value.
    if isinstance(X, np.ndarray) and np.count_nonzero(X) >= _DENSE_SHARE * X.size:
        return X * y.astype(np.float64)[:, None]
    X = csr_array(X)
    columns, starts = X.indices.astype(np.uint32), X.indptr.astype(np.uint32)
    if X.nnz and (X.data == X.data[0]).all():
        return columns, starts, X.data[0] * y
    return X.data * np.repeat(y.astype(np.float64), np.diff(X.indptr)), columns, starts


def signed_gram(K: Floats, y: NDArray[Any], rho: float | None) -> SignedRows:
    """Return y_i y_k (k(x_i, x_k) + rho^2) for all pairs, computed in place in ``K``."""
    if rho is not None:
        K += rho**2
    K *= y[:, None]
    K *= y
    return (K,)


def dot(rows: SignedRows, k: int, a: Floats) -> float:
    """Return y_k <a, x_k>."""
    raise NotImplementedError("for compiled loops only")


def add(rows: SignedRows, k: int, factor: float, a: Floats) -> None:
    """Add factor times y_k x_k to a."""
    raise NotImplementedError("for compiled loops only")


@by_type(dot)
def _dot(rows: Any, k: Any, a: Any) -> Any:
    return {DENSE: _dot_dense, SPARSE: _dot_sparse, BINARY: _dot_binary, GRAM: _dot_gram}[rows]


@by_type(add)
def _add(rows: Any, k: Any, factor: Any, a: Any) -> Any:
    return {DENSE: _add_dense, SPARSE: _add_sparse, BINARY: _add_binary, GRAM: _add_gram}[rows]


# These need the same annotations as the two functions above. Each loop has two sums, because with a single one
# every addition waits for the previous one.
def _dot_dense(rows: Any, k: Any, a: Any) -> Any:
    row = rows[k]
    d = row.shape[0]
    even, odd = 0.0, 0.0
    for j in range(0, d - 1, 2):
        even += row[j] * a[j]
        odd += row[j + 1] * a[j + 1]
    if d % 2:
        even += row[d - 1] * a[d - 1]
    return even + odd


def _dot_sparse(rows: Any, k: Any, a: Any) -> Any:
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


def _dot_binary(rows: Any, k: Any, a: Any) -> Any:
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


def _dot_gram(rows: Any, k: Any, a: Any) -> Any:
    return a[k]


def _add_dense(rows: Any, k: Any, factor: Any, a: Any) -> Any:
    row = rows[k]
    for j in range(row.shape[0]):
        a[j] += factor * row[j]


def _add_sparse(rows: Any, k: Any, factor: Any, a: Any) -> Any:
    values, columns, starts = rows
    for j in range(starts[k], starts[k + 1]):
        a[columns[j]] += factor * values[j]


def _add_binary(rows: Any, k: Any, factor: Any, a: Any) -> Any:
    columns, starts, values = rows
    change = factor * values[k]
    for j in range(starts[k], starts[k + 1]):
        a[columns[j]] += change


def _add_gram(rows: Any, k: Any, factor: Any, a: Any) -> Any:
    add(rows[0], k, factor, a)


@compiled(*(types.void(kind, VECTOR, VECTOR) for kind in KINDS))
def scores(rows: SignedRows, a: Floats, out: Floats) -> None:
    """Write y_k <a, x_k> into ``out``, for all k."""
    for k in range(out.shape[0]):
        out[k] = dot(rows, k, a)


# The least share of nonzero values for a matrix to stay dense.
_DENSE_SHARE = 0.5
