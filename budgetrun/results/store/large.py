"""The runs of a large folder, ``runs.parquet``: columns in memory, and a row at a time only where one is asked for."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from budgetrun.results.store.files import COLUMNS

Row = Mapping[str, str]
_TYPES = {"text": pa.string(), "json": pa.string(), "count": pa.int64(), "number": pa.float64()}
SCHEMA = pa.schema([(column.name, _TYPES[column.kind]) for column in COLUMNS])
# New rows that are held as they came, before they become columns; and rows that are read, or written, together.
_FOLDED, _BLOCK = 20_000, 10_000
# The columns by which rows are sorted; only budgets may be empty.
_ORDER = (
    "dataset", "task", "repetition", "label", "budget", "budget_fraction", "parameters", "seed", "kernel", "run_id",
)  # fmt: skip


class LargeRows(Mapping[str, Row]):
    """Rows by run id: those of a Parquet file, each column of which is read when it is asked for, and newer ones.

    Parameters:
    data : bytes
        A file as `packed` returns it; empty for no rows.
    rows : iterable of Row
        Newer rows.

    Raises ValueError: it is not readable, or its columns are others.
    """

    def __init__(self, data: bytes = b"", rows: Iterable[Row] = ()) -> None:
        self._data, self._table = data, SCHEMA.empty_table()
        self._texts: dict[str, list[str]] = {}
        self._new: dict[str, Row] = {}
        if data:
            read_columns(data, [])
        self._at = {run_id: i for i, run_id in enumerate(self.texts("run_id"))}
        for row in rows:
            self[row["run_id"]] = row

    @property
    def changed(self) -> bool:
        """Whether these are not just the rows of the file."""
        return bool(self._new) or not self._data

    def __getitem__(self, run_id: str) -> Row:
        return self._new[run_id] if run_id in self._new else _View(self, self._at[run_id])

    def __setitem__(self, run_id: str, row: Row) -> None:
        self._new[run_id] = row
        if len(self._new) >= _FOLDED:
            self._fold()

    def __contains__(self, run_id: object) -> bool:
        return run_id in self._at or run_id in self._new

    def __iter__(self) -> Iterator[str]:
        yield from self._at
        yield from (run_id for run_id in self._new if run_id not in self._at)

    def __len__(self) -> int:
        return len(self._at) + sum(run_id not in self._at for run_id in self._new)

    def texts(self, name: str) -> list[str]:
        """Return a column of the file as texts, one for each of its rows."""
        if name not in self._texts:
            column = (read_columns(self._data, [name]) if self._data else self._table)[name]
            # Ids are all different.
            self._texts[name] = column.fill_null("").to_pylist() if name == "run_id" else _texts(column)
        return self._texts[name]

    def ids(self, status: str) -> set[str]:
        """Return the ids of the rows of this status."""
        statuses = self.texts("status")
        found = {run_id for run_id, i in self._at.items() if statuses[i] == status}
        return found.difference(self._new) | {run_id for run_id, row in self._new.items() if row["status"] == status}

    def values(self) -> Iterator[Row]:  # type: ignore[override]
        """Yield all rows, each with all columns, in less memory than if they are asked for one by one."""
        self._fold()
        for start in range(0, self._table.num_rows, _BLOCK):
            block = self._table.slice(start, _BLOCK)
            for values in zip(*map(_texts, block.columns), strict=True):
                yield dict(zip(SCHEMA.names, values, strict=True))

    def only(self, run_ids: Iterable[str]) -> LargeRows:
        """Return those of some runs."""
        self._fold()
        found = LargeRows()
        found._replace(self._table.take(pa.array(sorted(self._at[run_id] for run_id in run_ids), pa.int64())))
        return found

    def packed(self) -> bytes:
        """Return all rows, sorted, as a Parquet file."""
        self._fold()
        keys = {name: self._table[name] for name in _ORDER}
        # Empty cells come first.
        keys |= {name: keys[name].fill_null(-1) for name in ("budget", "budget_fraction")}
        order = pc.sort_indices(pa.table(keys), [(name, "ascending") for name in _ORDER])
        file = io.BytesIO()
        pq.write_table(self._table.take(order), file, compression="zstd", row_group_size=10 * _BLOCK)
        return file.getvalue()

    def _fold(self) -> None:
        """Make columns of all rows."""
        if self._data:
            self._table, self._data = read_columns(self._data, SCHEMA.names).select(SCHEMA.names), b""
        if not self._new:
            return
        old = [run_id in self._new for run_id in self._at]
        kept = self._table.filter(pa.array(np.logical_not(old))) if any(old) else self._table
        rows = list(self._new.values())
        columns = [_column_of([row[field.name] for row in rows], field.type) for field in SCHEMA]
        self._replace(pa.concat_tables([kept, pa.table(columns, SCHEMA)]))

    def _replace(self, table: pa.Table) -> None:
        self._table, self._texts, self._new = table, {}, {}
        self._at = {run_id: i for i, run_id in enumerate(table["run_id"].to_pylist())}


class _View(Mapping[str, str]):
    """One row, whose columns are read as they are asked for."""

    __slots__ = ("_i", "_rows")

    def __init__(self, rows: LargeRows, i: int) -> None:
        self._rows, self._i = rows, i

    def __getitem__(self, name: str) -> str:
        return self._rows.texts(name)[self._i]

    def __iter__(self) -> Iterator[str]:
        return iter(SCHEMA.names)

    def __len__(self) -> int:
        return len(SCHEMA.names)


def read_columns(data: bytes, names: Sequence[str]) -> pa.Table:
    """Return some columns of a Parquet file of runs, empty ones where it has none.

    Raises ValueError: it is not such a file, or any column is missing or of another type.
    """
    try:
        found = pq.ParquetFile(io.BytesIO(data))
        for column in COLUMNS:
            if column.name not in found.schema_arrow.names:
                if not column.may_be_missing:
                    raise ValueError(f"column {column.name} missing")
            elif (kind := found.schema_arrow.field(column.name).type) != SCHEMA.field(column.name).type:
                raise ValueError(f"column {column.name} has the type {kind}")
        table = found.read([name for name in names if name in found.schema_arrow.names])
    except (pa.ArrowException, OSError) as error:
        raise ValueError(" ".join(str(error).split())) from None
    for name in names:
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(found.metadata.num_rows, SCHEMA.field(name).type))
    return table


def _texts(column: pa.ChunkedArray) -> list[str]:
    """Return the texts of a column; equal ones are one object."""
    encoded = pc.dictionary_encode(column.combine_chunks())
    as_text = repr if pa.types.is_floating(column.type) else str
    # An empty cell has the last of them.
    values = [*map(as_text, encoded.dictionary.to_pylist()), ""]
    return [values[i] for i in encoded.indices.fill_null(len(values) - 1).to_numpy()]


def _column_of(texts: list[str], kind: pa.DataType) -> pa.Array:
    if kind == pa.string():
        return pa.array(texts, kind)
    if kind == pa.int64():
        return pa.array([int(text) if text.lstrip("-").isdecimal() else None for text in texts], kind)
    return pa.array([float(text) if text else None for text in texts], kind)
