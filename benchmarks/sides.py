"""Timing: all sides of a comparison in turn, several times; the best processor time of each counts."""

import time
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.loops import Loop
from budgetrun.engine import Group
from budgetrun.kernels import Kernel, Rows
from budgetrun.learners import BinaryLearner

# Rounds per call of the engine, as in a sweep.
BLOCK_SIZE = 256
Maker = Callable[[], BinaryLearner]


class Sizes(NamedTuple):
    """Sizes of the benchmarks; None means all."""

    rounds: int | None  # the most of each real stream
    points: int | None  # the most of each panel of a figure
    turns: int  # how many times each side runs
    sampled: int  # splits of USPS that the plain loop runs


FULL, QUICK = Sizes(None, None, 5, 6), Sizes(2500, 4, 2, 2)


class Side:
    """One side of a comparison: a function that runs learners and returns the ``mistakes`` of each."""

    def __init__(self, name: str, run: Callable[[], list[int]]) -> None:
        self.name = name
        self.run = run
        self.times: list[float] = []
        self.mistakes: list[int] = []

    @property
    def seconds(self) -> float:
        """The best time."""
        return min(self.times)

    def turn(self) -> None:
        """Run once more, and record the time."""
        began = time.process_time()
        self.mistakes = self.run()
        self.times.append(time.process_time() - began)


class Plain(Side):
    """A plain loop, once per row of the labels Y, shape (n, T), over the examples X, shape (T, d)."""

    def __init__(self, loop: Loop, X: np.ndarray, Y: np.ndarray, gamma: float) -> None:
        super().__init__("plain loop", lambda: [len(loop(X, y, gamma)) for y in Y])


class Engine(Side):
    """The engine, with one learner per row of the labels Y, shape (n, T), over X; ``group`` is that of the last run."""

    def __init__(self, kernel: Kernel, make: Maker, X: Rows, Y: np.ndarray, name: str = "engine") -> None:
        def play() -> list[int]:
            self.group = Group(kernel, [make() for _ in Y], range(len(Y)))
            for start in range(0, X.shape[0], BLOCK_SIZE):
                self.group.feed(X[start : start + BLOCK_SIZE], Y[:, start : start + BLOCK_SIZE], scores=False)
            return [member.count.mistakes for member in self.group.members]

        super().__init__(name, play)


def alternate(sides: Collection[Side], turns: int) -> None:
    """Give every side a turn, ``turns`` times, so that a slow moment of the machine does not hit one side alone."""
    for _ in range(turns):
        for side in sides:
            side.turn()


class DifferentMistakes(RuntimeError):
    """The engine and a plain loop made different mistakes: one of them is wrong."""


def check_equal(what: str, engine: Sequence[int], plain: Sequence[int]) -> None:
    """Raise an error unless the engine and the plain loop made the same numbers of mistakes."""
    if list(engine) != list(plain):
        raise DifferentMistakes(f"{what}: mistakes of the engine {list(engine)}, of the plain loop {list(plain)}")
