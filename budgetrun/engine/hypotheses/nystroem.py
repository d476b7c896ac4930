"""Hypotheses that are kernel expansions first, then functions of the Nystroem features of the support set."""

import numpy as np

from budgetrun.engine.hypotheses.expansion import Expansion
from budgetrun.engine.hypotheses.features import OfFeatures
from budgetrun.engine.pool import Pool
from budgetrun.kernels.compiling import interpreted
from budgetrun.kernels.features import BlockFeatures


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
