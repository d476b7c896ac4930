"""Files as bytes, through every compression."""

import random

import pytest
from faults import message
from made_files import COMPRESS

from budgetrun.data.content import read_content


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("damage", ["truncated", "corrupt", "not compressed"])
def test_a_broken_compressed_file_is_one_clear_error(tmp_path, suffix, damage):
    stored = COMPRESS[suffix](bytes(random.Random(0).randbytes(2000)))
    path = tmp_path / f"s.csv{suffix}"
    path.write_bytes(
        {
            "truncated": stored[: len(stored) // 2],
            "corrupt": stored[:500] + bytes(200) + stored[700:],
            "not compressed": b"1,2\n" * 9,
        }[damage]
    )
    told = message(read_content, path)
    assert told.startswith(f"{path}: truncated or corrupt {suffix} file (")
    assert told.endswith("; replace it with a whole copy")


@pytest.mark.parametrize("suffix", COMPRESS)
def test_an_empty_file_says_so(tmp_path, suffix):
    path = tmp_path / f"s.csv{suffix}"
    path.write_bytes(COMPRESS[suffix](b""))
    assert message(read_content, path) == f"{path}: the file is empty"
