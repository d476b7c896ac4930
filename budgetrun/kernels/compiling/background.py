"""Compiling in the background: code is interpreted until a helper process has compiled it.

Which code the helper compiles is told by names within this package and kinds of arguments (`objects`), which name no
other code. It fills numba's cache on disk, where a mark per function and kinds tells all processes what it holds.
"""

import atexit
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from budgetrun.base.files import PACKAGE, source_digest
from budgetrun.kernels.compiling.objects import Shape, is_own, named, to_json

COMPILER = "numba"
# 0 runs everything in numpy, with the same results; 1 compiles code before it is run, without a helper.
ENVIRONMENT = "BUDGETRUN_COMPILED"
# The title of a function, and the kinds of its arguments.
Key = tuple[Any, ...]
# What this process has loaded; None if that failed, and the function stays interpreted.
compiled: dict[Key, Callable[..., Any] | None] = {}
_wanted: dict[Key, None] = {}
_asked: set[Key] = set()
# Seconds that interpreted code must take before it is compiled: loading what is compiled takes as long.
_PAYS = 1.0
# The helper waits so many, in which blocks show what they call, because it begins with what is compiled soonest.
_SHOWN = 0.1
_MONTH = 30 * 86_400
# Seconds between two looks at the cache, and between two looks of the helper for its parent.
OFTEN = 0.1
_spent = _next = _counted = 0.0
_lock = threading.Lock()


@cache
def folder() -> Path:
    """Return where compiled code is kept: a folder for each state of the sources, as numba checks only one file."""
    return _root() / f"{source_digest('engine', 'fleet', 'kernels', 'learners')}-{version(COMPILER)}"


@cache
def _root() -> Path:
    import pooch

    return Path(os.environ.get("NUMBA_CACHE_DIR") or pooch.os_cache("budgetrun") / "compiled").absolute()


@cache
def _mark(key: Key) -> Path:
    """Return the file which says that a function is kept in the cache, and for which processor."""
    source = PACKAGE.joinpath(*key[0].partition(":")[0].split(".")[1:]).with_suffix(".py")
    text = json.dumps([to_json(key), str(source), source.stat().st_mtime_ns, sys.implementation.cache_tag])
    return folder() / "ready" / hashlib.sha256(text.encode()).hexdigest()[:32]


def request(key: Key) -> None:
    """Ask for a function to be compiled; the next `border` sees to it."""
    _wanted[key] = None


def border(seconds: float, to_come: float = 0.0, later: float = 0.0) -> None:
    """Mark a border between blocks, at which code that has been compiled is loaded, and other code is requested.

    Both are done only if they pay: the last block took some seconds, and what is known to follow will take others if it
    is interpreted. Only a request, which costs this process little, counts ``later`` too. The first blocks must have
    shown what code there is.
    """
    global _spent, _next, _counted
    if not _wanted:
        return
    now = time.monotonic()
    # Blocks of a learner that plays others contain theirs.
    _spent, _counted = _spent + min(seconds, now - _counted), now
    soon = _spent + to_come
    if _spent < _SHOWN or soon + later < _PAYS or now < _next or not _lock.acquire(blocking=False):
        return
    try:
        # Where nothing can be written, all is interpreted.
        with suppress(OSError):
            there = [key for key in _wanted if _mark(key).is_file()]
            missing = [key for key in _wanted if key not in there]
            if soon >= _PAYS:
                missing += [key for key in there if not _switch(key)]
            _start_helper([key for key in missing if key not in _asked])
    finally:
        _next = time.monotonic() + OFTEN
        _lock.release()


def _switch(key: Key) -> bool:
    """Load a function from the cache; return False if it is kept there for another processor."""
    from budgetrun.kernels.compiling.structures import processor

    if _mark(key).read_text() != processor():
        return False
    try:
        load(key, named(key[0]))
    except Exception:
        compiled[key] = None
    del _wanted[key]
    return True


def load(key: Key, source: Callable[..., Any]) -> Callable[..., Any]:
    """Load a function from the cache, or compile it."""
    from budgetrun.kernels.compiling import structures

    compiled[key] = made = structures.compiled(source, key[1:], folder())
    if is_own(source) and structures.Files.complete:
        with suppress(OSError):
            if not _mark(key).parent.is_dir():
                _forget_others()
            _mark(key).parent.mkdir(parents=True, exist_ok=True)
            # Also where it is loaded, to show that this folder is in use.
            _mark(key).write_text(structures.processor())
    return made


def _forget_others() -> None:
    """Remove what other states of the sources were compiled to, if nothing there was used for a month."""
    now = time.time()
    for ready in _root().glob("[0-9a-f]" * 16 + "-*/ready"):
        if max((mark.stat().st_mtime for mark in ready.iterdir()), default=now) < now - _MONTH:
            shutil.rmtree(ready.parent, ignore_errors=True)


def _start_helper(keys: list[Key]) -> None:
    """Let another process compile functions, unless there is one already: it holds the lock until it ends."""
    # A program with Python inside would start itself.
    if not keys or not Path(sys.executable or "").name.startswith("python"):
        return
    # First what takes no objects, and so least time.
    keys = sorted(keys, key=lambda key: any(isinstance(kind, Shape) for kind in key))
    _root().mkdir(parents=True, exist_ok=True)
    held = os.open(_root() / "helper.lock", os.O_RDWR | os.O_CREAT, 0o600)
    changed = {ENVIRONMENT: "1", "NUMBA_CACHE_DIR": str(_root()), "PYTHONPATH": str(PACKAGE.parent)}
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with tempfile.TemporaryFile("w+") as requests:
            json.dump(to_json(tuple(keys)), requests)
            requests.seek(0)
            helper = subprocess.Popen(
                [sys.executable, "-P", "-m", f"{__package__}.helper", str(os.getpid())],
                stdin=requests,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | changed,
                pass_fds=[held],
                start_new_session=True,
            )
    finally:
        os.close(held)
    _asked.update(keys)
    atexit.register(_end, helper, os.getpid())


def _end(helper: subprocess.Popen[bytes], parent: int) -> None:
    # A process that was forked has another parent's helper.
    if os.getpid() == parent:
        helper.kill()
        helper.wait()
