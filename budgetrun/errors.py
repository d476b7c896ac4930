"""Errors that are the user's to mend, told apart from errors that are ours."""

from __future__ import annotations


class InputError(Exception):
    """What the user gave cannot be used: one sentence with where, what, what is allowed. Exit code 2 as a rule.

    Parameters
    ----------
    message : str
        The sentence; several lines where several things are wrong at once.
    """


class DataMissingError(InputError):
    """A dataset's file is neither on this machine nor to be fetched; the message says what goes where. Exit code 1."""


class CannotWriteError(InputError, OSError):
    """A file or folder cannot be written: no room, no permission, a folder that is gone. Exit code 2.

    Parameters
    ----------
    message : str
        The sentence.
    reason : str
        The system's words for it, such as "No space left on device".
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason
