"""Sources with types: Parquet, Arrow IPC (Feather), and data frames and arrays."""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np

from budgetrun.base.errors import InputError
from budgetrun.data.content import HEAD_ROWS, Origin, reason
from budgetrun.data.tables.columns import MISSING, Batch, Column, Reader, Sample, check_lengths, check_names
from budgetrun.data.tables.encode import is_temporal, numbers_of

_BATCH_BYTES = 1 << 22  # the bytes of a batch, if all its columns are numbers
_MAPPED_BYTES = 1 << 26  # Arrow files whose batches are larger than this are mapped into memory
DAMAGED = "damaged, or not what its name says"


class Typed(Reader):
    """Arrow columns, whose types say what they hold; subclasses open them."""

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin)
        with self._explained():
            names, head = self._head()
        if not (head and len(head[0])):
            raise InputError(f"{self.where}: no rows")
        self.samples = [_sample(name, column) for name, column in zip(names, head, strict=True)]

    def _head(self) -> tuple[list[str], list[Any]]:
        """Return the names of all columns, and the first values of each."""
        raise NotImplementedError

    def _columns(self, positions: list[int]) -> Iterator[list[Any]]:
        """Yield the columns at some positions, batch by batch."""
        raise NotImplementedError

    def batches(self, wanted: Sequence[Column]) -> Iterator[Batch | None]:
        first = 1
        positions = [column.position for column in wanted]
        found = self._columns(positions)
        while True:
            # What is mapped into memory and cut would end the process.
            self.origin.unchanged()
            with self._explained():
                columns = next(found, None)
            if columns is None:
                break
            arrays = dict(zip(positions, columns, strict=True))

            def place(row: int, position: int, first: int = first) -> str:
                return f"{self.where}: row {first + row:,}, column {position}"

            def cell(row: int, position: int, arrays: dict[int, Any] = arrays) -> str:
                return str(arrays[position][row].as_py())

            yield Batch(arrays, len(columns[0]), place, cell)
            first += len(columns[0])
        # A file that was not read from its beginning to its end still needs its checksum.
        if self.origin.has_bytes and self.origin.sha256 is None:
            deque(self.origin.pieces(), maxlen=0)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except InputError:
            raise
        except (pa.ArrowException, OSError, ValueError, KeyError, NotImplementedError) as error:
            self.origin.unchanged()
            what = DAMAGED if self.origin.has_bytes else "not columns of numbers, booleans and text"
            raise InputError(f"{self.where}: {what} ({reason(error)})") from error


def _sample(name: str, column: Any) -> Sample:
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_boolean(kind):
        return Sample(name, column.to_pylist(), "boolean")
    is_date, types = is_temporal(column), pa.types
    if is_date or types.is_null(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        values = [None if v != v else v for v in numbers_of(column).tolist()]
        return Sample(name, values, "date" if is_date else "number", str(kind))
    if str(kind) in ("string", "large_string", "string_view"):
        texts = ["" if value is None else value.strip(" \t") for value in column.to_pylist()]
        return Sample(name, [None if text in MISSING else text for text in texts])
    return Sample(name, [None] * len(column), "nested", str(kind))


def _n_rows(n_columns: int) -> int:
    return int(np.clip(_BATCH_BYTES // (8 * max(n_columns, 1)), 256, 1 << 16))


class Parquet(Typed):
    """A Parquet file, or several with the same columns."""

    def _opened(self) -> list[Any]:
        from pyarrow import parquet

        # Without this, all columns of a whole row group are read before its first row.
        return [parquet.ParquetFile(file.file(), buffer_size=1 << 20, pre_buffer=False) for file in self.origin.files]

    def _head(self) -> tuple[list[str], list[Any]]:
        files = self._opened()
        self.n_rows, names = sum(file.metadata.num_rows for file in files), list(files[0].schema_arrow.names)
        check_names(names, self.where)
        for file, opened in zip(self.origin.files, files, strict=True):
            if not opened.schema_arrow.equals(files[0].schema_arrow):
                raise InputError(
                    f"{file.name}: other columns than the first file of the folder, {self.origin.files[0].name}"
                )
        batches = (batch for file in files for batch in file.iter_batches(batch_size=HEAD_ROWS, use_threads=False))
        first = next((batch for batch in batches if batch.num_rows), None)
        return names, [] if first is None else list(first.columns)

    def _columns(self, positions: list[int]) -> Iterator[list[Any]]:
        names = [self.samples[position - 1].name for position in positions]
        for file in self._opened():
            for batch in file.iter_batches(batch_size=_n_rows(len(names)), columns=names, use_threads=False):
                yield [batch.column(name) for name in names]


class Ipc(Typed):
    """Arrow IPC: a file, which Feather files are as well, or a stream."""

    def _read(self) -> Iterator[Any]:
        """Yield the schema, then the batches, whose texts and indices are within them.

        Arrow reads what a damaged file says, wherever that is.
        """
        import pyarrow as pa
        from pyarrow import ipc

        file = self._file = self.origin.file()
        # Not mapped into memory: a file that is cut while it is mapped ends the process.
        opened = file if hasattr(file, "read") else pa.OSFile(str(file))
        if self.origin.head(6).startswith(b"ARROW1"):
            reader = ipc.open_file(opened)
            if not hasattr(file, "read") and opened.size() > _MAPPED_BYTES * reader.num_record_batches:
                reader = ipc.open_file(pa.memory_map(str(file)))
            batches = map(reader.get_batch, range(reader.num_record_batches))
        else:
            batches = reader = ipc.open_stream(opened)
        yield reader.schema
        for batch in batches:
            batch.validate(full=True)
            yield batch

    def _head(self) -> tuple[list[str], list[Any]]:
        self._reading = self._read()
        names = list(next(self._reading).names)
        first = next((batch for batch in self._reading if batch.num_rows), None)
        if first is None:
            return names, []
        self._reading = chain([first], self._reading)
        return names, [column.slice(0, HEAD_ROWS) for column in first.columns]

    def _columns(self, positions: list[int]) -> Iterator[list[Any]]:
        if self.again:
            self._reading = self._read()
            next(self._reading)
        for batch in self._reading:
            step = _n_rows(batch.num_columns)
            for start in range(0, batch.num_rows, step):
                yield [batch.column(position - 1).slice(start, step) for position in positions]
        while not self.again and self._file.read(1 << 20):
            pass  # bytes after the end of the stream are part of the checksum


class Frame(Typed):
    """A data frame of any library that narwhals knows, or columns of a numpy array; ``y`` is one more column."""

    def __init__(self, frame: Any, origin: Origin, y: Any = None) -> None:
        import narwhals as nw

        self._y, self._frame, self.named = y, frame, not isinstance(frame, np.ndarray)
        if self.named:
            try:
                found = nw.from_native(frame)
            except nw.exceptions.DuplicateError as error:
                told = f"two columns have the same name ({reason(error)}); rename one of them"
                raise InputError(f"{origin.name}: {told}") from error
            self._frame = found.collect() if isinstance(found, nw.LazyFrame) else found
        self.n_rows = len(self._frame)
        check_lengths(self.n_rows, y, origin.name)
        super().__init__(origin)

    def _rows(self, start: int, n_rows: int) -> Any:
        """Return some rows; those of a mapped file are read: if it is cut meanwhile, a mapped page ends the process."""
        X: Any = self._frame
        if not isinstance(X, np.memmap):
            return X[start : start + n_rows]
        file, (n, d), size = str(X.filename), X.shape, X.dtype.itemsize
        n_rows = min(n_rows, n - start)
        if X.flags.c_contiguous:
            return np.fromfile(file, X.dtype, n_rows * d, offset=X.offset + start * d * size).reshape(n_rows, d)
        offsets = [X.offset + (k * n + start) * size for k in range(d)]
        return np.concatenate([np.fromfile(file, X.dtype, n_rows, offset=at) for at in offsets]).reshape(d, -1).T

    def _slice(self, start: int, n_rows: int) -> list[Any]:
        import pyarrow as pa

        part = self._rows(start, n_rows)
        if not self.named:
            columns = [pa.array(np.ascontiguousarray(column)) for column in part.T]
        else:
            columns = [column.combine_chunks() for column in part.to_arrow().columns]
            columns = [c.chunk(0) if isinstance(c, pa.ChunkedArray) else c for c in columns]
        if self._y is not None:
            labels = self._y[start : start + n_rows]
            columns.append(pa.array(labels.tolist() if labels.dtype.kind in "OU" else labels))
        return columns

    def _head(self) -> tuple[list[str], list[Any]]:
        head = self._slice(0, HEAD_ROWS) if self.n_rows else []
        names = list(map(str, self._frame.columns)) if self.named else [str(k) for k in range(1, len(head) + 1)]
        return names + ["label"] * (self._y is not None and self.named), head

    def _columns(self, positions: list[int]) -> Iterator[list[Any]]:
        assert self.n_rows is not None
        step = _n_rows(len(self.samples))
        for start in range(0, self.n_rows, step):
            columns = self._slice(start, step)
            yield [columns[position - 1] for position in positions]
