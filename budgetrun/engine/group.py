"""Many learners over one stream, a block of rounds at a time.

The scores of a whole block come from one product. A learner whose condition does not hold does nothing, so only the
rounds at which it acts are visited, and each such visit corrects the scores of the rest of the block. What comes out is
the online algorithm, round for round.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from budgetrun.engine.hypotheses.expansion import Expansion
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Kernel, Rows

if TYPE_CHECKING:
    from budgetrun.engine.rules import BinaryRule, MulticlassRule

    Rule = BinaryRule | MulticlassRule

Watcher = Callable[[int, int], None]
# Raised whenever outcomes change through the group or the pool; part of every learner's run ids.
REVISION = 1


@dataclass
class Count:
    """What was counted of a run.

    Attributes
    ----------
    mistakes, updates : int
        Rounds on which the prediction is wrong (see `Group` for ties); rounds on which the learner acted, mistakes
        among them.
    max_support : int
        The most examples held between rounds.
    seconds : float
        The learner's own time, and its share of what it shared with others.
    """

    mistakes: int = 0
    updates: int = 0
    max_support: int = 0
    seconds: float = 0.0

    @property
    def margin_updates(self) -> int:
        """Updates on rounds that were no mistakes."""
        return self.updates - self.mistakes


@dataclass(eq=False)
class Member:
    """A learner in a group, with its labels' row, its hypothesis and its counts; ``error`` once it has failed."""

    index: int
    learner: Any
    task: int
    hypothesis: Any
    count: Count = field(default_factory=Count)
    error: Exception | None = None


@dataclass(eq=False)
class Trunk:
    """One hypothesis for the learners of a task that still do the same as one another, largest budget first."""

    task: int
    hypothesis: Expansion
    waiting: list[Member]


class Group:
    """Learners that read the same examples in the same order, each with labels of its own.

    Parameters
    ----------
    kernel : Kernel
    learners : sequence of BinaryRule, or of MulticlassRule
    tasks : sequence of int
        For each learner, the row of the labels that it reads.
    n_classes : int, >= 2, or None
        How many classes there are, for learners of several classes; None for those of two, with labels -1 and +1.
    tie : {"mistake", "positive"}
        f(x) = 0 is a mistake, or predicts +1. Between several classes, a tie with the true one is a mistake.
    dtype : {"float64", "float32"}
        Of kernel values and scores. Weights, and scores too close to call, are float64 all the same.
    isolate : bool
        A learner that fails is taken out, with its ``error``, and the others go on; otherwise `feed` raises.
    watch : callable or None
        Called as ``watch(i, t)`` after learner ``i`` has acted on round ``t``.

    Notes
    -----
    A score within rounding of the learner's threshold is computed again, example by example with an exact sum, before
    it decides. So ties between equal examples are ties, and block sizes do not matter, unless the learner itself
    amplifies rounding: on some long streams the self-tuned Forgetron does (docs/engine.md).
    """

    def __init__(
        self,
        kernel: Kernel,
        learners: Sequence[Rule],
        tasks: Sequence[int] | None = None,
        *,
        n_classes: int | None = None,
        tie: str = "mistake",
        dtype: str = "float64",
        isolate: bool = False,
        watch: Watcher | None = None,
    ) -> None:
        tasks = tasks if tasks is not None else [0] * len(learners)
        self.pool = Pool(kernel, np.dtype(dtype))
        self.tie = tie
        self.isolate = isolate
        self.watch = watch
        more = () if n_classes is None else (n_classes,)
        self.members = [
            Member(i, a, task, a.start(self.pool, *more))
            for i, (a, task) in enumerate(zip(learners, tasks, strict=True))
        ]
        self._shape = more
        self._alone, self._trunks = self._plant()

    @property
    def rounds(self) -> int:
        """The rounds so far."""
        return self.pool.seen

    def feed(self, X: Rows, Y: np.ndarray) -> np.ndarray:
        """Run all learners over a block of rounds.

        Parameters
        ----------
        X : ndarray or csr_array, shape (b, d), b >= 1
            The examples of the block.
        Y : ndarray, shape (n_tasks, b), in {-1, +1} or {0, ..., n_classes - 1}
            The labels, a row a task.

        Returns
        -------
        ndarray, shape (n_learners, b) or (n_learners, n_classes, b), of the group's dtype
            f_t(x_t), the scores at prediction time.
        """
        began = time.perf_counter()
        first = self.rounds
        self.pool.admit(X)
        Y = np.asarray(Y, dtype=self.pool.dtype if not self._shape else np.intp)
        alone, trunks = list(self._alone), list(self._trunks)
        sums = self._sums([m.hypothesis for m in alone] + [trunk.hypothesis for trunk in trunks])
        out = np.full((len(self.members), *self._shape, X.shape[0]), np.nan, dtype=self.pool.dtype)
        share = (time.perf_counter() - began) / len(self.members)
        for member, rows in zip(alone, sums, strict=False):
            with self._failing([member]):
                self._begin(member, rows, first)
                self._play(member, Y[member.task], 0, first)
                out[member.index] = member.hypothesis.scores
        for trunk, rows in zip(trunks, sums[len(alone) :], strict=True):
            with self._failing(trunk.waiting):
                self._begin(trunk, rows, first)
                self._play_trunk(trunk, Y[trunk.task], out, first)
        for member in self.members:
            member.count.seconds += share
        self._release()
        return out

    # -- a block --------------------------------------------------------------------------------------------------

    def _begin(self, player: Member | Trunk, sums: np.ndarray, first: int) -> None:
        began = time.perf_counter()
        f = player.hypothesis
        f.begin_block(sums)
        if not np.isfinite(f.scores).all():
            raise FloatingPointError(
                f"the scores after round {first} are not finite: the learner's weights are out of bounds"
            )
        if isinstance(player, Member):
            player.count.seconds += time.perf_counter() - began

    @contextmanager
    def _failing(self, members: list[Member]) -> Iterator[None]:
        """Take members out of the group if what follows fails, or let the error through."""
        try:
            yield
        except Exception as error:
            if not self.isolate:
                raise
            for member in list(members):
                member.error = error
                self._remove(member)

    def _remove(self, member: Member) -> None:
        if member in self._alone:
            self._alone.remove(member)
        for trunk in self._trunks:
            if member in trunk.waiting:
                trunk.waiting.remove(member)

    def _sums(self, hypotheses: list[Any]) -> list[np.ndarray]:
        """Return the values of every hypothesis's `terms` on the block, shape (its terms, b) each."""
        pool = self.pool
        terms = [h.terms() for h in hypotheses]
        flat = [term for of_one in terms for term in of_one]
        if not flat:
            return [np.empty((0, pool.block.shape[1]), dtype=pool.dtype) for _ in hypotheses]
        sizes = [len(slots) for slots, _ in flat]
        if sum(sizes) > _DENSE * len(flat) * pool.used:
            weights = np.zeros((len(flat), pool.used), dtype=pool.dtype)
            for row, (slots, coef) in zip(weights, flat, strict=True):
                row[slots] = coef
            sums = weights @ pool.block
        else:
            held = np.concatenate([slots for slots, _ in flat])
            coef = np.concatenate([coef for _, coef in flat]).astype(pool.dtype, copy=False)
            ends = np.concatenate([[0], np.cumsum(sizes)])
            sums = sp.csr_array((coef, held, ends), shape=(len(flat), pool.used)) @ pool.block
        return np.split(sums, np.cumsum([len(of_one) for of_one in terms])[:-1])

    def _play(self, member: Member, y: np.ndarray, t: int, first: int) -> None:
        """Let the member act where its condition holds, from round ``t`` of the block on."""
        began = time.perf_counter()
        f, learner, count, watch, tie = member.hypothesis, member.learner, member.count, self.watch, self.tie
        update, next_act = learner.update, f.next_act
        while (act := next_act(y, t, learner, tie)) is not None:
            t, mistaken, told = act
            f.at(t, mistaken)
            count.updates += 1
            count.mistakes += mistaken
            update(f, *told)
            if f.size > count.max_support:
                count.max_support = f.size
            if watch is not None:
                watch(member.index, first + t)
            t += 1
        f.end_block()
        count.seconds += time.perf_counter() - began

    def _play_trunk(self, trunk: Trunk, y: np.ndarray, out: np.ndarray, first: int) -> None:
        """Play for all who wait, as one of them; each whose budget is full continues on a copy of its own."""
        began = time.perf_counter()
        f, t, apart = trunk.hypothesis, 0, 0.0
        while trunk.waiting and (act := f.next_act(y, t, trunk.waiting[0].learner, self.tie)) is not None:
            t, mistaken, told = act
            if trunk.waiting[-1].learner.budget == f.size:
                branched = time.perf_counter()
                matrix = cache(partial(self.pool.matrix, f.slots))
                while trunk.waiting and trunk.waiting[-1].learner.budget == f.size:
                    member = trunk.waiting.pop()
                    self._alone.append(member)
                    with self._failing([member]):
                        member.hypothesis = member.learner.start(self.pool)
                        member.hypothesis.continue_from(f, matrix)
                        self._play(member, y, t, first)
                        out[member.index] = member.hypothesis.scores
                apart += time.perf_counter() - branched
            if trunk.waiting:
                f.at(t, mistaken)
                trunk.waiting[0].learner.update(f, *told)
                for member in trunk.waiting:
                    count = member.count
                    count.mistakes, count.updates = f.mistakes, count.updates + 1
                    count.max_support = f.size
                    if self.watch is not None:
                        self.watch(member.index, first + t)
            t += 1
        if trunk.waiting:
            share = (time.perf_counter() - began - apart) / len(trunk.waiting)
            for member in trunk.waiting:
                member.count.seconds += share
                out[member.index] = f.scores

    def _release(self) -> None:
        held = np.zeros(self.pool.used, dtype=bool)
        for member in self._alone:
            held[member.hypothesis.slots] = True
        self._trunks = [trunk for trunk in self._trunks if trunk.waiting]
        for trunk in self._trunks:
            held[trunk.hypothesis.slots] = True
        self.pool.release(held)

    # -- the plan of who shares what -------------------------------------------------------------------------------

    def _plant(self) -> tuple[list[Member], list[Trunk]]:
        """Put learners of a task that are alike until their budgets are full on one trunk; the others stand alone."""
        alike: dict[tuple[int, str | None], list[Member]] = {}
        for member in self.members:
            alike.setdefault((member.task, member.learner.alike_until_full), []).append(member)
        alone, trunks = [], []
        for (task, kind), here in sorted(alike.items(), key=lambda item: item[0][0]):
            if kind is None or len(here) < 2:
                alone += here
                continue
            here.sort(key=lambda m: -(m.learner.budget or math.inf))
            trunk = Trunk(task, Expansion(self.pool), here)
            for member in here:
                member.hypothesis = trunk.hypothesis
            trunks.append(trunk)
        return sorted(alone, key=lambda m: (m.task, m.index)), trunks


# Above this share of non-zero weights, one dense product beats a sparse one (measured; both give the same scores).
_DENSE = 0.08


def run(
    learner: Rule,
    kernel: Kernel,
    X: Rows,
    y: np.ndarray,
    *,
    n_classes: int | None = None,
    block_size: int = 256,
    tie: str = "mistake",
) -> Count:
    """Run one learner over one stream.

    Parameters
    ----------
    learner : BinaryRule or MulticlassRule
    kernel : Kernel
    X : ndarray or csr_array, shape (T, d)
        The examples, in the order of the rounds.
    y : array_like, shape (T,), in {-1, +1}, or {0, ..., n_classes - 1}
    n_classes : int, >= 2, or None
        For a learner of several classes.
    block_size : int, >= 1
        Rounds a block; it changes the time, and scores by rounding.
    tie : {"mistake", "positive"}
        f(x) = 0 is a mistake, or predicts +1.
    """
    if not sp.issparse(X):
        X = np.asarray(X, dtype=np.float64)
    y = np.asarray(y)
    group = Group(kernel, [learner], n_classes=n_classes, tie=tie)
    for start in range(0, X.shape[0], block_size):
        group.feed(X[start : start + block_size], y[None, start : start + block_size])
    return group.members[0].count
