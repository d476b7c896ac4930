"""Readers of file formats, one module each: they turn bytes into examples and labels.

A module defines:

- ``REVISION``, raised whenever it reads something different from the same file; part of the run ids of its data;
- ``SUFFIXES``, such as ``(".csv",)``, of the users' own files that are read in this format;
- ``read(files, layout)``, which returns the `Examples` of some `Content`, one file after the other, and raises an
  InputError that names the file and the place of the first fault;
- optionally ``READER``, a `budgetrun.data.tables.columns.Reader` of users' own files that are too large for memory;
- optionally ``sniff(head)``, which tells whether a user's own file whose suffix no format claims looks like this
  format, by the first 64 KB of its content.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from budgetrun.base import limits
from budgetrun.base.errors import InputError
from budgetrun.base.registry import modules
from budgetrun.kernels.kinds import Matrix, Rows, stored

LabelColumn = Literal["first", "last"]


class Content(NamedTuple):
    """The decompressed content of a file, and the file's name for messages."""

    content: bytes
    where: str


class Layout(NamedTuple):
    """Properties of files' content that a card gives; the defaults are those of a user's own file."""

    n_features: int | None = None  # None if the file decides
    label_column: LabelColumn = "first"
    first_index: int | None = None  # of LIBSVM text; None if the file decides: 0 if that index occurs in it


class Examples(NamedTuple):
    """Examples and labels in file order."""

    X: Rows  # shape (n, d): ndarray, float64 or uint8; csr_array, float64; or IntegerRows
    y: NDArray[Any]  # numbers or str, shape (n,)
    open_ended: bool = False  # further features may exist that are zero in every example
    reading_bytes: int = 0  # the memory that reading took in addition to the content of the files and to X
    first_index: int = 1  # of LIBSVM text, 0 or 1


def all_formats() -> dict[str, Any]:
    """Return the modules of all formats by name."""
    return {module.__name__.rpartition(".")[2]: module for module in modules(__name__)}


def revision(name: str) -> str:
    """Return a format with its revision, such as ``libsvm 1``."""
    return f"{name} {all_formats()[name].REVISION}"


def check_width(n_features: int, where: str) -> None:
    """Raise an InputError if vectors of all features of a sparse matrix, of which learners need some, do not fit."""
    limits.check(8 * 8 * n_features, where, f"vectors of {n_features:,} features")


def joined(parts: Sequence[tuple[Matrix, NDArray[Any]]], where: str) -> Examples:
    """Return the examples of several files as one, dense if those of all files are."""
    if len(parts) == 1:
        return Examples(*parts[0])
    matrices = [X for X, _ in parts]
    if len({X.shape[1] for X in matrices}) > 1:
        widths = ", ".join(f"{X.shape[1]:,}" for X in matrices)
        raise InputError(f"{where} and the files after it: {widths} features; the numbers must be equal")
    y = np.concatenate([y for _, y in parts])
    are_dense = all(isinstance(X, np.ndarray) for X in matrices)
    X = np.concatenate(matrices) if are_dense else vstack(matrices, format="csr")
    return Examples(X, y, reading_bytes=matrix_bytes(X))


def matrix_bytes(X: Rows) -> int:
    """Return the memory of examples."""
    X = stored(X)
    arrays = [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]
    return sum(array.nbytes for array in arrays)
