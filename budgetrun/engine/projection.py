"""Hypotheses that are projected on the span of their own support set."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from budgetrun.engine.base import BinaryHypothesis
from budgetrun.engine.subspace import SpannedFunction, Subspace, settle

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool
    from budgetrun.kernels import Rows


class ProjectedHypothesis(BinaryHypothesis):
    """f in the span of the support set, kept in the orthonormal coordinates of `Subspace`.

    The verbs a learner uses are `add`, `project` and `scale`. With P the projection on the span, delta = k(x, .) -
    P k(x, .) is what a projection loses of an example.

    Attributes
    ----------
    residual : float, >= 0
        ||delta||^2, for the example of the round in hand; exactly 0 if it is of the span but for rounding.
    projected_square : float
        ||P k(x, .)||^2, the same example's.
    norm_sq : float
        ||f||^2.
    coef : ndarray of float64, shape (size,)
        The weights of f on the support examples, oldest first. They take O(size^2) to compute.

    Notes
    -----
    A score within `rounding` of 0 counts as 0: an example seen twice with both labels is to be a tie, and exact sums
    cannot help, since the weights are not exact.
    """

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self._subspace = Subspace()
        self._f = SpannedFunction(self._subspace)
        self._slots = np.empty(0, dtype=np.intp)
        self._residuals = np.empty(0)
        self._norm_sq = 0.0

    # -- what a learner reads ------------------------------------------------------------------------------------

    @property
    def slots(self) -> np.ndarray:
        return self._slots

    @property
    def residual(self) -> float:
        return self._residuals.item(self._round)

    @property
    def projected_square(self) -> float:
        return self.square - self.residual

    @property
    def norm_sq(self) -> float:
        return self._norm_sq

    @property
    def coef(self) -> np.ndarray:
        return self._f.weights()

    def residuals(self, t: int) -> np.ndarray:
        """Return ||delta||^2 of the rounds from ``t`` of the block on, shape (b - t,)."""
        return self._residuals[t:]

    # -- what a learner does -------------------------------------------------------------------------------------

    def add(self, weight: float) -> None:
        """f += weight k(x_t, .), for the example x_t of the round in hand, which must not be of the span."""
        pool, t = self._pool, self._round
        slot = pool.block_slots.item(t)
        values = pool.block[slot, t + 1 :].astype(np.float64, copy=False)
        self._step(weight, values, self.square)
        row = self._subspace.extend(t, values, math.sqrt(self.residual))
        rest = self._residuals[t + 1 :]
        rest -= np.square(row)
        self._settle(t + 1)
        self._slots = np.append(self._slots, slot)

    def project(self, weight: float) -> None:
        """f += weight P k(x_t, .), for the example x_t of the round in hand."""
        self._step(weight, self._subspace.products(self._round, self._round + 1), self.projected_square)

    def scale(self, phi: float) -> None:
        """f *= phi."""
        self._f.scale(phi, self.now)
        rest = self.scores[self._round + 1 :]
        rest *= phi
        self._norm_sq *= phi * phi

    # -- what the engine does ------------------------------------------------------------------------------------

    def terms(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return []

    def begin_block(self, sums: np.ndarray) -> None:
        pool = self._pool
        projected = self._subspace.begin_block(pool.block[self._slots].astype(np.float64, copy=False))
        self.scores = self._f.begin_block()
        self._residuals = self.squares_from(0) - projected
        self._settle(0)

    def end_block(self) -> None:
        self._f.end_block()

    def doubt(self) -> float:
        return self.rounding

    def exact_score(self, t: int) -> float:
        score = self.scores.item(t)
        return 0.0 if abs(score) <= self.rounding else score

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        if not self.size:
            return np.zeros(X.shape[0])
        return self._f.weights(self._pool.seen if averaged else None) @ self._values_with(X)

    def _step(self, weight: float, values: np.ndarray, square: float) -> None:
        """f += weight g, for a function g with these values on the rounds to come and this squared norm."""
        t = self._round
        self._norm_sq += weight * (2 * self.scores.item(t) + weight * square)
        self._f.step(t, weight, self.now)
        self.scores[t + 1 :] += weight * values

    def _settle(self, t: int) -> None:
        """Take for 0 what is 0 but for rounding among the residuals from round ``t`` on."""
        settle(self._residuals[t:], self.squares_from(t), self.rounding, str(self._pool.kernel))
