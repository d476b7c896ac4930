"""Readers: rows in batches, of Arrow columns or of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.errors import InputError
from budgetrun.data.content import Held, Origin, count_lines
from budgetrun.data.tables.columns import Column, Sample, check_distinct
from budgetrun.kernels.kinds import Matrix


class Fault(NamedTuple):
    """Fault of a batch: its first row, from 0, and column, from 1; the number of rows; the first as a clause.

    ``kind`` is 'length', 'text', 'missing', 'no label', 'infinite', 'encoding' or 'label'.
    """

    kind: str
    row: int
    position: int
    n: int
    told: str


@dataclass
class Batch:
    """Some rows: an Arrow array per column in use, by position.

    ``place`` returns the name of a row and column in messages; ``cell`` returns the text of a field. Rows that are
    vectors already, from an array, a sparse matrix or LIBSVM text, are at position 1 and their labels at 0, as numpy
    and scipy hold them.
    """

    columns: dict[int, Any]
    n_rows: int
    place: Callable[[int, int], str]
    cell: Callable[[int, int], str] | None = None
    faults: list[Fault] = field(default_factory=list)


def length_faults(wrong: list[tuple[int, str]]) -> list[Fault]:
    """Return the fault of records that are left out, each with the row before which it is and a sentence."""
    return [Fault("length", wrong[0][0], 0, len(wrong), wrong[0][1])] if wrong else []


def check_lengths(n_rows: int, y: Any, where: str) -> None:
    """Raise an InputError unless there is one label per row, or no labels at all (None)."""
    if y is not None and len(y) != n_rows:
        raise InputError(f"{where}: X has {n_rows:,} rows and y has {len(y):,}; the numbers must be equal")


class Reader:
    """Rows in batches; subclasses read one format each."""

    named = again = hashed = True  # columns have names; rows can be read again; the content has a checksum of its own
    n_rows: int | None = None  # None if it is not known before the end
    # The format with its revision, raised whenever the same file gives other examples or labels; part of the run ids.
    format = "table 1"
    samples: Sequence[Sample] = ()  # the first values of all columns; none if rows are vectors

    def __init__(self, origin: Origin | None, where: str = "", sha256: str | None = None) -> None:
        self.origin: Any = origin
        self.where, self.again = (where, True) if origin is None else (origin.name, origin.again)
        self._sha256 = sha256

    @property
    def sha256(self) -> str | None:
        """Checksum of the whole content, known once all of it was read."""
        found: str | None = self._sha256 if self.origin is None else self.origin.sha256
        return found

    @property
    def most_rows(self) -> int | None:
        """An upper bound on the number of rows, if one is known without reading."""
        if self.n_rows is None and isinstance(self.origin, Held):
            content = self.origin.content
            return min(count_lines(content), len(content) // (2 * len(self.samples)) + 1)
        return self.n_rows

    def batches(self, wanted: Mapping[int, bool]) -> Iterator[Batch | None]:
        """Yield the columns at some positions, as text where ``wanted`` is true; None while nothing arrives."""
        raise NotImplementedError


# The rows of an array that are converted at a time.
_ROWS = 1 << 15
# The column of labels that come with vectors.
LABEL = Column("label", 0, "label", "given with the examples")


class Vectors(Reader):
    """Examples in memory, with their labels if there are any."""

    n_features: int
    sparse: bool
    label: Column | None
    label_found: str  # how, as a sentence
    fitting: dict[str, Any]  # settings for reading another source in the same way, besides the number of features

    def __init__(self, X: Any, y: Any, where: str, format: str = "", sha256: str | None = None) -> None:
        super().__init__(None, where, sha256)
        self._X, self._y = X, None if y is None else labels_of(y, where)
        self.format, self.hashed = format, sha256 is not None
        self.n_rows, self.n_features = X.shape
        self.sparse = not isinstance(X, np.ndarray)
        self.fitting: dict[str, Any] = {}
        check_lengths(self.n_rows, self._y, where)
        if 0 in X.shape:
            raise InputError(f"{where}: X has shape {X.shape}; at least one example and one feature are needed")
        self.label = None if self._y is None else replace(LABEL, numeric=self._y.dtype.kind == "f")
        self.label_found = "there are no labels" if self.label is None else "the labels are given with the examples"

    def fit(self, encoding: dict[str, Any] | None, numbers: bool) -> None:
        """Read in the same way as the source of an encoding; with ``numbers``, labels are not classes."""
        if encoding is not None and encoding.get("n_features") != self.n_features:
            learned = encoding.get("n_features") or "a table of columns"
            raise InputError(f"{self.where}: {self.n_features:,} features; {learned} were learned")

    def labels(self) -> set[Any]:
        """Return all labels."""
        found = set() if self._y is None else set(np.unique(self._y).tolist())
        check_distinct(found, self.where, self.label)
        return found

    def batches(self, wanted: Mapping[int, bool]) -> Iterator[Batch | None]:
        assert self.n_rows is not None
        for start in range(0, self.n_rows, _ROWS):
            rows = slice(start, min(start + _ROWS, self.n_rows))
            yield self._batch(_numbers(self._X[rows]), None if self._y is None else self._y[rows], start)

    def _batch(self, X: Matrix, y: NDArray[Any] | None, first: int) -> Batch:
        def place(row: int, position: int) -> str:
            return f"{self.where}: row {first + row + 1:,}" + (f", feature {position:,}" if position else "")

        return Batch({0: y, 1: X}, X.shape[0], place)


def labels_of(y: Any, where: str) -> NDArray[Any]:
    """Return labels as float64 or text."""
    found = np.asarray(y)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        raise InputError(f"{where}: y has shape {found.shape}; one label per row is needed")
    numbers = int | float | np.number
    if found.dtype.kind == "O" and all(isinstance(v, numbers) and not isinstance(v, bool) for v in found):
        found = found.astype(np.float64)
    if found.dtype.kind == "b":
        return np.where(found, "true", "false")
    if found.dtype.kind in "iuf":
        return found.astype(np.float64)
    if found.dtype.kind in "OUT":
        return np.array(["" if v is None or v != v else str(v) for v in found.tolist()])
    raise InputError(f"{where}: y holds {found.dtype}; labels are numbers or text")


def _numbers(X: Any) -> Matrix:
    """Return rows as float64: C-contiguous, or CSR with sorted int32 indices. The caller's own copy."""
    if isinstance(X, np.ndarray):
        return np.array(X, dtype=np.float64, order="C")
    from scipy.sparse import csr_array

    found = csr_array(X, dtype=np.float64, copy=True)
    found.sum_duplicates()
    found.eliminate_zeros()
    found.indices, found.indptr = found.indices.astype(np.int32), found.indptr.astype(np.int32)
    return found
