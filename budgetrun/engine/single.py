"""Single rounds, in compiled code: what a round needs stays in one structure between calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from budgetrun.base.problem import problem_of
from budgetrun.engine.hypotheses.expansion import Expansion
from budgetrun.engine.play import NOT_FINITE, Options, play, play_targets
from budgetrun.engine.pool import Pool
from budgetrun.kernels import compiling
from budgetrun.kernels.arithmetic import TILE
from budgetrun.kernels.compiling import Compilable, kept, kind_of, prepared
from budgetrun.kernels.compiling.objects import only_compiled
from budgetrun.kernels.kinds import Bits, Floats, Formula, Integers, Kind

fill_by_table, fill_floats, fill_integers = map(only_compiled, ("fill_by_table", "fill_floats", "fill_integers"))
pack, take_whole, count_all = map(only_compiled, ("pack", "take_whole", "count_all"))


class Single(Compilable):
    """Rounds of one example each, played by one learner with an expansion.

    While it is in use, the numbers of the pool, of the hypothesis and of the learner are those of the last
    `write_back`, and nothing else may change them. If it is ``positive``, a score of 0 predicts +1.
    """

    played = staticmethod(play)

    def __init__(self, pool: Pool, examples: Examples, f: Expansion, learner: Any, positive: bool) -> None:
        pool.tiles = np.zeros((1, pool.capacity, 1), dtype=pool.dtype)
        pool.block_slots, pool.lengths = np.zeros(1, dtype=np.intp), np.zeros(1)
        f.begin_block()
        self.examples, self.f, self.learner = examples, f, learner
        self.positive = positive
        self.y: np.ndarray = np.zeros(1, dtype=problem_of(learner.task).dtype)
        self.values = np.zeros((1, pool.capacity, 1))
        self.squares, self.rounds = pool.squares, pool.rounds
        self.used, self.seen, self.n_free = pool.used, pool.seen, len(pool.free)
        self.free = np.resize(pool.free, pool.capacity)
        self._pool = pool

    # -- called from Python --------------------------------------------------------------------------------------------

    def begin(self) -> bool:
        """Begin to keep the state in compiled code; return False if that is not ready."""
        whole, state, x = kind_of(self), kept(self), kind_of(np.zeros(0))
        learn = _learn_one, state, x, self.y.dtype.str
        calls = (compiling.KEEP, whole), (compiling.WRITE_BACK, state), (_score_one, state, x), learn
        found = [compiling.ready(*call) for call in calls]
        if None in found:
            return False
        keep, write_back, score, learn = cast(Any, found)
        state = keep(prepared(self))
        # Plain functions, in which what measures a model by walking through it, as river does, finds no compiled code.
        self._write_back: Callable[[], Any] = lambda: write_back(state)
        self._score: Callable[[np.ndarray], Any] = lambda x: score(state, x)
        self._learn: Callable[[np.ndarray, float], Any] = lambda x, label: learn(state, x, label)
        return True

    def learn(self, x: np.ndarray, label: float) -> float:
        """Play a round with an example, shape (d,); return f(x) before it; nan, with nothing changed, if it cannot."""
        given = int(label) if self.y.dtype.kind == "i" else float(label)
        return float(self._learn(np.array(x, dtype=np.float64), given))

    def score(self, x: np.ndarray) -> float:
        """Return f(x) for an example of shape (d,); nan if that is not possible here, or out of range."""
        return float(self._score(np.array(x, dtype=np.float64)))

    def write_back(self) -> None:
        """Let the pool, the hypothesis and the learner have their present numbers."""
        self._write_back()
        pool = self._pool
        pool.used, pool.seen, pool.free = self.used, self.seen, self.free[: self.n_free].copy()

    # -- compiled ------------------------------------------------------------------------------------------------------

    def next_slot(self) -> int:
        """Return the slot for the next example."""
        return self.free[self.n_free - 1] if self.n_free else self.used

    def release(self, slot: int, acted: bool) -> None:
        """Free the slots that are no longer held, after a round with the example in ``slot``."""
        if not acted and self.seen % TILE:
            self.free[self.n_free] = slot
            self.n_free += 1
            return
        held = np.zeros(self.used, np.bool_)
        held[self.f.held] = True
        while self.used and not held[self.used - 1]:
            self.used -= 1
        free = np.flatnonzero(~held[: self.used])[::-1]
        self.n_free = len(free)
        self.free[: self.n_free] = free


class _SingleTargets(Single):
    played = staticmethod(play_targets)


def begin_single(pool: Pool, f: Expansion, learner: Any, positive: bool) -> Single | None:
    """Return the state for single rounds; None if that is not compiled yet, or not for such examples."""
    # One slot is always left for the next example.
    if pool.used + 1 >= pool.capacity > 0:
        pool.grow(pool.used + pool.used // 2 + 16)
    examples = examples_of(pool.kind, pool.kernel)
    if examples is None:
        return None
    one = (Single if problem_of(learner.task).of_classes else _SingleTargets)(pool, examples, f, learner, positive)
    return one if one.begin() else None


def _learn_one(kept: Any, x: np.ndarray, label: float) -> float:
    one, f, learner = kept.inside, kept.inside.f, kept.inside.learner
    slot, updates = one.next_slot(), f.updates
    if learner.uncompiled(f) or not f.has_room() or one.used + 2 > len(one.squares) or not one.examples.store(x, slot):
        return math.nan
    square = one.examples.square(slot)
    if not math.isfinite(square):
        return math.nan
    if one.n_free:
        one.n_free -= 1
    else:
        one.used += 1
    one.squares[slot], one.rounds[slot], one.y[0] = square, one.seen, label
    one.examples.fill(slot, f._tiles[:, : one.used])
    f.begin_row(slot, one.seen)
    one.seen += 1
    one.played(f, learner, one.y, 0, Options(one.positive, -1, False))
    if not math.isfinite(f.scores[0]):
        raise FloatingPointError(NOT_FINITE)
    one.release(slot, f.updates > updates)
    return f.scores[0]


def _score_one(kept: Any, x: np.ndarray) -> float:
    one = kept.inside
    slot = one.next_slot()
    if not one.examples.store(x, slot):
        return math.nan
    one.examples.fill(slot, one.values[:, : one.used])
    weights, slots, total = one.f.coef, one.f.slots, 0.0
    for i in range(len(slots)):
        total += weights[i] * one.values[0, slots[i], 0]
    return total if math.isfinite(total) else math.nan


class Examples(Compilable):
    """The arrays of a kind, to which compiled code adds examples; there is one subclass per kind.

    `store` puts an example, shape (d,), into a slot, and returns whether that is exact, and its square finite. `fill`
    then computes its kernel values with all slots, shape (1, slots, 1).
    """

    def __init__(self, kind: Any, kernel: Formula) -> None:
        self.stored, self.scaled = kind.stored, kind.scaled
        self.n_features = kind.n_features
        self.slots, self.counts = np.arange(kind.scaled.shape[1]), np.zeros(1, dtype=np.intp)
        self.kernel = kernel

    def square(self, slot: int) -> float:
        """Return k(x, x) of the example in ``slot``."""
        kernel = self.kernel
        formula = kernel.formula
        return formula(0.0 if kernel.of_distance else self.scaled[0, slot], *kernel.numbers)


class _Bits(Examples):
    def __init__(self, kind: Bits, kernel: Formula) -> None:
        super().__init__(kind, kernel)
        self.table = kind.by_count(kernel, 1.0, 1.0)

    def store(self, x: np.ndarray, slot: int) -> bool:
        if not pack(x.reshape((1, -1)), self.stored[slot : slot + 1]):
            return False
        self.scaled[0, slot], self.scaled[1, slot] = count_all(self.stored[slot]), 1.0
        return True

    def fill(self, slot: int, out: np.ndarray) -> None:
        words, differing = self.stored[slot : slot + 1].T, self.kernel.of_distance
        fill_by_table(self.stored, words, self.table, differing, self.slots, self.counts, out)


class _Integers(Examples):
    def store(self, x: np.ndarray, slot: int) -> bool:
        if not take_whole(x.reshape((1, -1)), self.stored[slot : slot + 1]):
            return False
        total, row = 0, self.stored[slot]
        for j in range(len(row)):
            total += int(row[j]) * int(row[j])
        self.scaled[0, slot], self.scaled[1, slot] = total, 1.0
        return total < 2**31

    def fill(self, slot: int, out: np.ndarray) -> None:
        paired = np.empty((0, 0, TILE, 2), np.int16)
        given = self.scaled[:, slot : slot + 1]
        rows, self.counts[0] = self.stored[slot : slot + 1], out.shape[1]
        fill_integers(self.stored, rows, paired, self.kernel, self.scaled, given, self.slots, self.counts, out)


class _Floats(Examples):
    def store(self, x: np.ndarray, slot: int) -> bool:
        total = 0.0
        for j in range(len(x)):
            self.stored[j, slot] = x[j]
            total += x[j] * x[j]
        self.scaled[0, slot], self.scaled[1, slot] = total, 1.0
        return math.isfinite(total)

    def fill(self, slot: int, out: np.ndarray) -> None:
        fill_floats(self.stored, self.stored[:, slot : slot + 1], self.kernel, self.slots, self.counts, out)


_OF_KINDS: dict[type[Kind], type[Examples]] = {Bits: _Bits, Integers: _Integers, Floats: _Floats}


def examples_of(kind: Any, kernel: Formula) -> Examples | None:
    """Return the examples of a kind; None if single ones cannot be added to it."""
    if type(kind) not in _OF_KINDS or (isinstance(kind, Bits) and kind.factor != 1):
        return None
    return _OF_KINDS[type(kind)](kind, kernel)
