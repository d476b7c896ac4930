"""Errors that tests expect."""

import errno

import pytest

from budgetrun.base.errors import InputError


def message(call, *args, kind=InputError, **kwargs):
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    return str(caught.value)


def raising(error):
    """Return a function that raises this error, whatever it is called with."""

    def call(*_, **__):
        raise error

    return call


FULL = OSError(errno.ENOSPC, "No space left on device")


def raises(kind, match, call, /, *args, **kwargs):
    """Check that a call ends with this error, and that the pattern is found in its message."""
    with pytest.raises(kind, match=match):
        call(*args, **kwargs)
