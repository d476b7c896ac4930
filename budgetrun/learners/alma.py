"""ALMA_2, the approximate maximal margin algorithm for the Euclidean norm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.engine.hypotheses import BinaryHypothesis, Expansion
from budgetrun.learners.ball import into_ball
from budgetrun.learners.base import BinaryLearner
from budgetrun.params import Positive, PositiveShare

if TYPE_CHECKING:
    from budgetrun.engine.pool import Pool


class Alma(BinaryLearner):
    """Learn every normalised example whose margin is not well above 0, in smaller and smaller steps; keep ||f|| <= 1.

    Parameters
    ----------
    alpha : float in (0, 1]
        1 - alpha is the share of the largest margin that is aimed at; 1 learns from mistakes only.
    B : float, > 0, or None
        The k-th update is made when the margin is at most (1 - alpha) B / sqrt(k); None for 1 / alpha.
    C : float, > 0
        Its step is C / sqrt(k); sqrt(2) by default.

    Attributes
    ----------
    k : int
        1 + the updates so far.

    Notes
    -----
    O(n d) a round for n support examples. An example with k(x, x) = 0 is its own normalised form.

    References
    ----------
    Gentile (2001), "A new approximate maximal margin classification algorithm", JMLR 2, p = 2.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from budgetrun.engine import run
    >>> from budgetrun.kernels import Gaussian
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> count = run(Alma(alpha=0.9), Gaussian(gamma=0.03), scale(X), 2 * y - 1)
    >>> count.mistakes, count.max_support
    (33, 53)
    """

    name = "alma"

    def __init__(self, *, alpha: PositiveShare = 0.9, B: Positive | None = None, C: Positive = 2**0.5) -> None:
        self.alpha = alpha
        self.B = 1 / alpha if B is None else B
        self.C = C
        self.k = 1

    def start(self, pool: Pool) -> Any:
        return Expansion(pool, norm=True)

    def margins(self, f: BinaryHypothesis, t: int) -> np.ndarray:
        # An example whose margin is the limit itself is learned as well.
        limit = (1 - self.alpha) * self.B / math.sqrt(self.k)
        return np.nextafter(limit * lengths(f.squares_from(t)), np.inf)

    def update(self, f: Any, y: int, score: float) -> None:
        f.add(y * self.C / math.sqrt(self.k) / length(f.square))
        into_ball(f, 1.0)
        self.k += 1


def length(square: float) -> float:
    """Return what an example with this k(x, x) is divided by."""
    return math.sqrt(square) if square > 0 else 1.0


def lengths(squares: np.ndarray) -> np.ndarray:
    """Return the same for several examples."""
    return np.sqrt(np.where(squares > 0, squares, 1.0))
