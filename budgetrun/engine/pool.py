"""The examples that the learners of a group hold, each stored once, and their kernel values with the current block."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from budgetrun.kernels import COARSEST, Kernel, Rows, columns, near_squares, product, squares, without


class Pool:
    """Slots for examples. A block's examples are all stored; after the block, those that no learner holds are released.

    Parameters
    ----------
    kernel : Kernel
    dtype : numpy dtype
        float64 or float32: the type of stored rows and kernel values.

    Attributes
    ----------
    used : int
        All slots from this number on are free.
    block : ndarray, shape (used, b)
        Kernel values between every slot and the b rounds of the current block; rows of free slots are meaningless.
    block_slots : ndarray of int, shape (b,)
        The slots of the block's own examples.
    rounds : ndarray of int64, shape (capacity,)
        The round at which a slot's example was seen, from 0.
    squares : ndarray of float64, shape (capacity,)
        k(x, x) of a slot's example.
    resolution : float
        The approximate rounding error of kernel values.
    seen : int
        The number of rounds so far, including the current block.
    """

    def __init__(self, kernel: Kernel, dtype: np.dtype) -> None:
        self.kernel = kernel
        self.dtype = np.dtype(dtype)
        self.capacity = 0
        self.used = 0
        self.seen = 0
        self.rounds = np.empty(0, dtype=np.int64)
        self.squares = np.empty(0)
        self.resolution = 0.0
        self.block = np.empty((0, 0), dtype=self.dtype)
        self.block_slots = np.empty(0, dtype=np.intp)
        # `block` transposed, in float64, once a hypothesis needs it.
        self._by_round: np.ndarray | None = None
        self._n_features: int | None = None
        self._free = np.empty(0, dtype=np.intp)
        self._rows: Rows | None = None
        self._buffer = np.empty(0, dtype=self.dtype)
        self._largest_square = 0.0
        # Features that the kernel does not multiply out; usually none.
        self._far = np.empty(0, dtype=np.intp)

    def admit(self, X: Rows) -> None:
        """Store the examples ``X``, shape (b, d), of the next b rounds, and compute `block`."""
        b = X.shape[0]
        X, norms = self._measured(X)
        slots = self._take(b)
        self._store(self.kernel.left(X, norms), slots)
        self.rounds[slots] = np.arange(self.seen, self.seen + b)
        self.seen += b
        self.squares[slots] = self.kernel.diagonal(norms)
        self.block_slots = slots
        self._n_features = X.shape[1]
        self._fill_block(X, norms)
        if self._by_round is not None:
            self._by_round = np.ascontiguousarray(self.block.T, dtype=np.float64)

    @property
    def keeps_rounds(self) -> bool:
        """Whether `with_round` can be used."""
        return self._by_round is not None

    def keep_rounds(self) -> None:
        """From the next block on, also keep kernel values by round, for `with_round`."""
        if self._by_round is None:
            self._by_round = np.empty((0, 0))

    def place(self, point: Rows, t: int) -> int:
        """Store a point that is not in the stream, during round ``t`` of the block, and return its slot.

        Parameters
        ----------
        point : ndarray or csr_array, shape (1, d)
            Dense or sparse, like the stream.
        t : int
        """
        point, norms = self._measured(point)
        slots = self._take(1)
        slot = int(slots[0])
        self._store(self.kernel.left(point, norms), slots)
        self.rounds[slot] = self.seen - len(self.block_slots) + t
        self.squares[slot] = self.kernel.diagonal(norms)[0]
        values = self.kernel.between(point, self.examples(self.block_slots))[0]
        missing = self.used - len(self.block)
        if missing > 0:
            self.block = np.concatenate([self.block, np.zeros((missing, len(values)), dtype=self.dtype)])
        self.block[slot] = values
        if self._by_round is not None:
            self._by_round = np.ascontiguousarray(self.block.T, dtype=np.float64)
        return slot

    def release(self, held: np.ndarray) -> None:
        """Free every slot except those marked in ``held``, a bool array of shape (used,)."""
        kept = np.flatnonzero(held)
        self.used = int(kept[-1]) + 1 if len(kept) else 0
        self._free = np.flatnonzero(~held[: self.used])[::-1]

    def with_round(self, t: int, slots: np.ndarray) -> np.ndarray:
        """Return k(x_t, x_i) for round ``t`` of the block and the examples in ``slots``, float64."""
        assert self._by_round is not None
        return self._by_round[t].take(slots)

    def matrix(self, slots: np.ndarray) -> np.ndarray:
        """Compute the matrix of k(x_i, x_j) over ``slots``, shape (len(slots), len(slots))."""
        examples = self.examples(slots)
        return self.kernel.between(examples, examples)

    def exact(self, slots: np.ndarray, slot: int) -> np.ndarray:
        """Return k(x_i, x) between the examples in ``slots`` and the one in ``slot``, as `Kernel.row` computes it."""
        return self.kernel.row(self.examples(slots), self.examples(np.array([slot])))

    def examples(self, slots: np.ndarray) -> Rows:
        """Return the examples in ``slots``, shape (len(slots), d)."""
        assert self._rows is not None
        return self._rows[slots][:, : self._n_features]

    def __getstate__(self) -> dict[str, Any]:
        """Leave the current block out of pickles: it is not needed between blocks."""
        empty = np.empty((0, 0), dtype=self.dtype)
        by_round = None if self._by_round is None else np.empty((0, 0))
        return self.__dict__ | {"block": empty, "_buffer": empty.ravel(), "_by_round": by_round}

    def _measured(self, given: Rows) -> tuple[Rows, np.ndarray]:
        """Return new examples in the pool's type, and their squares without the features that are `Kernel.far`."""
        with np.errstate(over="ignore"):
            X = given.astype(self.dtype, copy=False)
        norms = near_squares(X, self._far) if len(self._far) else squares(X)
        if len(self.kernel.far((X,), (norms,))):
            norms = self._set_apart(X, norms)
        if len(self._far):
            self._check_type(given)
        largest_square = max(self._largest_square, float(norms.max()))
        limits = np.finfo(self.dtype)
        magnitude = self.kernel.magnitude(largest_square)
        # This leaves room for sums of kernel values.
        if not magnitude < 1e-20 * float(limits.max):
            raise FloatingPointError(
                f"the {self.kernel} kernel overflows {self.dtype} on this data, "
                f"whose largest ||x||^2 is {largest_square:.3g}: scale the examples"
            )
        self._largest_square = largest_square
        self.resolution = 2 * float(limits.eps) * magnitude
        return X, norms

    def _set_apart(self, X: Rows, norms: np.ndarray) -> np.ndarray:
        """Find the far features of the stored and the new examples, and return the squares of the new ones."""
        stored = self.examples(np.arange(self.used)) if self.used else X[:0]
        self._far = np.union1d(self._far, self.kernel.far((stored, X), (norms,)))
        before = near_squares(stored, self._far)
        self._largest_square = float(before.max(initial=0.0))
        left = self.kernel.left(stored, before)
        if isinstance(self._rows, np.ndarray):
            self._rows[: self.used] = left
        elif self._rows is not None:
            self._rows = left
        return near_squares(X, self._far)

    def _check_type(self, given: Rows) -> None:
        values = columns(given, self._far)
        with np.errstate(over="ignore"):
            lost = np.abs(values - values.astype(self.dtype)).max(axis=0)
        worst = int(lost.argmax())
        if self.kernel.magnitude(float(lost[worst]) ** 2) - self.kernel.magnitude(0) > COARSEST[self.dtype.name] ** 2:
            raise FloatingPointError(
                f"{self.dtype} holds feature {self._far[worst] + 1} only to {lost[worst]:.1g}, which is too coarse for "
                f"the {self.kernel} kernel: use float64, or scale the examples"
            )

    def _take(self, b: int) -> np.ndarray:
        """Take ``b`` free slots, growing the pool if necessary."""
        missing = b - len(self._free)
        if missing > 0:
            self._free = np.concatenate([np.arange(self.used + missing - 1, self.used - 1, -1), self._free])
            self.used += missing
        slots, self._free = np.sort(self._free[-b:]), self._free[:-b]
        if self.used > self.capacity:
            self._grow(max(self.used, self.capacity + self.capacity // 2))
        return slots

    def _grow(self, capacity: int) -> None:
        self.rounds = np.resize(self.rounds, capacity) if self.capacity else np.zeros(capacity, dtype=np.int64)
        self.squares = np.resize(self.squares, capacity) if self.capacity else np.zeros(capacity)
        if isinstance(self._rows, np.ndarray):
            rows = np.zeros((capacity, self._rows.shape[1]), dtype=self.dtype)
            rows[: self.capacity] = self._rows
            self._rows = rows
        self.capacity = capacity

    def _store(self, left: Rows, slots: np.ndarray) -> None:
        if isinstance(left, np.ndarray):
            if self._rows is None:
                self._rows = np.zeros((self.capacity, left.shape[1]), dtype=self.dtype)
            self._rows[slots] = left
            return
        old = self._rows if self._rows is not None else sp.csr_array((0, left.shape[1]), dtype=self.dtype)
        source = np.full(self.used, old.shape[0] + left.shape[0])  # free slots get the empty row
        n = min(old.shape[0], self.used)
        source[:n] = np.arange(n)
        source[self._free] = old.shape[0] + left.shape[0]
        source[slots] = old.shape[0] + np.arange(left.shape[0])
        empty = sp.csr_array((1, left.shape[1]), dtype=self.dtype)
        self._rows = sp.vstack([old, left, empty], format="csr")[source]

    def _fill_block(self, X: Rows, norms: np.ndarray) -> None:
        assert self._rows is not None
        far, b = self._far, X.shape[0]
        right = self.kernel.right(without(X, far) if len(far) else X, norms)
        if isinstance(self._rows, np.ndarray):
            if self._buffer.size < self.capacity * b:
                self._buffer = np.empty(self.capacity * b, dtype=self.dtype)
            out = self._buffer[: self.used * b].reshape(self.used, b)
            products = product(self._rows[: self.used], right, out=out)
        else:
            products = product(self._rows, right)
        if len(far):
            self.kernel.separate(products, columns(self._rows[: self.used], far), columns(X, far))
        self.block = self.kernel.finish(products)
