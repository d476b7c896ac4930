"""Tables: examples and labels in chunks, in the order of the source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.errors import InputError
from budgetrun.data.cards import Label
from budgetrun.data.tables.ahead import ahead
from budgetrun.data.tables.blocks import Fault
from budgetrun.data.tables.columns import MOST_CATEGORIES, REFUSED, Column
from budgetrun.data.tables.encode import Missing, without_missing
from budgetrun.kernels.rows import Matrix

CHUNK_ROWS = 4096


class Chunk(NamedTuple):
    """Some examples.

    Attributes
    ----------
    X : ndarray, shape (n, d), float64, C-contiguous; or csr_array, shape (n, d), float64, sorted int32 indices
    y : ndarray, shape (n,), float64 or str
        Empty, if the source has no labels.
    first_row : int
        The number of rows of the source before these, from 0; rows that were left out count.
    """

    X: Matrix
    y: NDArray[Any]
    first_row: int


class Piece(NamedTuple):
    """Examples as read, NaN where a value is missing, what is wrong in them, and where."""

    X: Matrix
    y: NDArray[Any]
    faults: list[Fault]
    place: Any
    n_rows: int


@dataclass
class Scan:
    """What is wrong with a table.

    Attributes
    ----------
    n_rows : int
    counts : dict of label to int
        The number of rows with each label.
    problems : list of str
        What keeps it from being learned from, one sentence each, with counts.
    notes : list of str
        What is worth knowing, such as constant columns.
    """

    n_rows: int = 0
    counts: dict[Label, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Table(ABC):
    """Examples and labels of any source; `open_table` makes them.

    Attributes
    ----------
    where : str
        What messages call the source.
    columns : list of Column
        What was found of each column; for matrices, of each feature.
    label_column : Column or None
        None, if the source has no labels.
    label_found : str
        How the label was found, a sentence.
    n_rows : int or None
        None, if it is not known before the end.
    again : bool
        Whether `chunks` can be called more than once.
    skipped : int
        The rows that the last call of `chunks` left out because a value is missing.
    zeroed : int
        The missing values that it read as 0.
    unknown : dict of str to int
        For each category column, the rows whose category was not known; they have zeros there.
    numbers : bool
        Whether the labels are measured numbers; then `classes` is empty.
    """

    where: str
    columns: list[Column]
    label_found: str = ""
    n_rows: int | None = None
    again = True
    skipped = zeroed = 0

    def __init__(self, missing: Missing, classes: Sequence[Label] | None) -> None:
        # Without any classes, labels are numbers.
        self.numbers = classes is not None and not classes
        self.missing, self._given = missing, classes
        self.unknown: dict[str, int] = {}

    @property
    @abstractmethod
    def features(self) -> list[str]:
        """The names of the features, shape (d,)."""

    @property
    @abstractmethod
    def sha256(self) -> str | None:
        """The checksum of the decompressed content, or of the values; None before `chunks` has come to the end."""

    @property
    @abstractmethod
    def reader(self) -> str:
        """The format with its revision, such as ``libsvm 1``."""

    @property
    @abstractmethod
    def encoding(self) -> dict[str, Any]:
        """What `open_table` needs to read another source into the same features, as values that JSON can hold."""

    @abstractmethod
    def _pieces(self, n_rows: int, closed: bool) -> Iterator[list[Piece] | None]:
        """Yield all examples; a label that is none of the classes is a fault if ``closed``."""

    @property
    def label_column(self) -> Column | None:
        """The column of the labels."""
        return next((column for column in self.columns if column.kind == "label"), None)

    @cached_property
    def classes(self) -> tuple[Label, ...]:
        """All labels, ascending; from a pipe, those of its first rows, unless they were given."""
        return tuple(self._given) if self._given else self._found_classes()

    def _found_classes(self) -> tuple[Label, ...]:
        if self.numbers:
            return ()
        found: set[Any] = set()
        for pieces in self._pieces(CHUNK_ROWS, False):
            for piece in pieces or ():
                found.update(piece.y.tolist())
                self._check_classes(found)
        return as_classes(found)

    def _check_classes(self, found: set[Any]) -> None:
        if len(found) > MOST_CATEGORIES:
            raise InputError(
                f"{self.where}: {self.label_column}: more than {MOST_CATEGORIES:,} different labels; is it a measured "
                "number? Name the column of the labels (--label NAME or NUMBER), or learn numbers (--task regression)"
            )

    def chunks(self, n_rows: int = CHUNK_ROWS) -> Iterator[Chunk]:
        """Yield all examples in order, at most ``n_rows`` at a time; a thread reads ahead.

        Raises
        ------
        InputError
            Says where the first fault of the source is.
        """
        if refused := self.refused():
            raise InputError(refused[0])
        return self._chunks(n_rows)

    def _chunks(self, n_rows: int) -> Generator[Chunk]:
        self.skipped = self.zeroed = first_row = 0

        def read() -> Generator[list[Piece] | None]:
            for pieces in self._pieces(n_rows, closed=bool(self._given) or not (self.again or self.numbers)):
                for piece in pieces or ():
                    self._raise_first(piece)
                yield pieces

        for pieces in ahead(read()):
            for X, y, faults, _, n in pieces:
                if faults:
                    no_label = np.isnan(y) if y.dtype.kind == "f" else y == ""
                    X, y = without_missing(X, y, self.missing, no_label if len(y) else np.zeros(n, dtype=bool))
                    self.skipped += n - X.shape[0]
                    if self.missing == "zero":
                        self.zeroed += sum(fault.n for fault in faults if fault.kind == "missing")
                if X.shape[0]:
                    yield Chunk(X, y, first_row)
                first_row += n
        if not first_row:
            raise InputError(f"{self.where}: no rows")
        if first_row == self.skipped:
            raise InputError(f"{self.where}: all {first_row:,} rows have a missing value; none is left")

    def _raise_first(self, piece: Piece) -> None:
        allowed = {"skip": ("missing", "no label"), "zero": ("missing",), "refuse": ()}[self.missing]
        wrong = [fault for fault in piece.faults if fault.kind not in allowed]
        if wrong:
            first = min(wrong, key=lambda fault: (fault.row, fault.position))
            raise InputError(self._sentence(first, piece.place))

    def _column(self, position: int) -> str:
        return str(next((column for column in self.columns if column.position == position), f"column {position}"))

    def _sentence(self, fault: Fault, place: Any) -> str:
        label = self.label_column
        is_label = label is not None and label.position == fault.position
        if fault.kind == "length":
            return fault.told
        told = f"{place(fault.row, fault.position)}: {fault.told}"
        if fault.kind == "missing":
            advice = "set missing to skip to leave such rows out, or to zero to read 0"
            return f"{told} in {self._column(fault.position)}; {advice}"
        if fault.kind == "no label":
            return f"{told}; " + (
                "set missing to skip to leave such rows out"
                if self.missing == "refuse"
                else "no 0 can stand for a label"
            )
        if fault.kind == "label":
            return f"{told}; name all labels in advance (--classes)"
        if fault.told.endswith(("number", "float64")):
            return told + ("; a label is a number too" if is_label else "; a feature is a finite number")
        return told

    def notes(self) -> list[str]:
        """Return what became of columns that are not numbers, and of missing values, after all rows were read."""
        told = [f"{c} is left out: {c.why.removeprefix('left out: ')}" for c in self.columns if c.kind == "index"]
        one_hot = [c for c in self.columns if c.kind == "category"]
        told += [f"{c} became {len(c.features):,} features, one for each category" for c in one_hot]
        told += [f"{c} is read as 0 and 1 ({c.why})" for c in self.columns if c.kind == "boolean"]
        if self.skipped:
            told.append(f"{self.skipped:,} rows are left out because a value is missing")
        if self.zeroed:
            told.append(f"{self.zeroed:,} missing values are read as 0")
        told += [f"{n:,} rows have an unknown category in {name}: zeros" for name, n in self.unknown.items() if n]
        return [f"{self.where}: {one}." for one in told]

    def refused(self) -> list[str]:
        """Return a sentence for each column that cannot be learned from."""
        told = [f"{self.where}: {c}: {c.why}; {REFUSED[c.kind]}" for c in self.columns if c.kind in REFUSED]
        if not told and not any(column.features or column.kind == "category" for column in self.columns):
            told = [f"{self.where}: only one column; a row is a label and at least one feature"]
        return told

    def scan(self) -> Scan:
        """Read everything, and return all that is wrong, with counts."""
        found = Scan(problems=self.refused())
        seen: dict[tuple[str, int], tuple[int, str]] = {}
        least: NDArray[Any] | None = None
        most: NDArray[Any] | None = None
        for pieces in self._pieces(CHUNK_ROWS, closed=bool(self._given)):
            for piece in pieces or ():
                for fault in piece.faults:
                    key = fault.kind, fault.position
                    count, first = seen.get(key, (0, ""))
                    seen[key] = count + fault.n, first or self._first(fault, piece.place)
                found.n_rows += piece.n_rows + sum(fault.n for fault in piece.faults if fault.kind == "length")
                for label, count in zip(*np.unique(piece.y, return_counts=True), strict=True):
                    if label == label and label != "":
                        value = as_classes([label.item()])[0]
                        found.counts[value] = found.counts.get(value, 0) + int(count)
                if isinstance(piece.X, np.ndarray) and piece.X.size:
                    with np.errstate(invalid="ignore"):
                        low, high = np.fmin.reduce(piece.X), np.fmax.reduce(piece.X)
                        least = low if least is None else np.fmin(least, low)
                        most = high if most is None else np.fmax(most, high)
        for (kind, position), (count, first) in sorted(seen.items(), key=lambda one: one[0][::-1]):
            rows = f"{count:,} of {found.n_rows:,} rows have {self._what(kind, position)}"
            text = f"{self.where}: {rows}; the first: {first}"
            (found.notes if kind == "missing" and self.missing != "refuse" else found.problems).append(text)
        if self.label_column is not None and len(found.counts) == 1:
            only = next(iter(found.counts))
            found.problems.append(
                f"{self.where}: all rows have the label {only}; nothing can be learned from a single label"
            )
        if least is not None and most is not None and found.n_rows > 1:
            for feature in np.flatnonzero(least == most):
                told = f"{self.where}: feature {self.features[feature]} is constant: always {least[feature]:g}"
                found.notes.append(told)
        found.notes += [
            f"{self.where}: {n:,} rows have a category in {name} that is not known; they have zeros there"
            for name, n in self.unknown.items()
            if n
        ]
        found.counts = dict(sorted(found.counts.items(), key=lambda one: (str(type(one[0])), one[0])))
        return found

    def _first(self, fault: Fault, place: Any) -> str:
        return fault.told if fault.kind == "length" else f"{place(fault.row, fault.position)}: {fault.told}"

    def _what(self, kind: str, position: int) -> str:
        column = self._column(position)
        return {
            "length": "another number of columns, or no record",
            "text": f"text in {column}, which holds numbers",
            "missing": f"a missing value in {column}",
            "no label": "no label",
            "infinite": f"an infinite value in {column}",
            "encoding": f"text in {column} that is not UTF-8",
            "label": f"an unknown label in {column}",
        }[kind]


def as_classes(found: Any) -> tuple[Label, ...]:
    """Return distinct labels, ascending; whole numbers as int, without missing ones."""
    kept = [value for value in found if value == value and value != ""]
    return tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in sorted(kept))
