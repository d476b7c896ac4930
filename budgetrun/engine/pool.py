"""The examples that the learners of a group hold, each stored once, and their kernel values with the current block."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from budgetrun.kernels import Kernel, Rows
from budgetrun.kernels.arithmetic import TILE
from budgetrun.kernels.kinds import Encoded, Kind, Needed, filled


class Pool:
    """Slots for examples. A block's examples are all stored; after the block, those that no learner holds are released.

    Attributes:
    dtype : numpy dtype
        float64 or float32: the type of kernel values in `tiles`.
    used : int
        All slots from this number on are free.
    tiles : ndarray, shape (tiles, used, rounds)
        Kernel values between every slot and the rounds of the current block, which is cut into tiles of at most 64
        rounds; rows of free slots are meaningless.
    block_slots : ndarray of int, shape (b,)
        The slots of the block's own examples.
    rounds : ndarray of int64, shape (capacity,)
        The round at which a slot's example was seen, from 0.
    squares : ndarray of float64, shape (capacity,)
        k(x, x) of a slot's example.
    lengths : ndarray of float64, shape (b,)
        ||k(x, .)|| of the block's examples.
    seen : int
        The number of rounds so far, including the current block.
    kind : Kind or None
        How examples are stored; None before the first block.
    shared : dict
        What else learners share, by their keys.
    of_block : dict
        What they share of the current block only, by keys of their own.
    """

    def __init__(self, kernel: Kernel, dtype: np.dtype) -> None:
        self.kernel = kernel
        self.dtype = np.dtype(dtype)
        self.capacity = 0
        self.used = 0
        self.seen = 0
        self.rounds = np.empty(0, dtype=np.int64)
        self.squares = self.lengths = np.empty(0)
        self.tiles = np.empty((1, 0, 0), dtype=self.dtype)
        self.block_slots = np.empty(0, dtype=np.intp)
        self.kind: Kind = None  # type: ignore[assignment]  # until the first block
        self.shared: dict[Any, Any] = {}
        self.of_block: dict[Any, Any] = {}
        # k(x, x), if it is the same for all examples.
        self._same = kernel.diagonal(np.zeros(1)).item() if kernel.of_distance else None
        self.free = np.empty(0, dtype=np.intp)
        self._buffer = np.empty(0, dtype=self.dtype)

    @property
    def n_features(self) -> int:
        """The number of features of examples, after the first block."""
        return self.kind.n_features

    @property
    def block(self) -> np.ndarray:
        """`tiles` in one matrix, shape (used, b)."""
        if "tiles" not in self.of_block:
            self.of_block["tiles"] = self.tiles.transpose(1, 0, 2).reshape(self.tiles.shape[1], -1)
        matrix: np.ndarray = self.of_block["tiles"]
        return matrix

    def admit(self, X: Rows) -> None:
        """Store the examples ``X``, shape (b, d), of the next b rounds, and compute `tiles`.

        b is at most 64, or a multiple of it.
        """
        self.compute(self.store(X))

    def store(self, X: Rows) -> Encoded:
        """Store the examples, and return them as they are stored."""
        b, self.of_block = X.shape[0], {}
        examples, slots = self._store(X)
        self.rounds[slots] = np.arange(self.seen, self.seen + b)
        self.seen += b
        self.block_slots = slots
        with np.errstate(invalid="ignore"):
            # Some squares are negative if the kernel is not positive definite.
            self.lengths = np.sqrt(self.squares[slots])
        return examples

    def compute(self, examples: Encoded, values: bool = True) -> None:
        """Compute `tiles` for the examples of the block; without ``values``, they have no slots."""
        b, slots = len(self.block_slots), self.block_slots
        shape = (max(1, b // TILE), self.used if values else 0, min(b, TILE))
        size = shape[0] * shape[1] * shape[2]
        if self._buffer.size < size:
            self._buffer = np.empty(size + size // 2, dtype=self.dtype)
        self.tiles = self._buffer[:size].reshape(shape)
        if values:
            # A tile needs no values of free slots, and none of examples that come after it.
            held = np.ones(self.used, dtype=bool)
            held[slots] = held[self.free] = False
            counts = held.sum() + np.minimum(TILE * np.arange(1, shape[0] + 1), b)
            needed = Needed(np.concatenate([np.flatnonzero(held), slots]), counts)
            self.tiles[:, self.free] = 0.0
            for tile in range(shape[0] - 1):
                self.tiles[tile, slots[TILE * (tile + 1) :]] = 0.0
            self.kind.fill(self.kernel, examples, self.tiles, needed)

    def release(self, *each: np.ndarray) -> None:
        """Free every slot except those in these arrays."""
        held = np.zeros(self.used, dtype=bool)
        for slots in each:
            held[slots] = True
        kept = np.flatnonzero(held)
        self.used = int(kept[-1]) + 1 if len(kept) else 0
        self.free = np.flatnonzero(~held[: self.used])[::-1]

    def between(self, slots: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Compute k(x_i, x_j) between the examples in ``slots`` and in ``others``, shape (len(slots), len(others))."""
        if self.kind is None:
            return np.empty((0, 0))
        return self.kind.taken(slots).values(self.kernel, self.kind.encoded(others), slots is others)

    def values(self, slots: np.ndarray, X: Rows, kernel: Kernel | None = None) -> np.ndarray:
        """Compute k(x_i, x), by this kernel or another, between examples in ``slots`` and others: (len(slots), n)."""
        if not len(slots):
            return np.zeros((0, X.shape[0]))
        return self.kind.taken(slots).between(kernel or self.kernel, X)

    def examples(self, slots: np.ndarray) -> np.ndarray | sp.csr_array:
        """Return the examples in ``slots`` as floats, shape (len(slots), d)."""
        return self.kind.examples(slots)

    def rearrange(self, slots: np.ndarray, features: Sequence[int], n_features: int) -> None:
        """Do what `Group.rearrange` says, for the examples in ``slots``; forget the others."""
        rows = np.zeros((self.capacity, n_features))
        rows[slots, : len(features)] = self.examples(slots)[:, features]
        self.kind = filled(*self.kernel.kind_of(rows))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the current block out of pickles: it is not needed between blocks."""
        empty = np.empty((1, 0, 0), dtype=self.dtype)
        return self.__dict__ | {"tiles": empty, "_buffer": empty.ravel(), "of_block": dict[Any, Any]()}

    def _store(self, X: Rows) -> tuple[Encoded, np.ndarray]:
        """Store examples in free slots; return them as they are stored, and the slots."""
        examples = None if self.kind is None else self.kind.encode(X)
        if self.kind is None or examples is None:
            self.kind, examples = self.kernel.kind_of(X) if self.kind is None else self.kind.widened(X)
        slots = self._take(X.shape[0])
        self.kind.put(slots, examples)
        if self._same is not None:
            self.squares[slots] = self._same
            return examples, slots
        with np.errstate(over="ignore", invalid="ignore"):
            squares = self.kernel.diagonal(examples.squares)
        if not np.isfinite(squares).all():
            # No other value is larger.
            largest = f"whose largest ||x||^2 is {examples.squares.max():.3g}"
            raise FloatingPointError(
                f"the {self.kernel} kernel overflows float64 on this data, {largest}: scale the examples"
            )
        self.squares[slots] = squares
        return examples, slots

    def _take(self, b: int) -> np.ndarray:
        """Take ``b`` free slots, growing the pool if necessary."""
        missing = b - len(self.free)
        if missing > 0:
            self.free = np.concatenate([np.arange(self.used + missing - 1, self.used - 1, -1), self.free])
            self.used += missing
        slots, self.free = np.sort(self.free[-b:]), self.free[:-b]
        if self.used > self.capacity:
            self.grow(max(self.used, self.capacity + self.capacity // 2))
        return slots

    def grow(self, capacity: int) -> None:
        """Make room for examples in slots below ``capacity``."""
        self.rounds, self.squares = np.resize(self.rounds, capacity), np.resize(self.squares, capacity)
        self.kind.resize(capacity)
        self.capacity = capacity
