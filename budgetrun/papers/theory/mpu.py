"""Panagiotakopoulos & Tsampouka (2010), "The margin Perceptron with unlearning", ICML: how many updates it makes."""

from __future__ import annotations

import math
from typing import Any

from budgetrun.papers.theory.base import SolverBound, SolverRun


class HardMarginTheorem1(SolverBound):
    """Updates <= (R^2 + 2 b) / gamma^2 (1 + (R^2 + 2 b) / (4 (delta_b - R^2))), for a hard margin.

    gamma is the margin found, which is no larger than the largest margin.
    """

    name = "Panagiotakopoulos & Tsampouka (2010), Theorem 1"

    def is_about(self, solver: Any) -> bool:
        return bool(solver.name == "mpu" and solver.hard_margin)

    def value(self, run: SolverRun) -> tuple[float, str]:
        square, _, b, delta_b = _setting(run)
        # The objective is that of weights with margin 1.
        margin = 1 / math.sqrt(2 * run.objective)
        return separable_updates(square, b, delta_b, margin), f"the largest margin is >= {margin:.4g}, the one found"


class SoftMarginTheorem2(SolverBound):
    """Updates <= N I (2 b + delta_b) / (delta_b - R^2), for a soft margin."""

    name = "Panagiotakopoulos & Tsampouka (2010), Theorem 2"

    def is_about(self, solver: Any) -> bool:
        return bool(solver.name == "mpu" and not solver.hard_margin)

    def value(self, run: SolverRun) -> tuple[float, str]:
        square, limit, b, delta_b = _setting(run)
        assert limit is not None
        return updates(run.n_examples, limit, square, b, delta_b), "delta_b > R^2"


def _setting(run: SolverRun) -> tuple[float, int | None, float, float]:
    """Return R^2, I (None for infinity), b and delta_b of a run."""
    solver = run.solver
    square = run.largest_square + (solver.rho or 0.0) ** 2
    return square, *thresholds(solver.C, solver.delta, solver.delta_b, square, solver.hard_margin)


def separable_updates(square: float, b: float, delta_b: float, margin: float) -> float:
    """Return (R^2 + 2 b) / gamma_d^2 (1 + (R^2 + 2 b) / (4 (delta_b - R^2))), eq. (10), for I = infinity.

    Parameters
    ----------
    square : float, > 0
        R^2, the largest k(x, x), the constant feature included.
    b, delta_b : float, > 0
        The threshold of learning, and how far above it that of unlearning is; delta_b > R^2.
    margin : float, > 0
        gamma_d, the largest margin; the bound holds with a smaller one, too.
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
    C, delta, delta_b : float, > 0
        The solver's penalty, the accuracy guaranteed before running, and the gap in units of R^2.
    square : float, > 0
        R^2.
    hard_margin : bool
        Then b is chosen so that the guarantee (11) is (1 + delta)^(-1/2).
    """
    gap = delta_b * square
    if hard_margin:
        return None, gap / (math.sqrt(1 + delta) - 1), gap
    limit = int(C * gap * (2 + delta) / delta) + 1
    return limit, limit / C, gap
