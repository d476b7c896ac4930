"""Panagiotakopoulos & Tsampouka (2010), "The margin Perceptron with unlearning", ICML: how many updates it makes."""

import math
from typing import Any, ClassVar

import numpy as np

from budgetrun.papers.theory.base import Bound, Condition, Floats, Run

NO_STEPS = "needs the columns steps and objective; run the sweep again"


class UpdatesOfMPU(Bound):
    """Base of the bounds on the updates of MPU, for data with R^2, the largest k(x, x) with the constant feature."""

    hard_margin: ClassVar[bool]
    learners = ()
    counts = "updates"
    compares = False
    of_updates = True

    def is_about(self, algorithm: Any) -> bool:
        return bool(algorithm.name == "mpu" and algorithm.hard_margin == self.hard_margin)

    def why_void(self, run: Run) -> str:
        return NO_STEPS if math.isnan(run.updates) else super().why_void(run)

    def count(self, run: Run) -> float:
        return run.updates

    @staticmethod
    def squares(run: Run) -> tuple[float, float]:
        """Return R^2 and delta_b of a run."""
        square = run.largest_square + (run.learner.rho or 0.0) ** 2
        return square, run.learner.delta_b * square


class HardMarginTheorem1(UpdatesOfMPU):
    """Updates <= (R^2 + 2 b) / gamma^2 (1 + (R^2 + 2 b) / (4 (delta_b - R^2))), eq. (10), for a hard margin.

    gamma is the margin found, which is no larger than the largest margin.
    """

    name = "Panagiotakopoulos & Tsampouka (2010), Theorem 1"
    hard_margin = True

    def conditions(self, run: Run) -> list[Condition]:
        return [Condition(f"the largest margin is >= {self.margin(run):.4g}, the one found", "", True)]

    @staticmethod
    def margin(run: Run) -> float:
        """Return gamma: the objective is that of weights with margin 1."""
        return 1 / math.sqrt(2 * run.objective)

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        square, delta_b = self.squares(run)
        # So that the guarantee (11) is (1 + delta)^(-1/2).
        b = delta_b / (math.sqrt(1 + run.learner.delta) - 1)
        both = square + 2 * b
        return np.full(len(norm), both / self.margin(run) ** 2 * (1 + both / (4 * (delta_b - square))))


class SoftMarginTheorem2(UpdatesOfMPU):
    """Updates <= N I (2 b + delta_b) / (delta_b - R^2), eq. (22), for a soft margin."""

    name = "Panagiotakopoulos & Tsampouka (2010), Theorem 2"
    hard_margin = False

    def conditions(self, run: Run) -> list[Condition]:
        return [Condition("delta_b > R^2", "", True)]

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        square, delta_b = self.squares(run)
        # I and b, remark 4.
        limit = int(run.learner.C * delta_b * (2 + run.learner.delta) / run.learner.delta) + 1
        b = limit / run.learner.C
        return np.full(len(norm), run.n_examples * limit * (2 * b + delta_b) / (delta_b - square))
