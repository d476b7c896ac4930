"""What every form of a hypothesis has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool
    from budgetrun.kernels import Rows

# An exact sum that is no more than this beside its terms is 0 but for the rounding of the weights.
CANCELLED = 1e-9
# The round, whether it is a mistake, and what the learner is told of it.
Act = tuple[int, bool, tuple[Any, ...]]


class BaseHypothesis(ABC):
    """A function that a learner changes, with its scores on the rest of the block in hand.

    Attributes
    ----------
    form : str
        What this form of a hypothesis is called in run ids.
    revision : int, >= 1
        Raised whenever the form's outcomes change; part of every run id (`budgetrun.runner.identity`).
    scores : ndarray, shape (b,), or (n_classes, b)
        f(x_t) of the rounds to come, and of the past ones as they were predicted.
    mistakes : int
        M_t, the mistakes so far, the round in hand included.
    mistaken : bool
        The round in hand is a mistake.
    """

    form: ClassVar[str]
    revision: ClassVar[int] = 1

    def __init__(self, pool: Pool) -> None:
        self.mistakes = 0
        self.mistaken = False
        self.scores = np.empty(0, dtype=pool.dtype)
        self._pool = pool
        self._round = 0

    # -- what a learner reads ------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def slots(self) -> np.ndarray:
        """Where the support examples are in the pool, oldest first; shape (size,)."""

    @property
    def size(self) -> int:
        """How many examples are held."""
        return len(self.slots)

    @property
    def square(self) -> float:
        """k(x_t, x_t), for the example x_t of the round in hand."""
        return self._pool.squares.item(self._pool.block_slots.item(self._round))

    @property
    def now(self) -> int:
        """The number of rounds up to the one in hand, from 1."""
        return self._pool.seen - len(self._pool.block_slots) + self._round + 1

    def squares_from(self, t: int) -> np.ndarray:
        """Return k(x, x) for the examples of the rounds from ``t`` of the block on, shape (b - t,)."""
        return self._pool.squares[self._pool.block_slots[t:]]

    @property
    def rounding(self) -> float:
        """What a rule compares is equal but for rounding if it differs by less than this."""
        return 1e-9 if self._pool.dtype == np.float64 else 1e-4

    # -- what the engine does ------------------------------------------------------------------------------------

    @property
    def rounds(self) -> np.ndarray:
        """The rounds of the support examples, from 0, oldest first; shape (size,)."""
        return self._pool.rounds[self.slots]

    @property
    def support_set(self) -> Rows:
        """The support examples, oldest first; shape (size, d)."""
        return self._pool.examples(self.slots)

    def at(self, t: int, mistaken: bool) -> None:
        """Go to round ``t`` of the block, where the learner acts."""
        self._round, self.mistaken = t, mistaken
        self.mistakes += mistaken

    @abstractmethod
    def terms(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the sums of weighted kernel values that the scores of a block begin with, as (slots, weights)."""

    @abstractmethod
    def begin_block(self, sums: np.ndarray) -> None:
        """Go to a new block; ``sums``, shape (terms, b), are the values of `terms` on it, to be updated in place."""

    @abstractmethod
    def next_act(self, y: np.ndarray, t: int, learner: Any, tie: str) -> Act | None:
        """Return the next round, from ``t`` of the block on, at which the learner acts.

        Parameters
        ----------
        y : ndarray, shape (b,)
            The labels of the block.
        t : int
        learner : Learner
        tie : {"mistake", "positive"}

        Returns
        -------
        tuple or None
            The round, whether it is a mistake, and what else `Learner.update` is to be told.
        """

    @abstractmethod
    def end_block(self) -> None:
        """Leave the block."""

    @abstractmethod
    def score(self, X: Rows, averaged: bool = False) -> np.ndarray:
        """Return f(x) for examples outside the stream.

        Parameters
        ----------
        X : ndarray or csr_array, shape (n, d)
        averaged : bool
            The mean of the hypotheses of all rounds, as they predicted, instead of the last one.

        Returns
        -------
        ndarray of float64, shape (n,), or (n_classes, n)
        """

    def _values_with(self, X: Rows) -> np.ndarray:
        """Return k(x_i, x) of the support examples with those of ``X``, shape (size, n)."""
        return self._pool.kernel.between(self.support_set, X.astype(self._pool.dtype, copy=False))


class BinaryHypothesis(BaseHypothesis):
    """One function f, whose sign predicts."""

    def next_act(self, y: np.ndarray, t: int, learner: Any, tie: str) -> Act | None:
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
        """Return how far a score may be off through rounding."""

    @abstractmethod
    def exact_score(self, t: int) -> float:
        """Return f(x_t) for round ``t`` of the block, free of rounding as far as can be."""
