"""Hypotheses over explicit features z(x): f(x) = w . z(x)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from budgetrun.engine.hypotheses.base import BlockHypothesis
from budgetrun.errors import InputError
from budgetrun.rows import floats

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool
    from budgetrun.kernels import Rows


class BlockFeatures:
    """The features of a block's examples, and their inner products.

    Attributes
    ----------
    Z : ndarray of float64, shape (b, D)
    """

    def __init__(self, Z: np.ndarray) -> None:
        self.Z = Z
        self._asked = 0
        self._products: np.ndarray | None = None

    def products(self, t: int) -> np.ndarray:
        """Return <z_t, z_i> for the rounds i after ``t``, shape (b - t - 1,)."""
        if self._products is None:
            self._asked += 1
            if self._asked <= _ONE_BY_ONE * len(self.Z) or len(self.Z) > _MOST_PRODUCTS:
                one_by_one: np.ndarray = self.Z[t + 1 :] @ self.Z[t]
                return one_by_one
            self._products = self.Z @ self.Z.T
        products: np.ndarray = self._products[t, t + 1 :]
        return products


class ExplicitFunction:
    """f = w . z, where w changes by multiples of the features of the block's examples.

    Within a block these multiples are recorded, and added to w when w is needed, at the latest at the end of the block.
    """

    def __init__(self, w: np.ndarray) -> None:
        self._w = w
        self._features: BlockFeatures | None = None
        self._steps = np.empty(0)

    @property
    def w(self) -> np.ndarray:
        """The weights of the features, shape (D,)."""
        return self._w if self._features is None else self._w + self._steps @ self._features.Z

    def begin_block(self, features: BlockFeatures) -> np.ndarray:
        """Begin a block with these features; return f(x) of its examples, shape (b,)."""
        self._features = features
        self._steps = np.zeros(len(features.Z))
        scores: np.ndarray = features.Z @ self._w
        return scores

    def step(self, t: int, weight: float) -> np.ndarray:
        """w += weight z_t; return the change of f(x) on the later examples of the block, shape (b - t - 1,)."""
        assert self._features is not None
        self._steps[t] += weight
        return weight * self._features.products(t)

    def square(self, t: int) -> float:
        """Return <z_t, z_t> for round ``t`` of the block."""
        assert self._features is not None
        z = self._features.Z[t]
        return float(z @ z)

    def end_block(self) -> None:
        """End the block."""
        self._w = self.w
        self._features, self._steps = None, np.empty(0)


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


class ExplicitFeatures(BlockHypothesis):
    """f = w . z(x) over random features. The support set is empty.

    The verb is `step`.

    Parameters
    ----------
    pool : Pool
    features : RandomFeatures
    n_features : int
        D, the length of z.
    unit : float, > 0
        The scale of scores: the learner's step. A score of at most ``unit`` times `rounding` counts as 0.
    """

    form = "features"

    def __init__(self, pool: Pool, features: RandomFeatures, n_features: int, unit: float) -> None:
        super().__init__(pool)
        self._map = features
        self._f = ExplicitFunction(np.zeros(n_features))
        self._unit = unit

    @property
    def slots(self) -> np.ndarray:
        return np.empty(0, dtype=np.intp)

    @property
    def coef(self) -> np.ndarray:
        """The weights of the support examples: none; shape (0,)."""
        return np.empty(0)

    @property
    def w(self) -> np.ndarray:
        """The weights of the features, shape (D,)."""
        return self._f.w

    def step(self, weight: float) -> None:
        """w += weight z(x_t), for the example x_t of the current round."""
        self.scores[self._round + 1 :] += self._f.step(self._round, weight)
        self._moved += weight * self._f.square(self._round)

    def begin_block(self) -> None:
        self.scores = self._f.begin_block(self._map.of_block(self._pool))

    def end_block(self) -> None:
        self._f.end_block()

    def doubt(self) -> float:
        return self.rounding * self._unit

    def settled(self, t: int) -> float:
        score = self.scores.item(t)
        return 0.0 if abs(score) <= self.doubt() else score

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        if averaged:
            raise NotImplementedError("the mean of all hypotheses is not kept")
        scores: np.ndarray = self._map.of(X) @ self._f.w
        return scores


_SHARED: WeakKeyDictionary[Pool, dict[tuple[float, int, int], RandomFeatures]] = WeakKeyDictionary()
# In bytes, while the frequencies are drawn.
_MOST_MEMORY = 4e9
# All products of a block at once take as long as the products of this fraction of its rounds one by one.
_ONE_BY_ONE = 0.25
# Above this many rounds per block, they are always computed one by one.
_MOST_PRODUCTS = 4096
