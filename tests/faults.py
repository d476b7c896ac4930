"""The message of an expected error."""

import pytest

from budgetrun.base.errors import InputError


def message(call, *args, kind=InputError, **kwargs):
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    return str(caught.value)
