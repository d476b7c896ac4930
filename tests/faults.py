"""Errors that tests expect."""

import pytest

from budgetrun.base.errors import InputError


def message(call, *args, kind=InputError, **kwargs):
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    return str(caught.value)


def raises(kind, match, call, /, *args, **kwargs):
    """Check that a call ends with this error, and that the pattern is found in its message."""
    with pytest.raises(kind, match=match):
        call(*args, **kwargs)
