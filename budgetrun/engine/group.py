"""Many learners over one stream, one block of rounds at a time.

The kernel values of a block serve all learners. Each learner then plays its rounds, and each of its updates corrects
the scores of the rounds that follow. The result is exactly that of the online algorithm, round by round.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from budgetrun.base import limits
from budgetrun.base.errors import is_arithmetic, out_of_range
from budgetrun.base.problem import problem_of
from budgetrun.engine.hypotheses.base import bytes_kept, bytes_needed
from budgetrun.engine.hypotheses.expansion import Expansion, sum_ahead
from budgetrun.engine.hypotheses.linear import play_together
from budgetrun.engine.hypotheses.screened import Screened
from budgetrun.engine.play import NOT_FINITE, Options, ready
from budgetrun.engine.pool import Pool
from budgetrun.engine.single import Single, begin_single
from budgetrun.kernels import Kernel, Rows, compiling
from budgetrun.kernels.arithmetic import TILE
from budgetrun.kernels.kinds import Floats, row_bytes

Watcher = Callable[[int, int], None]
Guard = Callable[["Member"], AbstractContextManager[None]]
# The most tiles of a block.
_MOST_TILES = 4
# `feed` plays this many rounds before single ones are tried in compiled code, and after each attempt that fails.
_PATIENCE = 64
# Scores are rough while a learner acts on less than this part of the rounds: to settle one takes as long as some.
_FEW = 0.25
# Raised whenever a change to the group or the pool changes outcomes; part of every learner's run ids.
REVISION = 1


class Count:
    """The counts of a run so far.

    Attributes
    ----------
    mistakes, updates : int
        Rounds on which the prediction is wrong (see `Group` for ties); rounds on which the learner acted, including
        mistakes.
    margin_updates : int
        Updates on rounds that are not mistakes.
    max_support : int
        The largest support set between rounds.
    seconds : float
        The time of the learner's own computations, plus its share of the computations for all learners.
    """

    def __init__(self, member: Member) -> None:
        self._member = member

    seconds = property(lambda self: self._member.seconds)
    mistakes = property(lambda self: self._of_hypothesis("mistakes"))
    updates = property(lambda self: self._of_hypothesis("updates"))
    max_support = property(lambda self: self._of_hypothesis("largest_size"))
    margin_updates = property(lambda self: self.updates - self.mistakes)

    def _of_hypothesis(self, name: str) -> int:
        return int(getattr(self._member.hypothesis, name, 0))


@dataclass(eq=False)
class Member:
    """A learner of a group with its task, hypothesis and counts; ``error`` is set when it has failed."""

    index: int
    learner: Any
    task: int
    hypothesis: Any = None
    seconds: float = 0.0
    error: BaseException | None = None

    @property
    def count(self) -> Count:
        """The counts of the run so far."""
        return Count(self)


@dataclass(eq=False)
class Player:
    """A hypothesis and its players: one learner, or those of a task that have behaved identically so far.

    The largest budget comes first. When a budget is full, that learner continues on a copy of its own.
    """

    f: Any
    members: list[Member]
    shared: bool = False


class Group:
    """Learners that read the same examples in the same order, with one or several rows of labels.

    Parameters
    ----------
    kernel : Kernel
    learners : sequence of Learner (`budgetrun.learners.base`)
        All of the same task: binary, multiclass or regression.
    tasks : sequence of int
        For each learner, the row of labels that it reads.
    n_classes : int, >= 2, or None
        The number of classes, for multiclass learners; None for binary learners, with labels -1 and +1.
    tie : {"mistake", "positive"}
        f(x) = 0 is a mistake, or predicts +1. With several classes, a tie with the true class is a mistake.
    dtype : {"float64", "float32"}
        Type of kernel values, and of the scores that `feed` returns. Weights and sums are always float64.
    isolate : tuple of exception types
        If a learner raises one of these, record its ``error`` and continue with the others; any other error passes.
        Learners that share a hypothesis when one of them raises have the same ``error``. A score that is not finite is
        an `OutOfRangeError` of the learner, and names its round; so is arithmetic that fails in the interpreter.
    guard : callable or None
        Called with a member before its learner's code runs; returns a context that is entered while it runs.
    watch : callable or None
        Called as ``watch(i, t)`` after learner ``i`` has acted on round ``t``.

    Notes
    -----
    The sums of kernel expansions have a stated order, so that results are the same bits however a stream is divided; a
    score whose terms cancel except for rounding is 0 (docs/engine.md).
    """

    # The expansion in whose place the learner has one with rough scores, and the round of that, or of the next attempt.
    _exact: Expansion | None = None
    _rough_from = 0

    def __init__(
        self,
        kernel: Kernel,
        learners: Sequence[Any],
        tasks: Sequence[int] | None = None,
        *,
        n_classes: int | None = None,
        tie: str = "mistake",
        dtype: str = "float64",
        isolate: tuple[type[BaseException], ...] = (),
        guard: Guard | None = None,
        watch: Watcher | None = None,
    ) -> None:
        tasks = tasks if tasks is not None else [0] * len(learners)
        self.pool = Pool(kernel, np.dtype(dtype))
        self.tie = tie
        self.isolate = isolate
        self.guard = guard
        self.watch = watch
        self._shape = () if n_classes is None else (n_classes,)
        # The state of single rounds in compiled code, while they are played, and how many `feed` plays first.
        self._single: Single | None = None
        self._patience = _PATIENCE
        self._members = [Member(i, a, task) for i, (a, task) in enumerate(zip(learners, tasks, strict=True))]
        for member in self._members:
            with self._running([member]):
                if member.learner.budget is not None:
                    needed = bytes_needed(*trial(member.learner, kernel, *self._shape), member.learner.budget)
                    limits.check_learner(needed, _name(member.learner), member.learner.budget)
                self._start(member)
        self._players = self._grouped()

    @property
    def members(self) -> list[Member]:
        """The learners with their hypotheses and counts; read it again after `feed_one`."""
        if self._single is not None:
            self._single.write_back()
        return self._members

    @property
    def rounds(self) -> int:
        """The number of rounds so far."""
        if self._single is not None:
            self._single.write_back()
        return self.pool.seen

    def feed(self, X: Rows, Y: np.ndarray, *, scores: bool = True, to_follow: int = 0) -> np.ndarray:
        """Run all learners over a block of rounds.

        Parameters
        ----------
        X : ndarray, csr_array or IntegerRows, shape (b, d), b >= 1
            The examples of the block.
        Y : ndarray, shape (n_tasks, b), in {-1, +1} or {0, ..., n_classes - 1}, or of numbers for regression
            The labels, one row per task.
        scores : bool
            False if nobody reads scores but for those that are 0: then some may be rough, which saves time.
        to_follow : int
            The number of rounds that are known to follow; what is compiled depends on it, but no result.

        Returns
        -------
        ndarray, shape (n_learners, b) or (n_learners, n_classes, b), of the group's dtype
            f_t(x_t), the scores at prediction time.

        Raises
        ------
        OutOfRangeError
            The kernel values of the examples are out of range; or, without ``isolate``, a learner's numbers are.
        """
        if scores or self._single is not None:
            self._close()
        Y = np.asarray(Y, dtype=problem_of(self._members[0].learner.task).dtype)
        out = np.full((len(self.members), *self._shape, X.shape[0]), np.nan, dtype=self.pool.dtype)
        start = 0
        while start < X.shape[0]:
            # Tiles begin at multiples of 64 rounds.
            apart, left = self.rounds % TILE, X.shape[0] - start
            b = min(TILE - apart, left) if apart or left < TILE else TILE * min(left // TILE, _MOST_TILES)
            began = time.thread_time()
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                # Slices of sparse rows are slow.
                part = X if b == X.shape[0] else X[start : start + b]
                self._feed(part, Y[:, start : start + b], out[..., start : start + b], scores)
            start += b
            seconds = time.thread_time() - began
            compiling.border(seconds, seconds * (left - b) / b, seconds * to_follow / b)
        return out

    def drop(self, indices: Collection[int]) -> None:
        """Drop members for good: they play no more rounds, and what only they hold is freed."""
        self._close()
        for player in self._players:
            player.members[:] = [member for member in player.members if member.index not in indices]
        self._players = [player for player in self._players if player.members]
        for index in indices:
            self._members[index].hypothesis = None

    def feed_one(self, x: np.ndarray, label: float) -> float | None:
        """Run the learner over one round in compiled code, with the result of `feed` at a fraction of its cost.

        This is possible for a single learner with a plain kernel expansion, but not for several classes, after some
        rounds by `feed`. ``x`` has the shape (d,); the label is -1 or +1, or a number for regression.

        Returns f(x) before the round; None if that is not possible, or not for this example: then nothing has changed.
        Raises OutOfRangeError: the learner's numbers are out of range.
        """
        single = self._open(x)
        if single is None:
            return None
        began = time.perf_counter()
        try:
            score = single.learn(x, label)
            if score != score:
                # There may be no room; beginning again makes some.
                self._close()
                single = self._open(x)
                score = math.nan if single is None else single.learn(x, label)
        except Exception as raised:
            self._close()
            self._fail(self._members, raised)
        self._members[0].seconds += time.perf_counter() - began
        return score if score == score else None

    def score_one(self, x: np.ndarray) -> float | None:
        """Return f(x) for one example of shape (d,), with the bits of `score`; None if that is not possible here."""
        single = self._open(x)
        score = math.nan if single is None else single.score(x)
        return score if score == score else None

    def features_in_use(self) -> np.ndarray:
        """Return which features predictions depend on, shape (d,) of bool."""
        return np.any([member.hypothesis.features_in_use() for member in self.members], axis=0)

    def kept_bytes(self, i: int) -> float:
        """Return the bytes that learner ``i`` needs to go on, as `bytes_kept` counts them, with the present examples.

        Those of a learner that combines others are of its full budget.
        """
        member, kind = self.members[i], self.pool.kind
        if kind is None:
            return 0.0
        f = member.hypothesis
        stored = kind.examples(f.held).nnz if kind.name == "sparse" else 0  # type: ignore[union-attr]
        row = row_bytes(kind.name, kind.n_features, stored / max(1, len(f.held)))
        size = member.learner.budget if member.learner.family == "combined" else f.size
        return bytes_kept(member.learner, f, size, row, kind.n_features)

    def rearrange(self, features: Sequence[int], n_features: int) -> None:
        """From now on, let examples have ``n_features`` features: first these of the present ones, then new ones.

        The features that are left out, and the new ones, are 0 in all examples so far. If predictions depend on all
        features, leave out none of them, and keep their order.
        """
        self._close()
        kept = [member.hypothesis for member in self._members if member.hypothesis is not None]
        self.pool.rearrange(np.concatenate([f.held for f in kept]), features, n_features)
        for f in kept:
            f.rearrange(features, n_features)

    def __getstate__(self) -> dict[str, Any]:
        """Leave compiled code out of pickles and copies."""
        self._close()
        return self.__dict__

    def _open(self, x: np.ndarray) -> Single | None:
        """Return the state of single rounds in compiled code; None if that is not possible, or not for this example."""
        if self._exact is not None:
            self._close()
        if self._single is None and self._patience:
            self._patience -= 1
        elif self._single is None and len(self._members) == len(self._players) == 1:
            f, learner = self._players[0].f, self._members[0].learner
            plain = not (self.watch or self.guard or self.isolate)
            if plain and compiling.takes(learner) and not learner.uncompiled(f) and type(f) is Expansion:
                self._single = begin_single(self.pool, f, learner, self.tie == "positive")
                self._patience = 0 if self._single is not None else _PATIENCE
        fits = self._single is not None and x.shape == (self._single.examples.n_features,)
        return self._single if fits else None

    def _close(self) -> None:
        """End single rounds in compiled code, and rough scores."""
        if self._single is not None:
            self._single.write_back()
            self._single = None
        if self._exact is not None:
            self._members[0].hypothesis.write_back(self._exact)
            self._put(self._exact)
            self._exact = None

    def _screen(self, y: np.ndarray) -> None:
        """Let the scores of a lone expansion on floats be rough while few have to be settled."""
        pool, learner, f = self.pool, self._members[0].learner, self._members[0].hypothesis
        lone = len(self._members) == len(self._players) == 1
        possible = lone and isinstance(pool.kind, Floats) and problem_of(learner.task).of_classes
        if isinstance(f, Screened):
            if not possible or f.n_settled > _FEW * (pool.seen - self._rough_from):
                self._close()
                self._rough_from = 2 * pool.seen
        elif pool.seen >= self._rough_from and len(y) >= TILE:
            # After an attempt that fails, as many rounds as so far.
            self._rough_from = 2 * pool.seen
            bounded = pool.kernel.rough(1, 1.0)[1] < math.inf
            worth = possible and bounded and f.updates < _FEW * pool.seen
            if worth and type(f) is Expansion and compiling.takes(learner):
                screened = Screened(f, pool)
                if ready(screened, learner, y):
                    self._exact, self._rough_from = f, pool.seen
                    self._put(screened)

    def _put(self, f: Expansion) -> None:
        """Let a lone learner continue with another form of its expansion."""
        self._players[0].f = self._members[0].hypothesis = f

    # -- a block --------------------------------------------------------------------------------------------------

    def _feed(self, X: Rows, Y: np.ndarray, out: np.ndarray, scores: bool) -> None:
        began = time.perf_counter()
        first = self.rounds
        try:
            examples = self.pool.store(X)
            if not scores:
                self._screen(Y[self._members[0].task])
            self.pool.compute(examples, any(player.f.needs_values for player in self._players))
        except FloatingPointError as error:
            raise out_of_range(error, f"rounds {first + 1:,} to {first + X.shape[0]:,}") from error
        with np.errstate(all="ignore"):
            sum_ahead(self.pool, [player.f for player in self._players])
        share = (time.perf_counter() - began) / len(self._members)
        for member in self._members:
            member.seconds += share

        for player in self._not_together(Y, out):
            with self._running(player.members):
                began = time.perf_counter()
                player.f.begin_block()
                self._play(player, Y[player.members[0].task], 0, out, began)
        self._players = [player for player in self._players if player.members]
        self.pool.release(*(player.f.held for player in self._players))

    def _not_together(self, Y: np.ndarray, out: np.ndarray) -> list[Player]:
        """Play the block for players that differ in their labels alone; return the others."""
        if self.watch or self.guard or self.isolate:
            return list(self._players)
        alike: dict[Any, list[Player]] = {}
        for player in self._players:
            alike.setdefault(player.members[0].learner.alike_but_for_labels or id(player), []).append(player)
        left: list[Player] = []
        for players in alike.values():
            if len(players) == 1:
                left += players
                continue
            began, members = time.perf_counter(), [player.members[0] for player in players]
            forms, labels = [player.f for player in players], Y[[member.task for member in members]]
            with self._running(members):
                if not play_together(members[0].learner, forms, labels, self.tie == "positive"):
                    left += players
                    continue
                found = np.array([f.scores for f in forms])
                out[[member.index for member in members]] = found
                self._check(members[0].learner, found)
            share = (time.perf_counter() - began) / len(members)
            for member in members:
                member.seconds += share
        return left

    def _play(self, player: Player, y: np.ndarray, t: int, out: np.ndarray, began: float) -> None:
        """Play the block from round ``t`` on."""
        f, watch, apart = player.f, self.watch, 0.0
        options = Options(self.tie == "positive", -1, watch is not None)
        first, updates = self.pool.seen - len(y), f.updates
        while player.members and t < len(y):
            if player.shared:
                options = options._replace(full=player.members[-1].learner.budget or -1)
            t = f.play(player.members[0].learner, y, t, options)
            if watch is not None and f.updates > updates:
                updates = f.updates
                for member in player.members:
                    watch(member.index, first + t - 1)
            elif player.shared and t < len(y):
                branched = time.perf_counter()
                self._branch(player, y, t, out)
                apart += time.perf_counter() - branched
        f.end_block()
        if player.members:
            self._check(player.members[0].learner, f.predictions)
        share = (time.perf_counter() - began - apart) / max(1, len(player.members))
        for member in player.members:
            member.seconds += share
            out[member.index] = f.predictions

    def _branch(self, player: Player, y: np.ndarray, t: int, out: np.ndarray) -> None:
        """Let the members whose budget is full before they act on round ``t`` continue on their own."""
        while player.members and player.members[-1].learner.budget == player.f.size:
            own = Player(None, [player.members.pop()])
            self._players.append(own)
            with self._running(own.members):
                began = time.perf_counter()
                own.f = self._start(own.members[0])
                own.f.continue_from(player.f)
                self._play(own, y, t, out, began)

    def _start(self, member: Member) -> Any:
        member.hypothesis = member.learner.start(self.pool, *self._shape)
        return member.hypothesis

    def _grouped(self) -> list[Player]:
        """Let learners of a task share a hypothesis if they are alike until their budgets are full.

        They also track the same, so that the copies with which they continue have the bits of learners on their own.
        """
        alike: dict[Any, list[Member]] = {}
        for member in (member for member in self._members if member.error is None):
            kind = member.learner.alike_until_full
            key = member.index if kind is None else (member.task, kind, member.hypothesis.tracked)
            alike.setdefault(key, []).append(member)
        players = []
        for here in alike.values():
            here.sort(key=lambda m: -(m.learner.budget or math.inf))
            players.append(Player(here[0].hypothesis, here, len(here) > 1))
            for member in here:
                member.hypothesis = here[0].hypothesis
        return sorted(players, key=lambda player: (player.shared, player.members[0].task))

    # -- errors ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _running(self, members: list[Member]) -> Iterator[None]:
        """Run the code of these members' learners."""
        try:
            with self.guard(members[0]) if self.guard else nullcontext():
                yield
        except BaseException as raised:
            self._fail(members, raised)

    def _check(self, learner: Any, scores: np.ndarray) -> None:
        """Raise an error for the first round of the block with a score that is not finite; shape (..., rounds)."""
        finite = np.isfinite(scores)
        if not finite.all():
            rounds = finite.reshape(-1, scores.shape[-1]).all(axis=0)
            t = self.pool.seen - len(rounds) + int(rounds.argmin()) + 1
            raise out_of_range(FloatingPointError(NOT_FINITE), f"{_name(learner)}, round {t:,}")

    def _fail(self, members: list[Member], raised: BaseException) -> None:
        """Record an error that is to be isolated, and remove its members; raise any other."""
        error = raised
        if members and isinstance(raised, Exception) and is_arithmetic(raised):
            where = f"{_name(members[0].learner)}, round {getattr(members[0].hypothesis, 'now', 1):,}"
            error = out_of_range(raised, where)
            error.__cause__ = raised
        if not isinstance(raised, self.isolate):
            raise error from error.__cause__
        for member in members:
            member.error = error
        members.clear()


def score(member: Member, X: Rows, averaged: bool = False) -> np.ndarray:
    """Return the scores of examples outside the stream, as `Hypothesis.score` does, all of them finite.

    Raises
    ------
    OutOfRangeError
        They are not finite.
    NotImplementedError
        The mean of the learner's hypotheses needs what is no longer held.
    """
    if averaged and not member.learner.averages():
        raise NotImplementedError(f"{_name(member.learner)} does not keep what the mean of all hypotheses needs")
    began = time.perf_counter()
    with np.errstate(all="ignore"):
        scores: np.ndarray = member.hypothesis.score(X, averaged)
    compiling.border(time.perf_counter() - began)
    if not np.isfinite(scores).all():
        raise out_of_range(FloatingPointError(NOT_FINITE), f"{_name(member.learner)}, examples outside the stream")
    return scores


def trial(learner: Any, kernel: Kernel, *shape: int) -> tuple[Any, Any]:
    """Return a copy of a learner with a budget of 1, and its form: they take no memory, but say what others need."""
    copied = copy.deepcopy(learner)
    for one in (copied, getattr(copied, "binary", copied)):
        one.budget = None if one.budget is None else 1
    return copied, copied.start(Pool(kernel, np.dtype(np.float64)), *shape)


def _name(learner: Any) -> str:
    return learner.name if learner.variant is None else f"{learner.name}({learner.variant})"


def run(
    learner: Any,
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
    learner : Learner (`budgetrun.learners.base`)
    kernel : Kernel
    X : ndarray, csr_array or IntegerRows, shape (T, d)
        The examples, in the order of the rounds.
    y : array_like, shape (T,), in {-1, +1}, or {0, ..., n_classes - 1}, or of numbers for regression
    n_classes : int, >= 2, or None
        The number of classes, for a multiclass learner.
    block_size : int, >= 1
        Rounds per call of `Group.feed`; only the running time depends on it, where sums have a stated order.
    tie : {"mistake", "positive"}
        f(x) = 0 is a mistake, or predicts +1.
    """
    y = np.asarray(y)
    group = Group(kernel, [learner], n_classes=n_classes, tie=tie)
    for start in range(0, X.shape[0], block_size):
        group.feed(X[start : start + block_size], y[None, start : start + block_size], scores=False)
    return group.members[0].count
