"""Hypotheses with projections on the span of the support set."""

import math

import numpy as np

from budgetrun.engine.hypotheses.base import Hypothesis
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows
from budgetrun.kernels.spans import LEAST, SpannedFunction, negligible, refuse_impossible, settle


class Spanned(Hypothesis):
    """Base of forms in the span of the support set."""

    averages = True
    compiled = False
    # The triangular factor of the kernel matrix, and three blocks of coordinates.
    table_bytes = kept_table_bytes = 4.0
    block_bytes = 24.0

    def __init__(self, pool: Pool, *shape: int) -> None:
        super().__init__(pool, *shape)
        self._slots = np.empty(0, dtype=np.intp)
        self._residuals = np.empty(0)

    @property
    def slots(self) -> np.ndarray:
        return self._slots

    def solving(self, size: int) -> float:
        return float(size) ** 2

    def _settle(self, t: int) -> None:
        """Set residuals of the rounds from ``t`` on to 0 that are 0 except for rounding."""
        settle(self._residuals[t:], self.squares_from(t), self.rounding, str(self._pool.kernel))


class Projected(Spanned):
    """f in the span of the support set, kept in orthonormal coordinates by `SpannedFunction`.

    The verbs are `add`, `project` and `scale`. P is the projection on the span, and delta = k(x, .) - P k(x, .) the
    error of projecting an example.

    Attributes:
    residual : float, >= 0
        ||delta||^2 for the example of the current round; exactly 0 if it lies in the span except for rounding.
    projected_square : float
        ||P k(x, .)||^2 for the same example.
    norm_sq : float
        ||f||^2.
    coef : ndarray of float64, shape (size,)
        The weights of f on the support examples, oldest first; computed in O(size^2).

    Notes: A score whose terms cancel except for `rounding` counts as 0, so that an example seen twice with opposite
    labels is a tie. Exact sums would not help, because the weights are not exact.

    With a tiny eta, an example can be added although it nearly lies in the span. It would make the coordinates
    ill-conditioned, so it is held beside the span, with a weight of its own: later examples are projected on the span
    without it, and a later copy of it is added to its weight. So is any example if the learner asks for that.
    """

    form = "projected"

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self._f = SpannedFunction()
        self._norm_sq = 0.0
        # True for the support examples beside the span; row 0: their weights; row 1: these weights' changes, as in
        # `SpannedFunction`.
        self._beside = np.empty(0, dtype=bool)
        self._weights = np.zeros((2, 0))

    @property
    def residual(self) -> float:
        return 0.0 if self._twin() is not None else self._residuals.item(self._round)

    @property
    def projected_square(self) -> float:
        return self.square - self.residual

    @property
    def norm_sq(self) -> float:
        return self._norm_sq

    @property
    def coef(self) -> np.ndarray:
        return self._coef(None)

    def residuals(self, t: int) -> np.ndarray:
        """Return ||delta||^2 for the rounds of the block from ``t`` on, shape (b - t,)."""
        return self._residuals[t:]

    def add(self, weight: float, beside: bool = False) -> None:
        """f += weight k(x_t, .), for the example x_t of the current round.

        x_t must not lie in the span, unless it is to be held ``beside`` it.
        """
        slot = self._pool.block_slots.item(self._round)
        values = self._values(slot)
        self._step(weight, values, self.square)
        beside = beside or self.residual <= LEAST * self.square
        if beside:
            self._weights = np.append(self._weights, [[weight], [weight * self.now]], axis=1)
        else:
            row = self._f.extend(self._round, values, math.sqrt(self.residual))
            self._f.step(self._round, weight, self.now)
            self._residuals[self._round] = 0.0
            rest = self._residuals[self._round + 1 :]
            rest -= np.square(row)
            self._settle(self._round + 1)
        self._slots, self._beside = np.append(self._slots, slot), np.append(self._beside, beside)

    def project(self, weight: float) -> None:
        """f += weight P k(x_t, .), for the example x_t of the current round."""
        twin = self._twin()
        if twin is not None:
            self._step(weight, self._values(self._slots[self._beside].item(twin)), self.square)
            self._weights[:, twin] += weight, weight * self.now
        else:
            self._step(weight, self._f.products(self._round, self._round + 1), self.projected_square)
            self._f.step(self._round, weight, self.now)

    def scale(self, phi: float) -> None:
        """f *= phi."""
        self._f.scale(phi, self.now)
        self._weights[1] += self.now * (phi - 1) * self._weights[0]
        self._weights[0] *= phi
        rest = self.scores[self._round + 1 :]
        rest *= phi
        self._moved += (phi - 1) * self.current
        self._norm_sq *= phi * phi

    def begin_block(self) -> None:
        super().begin_block()
        pool = self._pool
        values = pool.block[self._slots[~self._beside]]
        projected, scores = self._f.begin_block(values.astype(np.float64, copy=False))
        self.scores = scores + self._weights[0] @ pool.block[self._slots[self._beside]]
        self._residuals = self.squares_from(0) - projected
        refuse_impossible(pool)
        self._settle(0)

    def end_block(self) -> None:
        self._f.end_block()

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        return self._coef(self._pool.seen if averaged else None) @ self._pool.values(self.slots, X)

    def score_at(self, t: int) -> float:
        score = self.scores.item(t)
        if abs(score) <= self.rounding:
            terms = self._f.terms(t)
            if self._weights.size:
                terms = np.append(terms, self._weights[0] * self._pool.block[self._slots[self._beside], t])
            if abs(score) <= negligible(terms, self.rounding):
                self.scores[t] = score = 0.0
        return score

    def _coef(self, n_rounds: int | None) -> np.ndarray:
        """Return the weights of f, or of its mean over ``n_rounds`` rounds, shape (size,)."""
        coef = np.empty(self.size)
        coef[~self._beside] = self._f.weights(n_rounds)
        now, changes = self._weights
        coef[self._beside] = now if n_rounds is None else now - changes / n_rounds
        return coef

    def _values(self, slot: int) -> np.ndarray:
        """Return k(x, x_i) between an example in the pool and those of later rounds, float64."""
        return self._pool.block[slot, self._round + 1 :].astype(np.float64, copy=False)

    def _twin(self) -> int | None:
        """Return the index of the example beside the span that equals the current round's, or None."""
        if not self._weights.size or self._residuals[self._round] == 0:
            return None
        pool, t = self._pool, self._round
        slots = self._slots[self._beside]
        apart = self.square + pool.squares[slots] - 2 * pool.block[slots, t]
        equal = np.flatnonzero(apart <= self.rounding * self.square)
        return int(equal[0]) if len(equal) else None

    def _step(self, weight: float, values: np.ndarray, square: float) -> None:
        """f += weight g, for a function g with these values on later rounds and this squared norm."""
        self._norm_sq += weight * (2 * self.current + weight * square)
        self._moved += weight * square
        self.scores[self._round + 1 :] += weight * values
