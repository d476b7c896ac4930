"""Hypotheses whose weights decay in every round, with or without a loss."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.engine.hypotheses.base import CANCELLED, BinaryHypothesis

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool
    from budgetrun.kernels import Rows


class Decaying(BinaryHypothesis):
    """f = sum_i coef_i k(x_i, .), multiplied by ``decay`` in every round after the prediction.

    The verbs are `add` and `displace`, which apply after the decay of the current round. Support examples are in places
    counted from 0; a new example takes the place of the one that it displaces.

    Parameters
    ----------
    pool : Pool
    decay : float in (0, 1]

    Attributes
    ----------
    coef : ndarray of float64, shape (size,)
        The weights for the prediction of the next round, by place.

    Notes
    -----
    Rounds without a loss cost nothing: the scores of the block include the decay up to their round, and the weights are
    updated when the learner acts or the block ends.
    """

    form = "decaying"

    def __init__(self, pool: Pool, decay: float) -> None:
        super().__init__(pool)
        self._decay = decay
        self._slots = np.empty(16, dtype=np.intp)
        # The weights before round `_since` of the block.
        self._weights = np.empty(16)
        self._size = 0
        self._since = 0
        self._mass = 0.0
        # For the block: powers of `decay`, and the kernel values of the support examples, shape (capacity, b).
        self._powers = np.empty(0)
        self._values = np.empty((0, 0), dtype=pool.dtype)

    # -- read by learners ----------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        return self._size

    @property
    def slots(self) -> np.ndarray:
        """The slots of the support examples in the pool, by place; shape (size,)."""
        return self._slots[: self._size]

    @property
    def coef(self) -> np.ndarray:
        return self._weights[: self._size]

    # -- verbs ---------------------------------------------------------------------------------------------------

    def add(self, weight: float) -> None:
        """f += weight k(x_t, .), for the example x_t of the current round, in a new place."""
        n = self._size
        if n == len(self._slots):
            self._slots = np.concatenate([self._slots, np.empty_like(self._slots)])
            self._weights = np.concatenate([self._weights, np.empty_like(self._weights)])
            self._values = np.concatenate([self._values, np.empty_like(self._values)])
        values = self._hold(n)
        self._moved += weight * values.item(self._round)
        self._weights[n] = weight
        self._size = n + 1
        self._mass += abs(weight)
        t = self._round + 1
        self.scores[t:] += weight * self._powers[: len(values) - t] * values[t:]

    def displace(self, i: int, weights: np.ndarray) -> None:
        """Replace support example ``i`` by the example of the current round, and set all weights.

        Parameters
        ----------
        i : int
        weights : ndarray, shape (size,)
            The new weights of all examples, with the new example in place ``i``.
        """
        self._hold(i)
        self.coef[:] = weights
        self._mass = float(np.abs(weights).sum())
        self._moved = float(weights @ self._values[: self._size, self._round]) - self.scores.item(self._round)
        t = self._round + 1
        scores = self.scores[t:]
        np.matmul(weights.astype(scores.dtype, copy=False), self._values[: self._size, t:], out=scores)
        if self._decay < 1:
            scores *= self._powers[: len(scores)]

    def _hold(self, place: int) -> np.ndarray:
        """Put the example of the current round in a place; return its kernel values with the block."""
        slot = self._pool.block_slots.item(self._round)
        self._slots[place] = slot
        self._values[place] = self._pool.block[slot]
        return self._values[place]

    # -- called by the engine ------------------------------------------------------------------------------------

    def at(self, t: int, mistaken: bool) -> None:
        super().at(t, mistaken)
        self._moved = (self._decay - 1) * self.scores.item(t)
        self._pass(t + 1)

    def terms(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(self.slots, self.coef)]

    def begin_block(self, sums: np.ndarray) -> None:
        block = self._pool.block
        self._powers = self._decay ** np.arange(block.shape[1])
        self._values = np.empty((len(self._slots), block.shape[1]), dtype=block.dtype)
        np.take(block, self.slots, axis=0, out=self._values[: self._size])
        self._since = 0
        self._mass = float(np.abs(self.coef).sum())
        self.scores = sums[0]
        self.scores *= self._powers

    def end_block(self) -> None:
        self._pass(len(self._powers))
        self._since = 0
        self._values = np.empty((0, 0), dtype=self._pool.dtype)

    def doubt(self) -> float:
        return self._mass * self._pool.resolution

    def exact_score(self, t: int) -> float:
        values = self._pool.exact(self.slots, self._pool.block_slots.item(t))
        terms = self.coef * self._powers.item(t - self._since) * values
        score = math.fsum(terms.tolist())
        return 0.0 if abs(score) <= CANCELLED * np.abs(terms).sum() else score

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        if averaged:
            raise NotImplementedError("the mean of all hypotheses needs examples that are no longer held")
        scores: np.ndarray = self.coef @ self._values_with(X) if self.size else np.zeros(X.shape[0])
        return scores

    def __getstate__(self) -> dict[str, Any]:
        """Leave the current block out of pickles: it is not needed between blocks."""
        return self.__dict__ | {"_values": np.empty((0, 0), dtype=self._pool.dtype), "_powers": np.empty(0)}

    def _pass(self, t: int) -> None:
        """Apply the decay to the weights up to the prediction of round ``t`` of the block."""
        if self._decay < 1:
            self._weights[: self._size] *= self._decay ** (t - self._since)
        self._since = t
