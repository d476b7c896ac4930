"""Hypotheses whose weights decay from round to round, with a loss or without."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.engine.base import CANCELLED, BinaryHypothesis

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool
    from budgetrun.kernels import Rows


class DecayingHypothesis(BinaryHypothesis):
    """f = sum_i coef_i k(x_i, .), of which every round leaves ``decay`` times as much, after its prediction.

    The verbs a learner uses are `add` and `evict`, which speak of f as it is after the decay of the round in hand.
    Support examples are counted from 0, oldest first.

    Parameters
    ----------
    pool : Pool
    decay : float in (0, 1]

    Attributes
    ----------
    coef : ndarray of float64, shape (size,)
        The weights with which the next round predicts, oldest example first.

    Notes
    -----
    Nothing is done on rounds without a loss: scores of the block carry the powers of ``decay`` that will have passed by
    then, and weights are brought up to date when a learner acts, or the block ends.
    """

    def __init__(self, pool: Pool, decay: float) -> None:
        super().__init__(pool)
        self._decay = decay
        self._slots = np.empty(0, dtype=np.intp)
        # As they are before the block's round number `_since`.
        self._weights = np.empty(0)
        self._since = 0
        self._mass = 0.0
        # Of the block: powers of `decay`, and the kernel values of what is held, those of example i in row `_rows[i]`.
        self._powers = np.empty(0)
        self._values = np.empty((0, 0), dtype=pool.dtype)
        self._rows = np.empty(0, dtype=np.intp)
        self._free: list[int] = []

    # -- what a learner reads ------------------------------------------------------------------------------------

    @property
    def slots(self) -> np.ndarray:
        return self._slots

    @property
    def coef(self) -> np.ndarray:
        return self._weights

    # -- what a learner does -------------------------------------------------------------------------------------

    def add(self, weight: float) -> None:
        """f += weight k(x_t, .), for the example x_t of the round in hand."""
        slot = self._pool.block_slots.item(self._round)
        values = self._pool.block[slot]
        if not self._free:
            n = len(self._values)
            self._values = np.concatenate([self._values, np.zeros((n + 8, len(values)), self._values.dtype)])
            self._free = list(range(2 * n + 7, n - 1, -1))
        row = self._free.pop()
        self._values[row] = values
        self._slots = np.append(self._slots, slot)
        self._weights = np.append(self._weights, weight)
        self._rows = np.append(self._rows, row)
        self._mass += abs(weight)
        t = self._round + 1
        self.scores[t:] += weight * self._powers[: len(values) - t] * values[t:]

    def evict(self, i: int, weights: np.ndarray) -> None:
        """Forget support example ``i``; the others get ``weights``, shape (size - 1,)."""
        self._free.append(self._rows.item(i))
        self._slots = np.delete(self._slots, i)
        self._rows = np.delete(self._rows, i)
        self._weights = weights
        self._mass = float(np.abs(weights).sum())
        t = self._round + 1
        by_row = np.zeros(len(self._values), dtype=self._values.dtype)
        by_row[self._rows] = weights
        self.scores[t:] = (by_row @ self._values[:, t:]) * self._powers[: len(self._powers) - t]

    # -- what the engine does ------------------------------------------------------------------------------------

    def at(self, t: int, mistaken: bool) -> None:
        super().at(t, mistaken)
        self._pass(t + 1)

    def terms(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(self._slots, self._weights)]

    def begin_block(self, sums: np.ndarray) -> None:
        block = self._pool.block
        self._powers = self._decay ** np.arange(block.shape[1])
        self._values = block[self._slots]
        self._rows, self._free = np.arange(self.size), []
        self._since = 0
        self._mass = float(np.abs(self._weights).sum())
        self.scores = sums[0]
        self.scores *= self._powers

    def end_block(self) -> None:
        self._pass(len(self._powers))
        self._since = 0
        self._values = np.empty((0, 0), dtype=self._pool.dtype)

    def doubt(self) -> float:
        return self._mass * self._pool.resolution

    def exact_score(self, t: int) -> float:
        values = self._pool.exact(self._slots, self._pool.block_slots.item(t))
        terms = self._weights * self._powers.item(t - self._since) * values
        score = math.fsum(terms.tolist())
        return 0.0 if abs(score) <= CANCELLED * np.abs(terms).sum() else score

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        if averaged:
            raise NotImplementedError("the mean of all hypotheses needs the examples that are gone")
        return self._weights @ self._values_with(X) if self.size else np.zeros(X.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        """Leave the block in hand out of pickles: between blocks it has no meaning."""
        return self.__dict__ | {"_values": np.empty((0, 0), dtype=self._pool.dtype), "_powers": np.empty(0)}

    def _pass(self, t: int) -> None:
        """Let the weights decay until they are those that predict in round ``t`` of the block."""
        self._weights = self._weights * self._decay ** (t - self._since)
        self._since = t
