"""Small data files in memory, and the card of one."""

import bz2
import gzip
import hashlib
import io
import lzma
import struct

import numpy as np

from budgetrun.data import card

COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
CONTENT = b"1 1:2\n-1 1:3\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def idx(array):
    return struct.pack(f">BBBB{array.ndim}i", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def small_card(made, urls=(), file="f/small.gz"):
    made.write(
        {
            "name": "small", "title": "small", "description": "made", "source": "made", "licence": "none",
            "homepage": "none", "format": "libsvm", "n_features": 3, "default_parts": ["all"],
            "files": {"all": [{"file": file, "urls": list(urls), "sha256": SHA256, "sha256_stored": SHA256}]},
            "n_examples": {"all": 2}, "labels": {"all": {-1: 1, 1: 1}},
        }
    )  # fmt: skip
    return card("small")


def read(table, n_rows=4096):
    """Return the rows and labels of a table."""
    chunks = list(table.chunks(n_rows))
    return np.vstack([chunk.X for chunk in chunks]).tolist(), np.concatenate([chunk.y for chunk in chunks]).tolist()
