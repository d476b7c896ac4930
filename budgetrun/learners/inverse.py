"""The inverse of a support set's kernel matrix, for rules that project on all but one of the examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from budgetrun.engine.hypotheses import Expansion


class Inverse:
    """The inverse of G = K + ridge I over the support set, oldest first, in O(n^2) per change.

    Parameters
    ----------
    ridge : float, > 0
        Bounds the inverse if examples are equal, or nearly dependent.

    Attributes
    ----------
    matrix, values : ndarray of float64, shape (n, n)
        G, and its inverse up to rounding.
    additions : int
        The number of examples added since it was computed from G; rounding grows with it.
    """

    def __init__(self, ridge: float) -> None:
        self.ridge = ridge
        self.matrix: np.ndarray = np.zeros((0, 0))
        self.values: np.ndarray = self.matrix
        self.additions = 0

    def add_current(self, f: Expansion) -> None:
        """Add the example of the current round, as the youngest, to a full support set.

        Every n times, and the first time, the inverse is computed from G.
        """
        n = f.size
        if not len(self.matrix):
            self.matrix = f.gram() + self.ridge * np.eye(n)
        if self.additions % n == 0:
            self.values = np.linalg.inv(self.matrix)
        self.additions += 1
        row, square = f.kernel_row(), f.square + self.ridge
        column = np.append(self.solved(row), -1.0)
        larger = np.zeros((2, n + 1, n + 1))
        larger[:, :n, :n] = self.matrix, self.values
        larger[0, n, :n] = larger[0, :n, n] = row
        larger[0, n, n] = square
        self.matrix = larger[0]
        self.values = larger[1] + np.outer(column, column / (square - row @ column[:n]))

    def remove(self, i: int) -> np.ndarray:
        """Remove example ``i``.

        Returns
        -------
        ndarray, shape (n,)
            The weights of the others in the projection of the example on their span, and -1 for itself.
        """
        rest = np.arange(len(self.matrix)) != i
        column = self.solved(np.where(rest, 0.0, 1.0))
        self.matrix = self.matrix[np.ix_(rest, rest)]
        self.values = self.values[np.ix_(rest, rest)] - np.outer(column[rest], column[rest] / column[i])
        shares: np.ndarray = -column / column[i]
        return shares

    def solved(self, right: np.ndarray) -> np.ndarray:
        """Return G^-1 times a vector, after one step of iterative refinement."""
        found = self.values @ right
        refined: np.ndarray = found + self.values @ (right - self.matrix @ found)
        return refined


def keep_and_add(f: Expansion, i: int, weights: np.ndarray) -> None:
    """Give the support examples and the example of the current round new weights; all but example ``i`` are kept.

    Parameters
    ----------
    f : Expansion
    i : int in 0..size
    weights : ndarray, shape (size + 1,)
        The weight of the new example comes last.
    """
    n = f.size
    chosen = np.flatnonzero(np.arange(n) != i)
    f.keep(chosen, weights[chosen])
    if i < n:
        f.add(weights.item(n))
