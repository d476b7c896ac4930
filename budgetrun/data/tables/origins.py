"""Where the bytes of a table come from: a file, a pipe such as standard input, or memory; hashed on the way."""

from __future__ import annotations

import hashlib
import io
import math
import os
import select
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from budgetrun.base.errors import InputError
from budgetrun.data.content import bare_name, pieces, read_content, shown

# How long a pipe without new bytes is waited for at a time, and how long its first rows may take to arrive.
TICK_SECONDS = 0.1
HEAD_SECONDS = 2.0
_PIECE_BYTES = 1 << 20


class Origin:
    """Bytes with a name for messages.

    Attributes
    ----------
    name : str
    again : bool
        Whether the bytes can be read more than once.
    sha256 : str or None
        Of all bytes, decompressed, in hexadecimal; known once they have been read to the end.
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

    def head(self, n_bytes: int) -> bytes:
        return self.content[:n_bytes]

    def file(self) -> Any:
        return io.BytesIO(self.content)

    def _read(self) -> Iterator[bytes]:
        for start in range(0, len(self.content), _PIECE_BYTES):
            yield self.content[start : start + _PIECE_BYTES]


class File(Origin):
    """A regular file, which may be compressed (.gz, .bz2, .xz)."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, shown(path)

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
        return io.BufferedReader(_Sequential(self), _PIECE_BYTES)

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
        yield from iter(lambda: stream.read(_PIECE_BYTES), b"")
        return
    while True:
        if not select.select([descriptor], [], [], TICK_SECONDS)[0]:
            yield b""
        elif piece := os.read(descriptor, _PIECE_BYTES):
            yield piece
        else:
            return
