"""Hypotheses over explicit features z(x): f(x) = w . z(x)."""

from collections.abc import Sequence

import numpy as np

from budgetrun.engine.hypotheses.base import Hypothesis
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows
from budgetrun.kernels.arithmetic import TILE
from budgetrun.kernels.compiling import interpreted
from budgetrun.kernels.features import BlockFeatures, FeatureMap, RandomFeatures
from budgetrun.kernels.sums import add_multiple


class OfFeatures(Hypothesis):
    """f = w . z, where w changes by multiples of the features of the block's examples.

    These multiples are recorded, and added to w when w is needed, at the latest at the end of a tile of 64 rounds. The
    verb is `step`.

    Parameters:
    unit : float, > 0
        The scale of scores: the learner's step. A score of at most ``unit`` ||k(x, .)|| times `rounding` counts as 0.
    """

    prepares_tiles = True

    def __init__(self, pool: Pool, unit: float) -> None:
        super().__init__(pool)
        self._unit = unit
        self._w = np.empty(0)
        self._features: BlockFeatures | None = None
        # The multiples of the features of the tile's rounds from `_start` on, and the products of these features.
        self._start = 0
        self._steps = np.zeros(TILE)
        self._products = np.zeros((0, 0))

    @property
    def w(self) -> np.ndarray:
        """The weights of the features, shape (D,)."""
        acted = self._steps.nonzero()[0]
        if self._features is None or not len(acted):
            return self._w
        return self._w + self._steps[acted] @ self._features.Z[self._start + acted]

    def step(self, weight: float) -> None:
        """w += weight z(x_t), for the example x_t of the current round."""
        i = self._round - self._start
        self._steps[i] += weight
        add_multiple(self.scores[self._round + 1 : self.tile_end], weight, self._products[i, i + 1 :])
        self._moved += weight * self._products[i, i]

    @interpreted
    def _score_tile(self) -> None:
        self._score_from(self.tile_start)

    @interpreted
    def _score_from(self, start: int) -> None:
        """Compute the scores of the rounds of the tile from ``start`` on."""
        assert self._features is not None
        self._w = self.w
        self._steps[:] = 0
        self._start, rounds = start, (start, self.tile_end)
        self._products = self._features.products(*rounds)
        self.scores[slice(*rounds)] = self._features.Z[slice(*rounds)] @ self._w

    def score_at(self, t: int) -> float:
        return self._settled(t)

    def _settled(self, t: int) -> float:
        return self._set_score(t, self.scores[t], self.rounding * self._unit * self.lengths[t])

    def end_block(self) -> None:
        self._w = self.w
        self._features = None
        self._steps[:] = 0


class WithoutSupport(Hypothesis):
    """Base of forms over features of all examples, with an empty support set."""

    needs_values = False

    @property
    def slots(self) -> np.ndarray:
        return np.empty(0, dtype=np.intp)

    @property
    def coef(self) -> np.ndarray:
        """The weights of the support examples: none; shape (0,)."""
        return np.empty(0)

    def features_in_use(self) -> np.ndarray:
        return np.ones(self._pool.n_features, dtype=bool)


class ExplicitFeatures(WithoutSupport, OfFeatures):
    """f = w . z(x) over the features of a map. The support set is empty."""

    form = "features"

    def __init__(self, pool: Pool, features: FeatureMap, unit: float) -> None:
        super().__init__(pool, unit)
        self._map = features

    def begin_block(self) -> None:
        super().begin_block()
        self._features = self._map.of_block(self._pool)
        self.lengths = self._map.lengths(self._features.Z)
        if not len(self._w):
            self._w = np.zeros(self._features.Z.shape[1])

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        return float(self._w.nbytes + self._map.nbytes)

    def rearrange(self, features: Sequence[int], n_features: int) -> None:
        self._w = self._map.widened(self.w, n_features)

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        Z = self._map.of(X)
        return Z @ self.w if len(self.w) else np.zeros(len(Z))


def random_features(pool: Pool, rate: float, n_frequencies: int, seed: int) -> RandomFeatures:
    """Return the random features with these parameters: the same object for all learners of a pool."""
    return pool.shared.setdefault((rate, n_frequencies, seed), RandomFeatures(rate, n_frequencies, seed))
