"""A learner's hypothesis, and what the learner may do to it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from budgetrun.engine.hypotheses.base import CANCELLED, BinaryHypothesis
from budgetrun.engine.pool import Pool

if TYPE_CHECKING:
    from budgetrun.kernels import Rows
    from budgetrun.learners.base import Learner


class Hypothesis(BinaryHypothesis):
    """f = sum_i coef_i k(x_i, .), together with its scores on the rest of the block in hand.

    The verbs a learner uses are `add`, `scale` and `evict`; each keeps the scores of the rounds to come right, and the
    quantities that were asked for (`self_scores`, `norm_sq`). Support examples are counted from 0, oldest first.

    Attributes
    ----------
    size : int
        |I_t|, the examples held.
    coef : ndarray of float64, shape (size,)
        The weights, oldest example first.
    labels : ndarray of float64, shape (size,)
        The signs of the weights, which are the examples' labels for every learner that adds y times something positive.
    squares : ndarray of float64, shape (size,)
        k(x_i, x_i).
    self_scores : ndarray of float64, shape (size,)
        f(x_i); only for a learner with ``needs_self_scores``.
    norm_sq : float
        ||f||^2; only for a learner with ``needs_norm``.

    Notes
    -----
    Eviction of the oldest needs no kernel value that is not in the block: row 1 of `_held` has for each example what it
    and the younger ones contribute to its own score, and once it is the oldest that is its score. Eviction of any
    other example needs the values between the support examples. They were in a block when the younger of the two came
    in, and are kept in `_pairs`, row of the younger, column of the older.
    """

    form = "expansion"

    def __init__(self, pool: Pool, learner: Learner | None = None) -> None:
        super().__init__(pool)
        self._head = self._tail = 0
        self._slots = np.empty(16, dtype=np.intp)
        # Row 0: the weights. Row 1, if tracked: each example's own score, so that one product scales both.
        self._held = np.empty((1, 16))
        self._tracked = self._needs_square = False
        self._place: np.ndarray | None = None
        self._pairs: np.ndarray | None = None
        self._free_places: list[int] = []
        self._most: int | None = None
        self._norm_sq: float | None = None
        self._mass = 0.0
        if learner is not None:
            self._prepare(learner)

    # -- what a learner reads ------------------------------------------------------------------------------------

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
        """Return f(x_i), the score of support example ``i``: any with ``needs_self_scores``, else the oldest only."""
        assert i == 0 or self._pairs is not None
        return self._held.item(1, self._head + i)

    def smallest(self, values: np.ndarray) -> int:
        """Return the first index of the least value; values equal but for rounding count as equal."""
        return int((values <= values.min() + self.rounding).argmax())

    # -- what a learner does -------------------------------------------------------------------------------------

    def add(self, weight: float) -> None:
        """f += weight k(x_t, .), for the example x_t of the round in hand."""
        pool, t = self._pool, self._round
        slot = pool.block_slots.item(t)
        if self._tail == len(self._slots):
            self._make_room()
        head, tail = self._head, self._tail
        if self._needs_square:
            score, square = self.scores.item(t), pool.squares.item(slot)
            if self._norm_sq is not None:
                self._norm_sq += weight * (2 * score + weight * square)
            if self._tracked:
                values = pool.with_round(t, self._slots[head:tail])
                own = self._held[1]
                _add(weight, values, own[head:tail])
                if self._pairs is None:
                    own[tail] = weight * square
                else:
                    own[tail] = score + weight * square
                    self._remember(values)
        self._slots[tail] = slot
        self._held[0, tail] = weight
        self._tail = tail + 1
        self._mass += abs(weight)
        _add(weight, pool.block[slot, t + 1 :], self.scores[t + 1 :])

    def scale(self, phi: float) -> None:
        """f *= phi."""
        if phi == 1.0:
            return
        held = self._held[:, self._head : self._tail]
        held *= phi
        rest = self.scores[self._round + 1 :]
        rest *= phi
        if self._norm_sq is not None:
            self._norm_sq *= phi * phi

    def evict(self, i: int) -> None:
        """f -= coef_i k(x_i, .), and support example ``i`` is forgotten."""
        pool, t, at = self._pool, self._round + 1, self._head + i
        slot, coef = self._slots.item(at), self._held.item(0, at)
        if self._norm_sq is not None:
            self._norm_sq += coef * (coef * pool.squares.item(slot) - 2 * self.score_of(i))
        if self._pairs is not None:
            self.self_scores[:] -= coef * self._pairs_with(i)
            self._free_places.append(self._place.item(at))
        rest = self.scores[t:]
        rest -= coef * pool.block[slot, t:]
        if i:
            tail = self._tail
            for array in (self._slots, self._held, self._place):
                if array is not None:
                    array[..., at : tail - 1] = array[..., at + 1 : tail]
            self._tail = tail - 1
        else:
            self._head += 1

    # -- what the engine does ------------------------------------------------------------------------------------

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        if not self.size:
            return np.zeros(X.shape[0])
        # What came in at round r, counted from 0, and stayed as it was is part of the hypotheses of the rounds after.
        share = 1 - (self.rounds + 1) / self._pool.seen if averaged else 1.0
        return (share * self.coef) @ self._values_with(X)

    def terms(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(self.slots, self.coef)]

    def begin_block(self, sums: np.ndarray) -> None:
        self.scores = sums[0]
        self._mass = float(np.abs(self.coef).sum())

    def end_block(self) -> None:
        """Nothing of a block needs to be folded in."""

    def doubt(self) -> float:
        return self._mass * self._pool.resolution

    def exact_score(self, t: int) -> float:
        # Free of the order of summation; 0 if the terms cancel.
        terms = self.coef * self._pool.exact(self.slots, self._pool.block_slots.item(t))
        score = math.fsum(terms.tolist())
        # Weights that are not whole numbers carry rounding of their own.
        return 0.0 if abs(score) <= CANCELLED * np.abs(terms).sum() else score

    def fork(self, learner: Learner, matrix: Callable[[], np.ndarray]) -> Hypothesis:
        """Return a copy that goes its own way from the round in hand on, keeping what ``learner`` needs.

        ``matrix`` gives the kernel values between the support examples, shape (size, size), if they are needed.
        """
        other = copy.copy(self)
        other._slots, other._held = self._slots.copy(), self._held.copy()
        other.scores = self.scores.copy()
        other._prepare(learner, matrix)
        return other

    def _prepare(self, learner: Learner, matrix: Callable[[], np.ndarray] | None = None) -> None:
        """Set up the quantities that ``learner`` reads, for the examples held."""
        if learner.needs_norm:
            own = matrix() @ self.coef if self.size and matrix is not None else self.coef
            self._norm_sq = float(own @ self.coef)
        self._tracked = learner.needs_self_scores or learner.needs_oldest_score
        self._needs_square = self._tracked or learner.needs_norm
        if not self._tracked:
            return
        self._held = np.concatenate([self._held[:1], np.empty_like(self._held[:1])])
        if self.size and matrix is not None:
            K = matrix()
            self.self_scores[:] = K @ self.coef if learner.needs_self_scores else np.triu(K) @ self.coef
        if learner.needs_self_scores:
            self._place = np.empty(len(self._slots), dtype=np.intp)
            self._place[self._head : self._tail] = np.arange(self.size)
            self._most = learner.budget + 1 if learner.budget is not None else None
            self._pairs = np.empty((0, 0), dtype=self._pool.dtype)
            self._free_places = []
            if self.size and matrix is not None:
                self._grow_pairs(self.size + 1)
                self._pairs[: self.size, : self.size] = matrix()
                del self._free_places[-self.size :]

    def _remember(self, values: np.ndarray) -> None:
        """Keep the new example's kernel values with the older ones, in a row of `_pairs` that is free."""
        assert self._place is not None
        assert self._pairs is not None
        head, tail = self._head, self._tail
        if not self._free_places:
            self._grow_pairs(len(self._pairs) * 3 // 2 + 16)
        place = self._free_places.pop()
        self._place[tail] = place
        self._pairs[place, self._place[head:tail]] = values

    def _grow_pairs(self, wanted: int) -> None:
        """Make room for ``wanted`` examples in `_pairs`, and no more than the learner may ever hold."""
        assert self._pairs is not None
        old = len(self._pairs)
        room = wanted if self._most is None else min(wanted, self._most)
        pairs = np.empty((room, room), dtype=self._pairs.dtype)
        pairs[:old, :old] = self._pairs
        self._pairs = pairs
        self._free_places += range(room - 1, old - 1, -1)

    def _pairs_with(self, i: int) -> np.ndarray:
        """Return k(x_i, x_j) for all support examples j, shape (size,), out of `_pairs`."""
        assert self._place is not None
        assert self._pairs is not None
        places = self._place[self._head : self._tail]
        place, width = places.item(i), len(self._pairs)
        values = np.empty(self.size, dtype=self._pool.dtype)
        values[:i] = self._pairs[place].take(places[:i])
        values[i] = self._pool.squares.item(self.slots.item(i))
        values[i + 1 :] = self._pairs.ravel().take(places[i + 1 :] * width + place)
        return values

    def _make_room(self) -> None:
        """Move the examples to the front of their arrays, which get twice the room if they are more than half full."""
        head, tail, size = self._head, self._tail, self.size
        length = len(self._slots) if size <= len(self._slots) // 2 else 2 * len(self._slots)

        def moved(array: np.ndarray) -> np.ndarray:
            new = np.empty((*array.shape[:-1], length), dtype=array.dtype)
            new[..., :size] = array[..., head:tail]
            return new

        self._slots, self._held = moved(self._slots), moved(self._held)
        if self._place is not None:
            self._place = moved(self._place)
        self._head, self._tail = 0, size


def _add(weight: float, values: np.ndarray, to: np.ndarray) -> None:
    """to += weight * values; most weights are labels, which need no product."""
    if weight == 1:
        to += values
    elif weight == -1:
        to -= values
    else:
        to += weight * values
