"""Dekel, Shalev-Shwartz & Singer (2008), "The Forgetron: a kernel-based Perceptron on a budget", SIAM J. Comput."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from budgetrun.theory.base import Bound, Condition, Run, at_least, short_examples


class PerceptronTheorem1(Bound):
    """M <= ||g||^2 + 2 D, for k(x, x) <= 1.

    Quoted as Theorem 1 by Liao et al. (2024), too.
    """

    name = "Dekel et al. (2008), Theorem 1"
    learners = (("perceptron", None),)

    def conditions(self, run: Run) -> list[Condition]:
        return [short_examples(run)]

    def value(self, run: Run, norm: np.ndarray, loss: np.ndarray, shift: np.ndarray) -> np.ndarray:
        return norm**2 + 2 * loss


class ForgetronLemma6(Bound):
    """M <= ||g||^2 (1 + sum of log(1 / Phi_t)) + 2 D + sum of Psi_t, whatever the budget.

    The sums are the run's own. The lemma says that it holds for any g; but Phi_t is 1 for a step that ends outside the
    ball of radius U, which Lemma 3 allows for ||g|| <= U only.
    """

    name = "Dekel et al. (2008), Lemma 6"
    learners = (("forgetron", "basic"), ("forgetron", "self_tuned"), ("forgetron", "greedy"))
    needs = ("damage", "shrinking")
    anytime = False

    def conditions(self, run: Run) -> list[Condition]:
        return [short_examples(run)]

    def largest_norm(self, run: Run) -> float:
        return run.learner.U  # type: ignore[attr-defined]

    def value(self, run: Run, norm: np.ndarray, loss: np.ndarray, shift: np.ndarray) -> np.ndarray:
        assert run.facts is not None
        return norm**2 * (1 + run.facts["shrinking"]) + 2 * loss + run.facts["damage"]


class ForgetronTheorem2(Bound):
    """M <= 2 ||g||^2 + 4 D, for B >= 83, ||g|| <= U of eq. (26) and k(x, x) <= 1.

    With ``cap: when_full`` Lemmas 7 and 8 hold as they stand, and with ``logarithm: base2`` for the smaller U.
    """

    name = "Dekel et al. (2008), Theorem 2"
    learners: ClassVar[tuple[tuple[str, str | None], ...]] = (("forgetron", "basic"),)

    def conditions(self, run: Run) -> list[Condition]:
        return [at_least("B", 83, run.learner.budget or 0), short_examples(run)]

    def largest_norm(self, run: Run) -> float:
        return run.learner.U  # type: ignore[attr-defined]

    def value(self, run: Run, norm: np.ndarray, loss: np.ndarray, shift: np.ndarray) -> np.ndarray:
        return 2 * norm**2 + 4 * loss


class ForgetronTheorem3(ForgetronTheorem2):
    """The same for the self-tuned Forgetron, and by the end of section 7 for the greedy one."""

    name = "Dekel et al. (2008), Theorem 3"
    learners = (("forgetron", "self_tuned"), ("forgetron", "greedy"))
