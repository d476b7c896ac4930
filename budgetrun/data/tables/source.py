"""Sources of rows: bytes with a name, text in whole lines, and readers, which give batches of Arrow columns."""

from __future__ import annotations

import hashlib
import io
import math
import os
import select
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from budgetrun.base.errors import InputError
from budgetrun.data.content import bare_name, pieces, read_content, shown
from budgetrun.data.tables.columns import Sample
from budgetrun.data.text import count_lines

# The time after which a pipe without new bytes is reported, and the most time for its first rows to arrive.
TICK_SECONDS = 0.1
HEAD_SECONDS = 2.0
HEAD_BYTES = 1 << 20
HEAD_ROWS = 10_000
HEAD_FIELDS = 400_000
BLOCK_BYTES = 1 << 21
PIECE_BYTES = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


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
    """Rows in batches; subclasses read one format each.

    Attributes
    ----------
    where : str
        The name in messages.
    samples : list of Sample
        The first values of all columns; empty if rows are vectors.
    named, again, hashed : bool
        The columns have names; the rows can be read more than once; the content has a checksum of its own.
    n_rows : int or None
        None if it is not known before the end.
    format : str
        The format with its revision, such as ``libsvm 1``.
    """

    named = again = hashed = True
    n_rows: int | None = None
    # The revision is raised whenever the same file gives other examples or labels; part of the run ids of users' files.
    format = "table 1"

    def __init__(self, origin: Origin | None, where: str = "", sha256: str | None = None) -> None:
        self.origin: Any = origin
        self.samples: list[Sample] = []
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


class Origin:
    """Bytes with a name for messages; ``sha256``, of all decompressed bytes, is known once they were read to the end.

    ``again`` tells whether they can be read more than once.
    """

    name: str
    again = True
    sha256: str | None = None

    def head(self, n_bytes: int) -> bytes:
        """Return the first bytes, which `pieces` yields again; at least one."""
        raise NotImplementedError

    def pieces(self) -> Iterator[bytes]:
        """Yield all bytes; an empty piece means that none have arrived for `TICK_SECONDS`."""
        digest = hashlib.sha256()
        for piece in self._read():
            digest.update(piece)
            yield piece
        self.sha256 = digest.hexdigest()

    def file(self) -> Any:
        """Return what pyarrow reads at any position: a path, or a buffer."""
        raise NotImplementedError

    def _read(self) -> Iterator[bytes]:
        raise NotImplementedError


class Held(Origin):
    """Bytes in memory."""

    def __init__(self, content: bytes, name: str) -> None:
        self.content, self.name = content, name

    def pieces(self) -> Iterator[bytes]:
        self.sha256 = self.sha256 or hashlib.sha256(self.content).hexdigest()
        return self._read()

    def head(self, n_bytes: int) -> bytes:
        return self.content[:n_bytes]

    def file(self) -> Any:
        return io.BytesIO(self.content)

    def _read(self) -> Iterator[bytes]:
        for start in range(0, len(self.content), PIECE_BYTES):
            yield self.content[start : start + PIECE_BYTES]


class File(Origin):
    """A regular file, which may be compressed (.gz, .bz2, .xz)."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.path, self.name = path, name or shown(path)

    def head(self, n_bytes: int) -> bytes:
        found, reading = b"", pieces(self.path)
        while len(found) < n_bytes and (piece := next(reading, None)) is not None:
            found += piece
        reading.close()  # type: ignore[attr-defined]
        if not found:
            raise InputError(f"{self.name}: the file is empty")
        return found[:n_bytes]

    def file(self) -> Any:
        return io.BytesIO(read_content(self.path)) if bare_name(self.path.name) != self.path.name else self.path

    def _read(self) -> Iterator[bytes]:
        return pieces(self.path)


class Pipe(Origin):
    """Bytes that arrive once, and perhaps slowly: standard input, or any binary file object."""

    again = False

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.name, self._held, self._until = name, b"", math.inf
        self._arriving = _arriving(stream)

    def head(self, n_bytes: int) -> bytes:
        while len(self._held) < n_bytes and time.monotonic() < self._until:
            piece = next(self._arriving, None)
            if piece is None:
                break
            self._held += piece
            if self._until == math.inf and (b"\n" in piece or self._held.startswith(b"\xff\xff\xff\xff")):
                self._until = time.monotonic() + HEAD_SECONDS
        if not self._held:
            raise InputError(f"{self.name}: no data; it ended before the first byte")
        return self._held[:n_bytes]

    def file(self) -> Any:
        return io.BufferedReader(_Sequential(self), PIECE_BYTES)

    def _read(self) -> Iterator[bytes]:
        held, self._held = self._held, b""
        yield held
        yield from self._arriving


class _Sequential(io.RawIOBase):
    """The bytes of a pipe as a file that is read from its beginning to its end."""

    def __init__(self, pipe: Pipe) -> None:
        self._pieces, self._rest = pipe.pieces(), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = piece
        n = min(len(buffer), len(self._rest))
        buffer[:n], self._rest = self._rest[:n], self._rest[n:]
        return n


def _arriving(stream: BinaryIO) -> Iterator[bytes]:
    """Yield bytes as soon as they arrive."""
    try:
        descriptor = stream.fileno()
    except OSError:
        yield from iter(lambda: stream.read(PIECE_BYTES), b"")
        return
    while True:
        if not select.select([descriptor], [], [], TICK_SECONDS)[0]:
            yield b""
        elif piece := os.read(descriptor, PIECE_BYTES):
            yield piece
        else:
            return


class Lines(NamedTuple):
    """Whole lines, each ending in ``\\n``, and the number from 1 of the first of them."""

    text: bytes
    first: int


def last_line_end(text: bytes) -> int:
    """Return the position after the last line end, 0 if there is none."""
    return text.rfind(b"\n") + 1


def head_lines(origin: Origin, whole: Callable[[bytes], int] = last_line_end) -> bytes:
    """Return the first lines of a text, at most `HEAD_BYTES` of them or the first line."""
    n_bytes = HEAD_BYTES
    while True:
        head = origin.head(n_bytes)
        text = _normal(head, first=True)
        if head.startswith(_UTF_16):
            raise InputError(f"{origin.name}: UTF-16 text; save the file as UTF-8")
        end = whole(text)
        if end and len(head) >= n_bytes:
            return text[:end]
        if len(head) < n_bytes:  # all there is, or all that has arrived
            return text[:end] if end and not origin.again else _ended(text)
        if n_bytes > 64 * HEAD_BYTES:
            raise InputError(f"{origin.name}: no line ends in its first {n_bytes >> 20} MB; this is not text in rows")
        n_bytes *= 4


def line_blocks(origin: Origin, whole: Callable[[bytes], int] = last_line_end) -> Iterator[Lines | None]:
    """Yield a text in blocks of about `BLOCK_BYTES`, each of whole rows, so that it can be parsed on its own.

    None means that nothing has arrived for a while; then, blocks are as short as what has arrived.

    Parameters
    ----------
    origin : Origin
    whole : function of bytes to int
        Returns the position after the last row that is complete, 0 if there is none.
    """
    held: list[bytes] = []
    n_bytes, needed, number, started = 0, BLOCK_BYTES, 1, False
    for piece in origin.pieces():
        held.append(piece)
        n_bytes += len(piece)
        if n_bytes < needed and (piece or not n_bytes):
            if not piece:
                yield None
            continue
        text = _normal(b"".join(held), first=not started)
        end = whole(text)
        if end:
            started = True
            yield Lines(text[:end], number)
            number += text.count(b"\n", 0, end)
        elif not piece:
            yield None
        elif n_bytes > 64 * BLOCK_BYTES:
            raise InputError(
                f"{origin.name}:{number}: a row of more than {n_bytes >> 20} MB; is a quotation mark not closed?"
            )
        held = [text[end:]]
        n_bytes = len(held[0])
        needed = max(BLOCK_BYTES, 2 * n_bytes)
    text = _normal(b"".join(held), first=not started)
    if text or not started:
        yield Lines(_ended(text), number)


def _normal(text: bytes, first: bool) -> bytes:
    """Return text without a byte order mark at the beginning, with ``\\n`` for ``\\r\\n``."""
    text = text.removeprefix(_BYTE_ORDER_MARK) if first else text
    return text.replace(b"\r\n", b"\n") if b"\r" in text else text


def _ended(text: bytes) -> bytes:
    return text if text.endswith(b"\n") else text + b"\n"
