"""Hypotheses that predict with a hint: the mean of the last examples, times a weight, is added to f."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from budgetrun.engine.hypotheses.base import Act
from budgetrun.engine.hypotheses.expansion import Expansion

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool
    from budgetrun.kernels import Rows


class Optimistic(Expansion):
    """f = sum_i coef_i k(x_i, .); the prediction is that of f + hint_weight * hint.

    The hint is the mean of y_j k(x_j, .) over the last ``window`` rounds j; their examples are stored in addition to
    the support set. The additional verbs are `set_hint_weight` and `project`. P is the projection on the span of the
    support set.

    Parameters
    ----------
    pool : Pool
    window : int, >= 1
        The number of rounds that the hint averages; at the start of the stream, all rounds so far.
    hint_weight : float
        The initial factor of the hint.

    Attributes
    ----------
    hint : float
        The hint's value on the example of the current round.
    residual : float, >= 0
        ||k(x, .) - P k(x, .)||^2 for that example: the squared error of projecting it.
    projected_square, projected_hint : float
        ||P k(x, .)||^2, and the inner product of P k(x, .) with the hint.

    Notes
    -----
    `scores` are predictions, except while the learner acts: then they are the scores of f without the hint, which the
    verbs change.
    """

    form = "optimistic"

    def __init__(self, pool: Pool, window: int, hint_weight: float) -> None:
        super().__init__(pool, norm=True)
        self._window = window
        self._hint_weight = hint_weight
        # The examples of the last rounds before the block, oldest first.
        self._recent: Rows | None = None
        self._recent_labels = np.empty(0)
        # For the block: the scores of f and the predictions; once the labels are known, the hint's values, and the
        # labels of the recent rounds followed by the block's.
        self._own = self._predictions = self.scores
        self._hints: np.ndarray | None = None
        self._labels = np.empty(0)
        # The Cholesky factor of the support set's kernel matrix, and the weights of P k(x_t, .); None if not computed.
        self._factor: Any = None
        self._shares: np.ndarray | None = None

    # -- read by learners ----------------------------------------------------------------------------------------

    @property
    def hint(self) -> float:
        assert self._hints is not None
        return self._hints.item(self._round)

    @property
    def projected_square(self) -> float:
        return float(self._projection() @ self.kernel_row())

    @property
    def residual(self) -> float:
        return max(0.0, self.square - self.projected_square)

    @property
    def projected_hint(self) -> float:
        first, last = self._span_of_hint(self._round)
        if first == last or not self.size:
            return 0.0
        n, pool = len(self._recent_labels), self._pool
        inside = pool.block[np.ix_(self.slots, np.arange(max(0, first - n), last - n))] if last > n else None
        parts = [] if inside is None else [inside]
        if first < n:
            assert self._recent is not None
            parts.insert(0, pool.kernel.between(pool.examples(self.slots), self._recent[first:]))
        values = self._projection() @ np.concatenate(parts, axis=1)
        return float(values @ self._labels[first:last]) / (last - first)

    # -- verbs ---------------------------------------------------------------------------------------------------

    def set_hint_weight(self, hint_weight: float) -> None:
        """From the next round on, predict with f + hint_weight * hint."""
        self._hint_weight = hint_weight

    def add(self, weight: float) -> None:
        super().add(weight)
        self._factor = self._shares = None

    def evict(self, i: int) -> None:
        super().evict(i)
        self._factor = self._shares = None

    def replace(self, i: int, point: Rows, weight: float) -> None:
        super().replace(i, point, weight)
        self._factor = self._shares = None

    def keep(self, chosen: np.ndarray, weights: np.ndarray, norm_sq: float | None = None) -> None:
        if len(chosen) < self.size:
            self._factor = None
        super().keep(chosen, weights, norm_sq)

    def project(self, weight: float) -> None:
        """f += weight P k(x_t, .), for the current round's x_t; the support set must be linearly independent."""
        # f lies in the span, so <f, P k(x, .)> = f(x).
        norm_sq = self.norm_sq + weight * (2 * self.current + weight * self.projected_square)
        self.keep(np.arange(self.size), self.coef + weight * self._projection(), norm_sq)

    # -- called by the engine ------------------------------------------------------------------------------------

    def begin_block(self, sums: np.ndarray) -> None:
        super().begin_block(sums)
        self._own, self._predictions = self.scores, self.scores.copy()
        self._hints = None

    def next_act(self, y: np.ndarray, t: int, learner: Any, tie: str) -> Act | None:
        if self._hints is None:
            self._hints = self._hints_of(y)
        self._predictions[t:] = self._own[t:] + self._hint_weight * self._hints[t:]
        self.scores = self._predictions
        return super().next_act(y, t, learner, tie)

    def at(self, t: int, mistaken: bool) -> None:
        self.scores = self._own
        super().at(t, mistaken)
        self._shares = None

    def end_block(self) -> None:
        first, last = self._span_of_hint(len(self._own))
        n, slots = len(self._recent_labels), self._pool.block_slots
        self._recent = self._stacked(first, n, slots[max(0, first - n) : last - n])
        self._recent_labels = self._labels[first:last].copy()
        self._shares = None

    def doubt(self) -> float:
        return super().doubt() + abs(self._hint_weight) * self._pool.resolution

    def exact_score(self, t: int) -> float:
        pool, n = self._pool, len(self._recent_labels)
        slot, (first, last) = pool.block_slots.item(t), self._span_of_hint(t)
        terms = self.coef * pool.exact(self.slots, slot)
        if first < last:
            rows = self._stacked(first, n, pool.block_slots[max(0, first - n) : last - n])
            values = pool.kernel.row(rows, pool.examples(np.array([slot])))
            terms = np.append(terms, self._hint_weight / (last - first) * self._labels[first:last] * values)
        score = math.fsum(terms.tolist())
        return 0.0 if abs(score) <= self.rounding * np.abs(terms).sum() else score

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        if averaged:
            raise NotImplementedError("the mean of all hypotheses needs examples that are no longer held")
        scores = super().score(X)
        if self._recent is not None and len(self._recent_labels):
            X = X.astype(self._pool.dtype, copy=False)
            weights = self._hint_weight / len(self._recent_labels) * self._recent_labels
            scores = scores + weights @ self._pool.kernel.between(self._recent, X)
        return scores

    # -- hints and projections -----------------------------------------------------------------------------------

    def _span_of_hint(self, t: int) -> tuple[int, int]:
        """Return the range of `_labels` that the hint of round ``t`` of the block averages."""
        last = len(self._recent_labels) + t
        return max(0, last - self._window), last

    def _hints_of(self, y: np.ndarray) -> np.ndarray:
        """Return the hint's value on every example of the block, whose labels are ``y``."""
        pool, n, b = self._pool, len(self._recent_labels), len(y)
        self._labels = np.append(self._recent_labels, y).astype(np.float64)
        totals, counts = np.zeros(b), np.minimum(np.arange(n, n + b), self._window)
        before = np.empty((0, b))
        if n:
            before = pool.kernel.between(self._recent, pool.examples(pool.block_slots))
        for lag in range(1, self._window + 1):
            rounds = np.arange(max(0, lag - n), b)
            outside = rounds[rounds < lag]
            inside = rounds[len(outside) :]
            totals[outside] += self._labels[outside + n - lag] * before[outside + n - lag, outside]
            totals[inside] += y[inside - lag] * pool.block[pool.block_slots[inside - lag], inside]
        return totals / np.maximum(counts, 1)

    def _stacked(self, first: int, n: int, slots: np.ndarray) -> Rows:
        """Return the recent examples from ``first`` to ``n``, followed by those in ``slots``."""
        inside = self._pool.examples(slots)
        if self._recent is None or first >= n:
            return inside
        kept = self._recent[first:]
        return np.concatenate([kept, inside]) if isinstance(inside, np.ndarray) else sp.vstack([kept, inside], "csr")

    def _projection(self) -> np.ndarray:
        """Return the weights of P k(x_t, .) on the support examples, shape (size,)."""
        if self._shares is None or len(self._shares) != self.size:
            if not self.size:
                self._shares = np.empty(0)
            else:
                if self._factor is None:
                    self._factor = cho_factor(self.gram(), lower=True)
                self._shares = cho_solve(self._factor, self.kernel_row())
        return self._shares
