"""Files as bytes, through every compression."""

import random

import pytest
from faults import message
from made_files import COMPRESS

from budgetrun.data.content import read_content


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_a_broken_compressed_file_is_one_clear_error(tmp_path, suffix):
    stored = COMPRESS[suffix](random.Random(0).randbytes(2000))
    path = tmp_path / f"s.csv{suffix}"
    for damaged in (stored[: len(stored) // 2], stored[:500] + bytes(200) + stored[700:], b"1,2\n" * 9):
        path.write_bytes(damaged)
        told = message(read_content, path)
        assert told.startswith(f"{path}: truncated or corrupt {suffix} file (")
        assert told.endswith("; replace it with a whole copy")


@pytest.mark.parametrize("suffix", COMPRESS)
def test_an_empty_file_says_so(tmp_path, suffix):
    path = tmp_path / f"s.csv{suffix}"
    path.write_bytes(COMPRESS[suffix](b""))
    assert message(read_content, path) == f"{path}: the file is empty"
