"""Hypotheses that are kernel expansions first, then functions of the Nystroem features of the support set."""

from __future__ import annotations

import numpy as np

from budgetrun.compiling import interpreted
from budgetrun.engine.hypotheses.expansion import Expansion
from budgetrun.engine.hypotheses.features import BlockFeatures, OfFeatures
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows


class Nystroem(OfFeatures, Expansion):
    """f = sum_i coef_i k(x_i, .), until `approximate` replaces it by w . z(x) and fixes the support set.

    The verb is `add` before that, and `step` after it.

    Parameters
    ----------
    pool : Pool
    unit : float, > 0
        See `OfFeatures`.
    """

    form = "nystroem"

    def __init__(self, pool: Pool, unit: float) -> None:
        super().__init__(pool, unit)
        self.compiled = False
        # z(x) = _map^T k(x), shape (size, rank).
        self._map: np.ndarray | None = None

    @property
    def approximated(self) -> bool:
        """Whether f is w . z(x)."""
        return self._map is not None

    @property
    def coef(self) -> np.ndarray:
        return super().coef if self._map is None else self._map @ self.w

    @interpreted
    def approximate(self, rank: int, transposed: bool = False) -> None:
        """Switch to z(x) = L^-1/2 V^T k(x), for the ``rank`` largest eigenvalues L of the kernel matrix V L V^T.

        This projects f on these eigenvectors. Eigenvalues that are 0 except for rounding are left out. ``transposed``
        computes w with V, the matrix of all eigenvectors, in place of V^T, which gives a different function.
        """
        K = self._pool.matrix(self.slots).astype(np.float64, copy=False)
        values, every = (array[..., ::-1] for array in np.linalg.eigh(K))
        if transposed:
            every = canonical(values, every, self.rounding)
        kept = np.flatnonzero(values[:rank] > self.rounding * values[0])
        roots, vectors = np.sqrt(values[kept]), every[:, kept]
        self._w = roots * ((every[kept] if transposed else vectors.T) @ self.coef)
        self._map = vectors / roots
        self.compiled = True
        self._find_features()
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

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        if averaged:
            raise NotImplementedError("the mean of all hypotheses is not kept")
        return Expansion.score(self, X)

    def _find_features(self) -> None:
        """Compute the features of the current block."""
        self._features = BlockFeatures(self._pool.block[self.slots].T.astype(np.float64, copy=False) @ self._map)


def canonical(values: np.ndarray, vectors: np.ndarray, rounding: float) -> np.ndarray:
    """Return eigenvectors, as columns, that do not depend on the basis that LAPACK chose in each eigenspace.

    They are the columns of the pivoted Cholesky factor of the projection on the eigenspace. So the largest component of
    each is positive; if several are largest, the first of them.

    Parameters
    ----------
    values : ndarray, shape (n,), descending
        Neighbors that differ by at most ``rounding`` times the first one count as equal.
    vectors : ndarray, shape (n, n)
        Orthonormal eigenvectors, as columns.
    rounding : float
    """
    chosen = np.empty_like(vectors)
    ends = np.append(np.flatnonzero(values[:-1] - values[1:] > rounding * values[0]) + 1, len(values))
    for first, end in zip([0, *ends[:-1]], ends, strict=True):
        space = vectors[:, first:end].copy()
        for j in range(first, end):
            squares = np.square(space).sum(axis=1)
            i = (squares >= squares.max() - rounding).argmax()
            chosen[:, j] = space @ space[i] / np.sqrt(squares[i])
            space -= np.outer(chosen[:, j], chosen[:, j] @ space)
    return chosen
