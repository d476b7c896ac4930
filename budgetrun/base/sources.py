"""The state of this package's source files, which workers and compiled code depend on."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


@cache
def source_digest(*rooms: str) -> str:
    """Return a hash of the source files of some subpackages, or of all; this process reads them once.

    A sweep and its workers compare the hashes of all files: a worker that starts after one was edited may run different
    code. Editing any module stops the sweep, even one that its runs do not execute.
    """
    found = hashlib.sha256()
    for room in rooms or ("",):
        for path in sorted(_PACKAGE.joinpath(room).rglob("*.py")):
            found.update(f"{path.relative_to(_PACKAGE).as_posix()}\n".encode() + path.read_bytes())
    return found.hexdigest()[:16]
