"""Reading ahead: a thread computes the next items while the caller works on the one that it has."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from contextvars import copy_context
from queue import Full, Queue
from typing import Any, TypeVar

T = TypeVar("T")
_POLL_SECONDS = 0.1


def ahead(items: Generator[T | None], depth: int = 2) -> Iterator[T]:
    """Yield the items of a generator except None, computed by a thread up to ``depth`` items ahead.

    An error of the generator is raised here, in its place. If the caller stops early, the thread ends at the next item;
    a generator that may wait for long yields None meanwhile.
    """
    results: Queue[tuple[Any, BaseException | None]] = Queue(depth)
    stopped = threading.Event()

    def put(item: Any, error: BaseException | None = None) -> bool:
        while not stopped.is_set():
            try:
                results.put((item, error), timeout=_POLL_SECONDS)
            except Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for item in items:
                if stopped.is_set() or (item is not None and not put(item)):
                    return
            put(None)
        except BaseException as error:
            put(None, error)
        finally:
            items.close()

    # With the caller's limit of memory, which is a context variable.
    thread = threading.Thread(target=copy_context().run, args=(work,), daemon=True)
    thread.start()
    try:
        while True:
            item, error = results.get()
            if error is not None:
                raise error
            if item is None:
                return
            yield item
    finally:
        stopped.set()
        thread.join()
