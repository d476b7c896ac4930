"""Numpy's .npz archives: arrays X and y, or the arrays of a sparse matrix and y."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from budgetrun.data.formats import Content, Examples, Layout, Matrix, joined
from budgetrun.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

REVISION = 1
SUFFIXES = (".npz",)

_PIECES = ("data", "indices", "indptr", "shape")
_BROKEN = (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error)


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read archives with `parse_npz`."""
    return joined([parse_npz(*file) for file in files])


def parse_npz(content: bytes, where: str) -> tuple[Matrix, NDArray[np.float64]]:
    """Parse an .npz archive with y and X, or y and a CSR matrix as data, indices, indptr, shape.

    Returns
    -------
    X : ndarray or csr_array, shape (n, d), float64
    y : ndarray, shape (n,), float64

    Raises
    ------
    InputError
        The archive is damaged, an array is missing or has the wrong shape or type, or a number is not finite.
    """
    try:
        if not content.startswith(b"PK"):
            raise ValueError("not a zip archive")
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except _BROKEN as error:
        raise InputError(f"{where}: not a complete .npz archive of plain arrays ({error})") from error
    if "y" not in arrays or not ("X" in arrays or all(piece in arrays for piece in _PIECES)):
        found = " ".join(sorted(arrays)) or "none"
        raise InputError(f"{where}: arrays X and y are needed, or data, indices, indptr, shape and y; found {found}")
    y = _numbers(arrays, "y", 1, where)
    X = _numbers(arrays, "X", 2, where) if "X" in arrays else _sparse(arrays, where)
    if X.shape[0] != len(y):
        raise InputError(f"{where}: X has {X.shape[0]} rows and y has {len(y)}; the numbers must be equal")
    if 0 in X.shape:
        raise InputError(f"{where}: X has shape {X.shape}; at least one example and one feature are needed")
    return X, y


def _numbers(arrays: dict[str, NDArray[Any]], name: str, n_dimensions: int, where: str) -> NDArray[np.float64]:
    array = arrays[name]
    if array.dtype.kind not in "biuf":
        raise InputError(f"{where}: {name} holds {array.dtype}; real numbers are needed")
    if array.ndim != n_dimensions:
        raise InputError(f"{where}: {name} has shape {array.shape}; {n_dimensions} dimension(s) are needed")
    faults = np.argwhere(~np.isfinite(array))
    if len(faults):
        position = ", ".join(str(i) for i in faults[0])
        raise InputError(f"{where}: {name}[{position}] is {array[tuple(faults[0])]}; all numbers must be finite")
    return np.ascontiguousarray(array, dtype=np.float64)


def _sparse(arrays: dict[str, NDArray[Any]], where: str) -> csr_array:
    from scipy.sparse import csr_array

    kind = arrays["format"].item() if "format" in arrays else "csr"
    if kind not in (b"csr", "csr"):
        raise InputError(f"{where}: a sparse matrix of format {kind!r}; convert it with .tocsr() before saving it")
    data = _numbers(arrays, "data", 1, where)
    indices, indptr, shape = (arrays[piece] for piece in _PIECES[1:])
    try:
        X = csr_array((data, indices, indptr), shape=tuple(int(n) for n in shape))
        X.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"{where}: data, indices, indptr and shape do not form a CSR matrix ({error})") from error
    X.sort_indices()
    if not X.has_canonical_format:
        raise InputError(f"{where}: the sparse matrix has an entry twice; call .sum_duplicates() before saving it")
    X.eliminate_zeros()
    return X
