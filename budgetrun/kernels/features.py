"""Explicit features z(x), whose inner products approximate a kernel, and blocks of these products."""

import math
from functools import cached_property
from typing import Any, Literal

import numpy as np

from budgetrun.base.errors import InputError
from budgetrun.kernels.kinds import Rows, dense, floats


class BlockFeatures:
    """The features of a block's examples, and their inner products.

    Attributes:
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

    @cached_property
    def by_feature(self) -> np.ndarray:
        """The features, shape (D, b)."""
        return self.Z.T.copy()


class FeatureMap:
    """z(x), computed once per block for all learners that share the map."""

    def of_block(self, pool: Any) -> BlockFeatures:
        """Return the features of the current block of a pool."""
        if self not in pool.of_block:
            pool.of_block[self] = BlockFeatures(self.of(pool.examples(pool.block_slots)))
        found: BlockFeatures = pool.of_block[self]
        return found

    def of(self, X: Rows) -> np.ndarray:
        """Return the features of examples ``X``, shape (n, d): shape (n, D), float64."""
        raise NotImplementedError

    def widened(self, w: np.ndarray, n_features: int) -> np.ndarray:
        """From now on, let examples have this many features, and return the weights ``w`` of z for these."""
        raise NotImplementedError

    def lengths(self, Z: np.ndarray) -> np.ndarray:
        """Return ||z|| of each row, shape (n,), which scales the rounding errors of its score; 1 for a row of zeros."""
        norms = np.sqrt(np.einsum("ij,ij->i", Z, Z))
        return np.where(norms == 0, 1.0, norms)

    @property
    def nbytes(self) -> int:
        """The bytes of what it keeps between blocks, such as frequencies."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))


class Inputs(FeatureMap):
    """z(x) = x, so that f is linear."""

    def of(self, X: Rows) -> np.ndarray:
        _check_memory(8.0 * X.shape[0] * X.shape[1], f"{X.shape[0]:,} rows of {X.shape[1]:,} features as dense numbers")
        return np.asarray(dense(X), dtype=np.float64)

    def widened(self, w: np.ndarray, n_features: int) -> np.ndarray:
        return np.append(w, np.zeros(n_features))[:n_features]


class RandomFeatures(FeatureMap):
    """z(x) = (cos(u_j . x), sin(u_j . x))_j / sqrt(n), whose inner products approximate exp(-rate ||a - b||^2).

    Parameters:
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

    def of(self, X: Rows) -> np.ndarray:
        """Return the features of examples ``X``, shape (n, d): shape (n, 2 n_frequencies), float64."""
        if self._frequencies is None:
            _check_memory(16.0 * self._n * X.shape[1], f"{self._n:,} random frequencies of {X.shape[1]:,} features")
            self._frequencies = self._drawn(X.shape[1])
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

    def widened(self, w: np.ndarray, n_features: int) -> np.ndarray:
        """See `FeatureMap.widened`; the frequencies of a new feature j are drawn with the seed (seed, j)."""
        assert self._frequencies is not None
        scale, old = math.sqrt(2 * self._rate), self._frequencies[:n_features]
        seeds = ([self._seed, j] for j in range(len(old), n_features))
        more = [np.random.default_rng(seed).normal(0, scale, self._n) for seed in seeds]
        self._frequencies = np.vstack([old, *more])
        return w

    def lengths(self, Z: np.ndarray) -> np.ndarray:
        return np.ones(len(Z))

    def _drawn(self, n_features: int) -> np.ndarray:
        """Return the frequencies, shape (n_features, n)."""
        random = np.random.default_rng(self._seed)
        return random.normal(0, math.sqrt(2 * self._rate), (self._n, n_features)).T.copy()


Frequencies = Literal["orthogonal", "independent", "program"]


class SeveralWidths(RandomFeatures):
    """The random features of several Gaussian kernels exp(-rate ||a - b||^2): all cosines, then all sines.

    Parameters:
    rates : tuple of float, > 0
    n_frequencies : int, >= 1
        Of each kernel.
    seed : int, >= 0
        Seed of ``numpy.random.default_rng(seed)``, which draws for one kernel after the other: the directions of its
        frequencies, at most d at a time as the columns of ``normal(size=(d, m))``, made orthonormal in their order;
        then the squares of their lengths, times 2 rate, by ``chisquare(d, n)``.
    frequencies : {"orthogonal", "independent", "program"}
        That; or ``normal(size=(n, d))``, times the root of 2 rate; or as the first, with ``chisquare(1, n)``.
    """

    def __init__(self, rates: tuple[float, ...], n_frequencies: int, seed: int, frequencies: Frequencies) -> None:
        super().__init__(1.0, len(rates) * n_frequencies, seed)
        self.shape = len(rates), n_frequencies
        self._scales = np.repeat(np.sqrt(2 * np.array(rates)), n_frequencies)
        self._kind = frequencies

    def of(self, X: Rows) -> np.ndarray:
        """Return the features, shape (n, kernels, 2 n_frequencies)."""
        Z = super().of(X).reshape(-1, 2, *self.shape).swapaxes(1, 2) * math.sqrt(self.shape[0])
        return Z.reshape(len(Z), self.shape[0], -1)

    def widened(self, w: np.ndarray, n_features: int) -> np.ndarray:
        """See `RandomFeatures.widened`; frequencies are then no longer orthogonal."""
        assert self._frequencies is not None
        old = len(self._frequencies)
        w = super().widened(w, n_features)
        self._frequencies[old:] *= self._scales / math.sqrt(2)
        return w

    def _drawn(self, n_features: int) -> np.ndarray:
        random, n, d = np.random.default_rng(self._seed), self.shape[1], n_features
        drawn = []
        for _ in range(self.shape[0]):
            if self._kind == "independent":
                drawn.append(random.normal(size=(n, d)))
                continue
            sizes = (min(d, n - start) for start in range(0, n, max(1, d)))
            found = [np.linalg.qr(random.normal(size=(d, m))) for m in sizes]
            directions = np.vstack([(Q * np.where(np.diag(R) < 0, -1.0, 1.0)).T for Q, R in found])
            lengths = np.sqrt(random.chisquare(d if self._kind == "orthogonal" else 1, n))
            drawn.append(lengths[:, None] * directions)
        return np.ascontiguousarray((self._scales[:, None] * np.vstack(drawn)).T)


# In bytes, while the frequencies are drawn.
_MOST_MEMORY = 4e9


def _check_memory(needed: float, what: str) -> None:
    if needed > _MOST_MEMORY:
        raise InputError(
            f"{what} need {needed / 1e9:,.1f} GB, and at most {_MOST_MEMORY / 1e9:g} GB are allowed: use fewer"
        )
