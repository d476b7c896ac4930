"""Tables: examples and labels in chunks, in the order of the source."""

import hashlib
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from budgetrun.base import limits
from budgetrun.base.errors import InputError, counted
from budgetrun.config.schema import Label
from budgetrun.data.formats import joined
from budgetrun.data.scaling import Means
from budgetrun.data.tables import columns
from budgetrun.data.tables.columns import Column, Fault, Reader, Vectors
from budgetrun.data.tables.encode import Encoder, Missing, Piece, Texts, no_labels, values_of, without_missing
from budgetrun.data.tables.written import TOLD, number
from budgetrun.kernels.kinds import Matrix

CHUNK_ROWS = 4096
_MOST_AT_FIRST = 4_000_000  # values from which on the first chunk is large enough, however few its rows are
# Kinds of faults in words, with the column in braces.
_FAULTS = {
    "length": "another number of columns, or no record",
    "text": "text in {}, which holds numbers",
    "missing": "a missing value in {}",
    "no label": "no label",
    "infinite": "an infinite value in {}",
    "encoding": "text in {} that is not UTF-8",
    "NUL": "a NUL character in {}",
    "label": "an unknown label in {}",
}
T = TypeVar("T")


class Chunk(NamedTuple):
    """Some examples."""

    X: Matrix  # shape (n, d), float64: ndarray, C-contiguous, or csr_array with sorted int32 indices
    y: NDArray[Any]  # shape (n,), float64 or str; empty, if the source has no labels
    first_row: int  # the number of rows of the source before these; rows that were left out count
    keys: list[str]  # n texts of the key column, empty where they are missing; none, if the table has no such column

    @property
    def has_label(self) -> NDArray[np.bool_]:
        """Whether a row has a label, shape (n,); empty, if the source has none."""
        return ~no_labels(self.y)


@dataclass
class Scan:
    """All faults of a table."""

    n_rows: int = 0
    counts: dict[Label, int] = field(default_factory=dict)  # the rows with each label
    problems: list[str] = field(default_factory=list)  # why it cannot be learned from, one sentence each, with counts
    notes: list[str] = field(default_factory=list)  # other things worth knowing, such as constant columns


class Table:
    """Examples and labels of any source; see `open_table`, which makes tables."""

    where: str  # the source's name in messages
    columns: list[Column]  # those found; for vectors, only the labels
    label_found: str  # a sentence on how the label was found
    n_rows: int | None  # None, if it is not known before the end
    again: bool  # `chunks` can be called more than once
    # The rows that the last call of `chunks` left out because a value is missing, and the values that it read as 0.
    skipped: int
    zeroed: int
    numbers: bool  # the labels are measured numbers; then `classes` is empty
    predicts = False  # nothing is learned: rows without a label stay, and labels may be new
    reader: str  # the format with its revision, such as ``libsvm 1``

    def __init__(
        self,
        source: Reader,
        label: str | int | None = None,
        missing: Missing = "refuse",
        classes: Sequence[Label] | None = None,
        encoding: dict[str, Any] | None = None,
        continued: bool = False,
        key: str | None = None,
    ) -> None:
        given = classes if classes is not None or encoding is None else encoding["classes"]
        # Without any classes, labels are numbers.
        self.numbers = given is not None and not given
        columns.check_classes(given or (), source.where)
        self.missing, self._given, self._reader = missing, given, source
        self.where, self.again, self.reader = source.where, source.again, source.format
        self.skipped = self.zeroed = 0
        self._digest: str | None = None
        self._labels_seen: tuple[Label, ...] | None = None
        self._encoded, self._learns = encoding is not None, encoding is None or continued
        self._means: list[list[float]] = [] if encoding is None else encoding.get("means", [])
        self._lost: dict[int, int] = {}  # missing values by column, once they are counted
        if isinstance(source, Vectors):
            source.fit(encoding, self.numbers)
            self.columns = [] if source.label is None else [source.label]
            self.label_found = source.label_found
        elif encoding is None:
            self._find_columns(label)
        elif "columns" not in encoding:
            raise InputError(f"{self.where}: a table of columns, where a matrix was learned; give the same format")
        else:
            found = columns.columns_of(source.samples, source.named)
            self.columns = columns.fitted_columns(encoding["columns"], found, self.where, label)
            self.label_found = "the columns are those of the table that was learned"
            if continued and self.label_column is None:
                gone = next(str(one["name"]) for one in encoding["columns"] if one["kind"] == "label")
                raise InputError(f"{self.where}: column '{gone}' of the table that was learned is missing: the label")
        self._key = None if key is None else self._key_column(key)
        self.n_rows = source.n_rows

    def _find_columns(self, label: str | int | None) -> None:
        samples = self._reader.samples
        self.columns = columns.columns_of(samples, self._reader.named)
        if label is None:
            found, self.label_found = columns.find_label(self.columns, samples, self.where, self.numbers)
        else:
            found = columns.find_column(self.columns, label, self.where, "label")
            self.label_found = f"the label is {found}, as asked"
        sample = samples[found.position - 1]
        found = columns.as_label(found, sample, self.where)
        if any(isinstance(label, str) for label in self._given or ()):
            # Some labels may look like numbers.
            found = replace(found, numeric=False, form="")
        self.columns[found.position - 1] = found
        if not self.again and not self.numbers:
            seen = {value for value in sample.values if value is not None}
            labels: set[Any] = {str(value).lower() if isinstance(value, bool) else str(value) for value in seen}
            if found.numeric:
                labels = {one for text in labels if (one := number(text, found.form)) is not None}
            columns.check_distinct(labels, self.where, found)
            self._labels_seen = columns.as_classes(labels)
        self._gaps_seen = {at for at, sample in enumerate(samples, start=1) if None in sample.values}
        # The values, perhaps many, are not needed any more.
        self._reader.samples = [replace(sample, values=()) for sample in samples]

    def _key_column(self, name: str) -> Column:
        if isinstance(self._reader, Vectors):
            raise InputError(f"{self.where}: rows are vectors, which have no column {name!r}")
        ordered = sorted(self.columns, key=lambda one: one.position)
        column = columns.find_column(ordered, name, self.where, "by")
        if column.kind == "nested":
            raise InputError(self._refusal(column))
        if column.kind == "label":
            raise InputError(f"{self.where}: {column} is the label; name another column")
        key = replace(column, kind="index", why="left out: as asked", categories=(), form="")
        self.columns = [key if one.position == column.position else one for one in self.columns]
        return key

    @cached_property
    def _encoder(self) -> Encoder:
        """The encoder; categories are those of the whole source, if it can be read again."""
        if isinstance(self._reader, Vectors):
            return Encoder(self.columns, self._reader.n_features, self._reader.sparse)
        fills = self.missing == "fill" and (self._learns or bool(self._means))
        if not self._encoded and self.again and (fills or any(column.kind == "category" for column in self.columns)):
            self._look_through()
        elif not self._encoded and fills:
            self.columns = [replace(c, gaps=c.position in self._gaps_seen) for c in self.columns]
        n_numbers = sum(column.kind in columns.NUMBERS for column in self.columns)
        means = Means(n_numbers, self._learns) if fills else None
        if means and self._means:
            means.totals, means.counts = map(np.array, self._means)
        return Encoder(self.columns, means=means, key=self._key)

    def _look_through(self) -> None:
        """Find all categories and labels, and the columns that have gaps if these are filled; count the rows."""
        searched = [c for c in self.columns if c.kind == "label" or (c.kind == "category" and not self._encoded)]
        found: dict[int, set[Any]] = {column.position: set(column.categories) for column in searched}
        fills = self.missing == "fill" and not self._encoded
        numbers = [c for c in self.columns if fills and c.kind in columns.NUMBERS]
        lost = {column.position: 0 for column in [*searched, *numbers] if fills and column.kind != "label"}
        n_rows = 0
        for batch in filter(None, self._reader.batches([*searched, *numbers])):
            n_rows += batch.n_rows
            values, _ = values_of(batch, [*searched, *numbers])
            for position in lost:
                of_column = values[position]
                gone = of_column.codes == -1 if isinstance(of_column, Texts) else np.isnan(of_column)
                lost[position] += int(np.count_nonzero(gone))
            for column in searched:
                if column.kind == "label" and self.numbers:
                    continue
                of_batch, known = values[column.position], found[column.position]
                known.update(of_batch.values if isinstance(of_batch, Texts) else set(of_batch.tolist()))
                columns.check_distinct(known, self.where, column)
        self.n_rows, self._lost = n_rows, lost
        for at, column in enumerate(self.columns):
            if fills:
                column = self.columns[at] = replace(column, gaps=lost.get(column.position, 0) > 0)
            if column.kind == "label":
                self._labels_seen = columns.as_classes(found[column.position])
            elif column.kind == "category" and not self._encoded:
                self.columns[at] = replace(column, categories=tuple(sorted(found[column.position])))

    @property
    def features(self) -> list[str]:
        """The names of the features, shape (d,)."""
        return self._encoder.features

    @property
    def sha256(self) -> str | None:
        """The checksum of the decompressed content, or of the values; None before `chunks` has come to the end."""
        found: str | None = self._reader.origin.sha256
        return found or self._digest

    @property
    def label_column(self) -> Column | None:
        """The column of the labels; None, if the source has no labels."""
        return next((column for column in self.columns if column.kind == "label"), None)

    @cached_property
    def classes(self) -> tuple[Label, ...]:
        """All labels, ascending; from a pipe, those of its first rows, unless they were given."""
        if self._given:
            return tuple(self._given)
        if isinstance(self._reader, Vectors):
            return () if self.numbers else columns.as_classes(self._reader.labels())
        if self.label_column is not None and self._labels_seen is None and (self.again or not self.numbers):
            self._look_through()
        return self._labels_seen or ()

    @property
    def encoding(self) -> dict[str, Any]:
        """Argument of `open_table` that reads another source into the same features; JSON can hold it."""
        classes = None if self.label_column is None else list(self.classes)
        if isinstance(self._reader, Vectors):
            return {"n_features": len(self.features), "classes": classes, **self._reader.fitting}
        assert self._encoder
        return {"columns": list(map(asdict, self.columns)), "classes": classes, **self.means}

    @property
    def means(self) -> dict[str, Any]:
        """The means that took the place of missing values after the last chunk, for `encoding`."""
        return {"means": self._means} if self._means else {}

    def chunks(self, n_rows: int = CHUNK_ROWS, at_first: int = 1) -> Iterator[Chunk]:
        """Yield all examples in order, at most ``n_rows`` at a time, but ``at_first`` ones or more in the first chunk.

        A thread reads ahead. An InputError names the place of the first fault of the source.
        """
        if refused := self.refused():
            raise InputError(refused[0])
        return _begun(self._chunks(n_rows), at_first, self.where)

    def _chunks(self, n_rows: int) -> Generator[Chunk]:
        self.skipped = self.zeroed = first_row = 0
        closed = bool(self._given) or not (self.again or self.numbers)
        for pieces in ahead(self._pieces(n_rows, closed and not self.predicts)):
            for piece in pieces:
                self._raise_first(piece)
            for X, y, faults, _, _, n, self._means, keys in pieces:
                if faults:
                    X, kept = without_missing(X, y[:0] if self.predicts else y, self.missing)
                    y, keys = y[kept] if len(y) else y, list(compress(keys, kept))
                    self.skipped += n - X.shape[0]
                    if self.missing == "zero":
                        self.zeroed += sum(fault.n for fault in faults if fault.kind == "missing")
                if X.shape[0]:
                    yield Chunk(X, y, first_row, keys)
                first_row += n
        self._lost = self._encoder.lost
        if not first_row:
            raise InputError(f"{self.where}: no rows")
        if first_row == self.skipped:
            raise InputError(f"{self.where}: all {first_row:,} rows have a missing value; none is left")

    def _pieces(self, n_rows: int, closed: bool) -> Generator[list[Piece] | None]:
        """Yield all examples; with ``closed``, a label that is not one of the classes is a fault."""
        encoder, digest = self._encoder, None if self._reader.origin.has_bytes else Digest()
        classes = (self.classes or None) if closed else None
        encoder.begin()
        for batch in self._reader.batches(encoder.wanted):
            pieces = None if batch is None else list(encoder.pieces(batch, n_rows, classes))
            for piece in pieces if pieces and digest else ():
                digest.add(piece.X, piece.y)  # type: ignore[union-attr]
            yield pieces
        if digest:
            self._digest = digest.hexdigest(self.features)

    def whole(self, content_bytes: int = 0) -> tuple[Matrix, NDArray[Any]]:
        """Return all examples and labels; the memory of the content is in use already."""
        d, n = len(self.features), 0
        X: NDArray[np.float64] | None = None
        sparse: list[Matrix] = []
        labels = []
        for chunk in self.chunks():
            labels.append(chunk.y)
            if not isinstance(chunk.X, np.ndarray):
                sparse.append(chunk.X)
                continue
            end = n + len(chunk.X)
            if X is None:
                rows = self._reader.most_rows or end
                limits.check(content_bytes + 8 * rows * d, self.where, f"a table of {rows:,} x {d:,} numbers")
                X = np.empty((rows, d))
            elif end > len(X):
                limits.check(content_bytes + 24 * end * d, self.where, f"a table of more than {end:,} x {d:,} numbers")
                X = np.concatenate([X[:n], np.empty((end, d))])
            X[n:end] = chunk.X
            n = end
        if X is not None:
            return X[:n], np.concatenate(labels)
        return vstack(sparse, format="csr"), np.concatenate(labels)

    def _raise_first(self, piece: Piece) -> None:
        of_fill = ("no label",) if self._learns else ()
        allowed = {"skip": ("missing", "no label"), "zero": ("missing",), "fill": of_fill}.get(self.missing, ())
        allowed += ("no label",) * self.predicts
        wrong = [fault for fault in piece.faults if fault.kind not in allowed]
        if wrong:
            first = min(wrong, key=lambda fault: (fault.row, fault.position))
            raise InputError(_located(first, piece) + self._advice(first))

    def _advice(self, fault: Fault) -> str:
        if fault.kind == "missing":
            advice = "fill such gaps (--missing fill), leave the rows out (--missing skip), or read 0 (--missing zero)"
            return f" in {self._column(fault.position)}; {advice}"
        if fault.kind == "no label":
            skipping = "leave such rows out (--missing skip)"
            return f"; {skipping if self.missing == 'refuse' else 'a missing label cannot be read as 0'}"
        if fault.kind == "label":
            told = "that model learns no further one" if self._encoded else "name all labels in advance (--classes)"
            return f"; {told}"
        if fault.kind != "length" and fault.told.endswith(("number", "float64")):
            is_label = self.label_column is not None and self.label_column.position == fault.position
            return "; a label is a number too" if is_label else "; a feature is a finite number"
        return ""

    def _column(self, position: int) -> str:
        if isinstance(self._reader, Vectors):
            return f"feature {position:,}" if position else "the labels"
        return str(next((column for column in self.columns if column.position == position), f"column {position}"))

    def notes(self) -> list[str]:
        """Return the treatment of columns that are not numbers, and of missing values, after all rows were read."""
        told = [f"{c} is left out: {c.why.removeprefix('left out: ')}" for c in self.columns if c.kind == "index"]
        one_hot = [c for c in self.columns if c.kind == "category"]
        told += [f"{c} became {counted(len(c.features), 'feature')}, one for each category" for c in one_hot]
        told += [f"{c} is read as 0 and 1 ({c.why})" for c in self.columns if c.kind == "boolean"]
        told += [f"{c} is read as {TOLD[c.form]} ({c.why})" for c in self.columns if c.form]
        for c in [c for c in self.columns if self.missing == "fill" and self._lost.get(c.position)]:
            how = "the mean of the values before them" + ", with a feature that tells it" * c.gaps
            if c.kind == "category":
                how = "a category of their own" if c.gaps else "no category"
            told.append(f"{c}: {counted(self._lost[c.position], 'missing value')} became {how}")
        if self.skipped:
            what = "the label" if self.missing == "fill" else "a value"
            told.append(f"{counted(self.skipped, 'row')} left out because {what} is missing")
        if self.zeroed:
            told.append(f"{self.zeroed:,} missing values are read as 0")
        return [f"{self.where}: {one}." for one in told + self.unknown_notes()]

    def unknown_notes(self) -> list[str]:
        """Return a note for each column with categories that the encoding does not know."""
        counts = self._encoder.unknown.items()
        return [f"{counted(n, 'row')} with an unknown category in {name}: zeros" for name, n in counts if n]

    def refused(self) -> list[str]:
        """Return a sentence for each column that cannot be learned from."""
        usable = isinstance(self._reader, Vectors) or any(c.features or c.kind == "category" for c in self.columns)
        alone = [] if usable else [f"{self.where}: only one column; a row is a label and at least one feature"]
        return [self._refusal(c) for c in self.columns if c.kind in columns.REFUSED] or alone

    def _refusal(self, column: Column) -> str:
        return f"{self.where}: {column}: {column.why}; {columns.REFUSED[column.kind]}"

    def scan(self) -> Scan:
        """Read everything, and return all faults with their counts."""
        found = Scan(problems=self.refused())
        seen: dict[tuple[str, int], tuple[int, str]] = {}
        ranges: list[NDArray[Any]] = []
        for piece in (piece for pieces in self._pieces(CHUNK_ROWS, bool(self._given)) for piece in pieces or ()):
            for fault in piece.faults:
                key = fault.kind, fault.position
                count, first = seen.get(key, (0, ""))
                seen[key] = count + fault.n, first or _located(fault, piece)
            found.n_rows += piece.n_rows + sum(fault.n for fault in piece.faults if fault.kind == "length")
            for label, count in zip(*np.unique(piece.y, return_counts=True), strict=True):
                for value in columns.as_classes([label.item()]):
                    found.counts[value] = found.counts.get(value, 0) + int(count)
            if isinstance(piece.X, np.ndarray) and piece.X.size:
                with np.errstate(invalid="ignore"):
                    low, high = np.fmin.reduce(piece.X), np.fmax.reduce(piece.X)
                    ranges = [np.fmin(low, ranges[0]), np.fmax(high, ranges[1])] if ranges else [low, high]
        for (kind, position), (count, first) in sorted(seen.items(), key=lambda one: one[0][::-1]):
            rows = f"{count:,} of {found.n_rows:,} rows have {_FAULTS[kind].format(self._column(position))}"
            text = f"{self.where}: {rows}; the first: {first}"
            (found.notes if kind == "missing" and self.missing != "refuse" else found.problems).append(text)
        if self.label_column is not None and len(found.counts) == 1:
            only = f"all rows have the label {next(iter(found.counts))}"
            found.problems.append(f"{self.where}: {only}; nothing can be learned from a single label")
        constant = np.flatnonzero(ranges[0] == ranges[1]) if ranges and found.n_rows > 1 else ()
        told = [f"feature {self.features[k]} is constant: always {ranges[0][k]:g}" for k in constant]
        found.notes += [f"{self.where}: {one}" for one in told + self.unknown_notes()]
        found.counts = dict(sorted(found.counts.items(), key=lambda one: (str(type(one[0])), one[0])))
        return found


def _begun(chunks: Iterator[Chunk], at_first: int, where: str) -> Iterator[Chunk]:
    """Put the first chunks together until they have ``at_first`` rows, or very many values."""
    first: list[Chunk] = []
    for chunk in chunks:
        first.append(chunk)
        if sum(one.X.shape[0] for one in first) >= at_first or sum(one.X.size for one in first) > _MOST_AT_FIRST:
            break
    if first:
        whole = joined([(one.X, one.y) for one in first], where)
        yield Chunk(whole.X, whole.y, first[0].first_row, [key for one in first for key in one.keys])
    yield from chunks


def _located(fault: Fault, piece: Piece) -> str:
    if fault.kind == "length":
        return fault.told
    return f"{piece.batch.place(piece.start + fault.row, fault.position)}: {fault.told}"


class Digest:
    """A checksum of examples, the same for chunks of any size."""

    def __init__(self) -> None:
        self._parts = [hashlib.sha256() for _ in range(4)]

    def add(self, X: Matrix, y: NDArray[Any]) -> None:
        arrays = [X]
        if not isinstance(X, np.ndarray):
            arrays = [X.data, X.indices.astype(np.int64), np.diff(X.indptr).astype(np.int64)]
        for part, array in zip(self._parts, arrays, strict=False):
            part.update(np.ascontiguousarray(array).tobytes())
        self._parts[3].update(y.tobytes() if y.dtype.kind == "f" else "\n".join([*y.tolist(), ""]).encode())

    def hexdigest(self, features: Sequence[str] = ()) -> str:
        """Return the checksum of the examples so far, with the names of their features."""
        told = [*features, *(part.hexdigest() for part in self._parts)]
        return hashlib.sha256("\n".join(told).encode()).hexdigest()


def ahead(items: Generator[T | None], depth: int = 2) -> Iterator[T]:
    """Yield the items of a generator except None, computed by a thread up to ``depth`` items ahead.

    An error of the generator is raised here, in its place. If the caller stops early, the thread ends at the next item,
    so a generator that waits for its source yields None from time to time.
    """
    stopped = threading.Event()

    def following() -> T | None:
        return next((item for item in items if item is not None or stopped.is_set()), None)

    # With the caller's limit of memory, which is a context variable.
    context = copy_context()
    with ThreadPoolExecutor(1) as thread:
        waiting: deque[Future[T | None]] = deque()
        try:
            while True:
                waiting.extend(thread.submit(context.run, following) for _ in range(1 + depth - len(waiting)))
                item = waiting.popleft().result()
                if item is None:
                    return
                yield item
        finally:
            stopped.set()
            thread.shutdown(cancel_futures=True)
            items.close()
