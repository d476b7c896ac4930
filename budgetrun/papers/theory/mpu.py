"""Panagiotakopoulos & Tsampouka (2010), "The margin Perceptron with unlearning", ICML: how many updates it makes."""

import math
from typing import Any

from budgetrun.papers.theory.base import SolverBound, SolverRun


class HardMarginTheorem1(SolverBound):
    """Updates <= (R^2 + 2 b) / gamma^2 (1 + (R^2 + 2 b) / (4 (delta_b - R^2))), eq. (10), for a hard margin.

    gamma is the margin found, which is no larger than the largest margin.
    """

    name = "Panagiotakopoulos & Tsampouka (2010), Theorem 1"

    def is_about(self, solver: Any) -> bool:
        return bool(solver.name == "mpu" and solver.hard_margin)

    def value(self, run: SolverRun) -> tuple[float, str]:
        square, delta_b = _squares(run)
        # So that the guarantee (11) is (1 + delta)^(-1/2).
        b = delta_b / (math.sqrt(1 + run.solver.delta) - 1)
        # The objective is that of weights with margin 1.
        margin, both = 1 / math.sqrt(2 * run.objective), square + 2 * b
        value = both / margin**2 * (1 + both / (4 * (delta_b - square)))
        return value, f"the largest margin is >= {margin:.4g}, the one found"


class SoftMarginTheorem2(SolverBound):
    """Updates <= N I (2 b + delta_b) / (delta_b - R^2), eq. (22), for a soft margin."""

    name = "Panagiotakopoulos & Tsampouka (2010), Theorem 2"

    def is_about(self, solver: Any) -> bool:
        return bool(solver.name == "mpu" and not solver.hard_margin)

    def value(self, run: SolverRun) -> tuple[float, str]:
        square, delta_b = _squares(run)
        # I and b, remark 4.
        limit = int(run.solver.C * delta_b * (2 + run.solver.delta) / run.solver.delta) + 1
        b = limit / run.solver.C
        return run.n_examples * limit * (2 * b + delta_b) / (delta_b - square), "delta_b > R^2"


def _squares(run: SolverRun) -> tuple[float, float]:
    """Return R^2, the largest k(x, x) with the constant feature, and delta_b of a run."""
    square = run.largest_square + (run.solver.rho or 0.0) ** 2
    return square, run.solver.delta_b * square
