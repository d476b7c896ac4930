"""The base classes of hypotheses: all, and those whose scores are summed in a stated order, by tiles of rounds."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from budgetrun.base.problem import CANCELLED
from budgetrun.engine import play
from budgetrun.engine.play import Options
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows
from budgetrun.kernels.arithmetic import TILE
from budgetrun.kernels.compiling import Compilable
from budgetrun.kernels.compiling.objects import apart
from budgetrun.kernels.kinds import enlarged
from budgetrun.kernels.sums import close_gap, copy, inner, taken

# The tolerances of rules with kernel values in float64 and in float32, in the units that docs/engine.md lists.
ROUNDING, ROUGH = 1e-9, 1e-5


class Hypothesis(Compilable, ABC):
    """A function f that a learner changes by verbs, and its scores on the rest of the current block.

    Verbs can be called in any order: each one updates the scores of later rounds, `current`, and all that the form
    tracks.

    Attributes
    ----------
    form : str
        The name of this form in run ids.
    revision : int, >= 1
        Raised whenever a change to the form changes outcomes; part of every run id (`budgetrun.runner.identity`).
    in_pool : bool
        Whether the support examples are in the pool.
    needs_values : bool
        Whether rounds need the pool's kernel values with the block.
    averages : bool
        Whether `score` can always give the mean of the hypotheses of all rounds.
    compiled : bool
        Whether compiled code can play the rounds.
    prepares_tiles : bool
        Whether compiled code can play the rounds of a tile, but not begin one.
    table_bytes, kept_table_bytes, block_bytes : float
        The bytes of tables per pair of support examples, all and those kept between blocks; those of a block per
        support example and round.
    upkeep : int
        The number of rows of kernel values that an update reads or writes, for estimates of running time.
    scores : ndarray, shape (b,), or (n_classes, b)
        f(x_t) for the later rounds of the block; for earlier rounds, the scores at prediction time.
    tile_start, tile_end : int
        The rounds of the block whose scores are up to date: from the first, and before the second.
    lengths : ndarray, shape (b,)
        ||k(x_t, .)|| of the block's examples.
    mistakes, mistaken : int, bool
        M_t, the mistakes so far, including the current round; whether the current round is one.
    updates : int
        The rounds so far on which the learner acted, including the current one.
    acted : ndarray of bool, shape (b,)
        Which rounds of the block these are.
    largest_size : int
        The largest support set after a round.
    rounding : float
        The tolerance of rules, in units of the rounding error of what they compare: `ROUNDING`, or `ROUGH`.
    """

    form: ClassVar[str]
    revision: ClassVar[int] = 1
    averages: ClassVar[bool] = False
    in_pool: ClassVar[bool] = True
    needs_values: ClassVar[bool] = True
    compiled: bool = True
    prepares_tiles: ClassVar[bool] = False
    table_bytes: ClassVar[float] = 0.0
    kept_table_bytes: ClassVar[float] = 0.0
    block_bytes: ClassVar[float] = 0.0
    upkeep: int = 1

    def __init__(self, pool: Pool, *shape: int) -> None:
        self.mistakes = 0
        self.mistaken = False
        self.updates = 0
        self.acted = np.zeros(0, dtype=bool)
        self.largest_size = 0
        self.rounding = ROUNDING if pool.dtype == np.float64 else ROUGH
        self.scores = np.zeros((*shape, 0))
        if shape:
            (self.n_classes,) = shape
        self._pool = pool
        self._round = 0
        # The change of f(x_t) by verbs since the prediction.
        self._moved: Any = np.zeros(shape) if shape else 0.0
        # The block: kernel values, k(x, x) by slot, the examples, and the number of rounds before it.
        self._tiles = np.zeros((1, 0, 0), dtype=pool.dtype)
        self._squares = self.lengths = np.zeros(0)
        self._block_slots = np.zeros(0, dtype=np.intp)
        self._before = 0
        self._tile = -1
        self.tile_start = self.tile_end = 0

    # -- read by learners ----------------------------------------------------------------------------------------

    @property
    def current(self) -> Any:
        """f(x_t) for the example of the current round, after the verbs so far: a float, or shape (n_classes,)."""
        return self.scores.T[self._round] + self._moved

    @property
    @abstractmethod
    def slots(self) -> np.ndarray:
        """The slots of the support examples in the pool, oldest first; shape (size,)."""

    @property
    def size(self) -> int:
        """The number of support examples."""
        return len(self.slots)

    @property
    def square(self) -> float:
        """k(x_t, x_t), for the example x_t of the current round."""
        return self._squares[self._block_slots[self._round]]

    @property
    def now(self) -> int:
        """The number of rounds so far, including the current one."""
        return self._before + self._round + 1

    def rounds_before(self, t: int) -> int:
        """Return the number of rounds before round ``t`` of the block."""
        return self._before + t

    def kernel_row(self) -> np.ndarray:
        """Return k(x_i, x_t) between the support examples and x_t of the current round; float64, shape (size,)."""
        return self._values_at(self._round)

    def squares_from(self, t: int) -> np.ndarray:
        """Return k(x, x) for the examples of the block's rounds from ``t`` on, shape (b - t,)."""
        return taken(self._squares, self._block_slots[t:])

    # -- called by the engine ------------------------------------------------------------------------------------

    @property
    def rounds(self) -> np.ndarray:
        """The rounds of the support examples, counted from 0, oldest first; shape (size,)."""
        return self._pool.rounds[self.slots]

    @property
    def support_set(self) -> Rows:
        """The support examples, oldest first; shape (size, d)."""
        return self._pool.examples(self.slots)

    @property
    def held(self) -> np.ndarray:
        """The slots that the pool must keep after the block: of the support examples, and of others still needed."""
        return self.slots

    @property
    def predictions(self) -> np.ndarray:
        """f(x_t) at prediction time for the rounds of the block that have been played, shape (b,) or (n_classes, b)."""
        return self.scores

    @property
    def doubt(self) -> float:
        """What scores may be wrong by, in units of `lengths`; -1 if they are known from ``score_at(t)`` alone."""
        return -1.0

    def score_at(self, t: int) -> float:
        """Return f(x_t) for round ``t`` of the tile, and note it in `scores`; 0 if it is 0 except for rounding."""
        raise NotImplementedError

    def lead_at(self, t: int, y: int, handicaps: np.ndarray) -> tuple[int, float]:
        """Return the rival of class ``y`` on a round of the tile, and f_y minus the rival's score.

        The rival is the class with the largest score, after its handicap is added, apart from ``y``: the lowest one if
        several tie. Scores tie if they differ only by rounding.
        """
        raise NotImplementedError

    def at(self, t: int, mistaken: bool) -> None:
        """Go to round ``t`` of the block, on which the learner acts."""
        self._round, self.mistaken = t, mistaken
        self.updates += 1
        self.acted[t] = True
        self.mistakes += mistaken
        self._begin_round()

    def _begin_round(self) -> None:
        """Forget the changes of f(x_t) that the verbs of an earlier round made."""
        self._moved = 0.0

    def begin_block(self) -> None:
        """Begin a block: the pool has its kernel values."""
        self._look()
        b = len(self._block_slots)
        self._before = self._pool.seen - b
        self.scores, self.acted = np.zeros((*self.scores.shape[:-1], b)), np.zeros(b, dtype=bool)
        self._round, self._tile, self.tile_end = 0, -1, 0

    @apart
    def begin_tile(self) -> None:
        """Go to the next rounds of the block, and compute their scores."""
        self._tile += 1
        self.tile_start = self.tile_end
        self.tile_end += self._tiles.shape[2]
        self._score_tile()

    def play(self, learner: Any, y: np.ndarray, t: int, options: Options) -> int:
        """Let a learner act on the rounds of the block from ``t`` on; return the next round, b at the end of the block.

        ``y``, shape (b,), has the labels of the block.
        """
        if self.prepares_tiles:
            if t == self.tile_end:
                self.begin_tile()
            y = y[: self.tile_end]
        return play.run(self, learner, y, t, options)

    def end_block(self) -> None:
        """End the block."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave the kernel values of the block out of pickles: they are not needed between blocks."""
        return super().__getstate__() | {"_tiles": self._tiles[:, :0]}

    @abstractmethod
    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        """Return f(x) for examples outside the stream.

        Parameters
        ----------
        X : ndarray or csr_array, shape (n, d)
        averaged : bool
            Use the mean of the hypotheses of all rounds instead of the last hypothesis; only for a learner that
            `averages`.

        Returns
        -------
        ndarray of float64, shape (n,), or (n_classes, n)
        """

    def features_in_use(self) -> np.ndarray:
        """Return which features f depends on, shape (d,) of bool: those that are not 0 in all held examples."""
        return (self._pool.examples(self.held) != 0).any(axis=0)

    def rearrange(self, features: Sequence[int], n_features: int) -> None:
        """Do what `Group.rearrange` says, for what f has in addition to examples in the pool."""

    def memory(self, size: int, block: int) -> float:
        """Estimate the bytes that the form takes in addition to the pool, for ``size`` support examples.

        ``block`` is the number of rounds per block.
        """
        n_classes = len(self.scores) if self.scores.ndim > 1 else 0
        per_example = 48 + 8 * n_classes + self.block_bytes * block
        return per_example * size + 8 * n_classes * block + self.bytes_needed(size)

    def bytes_needed(self, size: int) -> float:
        """Return the bytes of the tables whose rows and columns are support examples; a budget's are refused early."""
        return self.table_bytes * size**2

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        """Return the bytes of what f keeps between blocks, as the function `bytes_kept` says, but for its tables."""
        # By example in the pool: its round and its square; and its slot.
        return size * (row + 24.0) + self.kept_table_bytes * size**2

    def solving(self, size: int) -> float:
        """Estimate the multiplications per round in addition to those for kernel values."""
        return 0.0

    # -- for the forms -------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Take what the pool has of the current block."""
        pool = self._pool
        self._tiles, self._squares, self._block_slots = pool.tiles, pool.squares, pool.block_slots
        self.lengths = pool.lengths

    def _score_tile(self) -> None:
        """Compute the scores of the tile, if that is not done for the whole block."""

    def _set_score(self, t: int, score: float, least: float) -> float:
        """Make a score that of round ``t``, and return it; 0 if its absolute value is at most ``least``."""
        score = 0.0 if abs(score) <= least else float(score)
        self.scores[t] = score
        return score

    def _value(self, slot: int) -> float:
        """Return k(x, x_t) between an example in the pool and that of the current round."""
        return self._tiles[self._tile, slot, self._round - self.tile_start]

    def _values_at(self, t: int) -> np.ndarray:
        """Return k(x_i, x_t) between the support examples and the example of a round of the tile, shape (size,)."""
        return taken(self._tiles[self._tile][:, t - self.tile_start], self.slots)


class Table(Compilable):
    """Base of the tables that a rule keeps as an attribute, so that their memory is known before they are filled.

    They hold a number per support example, and per pair these bytes: all, and without copies or spare room. The work of
    a change is so many multiplications per pair, for estimates.
    """

    table_bytes: ClassVar[float]
    kept_table_bytes: ClassVar[float]
    work: ClassVar[float] = 0.0

    def bytes_needed(self, size: int) -> float:
        """Return the bytes for ``size`` support examples."""
        return self.table_bytes * size**2

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        """Return the bytes for ``size`` support examples between blocks."""
        return 8.0 * size + self.kept_table_bytes * size**2


def bytes_kept(learner: Any, f: Hypothesis, size: int, row: float, n_features: int) -> float:
    """Return the bytes of the arrays that a learner and its hypothesis keep with ``size`` support examples.

    These are examples of ``row`` bytes each, weights, kernel values, inverses, features and frequencies: all that
    it needs to go on after a block, without spare room. One example that several classes hold counts for each.
    """
    return sum(part.bytes_kept(size, row, n_features) for part in _parts(learner, f))


def bytes_needed(learner: Any, f: Hypothesis, size: int) -> float:
    """Return the bytes of all tables that a learner and its hypothesis hold with ``size`` support examples."""
    return sum(part.bytes_needed(size) for part in _parts(learner, f))


def _parts(learner: Any, f: Hypothesis) -> list[Any]:
    return [learner, f, *(part for part in vars(learner).values() if isinstance(part, Table))]


def sum_and_limit(weights: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Return the sum of the products, in their order, and the largest absolute value of it that counts as rounding."""
    return inner(weights, values), CANCELLED * inner(np.abs(weights), np.abs(values))


# The most changes of scores by the verbs of 64 rounds before scores are summed again.
MOST_CHANGES = 4 * TILE
# In place of a slot, in the list of changes: all scores are multiplied.
SCALED = -1


class Summed(Hypothesis):
    """Weighted sums of k(x_i, .) over a support set. Support examples are counted from 0, oldest first.

    Notes: The scores of a round t are computed in a stated order: the sum over the support set of round g, oldest
    first, where g is the last multiple of 64 before t; then one change after the other, as the verbs were called. This
    does not depend on how a stream is cut into blocks. `_then` holds the support set of round g, and `_changes` what
    followed.
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

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        # Weights, the slots and weights of a round before, and the changes since.
        return super().bytes_kept(size, row, n_features) + 24.0 * size + 16.0 * MOST_CHANGES

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

    @apart
    def _sum_again(self, t: int) -> None:
        """Compute the scores of the tile from round ``t`` on as sums over the present support set."""
        weights, slots, old = self._weights[self._head : self._tail], self.slots, 0
        if self._grown:
            old = self._n_then
        else:
            self._mass = inner(np.abs(weights), np.sqrt(taken(self._squares, slots)))
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
            old, room = getattr(self, name), 2 * self._most
            setattr(self, name, enlarged(old[first : first + n] if name in self._columns else old[:room], room))
        self._head, self._tail = 0, n
