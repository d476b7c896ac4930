"""Kernel expansions that become functions of features of their support set: of Nystroem, or of a sketched matrix."""

import numpy as np

from budgetrun.engine.hypotheses.expansion import Expansion
from budgetrun.engine.hypotheses.features import OfFeatures
from budgetrun.engine.pool import Pool
from budgetrun.kernels.compiling import interpreted
from budgetrun.kernels.features import BlockFeatures

# In units of the trace of K: smaller singular values count as 0.
_LEAST = 1e-6


class Nystroem(OfFeatures, Expansion):
    """f = sum_i coef_i k(x_i, .), until `approximate` replaces it by w . z(x) and fixes the support set.

    The verb is `add` before that, and `step` after it.
    """

    form = "nystroem"
    # The kernel matrix, its eigenvectors and what they are computed with.
    table_bytes = 40.0
    _plain = False

    def __init__(self, pool: Pool, unit: float) -> None:
        super().__init__(pool, unit)
        self.compiled = False
        self._map: np.ndarray | None = None

    @property
    def approximated(self) -> bool:
        """f is w . z(x)."""
        return self._map is not None

    @property
    def coef(self) -> np.ndarray:
        return super().coef if self._map is None else self._map @ self.w

    @interpreted
    def approximate(self, features: np.ndarray, w: np.ndarray) -> None:
        """Switch to z(x) = features^T k(x), where k(x) has the kernel values with the support examples.

        ``features`` have the shape (size, rank), and ``w`` (rank,).
        """
        self._map, self.compiled = features, True
        self._find_features()
        self._w = w
        before = self.scores.item(self._round)
        self._score_from(self._round)
        self._moved, self.scores[self._round] = self.scores.item(self._round) - before, before

    def begin_block(self) -> None:
        super().begin_block()
        if self._map is not None:
            self._find_features()

    @interpreted
    def _score_tile(self) -> None:
        (Expansion if self._map is None else OfFeatures)._score_tile(self)

    def score_at(self, t: int) -> float:
        return self._score_at(t) if self._map is None else self._settled(t)

    def _find_features(self) -> None:
        self._features = BlockFeatures(self._pool.block[self.slots].T.astype(np.float64, copy=False) @ self._map)


class Sketched(Nystroem):
    """As `Nystroem`, but the features can be replaced again. The additional verb is `move`."""

    form = "sketched"

    def approximate(self, features: np.ndarray, w: np.ndarray) -> None:
        self._steps[:] = 0
        super().approximate(features, w)

    def move(self, w: np.ndarray) -> None:
        """Replace w, with the same features."""
        assert self._features is not None
        self._w, self._steps[:] = w, 0
        rest, before = slice(self._round, self.tile_end), self.scores.item(self._round)
        self.scores[rest] = self._features.Z[rest] @ w
        self._moved, self.scores[self._round] = self.scores.item(self._round) - before, before

    @property
    def features(self) -> np.ndarray:
        """Q in z(x) = Q^T k(x), shape (size, rank)."""
        assert self._map is not None
        return self._map


class Sketch:
    """A kernel matrix K, sketched from two sides: S_p^T K S_p and S_p^T K S_m.

    Every example has one number, +1 or -1, in S_p, in one of its ``n_columns``. S_m selects ``n_sampled`` examples of
    the support set, whose kernel matrix is ``gram``, shape (B, B).
    """

    def __init__(self, random: np.random.Generator, gram: np.ndarray, n_columns: int, n_sampled: int) -> None:
        B = len(gram)
        self._random = random
        self._S = np.zeros((B, n_columns))
        columns, negative = random.integers(n_columns, size=B), random.integers(2, size=B)
        self._S[np.arange(B), columns] = 1 - 2 * negative
        self._sampled = random.choice(B, size=n_sampled, replace=False)
        self._both = self._S.T @ gram @ self._S
        self._one = self._S.T @ gram[:, self._sampled]
        self._scale = float(np.trace(gram))

    def add(self, values: np.ndarray, square: float) -> None:
        """Add an example to the sketch, by its kernel values with the support set, shape (B,), and with itself."""
        s = np.zeros(self._S.shape[1])
        column, negative = self._random.integers(len(s)), self._random.integers(2)
        s[column] = 1 - 2 * negative
        u = self._S.T @ values
        self._one += np.outer(s, values[self._sampled])
        self._both += np.outer(s, u) + np.outer(u, s) + square * np.outer(s, s)

    def features(self, rank: int, rounding: float) -> np.ndarray:
        """Return Q with z(x) = Q^T k(x), where k(x) has the values with the support set; shape (B, rank)."""
        values, every = (array[..., ::-1] for array in np.linalg.eigh(self._both))
        roots = np.sqrt(np.where(values[:rank] > rounding * self._scale, values[:rank], 0.0))
        left, singular, right = np.linalg.svd(self._one, full_matrices=False)
        kept = singular > _LEAST * self._scale
        inverse = right[kept].T / singular[kept] @ left[:, kept].T
        Q = np.zeros((len(self._S), rank))
        Q[self._sampled] = inverse @ (canonical(values, every, rounding, rank) * roots)
        return Q


def canonical(values: np.ndarray, vectors: np.ndarray, rounding: float, rank: int) -> np.ndarray:
    """Return the first ``rank`` eigenvectors, as columns, which do not depend on LAPACK's basis of an eigenspace.

    They are the columns of the pivoted Cholesky factor of the projection on the eigenspace. So the largest component of
    each is positive; if several are largest, the first of them. ``values``, shape (n,), are descending, and neighbors
    that differ by at most ``rounding`` times the first one count as equal; ``vectors``, shape (n, n), are orthonormal.
    """
    chosen = np.empty((len(vectors), rank))
    ends = np.append(np.flatnonzero(values[:-1] - values[1:] > rounding * values[0]) + 1, len(values))
    for first, end in zip([0, *ends[:-1]], ends, strict=True):
        space = vectors[:, first:end].copy()
        for j in range(first, min(end, rank)):
            squares = np.square(space).sum(axis=1)
            i = (squares >= squares.max() - rounding).argmax()
            chosen[:, j] = space @ space[i] / np.sqrt(squares[i])
            space -= np.multiply.outer(chosen[:, j], chosen[:, j] @ space)
    return chosen
