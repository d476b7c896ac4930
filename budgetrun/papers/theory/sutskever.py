"""Sutskever (2009), "A simpler unified analysis of budget perceptrons", ICML."""

import math

from budgetrun.papers.theory.base import Bound, Condition, Floats, Run, at_least, is_set_to, short_examples


class ModifiedRBPTheorem1(Bound):
    """3/4 E[M] <= D + B / 2 + 6 S sqrt(B), for ||g_t|| <= sqrt(B) / 8, eta = 1/16 and k(x, x) <= 1."""

    name = "Sutskever (2009), Theorem 1"
    learners = (("modified_rbp", None),)
    counts = "expected mistakes"
    within = "radius"
    shifting = True

    def conditions(self, run: Run) -> list[Condition]:
        learner = run.learner
        return [
            is_set_to("step", 1 / 16, learner.step, "step = 1/16"),
            is_set_to("radius", math.sqrt(learner.budget) / 8, learner.radius, "radius = sqrt(B) / 8"),
            short_examples(run),
        ]

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        B: int = run.learner.budget
        return (loss + B / 2 + 6 * shift * math.sqrt(B)) / 0.75


class SimplifiedForgetronTheorem2(Bound):
    """M / 2 <= D + 16 U^2 + 48 U S, for B >= 500, ||g_t|| <= U / 2, eta = 1/32 and k(x, x) <= 1.

    U^2 = B / (32 log2(8 B)) and lambda = 1 / U^2.
    """

    name = "Sutskever (2009), Theorem 2"
    learners = (("forgetron", "simplified"),)
    shifting = True

    def conditions(self, run: Run) -> list[Condition]:
        learner, U = run.learner, self._diameter(run)
        return [
            at_least("B", 500, learner.budget),
            is_set_to("step", 1 / 32, learner.step, "step = 1/32"),
            is_set_to("radius", U / 2, learner.radius, "radius = U / 2"),
            is_set_to("regulariser", 1 / U**2, learner.regulariser, "regulariser = 1 / U^2"),
            short_examples(run),
        ]

    def largest_norm(self, run: Run) -> float:
        return self._diameter(run) / 2

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        U = self._diameter(run)
        return 2 * (loss + 16 * U**2 + 48 * U * shift)

    @staticmethod
    def _diameter(run: Run) -> float:
        """Return U, eq. (12)."""
        B: int = run.learner.budget
        return math.sqrt(B / (32 * math.log2(8 * B)))
