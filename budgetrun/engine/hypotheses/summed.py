"""Forms with scores that are summed in a stated order: their support set, and tiles of rounds."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from budgetrun.engine.hypotheses.base import Hypothesis
from budgetrun.engine.pool import Pool
from budgetrun.kernels.arithmetic import TILE
from budgetrun.kernels.sums import close_gap, copy, mass, taken

# The most changes of scores by the verbs of 64 rounds before scores are summed again.
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

    def __init__(self, pool: Pool, *shape: int) -> None:
        super().__init__(pool, *shape)
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
        # True if examples were added since, and nothing else has changed.
        self._grown = False
        # Sums of the block's scores over the first support examples, computed before it, and how many these are; -1 if
        # something else has changed since.
        self._known = np.zeros(0)
        self._n_known = 0

    # -- read by learners ----------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        return self._tail - self._head

    @property
    def slots(self) -> np.ndarray:
        return self._slots[self._head : self._tail]

    @property
    def squares(self) -> np.ndarray:
        return self._squares[self.slots]

    # -- called by the engine ------------------------------------------------------------------------------------

    @property
    def held(self) -> np.ndarray:
        if (self._before + len(self._block_slots)) % TILE == 0:
            return self.slots
        changed = self._changed[: self._n_changes]
        return np.concatenate((self.slots, self._then_slots[: self._n_then], changed[changed != SCALED]))

    def begin_block(self) -> None:
        super().begin_block()
        if not self.has_room():
            self._make_room()

    def begin_row(self, slot: int, before: int) -> None:
        """Begin a block of one round, after ``before`` rounds: its example is in ``slot``, and there is room."""
        self._block_slots[0], self._before = slot, before
        self.lengths[0] = np.sqrt(self._squares[slot])
        self._round, self._tile, self.tile_end = 0, -1, 0

    # -- scores --------------------------------------------------------------------------------------------------

    def _score_tile(self) -> None:
        self._sum_tile()

    def _sum_tile(self) -> None:
        if (self._before + self.tile_start) % TILE == 0:
            self._sum_again(self.tile_start)
            return
        self._add_up(self._then_weights[: self._n_then], self._then_slots[: self._n_then], self.tile_start)
        self._add_beside(self.tile_start)
        for i in range(self._n_changes):
            self._change(self._changed[i], self._changes[i], self.tile_start)

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
        weights, slots, old = self._weights[self._head : self._tail], self.slots, 0
        if self._grown:
            old = self._n_then
        else:
            self._mass = mass(weights, taken(self._squares, slots))
        copy(slots[old:], self._then_slots[old:])
        copy(weights[old:], self._then_weights[old:])
        self._n_changes, self._n_then, self._grown = 0, len(slots), True
        if t < self.tile_end:
            self._add_up(weights, slots, t)
            self._add_beside(t)

    def _add_beside(self, t: int) -> None:
        """Add to these sums what a form has beside them."""

    # -- the support set -----------------------------------------------------------------------------------------

    def _change_weights(self) -> None:
        """Note that sums over the support set are no longer those of a part of it, before such a change."""
        self._grown, self._n_known = False, -1

    def _put_last(self, slot: int, weight: float) -> None:
        """Put an example at the end of the support set."""
        self._slots[self._tail] = slot
        self._weights[self._tail] = weight
        self._tail += 1
        self._mass += abs(weight) * np.sqrt(self._squares[slot])

    def _remove(self, i: int) -> None:
        """Remove support example ``i`` from `_slots` and `_weights`."""
        self._change_weights()
        if i == 0:
            self._head += 1
            return
        at, tail = self._head + i, self._tail
        close_gap(self._slots, at, tail)
        close_gap(self._weights, at, tail)
        self._tail = tail - 1

    @property
    def _most(self) -> int:
        """The most support examples in the block that begins."""
        return self.size + 2 * len(self._block_slots) + 1

    def has_room(self) -> bool:
        """Return whether there is room for the examples that a block may add."""
        return self._has_places()

    def _has_places(self) -> bool:
        most = self._most
        return self._head + most <= len(self._slots) and most <= len(self._then_slots)

    def _make_room(self) -> None:
        """Make room for the examples that a block may add; compiled code cannot."""
        n, first = self.size, self._head
        for name in (*self._columns, "_then_slots", "_then_weights"):
            old = getattr(self, name)
            new = np.zeros(2 * self._most, dtype=old.dtype)
            kept = old[first : first + n] if name in self._columns else old[: len(new)]
            new[: len(kept)] = kept
            setattr(self, name, new)
        self._head, self._tail = 0, n
