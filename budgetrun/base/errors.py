"""Errors that the user can resolve, as distinct from bugs, and helpers for messages."""

import re
import sys
from collections.abc import Sequence
from typing import Any

# All control characters except tabs and line ends, marks that reverse the direction of text, and half surrogate pairs.
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def printable(text: str) -> str:
    """Return a text with each control character written as an escape, e.g. ``\\x1b``; tabs and line ends stay."""
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """Return a text as `printable` does, with all line ends and tabs as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def clipped(token: str, most: int = 40) -> str:
    """Return a token for a message, shortened if it is longer than ``most``."""
    return token if len(token) <= most else token[: most - 3] + "..."


def capitalised(text: str) -> str:
    """Return a text for the start of a sentence."""
    return text[0].upper() + text[1:]


def listed(labels: Sequence[Any]) -> str:
    """Return labels for a message, at most 20 of them."""
    shown = " ".join(clipped(one_line(str(label)), 20) for label in labels[:20])
    return shown + (" ..." if len(labels) > 20 else "")


def all_printable(value: Any) -> Any:
    """Return a value of JSON with all its texts `printable`."""
    if isinstance(value, dict):
        return {printable(key): all_printable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [all_printable(item) for item in value]
    return printable(value) if isinstance(value, str) else value


def say(text: object) -> None:
    """Print a line to standard error, above a progress bar if there is one; control characters become their escapes."""
    shown = printable(str(text))
    if tqdm := sys.modules.get("tqdm"):
        tqdm.tqdm.write(shown, file=sys.stderr)
    else:
        print(shown, file=sys.stderr)
    sys.stderr.flush()


def counted(n: int, noun: str) -> str:
    """Return a number with its noun: ``1 run``, ``1,234 runs``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


class InputError(Exception):
    """Input that cannot be used: one sentence with where, what, what is allowed. Exit code 2 as a rule.

    There are several lines where several things are wrong at once. Control characters are escaped.
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class DataMissingError(InputError):
    """A dataset's file is missing and cannot be downloaded; the message says what goes where. Exit code 1."""


class OutOfRangeError(InputError, FloatingPointError, ValueError):
    """Numbers leave the range of floating point, because data or parameters are too extreme: a run fails with this."""


class TooLargeError(InputError, ValueError):
    """A learner needs more memory than the limit allows."""


class CannotWriteError(InputError, OSError):
    """A file or folder cannot be written: the disk is full, permission or the folder is missing. Exit code 2.

    ``reason`` is the system's message, such as "No space left on device".
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class AlteredError(InputError):
    """The table of a results folder differs from what the sweep wrote: cut off, edited, or from elsewhere."""


def out_of_range(error: Exception, where: str) -> OutOfRangeError:
    """Return the sentence for an error of arithmetic; ``where`` says whose, and in which round."""
    if type(error) is FloatingPointError and " encountered in " not in str(error):
        # The engine's own sentences say what to do.
        return OutOfRangeError(f"{where}: {error}")
    advice = "scale the examples, or choose less extreme parameters"
    return OutOfRangeError(f"{where}: numbers are out of range ({error}); {advice}")


def is_arithmetic(error: Exception) -> bool:
    """Return True if an error comes from numbers that are too large, too small or not numbers."""
    if isinstance(error, InputError):
        return False
    # By name, because importing numpy takes long.
    return (
        isinstance(error, ArithmeticError)
        or type(error).__name__ == "LinAlgError"
        or str(error).startswith(("math domain error", "cannot convert float", "-inf + inf in fsum"))
    )
