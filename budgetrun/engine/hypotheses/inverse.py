"""The inverse of a support set's kernel matrix, for rules that project on all but one of the examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from budgetrun.engine.hypotheses.base import Table
from budgetrun.kernels.compiling import interpreted
from budgetrun.kernels.compiling.objects import apart
from budgetrun.kernels.kinds import enlarged
from budgetrun.kernels.sums import add_outer, copy, drop_place, product, put, taken

if TYPE_CHECKING:
    from budgetrun.engine.hypotheses import Expansion


class Inverse(Table):
    """The inverse of G = K + ridge I over the support set, in O(n^2) per change, without copies.

    ``ridge`` > 0 bounds the inverse if examples are equal, or nearly dependent. ``matrix`` and ``values`` are G, and
    its inverse up to rounding. Every example has a place in both, which it keeps until it leaves; rows and columns of
    free places are 0. ``places`` are those of the ``size`` examples, oldest first, followed by the free ones. After
    many ``additions``, the inverse is computed from G again before rounding has grown.
    """

    # G and its inverse, and a copy of both while they grow.
    table_bytes, kept_table_bytes = 32.0, 16.0
    # Many, because numbers from memory, of which there are n^2, take longer than those of a matrix product.
    work = 30.0

    def __init__(self, ridge: float) -> None:
        self.ridge = ridge
        self.matrix: np.ndarray = np.zeros((0, 0))
        self.values: np.ndarray = self.matrix
        self.places = np.arange(0)
        self.size = 0
        self.additions = 0

    @apart
    def add_current(self, f: Expansion) -> None:
        """Add the example of the current round, as the youngest, to a full support set.

        Every n times, and the first time, the inverse is computed from G; compiled code cannot do that.
        """
        n = f.size
        if n >= len(self.places):
            self._make_room(f)
        if self.is_due(n):
            self._compute(n)
        self.additions += 1
        place = self.places[n]
        row = self._by_place(f.kernel_row())
        column = self._solved(row)
        square = f.square + self.ridge
        rest = square - product(row, column)
        column[place] = -1.0
        add_outer(self.values, 1 / rest, column)
        copy(row, self.matrix[place])
        copy(row, self.matrix[:, place])
        self.matrix[place, place] = square
        self.size = n + 1

    @apart
    def remove(self, i: int) -> np.ndarray:
        """Remove example ``i``, counted from 0, oldest first.

        Returns the weights of the others in its projection on their span, and -1 for itself, shape (size,).
        """
        place = self.places[i]
        right = np.zeros(len(self.places))
        right[place] = 1.0
        # The product of the inverse and this, in which there is no -0.
        stored = self.values[:, place] + 0.0
        column = self._refined(stored, right)
        shares: np.ndarray = -column[self.places[: self.size]] / column[place]
        # The refined column, which is not that of ``values``, would multiply their error by up to 1 / ridge.
        add_outer(self.values, -1 / stored[place], stored)
        self.matrix[place] = self.matrix[:, place] = 0.0
        self.values[place] = self.values[:, place] = 0.0
        drop_place(self.places, i, self.size)
        self.size -= 1
        return shares

    def solved(self, right: np.ndarray) -> np.ndarray:
        """Return G^-1 times a vector, oldest first, after one step of iterative refinement."""
        return self._solved(self._by_place(right))[self.places[: self.size]]

    def terms(self, right: np.ndarray) -> np.ndarray:
        """Return the sums of the absolute terms of G^-1 times a vector, oldest first: what bounds their rounding."""
        return product(np.abs(self.values), self._by_place(np.abs(right)))[self.places[: self.size]]

    def diagonal(self) -> np.ndarray:
        """Return the diagonal of G^-1, oldest first, shape (n,)."""
        return taken(np.diag(self.values), self.places[: self.size])

    def is_due(self, n: int) -> bool:
        """Return whether the next addition to ``n`` examples computes the inverse from G."""
        return self.additions % n == 0

    @interpreted
    def _compute(self, n: int) -> None:
        free = self.places[n:]
        self.matrix[free, free] = 1.0
        self.values = np.linalg.inv(self.matrix)
        self.matrix[free, free] = self.values[free, free] = 0.0

    @interpreted
    def _make_room(self, f: Expansion) -> None:
        n, known = f.size, self.size
        room = n + 1 + (n // 4 if known else 0)
        if not known:
            self.matrix = f.gram() + self.ridge * np.eye(n)
        self.matrix, self.values = enlarged(self.matrix, room, room), enlarged(self.values, room, room)
        self.places, self.size = np.append(self.places, np.arange(len(self.places), room)), n

    def _by_place(self, values: np.ndarray) -> np.ndarray:
        placed = np.zeros(len(self.places))
        put(values, self.places[: len(values)], placed)
        return placed

    def _solved(self, right: np.ndarray) -> np.ndarray:
        return self._refined(product(self.values, right), right)

    def _refined(self, found: np.ndarray, right: np.ndarray) -> np.ndarray:
        return found + product(self.values, right - product(self.matrix, found))


def keep_and_add(f: Expansion, i: int, weights: np.ndarray) -> None:
    """Give the support examples and the example of the current round new weights; all but example ``i`` are kept.

    ``weights`` have the shape (size + 1,); that of the new example, number size, comes last.
    """
    n = f.size
    chosen = np.flatnonzero(np.arange(n) != i)
    f.keep(chosen, weights[chosen])
    if i < n:
        f.add(weights[n])
