"""Errors that are the user's to mend, told apart from errors that are ours."""

from __future__ import annotations

import unicodedata


class InputError(Exception):
    """What the user gave cannot be used: one sentence with where, what, what is allowed. Exit code 2 as a rule.

    Parameters
    ----------
    message : str
        The sentence; several lines where several things are wrong at once. Other control characters, which may come
        from a file or a file's name, are escaped.
    """

    def __init__(self, message: str) -> None:
        super().__init__("\n".join(map(printable, message.split("\n"))))


class DataMissingError(InputError):
    """A dataset's file is neither on this machine nor to be fetched; the message says what goes where. Exit code 1."""


def printable(text: str) -> str:
    """Return a text with control characters, line ends and lone surrogates escaped, such as ``\\x1b``."""
    unsafe = {sign for sign in text if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp")}
    return text.translate({ord(sign): ascii(sign)[1:-1] for sign in unsafe}) if unsafe else text
