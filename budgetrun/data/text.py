"""What the readers of text formats share: uniform line ends, fast parsing of numbers, sentences about faulty ones."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from budgetrun.data import limits

NUMERIC_BYTES = b"0123456789+-.eE"
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_BLOCK_BYTES = 1 << 22
# The most bytes that a reader needs for each byte of a block.
_BYTES_PER_BYTE = 24
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)


def blocks(content: bytes, where: str) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines of a text, a few megabytes at a time, and the number from 1 of the first of them.

    The text has no byte order mark, and every line ends in ``\\n``, the last one too.
    """
    start, number = 3 * content.startswith(b"\xef\xbb\xbf"), 1
    while True:
        end = content.find(b"\n", start + _BLOCK_BYTES) + 1 or len(content)
        if end - start > 2 * _BLOCK_BYTES:
            limits.check(_BYTES_PER_BYTE * (end - start), where, f"text without a line end in {end - start:,} bytes")
        block = content[start:end].replace(b"\r\n", b"\n")
        block += b"" if block.endswith(b"\n") else b"\n"
        yield number, block
        number += block.count(b"\n")
        start = end
        if start >= len(content):
            return


def count_lines(content: bytes) -> int:
    """Return the number of lines; the last one need not end in ``\\n``."""
    return content.count(b"\n") + (not content.endswith(b"\n"))


def parse_numbers(content: bytes, n_numbers: int) -> NDArray[np.float64] | None:
    """Parse blank-separated numbers, correctly rounded.

    Returns
    -------
    ndarray, shape (n_numbers,), float64, or None
        None if the text does not hold exactly ``n_numbers`` finite numbers.
    """
    with warnings.catch_warnings():
        # For text that is not a number, newer numpy raises a ValueError, older numpy gives a DeprecationWarning.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            numbers = np.fromstring(content, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    return numbers if len(numbers) == n_numbers and np.isfinite(numbers).all() else None


def number_fault(token: str) -> str | None:
    """Say why a token is not a finite decimal number, or return None if it is one."""
    if _NUMBER.fullmatch(token):
        return None if math.isfinite(float(token)) else f"{clipped(token)} is too large for a float64"
    if _NOT_FINITE.fullmatch(token):
        return f"{token} is not a finite number"
    return f"{shown(token)} is not a number"


def shown(token: str) -> str:
    """Return a token quoted for a message, shortened if it is long."""
    return repr(clipped(token))


def clipped(token: str, most: int = 40) -> str:
    """Return a token for a message, shortened if it is longer than ``most``."""
    return token if len(token) <= most else token[: most - 3] + "..."
