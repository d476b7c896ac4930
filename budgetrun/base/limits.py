"""The memory that data and learners may use: what would take more is refused before it fills it."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from budgetrun.base.errors import InputError, TooLargeError

ENVIRONMENT = "BUDGETRUN_MEMORY"
DEFAULT = "8G"
ADVICE = f"raise the limit with --memory SIZE (of a sweep) or ${ENVIRONMENT}=SIZE"
# A smaller number lacks its unit.
_LEAST_BYTES = 1e6
_given: ContextVar[float | None] = ContextVar("memory", default=None)


def parse_bytes(text: str) -> float:
    """Return a size such as ``8G`` in bytes: a positive number, with K, M, G or T after it if it is below a million.

    A ValueError says that it is something else.
    """
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)\s*([KMGT]?)i?B?", text, re.IGNORECASE)
    if match is None or float(match[1]) <= 0:
        raise ValueError(f"{text[:40]!r} is not a size; give a number with K, M or G, like 8G")
    if not match[2] and float(match[1]) < _LEAST_BYTES:
        raise ValueError(f"{text!r} has no unit, so it would mean bytes; write {match[1]}G for gigabytes")
    return float(match[1]) * 1000.0 ** " KMGT".index(match[2].upper() or " ")


@contextmanager
def memory(n_bytes: float | None) -> Iterator[None]:
    """Limit the memory of readers and learners in this block to ``n_bytes``; None leaves the limit as it is."""
    token = _given.set(_given.get() if n_bytes is None else n_bytes)
    try:
        yield
    finally:
        _given.reset(token)


def limit(default: float | None = None) -> float:
    """Return the limit in bytes: of the `memory` block, else $BUDGETRUN_MEMORY, else ``default``, else `DEFAULT`."""
    given = _given.get()
    if given is not None:
        return given
    written = os.environ.get(ENVIRONMENT)
    if not written and default is not None:
        return default
    try:
        return parse_bytes(written or DEFAULT)
    except ValueError as error:
        raise InputError(f"${ENVIRONMENT}: {error}") from None


def check(n_bytes: float, where: str, what: str) -> None:
    """Raise an InputError if ``what``, which takes ``n_bytes``, is beyond the limit."""
    if n_bytes > limit():
        raise InputError(
            f"{where}: {what} would need {sized(n_bytes)} of memory, and the limit is {sized(limit())}; if the file "
            f"is as it should be, {ADVICE}"
        )


def check_learner(n_bytes: float, name: str, budget: int) -> None:
    """Raise a TooLargeError if a learner's full budget takes ``n_bytes``, more than the limit or the free memory."""
    if not n_bytes:
        return
    # Importing it takes long.
    import psutil

    most = limit(float(psutil.virtual_memory().available))
    if n_bytes > most:
        raise TooLargeError(
            f"{name}: a budget of {budget:,} would need {sized(n_bytes)} of memory, and the limit is {sized(most)}; "
            f"use a smaller budget or another variant, or {ADVICE}"
        )


def sized(n_bytes: float) -> str:
    """Return a number of bytes in words: ``64.0 KB``."""
    unit, name = next((unit for unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")) if n_bytes >= unit[0]), (1e3, "KB"))
    return f"{n_bytes / unit:,.1f} {name}"
