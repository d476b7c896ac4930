"""A stream larger than memory in random order: its rows first go to temporary files, each for a range of rounds."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import numpy as np

from budgetrun.kernels.rows import Matrix

# The bytes of one temporary file.
_BUCKET = 32e6
_MOST_BUCKETS = 400


def shuffled(
    chunks: Iterable[tuple[Matrix, np.ndarray]], permutation: np.ndarray
) -> Iterator[tuple[Matrix, np.ndarray]]:
    """Yield the rows of a stream in the order of a permutation.

    Temporary files hold all rows; memory holds the permutation and one file.

    Parameters
    ----------
    chunks : iterable of (X, codes)
        ``X`` ndarray or csr_array, shape (b, d); ``codes`` of int, shape (b,). All rows of the stream, in order.
    permutation : ndarray of int, shape (T,)
        Row ``permutation[t]`` of the stream is seen in round t.
    """
    place = np.empty_like(permutation)
    place[permutation] = np.arange(len(permutation))
    with tempfile.TemporaryDirectory(prefix="budgetrun-") as folder, ExitStack() as stack:
        files: list[BinaryIO] = []
        size, done = 0, 0
        for X, codes in chunks:
            if not files:
                row_bytes = max(1, _bytes(X) // X.shape[0])
                n_buckets = min(_MOST_BUCKETS, int(row_bytes * len(permutation) // _BUCKET) + 1)
                size = -(-len(permutation) // n_buckets)
                paths = [Path(folder) / str(i) for i in range(-(-len(permutation) // size))]
                files = [stack.enter_context(path.open("w+b")) for path in paths]
            places = place[done : done + X.shape[0]]
            done += X.shape[0]
            of_bucket = places // size
            order = np.argsort(of_bucket, kind="stable")
            ends = np.flatnonzero(np.diff(of_bucket[order])) + 1
            for rows in np.split(order, ends):
                _append(files[of_bucket[rows[0]]], X[rows], codes[rows], places[rows])
        for file in files:
            yield _sorted(file)


def _append(file: BinaryIO, X: Matrix, codes: np.ndarray, places: np.ndarray) -> None:
    parts = [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]
    for array in (np.array(X.shape), codes, places, *parts):
        np.save(file, array, allow_pickle=False)


def _sorted(file: BinaryIO) -> tuple[Matrix, np.ndarray]:
    """Return the rows of a temporary file in the order of their places."""
    from scipy.sparse import csr_array, vstack

    end = file.tell()
    file.seek(0)
    parts: list[Matrix] = []
    codes, places = [], []
    while file.tell() < end:
        shape, *own = (np.load(file) for _ in range(3))
        codes.append(own[0])
        places.append(own[1])
        first = np.load(file)
        sparse = first.ndim == 1
        parts.append(csr_array((first, np.load(file), np.load(file)), shape=tuple(shape)) if sparse else first)
    order = np.argsort(np.concatenate(places))
    X = np.concatenate(parts) if isinstance(parts[0], np.ndarray) else vstack(parts, format="csr")
    return X[order], np.concatenate(codes)[order]


def _bytes(X: Matrix) -> int:
    return int(X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes)
