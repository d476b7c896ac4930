"""IDX, the format of the MNIST files: a big-endian header, then unsigned bytes."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.errors import InputError
from budgetrun.data.formats import Content, Examples, Layout, joined

REVISION = 1
SUFFIXES = ()

_UNSIGNED_BYTE = 0x08
_MOST_DIMENSIONS = 4


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read pairs of files: images, then their labels."""
    if len(files) % 2:
        raise InputError(f"{files[-1].where}: images without a file of labels; IDX files are read in pairs")
    parts = []
    for of_images, of_labels in zip(files[0::2], files[1::2], strict=True):
        images, labels = parse_idx(*of_images), parse_idx(*of_labels)
        if not images.size or labels.shape != images.shape[:1]:
            raise InputError(
                f"{of_labels.where}: labels of shape {labels.shape} for images of shape {images.shape}; one label per "
                "image is needed, and at least one image"
            )
        parts.append((images.reshape(len(images), -1), labels))
    return joined(parts, files[0].where)


def parse_idx(content: bytes, where: str) -> NDArray[np.uint8]:
    """Return the array of an IDX file of unsigned bytes, which has as many bytes as its header announces."""
    if len(content) < 4 or content[:2] != b"\0\0" or content[3] == 0:
        raise InputError(f"{where}: not an IDX file (it must start with two zero bytes, a type and a dimension)")
    if content[2] != _UNSIGNED_BYTE:
        raise InputError(f"{where}: IDX type 0x{content[2]:02x}; only unsigned bytes (0x08) are read")
    n_dimensions = content[3]
    if n_dimensions > _MOST_DIMENSIONS:
        raise InputError(f"{where}: IDX file of {n_dimensions} dimensions; at most {_MOST_DIMENSIONS} are read")
    header = 4 + 4 * n_dimensions
    if len(content) < header:
        raise InputError(f"{where}: truncated IDX file: {len(content)} bytes, the header alone has {header}")
    shape = tuple(int(n) for n in np.frombuffer(content, dtype=">i4", count=n_dimensions, offset=4))
    expected = header + math.prod(shape)
    if len(content) != expected or min(shape) < 0:
        state = "truncated" if len(content) < expected else "malformed"
        raise InputError(f"{where}: {state} IDX file: {len(content)} bytes, shape {shape} needs {expected}")
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)
