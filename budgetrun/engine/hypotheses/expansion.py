"""Kernel expansions: weighted sums over a support set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from budgetrun.base.problem import UNSURE
from budgetrun.engine.hypotheses.base import SCALED, Hypothesis, Summed, sum_and_limit
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows, compiling
from budgetrun.kernels.arithmetic import TILE
from budgetrun.kernels.compiling import interpreted
from budgetrun.kernels.compiling.objects import apart
from budgetrun.kernels.kinds import enlarged
from budgetrun.kernels.sums import add_multiple, add_up, close_gap, copy, inner, put, taken

_NONE, _OLDEST, _ALL = range(3)


class Expansion(Summed):
    """f = sum_i coef_i k(x_i, .).

    The verbs are `add`, `scale`, `evict`, `shift` and `keep`.

    Parameters
    ----------
    norm : bool
        Track ||f||^2 (`norm_sq`).
    track : {None, "oldest", "all"}
        Track f(x_i) of the oldest support example, or of all of them (`score_of`, `self_scores`). Values that are not
        tracked are computed when they are read, in O(size d).
    capacity : int, >= 1, or None
        The largest possible support set, to bound memory with ``track="all"``.
    stepwise : bool
        Whether a learner changes all weights in every round: then sums are those of the next round only.

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
    Evicting the oldest example needs no kernel values from outside the block: `_own` has, for each example, the part of
    f(x_i) that is due to itself and younger examples; for the oldest one, that is all of f(x_i). Evicting any other
    example needs the kernel values between support examples. They are part of the block in which the younger of the two
    is added, and ``track="all"`` keeps them in `_pairs`: row of the younger, column of the older.
    """

    form = "expansion"
    # True if the sums are the scores; otherwise `score_at` computes the scores from them.
    _plain: ClassVar[bool] = True
    _columns = (*Summed._columns, "_own", "_place")

    def __init__(
        self,
        pool: Pool,
        *,
        norm: bool = False,
        track: Literal["oldest", "all"] | None = None,
        capacity: int | None = None,
        stepwise: bool = False,
    ) -> None:
        super().__init__(pool)
        self._stepwise = stepwise
        self.upkeep = {None: 1, "oldest": 2, "all": 4}[track]
        self._track = {None: _NONE, "oldest": _OLDEST, "all": _ALL}[track]
        self._normed = norm
        self._norm_sq = 0.0
        self._own = np.zeros(16)
        self._capacity = 2**62 if capacity is None else capacity
        # With track="all": kernel values between support examples, each example's row of them, and the free rows.
        self._pairs = np.zeros((0, 0))
        self._place = np.zeros(16, dtype=np.intp)
        self._free_places = np.zeros(0, dtype=np.intp)
        self._n_free = 0

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the state; in models of earlier versions, all sums are kept."""
        self.__dict__.update({"_stepwise": False} | state)

    @property
    def coef(self) -> np.ndarray:
        return self._weights[self._head : self._tail]

    @property
    def labels(self) -> np.ndarray:
        return np.sign(self.coef)

    @property
    def self_scores(self) -> np.ndarray:
        return self._own[self._head : self._tail]

    @property
    def term_sizes(self) -> np.ndarray:
        """A bound on the kernel values of each support example with the others, shape (size,)."""
        lengths = np.sqrt(self.squares)
        return lengths * lengths.max()

    @property
    def norm_sq(self) -> float:
        return self._norm_sq

    def score_of(self, i: int) -> float:
        """Return f(x_i), the score of support example ``i``."""
        if self._track == _ALL or (self._track == _OLDEST and i == 0):
            return self._own[self._head + i]
        return inner(self.coef, self._computed_row(i))

    @interpreted
    def gram(self, order: np.ndarray | None = None) -> np.ndarray:
        """Compute k(x_i, x_j) over the support set, oldest first or in this order, shape (size, size), float64."""
        slots = self.slots if order is None else self.slots[order]
        return self._pool.between(slots, slots)

    @apart
    def add(self, weight: float) -> None:
        """f += weight k(x_t, .), for the example x_t of the current round, which must not be in the support set yet."""
        slot = self._block_slots[self._round]
        square, score = self._squares[slot], self.current
        if self._track != _NONE:
            values = self.kernel_row()
            add_multiple(self.self_scores, weight, values)
            self._own[self._tail] = weight * square
            if self._track == _ALL:
                self._own[self._tail] += score
                self._n_free -= 1
                place = self._free_places[self._n_free]
                self._place[self._tail] = place
                put(values, self._place[self._head : self._tail], self._pairs[place])
        if self._normed:
            self._norm_sq += weight * (2 * score + weight * square)
        self._put_last(slot, weight)
        self._change_scores(slot, weight)
        self._moved += weight * square

    @apart
    def scale(self, phi: float) -> None:
        """f *= phi."""
        if phi == 1.0:
            return
        weights, tracked = self._weights[self._head : self._tail], self.self_scores
        weights *= phi
        self._change_weights()
        if self._track != _NONE:
            tracked *= phi
        self._moved += (phi - 1) * self.current
        self._mass *= phi
        self._norm_sq *= phi * phi
        self._change_scores(SCALED, phi)

    @apart
    def evict(self, i: int) -> None:
        """f -= coef_i k(x_i, .), and drop support example ``i``."""
        at, tail = self._head + i, self._tail
        self._shift(i, -self._weights[at], i)
        if self._track == _ALL:
            self._free_places[self._n_free] = self._place[at]
            self._n_free += 1
        if self._track != _NONE and i > 0:
            close_gap(self._own, at, tail)
            close_gap(self._place, at, tail)
        self._remove(i)

    def shift(self, i: int, delta: float) -> None:
        """coef_i += delta, for support example ``i``."""
        self._shift(i, delta, i + 1)
        self._mass += abs(delta) * np.sqrt(self._squares[self._slots[self._head + i]])

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
        n = len(chosen)
        copy(self.slots[chosen], self._slots)
        copy(weights, self._weights)
        self._head, self._tail = 0, n
        self._change_weights()
        self._moved = float(inner(self.coef, self.kernel_row())) - float(self.scores[self._round])
        self._sum_again(self._round + 1)
        if self._normed or self._track != _NONE:
            self._track_again(norm_sq)

    @interpreted
    def _track_again(self, norm_sq: float | None) -> None:
        if self._normed:
            self._norm_sq = float(self.gram() @ self.coef @ self.coef) if norm_sq is None else norm_sq
        if self._track != _NONE:
            K = self.gram()
            self.self_scores[:] = (K if self._track == _ALL else np.triu(K)) @ self.coef
            if self._track == _ALL:
                self._place[: len(K)] = np.arange(len(K))
                self._pairs, self._n_free = K, 0
                self._make_room()

    @property
    def tracked(self) -> tuple[bool, int]:
        """The quantities that the expansion tracks."""
        return self._normed, self._track

    def continue_from(self, other: Expansion) -> None:
        """Copy another expansion in the middle of a block; it tracks the same, and has only added examples so far."""
        for name, value in vars(other).items():
            if name not in ("_capacity", compiling.TYPE, "_tiles", "_pairs"):
                setattr(self, name, value.copy() if isinstance(value, np.ndarray) else value)
        self._look()
        # The other one may have room for more.
        room, n, free = min(len(other._pairs), self._capacity), self.size, self._free_places[: self._n_free]
        self._pairs, self._free_places = enlarged(other._pairs[:n, :n], room, room), free[free < room]
        self._n_free = len(self._free_places)
        self._free_places = np.resize(self._free_places, room)

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        # An example that was added in round r (from 0) and kept its weight is part of the hypotheses of all later
        # rounds.
        share = 1 - (self.rounds + 1) / self._pool.seen if averaged else 1.0
        scores = np.zeros(X.shape[0])
        add_up(share * self.coef, np.arange(self.size), self._pool.values(self.slots, X), scores)
        return scores

    @property
    def doubt(self) -> float:
        return UNSURE * self._mass if self._plain else -1.0

    def score_at(self, t: int) -> float:
        return self._score_at(t)

    @apart
    def _score_at(self, t: int) -> float:
        score = float(self.scores[t])
        if abs(score) <= UNSURE * self._mass * self.lengths[t]:
            score, least = sum_and_limit(self._weights[self._head : self._tail], self._values_at(t))
            return self._set_score(t, score, least)
        return score

    def memory(self, size: int, block: int) -> float:
        return 2 * super().memory(size, block) - self.bytes_needed(size)

    def bytes_needed(self, size: int) -> float:
        # The pairs are copied as they grow.
        return super().bytes_needed(size) + (1.5 * 8 * (size + 1) ** 2 if self._track == _ALL and size else 0.0)

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        # Scores of support examples and their places; pairs, and free places.
        pairs = 8.0 * size * (size + 1) if self._track == _ALL else 0.0
        return super().bytes_kept(size, row, n_features) + 16.0 * size + pairs

    def _add_up(self, weights: np.ndarray, slots: np.ndarray, t: int) -> None:
        end, n = self._end(t), 0
        tile, scores = self._tiles[self._tile][:, t - self.tile_start : end - self.tile_start], self.scores[t:end]
        if self._n_known > 0:
            n = self._n_known
            copy(self._known[t:end], scores)
        else:
            scores[:] = 0.0
        add_up(weights[n:], slots[n:], tile, scores)

    def _change(self, slot: int, weight: float, t: int) -> None:
        end = self._end(t)
        rest = self.scores[t:end]
        if slot == SCALED:
            rest *= weight
        else:
            add_multiple(rest, weight, self._tiles[self._tile, slot, t - self.tile_start : end - self.tile_start])

    def _end(self, t: int) -> int:
        """Return the round before which scores from round ``t`` on are computed."""
        return min(t + 1, self.tile_end) if self._stepwise else self.tile_end

    def _shift(self, i: int, delta: float, own: int) -> None:
        """Update everything that depends on f, except the weight itself, for coef_i += delta.

        With ``track="oldest"``, this changes `_own` for the first ``own`` examples.
        """
        slot = self._slots[self._head + i]
        if self._normed:
            self._norm_sq += delta * (delta * self._squares[slot] + 2 * self.score_of(i))
        if self._track == _ALL:
            add_multiple(self.self_scores, delta, self._row(i))
        elif self._track == _OLDEST and own:
            add_multiple(self.self_scores[:own], delta, self._computed_row(i)[:own])
        self._weights[self._head + i] += delta
        self._change_weights()
        self._moved += delta * self._value(slot)
        self._change_scores(slot, delta)

    def _row(self, i: int) -> np.ndarray:
        """Return k(x_i, x_j) for all support examples j, from `_pairs`, shape (size,)."""
        values, places = np.empty(self.size), self._place[self._head : self._tail]
        place = places[i]
        copy(taken(self._pairs[place], places[:i]), values)
        values[i] = self._squares[self._slots[self._head + i]]
        copy(taken(self._pairs[:, place], places[i + 1 :]), values[i + 1 :])
        return values

    @interpreted
    def _computed_row(self, i: int) -> np.ndarray:
        """Compute k(x_i, x_j) for all support examples j, shape (size,)."""
        return self._pool.between(self.slots, self.slots[i : i + 1])[:, 0]

    def has_room(self) -> bool:
        return self._has_places() and (self._track != _ALL or min(self._most, self._capacity) <= len(self._pairs))

    def _make_room(self) -> None:
        super()._make_room()
        old, most = len(self._pairs), min(self._most, self._capacity)
        if self._track == _ALL and most > old:
            room = min(max(most, old * 3 // 2), self._capacity)
            free = np.zeros(room, dtype=np.intp)
            # The last one is the next to be taken: the first place.
            n_new = room - old
            free[:n_new] = np.arange(room - 1, old - 1, -1)
            free[n_new : n_new + self._n_free] = self._free_places[: self._n_free]
            self._pairs, self._free_places = enlarged(self._pairs, room, room), free
            self._n_free += n_new


def sum_ahead(pool: Pool, forms: Sequence[Hypothesis]) -> None:
    """Compute the sums of a block that follows for all expansions together, unless their weights change often."""
    expansions = [f for f in forms if isinstance(f, Expansion)]
    steady = [f for f in expansions if f._n_known >= 0]
    for f in expansions:
        f._n_known = 0
    ends = np.cumsum([f.size for f in steady])
    if len(steady) < 2 or ends[-1] < 2 * pool.used or pool.tiles.shape[2] < TILE:
        return
    weights, slots = (np.concatenate(parts) for parts in zip(*((f.coef, f.slots) for f in steady), strict=True))
    sums = np.zeros((len(steady), len(pool.block_slots)))
    chunk = 1 + pool.seen * _CHUNK // pool.used
    given = weights, slots, ends, pool.rounds, pool.seen, chunk, pool.tiles, sums
    if not (compute := compiling.loop("add_up_together", *given)):
        return
    compute()
    for f, known in zip(steady, sums, strict=True):
        f._known, f._n_known = known, f.size


# Rows of a tile that the second fastest cache holds, with room to spare.
_CHUNK = 512
