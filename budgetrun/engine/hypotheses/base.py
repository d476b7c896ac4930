"""The base classes of hypotheses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool
    from budgetrun.engine.rules import BinaryRule
    from budgetrun.kernels import Rows

# An exact sum that is at most this fraction of the sum of its absolute terms is 0 except for rounding of the weights.
CANCELLED = 1e-9
# A round on which the learner acts, whether it is a mistake, and the further arguments of the learner's update.
Act = tuple[int, bool, tuple[Any, ...]]


class Hypothesis(ABC):
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
    """

    form: ClassVar[str]
    revision: ClassVar[int] = 1
    averages: ClassVar[bool] = False
    upkeep: int = 1

    def __init__(self, pool: Pool) -> None:
        self.mistakes = 0
        self.mistaken = False
        self.scores = np.empty(0, dtype=pool.dtype)
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

    @property
    def rounding(self) -> float:
        """The tolerance of rules: values that differ by less than this count as equal."""
        return 1e-9 if self._pool.dtype == np.float64 else 1e-4

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
        self.mistakes += mistaken

    @abstractmethod
    def terms(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the weighted sums of kernel values that a block's scores start from, as (slots, weights)."""

    @abstractmethod
    def begin_block(self, sums: np.ndarray) -> None:
        """Begin a block; ``sums``, shape (terms, b), holds the values of `terms` on it and may be changed in place."""

    @abstractmethod
    def next_act(self, y: np.ndarray, t: int, learner: Any, tie: str) -> Act | None:
        """Return the next round of the block, from ``t`` on, on which the learner acts.

        Parameters
        ----------
        y : ndarray, shape (b,)
            The labels of the block.
        t : int
        learner : BinaryRule or MulticlassRule
        tie : {"mistake", "positive"}

        Returns
        -------
        tuple or None
            The round, whether it is a mistake, and the further arguments of the learner's ``update``.
        """

    def end_block(self) -> None:  # noqa: B027 (most forms have nothing to do here)
        """End the block."""

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
        return self._pool.kernel.between(self.support_set, X.astype(self._pool.dtype, copy=False))


class BinaryHypothesis(Hypothesis):
    """One function f, whose sign predicts."""

    # The change of f(x_t) by verbs since the prediction.
    _moved = 0.0

    @property
    def current(self) -> float:
        return self.scores.item(self._round) + self._moved

    def at(self, t: int, mistaken: bool) -> None:
        super().at(t, mistaken)
        self._moved = 0.0

    def next_act(self, y: np.ndarray, t: int, learner: BinaryRule, tie: str) -> Act | None:
        scores, b = self.scores, len(y)
        while t < b:
            doubt = self.doubt()
            margins = learner.margins(self, t)
            hits = y[t:] * scores[t:] <= margins + doubt
            k = int(hits.argmax())
            if not hits[k]:
                return None
            t += k
            threshold = margins if isinstance(margins, float) else margins.item(k)
            label, score = int(y[t]), scores.item(t)
            margin = label * score
            if abs(margin - threshold) <= doubt or abs(margin) <= doubt:
                scores[t] = score = self.exact_score(t)
                margin = label * score
            mistake = margin < 0 or (margin == 0 and (label < 0 or tie == "mistake"))
            if mistake or margin < threshold:
                return t, mistake, (label, score)
            t += 1
        return None

    @abstractmethod
    def doubt(self) -> float:
        """Return the possible rounding error of a score."""

    @abstractmethod
    def exact_score(self, t: int) -> float:
        """Return f(x_t) for round ``t`` of the block, with as little rounding error as possible."""
