"""Orabona, Keshet & Caputo (2009), "Bounded kernel-based online learning", JMLR 10."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from budgetrun.theory.base import Bound, Condition, Run, at_most, is_set_to, short_examples


def projectron_bound(
    norm: np.ndarray, loss: np.ndarray, reach: float, gain: float = 0.0, square: float = 1.0
) -> np.ndarray:
    """Return the right-hand side of Theorems 3, 4 and 6.

    Parameters
    ----------
    norm, loss : ndarray
        ||g||, below 1 / ``reach``, and D.
    reach : float, >= 0
        eta: how far a projection may move what it projects on a mistake.
    gain : float
        B, what margin updates take off; 0 without any, which is Theorem 3.
    square : float, >= 1
        The largest squared norm of what a mistake adds. With R^2 in place of the theorems' 1 the proof gives
        lambda^2 ||g||^2 + 2 lambda D >= M (2 lambda (1 - eta ||g||) - R^2) + B.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        a = 1 - reach * norm
        root = np.sqrt(np.maximum(0.0, square * loss / a - gain))
        value = square * norm**2 / a**2 + loss / a + norm / a * root
    return np.where(a > 0, value, np.inf)


def reach_of(learner: Any) -> float:
    """Return how far a projection may move an example on a mistake: eta, or its root if it bounds the square."""
    return math.sqrt(learner.most_lost)


class ProjectronTheorem3(Bound):
    """M <= ||g||^2 / a^2 + D / a + ||g|| / a sqrt(D / a), a = 1 - eta ||g||, for ||g|| < 1 / eta and k(x, x) <= 1.

    Where eta is compared with squared distances, its root stands in its place, here and in Theorems 4 and 6.
    """

    name = "Orabona et al. (2009), Theorem 3"
    learners = (("projectron", None),)

    def conditions(self, run: Run) -> list[Condition]:
        return [short_examples(run)]

    def largest_norm(self, run: Run) -> float:
        reach = self.reach(run)
        return 1 / reach if reach else math.inf

    def reach(self, run: Run) -> float:
        """Return eta as the proof needs it."""
        return reach_of(run.learner)

    def value(self, run: Run, norm: np.ndarray, loss: np.ndarray, shift: np.ndarray) -> np.ndarray:
        return projectron_bound(norm, loss, self.reach(run))


class ProjectronPlusPlusTheorem4(ProjectronTheorem3):
    """The same with max(0, D / a - B) under the root; B is the gain of the run's margin updates."""

    name = "Orabona et al. (2009), Theorem 4"
    learners = (("projectron++", None),)
    needs = ("gain",)
    anytime = False

    def value(self, run: Run, norm: np.ndarray, loss: np.ndarray, shift: np.ndarray) -> np.ndarray:
        assert run.facts is not None
        return projectron_bound(norm, loss, self.reach(run), run.facts["gain"])


class PassiveAggressiveRemark(ProjectronTheorem3):
    """M <= ||g||^2 + D + ||g|| sqrt(D), for C = 1 and k(x, x) <= 1.

    Theorem 4 without projections, which the text after its proof says covers PA-I; what margin updates take off is at
    least 0, and left out.
    """

    name = "Orabona et al. (2009), after Theorem 4"
    learners = (("passive_aggressive", None),)

    def conditions(self, run: Run) -> list[Condition]:
        C = run.learner.C  # type: ignore[attr-defined]
        return [is_set_to("C", 1.0, C), short_examples(run)]

    def reach(self, run: Run) -> float:
        return 0.0


class SeveralClassesTheorem6(ProjectronTheorem3):
    """Theorem 4 for several classes, if ||k((x, y), .)|| <= 1/2."""

    name = "Orabona et al. (2009), Theorem 6"
    learners = (("projectron++", None),)
    multiclass = True
    needs: ClassVar[tuple[str, ...]] = ("gain",)
    anytime = False

    def conditions(self, run: Run) -> list[Condition]:
        length = math.sqrt(run.largest_square)
        return [self._loss(run), at_most("the largest", 0.5, length, "||k((x, y), .)|| <= 1/2")]

    def value(self, run: Run, norm: np.ndarray, loss: np.ndarray, shift: np.ndarray) -> np.ndarray:
        gain = run.facts["gain"] if run.facts and self.needs else 0.0
        return projectron_bound(norm, loss, self.reach(run), gain, self.square(run))

    def square(self, run: Run) -> float:
        """Return what bounds ||k((x, y), .) - k((x, r), .)||^2."""
        return 1.0

    @staticmethod
    def _loss(run: Run) -> Condition:
        costs = getattr(run.learner, "costs", None)
        return Condition("every confusion costs 1", "a hierarchy makes some cheaper", costs is None)


class SeveralClassesTheorem6AnyLength(SeveralClassesTheorem6):
    """The same for k((x, y), .) of any length, with R^2 = 2 max k(x, x) in `projectron_bound`; not in the paper."""

    name = "Orabona et al. (2009), Theorem 6 with R^2"

    def conditions(self, run: Run) -> list[Condition]:
        return [self._loss(run)]

    def square(self, run: Run) -> float:
        return max(1.0, 2 * run.largest_square)


class SeveralClassesMistakesOnly(SeveralClassesTheorem6):
    """Theorem 6 for the Projectron of several classes: it learns from mistakes alone, so that nothing is gained."""

    learners = (("projectron", None),)
    needs = ()
    anytime = True


class SeveralClassesMistakesOnlyAnyLength(SeveralClassesTheorem6AnyLength):
    """The same with R^2."""

    learners = (("projectron", None),)
    needs = ()
    anytime = True


def alma_bound(norm: np.ndarray, loss: np.ndarray, lost: float, C: float, *, printed: bool) -> np.ndarray:
    """Return the right-hand side of Theorem 7.

    Parameters
    ----------
    norm, loss : ndarray
        Of a competitor g. The theorem's own is g / ||g||, at the margin gamma = 1 / ||g||: its loss there is D gamma.
    lost : float, >= 0, below gamma
        eta: the most that a projection loses of a normalised example.
    C : float
    printed : bool
        rho as printed, 1 / (C^2 (gamma - eta)^2). In Gentile's proof it is the root of that: with m updates it gets to
        sqrt(m + 1) >= C ((gamma - eta) m - D_gamma), which m - D_gamma / (gamma - eta) <= rho sqrt(m + 1) is, and the
        right-hand side solves. As C (gamma - eta) <= 1, the square too many only makes the bound larger.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        gamma = 1 / norm
        room = gamma - lost
        rho = 1 / (C * room) ** (2 if printed else 1)
        errs = loss * gamma / room
        value = errs + rho**2 / 2 + np.sqrt(rho**4 / 4 + rho**2 * errs + rho**2)
    return np.where((norm > 0) & (room > 0), value, np.inf)


class ProjectedAlmaTheorem7(Bound):
    """M <= D_gamma / (gamma - eta) + rho^2 / 2 + sqrt(rho^4 / 4 + rho^2 D_gamma / (gamma - eta) + rho^2), as printed.

    gamma > eta is the margin at which g, ||g|| <= 1, has the loss D_gamma; rho = 1 / (C^2 (gamma - eta)^2). What the
    text's test compares with eta is what a projection loses of the hypothesis, which includes the step. The proof needs
    what it loses of the example; for the text's test the theorem is wrong (a counterexample is among the tests).
    """

    name = "Orabona et al. (2009), Theorem 7"
    learners = (("projected_alma", None),)
    normalised = True

    def conditions(self, run: Run) -> list[Condition]:
        delta = run.learner.delta  # type: ignore[attr-defined]
        return [is_set_to("delta", "example", delta, "delta = example, as the proof needs it")]

    def largest_norm(self, run: Run) -> float:
        lost = self.lost(run)
        return 1 / lost if lost else math.inf

    def lost(self, run: Run) -> float:
        """Return eta."""
        return reach_of(run.learner)

    def value(self, run: Run, norm: np.ndarray, loss: np.ndarray, shift: np.ndarray) -> np.ndarray:
        C = run.learner.C  # type: ignore[attr-defined]
        return alma_bound(norm, loss, self.lost(run), C, printed=True)


class ProjectedAlmaTheorem7Proved(ProjectedAlmaTheorem7):
    """The same as the proof has it: rho without its square, and eta the most that was lost of an example in the run.

    It holds for the text's test, too.
    """

    name = "Orabona et al. (2009), Theorem 7 as proved"
    needs = ("lost",)
    anytime = False

    def conditions(self, run: Run) -> list[Condition]:
        return []

    def lost(self, run: Run) -> float:
        assert run.facts is not None
        return run.facts["lost"]

    def value(self, run: Run, norm: np.ndarray, loss: np.ndarray, shift: np.ndarray) -> np.ndarray:
        C = run.learner.C  # type: ignore[attr-defined]
        return alma_bound(norm, loss, self.lost(run), C, printed=False)
