"""Tables with types: Parquet, Arrow IPC (Feather) and data frames, read as batches of Arrow columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from budgetrun.base.errors import InputError
from budgetrun.data.tables.blocks import Block, Fault, numbers_of, texts_of
from budgetrun.data.tables.columns import MISSING, Sample
from budgetrun.data.tables.lines import HEAD_ROWS
from budgetrun.data.tables.origins import Origin
from budgetrun.data.text import shown

# The bytes of a batch, if all its columns are numbers.
_BATCH_BYTES = 1 << 22


class Batches:
    """A `Reader` of batches; subclasses open them."""

    named = True
    again = hashed = True
    n_rows: int | None = None
    sha256: str | None = None

    def __init__(self, where: str) -> None:
        self.where = where
        with self._explained():
            names, head = self._head()
        n_rows = len(head[0]) if head else 0
        if not n_rows:
            raise InputError(f"{where}: no rows")
        self.samples = [_sample(name, column) for name, column in zip(names, head, strict=True)]

    def _head(self) -> tuple[list[str], list[Any]]:
        """Return the names of all columns, and the first values of each."""
        raise NotImplementedError

    def _batches(self, positions: list[int]) -> Iterator[list[Any] | None]:
        """Yield the columns at some positions, batch by batch."""
        raise NotImplementedError

    def blocks(self, wanted: Mapping[int, bool]) -> Iterator[Block | None]:
        """Yield the rows; see `Reader`."""
        first = 1
        batches = self._batches(list(wanted))
        while True:
            with self._explained():
                batch = next(batches, None)
            if batch is None:
                return
            if batch:
                block = self._block(batch, wanted, first)
                first += block.n_rows
                yield block

    def _block(self, batch: list[Any], wanted: Mapping[int, bool], first: int) -> Block:
        arrays = dict(zip(wanted, batch, strict=True))
        block = Block({}, len(batch[0]), self._placed(first), lambda row, at: str(arrays[at][row].as_py()))
        for (position, as_text), array in zip(wanted.items(), batch, strict=True):
            if as_text:
                block.columns[position] = texts_of(array)
                continue
            block.columns[position], bad = numbers_of(array)
            if bad:
                told = f"{shown(block.cell(bad[0], position))} is not a number"
                block.faults.append(Fault("text", bad[0], position, len(bad), told))
        return block

    def _placed(self, first: int) -> Any:
        return lambda row, position: f"{self.where}: row {first + row:,}, column {position}"

    @contextmanager
    def _explained(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except InputError:
            raise
        except (pa.ArrowException, OSError, ValueError, KeyError, NotImplementedError) as error:
            told = " ".join(str(error).split())[:200]
            raise InputError(f"{self.where}: damaged, or not what its name says ({told})") from error


def _sample(name: str, column: Any) -> Sample:
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_boolean(kind):
        return Sample(name, column.to_pylist(), "boolean")
    if pa.types.is_temporal(kind):
        return Sample(name, [None] * len(column), "date")
    if pa.types.is_null(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = numbers_of(column)[0]
        return Sample(name, [None if v != v else v for v in values.tolist()], "number")
    if "string" in str(kind) or str(kind) in ("utf8", "large_utf8"):
        texts = ["" if value is None else value.strip(" \t") for value in column.to_pylist()]
        return Sample(name, [None if text in MISSING else text for text in texts])
    return Sample(name, [None] * len(column), "nested")


def _n_rows(n_columns: int) -> int:
    """Return the rows of a batch."""
    return int(np.clip(_BATCH_BYTES // (8 * max(n_columns, 1)), 256, 1 << 16))


class Parquet(Batches):
    """A Parquet file."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        super().__init__(origin.name)

    def _opened(self) -> Any:
        from pyarrow import parquet

        # Without this, all columns of a whole row group are read before its first row.
        return parquet.ParquetFile(self._origin.file(), buffer_size=1 << 20, pre_buffer=False)

    def _head(self) -> tuple[list[str], list[Any]]:
        file = self._opened()
        self.n_rows, names = file.metadata.num_rows, list(file.schema_arrow.names)
        batch = next(file.iter_batches(batch_size=HEAD_ROWS, use_threads=False), None)
        return names, [] if batch is None else list(batch.columns)

    def _batches(self, positions: list[int]) -> Iterator[list[Any] | None]:
        file = self._opened()
        names = [self.samples[position - 1].name for position in positions]
        for batch in file.iter_batches(batch_size=_n_rows(len(names)), columns=names, use_threads=False):
            yield [batch.column(name) for name in names]
        self.sha256 = _sha256(self._origin)


class Ipc(Batches):
    """Arrow IPC: a file, which Feather files are as well, or a stream."""

    def __init__(self, origin: Origin) -> None:
        self._origin, self._stream, self.again = origin, not origin.head(6).startswith(b"ARROW1"), origin.again
        self._first: list[Any] = []
        super().__init__(origin.name)

    def _read(self) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import ipc

        file = self._file = self._origin.file()
        if not self._stream:
            opened = ipc.open_file(file if hasattr(file, "read") else pa.memory_map(str(file)))
            yield opened.schema
            for at in range(opened.num_record_batches):
                yield opened.get_batch(at)
            return
        opened = ipc.open_stream(file if hasattr(file, "read") else pa.memory_map(str(file)))
        yield opened.schema
        yield from opened

    def _head(self) -> tuple[list[str], list[Any]]:
        self._reading = self._read()
        schema = next(self._reading)
        self._first = [batch for batch in [next((b for b in self._reading if b.num_rows), None)] if batch is not None]
        return list(schema.names), [c.slice(0, HEAD_ROWS) for batch in self._first for c in batch.columns]

    def _batches(self, positions: list[int]) -> Iterator[list[Any] | None]:
        reading = self._reading if not self.again else self._read()
        if self.again:
            next(reading)
        first, self._first = ([], []) if self.again else (self._first, [])
        for batches in (first, reading):
            for batch in batches:
                step = _n_rows(batch.num_columns)
                for start in range(0, batch.num_rows, step):
                    yield [batch.column(position - 1).slice(start, step) for position in positions]
        while not self.again and self._file.read(1 << 20):
            pass  # what follows the end of the stream is part of the checksum
        self.sha256 = self._origin.sha256 if not self.again else _sha256(self._origin)


class Frame(Batches):
    """A data frame of any library that narwhals knows, or columns of a numpy array; ``y`` is one more column."""

    def __init__(self, frame: Any, where: str, y: Any = None, origin: Origin | None = None) -> None:
        import narwhals as nw

        self._y, self._of_numpy, self._origin = y, isinstance(frame, np.ndarray), origin
        self.hashed = origin is not None
        self.named = not self._of_numpy
        self._frame = frame
        if not self._of_numpy:
            found = nw.from_native(frame)
            self._frame = found.collect() if isinstance(found, nw.LazyFrame) else found
        self.n_rows = len(self._frame)
        if y is not None and len(y) != self.n_rows:
            raise InputError(f"{where}: X has {self.n_rows:,} rows and y has {len(y):,}; the numbers must be equal")
        super().__init__(where)

    def _slice(self, start: int, n_rows: int) -> list[Any]:
        import pyarrow as pa

        if self._of_numpy:
            columns = [pa.array(np.ascontiguousarray(column)) for column in self._frame[start : start + n_rows].T]
        else:
            columns = [c.combine_chunks() for c in self._frame[start : start + n_rows].to_arrow().columns]
            columns = [c.chunk(0) if isinstance(c, pa.ChunkedArray) else c for c in columns]
        if self._y is not None:
            part = self._y[start : start + n_rows]
            columns.append(pa.array(part.tolist() if part.dtype.kind in "OU" else part))
        return columns

    def _head(self) -> tuple[list[str], list[Any]]:
        head = self._slice(0, HEAD_ROWS) if self.n_rows else []
        names = [str(k) for k in range(1, len(head) + 1)] if self._of_numpy else list(map(str, self._frame.columns))
        return names + ["label"] * (self._y is not None and not self._of_numpy), head

    def _batches(self, positions: list[int]) -> Iterator[list[Any] | None]:
        assert self.n_rows is not None
        step = _n_rows(len(self.samples))
        for start in range(0, self.n_rows, step):
            columns = self._slice(start, step)
            yield [columns[position - 1] for position in positions]
        self.sha256 = None if self._origin is None else _sha256(self._origin)


def _sha256(origin: Origin) -> str:
    """Return the checksum of a file that is read at any position."""
    if origin.sha256 is None:
        for _ in origin.pieces():
            pass
    assert origin.sha256 is not None
    return origin.sha256
