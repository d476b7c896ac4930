"""Linear functions of the coordinates in the span of a dictionary, which grows."""

import math

import numpy as np
from scipy.linalg import solve_triangular

from budgetrun.engine.hypotheses.projected import Spanned
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows
from budgetrun.kernels.spans import LEAST


class Embedded(Spanned):
    """f = w . phi(x), cut to [-C, C], where phi(x) are the coordinates of k(x, .) in the span of a dictionary.

    The verbs are `project`, `step` and `join`.

    Parameters:
    C : float, > 0
        The largest |f(x)|.
    g : float, > 0
        The ridge of leverage scores.

    Attributes:
    phi : ndarray of float64, shape (n,)
        The coordinates for the example of the current round.
    w : ndarray of float64, shape (n,)
    residual : float, >= 0
        The ridge residual of that example: k(x, x) - b^T (S K S + g I)^-1 b with b = S k(x), over the dictionary and
        the weights S with which its examples joined.
    coef : ndarray of float64, shape (size,)
        The weights of w . phi on the dictionary, oldest first.

    Notes: The coordinates are those of an orthonormal basis, built in the order of arrival. An example whose squared
    distance from the span is at most 1e-6 k(x, x) joins the dictionary, but not the basis. Kernel values are float64,
    even in runs in float32. A score of at most `rounding` counts as 0.
    """

    form = "embedded"
    averages = False
    table_bytes, kept_table_bytes, block_bytes = 40.0, 24.0, 16.0

    def __init__(self, pool: Pool, C: float, g: float) -> None:
        super().__init__(pool)
        self.C = C
        self.g = g
        self.w = self.phi = np.empty(0)
        # True for the examples in the basis; the Cholesky factor of their kernel matrix.
        self._basis = np.empty(0, dtype=bool)
        self._factor = np.zeros((0, 0))
        # The weights S, and the Cholesky factor of S K S + g I.
        self._S = np.empty(0)
        self._ridge_factor = np.zeros((0, 0))
        # For the tile's rounds: the coordinates, and the solutions of the ridge factor for b.
        self._Z = self._solved = np.zeros((0, 0))

    @property
    def current(self) -> float:
        return min(max(float(self.w @ self.phi), -self.C), self.C)

    @property
    def residual(self) -> float:
        return self._residuals.item(self._round - self.tile_start)

    @property
    def coef(self) -> np.ndarray:
        coef = np.zeros(self.size)
        if len(self.w):
            coef[self._basis] = solve_triangular(self._factor, self.w, lower=True, trans="T")
        return coef

    def kernel_row(self) -> np.ndarray:
        return self._values_in_tile(self.slots)[:, self._round - self.tile_start]

    def project(self, direction: np.ndarray) -> None:
        """Move w to the nearest one with |w . phi| <= C, where the squared distance of w and v is (w-v)^T A (w-v).

        ``direction`` is A^-1 phi, shape (n,).
        """
        value = float(self.w @ self.phi)
        if abs(value) > self.C:
            self.step(-math.copysign(abs(value) - self.C, value) / float(direction @ self.phi) * direction)

    def step(self, change: np.ndarray) -> None:
        """w += change."""
        self.w = self.w + change

    def join(self, S: float) -> bool:
        """Add the current example to the dictionary, with this weight; w . phi does not change.

        Returns whether the basis has grown, by one coordinate at the end.
        """
        i, slot, square, phi = self._round - self.tile_start, self._block_slots[self._round], self.square, self.phi
        values = self._values_in_tile(np.array([slot]))[0]
        solved = S * self._solved[i]
        last = math.sqrt(S * S * square + self.g - solved @ solved)
        more = (S * values - self._solved @ solved) / last
        self._ridge_factor = one_larger(self._ridge_factor, last, solved)
        self._solved = np.column_stack((self._solved, more))
        self._residuals -= np.square(more)
        self._S = np.append(self._S, S)
        apart = float(square - phi @ phi)
        grows = apart > LEAST * square
        if grows:
            last = math.sqrt(apart)
            self._factor = one_larger(self._factor, last, phi)
            self._Z = np.column_stack((self._Z, (values - self._Z @ phi) / last))
            self.w, self.phi = np.append(self.w, 0.0), self._Z[i]
        self._basis = np.append(self._basis, grows)
        self._slots = np.append(self._slots, slot)
        return grows

    def score_at(self, t: int) -> float:
        self.phi = self._Z[t - self.tile_start]
        return self._set_score(t, self.current, self.rounding)

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        return np.clip(self.coef @ self._pool.values(self.slots, X), -self.C, self.C)

    def solving(self, size: int) -> float:
        return 4.0 * size**2

    def _score_tile(self) -> None:
        """Compute the coordinates and residuals of the tile; those of later examples are appended as they join."""
        values = self._values_in_tile(self.slots)
        self._Z = _solve(self._factor, values[self._basis])
        self._solved = _solve(self._ridge_factor, self._S[:, None] * values)
        squares = self._squares[self._block_slots[self.tile_start : self.tile_end]]
        self._residuals = squares - np.square(self._solved).sum(axis=1)

    def end_block(self) -> None:
        self._Z = self._solved = np.zeros((0, 0))

    def _values_in_tile(self, slots: np.ndarray) -> np.ndarray:
        """Return k(x_i, x_t) between examples in the pool and those of the tile's rounds, shape (n, rounds)."""
        rounds = slice(self.tile_start, self.tile_end)
        if self._pool.dtype == np.float64:
            return self._tiles[self._tile][slots, : rounds.stop - rounds.start]
        return self._pool.between(slots, self._block_slots[rounds])


def _solve(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solutions of a lower triangular system for the columns of ``right``, (n, m): shape (m, n)."""
    if not len(right):
        return np.zeros(right.T.shape)
    return np.ascontiguousarray(solve_triangular(factor, right, lower=True, check_finite=False).T)


def one_larger(matrix: np.ndarray, last: float, row: np.ndarray | float = 0.0) -> np.ndarray:
    """Return a matrix with one more column, of zeros, and one more ``row``, which ends with ``last``."""
    n = len(matrix)
    larger = np.zeros((n + 1, n + 1), order="F")
    larger[:n, :n], larger[n, :n], larger[n, n] = matrix, row, last
    return larger
