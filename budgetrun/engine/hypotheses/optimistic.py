"""Hypotheses that predict with a hint: the mean of the last examples, times a weight, is added to f."""

import math
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from budgetrun.base.problem import UNSURE
from budgetrun.engine.hypotheses.base import Hypothesis
from budgetrun.engine.hypotheses.expansion import Expansion
from budgetrun.engine.play import Options
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows


class Hinted(Hypothesis):
    """A form whose prediction is that of f + hint_weight * hint.

    The hint is the mean of y_j k(x_j, .) over the last ``window`` rounds j; their examples are stored in addition to
    the support set. A form that mixes this in comes after it in the list of bases. The verb is `set_hint_weight`.

    Parameters:
    window : int, >= 1
        The number of rounds that the hint averages; at the start of the stream, all rounds so far.
    hint_weight : float
        The initial factor of the hint.

    Attributes:
    hint : float
        The hint's value on the example of the current round.
    """

    def _start_hint(self, window: int, hint_weight: float) -> None:
        self._window = window
        self._hint_weight = hint_weight
        # The examples of the last rounds before the block, oldest first, and then those of the block; their labels.
        self._last_slots = np.empty(0, dtype=np.intp)
        self._last_labels = np.empty(0)
        # For the block: how many rounds before it these are, the hint's values, once the labels are known, and the
        # predictions.
        self._n_before = 0
        self._hints: np.ndarray | None = None
        self._predictions = np.empty(0)

    @property
    def hint(self) -> float:
        assert self._hints is not None
        return self._hints.item(self._round)

    def set_hint_weight(self, hint_weight: float) -> None:
        """From the next round on, predict with f + hint_weight * hint."""
        self._hint_weight = hint_weight

    @property
    def predictions(self) -> np.ndarray:
        return self._predictions

    @property
    def held(self) -> np.ndarray:
        return np.concatenate([super().held, self._last_slots])

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        return super().bytes_kept(size, row, n_features) + self._window * (row + 32.0)

    def begin_block(self) -> None:
        super().begin_block()
        self._hints, self._predictions = None, np.zeros(len(self.scores))

    def play(self, learner: Any, y: np.ndarray, t: int, options: Options) -> int:
        if self._hints is None:
            self._hints = self._hints_of(y)
        return super().play(learner, y, t, options)

    def end_block(self) -> None:
        super().end_block()
        kept = slice(max(0, len(self._last_slots) - self._window), None)
        self._last_slots, self._last_labels = self._last_slots[kept], self._last_labels[kept]

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        scores = super().score(X)  # type: ignore[safe-super]  # of the form that this is mixed into
        if len(self._last_slots):
            weights = self._hint_weight / len(self._last_slots) * self._last_labels
            scores = scores + weights @ self._pool.values(self._last_slots, X)
        return scores

    def _span_of_hint(self, t: int) -> tuple[int, int]:
        """Return the range of `_last_labels` that the hint of round ``t`` of the block averages."""
        last = self._n_before + t
        return max(0, last - self._window), last

    def _hint_terms(self, t: int) -> np.ndarray:
        """Return the terms of hint_weight * hint for round ``t`` of the block."""
        first, last = self._span_of_hint(t)
        values = self._pool.block[self._last_slots[first:last], t]
        return self._hint_weight / max(1, last - first) * self._last_labels[first:last] * values

    def _hints_of(self, y: np.ndarray) -> np.ndarray:
        """Return the hint's value on every example of the block, whose labels are ``y``."""
        pool, n, b = self._pool, len(self._last_slots), len(y)
        self._n_before = n
        self._last_slots = np.concatenate([self._last_slots, pool.block_slots])
        self._last_labels = np.concatenate([self._last_labels, y])
        totals, counts = np.zeros(b), np.minimum(np.arange(n, n + b), self._window)
        for lag in range(1, self._window + 1):
            rounds = np.arange(max(0, lag - n), b)
            last = rounds + n - lag
            totals[rounds] += self._last_labels[last] * pool.block[self._last_slots[last], rounds]
        return totals / np.maximum(counts, 1)


class Optimistic(Hinted, Expansion):
    """f = sum_i coef_i k(x_i, .), with a hint.

    The additional verb is `project`. P is the projection on the span of the support set. Parameters: see `Hinted`.

    Attributes:
    residual : float, >= 0
        ||k(x, .) - P k(x, .)||^2 for the example of the current round: the squared error of projecting it.
    projected_square, projected_hint : float
        ||P k(x, .)||^2, and the inner product of P k(x, .) with the hint.
    """

    form = "optimistic"
    _plain = False

    def __init__(self, pool: Pool, window: int, hint_weight: float) -> None:
        super().__init__(pool, norm=True)
        self._start_hint(window, hint_weight)
        # The Cholesky factor of the kernel matrix of a support set, and the weights of P k(x_t, .) on one; and the
        # rounds of these support examples, if any.
        self._factor: Any = None
        self._shares = np.empty(0)
        self._factored = self._shared = np.empty(0, dtype=np.int64)

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
        values = self._projection() @ self._pool.between(self.slots, self._last_slots[first:last])
        return float(values @ self._last_labels[first:last]) / (last - first)

    def project(self, weight: float) -> None:
        """f += weight P k(x_t, .), for the current round's x_t; the support set must be linearly independent."""
        # f lies in the span, so <f, P k(x, .)> = f(x).
        norm_sq = self.norm_sq + weight * (2 * self.current + weight * self.projected_square)
        self.keep(np.arange(self.size), self.coef + weight * self._projection(), norm_sq)

    def score_at(self, t: int) -> float:
        assert self._hints is not None
        prediction = super().score_at(t) + self._hint_weight * self._hints.item(t)
        square = self._squares.item(self._block_slots.item(t))
        if abs(prediction) <= UNSURE * (self._mass + abs(self._hint_weight)) * math.sqrt(square):
            terms = self.coef * self._pool.block[self.slots, t]
            terms = np.append(terms, self._hint_terms(t))
            prediction = math.fsum(terms.tolist())
            if abs(prediction) <= self.rounding * np.abs(terms).sum():
                prediction = 0.0
        self._predictions[t] = prediction
        return prediction

    def _begin_round(self) -> None:
        super()._begin_round()
        self._shared = self._shared[:0]

    def _projection(self) -> np.ndarray:
        """Return the weights of P k(x_t, .) on the support examples, shape (size,)."""
        rounds = self.rounds
        if not len(rounds):
            return np.empty(0)
        if not np.array_equal(self._factored, rounds):
            self._factor, self._factored = cho_factor(self.gram(), lower=True), rounds
        if not np.array_equal(self._shared, rounds):
            self._shares, self._shared = cho_solve(self._factor, self.kernel_row()), rounds
        return self._shares
