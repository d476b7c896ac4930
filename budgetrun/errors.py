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
