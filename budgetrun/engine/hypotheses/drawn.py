"""Kernel expansions for several kernels, one of which is drawn for each round."""

import numpy as np

from budgetrun.base.problem import CANCELLED
from budgetrun.engine.hypotheses.covering import WithDistances
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Gaussian, Rows
from budgetrun.kernels.sums import add_up, evaluated_sums


class Drawn(WithDistances):
    """A kernel expansion f_i for each of several kernels; f is the one that was drawn for the next round.

    The verbs, for that one, are `add` and `scale`.

    Attributes:
    chosen : int
        The kernel of the current round, at first of the first one; assigned for the next one.
    norm_sq : ndarray of float64, shape (kernels,)
        ||f_i||^2.
    slots, coef : ndarray, shape (size,)
        The support examples of all kernels, oldest first, each in one f_i with this weight.

    Notes: Kernel values are computed from squared distances, which serve all kernels, when a round comes.
    """

    form = "drawn"
    compiled = False
    needs_values = False
    block_bytes = 8.0

    def __init__(self, pool: Pool, kernels: list[Gaussian], chosen: int) -> None:
        super().__init__(pool)
        self.chosen = chosen
        self.norm_sq = np.zeros(len(kernels))
        self._kernels = kernels
        # For each kernel: its support examples and their weights, with room for more, and how many they are.
        self._slots = np.zeros((len(kernels), 0), dtype=np.intp)
        self._weights = np.zeros((len(kernels), 0))
        self._sizes = [0] * len(kernels)
        self._current = 0.0

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        # For each kernel: slots and weights.
        return super().bytes_kept(size, row, n_features) + 16.0 * sum(self._sizes)

    @property
    def slots(self) -> np.ndarray:
        return self._oldest_first(self._slots)

    @property
    def coef(self) -> np.ndarray:
        return self._oldest_first(self._weights)

    @property
    def size(self) -> int:
        return sum(self._sizes)

    @property
    def current(self) -> float:
        return self._current

    def add(self, weight: float) -> None:
        """f_i += weight k_i(x, .), for the example x of the current round."""
        i, n = self.chosen, self._sizes[self.chosen]
        self.norm_sq[i] += 2 * weight * self._current + weight**2 * self.square
        self._slots[i, n], self._weights[i, n] = self._block_slots[self._round], weight
        self._sizes[i] += 1
        self._current += weight * self.square

    def scale(self, phi: float) -> None:
        """f_i *= phi."""
        self.norm_sq[self.chosen] *= phi**2
        self._weights[self.chosen] *= phi
        self._current *= phi

    def begin_block(self) -> None:
        super().begin_block()
        most = max(self._sizes) + len(self._block_slots)
        if most > self._weights.shape[1]:
            room = (0, 0), (0, most)
            self._slots, self._weights = np.pad(self._slots, room), np.pad(self._weights, room)

    def score_at(self, t: int) -> float:
        slots, weights = self._own()
        tile, column = self._distances[self._tile], t - self.tile_start
        self._current, mass = evaluated_sums(self._kernels[self.chosen], weights, slots, tile, column)
        return self._set_score(t, self._current, CANCELLED * mass)

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        scores = np.zeros(X.shape[0])
        slots, weights = self._own()
        values = self._pool.values(slots, X, self._kernels[self.chosen])
        add_up(weights, np.arange(len(values)), values, scores)
        return scores

    def solving(self, size: int) -> float:
        # The kernel values of a part of the examples, from distances.
        return 100.0 * size

    def _own(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the slots and the weights of the examples of the current kernel."""
        n = self._sizes[self.chosen]
        return self._slots[self.chosen, :n], self._weights[self.chosen, :n]

    def _oldest_first(self, rows: np.ndarray) -> np.ndarray:
        """Return what these arrays, one per kernel, have for the support examples."""
        slots, values = (
            np.concatenate([row[:n] for row, n in zip(of_each, self._sizes, strict=True)])
            for of_each in (self._slots, rows)
        )
        return values[np.argsort(self._pool.rounds[slots])]
