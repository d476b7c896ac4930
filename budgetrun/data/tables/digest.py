"""A checksum of examples that come from memory, the same for chunks of any size."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetrun.kernels.rows import Matrix


class Digest:
    """Hashes examples and labels as they pass."""

    def __init__(self) -> None:
        self._parts = [hashlib.sha256() for _ in range(4)]

    def add(self, X: Matrix, y: NDArray[Any]) -> None:
        """Hash some more examples."""
        arrays = (
            [X]
            if isinstance(X, np.ndarray)
            else [X.data, X.indices.astype(np.int64), np.diff(X.indptr).astype(np.int64)]
        )
        for part, array in zip(self._parts, arrays, strict=False):
            part.update(np.ascontiguousarray(array).tobytes())
        self._parts[3].update(y.tobytes() if y.dtype.kind == "f" else "\n".join([*y.tolist(), ""]).encode())

    def hexdigest(self, features: list[str]) -> str:
        """Return the checksum of all examples, with the names of their features."""
        told = [*features, *(part.hexdigest() for part in self._parts)]
        return hashlib.sha256("\n".join(told).encode()).hexdigest()
