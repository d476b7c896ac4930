"""Multiclass kernel expansions: one weighted sum per class; the class of the largest score is predicted."""

import numpy as np

from budgetrun.base.problem import CANCELLED, UNSURE
from budgetrun.engine.hypotheses.base import Summed, sum_and_limit
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows
from budgetrun.kernels.sums import add_multiple, add_up


class MulticlassExpansion(Summed):
    """f_c = sum_i coef[c, i] k(x_i, .), with one support set for all classes.

    The verbs are `add` and `evict`. The scores of f_0, ..., f_{m-1} are the rows of `scores`.

    Attributes:
    coef : ndarray of float64, shape (n_classes, size)
        The weights, oldest example first.
    """

    form = "multiclass"
    revision = 2

    def __init__(self, pool: Pool, n_classes: int) -> None:
        super().__init__(pool, n_classes)
        # An example has its weight in one class, and minus its weight in a rival. These are counted by slot.
        self._classes = np.zeros(0, dtype=np.intp)
        self._rivals = np.zeros(0, dtype=np.intp)

    @property
    def coef(self) -> np.ndarray:
        coef, slots = np.zeros((self.n_classes, self.size)), self.slots
        weights, at = self._weights[self._head : self._tail], np.arange(self.size)
        coef[self._classes[slots], at], coef[self._rivals[slots], at] = weights, -weights
        return coef

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        return super().bytes_kept(size, row, n_features) + 16.0 * size

    def add(self, y: int, rival: int, weight: float) -> None:
        """f_y += weight k(x_t, .) and f_rival -= weight k(x_t, .), for the example of the current round."""
        slot = self._block_slots[self._round]
        self._classes[slot], self._rivals[slot] = y, rival
        self._put_last(slot, weight)
        self._shift(slot, weight)

    def evict(self, i: int) -> None:
        """Drop support example ``i`` from all classes."""
        slot, weight = self._slots[self._head + i], self._weights[self._head + i]
        self._remove(i)
        self._shift(slot, -weight)

    def _begin_round(self) -> None:
        self._moved[:] = 0.0

    def lead_at(self, t: int, y: int, handicaps: np.ndarray) -> tuple[int, float]:
        least = UNSURE * self._mass * self.lengths[t]
        rival, lead, tied = rival_of(self.scores[:, t] + handicaps, y, self.scores[y, t], least)
        if not tied:
            return rival, lead
        # Sum the scores again.
        weights, values, limits = self._weights[self._head : self._tail], self._values_at(t), np.zeros(self.n_classes)
        for c in range(self.n_classes):
            mine, signed = self._of_class(c, weights, self.slots)
            self.scores[c, t], limits[c] = sum_and_limit(signed, values[mine])
        return rival_among(self.scores[:, t], y, handicaps, limits)

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        scores = np.zeros((self.n_classes, X.shape[0]))
        # An example that was added in round r (from 0) and kept its weight is part of all later hypotheses.
        share = 1 - (self.rounds + 1) / self._pool.seen if averaged else 1.0
        weights, values = share * self._weights[self._head : self._tail], self._pool.values(self.slots, X)
        for c in range(self.n_classes):
            mine, signed = self._of_class(c, weights, self.slots)
            add_up(signed, np.flatnonzero(mine), values, scores[c])
        return scores

    def _add_up(self, weights: np.ndarray, slots: np.ndarray, t: int) -> None:
        tile = self._tiles[self._tile][:, t - self.tile_start :]
        self.scores[:, t : self.tile_end] = 0.0
        for c in range(self.n_classes):
            mine, signed = self._of_class(c, weights, slots)
            add_up(signed, slots[mine], tile, self.scores[c, t : self.tile_end])

    def _change(self, slot: int, weight: float, t: int) -> None:
        values = self._tiles[self._tile, slot, t - self.tile_start :]
        add_multiple(self.scores[self._classes[slot], t : self.tile_end], weight, values)
        add_multiple(self.scores[self._rivals[slot], t : self.tile_end], -weight, values)

    def _of_class(self, c: int, weights: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which examples have a weight in class ``c``, and these weights."""
        plus, minus = self._classes[slots] == c, self._rivals[slots] == c
        mine = plus | minus
        return mine, np.where(plus, weights, -weights)[mine]

    def _shift(self, slot: int, weight: float) -> None:
        """Update the scores of an example that is added, or removed with minus its weight."""
        change = weight * self._value(slot)
        self._moved[self._classes[slot]] += change
        self._moved[self._rivals[slot]] -= change
        self._change_scores(slot, weight)

    def has_room(self) -> bool:
        return self._has_places() and len(self._classes) >= len(self._squares)

    def _make_room(self) -> None:
        super()._make_room()
        capacity = self._pool.capacity
        if capacity > len(self._classes):
            self._classes, self._rivals = np.resize(self._classes, capacity), np.resize(self._rivals, capacity)


def rival_of(scores: np.ndarray, y: int, own: float, least: float) -> tuple[int, float, bool]:
    """Return the first class with the largest score apart from ``y``, the lead over it, and whether scores tie.

    ``own`` is the score of ``y``, and scores that differ by at most ``least`` tie.
    """
    scores[y] = -np.inf
    best = scores[scores.argmax()]
    close = (scores >= best - least).nonzero()[0]
    return int(close[0]), float(own - best), len(close) > 1 or abs(own - best) <= least


def rival_among(scores: np.ndarray, y: int, handicaps: np.ndarray, limits: np.ndarray) -> tuple[int, float]:
    """Return the first class with the largest score apart from ``y``, and the lead over it; 0 if ``y`` ties.

    ``handicaps`` are added to the scores of other classes. Two scores tie if they differ by at most the larger of their
    own ``limits``, shape (n_classes,), to which the handicaps add.
    """
    own, others, sizes = scores[y], scores + handicaps, limits + CANCELLED * np.abs(handicaps)
    others[y] = -np.inf
    best = others.argmax()
    lead = own - others[best]
    close = others >= others[best] - np.maximum(sizes, sizes[best])
    if lead >= -max(limits[y], sizes[best]) and (np.abs(own - others) <= np.maximum(sizes, limits[y])).any():
        lead = 0.0
    return int(close.nonzero()[0][0]), float(lead)
