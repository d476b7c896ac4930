"""The one loop that plays learners, and rules of selection, on the rounds of a stream."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.base.problem import Problem, problem_of
from budgetrun.engine import Group
from budgetrun.kernels import Kernel, Rows, compiling
from budgetrun.play.counts import Counts
from budgetrun.play.curve import Curve
from budgetrun.play.metrics import Errors, Tallies, Tally

if TYPE_CHECKING:
    from budgetrun.engine.group import Member
    from budgetrun.play.selection import Selection

# A learner's place and its seconds so far, to a context in which its code runs.
Guard = Callable[[int, float], AbstractContextManager[None]]


class Session:
    """Learners with kernels of their own, and selections among others, on the rounds of one stream.

    Parameters
    ----------
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
    curve : callable
        Returns a `Curve`, given the number of learners and the names of metrics.
    prefix : int or None
        The number of rounds whose errors rows also report.
    looks : bool
        True to count classes and features as well, for warnings.
    isolate : tuple of exception types
        As in `Group`.
    guard : callable or None
        Called with the place of a learner and its seconds so far before its code runs.
    """

    prefix: int | None = None

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
        curve: Callable[[int, Sequence[str]], Curve] = Curve,
        prefix: int | None = None,
        looks: bool = False,
        isolate: tuple[type[BaseException], ...] = (),
        guard: Guard | None = None,
    ) -> None:
        self._task = task
        self._options = group_options(task, n_classes, tie, dtype)
        self.selections = list(selections)
        self.counts = Counts(zeros=np.zeros(len(learners), dtype=np.int64))
        if self.problem.of_classes:
            self.counts.labels = np.zeros(n_classes, dtype=np.int64)
        # None in old states.
        self._rows: Sequence[int] | None = rows or [0] * len(learners)
        names = list(dict.fromkeys(str(kernel) for kernel, _ in learners))
        of_groups = [[i for i, (kernel, _) in enumerate(learners) if str(kernel) == name] for name in names]
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
        self.measures: Tallies | Errors
        if self.problem.of_classes:
            n_tallies = len(learners) if metrics else 0
            self.measures = Tallies([Tally(metrics, self._options["n_classes"], tie) for _ in range(n_tallies)])
        else:
            self.measures = Errors(len(learners))
        self.curve = curve(len(learners), self.problem.curves(metrics) if learners else ())
        self.selected = curve(len(self.selections), ())
        self.prefix, self._looks = prefix, looks
        self._of_prefix: list[dict[str, Any]] = []

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

    def compile(self, X: Rows, labels: np.ndarray) -> None:
        """Compile what `play` needs, on a few rounds of the stream, with labels of shape (n_rows, b)."""
        learners = [(group.pool.kernel, member.learner) for group in self._groups for member in group.members]
        compile_first(learners, self._options, X, labels)

    def run(
        self,
        chunks: Iterable[tuple[Rows, np.ndarray]],
        *,
        scaled: Callable[[Any], Any] = lambda X: X,
        whole: Callable[[], AbstractContextManager[Any]] = nullcontext,
        after: Callable[[int], None] = lambda rounds: None,
    ) -> None:
        """Play a stream, or the rest of it.

        Parameters
        ----------
        chunks : iterable of (X, labels)
            As in `play`, in order.
        scaled : callable
            Returns examples as the learners take them; called in order.
        whole : callable
            Returns a context that is entered while some rounds are played: if it is left early, learners differ in the
            rounds that they have played.
        after : callable
            Called between such contexts with the number of rounds so far.
        """
        for X, labels in chunks:
            start, n = 0, X.shape[0]
            while start < n:
                end = min(n, start + self._stop() - self.rounds)
                with whole():
                    self.play(scaled(X[start:end]), labels[:, start:end])
                start = end
                after(self.rounds)

    def _stop(self) -> int:
        """Return the round at which the next call of `play` ends, at the latest."""
        stop = self.curve.stop(self.rounds)
        return stop if self.prefix is None or self.rounds >= self.prefix else min(stop, self.prefix)

    def play(self, X: Rows, labels: np.ndarray) -> None:
        """Play some rounds, which do not go beyond the next point of the curves.

        Parameters
        ----------
        X : ndarray, csr_array or IntegerRows, shape (b, d), b >= 1
        labels : ndarray, shape (n_rows, b)
            As `Group.feed` takes them.

        Raises
        ------
        OutOfRangeError
            A learner's numbers are out of range.
        """
        of_groups = [group.feed(X, labels) for group in self._groups]
        for selection in self.selections:
            selection.feed(X, labels)
        counts, before = self.counts, self.rounds
        if self._places:
            scores = [of_groups[group][at] for group, at in self._places]
            # With several classes, a round counts if all its scores are 0.
            counts.zeros = counts.zeros + [np.count_nonzero(~own.reshape(-1, X.shape[0]).any(axis=0)) for own in scores]
            self.measures.add(scores, [labels[row] for row in self._rows or [0] * len(scores)])
        if self._looks:
            counts.look(X, self.problem.codes(labels[0]))
        counts.rounds += X.shape[0]
        if counts.rounds == self.prefix:
            self._of_prefix = [self._prefix_columns(i) for i in range(len(self._places) + len(self.selections))]
        if counts.rounds == self.curve.next(before):
            self.record()

    def record(self) -> None:
        """Add a point to the curves, if they do not have it."""
        if self.curve.end == self.rounds:
            return
        members = self.members
        sizes = [0 if member.hypothesis is None else member.hypothesis.size for member in members]
        self.curve.add(self.rounds, [member.count.mistakes for member in members], sizes, self.measures.now())
        sizes = [selection.support_size for selection in self.selections]
        self.selected.add(self.rounds, [selection.mistakes for selection in self.selections], sizes, {})

    def totals(self) -> np.ndarray:
        """Return the `Problem.total` of each learner so far, shape (n,)."""
        if isinstance(self.measures, Errors):
            return self.measures.squared
        return np.array([member.count.mistakes for member in self.members])

    # -- players: the learners, then the selections -------------------------------------------------------------------

    def columns(self, i: int) -> dict[str, Any]:
        """Return the columns of runs.csv for a player after all its rounds, but for those of a test set."""
        n, prefix = len(self._places), self._of_prefix[i] if self._of_prefix else {}
        if i >= n:
            return prefix | self.selections[i - n].columns()
        member = self.members[i]
        count = member.count
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
            **self.measures.columns(i),
        }

    def _prefix_columns(self, i: int) -> dict[str, Any]:
        n = len(self._places)
        mistakes = self.selections[i - n].mistakes if i >= n else self.members[i].count.mistakes
        more = {} if i >= n else self.measures.prefix(i)
        return {"prefix_examples": self.prefix, "prefix_mistakes": mistakes, **more}

    def curves(self, i: int) -> dict[str, np.ndarray]:
        """Return the curves of a player by name, at ``curve.rounds``."""
        n = len(self._places)
        return self.selected.of(i - n) if i >= n else self.curve.of(i)

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
