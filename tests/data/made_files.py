"""Small data files in memory, and the card of one."""

import bz2
import gzip
import hashlib
import io
import lzma
import struct
import zipfile

import numpy as np
import scipy.sparse as sp
from pyarrow import ipc

from budgetrun.data import card

COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
CONTENT = b"1 1:2\n-1 1:3\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def idx(array):
    return struct.pack(f">BBBB{array.ndim}i", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def saved(save, *what, **named):
    """Return what a function writes to a file."""
    sink = io.BytesIO()
    save(sink, *what, **named)
    return sink.getvalue()


def npz(**arrays):
    return saved(np.savez, **arrays)


def members_of(archive):
    """Return the contents of a zip archive by name."""
    with zipfile.ZipFile(archive) as file:
        return {name: file.read(name) for name in file.namelist()}


def zip_of(members, compression=zipfile.ZIP_STORED):
    """Return a zip archive of contents by name."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return sink.getvalue()


def arrow_stream(table, **options):
    """Return a table as an Arrow stream, which can be read once."""

    def write(sink):
        with ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, **options)

    return saved(write)


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
    """Return the rows and labels of a table; check that its chunks are of this size, and sparse or contiguous."""
    chunks = list(table.chunks(n_rows))
    before = np.cumsum([0, *(chunk.X.shape[0] for chunk in chunks)])[:-1].tolist()
    assert [chunk.first_row for chunk in chunks] == before or table.skipped
    for chunk in chunks:
        assert chunk.X.shape[0] <= n_rows
        assert sp.issparse(chunk.X) or (chunk.X.flags.c_contiguous and chunk.X.dtype == np.float64)
    dense = [chunk.X.toarray() if sp.issparse(chunk.X) else chunk.X for chunk in chunks]
    return np.vstack(dense).tolist(), np.concatenate([chunk.y for chunk in chunks]).tolist()
