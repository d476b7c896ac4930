"""IDX files."""

import numpy as np
import pytest
from faults import message
from made_files import idx

from budgetrun.data.formats.idx import parse_idx


def test_idx_reads_images_and_labels():
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    assert (parse_idx(idx(images), "f") == images).all()
    assert parse_idx(idx(images[0, 0]), "f").shape == (4,)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"P5 3 4", "not an IDX file (it must start with two zero bytes, a type and a dimension)"),
        (b"\0\0", "not an IDX file (it must start with two zero bytes, a type and a dimension)"),
        (b"\0\0\x0d\1\0\0\0\1....", "IDX type 0x0d; only unsigned bytes (0x08) are read"),
        (b"\0\0\x08\3\0\0\0\1", "truncated IDX file: 8 bytes, the header alone has 16"),
        (idx(np.ones((3, 4), np.uint8))[:-1], "truncated IDX file: 23 bytes, shape (3, 4) needs 24"),
        (idx(np.ones((3, 4), np.uint8)) + b"x", "malformed IDX file: 25 bytes, shape (3, 4) needs 24"),
    ],
)
def test_idx_faults(content, fault):
    assert message(parse_idx, content, "f") == f"f: {fault}"
