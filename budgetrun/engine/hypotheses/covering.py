"""Forms that know the distances of examples, in the space of the examples."""

from typing import ClassVar

import numpy as np

from budgetrun.engine.hypotheses.base import Hypothesis
from budgetrun.engine.hypotheses.expansion import Expansion
from budgetrun.kernels import Linear
from budgetrun.kernels.compiling import interpreted
from budgetrun.kernels.sums import taken


class SquaredDistance(Linear):
    """||a - b||^2, computed as kernel values are: exactly for whole numbers, else coordinate by coordinate."""

    name: ClassVar[str] = "squared_distance"
    of_distance = True


class Distances:
    """What models of earlier versions hold; distances are now with the block of the pool."""


class WithDistances(Hypothesis):
    """Base of forms that know ||x_i - x_t||^2 between every slot and the rounds of the block.

    `_distances` has the shape of the pool's tiles. It is computed once for all learners of a pool.
    """

    _distances: np.ndarray

    def begin_block(self) -> None:
        super().begin_block()
        pool = self._pool
        if "distances" not in pool.of_block:
            n_tiles, _, width = pool.tiles.shape
            tiles = pool.of_block["distances"] = np.empty((n_tiles, pool.used, width))
            pool.kind.fill(SquaredDistance(), pool.kind.encoded(pool.block_slots), tiles)
        self._distances = pool.of_block["distances"]

    def end_block(self) -> None:
        self._distances = np.zeros((1, 0, 0))


class Covering(WithDistances, Expansion):
    """An expansion over examples whose distances from the example of the current round are known."""

    form = "covering"

    @property
    def n_features(self) -> int:
        return self._pool.n_features

    def distances(self) -> np.ndarray:
        """Return ||x_i - x_t||^2 between the support examples and x_t of the current round, shape (size,)."""
        return taken(self._distances[self._tile][:, self._round - self.tile_start], self.slots)

    @interpreted
    def largest_differences(self, chosen: np.ndarray) -> np.ndarray:
        """Return the largest |x_ij - x_tj| over the coordinates j, for some of the support examples."""
        examples, current = map(self._pool.examples, (self.slots[chosen], self._block_slots[[self._round]]))
        if isinstance(examples, np.ndarray):
            return abs(examples - current).max(axis=1)
        return abs(examples - current[np.zeros(len(chosen), dtype=int)]).max(axis=1).toarray().ravel()
