"""Kernel expansions: weighted sums over a support set."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np

from budgetrun.engine.hypotheses.base import CANCELLED, BinaryHypothesis

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool
    from budgetrun.kernels import Rows


class Expansion(BinaryHypothesis):
    """f = sum_i coef_i k(x_i, .).

    The verbs are `add`, `scale`, `evict`, `shift`, `keep` and `replace`. Support examples are counted from 0, oldest
    first.

    Parameters
    ----------
    pool : Pool
    norm : bool
        Track ||f||^2 (`norm_sq`).
    track : {None, "oldest", "all"}
        Track f(x_i) of the oldest support example, or of all of them (`score_of`, `self_scores`). Values that are not
        tracked are computed when they are read, in O(size d).
    capacity : int, >= 1, or None
        The largest possible support set, to bound memory with ``track="all"``.

    Attributes
    ----------
    coef : ndarray of float64, shape (size,)
        The weights, oldest example first.
    labels : ndarray of float64, shape (size,)
        The signs of the weights: the examples' labels, for a learner whose weights are y times something positive.
    squares : ndarray of float64, shape (size,)
        k(x_i, x_i).
    self_scores : ndarray of float64, shape (size,)
        f(x_i); only with ``track="all"``.
    norm_sq : float
        ||f||^2; only with ``norm=True``.

    Notes
    -----
    Evicting the oldest example needs no kernel values from outside the block: row 1 of `_held` has, for each example,
    the part of f(x_i) that is due to itself and younger examples; for the oldest one, that is all of f(x_i). Evicting
    any other example needs the kernel values between support examples. They are part of the block in which the younger
    of the two is added, and ``track="all"`` keeps them in `_pairs`: row of the younger, column of the older.
    """

    form = "expansion"

    def __init__(
        self,
        pool: Pool,
        *,
        norm: bool = False,
        track: Literal["oldest", "all"] | None = None,
        capacity: int | None = None,
    ) -> None:
        super().__init__(pool)
        self.track = track
        self.upkeep = {None: 1, "oldest": 2, "all": 4}[track]
        self._head = self._tail = 0
        self._slots = np.empty(16, dtype=np.intp)
        # Row 0: the weights. Row 1, if tracked: the examples' own scores. One multiplication scales both.
        self._held = np.empty((1 if track is None else 2, 16))
        self._norm_sq: float | None = 0.0 if norm else None
        self._mass = 0.0
        self._capacity = capacity
        # With track="all": kernel values between support examples, each example's row of them, and the free rows.
        self._pairs: np.ndarray | None = None
        self._place = np.empty(16 if track == "all" else 0, dtype=np.intp)
        self._free_places: list[int] = []
        if track is not None:
            pool.keep_rounds()
        if track == "all":
            self._pairs = np.empty((0, 0), dtype=pool.dtype)

    # -- read by learners ----------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        return self._tail - self._head

    @property
    def slots(self) -> np.ndarray:
        return self._slots[self._head : self._tail]

    @property
    def coef(self) -> np.ndarray:
        return self._held[0, self._head : self._tail]

    @property
    def labels(self) -> np.ndarray:
        return np.sign(self.coef)

    @property
    def squares(self) -> np.ndarray:
        return self._pool.squares[self.slots]

    @property
    def self_scores(self) -> np.ndarray:
        return self._held[1, self._head : self._tail]

    @property
    def norm_sq(self) -> float:
        assert self._norm_sq is not None
        return self._norm_sq

    def score_of(self, i: int) -> float:
        """Return f(x_i), the score of support example ``i``."""
        if self.track == "all" or (self.track == "oldest" and i == 0):
            return self._held.item(1, self._head + i)
        return float(self.coef @ self._row(i))

    def gram(self) -> np.ndarray:
        """Compute k(x_i, x_j) over the support set, oldest first, shape (size, size), float64."""
        return self._pool.matrix(self.slots).astype(np.float64, copy=False)

    def smallest(self, values: np.ndarray) -> int:
        """Return the first index of the smallest value; values that differ only by rounding count as equal."""
        return int((values <= values.min() + self.rounding).argmax())

    # -- verbs ---------------------------------------------------------------------------------------------------

    def add(self, weight: float) -> None:
        """f += weight k(x_t, .), for the example x_t of the current round, which must not be in the support set yet."""
        pool, t = self._pool, self._round
        slot = pool.block_slots.item(t)
        square = pool.squares.item(slot)
        values = None if self.track is None else pool.with_round(t, self.slots)
        self._append(slot, weight, square, self.scores.item(t), values, self._moved)
        self._moved += weight * square

    def replace(self, i: int, point: Rows, weight: float) -> None:
        """Evict support example ``i`` and add a point z, not necessarily of the stream: f += weight k(z, .).

        Parameters
        ----------
        i : int
        point : ndarray or csr_array, shape (1, d)
            z, which becomes the youngest support example; dense or sparse, like the stream.
        weight : float
        """
        self.evict(i)
        pool = self._pool
        slot = pool.place(point, self._round)
        values = pool.exact(self.slots, slot)
        self._append(slot, weight, pool.squares.item(slot), float(self.coef @ values), values)
        self._moved += weight * pool.block.item(slot, self._round)

    def scale(self, phi: float) -> None:
        """f *= phi."""
        if phi == 1.0:
            return
        held = self._held[:, self._head : self._tail]
        held *= phi
        rest = self.scores[self._round + 1 :]
        rest *= phi
        self._moved += (phi - 1) * self.current
        if self._norm_sq is not None:
            self._norm_sq *= phi * phi

    def evict(self, i: int) -> None:
        """f -= coef_i k(x_i, .), and drop support example ``i``."""
        at = self._head + i
        self._change(i, -self._held.item(0, at), own=i)
        if self.track == "all":
            self._free_places.append(self._place.item(at))
        if i:
            tail = self._tail
            arrays = (self._slots, self._held, self._place) if self.track == "all" else (self._slots, self._held)
            for array in arrays:
                array[..., at : tail - 1] = array[..., at + 1 : tail]
            self._tail = tail - 1
        else:
            self._head += 1

    def shift(self, i: int, delta: float) -> None:
        """coef_i += delta, for support example ``i``."""
        self._change(i, delta, own=i + 1)
        self._held[0, self._head + i] += delta
        self._mass += abs(delta)

    def keep(self, chosen: np.ndarray, weights: np.ndarray, norm_sq: float | None = None) -> None:
        """f = sum of ``weights`` times k(x_i, .) over the ``chosen`` support examples; drop the others.

        Parameters
        ----------
        chosen : ndarray of int, ascending
            The support examples to keep, counted from 0, oldest first.
        weights : ndarray, of the same shape
            Their new weights.
        norm_sq : float or None
            The new ||f||^2, if the caller knows it.
        """
        slots = self.slots[chosen]
        n = len(slots)
        self._head, self._tail = 0, n
        self._slots[:n] = slots
        self._held[0, :n] = weights
        values = weights @ self._pool.block[slots, self._round :]
        self._moved = (float(values[0]) if n else 0.0) - self.scores.item(self._round)
        self.scores[self._round + 1 :] = values[1:]
        self._mass = float(np.abs(weights).sum())
        self._retrack(lambda: self._pool.matrix(slots), norm_sq)

    # -- called by the engine ------------------------------------------------------------------------------------

    def continue_from(self, other: Expansion, matrix: Callable[[], np.ndarray]) -> None:
        """Copy another expansion in the middle of a block, and compute what this one tracks in addition.

        ``matrix`` returns the kernel values between the support examples, shape (size, size).
        """
        n = other.size
        self.mistakes, self.mistaken, self._moved = other.mistakes, other.mistaken, other._moved
        self.scores, self._round, self._mass = other.scores.copy(), other._round, other._mass
        length = max(16, len(other._slots))
        self._slots = np.empty(length, dtype=np.intp)
        self._held = np.empty((len(self._held), length))
        self._head, self._tail = other._head, other._tail
        self._slots[:] = other._slots
        self._held[0] = other._held[0]
        if self.track == "all":
            self._place = np.empty(length, dtype=np.intp)
        if n:
            self._retrack(matrix, None)

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        if not self.size:
            return np.zeros(X.shape[0])
        # An example that was added in round r (from 0) and kept its weight is part of the hypotheses of all later
        # rounds.
        share = 1 - (self.rounds + 1) / self._pool.seen if averaged else 1.0
        scores: np.ndarray = (share * self.coef) @ self._values_with(X)
        return scores

    def terms(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(self.slots, self.coef)]

    def begin_block(self, sums: np.ndarray) -> None:
        self.scores = sums[0]
        self._mass = float(np.abs(self.coef).sum())

    def doubt(self) -> float:
        return self._mass * self._pool.resolution

    def exact_score(self, t: int) -> float:
        # fsum does not depend on the order of the terms; 0 if they cancel.
        terms = self.coef * self._pool.exact(self.slots, self._pool.block_slots.item(t))
        score = math.fsum(terms.tolist())
        # Weights other than whole numbers have rounding errors of their own.
        return 0.0 if abs(score) <= CANCELLED * np.abs(terms).sum() else score

    def memory(self, size: int, block: int) -> float:
        pairs = size + 1 if self.track == "all" and size else 0
        # The pairs are copied as they grow.
        return super().memory(size, block) + 1.5 * pairs**2 * self._pool.dtype.itemsize

    # -- tracking ------------------------------------------------------------------------------------------------

    def _append(
        self, slot: int, weight: float, square: float, score: float, values: np.ndarray | None, moved: float = 0.0
    ) -> None:
        """f += weight k(x, .), for an example in the pool, which becomes the youngest.

        Parameters
        ----------
        slot : int
            The example's slot in the pool.
        weight : float
        square, score : float
            k(x, x), and f(x) before the change, less ``moved``.
        values : ndarray, shape (size,)
            k(x_i, x) for the support examples, if needed for tracking.
        """
        if self._tail == len(self._slots):
            self._make_room()
        head, tail = self._head, self._tail
        if self._norm_sq is not None:
            self._norm_sq += weight * (2 * score + weight * square)
            self._norm_sq += 2 * weight * moved
        if self.track is not None and values is not None:
            own = self._held[1]
            _add(weight, values, own[head:tail])
            own[tail] = weight * square
            if self.track == "all":
                own[tail] += score + moved
                self._remember(values)
        self._slots[tail] = slot
        self._held[0, tail] = weight
        self._tail = tail + 1
        self._mass += abs(weight)
        t = self._round + 1
        _add(weight, self._pool.block[slot, t:], self.scores[t:])

    def _change(self, i: int, delta: float, own: int) -> None:
        """Update everything that depends on f, except the weight itself, for coef_i += delta.

        With ``track="oldest"``, this changes row 1 of `_held` for the first ``own`` examples.
        """
        pool, t, at = self._pool, self._round, self._head + i
        slot = self._slots.item(at)
        if self._norm_sq is not None:
            self._norm_sq += delta * (delta * pool.squares.item(slot) + 2 * self.score_of(i))
        if self.track == "all":
            self.self_scores[:] += delta * self._row(i)
        elif self.track == "oldest" and own:
            self.self_scores[:own] += delta * self._row(i)[:own]
        self._moved += delta * pool.block.item(slot, t)
        rest = self.scores[t + 1 :]
        rest += delta * pool.block[slot, t + 1 :]

    def _retrack(self, matrix: Callable[[], np.ndarray], norm_sq: float | None) -> None:
        """Recompute everything tracked; ``matrix`` returns the kernel values between the support examples."""
        if self._norm_sq is not None:
            self._norm_sq = float(matrix() @ self.coef @ self.coef) if norm_sq is None else norm_sq
        if self.track is not None and self.size:
            K = matrix()
            self.self_scores[:] = (K if self.track == "all" else np.triu(K)) @ self.coef
        if self.track == "all":
            n = self.size
            self._place[self._head : self._tail] = np.arange(n)
            self._pairs = np.empty((0, 0), dtype=self._pool.dtype)
            self._free_places = []
            if n:
                self._grow_pairs(n + 1)
                self._pairs[:n, :n] = K
                del self._free_places[-n:]

    def _row(self, i: int) -> np.ndarray:
        """Return k(x_i, x_j) for all support examples j, shape (size,)."""
        if self._pairs is None:
            return self._pool.exact(self.slots, self.slots.item(i))
        places = self._place[self._head : self._tail]
        place, width = places.item(i), len(self._pairs)
        values = np.empty(self.size, dtype=self._pool.dtype)
        values[:i] = self._pairs[place].take(places[:i])
        values[i] = self._pool.squares.item(self.slots.item(i))
        values[i + 1 :] = self._pairs.ravel().take(places[i + 1 :] * width + place)
        return values

    def _remember(self, values: np.ndarray) -> None:
        """Store the new example's kernel values with the older ones in a free row of `_pairs`."""
        assert self._pairs is not None
        head, tail = self._head, self._tail
        if not self._free_places:
            self._grow_pairs(len(self._pairs) * 3 // 2 + 16)
        place = self._free_places.pop()
        self._place[tail] = place
        self._pairs[place, self._place[head:tail]] = values

    def _grow_pairs(self, wanted: int) -> None:
        """Enlarge `_pairs` for ``wanted`` examples, within the capacity."""
        assert self._pairs is not None
        old = len(self._pairs)
        room = max(old + 1, wanted if self._capacity is None else min(wanted, self._capacity))
        pairs = np.empty((room, room), dtype=self._pairs.dtype)
        pairs[:old, :old] = self._pairs
        self._pairs = pairs
        self._free_places += range(room - 1, old - 1, -1)

    def _make_room(self) -> None:
        """Move the examples to the front of their arrays; double the arrays if they are more than half full."""
        head, tail, size = self._head, self._tail, self.size
        length = len(self._slots) if size <= len(self._slots) // 2 else 2 * len(self._slots)

        def moved(array: np.ndarray) -> np.ndarray:
            new = np.empty((*array.shape[:-1], length), dtype=array.dtype)
            new[..., :size] = array[..., head:tail]
            return new

        self._slots, self._held = moved(self._slots), moved(self._held)
        if self.track == "all":
            self._place = moved(self._place)
        self._head, self._tail = 0, size


def _add(weight: float, values: np.ndarray, to: np.ndarray) -> None:
    """to += weight * values. Most weights are labels, which need no multiplication."""
    if weight == 1:
        to += values
    elif weight == -1:
        to -= values
    else:
        to += weight * values
