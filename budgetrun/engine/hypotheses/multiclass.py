"""Multiclass hypotheses: one function per class; the class of the largest score is predicted."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from budgetrun.engine.hypotheses.base import CANCELLED, Hypothesis, Options

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool
    from budgetrun.engine.rules import MulticlassRule
    from budgetrun.kernels import Rows


class MulticlassHypothesis(Hypothesis):
    """Functions f_0, ..., f_{m-1}, whose scores are the rows of `scores`.

    The rival of a round is the class with the largest score apart from the true class y (the lowest such class, if
    several tie); the lead is f_y - f_rival. The round is a mistake unless the lead is positive.
    """

    def __init__(self, pool: Pool, n_classes: int) -> None:
        super().__init__(pool)
        self.scores = np.empty((n_classes, 0))
        self.n_classes = n_classes
        self._moved = np.zeros(n_classes)

    @property
    def current(self) -> np.ndarray:
        now: np.ndarray = self.scores[:, self._round] + self._moved
        return now

    def at(self, t: int, mistaken: bool) -> None:
        super().at(t, mistaken)
        self._moved = np.zeros(self.n_classes)

    def play(self, learner: MulticlassRule, y: np.ndarray, t: int, options: Options) -> int:
        b = len(y)
        while t < b:
            act = self._next_act(learner, y, t)
            if act is None:
                return b
            t, mistaken, told = act
            self.at(t, mistaken)
            learner.update(self, *told)
            self.largest_size = max(self.largest_size, self.size)
            t += 1
            if options.single:
                return t
        return b

    def _next_act(
        self, learner: MulticlassRule, y: np.ndarray, t: int
    ) -> tuple[int, bool, tuple[int, int, float]] | None:
        """Return the next round on which the learner acts, whether it is a mistake, and what it is told."""
        b = len(y)
        while t < b:
            doubt = self.doubt()
            true, scores = y[t:], self.scores[:, t:]
            at = np.arange(b - t)
            own = scores[true, at]
            others = scores.astype(np.float64)
            others[true, at] = -np.inf
            best = others.max(axis=0)
            lead = own - best
            close = others >= best - doubt
            rivals = close.argmax(axis=0)
            costs = learner.costs
            if costs is None:
                margins, tempting = lead, rivals
            else:
                augmented = others + costs.T[:, true]
                worst = augmented.max(axis=0)
                margins, tempting = own - worst + 1, (augmented >= worst - doubt).argmax(axis=0)
            thresholds = learner.margins(self, t, true, tempting)
            hits = (lead <= doubt) | (margins <= thresholds + doubt)
            k = int(hits.argmax())
            if not hits[k]:
                return None
            t += k
            label, rival, gap = int(true[k]), int(rivals[k]), lead.item(k)
            threshold, margin, tempter = _at(thresholds, k), margins.item(k), int(tempting[k])
            if abs(gap) <= doubt or abs(margin - threshold) <= doubt or np.count_nonzero(close[:, k]) > 1:
                rival, gap = self.settled(t, label)
                if costs is None:
                    margin, tempter = gap, rival
                    threshold = _at(learner.margins(self, t, true[k : k + 1], np.array([rival])), 0)
            if gap <= 0:
                return t, True, (label, rival, gap)
            if margin < threshold:
                return t, False, (label, tempter, margin)
            t += 1
        return None

    @abstractmethod
    def doubt(self) -> float:
        """Return the possible rounding error of a lead."""

    @abstractmethod
    def settled(self, t: int, y: int) -> tuple[int, float]:
        """Return the rival and the lead of round ``t`` of the block, with as little rounding error as possible."""


class MulticlassExpansion(MulticlassHypothesis):
    """f_c = sum_i coef[c, i] k(x_i, .), with one support set for all classes.

    The verbs are `add` and `evict`.

    Attributes
    ----------
    coef : ndarray of float64, shape (n_classes, size)
        The weights, oldest example first.
    """

    form = "multiclass"

    def __init__(self, pool: Pool, n_classes: int) -> None:
        super().__init__(pool, n_classes)
        self._slots = np.empty(16, dtype=np.intp)
        self._coef = np.zeros((n_classes, 16))
        self._size = 0
        self._mass = 0.0

    @property
    def size(self) -> int:
        return self._size

    @property
    def slots(self) -> np.ndarray:
        return self._slots[: self._size]

    @property
    def coef(self) -> np.ndarray:
        return self._coef[:, : self._size]

    # -- verbs ---------------------------------------------------------------------------------------------------

    def add(self, y: int, rival: int, weight: float) -> None:
        """f_y += weight k(x_t, .) and f_rival -= weight k(x_t, .), for the example of the current round."""
        pool, t, n = self._pool, self._round, self._size
        if n == len(self._slots):
            self._slots = np.concatenate([self._slots, np.empty_like(self._slots)])
            self._coef = np.concatenate([self._coef, np.zeros_like(self._coef)], axis=1)
        slot = pool.block_slots.item(t)
        self._slots[n] = slot
        self._coef[:, n] = 0
        self._coef[y, n], self._coef[rival, n] = weight, -weight
        self._size = n + 1
        self._mass += abs(weight)
        change = weight * pool.block[slot, t + 1 :]
        self.scores[y, t + 1 :] += change
        self.scores[rival, t + 1 :] -= change
        self._moved[y] += weight * self.square
        self._moved[rival] -= weight * self.square

    def evict(self, i: int) -> None:
        """Drop support example ``i``, counted from 0, oldest first, from all classes."""
        pool, t, n = self._pool, self._round + 1, self._size
        rest = self.scores[:, t:]
        rest -= self._coef[:, i, None] * pool.block[self._slots[i], t:]
        self._moved -= self._coef[:, i] * pool.block[self._slots[i], self._round]
        self._slots[i : n - 1] = self._slots[i + 1 : n]
        self._coef[:, i : n - 1] = self._coef[:, i + 1 : n]
        self._size = n - 1

    # -- called by the engine ------------------------------------------------------------------------------------

    def begin_block(self) -> None:
        self.scores = self.coef @ self._pool.block[self.slots]
        self._mass = float(np.abs(self.coef).sum(axis=1).max())

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        if not self.size:
            return np.zeros((self.n_classes, X.shape[0]))
        # An example that was added in round r (from 0) and kept its weights is part of all later hypotheses.
        share = 1 - (self.rounds + 1) / self._pool.seen if averaged else 1.0
        scores: np.ndarray = (share * self.coef) @ self._values_with(X)
        return scores

    def memory(self, size: int, block: int) -> float:
        return super().memory(size, block) + 8 * self.n_classes * (size + block)

    def doubt(self) -> float:
        # A lead is the difference of two scores.
        return 1e-12 * self._mass * float(np.sqrt(self._pool.squares[self._pool.block_slots].max()))

    def settled(self, t: int, y: int) -> tuple[int, float]:
        terms = self.coef * self._pool.block[self.slots, t]
        scores = np.array([math.fsum(row) for row in terms.tolist()])
        self.scores[:, t] = scores
        # Weights other than whole numbers have rounding errors of their own.
        least = CANCELLED * np.abs(terms).sum(axis=1).max()
        own = scores[y]
        scores[y] = -np.inf
        lead = float(own - scores.max())
        return int((scores >= scores.max() - least).argmax()), 0.0 if abs(lead) <= least else lead


def _at(values: float | np.ndarray, k: int) -> float:
    """Return the value of round ``k``, from one value per round or one for all."""
    return values if isinstance(values, float) else values.item(k)
