"""How sides are timed: all sides of a comparison in turn, several times; the best time of each counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from budgetrun.engine import Group
from budgetrun.kernels import Kernel, Rows
from budgetrun.learners import BinaryLearner

# Rounds per call of the engine, as in a sweep.
BLOCK_SIZE = 256
Maker = Callable[[], BinaryLearner]
# A plain loop over examples and labels; returns the rounds of its mistakes.
Loop = Callable[[np.ndarray, np.ndarray], list[int]]


class Timed(Protocol):
    """A side or a floor, which can be timed again."""

    def turn(self) -> None:
        """Run once more, and record the time."""


@dataclass
class Side:
    """One side of a comparison."""

    run: Callable[[], list[int]]  # runs the learners and returns the mistakes of each
    times: list[float] = field(default_factory=list)  # processor seconds of each turn
    mistakes: list[int] = field(default_factory=list)  # of each learner in the last turn

    @property
    def seconds(self) -> float:
        """The best time."""
        return min(self.times)

    def turn(self) -> None:
        """Run once more, and record the time."""
        began = time.process_time()
        self.mistakes = self.run()
        self.times.append(time.process_time() - began)


def alternate(sides: Sequence[Timed], turns: int) -> None:
    """Give every side a turn, ``turns`` times, so that a slow moment of the machine does not hit one side alone."""
    for _ in range(turns):
        for side in sides:
            side.turn()


def engine_mistakes(kernel: Kernel, make: Maker, X: Rows, Y: np.ndarray, *, block_size: int = BLOCK_SIZE) -> list[int]:
    """Return the mistakes of one learner per row of the labels Y, shape (n, T), over the examples X, shape (T, d)."""
    group = Group(kernel, [make() for _ in Y], range(len(Y)))
    for start in range(0, X.shape[0], block_size):
        group.feed(X[start : start + block_size], Y[:, start : start + block_size])
    return [member.count.mistakes for member in group.members]


# The rounds of a learner's mistakes, and those of the examples it holds at the end.
Rounds = tuple[list[int], list[int]]


def engine_rounds(kernel: Kernel, make: Maker, X: Rows, y: np.ndarray, *, block_size: int = BLOCK_SIZE) -> Rounds:
    """Run one learner with the labels y, shape (T,), over X, shape (T, d), ``block_size`` rounds per call."""
    group = Group(kernel, [make()])
    mistakes: list[int] = []
    for start in range(0, X.shape[0], block_size):
        labels = y[start : start + block_size]
        scores = group.feed(X[start : start + block_size], labels[None])[0]
        mistakes += (start + np.flatnonzero(labels * scores <= 0)).tolist()
    return mistakes, group.members[0].hypothesis.rounds.tolist()


class RoundsOf:
    """The ``run`` of a `Side` that keeps the rounds of the last turn, and returns the number of mistakes."""

    def __init__(self, run: Callable[[], Rounds]) -> None:
        self.rounds: Rounds = [], []
        self._run = run

    def __call__(self) -> list[int]:
        self.rounds = self._run()
        return [len(self.rounds[0])]


class DifferentMistakes(RuntimeError):
    """The engine and a plain loop made different mistakes: one of them is wrong."""


def check_equal(what: str, engine: Sequence[int], plain: Sequence[int]) -> None:
    """Raise an error unless the engine and the plain loop made the same numbers of mistakes."""
    if list(engine) != list(plain):
        raise DifferentMistakes(f"{what}: mistakes of the engine {list(engine)}, of the plain loop {list(plain)}")


def check_rounds(what: str, engine: Rounds, plain: Rounds) -> None:
    """Raise an error unless the engine and the plain loop err on the same rounds and hold the same examples."""
    for ours, theirs, of in zip(engine, plain, ("mistakes", "support sets"), strict=True):
        if ours != theirs:
            first = min(set(ours) ^ set(theirs))
            raise DifferentMistakes(f"{what}: {of} of the engine and of the plain loop differ in round {first}")
