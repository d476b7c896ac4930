"""Sizes in sentences about memory."""

import pytest
from faults import message

from budgetrun.base import limits


@pytest.mark.parametrize(("n_bytes", "shown"), [
    (500, "0.5 KB"), (999_900, "999.9 KB"), (1e6, "1.0 MB"), (1e9, "1.0 GB"), (1.2e12, "1.2 TB"),
])  # fmt: skip
def test_a_size_has_the_largest_unit_that_it_fills(n_bytes, shown):
    with limits.memory(1):
        told = message(limits.check, n_bytes, "here", "it")
    assert told.startswith(f"here: it would need {shown} of memory, and the limit is ")
