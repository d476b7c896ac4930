"""Dekel, Shalev-Shwartz & Singer (2008), "The Forgetron: a kernel-based Perceptron on a budget", SIAM J. Comput."""

from typing import ClassVar

from budgetrun.papers.theory.base import Bound, Condition, Floats, Names, Run, at_least, short_examples


class PerceptronTheorem1(Bound):
    """M <= ||g||^2 + 2 D, for k(x, x) <= 1.

    Liao et al. (2024) quote it as their Theorem 1.
    """

    name = "Dekel et al. (2008), Theorem 1"
    learners = (("perceptron", None),)

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        return norm**2 + 2 * loss


class RemoveOldestCorollary1(Bound):
    """M <= ||g||^2 + 2 D + sum of Psi(1, mu_t) over the removals of the run, for k(x, x) <= 1."""

    name = "Dekel et al. (2008), Corollary 1"
    learners = (("remove_oldest", None),)
    needs = ("damage",)

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        return norm**2 + 2 * loss + run.fact("damage")


class ShrinkingPerceptronSection4(Bound):
    """M <= ||g||^2 (1 + sum of log(1 / phi_t)) + 2 D, for k(x, x) <= 1.

    The bound that follows from Corollary 2 for U = infinity, where Phi_t is phi_t: so it holds for any g.
    """

    name = "Dekel et al. (2008), section 4"
    learners = (("shrinking_perceptron", None),)
    needs = ("shrinking",)

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        return norm**2 * (1 + run.fact("shrinking")) + 2 * loss


class ForgetronLemma6(Bound):
    """M <= ||g||^2 (1 + sum of log(1 / Phi_t)) + 2 D + sum of Psi_t, whatever the budget, for k(x, x) <= 1.

    The sums are the run's own. The lemma is stated for any g; but Phi_t is 1 for a step that ends outside the ball of
    radius U, and Lemma 3 allows that only for ||g|| <= U.
    """

    name = "Dekel et al. (2008), Lemma 6"
    learners: ClassVar[Names] = (("forgetron", "basic"), ("forgetron", "self_tuned"), ("forgetron", "greedy"))
    needs = ("damage", "shrinking")
    within = "U"

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        return norm**2 * (1 + run.fact("shrinking")) + 2 * loss + run.fact("damage")


class ForgetronTheorem2(Bound):
    """M <= 2 ||g||^2 + 4 D, for B >= 83, ||g|| <= U of eq. (26) and k(x, x) <= 1.

    With ``cap: when_full`` Lemmas 7 and 8 hold unchanged, and with ``logarithm: base2`` they hold for the smaller U.
    """

    name = "Dekel et al. (2008), Theorem 2"
    learners: ClassVar[Names] = (("forgetron", "basic"),)
    within = "U"

    def conditions(self, run: Run) -> list[Condition]:
        return [at_least("B", 83, run.learner.budget), short_examples(run)]

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        return 2 * norm**2 + 4 * loss


class ForgetronTheorem3(ForgetronTheorem2):
    """The same for the self-tuned Forgetron, and, by the end of section 7, for the greedy one."""

    name = "Dekel et al. (2008), Theorem 3"
    learners = (("forgetron", "self_tuned"), ("forgetron", "greedy"))
