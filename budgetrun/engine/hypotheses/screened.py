"""Kernel expansions on floats whose scores are only as close as decisions need."""

import numpy as np

from budgetrun.engine.hypotheses.base import SCALED
from budgetrun.engine.hypotheses.expansion import Expansion
from budgetrun.engine.pool import Pool
from budgetrun.kernels.arithmetic import TILE
from budgetrun.kernels.compiling.objects import SHAPE, TYPE
from budgetrun.kernels.kinds import Floats, enlarged
from budgetrun.kernels.sums import add_roughly, along, copy, evaluate, inner_at, taken


class Screened(Expansion):
    """An expansion whose scores are rough, from float32 arithmetic with a bound on its error, until one is settled.

    On most rounds the learner certainly does not act, and no more is computed. Settled scores, and all that a learner
    reads, have the bits of the expansion that this one continues.

    Parameters:
    f : Expansion
        Its arrays are shared; `write_back` gives it the present numbers.
    pool : Pool
        Its examples are floats, and its kernel has a `rough` form.

    Attributes:
    n_settled : int
        The rounds whose score was settled.
    """

    needs_values = False

    def __init__(self, f: Expansion, pool: Pool) -> None:
        vars(self).update((name, value) for name, value in vars(f).items() if name not in (TYPE, SHAPE))
        assert isinstance(pool.kind, Floats)
        self.n_settled = 0
        self._kernel, self._stored, self._used = pool.kernel, pool.kind.stored, pool.used
        # All examples, times the kernel's factor, by slot; and those of the block by tile and feature.
        self._rough_rows = np.zeros((pool.capacity, pool.n_features), dtype=np.float32)
        self._rough_tiles = np.zeros((1, pool.n_features, TILE), dtype=np.float32)
        # The error of a rough score for a sum of absolute weights of 1.
        self._rough_error = 0.0
        self._take_rough(np.arange(pool.used))
        # The kernel values of all slots with the round that was settled last.
        self._settled = np.zeros(pool.capacity, dtype=pool.dtype)

    def write_back(self, f: Expansion) -> None:
        """Give the expansion that this one continues the present numbers."""
        vars(f).update((name, vars(self)[name]) for name in vars(f) if name not in (TYPE, SHAPE))

    @property
    def doubt(self) -> float:
        # Twice, for what is added to a score and taken away again.
        return 2 * self._rough_error * self._mass

    def score_at(self, t: int) -> float:
        self.n_settled += 1
        distances = along(self._stored, self._block_slots[t], self._stored, 0, self._used, True)
        evaluate(self._kernel, distances, self._settled)
        score = inner_at(self._settled, self._then_slots[: self._n_then], self._then_weights[: self._n_then])
        for i in range(self._n_changes):
            slot, weight = self._changed[i], self._changes[i]
            score = score * weight if slot == SCALED else score + weight * self._settled[slot]
        self.scores[t] = score
        return self._score_at(t)

    def _look(self) -> None:
        super()._look()
        pool, kind = self._pool, self._pool.kind
        assert isinstance(kind, Floats)
        if len(self._settled) < pool.capacity:
            self._settled = enlarged(self._settled, pool.capacity)
            self._rough_rows = enlarged(self._rough_rows, pool.capacity, kind.n_features)
        self._stored, self._used = kind.stored, pool.used
        features = self._take_rough(self._block_slots)
        tiles, _, width = self._tiles.shape
        self._rough_tiles = np.zeros((tiles, kind.n_features, TILE), dtype=np.float32)
        self._rough_tiles[:, :, :width] = features.reshape(-1, tiles, width).transpose(1, 0, 2)

    def _take_rough(self, slots: np.ndarray) -> np.ndarray:
        """Take the examples in some slots, and return them times the kernel's factor, shape (d, len(slots))."""
        squares = self._pool.kind.scaled[0, : self._used]
        factor, self._rough_error = self._pool.kernel.rough(len(self._stored), squares.max(initial=0.0))
        features = np.empty((len(self._stored), len(slots)), dtype=np.float32)
        with np.errstate(over="ignore"):
            np.multiply(self._stored.take(slots, axis=1), factor, out=features, casting="unsafe")
        self._rough_rows[slots] = features.T
        return features

    def _add_up(self, weights: np.ndarray, slots: np.ndarray, t: int) -> None:
        copy(self._rough_sums(weights, slots, t), self.scores[t : self.tile_end])

    def _change(self, slot: int, weight: float, t: int) -> None:
        rest = self.scores[t : self.tile_end]
        if slot == SCALED:
            rest *= weight
        else:
            rest += self._rough_sums(np.full(1, float(weight)), np.full(1, slot), t)

    def _rough_sums(self, weights: np.ndarray, slots: np.ndarray, t: int) -> np.ndarray:
        """Return the sums over i of ``weights[i] * k(x_i, x)``, roughly, for the rounds of the tile from ``t`` on."""
        sums = np.zeros(TILE)
        add_roughly(weights, slots, self._rough_rows, self._rough_tiles[self._tile], sums)
        return sums[t - self.tile_start : self.tile_end - self.tile_start]

    def _value(self, slot: int) -> float:
        return self._settled[slot]

    def _values_at(self, t: int) -> np.ndarray:
        return taken(self._settled, self.slots)
