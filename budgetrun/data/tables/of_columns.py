"""Tables of columns, read by any `Reader`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from budgetrun.base.errors import InputError
from budgetrun.data.cards import Label
from budgetrun.data.tables.blocks import Reader, Texts
from budgetrun.data.tables.columns import (
    MOST_CATEGORIES,
    Column,
    columns_of,
    find_column,
    find_label,
    from_json,
    to_json,
)
from budgetrun.data.tables.digest import Digest
from budgetrun.data.tables.encode import Encoder, Missing
from budgetrun.data.tables.table import Piece, Table, as_classes

# Raised whenever the same file gives other examples or labels; part of the run ids of users' own files.
REVISION = 1


class ColumnTable(Table):
    """A table of columns.

    Parameters
    ----------
    reader : Reader
    label : str, int or None
        The column of the labels: ``first``, ``last``, a name, or a number from 1; None finds it.
    missing : 'refuse', 'skip' or 'zero'
    index : sequence of str or int
        Columns to leave out.
    classes : sequence of labels or None
        All labels, if they are known in advance.
    encoding : dict or None
        Of the table whose features these are to be.
    """

    def __init__(
        self,
        reader: Reader,
        label: str | int | None = None,
        missing: Missing = "refuse",
        index: Sequence[str | int] = (),
        classes: Sequence[Label] | None = None,
        encoding: dict[str, Any] | None = None,
    ) -> None:
        given = classes if classes is not None or encoding is None else encoding["classes"]
        super().__init__(missing, given)
        self._reader, self.where, self.again = reader, reader.where, reader.again
        self.n_rows = reader.n_rows
        self._encoded = encoding is not None
        self._digest: str | None = None
        samples = reader.samples
        if encoding is not None:
            if "columns" not in encoding:
                raise InputError(f"{self.where}: a table of columns, where a matrix was learned; give the same format")
            self.columns = fitted_columns(from_json(encoding["columns"]), reader, label)
            self.label_found = "the columns are those of the table that was learned"
            return
        if label is None:
            position, self.label_found = find_label(samples, self.where, reader.named)
        else:
            position = find_column(samples, label, self.where, reader.named, "label")
        left_out = [find_column(samples, one, self.where, reader.named, "index") for one in index]
        self.columns = columns_of(samples, position, reader.named, left_out)
        if label is not None:
            self.label_found = f"the label is {self.columns[position - 1]}, as asked"
        if not self.again and not self.numbers:
            of_label = [value for value in samples[position - 1].values if value is not None]
            found = {float(value) if self.columns[position - 1].numeric else _as_text(value) for value in of_label}
            self._check_classes(found)
            self._labels_seen = as_classes(found)
        # The values, perhaps many, are not needed any more.
        reader.samples = [replace(sample, values=()) for sample in samples]

    @cached_property
    def _encoder(self) -> Encoder:
        """The encoder; categories are those of the whole source, if it can be read again."""
        if self.again and not self._encoded and any(column.kind == "category" for column in self.columns):
            self._look_through()
        return Encoder(self.columns, None)

    def _look_through(self) -> None:
        """Find all categories and labels, and count the rows."""
        columns = [c for c in self.columns if c.kind == "label" or (c.kind == "category" and not self._encoded)]
        found: dict[int, set[Any]] = {column.position: set(column.categories) for column in columns}
        n_rows = 0
        for block in self._reader.blocks({column.position: column.as_text for column in columns}):
            n_rows += block.n_rows if block is not None else 0
            for column in columns if block is not None else ():
                if column.kind == "label" and self.numbers:
                    continue
                values = block.columns[column.position]  # type: ignore[union-attr]
                of_column = found[column.position]
                of_column.update(values.values if isinstance(values, Texts) else set(values.tolist()))
                if column.kind == "label":
                    self._check_classes(of_column)
                elif len(of_column) > MOST_CATEGORIES:
                    raise InputError(
                        f"{self.where}: {column}: more than {MOST_CATEGORIES:,} different categories; turn it into "
                        "numbers first, or leave the column out"
                    )
        self.n_rows = n_rows
        for column in columns:
            if column.kind == "category":
                self.columns[column.position - 1] = replace(column, categories=tuple(sorted(found[column.position])))
            else:
                self._labels_seen = as_classes(found[column.position])

    _labels_seen: tuple[Label, ...] | None = None

    def _found_classes(self) -> tuple[Label, ...]:
        if self.label_column is None:
            return ()
        if self._labels_seen is None and (self.again or not self.numbers):
            self._look_through()
        return self._labels_seen or ()

    @property
    def features(self) -> list[str]:
        return self._encoder.features

    @property
    def sha256(self) -> str | None:
        return self._reader.sha256 if self._reader.hashed else self._digest

    @property
    def reader(self) -> str:
        return f"table {REVISION}"

    @property
    def encoding(self) -> dict[str, Any]:
        assert self._encoder
        return {"columns": to_json(self.columns), "classes": None if self.label_column is None else list(self.classes)}

    def _pieces(self, n_rows: int, closed: bool) -> Iterator[list[Piece] | None]:
        encoder, digest = self._encoder, Digest()
        encoder.classes = self.classes if closed else None
        self.unknown = encoder.unknown
        encoder.unknown.update(dict.fromkeys(encoder.unknown, 0))
        for block in self._reader.blocks(encoder.wanted):
            if block is None:
                yield None
                continue
            pieces = []
            for start in range(0, max(block.n_rows, 1), n_rows):
                rows = slice(start, start + n_rows)
                X, y, faults = encoder.encode(block, rows)
                faults += [
                    fault._replace(row=fault.row - start)
                    for fault in block.faults
                    if start <= fault.row < rows.stop or (rows.stop >= block.n_rows and fault.row >= block.n_rows)
                ]

                def place(row: int, position: int, start: int = start, places: Any = block.places) -> str:
                    return str(places(start + row, position))

                if not self._reader.hashed:
                    digest.add(X, y)
                pieces.append(Piece(X, y, faults, place, len(X) if hasattr(X, "__len__") else X.shape[0]))
            yield pieces
        if not self._reader.hashed:
            self._digest = digest.hexdigest(self.features)


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def fitted_columns(columns: Sequence[Column], reader: Reader, label: str | int | None) -> list[Column]:
    """Return the columns of a reader as those of another table, in its order: by name, if both have names.

    Raises
    ------
    InputError
        A column is missing.
    """
    n, names = len(reader.samples), [sample.name for sample in reader.samples]
    by_name = reader.named and columns[0].named
    without_label = [column for column in columns if column.kind != "label"]
    if not by_name and n not in (len(columns), len(without_label)):
        raise InputError(
            f"{reader.where}: {n:,} columns where the table that was learned has {len(columns):,}; they must be equal"
        )
    fitted = []
    for at, column in enumerate(columns if n == len(columns) or by_name else without_label, start=1):
        if by_name and column.name not in names:
            if column.kind in ("label", "index"):
                continue
            raise InputError(f"{reader.where}: column '{column.name}' of the table that was learned is missing")
        position = names.index(column.name) + 1 if by_name else at
        if column.kind == "label" and label is not None:
            position = find_column(reader.samples, label, reader.where, reader.named, "label")
        fitted.append(replace(column, position=position))
    others = set(range(1, n + 1)) - {column.position for column in fitted}
    why = "left out: not in the table that was learned"
    return fitted + [Column(names[at - 1], at, "index", why, named=by_name) for at in sorted(others)]
