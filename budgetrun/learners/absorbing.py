"""Kernel expansions beside random features, which take over the examples that leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from budgetrun.compiling import interpreted
from budgetrun.engine.hypotheses import Expansion, MulticlassExpansion, random_features
from budgetrun.engine.hypotheses.multiclass import rival_of
from budgetrun.engine.hypotheses.summed import Summed
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows


class _Absorbing(Summed):
    """f = sum_i coef_i k(x_i, .) + w . z, where z are random features.

    `absorb` is a verb in addition to those of the expansion.

    Parameters
    ----------
    pool : Pool
    rate : float, > 0
    n_frequencies : int, >= 1
    seed : int, >= 0
        See `budgetrun.kernels.features.RandomFeatures`.
    """

    prepares_tiles: ClassVar[bool] = True

    def _begin(self, rate: float, n_frequencies: int, seed: int) -> None:
        self._map = random_features(self._pool, rate, n_frequencies, seed)
        shape = self.scores.shape[:-1]
        self._w = np.zeros((*shape, 2 * n_frequencies))
        # For the block: the features of its examples, and w . z.
        self._Z = np.zeros((0, 0))
        self._beside = np.zeros((*shape, 0))

    @interpreted
    def absorb(self: Any, chosen: np.ndarray) -> None:
        """Remove support examples, and add their weights times their random features to w.

        Parameters
        ----------
        chosen : ndarray of int, ascending
            Counted from 0, oldest first.
        """
        weights, slots = self.coef[..., chosen], self.slots[chosen]
        for i in chosen[::-1]:
            self.evict(int(i))
        acted = np.flatnonzero(weights.reshape(-1, len(chosen)).any(axis=0))
        if not len(acted):
            return
        change = weights[..., acted] @ self._map.of(self._pool.examples(slots[acted]))
        self._w += change
        first, end = self._round, self.tile_end
        values = change @ self._Z[first:end].T
        self._beside[..., first:end] += values
        self.scores[..., first + 1 : end] += values[..., 1:]
        self._moved += values[..., 0]

    # -- called by the engine ------------------------------------------------------------------------------------

    def begin_block(self) -> None:
        super().begin_block()
        pool = self._pool
        self._Z = self._map.of_block(pool.seen, lambda: pool.examples(pool.block_slots)).Z
        self._beside = np.zeros(self.scores.shape)

    @interpreted
    def _score_tile(self) -> None:
        tile = slice(self.tile_start, self.tile_end)
        self._beside[..., tile] = self._w @ self._Z[tile].T
        self._sum_tile()

    def _add_beside(self, t: int) -> None:
        self.scores[..., t : self.tile_end] += self._beside[..., t : self.tile_end]

    def end_block(self) -> None:
        self._Z = np.zeros((0, 0))

    def features_in_use(self) -> np.ndarray:
        return np.ones(self._pool.n_features, dtype=bool)

    def rearrange(self, features: Sequence[int], n_features: int) -> None:
        self._w = self._map.widened(self._w, n_features)

    def memory(self, size: int, block: int) -> float:
        return super().memory(size, block) + 8 * self._w.shape[-1] * (block + size)

    def _scores_of(self, X: Rows, averaged: bool) -> np.ndarray:
        scores: np.ndarray = self._w @ self._map.of(X).T
        return scores


class AbsorbingExpansion(_Absorbing, Expansion):
    """The form for two classes. A score of at most `rounding` counts as 0."""

    form = "absorbing"
    _plain = False

    def __init__(self, pool: Pool, rate: float, n_frequencies: int, seed: int) -> None:
        super().__init__(pool)
        self._begin(rate, n_frequencies, seed)

    def score_at(self, t: int) -> float:
        if abs(self.scores[t]) <= self.rounding:
            self.scores[t] = 0.0
        return float(self.scores[t])

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        return self._scores_of(X, averaged) + Expansion.score(self, X)


class MulticlassAbsorbing(_Absorbing, MulticlassExpansion):
    """The form for several classes. Scores that differ by at most `rounding` tie."""

    form = "multiclass_absorbing"

    def __init__(self, pool: Pool, n_classes: int, rate: float, n_frequencies: int, seed: int) -> None:
        super().__init__(pool, n_classes)
        self._begin(rate, n_frequencies, seed)

    def lead_at(self, t: int, y: int, handicaps: np.ndarray) -> tuple[int, float]:
        rival, lead, _ = rival_of(self.scores[:, t] + handicaps, y, self.scores[y, t], self.rounding)
        return rival, 0.0 if abs(lead) <= self.rounding else lead

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        return self._scores_of(X, averaged) + MulticlassExpansion.score(self, X)


def smallest(values: np.ndarray, n: int, tolerance: float) -> np.ndarray:
    """Return the places of the ``n`` smallest values, ascending.

    They are taken one after the other: each time the first value that exceeds the smallest by at most ``tolerance``.
    """
    left, found = values.copy(), np.empty(n, dtype=np.intp)
    for j in range(n):
        found[j] = np.argmax(left <= left.min() + tolerance)
        left[found[j]] = np.inf
    return np.sort(found)
