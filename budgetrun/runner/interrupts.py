"""Ctrl-C, SIGTERM and SIGHUP: each raises KeyboardInterrupt, at a safe moment."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# A second signal within this many seconds is ignored, because it would disturb the handling of the first.
_SAME_SECONDS = 2.0

_raised = -_SAME_SECONDS


def raised() -> bool:
    """Return whether a KeyboardInterrupt was raised just now."""
    return time.monotonic() - _raised <= _SAME_SECONDS


@contextmanager
def on_signals(handler: Callable[[int, FrameType | None], Any] | signal.Handlers) -> Iterator[None]:
    """Handle `SIGNALS` with ``handler`` within the block; those that are ignored, as by ``nohup``, stay so."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    heeded = {number: old for number, old in before.items() if old not in (signal.SIG_IGN, None)}
    for number in heeded:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in heeded.items():
            signal.signal(number, old)


@contextmanager
def deferred() -> Iterator[None]:
    """Defer an interrupt to the end of the block, which is short and must not be interrupted."""
    received: list[int] = []
    with on_signals(lambda number, _: received.append(number)):
        yield
    if received:
        signal.raise_signal(received[0])


def caused(error: BaseException | None) -> bool:
    """Return whether an error stems from a KeyboardInterrupt, which Python may wrap while it creates a class."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def resend(lost: sys.UnraisableHookArgs) -> None:
    """Send a signal again if its KeyboardInterrupt was lost in a finalizer; a hook of `sys`."""
    global _raised
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)
        return
    _raised = -_SAME_SECONDS
    threading.Timer(0.01, os.kill, [os.getpid(), signal.SIGTERM]).start()


def _raise(number: int, frame: FrameType | None) -> None:
    global _raised
    if not raised():
        _raised = time.monotonic()
        raise KeyboardInterrupt


def _forked() -> None:
    # Python handles no signal in a worker that is about to wait for a lock, and would let it wait for ever.
    for number in SIGNALS:
        if signal.getsignal(number) is _raise:
            signal.signal(number, signal.SIG_DFL)


os.register_at_fork(after_in_child=_forked)
# Contexts in which signals raise KeyboardInterrupt, or have no effect while things are put in order after one.
raising, ignored = partial(on_signals, _raise), partial(on_signals, signal.SIG_IGN)
