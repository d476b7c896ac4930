"""Files as bytes: decompressed according to their suffix, hashed by content."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import zlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from budgetrun.errors import InputError

DECOMPRESS = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}
_BROKEN = (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error)


class Stamp(NamedTuple):
    """The state of a file at one time; a cache with this key notices when the file changes."""

    path: Path
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path) -> Stamp:
        """Return the stamp of an existing file."""
        state = path.stat()
        return cls(path, state.st_size, state.st_mtime_ns)


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
        The file cannot be read, is truncated or corrupt, or is empty.
    """
    try:
        stored = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    suffix = compression(path.name)
    try:
        content = DECOMPRESS[suffix](stored) if suffix and stored else stored
    except _BROKEN as error:
        raise InputError(
            f"{path}: truncated or corrupt {suffix} file ({error}); replace it with a whole copy"
        ) from error
    if not content:
        raise InputError(f"{path}: the file is empty")
    return content


@lru_cache(maxsize=256)
def content_sha256(stamp: Stamp) -> str:
    """Return the sha256 of a file's decompressed content, in hexadecimal; remembered while the file is unchanged."""
    return hashlib.sha256(read_content(stamp.path)).hexdigest()
