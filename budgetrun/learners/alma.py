"""ALMA_2, the approximate maximal margin algorithm for the Euclidean norm."""

import math
from typing import Any

import numpy as np

from budgetrun.base.params import Positive, PositiveShare
from budgetrun.engine.hypotheses import Hypothesis
from budgetrun.learners.base import BinaryLearner
from budgetrun.learners.steps import into_ball


class ALMA(BinaryLearner):
    """Add every normalised example whose margin is small, with decreasing steps, and keep ||f|| <= 1.

    Parameters:
    alpha : float in (0, 1]
        The learner aims at a fraction 1 - alpha of the largest possible margin; with 1 it learns from mistakes only.
    B : float, > 0, or None
        The k-th update happens at a margin of at most (1 - alpha) B / sqrt(k); None means 1 / alpha.
    C : float, > 0
        The step of the k-th update is C / sqrt(k); sqrt(2) by default.

    Attributes:
    k : int
        1 + the number of updates so far.

    Notes: O(n d) per round for n support examples. An example with k(x, x) = 0 is not normalised.

    References: Gentile (2001), "A new approximate maximal margin classification algorithm", JMLR 2, p = 2.

    >>> breast_cancer(ALMA(alpha=0.9), gamma=0.03).mistakes
    33
    """

    name = "alma"
    title = "ALMA_2"
    tracks = {"norm": True}

    def __init__(self, *, alpha: PositiveShare = 0.9, B: Positive | None = None, C: Positive = 2**0.5) -> None:
        self.alpha = alpha
        self.B = 1 / alpha if B is None else B
        self.C = C
        self.k = 1

    def margins(self, f: Hypothesis, t: int) -> np.ndarray:
        # A margin equal to the limit is an update, too.
        limit = (1 - self.alpha) * self.B / math.sqrt(self.k)
        return np.nextafter(limit * lengths(f.squares_from(t)), np.inf)

    def update(self, f: Any, y: int, score: float) -> None:
        f.add(y * self.C / math.sqrt(self.k) / length(f.square))
        into_ball(f, 1.0)
        self.k += 1


def length(square: float) -> float:
    """Return the norm that an example with this k(x, x) is divided by."""
    return math.sqrt(square) if square > 0 else 1.0


def lengths(squares: np.ndarray) -> np.ndarray:
    """Return `length` for several examples."""
    return np.sqrt(np.where(squares > 0, squares, 1.0))


# As files of version 0.2.0 name it.
Alma = ALMA
