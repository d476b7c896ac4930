"""IDX, the format of the MNIST files: a big-endian header, then unsigned bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from budgetrun.data.formats import Content, Examples, Layout, joined
from budgetrun.errors import InputError

REVISION = 1
SUFFIXES = ()

_UNSIGNED_BYTE = 0x08


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read pairs of files: images, then their labels."""
    arrays = [parse_idx(*file) for file in files]
    pairs = zip(arrays[0::2], arrays[1::2], strict=True)
    return joined([(images.reshape(len(images), -1), labels) for images, labels in pairs])


def parse_idx(content: bytes, where: str) -> NDArray[np.uint8]:
    """Parse an IDX file of unsigned bytes.

    Returns
    -------
    ndarray of uint8, with the shape given in the header

    Raises
    ------
    InputError
        Not IDX, another type than unsigned byte, or more or fewer bytes than the header announces.
    """
    if len(content) < 4 or content[:2] != b"\0\0" or content[3] == 0:
        raise InputError(f"{where}: not an IDX file (it must start with two zero bytes, a type and a dimension)")
    if content[2] != _UNSIGNED_BYTE:
        raise InputError(f"{where}: IDX type 0x{content[2]:02x}; only unsigned bytes (0x08) are read")
    n_dimensions = content[3]
    header = 4 + 4 * n_dimensions
    if len(content) < header:
        raise InputError(f"{where}: truncated IDX file: {len(content)} bytes, the header alone has {header}")
    shape = tuple(int(n) for n in np.frombuffer(content, dtype=">i4", count=n_dimensions, offset=4))
    expected = header + math.prod(shape)
    if len(content) != expected or min(shape) < 0:
        state = "truncated" if len(content) < expected else "malformed"
        raise InputError(f"{where}: {state} IDX file: {len(content)} bytes, shape {shape} needs {expected}")
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)
