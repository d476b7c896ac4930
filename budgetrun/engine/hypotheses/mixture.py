"""Mixtures of linear functions over random features of several kernels."""

import math
from collections.abc import Sequence

import numpy as np

from budgetrun.engine.hypotheses.features import WithoutSupport
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows
from budgetrun.kernels.features import SeveralWidths


class Mixture(WithoutSupport):
    """f = sum over copies i and kernels j of shares_ij w_ij . z_j(x), where z_j are random features of kernel j.

    The verbs are `descend`, `begin_copy` and assigning ``shares``. The support set is empty.

    Parameters:
    unit : float, > 0
        The scale of scores: the learner's step. Scores and parts of at most `rounding` times this count as 0.

    Attributes:
    w : ndarray of float64, shape (copies, kernels, D)
        One copy at first.
    shares : ndarray of float64, shape (copies, kernels)
    parts : ndarray of float64, shape (copies, kernels)
        w_ij . z_j(x), for the example x of the current round at prediction time.

    Notes: All parts change in every round, so a round's score is computed when the round comes.
    """

    form = "mixture"
    compiled = False

    def __init__(self, pool: Pool, features: SeveralWidths, unit: float) -> None:
        super().__init__(pool)
        self._map = features
        self._unit = unit
        n_kernels = features.shape[0]
        self.w = np.zeros((1, n_kernels, 0))
        self.shares = np.full((1, n_kernels), 1 / n_kernels)
        self.parts = np.zeros((1, n_kernels))
        self._Z = np.zeros((0, n_kernels, 0))

    @property
    def current(self) -> float:
        return float((self.shares * (self.w * self._Z[self._round]).sum(axis=2)).sum())

    def descend(self, shrink: np.ndarray | float, weights: np.ndarray) -> None:
        """w_ij = shrink_i w_ij + weights_ij z_j(x); shapes (copies, 1, 1) or a number, and (copies, kernels)."""
        self.w *= shrink
        self.w += weights[..., None] * self._Z[self._round]

    def begin_copy(self) -> None:
        """Add a copy with weights 0; assign ``shares`` next."""
        self.w = np.concatenate([self.w, np.zeros((1, *self.w.shape[1:]))])

    def settled(self, values: np.ndarray) -> np.ndarray:
        """Set values to 0 that are 0 except for rounding, and return them."""
        values[np.abs(values) <= self.rounding * self._unit] = 0.0
        return values

    def begin_block(self) -> None:
        super().begin_block()
        self._Z = self._map.of_block(self._pool).Z
        if not self.w.shape[2]:
            self.w = np.zeros((1, *self._Z.shape[1:]))

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        return float(self.w.nbytes + self.shares.nbytes + self._map.nbytes)

    def end_block(self) -> None:
        self._Z = self._Z[:0]

    def score_at(self, t: int) -> float:
        self.parts = self.settled((self.w * self._Z[t]).sum(axis=2))
        return self._set_score(t, (self.shares * self.parts).sum(), self.rounding * self._unit)

    def rearrange(self, features: Sequence[int], n_features: int) -> None:
        self.w = self._map.widened(self.w, n_features)

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        if not self.w.shape[2]:
            return np.zeros(X.shape[0])
        return np.einsum("tjd,jd->t", self._map.of(X), (self.shares[..., None] * self.w).sum(axis=0))

    def memory(self, size: int, block: int) -> float:
        # The features of the block, three times while they are computed.
        return 48.0 * block * math.prod(self._map.shape)

    def solving(self, size: int) -> float:
        # Operations on single numbers take long, compared with those of products of matrices.
        return 500.0 * math.prod(self._map.shape)
