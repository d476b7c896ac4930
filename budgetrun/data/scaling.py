"""Scaling the examples of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from budgetrun.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def scale_in_place(X: np.ndarray | csr_array, scale: str, where: str) -> None:
    """Scale examples; the statistics are those of the rows given, that is of the stream actually used.

    Parameters
    ----------
    X : ndarray or csr_array, shape (n, d), float64
        Changed in place.
    scale : 'none', 'unit_norm', 'minmax' or 'standard'
        ``unit_norm``: every row to Euclidean norm 1; all-zero rows stay.
        ``minmax``: every feature to [0, 1]; constant features become 0. On a sparse matrix a feature that has both
        zeros and negative values is refused, because its zeros would become non-zeros.
        ``standard``: every feature to mean 0 and (population) standard deviation 1; constant features become 0. A
        sparse matrix is divided by the standard deviations but not centred, so that its zeros stay; there, features
        with standard deviation 0 stay as they are.
    where : str
        The dataset, for messages.

    Raises
    ------
    InputError
        ``minmax`` on a sparse matrix with negative values, or values too large for the statistic.
    """
    if scale == "none":
        return
    sparse = not isinstance(X, np.ndarray)
    with np.errstate(over="ignore", invalid="ignore"):
        if scale == "unit_norm":
            _unit_norm_sparse(X, where) if sparse else _unit_norm_dense(X, where)
        elif scale == "minmax":
            _minmax_sparse(X, where) if sparse else _minmax_dense(X, where)
        elif scale == "standard":
            _standard_sparse(X, where) if sparse else _standard_dense(X, where)
        else:
            raise InputError(f"{where}: scale: unknown '{scale}'; allowed: none unit_norm minmax standard")


def _finite(statistic: np.ndarray, scale: str, where: str) -> np.ndarray:
    if not np.isfinite(statistic).all():
        raise InputError(f"{where}: scale: the values are too large for '{scale}' in float64; use 'scale: none'")
    return statistic


def _nonzero(divisor: np.ndarray) -> np.ndarray:
    return np.where(divisor == 0, 1.0, divisor)


def _unit_norm_dense(X: np.ndarray, where: str) -> None:
    norms = np.sqrt(np.einsum("ij,ij->i", X, X))
    X /= _nonzero(_finite(norms, "unit_norm", where))[:, None]


def _unit_norm_sparse(X: csr_array, where: str) -> None:
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    norms = np.sqrt(np.bincount(rows, weights=X.data**2, minlength=X.shape[0]))
    X.data /= _nonzero(_finite(norms, "unit_norm", where))[rows]


def _minmax_dense(X: np.ndarray, where: str) -> None:
    least = X.min(axis=0)
    span = _finite(X.max(axis=0) - least, "minmax", where)
    X -= least
    X /= _nonzero(span)


def _minmax_sparse(X: csr_array, where: str) -> None:
    n, d = X.shape
    least, most = np.zeros(d), np.zeros(d)
    full = np.bincount(X.indices, minlength=d) == n
    least[full], most[full] = np.inf, -np.inf
    np.minimum.at(least, X.indices, X.data)
    np.maximum.at(most, X.indices, X.data)
    faults = np.flatnonzero((least < 0) & ~full)
    if len(faults):
        raise InputError(
            f"{where}: scale: 'minmax' would turn the zeros of feature {faults[0] + 1} into non-zeros, since it has "
            "negative values; use 'standard' or 'unit_norm', or give the data as a dense table (.csv, .npz)"
        )
    span = _finite(most - least, "minmax", where)
    X.data -= least[X.indices]
    X.data /= _nonzero(span)[X.indices]
    X.eliminate_zeros()


def _standard_dense(X: np.ndarray, where: str) -> None:
    constant = X.max(axis=0) == X.min(axis=0)
    # A constant column's rounded mean may differ from its value; the value itself makes it exactly 0.
    X -= np.where(constant, X[0], X.mean(axis=0))
    deviation = _finite(np.sqrt(np.einsum("ij,ij->j", X, X) / len(X)), "standard", where)
    X /= _nonzero(deviation)


def _standard_sparse(X: csr_array, where: str) -> None:
    n, d = X.shape
    stored = np.bincount(X.indices, minlength=d)
    mean = np.bincount(X.indices, weights=X.data, minlength=d) / n
    squares = np.bincount(X.indices, weights=(X.data - mean[X.indices]) ** 2, minlength=d)
    deviation = np.sqrt((squares + (n - stored) * mean**2) / n)
    X.data /= _nonzero(_finite(deviation, "standard", where))[X.indices]
