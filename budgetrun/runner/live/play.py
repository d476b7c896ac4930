"""Learners on a stream that arrives in chunks: what has been counted so far is all that is kept of it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.base.problem import METRICS_IN_CURVES, SQUARED_ERROR
from budgetrun.engine import Group
from budgetrun.play.curve import Curve
from budgetrun.play.metrics import Tally
from budgetrun.play.selection import Selection
from budgetrun.play.targets import Errors
from budgetrun.runner.online import compile_first, zero_scores

if TYPE_CHECKING:
    from budgetrun.base.params import Task
    from budgetrun.engine.group import Member
    from budgetrun.kernels import Kernel
    from budgetrun.kernels.rows import Matrix
    from budgetrun.play.selection import Rule

# Rounds between two moments at which the stream may stop and be saved.
PIECE = 8192


@dataclass
class Stretch:
    """The longest and the present stretch of rounds with one label."""

    label: int = 0
    length: int = 0
    longest: int = 0

    def extend(self, labels: np.ndarray) -> None:
        """Go on with the labels of further rounds, shape (b,), b >= 1."""
        ends = np.flatnonzero(np.diff(labels)) + 1
        lengths = np.diff(np.concatenate([[0], ends, [len(labels)]]))
        if self.length and labels[0] == self.label:
            lengths[0] += self.length
        self.label, self.length = int(labels[-1]), int(lengths[-1])
        self.longest = max(self.longest, int(lengths.max()))


@dataclass
class Counts:
    """What is counted of the rounds besides what the engine counts."""

    rounds: int = 0
    # Of each class, by code.
    labels: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    # Of each learner, the rounds whose score was exactly 0.
    zeros: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    stretch: Stretch = field(default_factory=Stretch)
    # The values that sparse examples store.
    is_sparse: bool = False
    stored: int = 0
    # Whether a feature has had the value of the first row in every round; shape (d,), None before the first.
    first: np.ndarray | None = None
    constant: np.ndarray | None = None

    def compare(self, X: np.ndarray) -> None:
        """Compare the features of further rounds with those of the first."""
        if self.first is None or self.constant is None:
            self.first, self.constant = X[0].copy(), np.ones(X.shape[1], dtype=bool)
        self.constant &= (self.first == X).all(axis=0)


class Player:
    """Learners with kernels of their own, on the rounds of one stream.

    Parameters
    ----------
    learners : sequence of (Kernel, Learner)
        Learners with equal kernels share kernel values.
    n_classes : int
        At least 2; 0 for regression.
    task : {"binary", "multiclass", "regression"}
        What the learners learn.
    tie, dtype : str
        As in `Group`.
    metrics : sequence of str
        As in `Tally`.
    rules : sequence of Rule
        Each selects among copies of the learners, which play beside them.
    """

    def __init__(
        self,
        learners: Sequence[tuple[Kernel, Any]],
        n_classes: int,
        task: Task,
        tie: str,
        dtype: str,
        metrics: Sequence[str] = (),
        rules: Sequence[Rule] = (),
    ) -> None:
        given: dict[str, Any] = {"tie": tie, "dtype": dtype}
        self.selections = [
            Selection(rule, copy.deepcopy(list(learners)), n_classes=n_classes, **given) for rule in rules
        ]
        self.selected = Curve(len(rules))
        kernels = {str(kernel): kernel for kernel, _ in learners}
        self._task = task
        n_codes = n_classes if task == "multiclass" else None
        self._options = {"n_classes": n_codes, **given}
        # Which group a learner is in, and at which place.
        self._places: list[tuple[int, int]] = []
        members: dict[str, list[Any]] = {name: [] for name in kernels}
        for kernel, learner in learners:
            own = members[str(kernel)]
            self._places.append((list(kernels).index(str(kernel)), len(own)))
            own.append(learner)
        self._groups = [Group(kernels[name], own, **self._options) for name, own in members.items()]
        self.counts = Counts(labels=np.zeros(n_classes, dtype=np.int64), zeros=np.zeros(len(learners), dtype=np.int64))
        # Of each learner, if there are metrics.
        self.tallies = [Tally(metrics, n_codes, tie) for _ in learners] if metrics else []
        self.errors = Errors(len(learners)) if task == "regression" else None
        more = [SQUARED_ERROR] if self.errors else [name for name in METRICS_IN_CURVES if name in metrics]
        self.curve = Curve(len(learners), more)

    @property
    def members(self) -> list[Member]:
        """The learners with their hypotheses and counts, in the order in which they were given."""
        of_groups = [group.members for group in self._groups]
        return [of_groups[group][at] for group, at in self._places]

    def compile(self, X: Matrix, codes: np.ndarray) -> None:
        """Compile what `play` needs, on a few rounds of the stream, which copies of the learners play."""
        for group in self._groups:
            learners = [member.learner for member in group.members]
            compile_first(group.pool.kernel, learners, self._options, X, self._labels(codes))

    def piece(self, most: int) -> int:
        """Return how many rounds, at most ``most``, to give to `play` next: curves are recorded between its calls."""
        done = self.counts.rounds
        return min(most, PIECE, self.curve.next(done) - done)

    def play(self, X: Matrix, codes: np.ndarray) -> None:
        """Play some rounds.

        Parameters
        ----------
        X : ndarray or csr_array, shape (b, d), b >= 1
        codes : ndarray, shape (b,)
            The classes, from 0; of two, 0 is -1. For regression, the labels.

        Raises
        ------
        OutOfRangeError
            A learner's numbers are out of range.
        """
        labels = self._labels(codes)
        scores = [group.feed(X, labels) for group in self._groups]
        for selection in self.selections:
            selection.feed(X, labels)
        zeros = [zero_scores(of_group) for of_group in scores]
        for (group, at), tally in zip(self._places, self.tallies, strict=bool(self.tallies)):
            tally.add(scores[group][at], labels[0])
        counts = self.counts
        counts.zeros = counts.zeros + np.array([zeros[group][at] for group, at in self._places])
        if self.errors is not None:
            self.errors.add(np.stack([scores[group][at] for group, at in self._places]), codes)
        else:
            counts.labels = counts.labels + np.bincount(codes, minlength=len(counts.labels))
            counts.stretch.extend(codes)
        if isinstance(X, np.ndarray):
            counts.compare(X)
        else:
            counts.is_sparse = True
            counts.stored += X.nnz
        counts.rounds += len(codes)
        if counts.rounds == self.curve.next(counts.rounds - len(codes)):
            self.record()

    def _labels(self, codes: np.ndarray) -> np.ndarray:
        """Return classes as `Group.feed` takes them, shape (1, b)."""
        return (2 * codes - 1 if self._task == "binary" else codes)[None]

    def record(self) -> None:
        """Add a point to the curves."""
        members = self.members
        mistakes = [member.count.mistakes for member in members]
        now = [tally.now() for tally in self.tallies]
        metrics = {name: [values[name] for values in now] for name in (now[0] if now else ())}
        if self.errors is not None:
            metrics[SQUARED_ERROR] = self.errors.squared.tolist()
        self.curve.add(self.counts.rounds, mistakes, [member.hypothesis.size for member in members], **metrics)
        sizes = [selection.support_size for selection in self.selections]
        self.selected.add(self.counts.rounds, [selection.mistakes for selection in self.selections], sizes)

    def errors_so_far(self) -> tuple[str, np.ndarray, tuple[int, np.ndarray] | None]:
        """Return what the error is called, that of each learner, and that in the last stretch of so many rounds.

        The stretch is the one of `Curve.last_window`; None before there is one.
        """
        rounds, window = max(1, self.counts.rounds), self.curve.last_window(SQUARED_ERROR if self.errors else None)
        if self.errors is not None:
            lately = None if window is None else (window[0], np.sqrt(window[1] / window[0]))
            return "RMSE", np.sqrt(self.errors.squared / rounds), lately
        lately = None if window is None else (window[0], window[1] / window[0])
        return "online error", np.array([m.count.mistakes for m in self.members]) / rounds, lately

    def record_end(self) -> None:
        """Add the point of the last round, if the curves do not have it."""
        if self.curve.end < self.counts.rounds:
            self.record()
