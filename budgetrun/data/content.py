"""Files as bytes: decompressed according to their suffix, hashed by content."""

from __future__ import annotations

import bz2
import hashlib
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, BinaryIO

from budgetrun.base.errors import InputError, printable
from budgetrun.data import limits


def _xz() -> lzma.LZMADecompressor:
    # The header says how much memory its dictionary takes.
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=int(min(limits.limit(), 2**63)))


# Decompressors of one stream, which check its checksum at its end.
DECOMPRESS: dict[str, Callable[[], Any]] = {
    ".gz": partial(zlib.decompressobj, wbits=16 + zlib.MAX_WBITS),
    ".bz2": bz2.BZ2Decompressor,
    ".xz": _xz,
}
# Between and after streams, zero bytes may follow in multiples of this; formats that are not here allow none.
_PADDING = {".gz": 1, ".xz": 4}
_BROKEN = (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error)
_READ_BYTES = 1 << 16
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class Stamp:
    """The state of a file at one time; a cache with this key notices when the file changes.

    The name, whose suffix says how to read the file, is part of it; the folder is not, so that a path from the current
    folder and an absolute one are the same.
    """

    path: Path = field(compare=False)
    name: str
    size: int
    mtime_ns: int
    ctime_ns: int
    device: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> Stamp:
        """Return the stamp of an existing file."""
        try:
            return cls._of(path, path.stat())
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from error

    @classmethod
    def _of(cls, path: Path, state: os.stat_result) -> Stamp:
        return cls(path, path.name, state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_dev, state.st_ino)


def bare_name(name: str) -> str:
    """Return a file name without its compression suffix: ``a9a.t.xz`` -> ``a9a.t``."""
    return name.removesuffix(compression(name))


def compression(name: str) -> str:
    """Return the compression suffix of a file name: ``.gz``, ``.bz2``, ``.xz``, or empty for a plain file."""
    suffix = Path(name).suffix
    return suffix if suffix in DECOMPRESS else ""


def read_content(path: Path) -> bytes:
    """Return a whole file, decompressed if its name ends in .gz, .bz2 or .xz.

    Raises
    ------
    InputError
        The file cannot be read, is not a regular file, is truncated or corrupt, is empty, is larger than the limit of
        `budgetrun.data.limits`, or changes meanwhile.
    """
    content = io.BytesIO()
    for piece in pieces(path):
        limits.check(content.tell() + len(piece), shown(path), "its content")
        content.write(piece)
    if not content.tell():
        raise InputError(f"{shown(path)}: the file is empty")
    return content.getvalue()


def pieces(path: Path) -> Iterator[bytes]:
    """Yield the content of a file, decompressed as by `read_content`, about a megabyte at a time."""
    suffix = compression(path.name)
    with _opened(path) as file:
        before = Stamp._of(path, os.fstat(file.fileno()))
        yield from _decompressed(file, path, suffix) if suffix else _stored(file, path)
        if Stamp._of(path, os.fstat(file.fileno())) != before:
            raise InputError(f"{shown(path)}: the file changed while it was read; wait until it is complete")


def content_sha256(stamp: Stamp) -> str:
    """Return the sha256 of a file's decompressed content, in hexadecimal; remembered while the file is unchanged."""
    return _hashed(stamp)[0]


def content_size(stamp: Stamp) -> int:
    """Return the size of a file's decompressed content, in bytes; remembered as its sha256 is."""
    return _hashed(stamp)[1]


@lru_cache(maxsize=256)
def _hashed(stamp: Stamp) -> tuple[str, int]:
    content = read_content(stamp.path)
    return hashlib.sha256(content).hexdigest(), len(content)


def shown(path: Path) -> str:
    """Return a path for a message, on one line whatever its name."""
    return printable(str(path)).replace("\n", "\\n")


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return InputError(f"{shown(path)}: cannot be read: {reason}")


def _opened(path: Path) -> BinaryIO:
    """Open a regular file; a pipe or a device, which could block for ever, is refused."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{shown(path)}: not a regular file; copy the data into a file first")
    return open(descriptor, "rb")


def _stored(file: BinaryIO, path: Path) -> Iterator[bytes]:
    try:
        while piece := file.read(_PIECE_BYTES):
            yield piece
    except OSError as error:
        raise _unreadable(path, error) from error


def _decompressed(file: BinaryIO, path: Path, suffix: str) -> Iterator[bytes]:
    """Yield the content of all streams of a compressed file, which must reach to its last byte."""
    n_streams, padding = 0, 0
    decoder: Any = None
    try:
        rest, at_end = b"", False
        while not at_end or decoder is not None:
            if not rest and (decoder is None or getattr(decoder, "needs_input", True)):
                rest = file.read(_READ_BYTES)
                at_end = not rest
            if decoder is None:
                if n_streams:
                    found = rest.lstrip(b"\0") if suffix in _PADDING else rest
                    padding += len(rest) - len(found)
                    rest = found
                if not rest:
                    continue
                if padding % _PADDING.get(suffix, 1):
                    break
                decoder, padding = DECOMPRESS[suffix](), 0
            elif at_end and getattr(decoder, "needs_input", True):
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            piece = decoder.decompress(rest, _PIECE_BYTES)
            rest = getattr(decoder, "unconsumed_tail", b"")
            if decoder.eof:
                rest, decoder = decoder.unused_data, None
                n_streams += 1
            yield piece
        if padding % _PADDING.get(suffix, 1):
            raise ValueError(f"{padding} zero bytes follow a stream, where only multiples of 4 may")
    except _BROKEN as error:
        after = f", after {n_streams} whole streams" if n_streams else ""
        raise InputError(
            f"{shown(path)}: truncated or corrupt {suffix} file ({error}{after}); replace it with a whole copy"
        ) from error
