"""Numpy's .npz archives: arrays X and y, or the arrays of a sparse matrix and y."""

import io
import math
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from budgetrun.base import limits
from budgetrun.base.errors import InputError, clipped, printable
from budgetrun.data.formats import Content, Examples, Layout, check_width, joined, matrix_bytes
from budgetrun.data.tables.columns import check_lengths
from budgetrun.kernels.kinds import Matrix

REVISION = 1
SUFFIXES = (".npz",)

_PIECES = ("data", "indices", "indptr", "shape")
_NAMES = ("y", "X", *_PIECES, "format")
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read archives with `parse_npz`."""
    examples = joined([parse_npz(*file) for file in files], files[0].where)
    # Arrays as they are in the archive, of other types than float64.
    return examples._replace(reading_bytes=examples.reading_bytes + matrix_bytes(examples.X))


def parse_npz(content: bytes, where: str) -> tuple[Matrix, NDArray[np.float64]]:
    """Return the examples and labels, as float64, of an archive with y and X, or y and a CSR matrix in its parts."""
    arrays = _arrays(content, where)
    y = _numbers(arrays, "y", 1, where)
    X = _numbers(arrays, "X", 2, where) if "X" in arrays else _sparse(arrays, where)
    check_lengths(X.shape[0], y, where)
    if 0 in X.shape:
        raise InputError(f"{where}: X has shape {X.shape}; at least one example and one feature are needed")
    return X, y


def _arrays(content: bytes, where: str) -> dict[str, NDArray[Any]]:
    """Return the arrays that are needed; other members of the archive are not decompressed."""
    try:
        if not content.startswith(b"PK"):
            raise ValueError("not a zip archive")
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
            if "y" not in members or not ("X" in members or all(piece in members for piece in _PIECES)):
                found = clipped(" ".join(sorted(members)) or "none", 200)
                needed = "arrays X and y are needed, or data, indices, indptr, shape and y"
                raise InputError(f"{where}: {needed}; found {found}")
            wanted = {name: members[name] for name in _NAMES if name in members}
            # No more than this is decompressed, whatever the members hold.
            n_bytes = len(content) + sum(member.file_size for member in wanted.values())
            limits.check(n_bytes, where, f"its {len(wanted)} arrays")
            return {name: array_of(archive.read(member)) for name, member in wanted.items()}
    except InputError:
        raise
    except Exception as error:  # zipfile and numpy raise errors of many kinds for damaged files
        told = clipped(" ".join(str(error).split()), 200)
        raise InputError(f"{where}: not a complete .npz archive of plain arrays ({told})") from error


def array_of(content: bytes) -> NDArray[Any]:
    """Return the array of an .npy file, which shares the memory of the content."""
    file = io.BytesIO(content)
    shape, fortran_order, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
    if dtype.hasobject:
        raise ValueError("an array of Python objects")
    if len(content) - file.tell() != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"an array of shape {shape} and type {dtype} in {len(content):,} bytes")
    values = np.frombuffer(content, dtype, offset=file.tell()) if math.prod(shape) else np.empty(0, dtype)
    return values.reshape(shape, order="F" if fortran_order else "C")


def _numbers(arrays: dict[str, NDArray[Any]], name: str, n_dimensions: int, where: str) -> NDArray[np.float64]:
    array = arrays[name]
    if array.dtype.kind not in "biuf":
        raise InputError(f"{where}: {name} holds {clipped(printable(str(array.dtype)))}; real numbers are needed")
    if array.ndim != n_dimensions:
        raise InputError(f"{where}: {name} has shape {array.shape}; {n_dimensions} dimension(s) are needed")
    limits.check(array.nbytes + 8 * array.size, where, f"its array {name}")
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(array, dtype=np.float64)
    faults = np.argwhere(~np.isfinite(numbers))
    if len(faults):
        position = ", ".join(str(i) for i in faults[0])
        raise InputError(f"{where}: {name}[{position}] is {array[tuple(faults[0])]}; all numbers must be finite")
    return numbers


def _sparse(arrays: dict[str, NDArray[Any]], where: str) -> csr_array:
    kind = arrays.get("format", np.array("csr")).tolist()
    if kind not in (b"csr", "csr"):
        told = clipped(repr(kind))
        raise InputError(f"{where}: a sparse matrix of format {told}; convert it with .tocsr() before saving it")
    data = _numbers(arrays, "data", 1, where)
    indices, indptr, shape = (arrays[piece] for piece in _PIECES[1:])
    for name in _PIECES[1:]:
        if arrays[name].dtype.kind not in "iu":
            raise InputError(f"{where}: {name} holds {arrays[name].dtype}; whole numbers are needed")
    try:
        n, d = map(int, shape)
        check_width(d, where)
        X = csr_array((data, indices, indptr), shape=(n, d), copy=True)
        X.check_format(full_check=True)
    except (ValueError, TypeError, OverflowError) as error:
        told = clipped(str(error), 200)
        raise InputError(f"{where}: data, indices, indptr and shape do not form a CSR matrix ({told})") from error
    X.sort_indices()
    if not X.has_canonical_format:
        raise InputError(f"{where}: the sparse matrix has an entry twice; call .sum_duplicates() before saving it")
    X.eliminate_zeros()
    return X
