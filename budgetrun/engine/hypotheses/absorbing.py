"""Kernel expansions beside random features, which take over the examples that leave."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from budgetrun.engine.hypotheses import Expansion, MulticlassExpansion, random_features
from budgetrun.engine.hypotheses.base import Summed
from budgetrun.engine.hypotheses.multiclass import rival_of
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows
from budgetrun.kernels.sums import add_multiple, add_up


class _Absorbing(Summed):
    """f = sum_i coef_i k(x_i, .) + w . z, where z are the `RandomFeatures` with these parameters.

    `absorb` is a verb in addition to those of the expansion. ``shape`` is the number of classes, for one function each.
    """

    def __init__(self, pool: Pool, rate: float, n_frequencies: int, seed: int, *shape: int) -> None:
        super().__init__(pool, *shape)
        self._map = random_features(pool, rate, n_frequencies, seed)
        self._w = np.zeros((*self.scores.shape[:-1], 2 * n_frequencies))
        self._all = np.arange(2 * n_frequencies)
        # The features of the support examples when the block began, and of the block's examples; the latter by feature,
        # too. By slot: the row of an example, counted through both.
        self._kept = self._Z = self._by_feature = np.zeros((0, 2 * n_frequencies))
        self._rows = np.zeros(0, dtype=np.intp)

    def absorb(self: Any, n: int) -> None:
        """Remove the ``n`` support examples of smallest weight, and add their weights times their features to w.

        They are chosen one after the other: each time the oldest whose weight exceeds the smallest by at most
        `rounding`.
        """
        left, change, any_left = np.abs(self._weights[self._head : self._tail]), np.zeros_like(self._w), False
        for _ in range(n):
            left[(left <= left.min() + self.rounding).argmax()] = np.inf
        for i in range(len(left) - 1, -1, -1):
            if left[i] < np.inf:
                continue
            slot, weight = self._slots[self._head + i], self._weights[self._head + i]
            if weight != 0:
                row, n_kept = self._rows[slot], len(self._kept)
                self._hand_over(change, slot, weight, self._kept[row] if row < n_kept else self._Z[row - n_kept])
                any_left = True
            self.evict(i)
        if any_left:
            w = self._w
            w += change
            self._change_beside(change)

    def _hand_over(self, change: np.ndarray, slot: int, weight: float, z: np.ndarray) -> None:
        """Add the weight of an example, times its features, to ``change``."""
        raise NotImplementedError

    def _change_beside(self, change: np.ndarray) -> None:
        """Change the scores from the current round on, for w += change."""
        raise NotImplementedError

    def _values_of(self, w: np.ndarray) -> np.ndarray:
        """Return w . z(x_t) for the rest of the tile, the current round first."""
        values = np.zeros(self.tile_end - self._round)
        add_up(w, self._all, self._by_feature[:, self._round : self.tile_end], values)
        return values

    def begin_block(self) -> None:
        super().begin_block()
        features = self._map.of_block(self._pool)
        self._Z, self._by_feature = features.Z, features.by_feature
        self._rows = np.zeros(len(self._squares), dtype=np.intp)
        self._rows[self.slots] = np.arange(self.size)
        self._rows[self._block_slots] = len(self._kept) + np.arange(len(self._Z))

    def end_block(self) -> None:
        rows, n_kept = self._rows[self.slots], len(self._kept)
        self._kept = np.concatenate((self._kept[rows[rows < n_kept]], self._Z[rows[rows >= n_kept] - n_kept]))
        self._Z = self._by_feature = np.zeros((0, len(self._all)))

    def features_in_use(self) -> np.ndarray:
        return np.ones(self._pool.n_features, dtype=bool)

    def rearrange(self, features: Sequence[int], n_features: int) -> None:
        self._w = self._map.widened(self._w, n_features)

    def memory(self, size: int, block: int) -> float:
        # The block's features twice; those of the support set are copied.
        return super().memory(size, block) + 16 * self._w.shape[-1] * (block + size)

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        # The features of support examples, weights, frequencies, and the rows of examples by slot.
        n = self._w.shape[-1]
        own = 8.0 * (n * (size + 1) + self._w.size + n_features * n // 2 + size)
        return float(super().bytes_kept(size, row, n_features)) + own

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        return self._w @ self._map.of(X).T + super().score(X)  # type: ignore[safe-super]  # of the expansion


class AbsorbingExpansion(_Absorbing, Expansion):
    """The form for two classes. A score of at most `rounding` counts as 0."""

    form = "absorbing"
    _plain = False

    def score_at(self, t: int) -> float:
        return self._set_score(t, self.scores[t], self.rounding)

    def _add_beside(self, t: int) -> None:
        add_up(self._w, self._all, self._by_feature[:, t : self.tile_end], self.scores[t : self.tile_end])

    def _hand_over(self, change: np.ndarray, slot: int, weight: float, z: np.ndarray) -> None:
        add_multiple(change, weight, z)

    def _change_beside(self, change: np.ndarray) -> None:
        values = self._values_of(change)
        self._moved += values[0]
        add_multiple(self.scores[self._round + 1 : self.tile_end], 1.0, values[1:])


class MulticlassAbsorbing(_Absorbing, MulticlassExpansion):
    """The form for several classes. Scores that differ by at most `rounding` tie."""

    form = "multiclass_absorbing"
    revision = 1

    def lead_at(self, t: int, y: int, handicaps: np.ndarray) -> tuple[int, float]:
        rival, lead, _ = rival_of(self.scores[:, t] + handicaps, y, self.scores[y, t], self.rounding)
        return rival, 0.0 if abs(lead) <= self.rounding else lead

    def _add_beside(self, t: int) -> None:
        for c in range(self.n_classes):
            beside = self._by_feature[:, t : self.tile_end]
            add_up(self._w[c], self._all, beside, self.scores[c, t : self.tile_end])

    def _hand_over(self, change: np.ndarray, slot: int, weight: float, z: np.ndarray) -> None:
        add_multiple(change[self._classes[slot]], weight, z)
        add_multiple(change[self._rivals[slot]], -weight, z)

    def _change_beside(self, change: np.ndarray) -> None:
        for c in range(self.n_classes):
            values = self._values_of(change[c])
            self._moved[c] += values[0]
            add_multiple(self.scores[c, self._round + 1 : self.tile_end], 1.0, values[1:])
