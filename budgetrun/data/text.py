"""Helpers of the readers of text formats: fast parsing of numbers, sentences about faulty ones."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)


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
    return (number_fault(token) or "").endswith("is not a number")


def shown(token: str) -> str:
    """Return a token quoted for a message, shortened if it is long."""
    return repr(clipped(token))


def clipped(token: str, most: int = 40) -> str:
    """Return a token for a message, shortened if it is longer than ``most``."""
    return token if len(token) <= most else token[: most - 3] + "..."


def listed(labels: Sequence[Any]) -> str:
    """Return labels for a message, at most 20 of them."""
    shown = " ".join(clipped(str(label), 20) for label in labels[:20])
    return shown + (" ..." if len(labels) > 20 else "")
