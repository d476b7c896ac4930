"""Hypotheses over explicit features z(x): f(x) = w . z(x)."""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from budgetrun.compiling import interpreted
from budgetrun.engine.hypotheses.base import Hypothesis
from budgetrun.engine.pool import Pool
from budgetrun.errors import InputError
from budgetrun.kernels import Rows
from budgetrun.kernels.kinds import TILE
from budgetrun.kernels.rows import floats
from budgetrun.kernels.sums import add_multiple


class BlockFeatures:
    """The features of a block's examples, and their inner products.

    Attributes
    ----------
    Z : ndarray of float64, shape (b, D)
    """

    def __init__(self, Z: np.ndarray) -> None:
        self.Z = Z
        self._products: dict[tuple[int, int], np.ndarray] = {}

    def products(self, start: int, end: int) -> np.ndarray:
        """Return <z_t, z_i> between the rounds from ``start`` to ``end``, shape (end - start, end - start)."""
        if (start, end) not in self._products:
            Z = self.Z[start:end]
            self._products[start, end] = Z @ Z.T
        return self._products[start, end]


class OfFeatures(Hypothesis):
    """f = w . z, where w changes by multiples of the features of the block's examples.

    These multiples are recorded, and added to w when w is needed, at the latest at the end of a tile of 64 rounds. The
    verb is `step`.

    Parameters
    ----------
    pool : Pool
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
        acted = np.flatnonzero(self._steps)
        if self._features is None or not len(acted):
            return self._w
        change: np.ndarray = self._steps[acted] @ self._features.Z[self._start + acted]
        return self._w + change

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

    @property
    def doubt(self) -> float:
        return np.inf

    def score_at(self, t: int) -> float:
        """Return f(x_t) for round ``t`` of the tile; 0 if it is 0 except for rounding."""
        return self._settled(t)

    def _settled(self, t: int) -> float:
        if abs(self.scores[t]) <= self.rounding * self._unit * self.lengths[t]:
            self.scores[t] = 0.0
        return float(self.scores[t])

    def end_block(self) -> None:
        self._w = self.w
        self._features = None
        self._steps[:] = 0


class RandomFeatures:
    """z(x) = (cos(u_j . x), sin(u_j . x))_j / sqrt(n), whose inner products approximate exp(-rate ||a - b||^2).

    Parameters
    ----------
    rate : float, > 0
    n_frequencies : int, >= 1
    seed : int
        The frequencies u_j are the rows of ``numpy.random.default_rng(seed).normal(0, sqrt(2 rate), (n, d))``.
    """

    def __init__(self, rate: float, n_frequencies: int, seed: int) -> None:
        self._rate = rate
        self._n = n_frequencies
        self._seed = seed
        self._frequencies: np.ndarray | None = None
        # The features of the last block, and the number of rounds up to its end.
        self._block: tuple[int, BlockFeatures] | None = None

    def of_block(self, pool: Pool) -> BlockFeatures:
        """Return the features of the current block; learners that share this map compute them once."""
        if self._block is None or self._block[0] != pool.seen:
            self._block = pool.seen, BlockFeatures(self.of(pool.examples(pool.block_slots)))
        return self._block[1]

    def of(self, X: Rows) -> np.ndarray:
        """Return the features of examples ``X``, shape (n, d): shape (n, 2 n_frequencies), float64."""
        if self._frequencies is None:
            if (needed := 16.0 * self._n * X.shape[1]) > _MOST_MEMORY:
                raise InputError(
                    f"{self._n:,} random frequencies of {X.shape[1]:,} features need {needed / 1e9:,.1f} GB, and at "
                    f"most {_MOST_MEMORY / 1e9:g} GB are allowed: take fewer"
                )
            random = np.random.default_rng(self._seed)
            self._frequencies = random.normal(0, math.sqrt(2 * self._rate), (self._n, X.shape[1])).T.copy()
        angles = floats(X).astype(np.float64) @ self._frequencies
        Z = np.empty((len(angles), 2 * self._n))
        cosines, sines = Z[:, : self._n], Z[:, self._n :]
        # With tan, the tangent of half the angle: cos = 2 / (1 + tan^2) - 1 and sin = tan (1 + cos). numpy's tangent is
        # vectorised; its cosine and sine are not, and take ten times as long.
        unit = 1 / math.sqrt(self._n)
        angles *= 0.5
        tan = np.tan(angles, out=angles)
        np.multiply(tan, tan, out=cosines)
        cosines += 1
        np.divide(2 * unit, cosines, out=cosines)
        np.multiply(tan, cosines, out=sines)
        cosines -= unit
        return Z

    def __getstate__(self) -> dict[str, Any]:
        """Leave the current block out of pickles: it is not needed between blocks."""
        return self.__dict__ | {"_block": None}


def random_features(pool: Pool, rate: float, n_frequencies: int, seed: int) -> RandomFeatures:
    """Return the random features with these parameters: the same object for all learners of a pool."""
    of_pool = _SHARED.setdefault(pool, {})
    return of_pool.setdefault((rate, n_frequencies, seed), RandomFeatures(rate, n_frequencies, seed))


class ExplicitFeatures(OfFeatures):
    """f = w . z(x) over random features. The support set is empty.

    Parameters
    ----------
    pool : Pool
    features : RandomFeatures
    n_features : int
        D, the length of z.
    unit : float, > 0
        See `OfFeatures`.
    """

    form = "features"

    def __init__(self, pool: Pool, features: RandomFeatures, n_features: int, unit: float) -> None:
        super().__init__(pool, unit)
        self._map = features
        self._w = np.zeros(n_features)

    @property
    def slots(self) -> np.ndarray:
        return np.empty(0, dtype=np.intp)

    @property
    def coef(self) -> np.ndarray:
        """The weights of the support examples: none; shape (0,)."""
        return np.empty(0)

    def begin_block(self) -> None:
        super().begin_block()
        # The features of any example have the length 1.
        self.lengths = np.ones(len(self.scores))
        self._features = self._map.of_block(self._pool)

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        if averaged:
            raise NotImplementedError("the mean of all hypotheses is not kept")
        scores: np.ndarray = self._map.of(X) @ self.w
        return scores


_SHARED: WeakKeyDictionary[Pool, dict[tuple[float, int, int], RandomFeatures]] = WeakKeyDictionary()
# In bytes, while the frequencies are drawn.
_MOST_MEMORY = 4e9
