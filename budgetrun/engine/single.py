"""Single rounds, in compiled code: what a round needs stays in one structure between calls."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.compiling import Compilable, prepared, structures
from budgetrun.engine.hypotheses.base import Options
from budgetrun.engine.loops import compiled_form
from budgetrun.engine.play import NOT_FINITE, play
from budgetrun.kernels.kinds import TILE, Bits, Floats, Integers
from budgetrun.kernels.loops import count_ones, fill_by_table, fill_floats, fill_integers, pack, take_whole

if TYPE_CHECKING:
    from budgetrun.engine.hypotheses.expansion import Expansion
    from budgetrun.engine.pool import Pool


class Single(Compilable):
    """Rounds of one example each, played by one learner with an expansion. There is one subclass per kind of examples.

    While it is in use, the numbers of the pool, of the hypothesis and of the learner are those of the last
    `write_back`, and nothing else may change them.

    Parameters
    ----------
    pool : Pool
    f : Expansion
    learner : BinaryRule
    positive : bool
        Whether a score of 0 predicts +1.
    """

    def __init__(self, pool: Pool, f: Expansion, learner: Any, positive: bool) -> None:
        # One slot is always left for the next example.
        if pool.used + 1 >= pool.capacity:
            pool.grow(pool.used + pool.used // 2 + 16)
        kind: Any = pool.kind
        pool.tiles = np.zeros((1, pool.capacity, 1), dtype=pool.dtype)
        pool.block_slots = np.zeros(1, dtype=np.intp)
        f.begin_block()
        self.f, self.learner, self.kernel = prepared(f), prepared(learner), prepared(pool.kernel)
        self.positive = positive
        self.n_features = kind.n_features
        self.y = np.zeros(1, dtype=np.intp)
        self.values = np.zeros((1, pool.capacity, 1))
        self.stored, self.scaled = kind.stored, kind.scaled
        self.squares, self.rounds = pool.squares, pool.rounds
        self.table = kind.by_count(pool.kernel, 1.0, 1.0) if isinstance(kind, Bits) else np.zeros(0)
        self.used, self.seen, self.n_free = pool.used, pool.seen, len(pool.free)
        self.free = np.zeros(pool.capacity, dtype=np.intp)
        self.free[: self.n_free] = pool.free
        self._pool = pool
        self._kept = _keep(prepared(self))

    # -- called from Python --------------------------------------------------------------------------------------------

    def learn(self, x: np.ndarray, label: int) -> bool:
        """Play a round with an example of shape (d,); return False, with nothing changed, if that is not possible."""
        return bool(_learn(self._kept, np.array(x, dtype=np.float64), label))

    def score(self, x: np.ndarray) -> float:
        """Return f(x) for an example of shape (d,); nan if that is not possible here, or out of range."""
        return float(_score(self._kept, np.array(x, dtype=np.float64)))

    def write_back(self) -> None:
        """Let the pool, the hypothesis and the learner have their present numbers."""
        structures.write_back(self._kept)
        pool = self._pool
        pool.used, pool.seen, pool.free = self.used, self.seen, self.free[: self.n_free].copy()

    # -- compiled ------------------------------------------------------------------------------------------------------

    def next_slot(self) -> int:
        """Return the slot for the next example."""
        return self.free[self.n_free - 1] if self.n_free else self.used

    def take_slot(self) -> None:
        """Mark that slot as used."""
        if self.n_free:
            self.n_free -= 1
        else:
            self.used += 1

    def release(self, slot: int, acted: bool) -> None:
        """Free the slots that are no longer held, after a round with the example in ``slot``."""
        if not acted and self.seen % TILE:
            self.free[self.n_free] = slot
            self.n_free += 1
            return
        held = np.zeros(self.used, np.bool_)
        for other in self.f.held:
            held[other] = True
        while self.used and not held[self.used - 1]:
            self.used -= 1
        self.n_free = 0
        for other in range(self.used - 1, -1, -1):
            if not held[other]:
                self.free[self.n_free] = other
                self.n_free += 1


class SingleBits(Single):
    """Rounds of bits."""

    def store(self, x: np.ndarray, slot: int) -> bool:
        """Store an example; return whether that is exact."""
        words = self.stored[slot]
        if not pack(x.reshape((1, -1)), self.stored[slot : slot + 1]):
            return False
        total = 0
        for w in range(len(words)):
            total += count_ones(words[w])  # type: ignore[call-arg]  # numba passes the context
        self.scaled[0, slot], self.scaled[1, slot] = total, 1.0
        return True

    def fill(self, slot: int, out: np.ndarray) -> None:
        """Compute the kernel values of the example in ``slot``."""
        fill_by_table(self.stored, self.stored[slot : slot + 1].T, self.table, self.kernel.of_distance, out)


class SingleIntegers(Single):
    """Rounds of integers."""

    def store(self, x: np.ndarray, slot: int) -> bool:
        """Store an example; return whether that is exact."""
        if not take_whole(x.reshape((1, -1)), self.stored[slot : slot + 1]):
            return False
        total, row = 0, self.stored[slot]
        for j in range(len(row)):
            total += int(row[j]) * int(row[j])
        self.scaled[0, slot], self.scaled[1, slot] = total, 1.0
        return total < 2**31

    def fill(self, slot: int, out: np.ndarray) -> None:
        """Compute the kernel values of the example in ``slot``."""
        paired = np.empty((0, 0, TILE, 2), np.int16)
        given = self.scaled[:, slot : slot + 1]
        fill_integers(self.stored, self.stored[slot : slot + 1], paired, self.kernel, self.scaled, given, out)


class SingleFloats(Single):
    """Rounds of floats."""

    def store(self, x: np.ndarray, slot: int) -> bool:
        """Store an example; return whether it is finite."""
        total = 0.0
        for j in range(len(x)):
            self.stored[j, slot] = x[j]
            total += x[j] * x[j]
        self.scaled[0, slot], self.scaled[1, slot] = total, 1.0
        return math.isfinite(total)

    def fill(self, slot: int, out: np.ndarray) -> None:
        """Compute the kernel values of the example in ``slot``."""
        fill_floats(self.stored, self.stored[:, slot : slot + 1], self.kernel, out)


_SINGLES: dict[type[Any], type[Single]] = {Bits: SingleBits, Integers: SingleIntegers, Floats: SingleFloats}


def begin(pool: Pool, f: Expansion, learner: Any, positive: bool) -> Single | None:
    """Return the state for single rounds; None if the pool's examples are of another kind."""
    kind: Any = pool.kind
    if type(kind) not in _SINGLES or (isinstance(kind, Bits) and kind.factor != 1):
        return None
    return _SINGLES[type(kind)](pool, f, learner, positive)


def _learn_one(kept: Any, x: np.ndarray, label: int) -> bool:
    one = kept.inside
    f, kernel, slot = one.f, one.kernel, one.next_slot()
    if not f.has_room() or one.used + 2 > len(one.squares) or not one.store(x, slot):
        return False
    formula = kernel.formula
    square = formula(0.0 if kernel.of_distance else one.scaled[0, slot], *kernel.numbers)
    if not math.isfinite(square):
        return False
    one.take_slot()
    one.squares[slot], one.rounds[slot], one.y[0] = square, one.seen, label
    one.fill(slot, f._tiles[:, : one.used])
    f.begin_row(slot, one.seen)
    one.seen += 1
    updates = f.updates
    _play(f, one.learner, one.y, 0, Options(one.positive, -1, False))
    if not math.isfinite(f.scores[0]):
        raise FloatingPointError(NOT_FINITE)
    one.release(slot, f.updates > updates)
    return True


def _score_one(kept: Any, x: np.ndarray) -> float:
    one = kept.inside
    slot = one.next_slot()
    if not one.store(x, slot):
        return math.nan
    one.fill(slot, one.values[:, : one.used])
    weights, slots, total = one.f.coef, one.f.slots, 0.0
    for i in range(len(slots)):
        total += weights[i] * one.values[0, slots[i], 0]
    return total if math.isfinite(total) else math.nan


_play = compiled_form(play)
_keep = structures.function(structures.keep)
_learn = structures.function(_learn_one)
_score = structures.function(_score_one)
