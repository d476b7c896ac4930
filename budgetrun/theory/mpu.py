"""Panagiotakopoulos & Tsampouka (2010), "The margin Perceptron with unlearning", ICML: how many updates it makes."""

from __future__ import annotations

import math

THEOREM_1 = "Panagiotakopoulos & Tsampouka (2010), Theorem 1"
THEOREM_2 = "Panagiotakopoulos & Tsampouka (2010), Theorem 2"


def separable_updates(square: float, b: float, delta_b: float, margin: float) -> float:
    """Return (R^2 + 2 b) / gamma_d^2 (1 + (R^2 + 2 b) / (4 (delta_b - R^2))), eq. (10), for I = infinity.

    Parameters
    ----------
    square : float
        R^2, the largest k(x, x), the constant feature included.
    b, delta_b : float
        The threshold of learning, and how far above it that of unlearning is; delta_b > R^2.
    margin : float
        gamma_d, the largest margin; with one that is smaller the bound holds, too.
    """
    both = square + 2 * b
    return both / margin**2 * (1 + both / (4 * (delta_b - square)))


def updates(n_examples: int, limit: int, square: float, b: float, delta_b: float) -> float:
    """Return N I (2 b + delta_b) / (delta_b - R^2), eq. (22), for the largest dual variable I = ``limit``."""
    return n_examples * limit * (2 * b + delta_b) / (delta_b - square)


def thresholds(
    C: float, delta: float, delta_b: float, square: float, hard_margin: bool
) -> tuple[int | None, float, float]:
    """Return I (None for infinity), b and delta_b of a run, remark 4.

    Parameters
    ----------
    C, delta, delta_b : float
        The solver's: the penalty, the accuracy before running, and the gap in units of R^2.
    square : float
        R^2.
    hard_margin : bool
        Then b is what makes the guarantee (11) (1 + delta)^(-1/2).
    """
    gap = delta_b * square
    if hard_margin:
        return None, gap / (math.sqrt(1 + delta) - 1), gap
    limit = int(C * gap * (2 + delta) / delta) + 1
    return limit, limit / C, gap
