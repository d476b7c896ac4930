"""The state of a stream between two calls of `budgetrun run`, and warnings that its numbers may mislead."""

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from budgetrun.base.errors import clipped, one_line
from budgetrun.data.scaling import Running, scale_in_place
from budgetrun.kernels.kinds import Matrix
from budgetrun.play.session import Session, scores_of

# The first state is saved after so many seconds; later ones cost at most this share of the time, but come every minute.
FIRST_SAVED, SHARE_OF_SAVING, RARELY = 2.0, 0.02, 60.0


class ByRow:
    """Leaves the examples of a stream as they are, or scales each to Euclidean norm 1."""

    def __init__(self, scale: str) -> None:
        self.scale = scale

    def scaled(self, X: Matrix, learn: bool = True) -> Matrix:
        """Return examples scaled, shape (b, d), in place; there is nothing to learn from them."""
        scale_in_place(X, self.scale, "the stream")
        return X


def scaler(scale: str, n_features: int) -> Running | ByRow:
    """Return the object that scales the chunks of a stream, in order: ``none``, ``unit_norm`` or ``running``."""
    return Running(n_features) if scale == "running" else ByRow(scale)


def typical_of(scaled: Running | ByRow, sparse: bool) -> Any:
    """Return the mean and the deviation of each feature, shape (d,) each, if these scale it; otherwise None."""
    return scaled.typical() if isinstance(scaled, Running) and not sparse else None


def next_save(began: float) -> float:
    """Return when the state of a stream is saved again, given when its saving began that has just ended."""
    now = time.monotonic()
    return now + min(RARELY, max(FIRST_SAVED, (now - began) / SHARE_OF_SAVING))


@dataclass
class Progressed:
    """The choices for a stream, and its learners after the rounds so far."""

    request: dict[str, Any]
    config: str
    said: list[str]
    classes: list[Any]
    encoding: Any
    scaler: Running | ByRow
    session: Session
    names: list[str]  # the learners in messages
    sha256s: list[str] = field(default_factory=list)  # of the parts of a pipe that earlier calls have read
    median_gamma: float | None = None  # the value of ``gamma: auto``
    # The state of the file when it was opened, and a checksum of the rows that were played.
    stamp: list[int] = field(default_factory=list)
    seen: str = ""
    seconds: float = 0.0
    n_rounds: int | None = None  # T, if parameters depend on it
    ended: bool = False  # all of the stream was played, and all results are written
    # The rounds of earlier files, and the encoding when this one began; None for the first.
    base: int = 0
    started: Any = None
    in_part: bool = False  # the rows of ``seen`` are those of a part of a pipe that has not ended

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "player" in state:
            # A state of version 0.2.0.
            state["session"] = state.pop("player")
        self.__dict__.update(state)
        if lost := [one.name for one in fields(self) if not hasattr(self, one.name)]:
            raise ValueError(f"it lacks {', '.join(lost)}")

    def go_on(self, source: str) -> None:
        """Let the rows of another file follow."""
        if self.request["source"] != "-":
            self.sha256s.append(self.seen)
        self.base, self.started = self.session.rounds, copy.deepcopy(self.encoding)
        self.stamp, self.seen, self.ended = [], "", False
        self.request |= {"source": source}
        self.said.append(f"The rows from {self.base + 1:,} on are those of {one_line(source)}.")

    def best(self) -> "Best":
        """Return the learner with the fewest mistakes or the smallest squared errors so far; of several, the first."""
        return Best(self)


class Best:
    """The best learner of a stream so far, which predicts as a classifier or a regressor does, and learns no more.

    Attributes:
    classes_ : ndarray, shape (n_classes,)
        Empty if it predicts numbers.
    told : str
        The learner in words.
    typical : tuple of ndarray, shape (d,), or None
        The mean and the deviation of each feature so far, if these scale it.
    """

    def __init__(self, state: Progressed) -> None:
        session, totals = state.session, state.session.totals()
        i = int(totals.argmin())
        self.classes_ = np.array(state.classes)
        self.told = f"by {state.names[i]}, which {session.problem.best(totals[i], session.rounds)}"
        self._member, self._scaler = session.members[i], ByRow("none") if session.takes_given(i) else state.scaler
        self.typical = typical_of(state.scaler, session.counts.is_sparse)

    def decision_function(self, X: Matrix) -> np.ndarray:
        """Return f(x) for each row, shape (n,), or (n, n_classes); with ``running``, the stream's scale is kept."""
        X = self._scaler.scaled(X, learn=False)
        return scores_of(self._member, X).T

    predict = decision_function


# Rounds before a warning is given, and the shares of the rounds from which on it is.
_EARLIEST = 1000
_MOST_ZEROS, _LONG_STRETCH = 0.5, 0.1
_MOST_NAMED = 5


def warnings(session: Session, names: Sequence[str], features: Sequence[str], at_end: bool = False) -> dict[str, str]:
    """Return a sentence for each reason to distrust the numbers so far, under a key that stays the same.

    ``names`` and ``features`` are those of the learners and of the features. ``at_end``, after the last round, budgets
    that no learner has filled are named, too.
    """
    counts, found = session.counts, {}
    if counts.rounds < _EARLIEST and not at_end:
        return {}
    rounds = max(1, counts.rounds)
    zeros = counts.zeros / rounds
    if affected := [names[i] for i in np.flatnonzero(zeros > _MOST_ZEROS).tolist()]:
        found["zeros"] = (
            f"The score of {_few(affected)} was exactly 0 on up to {zeros.max():.0%} of the rounds: the "
            "kernel values of these examples underflow, so nothing is learned from them. Scale the features (--scale "
            "running) or take a smaller --gamma."
        )
    if counts.constant is not None and counts.constant.any() and counts.rounds >= 2:
        constant = [features[i] for i in np.flatnonzero(counts.constant).tolist()]
        noun = "Feature" if len(constant) == 1 else f"{len(constant):,} features"
        found["constant"] = f"{noun} never changed so far: {_few(constant)}."
    if len(counts.labels):
        largest = min(counts.labels.max() / rounds, 1 - 1e-9)
        expected, longest = np.log(max(2, rounds)) / -np.log(largest), counts.stretch.longest
        if longest >= max(_LONG_STRETCH * rounds, 3 * expected, _EARLIEST / 10):
            found["stretch"] = (
                f"A stretch of {longest:,} rounds has only one class: the file seems to be sorted by label, which "
                "makes online errors meaningless. To shuffle it: --shuffle SEED."
            )
    trivial = np.array([member.learner.family == "constant" for member in session.members])
    if at_end and trivial.any():
        totals, problem = session.totals(), session.problem
        least = totals[trivial].min()
        beaten = [names[i] for i in np.flatnonzero(~trivial & (totals >= least)).tolist()]
        error = f"{problem.error_after(least, rounds):{problem.error_form}}"
        worst = f"{problem.constant} ({problem.error_title} {error})"
        if beaten and len(beaten) == np.count_nonzero(~trivial):
            found["trivial"] = f"No learner is better than {worst}: nothing was learned from the features."
        elif beaten:
            found["trivial"] = f"No better than {worst}: {_few(beaten)}."
    uses: dict[int, int] = {}
    for member in session.members if at_end else ():
        # What others combine is not held by themselves.
        if (budget := member.learner.budget) is not None and member.learner.family == "kernel":
            uses[budget] = max(uses.get(budget, 0), member.count.max_support)
    if unused := sorted(budget for budget, use in uses.items() if use < budget):
        which = "this budget" if len(unused) == 1 else "these budgets"
        listed, use = _few([f"{budget:,}" for budget in unused]), max(uses[budget] for budget in unused)
        found["budget"] = f"No learner filled {which}: {listed} (largest use: {use:,}). Try smaller ones."
    return found


def _few(names: Sequence[str]) -> str:
    more = [f"{len(names) - _MOST_NAMED:,} others"] if len(names) > _MOST_NAMED else []
    return "; ".join([*(clipped(one_line(name)) for name in names[:_MOST_NAMED]), *more])
