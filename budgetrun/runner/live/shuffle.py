"""A stream larger than memory in random order: its rows first go to temporary files, each for a range of rounds."""

import pickle
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np

from budgetrun.kernels.kinds import Matrix

# The bytes of one temporary file.
_BUCKET = 32e6
_MOST_BUCKETS = 400


def shuffled(
    chunks: Iterable[tuple[Matrix, np.ndarray]], permutation: np.ndarray
) -> Iterator[tuple[Matrix, np.ndarray]]:
    """Yield the rows (X, codes) of a stream in the order of a permutation: row ``permutation[t]`` in round t.

    Temporary files hold all rows; memory holds the permutation and one file.
    """
    place = np.empty_like(permutation)
    place[permutation] = np.arange(len(permutation))
    with tempfile.TemporaryDirectory(prefix="budgetrun-") as folder, ExitStack() as stack:
        files: list[BinaryIO] = []
        size, done = 0, 0
        for X, codes in chunks:
            if not files:
                n_bytes = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
                row_bytes = max(1, int(n_bytes) // X.shape[0])
                n_buckets = min(_MOST_BUCKETS, int(row_bytes * len(permutation) // _BUCKET) + 1)
                size = -(-len(permutation) // n_buckets)
                paths = [Path(folder) / str(i) for i in range(-(-len(permutation) // size))]
                files = [stack.enter_context(path.open("w+b")) for path in paths]
            places = place[done : done + X.shape[0]]
            done += X.shape[0]
            of_bucket = places // size
            order = np.argsort(of_bucket, kind="stable")
            for rows in np.split(order, np.flatnonzero(np.diff(of_bucket[order])) + 1):
                pickle.dump((X[rows], codes[rows], places[rows]), files[of_bucket[rows[0]]])
        for file in files:
            yield _sorted(file)


def _sorted(file: BinaryIO) -> tuple[Matrix, np.ndarray]:
    """Return the rows of a temporary file in the order of their places."""
    from scipy.sparse import vstack

    file.seek(0)
    parts = []
    with suppress(EOFError):
        while True:
            parts.append(pickle.load(file))
    every, codes, places = zip(*parts, strict=True)
    order = np.argsort(np.concatenate(places))
    X = np.concatenate(every) if isinstance(every[0], np.ndarray) else vstack(every, format="csr")
    return X[order], np.concatenate(codes)[order]
