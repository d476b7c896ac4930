"""Tables of numbers alone: arrays and sparse matrices with their labels, and LIBSVM text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.errors import InputError
from budgetrun.data.cards import Label
from budgetrun.data.formats import check_width, revision
from budgetrun.data.formats.libsvm import DENSE_FEATURES, DENSE_SHARE, parse_lines
from budgetrun.data.tables.columns import Column
from budgetrun.data.tables.digest import Digest
from budgetrun.data.tables.encode import Missing, label_faults, number_faults
from budgetrun.data.tables.lines import Lines, head_lines, line_blocks
from budgetrun.data.tables.origins import Origin
from budgetrun.data.tables.table import Piece, Table, as_classes
from budgetrun.kernels.rows import Matrix

# The rows of an array that are converted at a time.
_ROWS = 1 << 15


class MatrixTable(Table):
    """Examples and labels in memory.

    Parameters
    ----------
    X : ndarray, or sparse matrix or array, shape (n, d)
    y : ndarray, shape (n,), or None
    where : str
    missing : 'refuse', 'skip' or 'zero'
        What to do with NaN.
    classes : sequence of labels or None
    encoding : dict or None
    reader : str
    sha256 : str or None
        Of the file that they come from.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        where: str,
        missing: Missing = "refuse",
        classes: Sequence[Label] | None = None,
        encoding: dict[str, Any] | None = None,
        reader: str = "",
        sha256: str | None = None,
    ) -> None:
        super().__init__(missing, classes if classes is not None or encoding is None else encoding["classes"])
        self.where, self._X, self._reader, self._sha256 = where, X, reader, sha256
        self.n_rows, d = X.shape
        self._y = None if y is None else labels_of(y, where)
        if self._y is not None and len(self._y) != self.n_rows:
            raise InputError(
                f"{where}: X has {self.n_rows:,} rows and y has {len(self._y):,}; the numbers must be equal"
            )
        if 0 in X.shape:
            raise InputError(f"{where}: X has shape {X.shape}; at least one example and one feature are needed")
        if encoding is not None and encoding.get("n_features") != d:
            raise InputError(
                f"{where}: {d:,} features; {encoding.get('n_features') or 'a table of columns'} were learned"
            )
        self._set_columns(d)

    def _set_columns(self, d: int) -> None:
        self._features = [str(k) for k in range(1, d + 1)]
        labelled = self._y is not None
        self.columns = [label_column(self._y)] if labelled else []
        self.label_found = "the labels are given with the examples" if labelled else "there are no labels"

    @property
    def features(self) -> list[str]:
        return self._features

    @property
    def sha256(self) -> str | None:
        return self._sha256

    @property
    def reader(self) -> str:
        return self._reader

    @property
    def encoding(self) -> dict[str, Any]:
        return {"n_features": len(self.features), "classes": list(self.classes) if self.label_column else None}

    def refused(self) -> list[str]:
        return []

    def _pieces(self, n_rows: int, closed: bool) -> Iterator[list[Piece] | None]:
        digest = Digest()
        assert self.n_rows is not None
        for block in range(0, self.n_rows, _ROWS):
            pieces = []
            for start in range(block, min(block + _ROWS, self.n_rows), n_rows):
                rows = slice(start, min(start + n_rows, block + _ROWS, self.n_rows))
                X = numbers(self._X[rows])
                y = np.empty(0) if self._y is None else self._y[rows]
                digest.add(X, y)
                pieces.append(self._piece(X, y, start, closed))
            yield pieces
        self._sha256 = self._sha256 or digest.hexdigest(self.features)

    def _piece(self, X: Matrix, y: NDArray[Any], first: int, closed: bool) -> Piece:
        positions = np.arange(1, X.shape[1] + 1)
        faults = number_faults(X, positions)
        if self._y is not None:
            missing = np.isnan(y) if y.dtype.kind == "f" else y == ""
            faults += label_faults(y, missing, self.columns[0], self.classes if closed else None)

        def place(row: int, position: int) -> str:
            return f"{self.where}: row {first + row + 1:,}" + (f", feature {position:,}" if position else "")

        return Piece(X, y, faults, place, X.shape[0])

    def _column(self, position: int) -> str:
        return f"feature {position:,}" if position else "the labels"


def label_column(y: NDArray[Any] | None) -> Column:
    """Return the column of labels."""
    return Column("label", 0, "label", "given with the examples", numeric=y is None or y.dtype.kind == "f")


def labels_of(y: Any, where: str) -> NDArray[Any]:
    """Return labels as float64 or text."""
    found = np.asarray(y)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        raise InputError(f"{where}: y has shape {found.shape}; one label per row is needed")
    if found.dtype.kind == "O" and all(
        isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in found
    ):
        found = found.astype(np.float64)
    if found.dtype.kind == "b":
        return np.where(found, "true", "false")
    if found.dtype.kind in "iuf":
        return found.astype(np.float64)
    if found.dtype.kind in "OUT":
        return np.array(["" if v is None or v != v else str(v) for v in found.tolist()])
    raise InputError(f"{where}: y holds {found.dtype}; labels are numbers or text")


def numbers(X: Any) -> Matrix:
    """Return rows as float64: C-contiguous, or CSR with sorted int32 indices. The caller's own copy."""
    if isinstance(X, np.ndarray):
        return np.array(X, dtype=np.float64, order="C")
    from scipy.sparse import csr_array

    found = csr_array(X, dtype=np.float64, copy=True)
    found.sum_duplicates()
    found.eliminate_zeros()
    found.indices, found.indptr = found.indices.astype(np.int32), found.indptr.astype(np.int32)
    return found


class LibsvmTable(MatrixTable):
    """LIBSVM text, read block by block; the number of features and the first index are those of the whole file.

    From a pipe, they are those of its first lines.
    """

    def __init__(
        self, origin: Origin, missing: Missing, classes: Sequence[Label] | None, encoding: dict[str, Any] | None
    ) -> None:
        Table.__init__(self, missing, classes if classes is not None or encoding is None else encoding["classes"])
        self.where, self.again, self._origin = origin.name, origin.again, origin
        self._y, self._reader, self.n_rows = np.empty(0), revision("libsvm"), None
        if encoding is not None:
            if "n_features" not in encoding:
                raise InputError(
                    f"{self.where}: LIBSVM text, where a table of columns was learned; give the same format"
                )
            self._first_index, d = encoding.get("first_index", 1), encoding["n_features"]
            self._sparse = encoding.get("sparse", False)
        else:
            d = self._look_through()
        check_width(d, self.where)
        self._set_columns(d)
        self.label_found = "the label is the first number of each line"

    def _look_through(self) -> int:
        blocks = line_blocks(self._origin) if self.again else iter([Lines(head_lines(self._origin), 1)])
        lowest, highest, n_rows, n_pairs = 1, 0, 0, 0
        found: set[float] = set()
        for lines in blocks:
            if lines is None:
                continue
            parsed = parse_lines(lines.text, self.where, lines.first, 0, None)
            lowest = min(lowest, int(parsed.indices.min(initial=1)))
            highest = max(highest, int(parsed.indices.max(initial=0)))
            n_rows, n_pairs = n_rows + len(parsed.labels), n_pairs + len(parsed.indices)
            found.update(() if self.numbers else np.unique(parsed.labels).tolist())
            self._check_classes(found)
        self._first_index = int(lowest > 0)
        self._seen = as_classes(found)
        self.n_rows = n_rows if self.again else None
        d = max(highest + 1 - self._first_index, 1)
        self._sparse = d > DENSE_FEATURES and n_pairs < DENSE_SHARE * n_rows * d
        return int(d)

    def _found_classes(self) -> tuple[Label, ...]:
        return self._seen

    @property
    def sha256(self) -> str | None:
        return self._origin.sha256

    @property
    def encoding(self) -> dict[str, Any]:
        return {**super().encoding, "first_index": self._first_index, "sparse": self._sparse}

    def _pieces(self, n_rows: int, closed: bool) -> Iterator[list[Piece] | None]:
        from scipy.sparse import csr_array

        first, d = 0, len(self.features)
        for lines in line_blocks(self._origin):
            if lines is None:
                yield None
                continue
            parsed = parse_lines(lines.text, self.where, lines.first, self._first_index, d)
            indptr = np.concatenate([[0], parsed.ends]).astype(np.int32)
            X = csr_array((parsed.values, parsed.indices - self._first_index, indptr), shape=(len(parsed.labels), d))
            X.eliminate_zeros()
            pieces = []
            for start in range(0, len(parsed.labels), n_rows):
                part = X[start : start + n_rows]
                y = parsed.labels[start : start + n_rows]
                pieces.append(self._piece(part if self._sparse else part.toarray(), y, first + start, closed))
            first += len(parsed.labels)
            yield pieces
