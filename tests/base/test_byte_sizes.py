"""Sizes in sentences about memory."""

import pytest
from faults import message, raises

from budgetrun.base import limits


@pytest.mark.parametrize(("n_bytes", "shown"), [
    (500, "0.5 KB"), (999_900, "999.9 KB"), (1e6, "1.0 MB"), (1e9, "1.0 GB"), (1.2e12, "1.2 TB"),
])  # fmt: skip
def test_a_size_has_the_largest_unit_that_it_fills(n_bytes, shown):
    with limits.memory(1):
        told = message(limits.check, n_bytes, "here", "it")
    assert told.startswith(f"here: it would need {shown} of memory, and the limit is ")


def test_what_is_not_a_size():
    for text in ("lots", "0", "-1G", "1e9", "3 X"):
        raises(ValueError, f"^'{text}' is not a size; give a number with K, M or G, like 8G$", limits.parse_bytes, text)
    assert [limits.parse_bytes(text) for text in ("1.5k", "2 MB", "8GiB", "1T")] == [1.5e3, 2e6, 8e9, 1e12]


def test_the_innermost_limit_counts_and_ends_with_its_block(monkeypatch):
    monkeypatch.delenv(limits.ENVIRONMENT, raising=False)
    assert (limits.limit(), limits.limit(5.0)) == (limits.parse_bytes(limits.DEFAULT), 5.0)
    monkeypatch.setenv(limits.ENVIRONMENT, "3G")
    with limits.memory(1e6):
        with limits.memory(None):
            assert limits.limit(5.0) == 1e6
        assert limits.limit() == 1e6
    assert limits.limit() == limits.limit(5.0) == 3e9
    monkeypatch.setenv(limits.ENVIRONMENT, "much")
    assert message(limits.limit) == "$BUDGETRUN_MEMORY: 'much' is not a size; give a number with K, M or G, like 8G"
