"""Kernel values between support examples that rules remember or compare."""

import numpy as np

from budgetrun.engine.hypotheses.base import Table
from budgetrun.engine.hypotheses.expansion import Expansion
from budgetrun.engine.pool import Pool
from budgetrun.kernels.sums import drop_place, put


class Pairs(Table):
    """The kernel values k(x_i, x_j) between the support examples, each in a place that it keeps until it leaves.

    Parameters:
    budget : int, >= 1
        The most support examples; memory for budget^2 numbers.

    Attributes:
    places : ndarray of int, shape (budget,)
        The places of the support examples, oldest first, followed by the free places.
    values : ndarray of float64, shape (budget, budget)
        k(x_i, x_j), by place.
    """

    table_bytes = kept_table_bytes = 8.0

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
        drop_place(self.places, i, self.size)
        self.size -= 1


def first_smallest(values: np.ndarray, errors: np.ndarray) -> int:
    """Return the first index of the smallest value, where values that rounding could have made unequal are equal.

    ``errors``, shape (n,), bound the rounding errors of the values. Two values are equal if they differ by at most the
    larger one of their own bounds.
    """
    least = values.argmin()
    return int(np.argmax(values <= values[least] + np.maximum(errors, errors[least])))


class Remembering(Expansion):
    """An expansion that keeps the examples and labels of all rounds. The verb for that is `remember`."""

    compiled = False

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self._seen = np.zeros(0, dtype=np.intp)
        self._labels = np.zeros(0)

    def remember(self, y: int) -> None:
        """Keep the example of the current round, and its label."""
        self._seen = np.append(self._seen, self._block_slots[self._round])
        self._labels = np.append(self._labels, y)

    def errors_without(self) -> np.ndarray:
        """Count, for each support example, the errors of f without it on what is kept, shape (size,); 0 means -1."""
        parts = self.coef[:, None] * self._pool.between(self.slots, self._seen)
        limits = self.rounding * np.sqrt(self._squares[self._seen] * self.squares.max())
        return ((parts.sum(axis=0) - parts > limits) != (self._labels > 0)).sum(axis=1)

    @property
    def held(self) -> np.ndarray:
        return self._seen
