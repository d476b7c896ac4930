"""Kernel expansions that know the distances of their examples, in the space of the examples."""

from typing import ClassVar

import numpy as np

from budgetrun.engine.hypotheses.expansion import Expansion
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Linear
from budgetrun.kernels.compiling import interpreted
from budgetrun.kernels.sums import taken


class SquaredDistance(Linear):
    """||a - b||^2, computed as kernel values are: exactly for whole numbers, else coordinate by coordinate."""

    name: ClassVar[str] = "squared_distance"
    of_distance = True


class Distances:
    """What models of earlier versions hold; distances are now with the block of the pool."""


def distances_of_block(pool: Pool) -> np.ndarray:
    """Return ||x_i - x_t||^2 between every slot and the rounds of the block, in the shape of the pool's tiles."""
    if "distances" not in pool.of_block:
        n_tiles, _, width = pool.tiles.shape
        tiles = pool.of_block["distances"] = np.empty((n_tiles, pool.used, width))
        pool.kind.fill(SquaredDistance(), pool.kind.encoded(pool.block_slots), tiles)
    found: np.ndarray = pool.of_block["distances"]
    return found


class Covering(Expansion):
    """An expansion over examples whose distances from the example of the current round are known."""

    form = "covering"

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self._distances = np.zeros((1, 0, 0))

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

    def begin_block(self) -> None:
        super().begin_block()
        self._distances = distances_of_block(self._pool)

    def end_block(self) -> None:
        self._distances = np.zeros((1, 0, 0))
