"""The scores of a program that is not ours, in the place of a hypothesis."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from budgetrun.engine.hypotheses.features import WithoutSupport
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Rows
from budgetrun.kernels.kinds import dense


class Program(Protocol):
    """What learns one example after the other, each of shape (d,) and labelled -1 or +1."""

    def score(self, x: np.ndarray) -> float:
        """Return f(x): its sign is the predicted class, and its size the log-odds, if the program knows them."""

    def learn(self, x: np.ndarray, y: int) -> None:
        """Learn an example, the one of the last call of `score`, and its label."""

    def size(self) -> int:
        """Return the bytes of the model."""


class Outside(WithoutSupport):
    """f(x) is what a program predicts, which learns by the verb `learn`. The support set is empty.

    ``begin`` begins the program, before the first round.
    """

    form = "outside"
    compiled = False

    def __init__(self, pool: Pool, begin: Callable[[], Program]) -> None:
        super().__init__(pool)
        self._begin = begin
        self._program: Any = None
        self._rows = np.zeros((0, 0))

    def begin_block(self) -> None:
        super().begin_block()
        self._program = self._program or self._begin()
        self._rows = dense(self._pool.examples(self._block_slots))

    def score_at(self, t: int) -> float:
        self.scores[t] = self._program.score(self._rows[t])
        return float(self.scores[t])

    def learn(self, y: int) -> None:
        """Let the program learn the example of the current round."""
        self._program.learn(self._rows[self._round], y)

    def end_block(self) -> None:
        self._rows = self._rows[:0]

    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        return np.array([self._program.score(x) for x in dense(X)])

    def memory(self, size: int, block: int) -> float:
        # A package of others and a model of some megabytes, as measured; a forest of many trees takes several times it.
        return super().memory(size, block) + 100e6

    def bytes_kept(self, size: int, row: float, n_features: int) -> float:
        return float(self._program.size())
