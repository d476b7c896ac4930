"""Kernel values between support examples, for rules that compare every two of them."""

from __future__ import annotations

import numpy as np

from budgetrun.kernels.compiling import Compilable
from budgetrun.kernels.sums import close_gap, put


class Pairs(Compilable):
    """The kernel values k(x_i, x_j) between the support examples, each in a place that it keeps until it leaves.

    Parameters
    ----------
    budget : int, >= 1
        The most support examples; memory for budget^2 numbers.

    Attributes
    ----------
    places : ndarray of int, shape (budget,)
        The places of the support examples, oldest first, followed by the free places.
    values : ndarray of float64, shape (budget, budget)
        k(x_i, x_j), by place.
    size : int
        The number of support examples.
    """

    def __init__(self, budget: int) -> None:
        self.places = np.arange(budget)
        self.values = np.zeros((budget, budget))
        self.size = 0

    def add(self, row: np.ndarray, square: float) -> int:
        """Add an example, with k(x, x) = ``square``, as the youngest, and return its place.

        ``row`` has its kernel values with the support examples, oldest first, shape (size,).
        """
        place, others = self.places[self.size], self.places[: self.size]
        put(row, others, self.values[place])
        put(row, others, self.values[:, place])
        self.values[place, place] = square
        self.size += 1
        return int(place)

    def remove(self, i: int) -> None:
        """Remove support example ``i``, counted from 0, oldest first."""
        place = self.places[i]
        close_gap(self.places, i, self.size)
        self.size -= 1
        self.places[self.size] = place


def first_smallest(values: np.ndarray, tolerance: float) -> int:
    """Return the first index of the smallest value; values that differ by at most ``tolerance`` count as equal."""
    return int(np.argmax(values <= values.min() + tolerance))
