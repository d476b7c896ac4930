"""Hypotheses that are kernel expansions first, then functions of the Nystroem features of the support set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.compiling import interpreted
from budgetrun.engine.hypotheses.base import Options
from budgetrun.engine.hypotheses.expansion import Expansion
from budgetrun.engine.hypotheses.features import BlockFeatures, ExplicitFunction, play_tile
from budgetrun.engine.play import play
from budgetrun.kernels.kinds import TILE

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool
    from budgetrun.kernels import Rows


class Nystroem(Expansion):
    """f = sum_i coef_i k(x_i, .), until `approximate` replaces it by w . z(x) and fixes the support set.

    The verb is `add` before that, and `step` after it.

    Parameters
    ----------
    pool : Pool
    unit : float, > 0
        The scale of scores w . z(x): the learner's step. A score of at most ``unit`` ||k(x, .)|| times `rounding`
        counts as 0.
    """

    form = "nystroem"

    def __init__(self, pool: Pool, unit: float) -> None:
        super().__init__(pool)
        self._unit = unit
        # z(x) = _map^T k(x), shape (size, rank).
        self._map: np.ndarray | None = None
        self._f = ExplicitFunction(np.empty(0))
        # ||k(x, .)|| for the block's examples.
        self._lengths = np.empty(0)

    @property
    def approximated(self) -> bool:
        """Whether f is w . z(x)."""
        return self._map is not None

    @property
    def coef(self) -> np.ndarray:
        return super().coef if self._map is None else self._map @ self._f.w

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
        self._f = ExplicitFunction(roots * ((every[kept] if transposed else vectors.T) @ self.coef))
        self._map = vectors / roots
        self._f.begin_block(self._features())
        scores = self._f.begin_tile(self._round, self.tile_end)
        self._moved = scores.item(0) - self.scores.item(self._round)
        self.scores[self._round + 1 : self.tile_end] = scores[1:]

    def step(self, weight: float) -> None:
        """w += weight z(x_t), for the example x_t of the current round."""
        self._f.step(self._round, weight, self.scores)
        self._moved += weight * self._f.square(self._round)

    def begin_block(self) -> None:
        super().begin_block()
        if self._map is not None:
            self._f.begin_block(self._features())

    @interpreted
    def begin_tile(self) -> None:
        if self._map is None:
            self._begin_tile()
            return
        self.tile_start, self.tile_end = self.tile_end, min(self.tile_end + TILE, len(self.scores))
        self.scores[self.tile_start : self.tile_end] = self._f.begin_tile(self.tile_start, self.tile_end)

    def end_block(self) -> None:
        if self._map is not None:
            self._f.end_block()

    def play(self, learner: Any, y: np.ndarray, t: int, options: Options) -> int:
        if self._map is None:
            return play(self, learner, y, t, options)
        return play_tile(self, learner, y, t, options)

    def score_at(self, t: int) -> float:
        if self._map is None:
            return self._score_at(t)
        if abs(self.scores[t]) <= self.rounding * self._unit * self._lengths[t]:
            self.scores[t] = 0.0
        return float(self.scores[t])

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        if averaged:
            raise NotImplementedError("the mean of all hypotheses is not kept")
        return super().score(X)

    def _features(self) -> BlockFeatures:
        """Return the features of the current block."""
        assert self._map is not None
        self._lengths = np.sqrt(self.squares_from(0))
        return BlockFeatures(self._pool.block[self.slots].T.astype(np.float64, copy=False) @ self._map)


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
