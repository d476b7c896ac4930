"""Hypotheses whose weights a learner sets anew, all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from budgetrun.engine.hypotheses.expansion import Hypothesis

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool
    from budgetrun.learners.base import Learner


class ReweighedHypothesis(Hypothesis):
    """A hypothesis that also knows the verb `keep`; for learners that thin their support set now and then."""

    def __init__(self, pool: Pool, learner: Learner) -> None:
        super().__init__(pool, learner)
        # What `keep` changed of the score of the round in hand, which stays as it was predicted in `scores`.
        self._moved = 0.0

    def fork(self, learner: Learner, matrix: object) -> Hypothesis:
        raise NotImplementedError("a learner that sets weights anew does not begin as the Perceptron")

    def gram(self) -> np.ndarray:
        """Return k(x_i, x_j) over the support set, oldest first, shape (size, size), float64; computed afresh."""
        return self._pool.matrix(self.slots).astype(np.float64, copy=False)

    def keep(self, chosen: np.ndarray, weights: np.ndarray, norm_sq: float) -> None:
        """f = sum of ``weights`` times k(x_i, .) over the ``chosen`` support examples; the others are forgotten.

        Parameters
        ----------
        chosen : ndarray of int, ascending
            Which support examples, counted from 0, oldest first.
        weights : ndarray, of the same shape
        norm_sq : float
            ||f||^2 as it then is.
        """
        slots = self.slots[chosen]
        n = len(slots)
        self._head, self._tail = 0, n
        self._slots[:n] = slots
        self._held[0, :n] = weights
        self._norm_sq = norm_sq
        t = self._round
        scores = weights @ self._pool.block[slots, t:]
        self._moved = float(scores[0]) - self.scores.item(t)
        self.scores[t + 1 :] = scores[1:]
        self._mass = float(np.abs(weights).sum())

    def add(self, weight: float) -> None:
        super().add(weight)
        assert self._norm_sq is not None
        self._norm_sq += 2 * weight * self._moved

    def at(self, t: int, mistaken: bool) -> None:
        super().at(t, mistaken)
        self._moved = 0.0
