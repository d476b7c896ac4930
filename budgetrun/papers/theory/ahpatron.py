"""Liao, Li, Liao, Hu & Dang (2024), "Ahpatron: a new budgeted online kernel learning machine ...", AAAI.

|N_T| counts the rounds with 0 < y f(x) < 1 - epsilon. The updates that are not mistakes are those and, where f(x) = 0
predicts +1, the rounds with f(x) = 0 and y = +1. The loss of the latter also exceeds epsilon, so the proofs hold with
both in N_T.
"""

import math
from typing import ClassVar

import numpy as np

from budgetrun.papers.theory.base import (
    Bound,
    Condition,
    Floats,
    Run,
    at_least,
    at_most,
    between,
    is_set_to,
    short_examples,
)


class PerceptronTheorem2(Bound):
    """M <= D + ||g|| sqrt(D) + ||g||^2, for k(x, x) <= 1; from Shalev-Shwartz (2007), quoted as Theorem 2."""

    name = "Liao et al. (2024), Theorem 2"
    learners = (("perceptron", None),)

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        return loss + norm * np.sqrt(loss) + norm**2


class RBPBound(Bound):
    """E[M] <= c D + c U B + c U sqrt(B) ln(c B^2 / 2) / 2, for ||g|| <= U <= (c - 1) / (c + 1) sqrt(B).

    From Cesa-Bianchi & Gentile (2006), quoted as eq. (2); c is their gamma > 1. For a given g the smallest allowed U
    and c are best. It also needs k(x, x) <= 1.
    """

    name = "Liao et al. (2024), eq. (2)"
    learners = (("rbp", None),)
    counts = "expected mistakes"

    def largest_norm(self, run: Run) -> float:
        return math.sqrt(run.learner.budget)

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        B = float(run.learner.budget)
        with np.errstate(divide="ignore", invalid="ignore"):
            c = (math.sqrt(B) + norm) / (math.sqrt(B) - norm)
            # Negative for B = 1 only, where the term would help.
            logarithm = np.maximum(0.0, np.log(c * B**2 / 2))
            bound: Floats = c * (loss + norm * B + norm * math.sqrt(B) * logarithm / 2)
        return bound


class AVPCorollary1(Bound):
    """M <= 2 D + ||g||^2 + (1 - 2 epsilon) |N_T|, for U = infinity, steps of 1, 1/2 < epsilon < 1 and k(x, x) <= 1."""

    name = "Liao et al. (2024), Corollary 1"
    learners = (("avp", None),)
    of_updates = True

    def conditions(self, run: Run) -> list[Condition]:
        return [
            is_set_to("U", None, run.learner.U, "U is infinite"),
            between("epsilon", 0.5, 1.0, run.learner.epsilon, "1/2 < epsilon < 1"),
            short_examples(run),
        ]

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        gain: float = (1 - 2 * run.learner.epsilon) * run.margin_updates
        return 2 * loss + norm**2 + gain


class AVPCorollary2(Bound):
    """M <= a + 9 U^2 + 3 U sqrt(a), a = max(0, D + 2 U^2 + Delta_T), for ||g|| <= U, lambda_t / 2 < epsilon < 1.

    Delta_T is the sum of lambda_t / 2 - epsilon over N_T, and k(x, x) <= 1.
    """

    name = "Liao et al. (2024), Corollary 2"
    learners = (("avp", None),)
    needs = ("margin_steps",)
    within = "U"

    def conditions(self, run: Run) -> list[Condition]:
        U = run.learner.U
        if U is None:
            return [Condition("U < infinity", "there is none", False)]
        # The first round is a mistake, and no step is larger than the step of that round.
        half = U / math.sqrt(U**2 + 1) / 2
        return [between("epsilon", half, 1.0, run.learner.epsilon, "lambda_t / 2 < epsilon < 1"), short_examples(run)]

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        U: float = run.learner.U
        a = np.maximum(0.0, loss + 2 * U**2 + run.fact("margin_steps"))
        return a + 9 * U**2 + 3 * U * np.sqrt(a)


class AhpatronBound(Bound):
    """Base of the bounds on Ahpatron, with r = U / sqrt(B) and ||g|| <= U."""

    learners = (("ahpatron", None),)
    within: ClassVar[str | None] = "U"
    of_updates = True

    @staticmethod
    def r(run: Run) -> float:
        return float(run.learner.U / math.sqrt(run.learner.budget))


class AhpatronLemma1(AhpatronBound):
    """The support set is halved at most max(2 (|M'_T| + |N_T|) / B - 1, 0) times; |M'_T| + |N_T| are all updates."""

    name = "Liao et al. (2024), Lemma 1"
    counts = "halvings"
    compares = False
    needs = ("halvings",)
    within = None

    def conditions(self, run: Run) -> list[Condition]:
        return []

    def count(self, run: Run) -> float:
        return run.fact("halvings")

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        return np.full(len(norm), max(2 * run.updates / run.learner.budget - 1, 0.0))


class AhpatronTheorem4(AhpatronBound):
    """M <= D + max(12 r D + over, 0.9 r D + ||g||^2 / (2 r) + under), r = U / sqrt(B), for ||g|| <= U and k(x, x) <= 1.

    over = (3 r - epsilon) / (1 - 3 r) |N_T| is for runs that halve, under = (s - epsilon) / (1 - s) |N_T|, s = r /
    sqrt(2), for those that do not. The theorem needs c_t = 0.6, lambda = sqrt(2) r, B >= 50, U <= sqrt(B) / 4 and 3 r <
    epsilon < 1.
    """

    name = "Liao et al. (2024), Theorem 4"

    def conditions(self, run: Run) -> list[Condition]:
        learner, r = run.learner, self.r(run)
        return [
            is_set_to("norm", "shrunk", learner.norm, "c_t = 0.6 (norm: shrunk)"),
            is_set_to("step", math.sqrt(2) * r, learner.step, "lambda = sqrt(2) U / sqrt(B)"),
            at_least("B", 50, learner.budget),
            at_most("U", math.sqrt(learner.budget) / 4, learner.U, "U <= sqrt(B) / 4"),
            between("epsilon", 3 * r, 1.0, learner.epsilon, "3 U / sqrt(B) < epsilon < 1"),
            short_examples(run),
        ]

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        epsilon: float = run.learner.epsilon
        r, margin = self.r(run), run.margin_updates
        s = r / math.sqrt(2)
        halving = 12 * r * loss + (3 * r - epsilon) / (1 - 3 * r) * margin
        not_halving = 0.9 * r * loss + norm**2 / (2 * r) + (s - epsilon) / (1 - s) * margin
        return loss + np.maximum(halving, not_halving)


class AhpatronTheorem6(AhpatronBound):
    """M <= D + c D / gamma + (1 - 2 zeta) ||g||^2 / (gamma r) + (c - epsilon) / (1 - c) |N_T|, for ||g|| <= U.

    r = U / sqrt(B), c = (1/4 + 9 zeta / 2) r; the sum of ||f - fbar|| over the halvings is zeta U times their number.
    The theorem needs c_t = ||f_t|| / U, lambda = r / 2, B >= 16, c <= 1 - gamma, c < epsilon < 1 and k(x, x) <= 1.

    Here gamma is 1 - c, for which the bound is smallest. The paper allows smaller values, but above zeta = 1/2 its last
    step is then wrong, because 1 - 2 zeta < 0 is divided. Without any halving, its case J = 0 has 1 in place of 1 - 2
    zeta, which is more, so zeta is 0 there. (Taken literally, for another zeta, the theorem is wrong; a test shows it.)
    """

    name = "Liao et al. (2024), Theorem 6"
    needs = ("halvings", "moved")

    def conditions(self, run: Run) -> list[Condition]:
        learner = run.learner
        found = f"zeta is {self.zeta(run):.3g} and epsilon {learner.epsilon:g}" if run.facts else ""
        return [
            is_set_to("norm", "kept", learner.norm, "c_t = ||f_t|| / U (norm: kept)"),
            is_set_to("step", self.r(run) / 2, learner.step, "lambda = U / (2 sqrt(B))"),
            at_least("B", 16, learner.budget),
            Condition("(1/4 + 9/2 zeta) U / sqrt(B) < epsilon < 1", found, self.c(run) < learner.epsilon < 1),
            short_examples(run),
        ]

    def zeta(self, run: Run) -> float:
        """Return the mean of ||f - fbar|| / U over the halvings, 0 without any."""
        halvings = run.fact("halvings")
        return run.fact("moved") / float(run.learner.U) / halvings if halvings else 0.0

    def c(self, run: Run) -> float:
        return (1 / 4 + 9 / 2 * self.zeta(run)) * self.r(run)

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        epsilon: float = run.learner.epsilon
        c, r, zeta, margin = self.c(run), self.r(run), self.zeta(run), run.margin_updates
        excess = c * loss + (1 - 2 * zeta) * norm**2 / r + (c - epsilon) * margin
        return loss + excess / (1 - c)
