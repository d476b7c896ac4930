"""The base classes of hypotheses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from budgetrun.compiling import Compilable

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool
    from budgetrun.kernels import Rows

# A score that is at most this fraction of a bound on its terms may be mere rounding. It is summed again, and is 0
# if it is at most the second fraction of the sum of its absolute terms, which may be far below that bound.
UNSURE = 1e-13
CANCELLED = 1e-9


class Options(NamedTuple):
    """How rounds are played.

    Attributes
    ----------
    positive : bool
        Whether a score of 0 predicts +1; otherwise it is a mistake.
    full : int
        Stop before the learner acts with this many support examples; -1 for never.
    single : bool
        Stop after each round on which the learner acts.
    """

    positive: bool = False
    full: int = -1
    single: bool = False


class Hypothesis(Compilable, ABC):
    """A function f that a learner changes by verbs, and its scores on the rest of the current block.

    Verbs can be called in any order: each one updates the scores of later rounds, `current`, and all that the form
    tracks.

    Attributes
    ----------
    form : str
        The name of this form in run ids.
    revision : int, >= 1
        Raised whenever a change to the form changes outcomes; part of every run id (`budgetrun.runner.identity`).
    averages : bool
        Whether `score` can always give the mean of the hypotheses of all rounds.
    upkeep : int
        The number of rows of kernel values that an update reads or writes, for estimates of running time.
    scores : ndarray, shape (b,), or (n_classes, b)
        f(x_t) for the later rounds of the block; for earlier rounds, the scores at prediction time.
    mistakes : int
        M_t, the mistakes so far, including the current round.
    mistaken : bool
        Whether the current round is a mistake.
    updates : int
        The rounds so far on which the learner acted, including the current one.
    largest_size : int
        The largest support set after a round.
    rounding : float
        The tolerance of rules: values that differ by less than this count as equal.
    """

    form: ClassVar[str]
    revision: ClassVar[int] = 1
    averages: ClassVar[bool] = False
    upkeep: int = 1

    def __init__(self, pool: Pool) -> None:
        self.mistakes = 0
        self.mistaken = False
        self.updates = 0
        self.largest_size = 0
        self.rounding = 1e-9 if pool.dtype == np.float64 else 1e-5
        self.scores = np.empty(0)
        self._pool = pool
        self._round = 0

    # -- read by learners ----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def current(self) -> Any:
        """f(x_t) for the example of the current round, after the verbs so far: a float, or shape (n_classes,)."""

    @property
    @abstractmethod
    def slots(self) -> np.ndarray:
        """The slots of the support examples in the pool, oldest first; shape (size,)."""

    @property
    def size(self) -> int:
        """The number of support examples."""
        return len(self.slots)

    @property
    def square(self) -> float:
        """k(x_t, x_t), for the example x_t of the current round."""
        return self._pool.squares.item(self._pool.block_slots.item(self._round))

    @property
    def now(self) -> int:
        """The number of rounds so far, including the current one."""
        return self._pool.seen - len(self._pool.block_slots) + self._round + 1

    def kernel_row(self) -> np.ndarray:
        """Return k(x_i, x_t) between the support examples and the example of the current round.

        Returns
        -------
        ndarray of float64, shape (size,), oldest first
        """
        return self._pool.block[self.slots, self._round].astype(np.float64)

    def squares_from(self, t: int) -> np.ndarray:
        """Return k(x, x) for the examples of the block's rounds from ``t`` on, shape (b - t,)."""
        return self._pool.squares[self._pool.block_slots[t:]]

    # -- called by the engine ------------------------------------------------------------------------------------

    @property
    def rounds(self) -> np.ndarray:
        """The rounds of the support examples, counted from 0, oldest first; shape (size,)."""
        return self._pool.rounds[self.slots]

    @property
    def support_set(self) -> Rows:
        """The support examples, oldest first; shape (size, d)."""
        return self._pool.examples(self.slots)

    def at(self, t: int, mistaken: bool) -> None:
        """Go to round ``t`` of the block, on which the learner acts."""
        self._round, self.mistaken = t, mistaken
        self.updates += 1
        self.mistakes += mistaken
        self._begin_round()

    def _begin_round(self) -> None:
        """Forget the changes of f(x_t) that the verbs of an earlier round made."""

    @property
    def held(self) -> np.ndarray:
        """The slots that the pool must keep after the block: of the support examples, and of others still needed."""
        return self.slots

    @abstractmethod
    def begin_block(self) -> None:
        """Begin a block: the pool has its kernel values."""

    @abstractmethod
    def play(self, learner: Any, y: np.ndarray, t: int, options: Options) -> int:
        """Let a learner act on the rounds of the block from ``t`` on.

        Parameters
        ----------
        learner : BinaryRule or MulticlassRule
        y : ndarray, shape (b,)
            The labels of the block.
        t : int
        options : Options

        Returns
        -------
        int
            The next round: b at the end of the block.
        """

    def end_block(self) -> None:
        """End the block."""

    @property
    def predictions(self) -> np.ndarray:
        """f(x_t) at prediction time for the rounds of the block that have been played, shape (b,) or (n_classes, b)."""
        return self.scores

    @abstractmethod
    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        """Return f(x) for examples outside the stream.

        Parameters
        ----------
        X : ndarray or csr_array, shape (n, d)
        averaged : bool
            Use the mean of the hypotheses of all rounds instead of the last hypothesis.

        Returns
        -------
        ndarray of float64, shape (n,), or (n_classes, n)

        Raises
        ------
        NotImplementedError
            The mean needs examples that are no longer held.
        """

    def memory(self, size: int, block: int) -> float:
        """Estimate the bytes that the form takes in addition to the pool, for ``size`` support examples.

        ``block`` is the number of rounds per block.
        """
        return 48 * size

    def solving(self, size: int) -> float:
        """Estimate the multiplications per round in addition to those for kernel values."""
        return 0.0

    def _values_with(self, X: Rows) -> np.ndarray:
        """Return k(x_i, x) between the support examples and those of ``X``, shape (size, n)."""
        return self._pool.values(self.slots, X)
