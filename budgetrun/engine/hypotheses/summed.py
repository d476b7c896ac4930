"""What forms with scores that are summed in a stated order have in common: the support set, and tiles of rounds."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from budgetrun.engine.hypotheses.base import Hypothesis
from budgetrun.kernels.kinds import TILE
from budgetrun.kernels.sums import close_gap, copy, mass, taken

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool

# How often the verbs of 64 rounds may change scores before these are summed again.
MOST_CHANGES = 4 * TILE
# In place of a slot, in the list of changes: all scores are multiplied.
SCALED = -1


class Summed(Hypothesis):
    """Weighted sums of k(x_i, .) over a support set. Support examples are counted from 0, oldest first.

    Notes
    -----
    The scores of a round t are computed in a stated order: the sum over the support set of round g, oldest first, where
    g is the last multiple of 64 before t; then one change after the other, as the verbs were called. This does not
    depend on how a stream is cut into blocks. `_then` holds the support set of round g, and `_changes` what followed.
    """

    # The arrays with one number per support example, from `_head` to `_tail`.
    _columns: ClassVar[tuple[str, ...]] = ("_slots", "_weights")

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        # A bound on the sum of the absolute terms of a score, for k(x, x) = 1.
        self._mass = 0.0
        self._head = self._tail = 0
        self._slots = np.zeros(16, dtype=np.intp)
        self._weights = np.zeros(16)
        # The support set at the last multiple of 64 rounds, and the changes of scores since: slots and weights.
        self._then_slots = np.zeros(16, dtype=np.intp)
        self._then_weights = np.zeros(16)
        self._n_then = 0
        self._changed = np.zeros(MOST_CHANGES, dtype=np.intp)
        self._changes = np.zeros(MOST_CHANGES)
        self._n_changes = 0
        # The block: kernel values, and the rounds of the current tile.
        self._tiles = np.zeros((1, 0, 0), dtype=pool.dtype)
        self._squares = np.zeros(0)
        self._block_slots = np.zeros(0, dtype=np.intp)
        self._before = 0
        self._tile = -1
        self.tile_start = self.tile_end = 0

    # -- read by learners ----------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        return self._tail - self._head

    @property
    def slots(self) -> np.ndarray:
        return self._slots[self._head : self._tail]

    @property
    def square(self) -> float:
        return self._squares[self._block_slots[self._round]]

    @property
    def squares(self) -> np.ndarray:
        return self._squares[self.slots]

    def squares_from(self, t: int) -> np.ndarray:
        return taken(self._squares, self._block_slots[t:])

    @property
    def now(self) -> int:
        return self._before + self._round + 1

    def kernel_row(self) -> np.ndarray:
        """Return k(x_i, x_t) between the support examples and the example of the current round.

        Returns
        -------
        ndarray of float64, shape (size,), oldest first
        """
        return self._values_at(self._round)

    # -- called by the engine ------------------------------------------------------------------------------------

    @property
    def held(self) -> np.ndarray:
        if (self._before + len(self._block_slots)) % TILE == 0:
            return self.slots
        changed = self._changed[: self._n_changes]
        return np.concatenate((self.slots, self._then_slots[: self._n_then], changed[changed != SCALED]))

    def begin_block(self) -> None:
        self._look()
        b = len(self._block_slots)
        self._before = self._pool.seen - b
        self.scores = np.zeros((*self.scores.shape[:-1], b))
        self._round, self._tile, self.tile_end = 0, -1, 0
        self._make_room()

    def begin_row(self, slot: int, before: int) -> None:
        """Begin a block of one round, after ``before`` rounds: its example is in ``slot``, and there is room."""
        self._block_slots[0], self._before = slot, before
        self._round, self._tile, self.tile_end = 0, -1, 0

    def begin_tile(self) -> None:
        """Go to the next rounds of the block, and compute their scores."""
        self._begin_tile()

    def _begin_tile(self) -> None:
        self._tile += 1
        self.tile_start = self.tile_end
        self.tile_end += self._tiles.shape[2]
        if (self._before + self.tile_start) % TILE == 0:
            self._sum_again(self.tile_start)
            return
        self._add_up(self._then_weights[: self._n_then], self._then_slots[: self._n_then], self.tile_start)
        for i in range(self._n_changes):
            self._change(self._changed[i], self._changes[i], self.tile_start)

    # -- scores --------------------------------------------------------------------------------------------------

    @abstractmethod
    def _add_up(self, weights: np.ndarray, slots: np.ndarray, t: int) -> None:
        """Compute the scores of the tile from round ``t`` on as sums over these examples, in their order."""

    @abstractmethod
    def _change(self, slot: int, weight: float, t: int) -> None:
        """Change the scores of the tile from round ``t`` on: add weight k(x, .), or multiply them."""

    def _change_scores(self, slot: int, weight: float) -> None:
        """Change the scores of the rest of the tile, and note the change for the next block."""
        if self._n_changes == MOST_CHANGES:
            # The caller has changed the weights already.
            self._sum_again(self._round + 1)
            return
        self._changed[self._n_changes], self._changes[self._n_changes] = slot, weight
        self._n_changes += 1
        self._change(slot, weight, self._round + 1)

    def _sum_again(self, t: int) -> None:
        """Compute the scores of the tile from round ``t`` on as sums over the present support set."""
        n, weights = self.size, self._weights[self._head : self._tail]
        self._n_changes, self._n_then = 0, n
        copy(self.slots, self._then_slots)
        copy(weights, self._then_weights)
        self._mass = mass(weights, taken(self._squares, self.slots))
        if t < self.tile_end:
            self._add_up(weights, self.slots, t)

    def _values_at(self, t: int) -> np.ndarray:
        """Return k(x_i, x_t) between the support examples and the example of a round of the tile, shape (size,)."""
        return taken(self._tiles[self._tile][:, t - self.tile_start], self.slots)

    # -- the support set -----------------------------------------------------------------------------------------

    def _put_last(self, slot: int, weight: float) -> None:
        """Put an example at the end of the support set."""
        self._slots[self._tail] = slot
        self._weights[self._tail] = weight
        self._tail += 1
        self._mass += abs(weight) * np.sqrt(self._squares[slot])

    def _remove(self, i: int) -> None:
        """Remove support example ``i`` from `_slots` and `_weights`."""
        if i == 0:
            self._head += 1
            return
        at, tail = self._head + i, self._tail
        close_gap(self._slots, at, tail)
        close_gap(self._weights, at, tail)
        self._tail = tail - 1

    def _look(self) -> None:
        """Take what the pool has of the current block."""
        pool = self._pool
        self._tiles, self._squares, self._block_slots = pool.tiles, pool.squares, pool.block_slots

    def _make_room(self) -> None:
        """Make room for the examples that a block may add; compiled code cannot."""
        more = 2 * len(self._block_slots) + 1
        if self._tail + more > len(self._slots):
            head, tail, n = self._head, self._tail, self.size
            length = 2 * (n + more)
            for name in self._columns:
                array = getattr(self, name)
                new = np.zeros(length, dtype=array.dtype)
                new[:n] = array[head:tail]
                setattr(self, name, new)
            self._head, self._tail = 0, n
        if len(self._then_slots) < self.size + more:
            for name in ("_then_slots", "_then_weights"):
                array = getattr(self, name)
                new = np.zeros(2 * (self.size + more), dtype=array.dtype)
                new[: len(array)] = array
                setattr(self, name, new)
