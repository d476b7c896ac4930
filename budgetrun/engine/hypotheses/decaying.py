"""Hypotheses whose weights decay in every round, with or without a loss."""

import numpy as np

from budgetrun.engine.hypotheses.base import MOST_CHANGES, SCALED
from budgetrun.engine.hypotheses.expansion import Expansion
from budgetrun.engine.pool import Pool
from budgetrun.kernels.arithmetic import TILE
from budgetrun.kernels.sums import copy, inner

# Quotients of weights that differ by less, relative to the weight, are the same.
SAME = 1e-15


class Decaying(Expansion):
    """f = sum_i coef_i k(x_i, .), multiplied by ``decay``, in (0, 1], in every round after the prediction.

    The verbs are `add` and `displace`, which apply after the decay of the current round. Support examples are in places
    counted from 0; a new example takes the place of the one that it displaces.

    Attributes:
    coef : ndarray of float64, shape (size,)
        The weights for the prediction of the next round, by place.

    Notes: Rounds without a loss cost one multiplication: the decay since round `_since` is applied when the learner
    acts, or at the end of 64 rounds.
    """

    form = "decaying"
    _plain = False

    def __init__(self, pool: Pool, decay: float) -> None:
        super().__init__(pool)
        # Its powers, up to 64 rounds.
        self._powers = np.cumprod(np.concatenate([[1.0], np.full(TILE, decay)]))
        # The number of rounds whose decay the stored weights include, and of those so far.
        self._since = self._now = 0

    @property
    def coef(self) -> np.ndarray:
        return self._weights[self._head : self._tail] * self._powers[self._now - self._since]

    def displace(self, i: int, weights: np.ndarray) -> None:
        """Replace support example ``i`` by the example of the current round, and set all weights, shape (size,)."""
        at, slot, factor = self._head + i, self._block_slots[self._round], self._common_factor(i, weights)
        gone, removed = self._slots[at], self._weights[at]
        self._slots[at] = slot
        copy(weights, self._weights[self._head : self._tail])
        if factor == 0 or self._n_changes + 3 > MOST_CHANGES:
            self._moved = inner(weights, self.kernel_row()) - self.scores[self._round]
            self._sum_again(self._round + 1)
            return
        square = self._squares[slot]
        left = self.current - removed * self._value(gone)
        self._moved = factor * left + weights[i] * square - self.scores[self._round]
        self._mass = factor * self._mass + abs(weights[i]) * np.sqrt(square)
        self._change_scores(gone, -removed)
        self._change_scores(SCALED, factor)
        self._change_scores(slot, weights[i])

    def _begin_round(self) -> None:
        self._moved = (self._powers[1] - 1) * self.scores[self._round]
        factor = self._pass(self.now)
        self._change_scores(SCALED, factor)

    def _score_tile(self) -> None:
        if (self._before + self.tile_start) % TILE == 0:
            self._pass(self._before + self.tile_start)
        self._sum_tile()

    def score_at(self, t: int) -> float:
        self.scores[t] = self._score_at(t) * self._powers[self._before + t - self._since]
        return float(self.scores[t])

    def end_block(self) -> None:
        self._now = self._pool.seen

    def _pass(self, n_rounds: int) -> float:
        """Multiply the weights by the decay of the rounds up to ``n_rounds``, and return the factor."""
        factor = self._powers[n_rounds - self._since]
        weights = self._weights[self._head : self._tail]
        weights *= factor
        self._change_weights()
        self._mass *= factor
        self._since = self._now = n_rounds
        return float(factor)

    def _common_factor(self, i: int, weights: np.ndarray) -> float:
        """Return the factor, of at most 2, by which all weights but the i-th change; 0 if they do not have one.

        Factors that differ by rounding count as one.
        """
        old = self._weights[self._head : self._tail]
        k = 0 if i > 0 else len(old) - 1
        if not 0 < abs(weights[k]) <= 2 * abs(old[k]):
            return 0.0
        factor = weights[k] / old[k]
        apart = np.abs(weights - factor * old) > SAME * np.abs(weights)
        apart[i] = False
        return 0.0 if apart.any() else factor
