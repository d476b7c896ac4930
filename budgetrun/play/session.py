"""The one loop that plays learners, and rules of selection, on the rounds of a stream, and their curves."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from budgetrun.base.problem import KEPT_BYTES, PREFIX_LOG_LOSS, Problem, problem_of
from budgetrun.engine import Group, score
from budgetrun.engine.group import Member
from budgetrun.kernels import Kernel, Rows, compiling
from budgetrun.kernels.kinds import Matrix
from budgetrun.play.metrics import Errors, Tallies, Tally
from budgetrun.play.selection import Selection

# The fewest examples of a class on which settings may be chosen by their loss.
FEWEST = 50
# Rounds per block of a stream whose length is known, and at most in one piece of another.
BLOCK_SIZE, PIECE = 256, 8192
# Rows scored at a time.
_SCORED = 1024
# Points of a curve per decade, and the most that are equally spaced.
_PER_DECADE = 8
_MOST_SPACED = 100

# A learner's place and its seconds so far, to a context in which its code runs.
Guard = Callable[[int, float], AbstractContextManager[None]]


class Session:
    """Learners with kernels of their own, and selections among others, on the rounds of one stream.

    Its *players* are the learners, then the selections.

    Parameters:
    learners : sequence of (Kernel, Learner)
        All of the same problem. Learners with equal kernels share kernel values.
    selections : sequence of Selection
        They play beside the learners, with candidates of their own.
    task : {"binary", "multiclass", "regression"}
    n_classes : int
        At least 2; 0 for regression.
    tie, dtype : str
        As in `Group`.
    rows : sequence of int, or None
        For each learner, the row of labels that it reads; None for the first.
    metrics : sequence of str
        As in `Tally`.
    labels : ndarray of shape (n_rows, T), or None
        All labels of the stream; None if they are not known. If they are, `columns` also has the errors of each player
        on the first tenth of the rounds; with the metric ``prefix_log_loss``, on as many tenths, at most half of the
        rounds, as have 50 examples of every class in its row of labels.
    looks : bool
        True to count classes and features as well, for warnings.
    isolate : tuple of exception types
        As in `Group`.
    guard : callable or None
        Called with the place of a learner and its seconds so far before its code runs.
    running : bool
        True if `run` scales rows by those before them: learners that do so themselves take the others.
    """

    # The rounds of each player's prefix, none if those of the stream are not known; and the learners' log losses there.
    _prefixes: Sequence[int] = ()
    _early: Tallies | None = None
    _weighs = False
    # The groups that take examples as they are given; none in states of earlier versions.
    _as_given: Sequence[int] = ()

    def __init__(
        self,
        learners: Sequence[tuple[Kernel, Any]],
        selections: Sequence[Selection] = (),
        *,
        task: str,
        n_classes: int,
        tie: str,
        dtype: str,
        rows: Sequence[int] | None = None,
        metrics: Sequence[str] = (),
        labels: np.ndarray | None = None,
        looks: bool = False,
        isolate: tuple[type[BaseException], ...] = (),
        guard: Guard | None = None,
        running: bool = False,
    ) -> None:
        self._task = task
        self._options = group_options(task, n_classes, tie, dtype)
        self.selections = list(selections)
        self.counts = Counts(zeros=np.zeros(len(learners), dtype=np.int64))
        # None in old states.
        self._rows: Sequence[int] | None = rows or [0] * len(learners)
        kinds = [(str(kernel), running and learner.standardises) for kernel, learner in learners]
        n_rounds = None if labels is None else labels.shape[1]
        of_groups = [[i for i, own in enumerate(kinds) if own == kind] for kind in dict.fromkeys(kinds)]
        self._as_given = [g for g, own in enumerate(of_groups) if kinds[own[0]][1]]
        self._places = [(g, own.index(i)) for i in range(len(learners)) for g, own in enumerate(of_groups) if i in own]
        self._groups = [
            Group(
                learners[own[0]][0],
                [learners[i][1] for i in own],
                [self._rows[i] for i in own],
                **self._options,
                isolate=isolate,
                guard=guard and partial(_guarded, guard, own),
            )
            for own in of_groups
        ]
        self.measures: Tallies | Errors | None = None
        if not self.problem.of_classes:
            self.measures = Errors(len(learners))
        elif metrics and learners:
            tallies = partial(Tally, n_classes=self._options["n_classes"], tie=tie)
            if labels is not None and PREFIX_LOG_LOSS in metrics:
                self._early = Tallies([tallies(["log_loss"]) for _ in learners])
            if wanted := [name for name in metrics if name not in (PREFIX_LOG_LOSS, KEPT_BYTES)]:
                self.measures = Tallies([tallies(wanted) for _ in learners])
        if self.problem.of_classes:
            self.counts.labels = np.zeros(n_classes, dtype=np.int64)
        self.curve = Curve(len(learners), self.problem.curves(metrics) if learners else (), n_rounds)
        self._looks, self._weighs = looks, KEPT_BYTES in metrics
        if labels is not None:
            rows_of_players = [*self._rows, *(0 for _ in self.selections)]
            chosen_by_loss = self.problem.of_classes and PREFIX_LOG_LOSS in metrics
            codes = [self.problem.codes(row) if chosen_by_loss else None for row in labels]
            of_rows = [prefix_of(labels.shape[1], own, self._options["n_classes"] or 2) for own in codes]
            self._prefixes = [of_rows[row] for row in rows_of_players]
        self._of_prefix: list[dict[str, Any]] = [{} for _ in self._prefixes]

    @property
    def problem(self) -> Problem:
        """The problem of all learners."""
        return problem_of(self._task)

    @property
    def rounds(self) -> int:
        """The number of rounds so far."""
        return self.counts.rounds

    @property
    def members(self) -> list[Member]:
        """The learners with their hypotheses and counts, in the order in which they were given."""
        of_groups = [group.members for group in self._groups]
        return [of_groups[group][at] for group, at in self._places]

    def run(
        self,
        chunks: Iterable[tuple[Rows, np.ndarray]],
        *,
        scaled: Callable[[Any], Any] = lambda X: X,
        whole: Callable[[], AbstractContextManager[Any]] = nullcontext,
        after: Callable[[int], None] = lambda rounds: None,
    ) -> None:
        """Play a stream, or the rest of it.

        Parameters:
        chunks : iterable of (X, labels)
            In order: examples, shape (b, d), and labels, shape (n_rows, b), as `Group.feed` takes them.
        scaled : callable
            Returns examples as the learners take them, if ``running`` in new arrays; called in order.
        whole : callable
            Returns a context that is entered while some rounds are played: if it is left early, learners differ in the
            rounds that they have played.
        after : callable
            Called between such contexts with the number of rounds so far.

        Raises OutOfRangeError: a learner's numbers are out of range.
        """
        if (selected := self.__dict__.pop("selected", None)) is not None:
            # In 0.2.0, selections had curves of their own, and there were tallies without metrics.
            self.curve.extend(selected)
            if isinstance(self.measures, Tallies) and not self.measures.tallies:
                self.measures = None
        for X, labels in chunks:
            start, n = 0, X.shape[0]
            while start < n:
                point, stop = self.curve.next(self.rounds)
                stop = min([stop, *(prefix for prefix in self._prefixes if prefix > self.rounds)])
                end = min(n, start + stop - self.rounds)
                with whole():
                    given = X[start:end]
                    self._play(scaled(given), given, labels[:, start:end])
                    if self.rounds == point:
                        self.record()
                start = end
                after(self.rounds)

    def takes_given(self, i: int) -> bool:
        """Return whether learner ``i`` takes examples as they are given, and not scaled."""
        return self._places[i][0] in self._as_given

    def _play(self, X: Rows, given: Rows, labels: np.ndarray) -> None:
        """Play some rounds, which do not go beyond the next point of the curves."""
        of_groups = [group.feed(given if g in self._as_given else X, labels) for g, group in enumerate(self._groups)]
        for selection in self.selections:
            selection.feed(X, labels)
        counts = self.counts
        if self._places:
            scores = [of_groups[group][at] for group, at in self._places]
            # With several classes, a round counts if all its scores are 0.
            counts.zeros = counts.zeros + [np.count_nonzero(~own.reshape(-1, X.shape[0]).any(axis=0)) for own in scores]
            own = [labels[row] for row in self._rows or [0] * len(scores)]
            if self.measures is not None:
                self.measures.add(scores, own)
            if self._early is not None and counts.rounds < max(self._prefixes):
                self._early.add(scores, own)
        if self._looks:
            counts.look(X, self.problem.codes(labels[0]))
        counts.rounds += X.shape[0]
        if counts.rounds in self._prefixes:
            self._end_prefixes()

    def _end_prefixes(self) -> None:
        """Keep the columns of those players whose prefix ends with the present round."""
        mistakes, members = self._mistakes(), self.members
        for i in (i for i, prefix in enumerate(self._prefixes) if prefix == self.rounds):
            self._of_prefix[i] = {"prefix_examples": self.rounds, "prefix_mistakes": mistakes[i]}
            if isinstance(self.measures, Errors):
                self._of_prefix[i]["prefix_rmse"] = self.measures.rmse(i)
            if self._early is not None and members[i].error is None:
                self._of_prefix[i][PREFIX_LOG_LOSS] = self._early.columns(i)["log_loss"]

    def record(self) -> None:
        """Add a point to the curves, if they do not have it."""
        if self.curve.end == self.rounds:
            return
        sizes = [0 if member.hypothesis is None else member.hypothesis.size for member in self.members]
        sizes += [selection.support_size for selection in self.selections]
        self.curve.add(self.rounds, self._mistakes(), sizes, {} if self.measures is None else self.measures.now())

    def _mistakes(self) -> list[int]:
        """Return the mistakes of each player so far."""
        players: list[Any] = [*(member.count for member in self.members), *self.selections]
        return [player.mistakes for player in players]

    def totals(self) -> np.ndarray:
        """Return the `Problem.total` of each learner so far, shape (n,)."""
        if isinstance(self.measures, Errors):
            return self.measures.squared
        return np.array(self._mistakes()[: len(self._places)])

    def columns(self, i: int) -> dict[str, Any]:
        """Return the columns of runs.csv for player ``i`` after all its rounds, but for those of a test set."""
        n, prefix = len(self._places), self._of_prefix[i] if self._of_prefix else {}
        if i >= n:
            return prefix | self.selections[i - n].columns()
        member = self.members[i]
        count = member.count
        if self._weighs:
            group, at = self._places[i]
            prefix = prefix | {KEPT_BYTES: self._groups[group].kept_bytes(at)}
        return {
            **prefix,
            "mistakes": count.mistakes,
            "online_error": count.mistakes / self.rounds,
            "updates": count.updates,
            "margin_updates": count.margin_updates,
            "support_size": member.hypothesis.size,
            "max_support_size": count.max_support,
            "seconds": round(count.seconds, 6),
            "facts": json.dumps(member.learner.facts(member.hypothesis)),
            "zero_scores": int(self.counts.zeros[i]),
            **({} if self.measures is None else self.measures.columns(i)),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "tallies" in state:
            # A player of version 0.2.0.
            tallies, errors = state.pop("tallies"), state.pop("errors")
            state["measures"] = Tallies(tallies) if errors is None else errors
            state |= {"_rows": None, "_of_prefix": [], "_looks": True}
        self.__dict__.update(state)


def _guarded(guard: Guard, places: Sequence[int], member: Member) -> AbstractContextManager[None]:
    return guard(places[member.index], member.count.seconds)


def group_options(task: str, n_classes: int, tie: str, dtype: str) -> dict[str, Any]:
    """Return the options of a `Group` of learners of a problem."""
    return {"n_classes": problem_of(task).n_classes(n_classes), "tie": tie, "dtype": dtype}


def compile_first(learners: Iterable[tuple[Kernel, Any]], options: dict[str, Any], X: Rows, labels: np.ndarray) -> None:
    """Let copies of the learners play a few rounds: compiling is part of no run's time, nor limited."""
    rules = {
        (str(kernel), type(rule)): (kernel, learner)
        for kernel, learner in learners
        if compiling.takes(rule := getattr(learner, "binary", learner))
    }
    for kernel, learner in rules.values():
        with suppress(Exception):
            Group(kernel, [copy.deepcopy(learner)], **options).feed(X[:64], labels[:1, :64])


def scores_of(member: Member, X: Rows, averaged: bool = False) -> np.ndarray:
    """Return what `budgetrun.engine.score` does, in the memory for kernel values of a few rows."""
    starts = range(0, X.shape[0], _SCORED)
    return np.concatenate([score(member, X[start : start + _SCORED], averaged) for start in starts], axis=-1)


# -- curves ------------------------------------------------------------------------------------------------------------


class Curve:
    """Counts of players, and metrics of learners, after some rounds of a stream.

    If the number of rounds is known, these rounds are its `checkpoints`; otherwise eight per decade, and 50 to 100
    equally spaced ones.

    Parameters:
    n_learners : int, >= 0
        The first players, which have metrics.
    metrics : sequence of str
        Names of further curves.
    n_rounds : int or None
    """

    _planned: np.ndarray | None = None

    def __init__(self, n_learners: int, metrics: Sequence[str] = (), n_rounds: int | None = None) -> None:
        self._n = n_learners
        # The values of each, one list per recorded round.
        self._metrics: dict[str, list[list[float]]] = {name: [] for name in metrics}
        self._step = BLOCK_SIZE
        self._rounds: list[int] = []
        # Mistakes and support sizes, shape (2, n) each.
        self._counts: list[np.ndarray] = []
        if n_rounds is not None:
            self._planned = checkpoints(n_rounds)

    @property
    def end(self) -> int:
        """The last recorded round; 0 before the first."""
        return self._rounds[-1] if self._rounds else 0

    @property
    def rounds(self) -> np.ndarray:
        """The recorded rounds, shape (n,); those that are planned, if the number of rounds is known."""
        return np.array(self._rounds, dtype=np.int64) if self._planned is None else self._planned

    def next(self, after: int) -> tuple[int, int]:
        """Return the first round after ``after`` to record, and that at which the next piece of the stream ends."""
        if self._planned is not None:
            point = int(self._planned[np.searchsorted(self._planned, after, side="right")])
            return point, min(point, after + BLOCK_SIZE - after % BLOCK_SIZE)
        spaced = round(10 ** (math.ceil(_PER_DECADE * math.log10(after + 1)) / _PER_DECADE))
        point = min(spaced, (after // self._step + 1) * self._step)
        return point, min(point, after + PIECE)

    def add(self, rounds: int, mistakes: list[int], sizes: list[int], metrics: Mapping[str, list[float]]) -> None:
        """Record what the players have after ``rounds`` rounds, more than in the last call."""
        self._rounds.append(rounds)
        for name, values in self._metrics.items():
            values.append(metrics[name])
        self._counts.append(np.array([mistakes, sizes], dtype=np.int64))
        if self._planned is None and rounds > _MOST_SPACED * self._step:
            self._thin_out()

    def _thin_out(self) -> None:
        """Keep every other one of the equally spaced points."""
        self._step *= 2
        kept = [
            i
            for i, t in enumerate(self._rounds)
            if t % self._step == 0 or t == round(10 ** (round(_PER_DECADE * math.log10(t)) / _PER_DECADE))
        ]
        self._rounds = [self._rounds[i] for i in kept]
        self._counts = [self._counts[i] for i in kept]
        self._metrics = {name: [values[i] for i in kept] for name, values in self._metrics.items()}

    def extend(self, others: Curve) -> None:
        """Add the players of other curves with the same points."""
        self._counts = [np.hstack(both) for both in zip(self._counts, others._counts, strict=True)]

    def last_window(self, name: str = "mistakes") -> tuple[int, np.ndarray] | None:
        """Return the length of the last recorded stretch of at least a tenth of the rounds, and the mistakes in it.

        With the name of a metric that is a sum, its increase instead.
        """
        if len(self._rounds) < 2:
            return None
        start = max((i for i, t in enumerate(self._rounds) if t <= 0.9 * self.end), default=0)
        values = self._metrics.get(name) or [counts[0] for counts in self._counts]
        return self.end - self._rounds[start], np.subtract(values[-1], values[start])

    def of(self, i: int) -> dict[str, np.ndarray]:
        """Return the curves of player ``i`` by name, shape (n,) at `rounds`; 0 where a stream has not come, planned."""
        integer = np.int64 if self._planned is None else np.int32
        counts: np.ndarray = np.array([counts[:, i] for counts in self._counts], dtype=integer).reshape(-1, 2)
        found = {"mistakes": counts[:, 0], "support_size": counts[:, 1]}
        if i < self._n:
            found |= {name: np.array([values[i] for values in lists]) for name, lists in self._metrics.items()}
        missing = len(self.rounds) - len(self._rounds)
        return {name: np.pad(values, (0, missing)) for name, values in found.items()}


def checkpoints(n_rounds: int) -> np.ndarray:
    """Return the rounds at which curves are recorded: eight per decade, about fifty equally spaced, and the last."""
    grid = np.logspace(0, np.log10(n_rounds), int(8 * np.log10(n_rounds)) + 2)
    # Multiples of the block size, where blocks end anyway.
    step = BLOCK_SIZE * max(1, round(n_rounds / (50 * BLOCK_SIZE)))
    return np.unique(np.concatenate([np.rint(grid).astype(int), np.arange(step, n_rounds, step)]))


def prefix_of(n_rounds: int, codes: np.ndarray | None = None, n_classes: int = 0) -> int:
    """Return the length of the prefix on which settings may be chosen: a tenth of the rounds, at least 1.

    With the codes of all rounds, it is as many tenths as have `FEWEST` examples of each of ``n_classes`` codes, but not
    more than half of the rounds.
    """
    prefix, half = max(1, math.floor(n_rounds / 10 + 0.5)), n_rounds // 2
    while codes is not None and prefix < half and np.bincount(codes[:prefix], minlength=n_classes).min() < FEWEST:
        prefix = min(half, prefix + prefix_of(2 * half))
    return prefix


# -- counts ------------------------------------------------------------------------------------------------------------


@dataclass
class Stretch:
    """The longest and the present stretch of rounds with one label."""

    label: int = 0
    length: int = 0
    longest: int = 0

    def extend(self, labels: np.ndarray) -> None:
        """Add the labels of further rounds, shape (b,), b >= 1."""
        ends = np.flatnonzero(np.diff(labels)) + 1
        lengths = np.diff(np.concatenate([[0], ends, [len(labels)]]))
        if self.length and labels[0] == self.label:
            lengths[0] += self.length
        self.label, self.length = int(labels[-1]), int(lengths[-1])
        self.longest = max(self.longest, int(lengths.max()))


@dataclass
class Counts:
    """Counts of a `Session` that the engine does not make; of its data if `look` is called."""

    rounds: int = 0
    # The rounds on which each learner's score was exactly 0.
    zeros: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    # Rounds of each class, by code; empty for numbers.
    labels: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    stretch: Stretch = field(default_factory=Stretch)
    is_sparse: bool = False
    stored: int = 0  # the values that sparse examples store
    # The first row, and the features that have had its values ever since; shape (d,), None before it.
    first: np.ndarray | None = None
    constant: np.ndarray | None = None

    def look(self, X: Matrix, codes: np.ndarray) -> None:
        """Add the examples and classes of further rounds, of which there is at least one."""
        if len(self.labels):
            self.labels = self.labels + np.bincount(codes, minlength=len(self.labels))
            self.stretch.extend(codes)
        if not isinstance(X, np.ndarray):
            self.is_sparse = True
            self.stored += X.nnz
            return
        if self.first is None or self.constant is None:
            self.first, self.constant = X[0].copy(), np.ones(X.shape[1], dtype=bool)
        self.constant &= (self.first == X).all(axis=0)
