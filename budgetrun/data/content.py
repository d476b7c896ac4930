"""Bytes of data: files, decompressed and hashed, and pipes; and text in whole lines."""

from __future__ import annotations

import bz2
import hashlib
import io
import lzma
import math
import os
import re
import select
import stat
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from budgetrun.base import limits
from budgetrun.base.errors import InputError, clipped, listed, printable

# Decompressors of one stream, which check its checksum at its end.
DECOMPRESS: dict[str, Callable[[], Any]] = {
    ".gz": partial(zlib.decompressobj, wbits=16 + zlib.MAX_WBITS),
    ".bz2": bz2.BZ2Decompressor,
    # The header says how much memory its dictionary takes.
    ".xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=int(min(limits.limit(), 2**63))),
}
ZIP = ".zip"
# Between and after streams, zero bytes may follow in multiples of this; formats that are not here allow none.
_PADDING = {".gz": 1, ".xz": 4}
_BROKEN = (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_READ_BYTES = 1 << 16
# The time after which a pipe without new bytes is reported, and the most time for its first rows to arrive.
TICK_SECONDS = 0.1
HEAD_SECONDS = 2.0
HEAD_BYTES = 1 << 20
HEAD_ROWS = 10_000
HEAD_FIELDS = 400_000
BLOCK_BYTES = 1 << 21
_COLUMN_BYTES = 512
PIECE_BYTES = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_CHANGED = "the file changed while it was read; wait until it is complete"


@dataclass(frozen=True)
class Stamp:
    """The state of a file at one time; a cache with this key notices when the file changes.

    The name, whose suffix says how to read the file, is part of it; the folder is not, so that a path from the current
    folder and an absolute one are the same.
    """

    path: Path = field(compare=False)
    name: str
    state: tuple[int, ...]

    @classmethod
    def of(cls, path: Path, opened: int | None = None) -> Stamp:
        """Return the stamp of an existing file, which may be open with a descriptor."""
        try:
            found = os.stat(path if opened is None else opened)
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from error
        return cls(path, path.name, (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_dev, found.st_ino))


def bare_name(name: str) -> str:
    """Return a file name without its compression suffix: ``a9a.t.xz`` -> ``a9a.t``."""
    return name.removesuffix(compression(name))


def compression(name: str) -> str:
    """Return the compression suffix of a file name: ``.gz``, ``.bz2``, ``.xz``, ``.zip``, or empty for a plain file."""
    suffix = Path(name).suffix
    return suffix if suffix in DECOMPRESS or suffix == ZIP else ""


def read_content(path: Path) -> bytes:
    """Return a whole file, decompressed if its name ends in .gz, .bz2 or .xz.

    An InputError says that it cannot be read, is not a regular file, is truncated or corrupt, is empty, is larger than
    the limit of `budgetrun.base.limits`, or changes meanwhile.
    """
    content = io.BytesIO()
    for piece in pieces(path):
        limits.check(content.tell() + len(piece), shown_path(path), "its content")
        content.write(piece)
    if not content.tell():
        raise InputError(f"{shown_path(path)}: the file is empty")
    return content.getvalue()


def pieces(path: Path) -> Iterator[bytes]:
    """Yield the content of a file, decompressed as by `read_content`, about a megabyte at a time."""
    suffix = compression(path.name)
    with _opened(path) as file:
        before = Stamp.of(path, file.fileno())
        try:
            if suffix == ZIP:
                yield from _member(file, path)
            else:
                yield from _decompressed(file, path, suffix) if suffix else iter(lambda: file.read(PIECE_BYTES), b"")
        except OSError as error:
            raise _unreadable(path, error) from error
        if Stamp.of(path, file.fileno()) != before:
            raise InputError(f"{shown_path(path)}: {_CHANGED}")


@lru_cache(maxsize=256)
def hashed(stamp: Stamp) -> tuple[str, int]:
    """Return the sha256 and the size in bytes of a file's decompressed content, remembered while it is unchanged."""
    content = read_content(stamp.path)
    return hashlib.sha256(content).hexdigest(), len(content)


def shown_path(path: Path) -> str:
    """Return a path for a message, on one line whatever its name."""
    return printable(str(path)).replace("\n", "\\n")


def reason(error: Exception) -> str:
    """Return the text of a library's error on one line, the beginning of a long one."""
    return " ".join(str(error).split())[:200]


def _unreadable(path: Path, error: Exception) -> InputError:
    told = error.strerror if isinstance(error, OSError) else str(error)
    return InputError(f"{shown_path(path)}: cannot be read: {told}")


def _opened(path: Path) -> BinaryIO:
    """Open a regular file; a pipe or a device, which could block for ever, is refused."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{shown_path(path)}: not a regular file; copy the data into a file first")
    return open(descriptor, "rb")


def _decompressed(file: BinaryIO, path: Path, suffix: str) -> Iterator[bytes]:
    """Yield the content of all streams of a compressed file, which must reach to its last byte."""
    n_streams, padding, rest = 0, 0, b""
    try:
        while rest := rest or file.read(_READ_BYTES):
            if n_streams and suffix in _PADDING:
                found = rest.lstrip(b"\0")
                padding, rest = padding + len(rest) - len(found), found
                if not rest:
                    continue
            if padding % _PADDING.get(suffix, 1):
                break
            decoder, padding = DECOMPRESS[suffix](), 0
            while not decoder.eof:
                if not rest and getattr(decoder, "needs_input", True) and not (rest := file.read(_READ_BYTES)):
                    raise EOFError("Compressed file ended before the end-of-stream marker was reached")
                yield decoder.decompress(rest, PIECE_BYTES)
                rest = getattr(decoder, "unconsumed_tail", b"")
            rest = decoder.unused_data
            n_streams += 1
        if padding % _PADDING.get(suffix, 1):
            raise ValueError(f"{padding} zero bytes follow a stream, where only multiples of 4 may")
    except _BROKEN as error:
        if "Memory usage limit" in str(error):
            told = f"unpacking it takes more memory than the limit of {limits.sized(limits.limit())}"
            raise InputError(f"{shown_path(path)}: {told}; {limits.ADVICE}") from None
        after = f", after {n_streams} whole streams" if n_streams else ""
        raise InputError(
            f"{shown_path(path)}: truncated or corrupt {suffix} file ({error}{after}); replace it with a whole copy"
        ) from error


def _member(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the content of the only member of a .zip archive; what macOS adds does not count."""
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(file) as archive:
            names = [name for name in archive.namelist() if not name.startswith("__MACOSX/") and name[-1:] != "/"]
            if len(names) != 1:
                found = f"{len(names):,} files ({listed(names)})" if names else "no file"
                raise InputError(f"{shown_path(path)}: holds {found}; unpack it, and give the path of one file")
            with archive.open(names[0]) as member:
                yield from iter(lambda: member.read(PIECE_BYTES), b"")
    except (*_BROKEN, BadZipFile, RuntimeError, NotImplementedError) as error:
        told = reason(error)
        raise InputError(f"{shown_path(path)}: cannot be unpacked ({told}); unpack it, and give that file") from error


class Origin:
    """Bytes from anywhere."""

    name: str  # in messages
    again = True  # they can be read more than once
    has_bytes = True
    sha256: str | None = None  # of all decompressed bytes, once they were read to the end

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

    def unchanged(self) -> None:
        """Raise an InputError if the bytes are not those of the first call, in a file that was replaced or changed."""

    def _read(self) -> Iterator[bytes]:
        raise NotImplementedError


class Memory(Origin):
    """Data in memory that are not bytes, such as a data frame."""

    has_bytes = False

    def __init__(self, name: str) -> None:
        self.name = name


class Held(Origin):
    """Bytes in memory."""

    def __init__(self, content: bytes, name: str) -> None:
        self.content, self.name = content, name

    def head(self, n_bytes: int) -> bytes:
        return self.content[:n_bytes]

    def _read(self) -> Iterator[bytes]:
        for start in range(0, len(self.content), PIECE_BYTES):
            yield self.content[start : start + PIECE_BYTES]


class File(Origin):
    """A regular file, which may be compressed (.gz, .bz2, .xz)."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.path, self.name, self.files = path, name or shown_path(path), [self]
        self.stamp = Stamp.of(path)

    def unchanged(self) -> None:
        if Stamp.of(self.path) != self.stamp:
            raise InputError(f"{self.name}: {_CHANGED}")

    def head(self, n_bytes: int) -> bytes:
        found, reading = bytearray(), pieces(self.path)
        while len(found) < n_bytes and (piece := next(reading, None)) is not None:
            found += piece
        reading.close()  # type: ignore[attr-defined]
        if not found:
            raise InputError(f"{self.name}: the file is empty")
        return bytes(found[:n_bytes])

    def file(self) -> Any:
        self.unchanged()
        return io.BytesIO(read_content(self.path)) if bare_name(self.path.name) != self.path.name else self.path

    def _read(self) -> Iterator[bytes]:
        self.unchanged()
        yield from pieces(self.path)
        self.unchanged()


class Parts(Origin):
    """Files that are one table; the bytes of all of them, one after the other."""

    def __init__(self, paths: Sequence[Path], name: str) -> None:
        self.files, self.name = [File(path) for path in paths], name

    def unchanged(self) -> None:
        for file in self.files:
            file.unchanged()

    def head(self, n_bytes: int) -> bytes:
        return self.files[0].head(n_bytes)

    def _read(self) -> Iterator[bytes]:
        for file in self.files:
            yield from file._read()


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
            # A first line may be a header, whose rows come later.
            if self._until == math.inf and (self._held.count(b"\n") > 1 or self._held.startswith(b"\xff\xff\xff\xff")):
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
        self._pieces, self._rest = filter(None, pipe.pieces()), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._pieces, b"")
        n = min(len(buffer), len(self._rest))
        buffer[:n], self._rest = self._rest[:n], self._rest[n:]
        return n


def _arriving(stream: BinaryIO) -> Iterator[bytes]:
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
    """Return the first lines of a text, at most `HEAD_BYTES` of them or the first two lines."""
    n_bytes = HEAD_BYTES
    while True:
        head = origin.head(n_bytes)
        text = _normal(head, first=True)
        if head.startswith(_UTF_16):
            raise InputError(f"{origin.name}: UTF-16 text; save the file as UTF-8")
        end = whole(text)
        if end and len(head) >= n_bytes and (text.index(b"\n") < end - 1 or n_bytes >= 64 * HEAD_BYTES):
            return text[:end]
        if len(head) < n_bytes:  # all there is, or all that has arrived
            return text[:end] if end and not origin.again else _ended(text)
        if n_bytes >= 64 * HEAD_BYTES:
            raise InputError(f"{origin.name}: no line ends in its first {n_bytes >> 20} MB; this is not text in rows")
        n_bytes *= 4


def line_blocks(
    origin: Origin, whole: Callable[[bytes], int] = last_line_end, n_columns: int = 0
) -> Iterator[Lines | None]:
    """Yield a text in blocks of about `BLOCK_BYTES`, each of whole rows, so that it can be parsed on its own.

    Blocks of many columns are larger, because each column of a block takes time of its own. None means that nothing
    has arrived for a while; then, blocks are as short as what has arrived. ``whole`` returns the position after the
    last row that is complete, 0 if there is none.
    """
    held: list[bytes] = []
    needed = block_bytes = max(BLOCK_BYTES, _COLUMN_BYTES * n_columns)
    n_bytes, number, started = 0, 1, False
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
        elif n_bytes >= 32 * block_bytes:
            told = f"a row of more than {n_bytes >> 20} MB; is a quotation mark not closed?"
            raise InputError(f"{origin.name}:{number}: {told}")
        held = [text[end:]]
        n_bytes = len(held[0])
        needed = max(block_bytes, 2 * n_bytes)
    text = _normal(b"".join(held), first=not started)
    if text or not started:
        yield Lines(_ended(text), number)


def _normal(text: bytes, first: bool) -> bytes:
    """Return text without a byte order mark at the beginning, with ``\\n`` for ``\\r\\n``."""
    text = text.removeprefix(_BYTE_ORDER_MARK) if first else text
    return text.replace(b"\r\n", b"\n") if b"\r" in text else text


def _ended(text: bytes) -> bytes:
    return text if text.endswith(b"\n") else text + b"\n"


def count_lines(content: bytes) -> int:
    """Return the number of lines; the last one need not end in ``\\n``."""
    return content.count(b"\n") + (not content.endswith(b"\n"))


def number_fault(token: str) -> str | None:
    """Say why a token is not a finite decimal number, or return None if it is one."""
    if _NUMBER.fullmatch(token):
        return None if math.isfinite(float(token)) else f"{clipped(token)} is too large for a float64"
    if _NOT_FINITE.fullmatch(token):
        return f"{token} is not a finite number"
    return f"{shown(token)} is not a number"


def is_text(token: str) -> bool:
    """Return True if a token is not a number, not even an infinite one."""
    return not (_NUMBER.fullmatch(token) or _NOT_FINITE.fullmatch(token))


def shown(token: str) -> str:
    """Return a token quoted for a message, shortened if it is long."""
    return repr(clipped(token))
