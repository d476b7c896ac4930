"""Orabona, Keshet & Caputo (2009), "Bounded kernel-based online learning", JMLR 10."""

import math
from typing import ClassVar

import numpy as np

from budgetrun.papers.theory.base import Bound, Condition, Floats, Run, at_most, is_set_to, short_examples


class OfProjections(Bound):
    """Base of the bounds for competitors with ||g|| < 1 / eta."""

    def reach(self, run: Run) -> float:
        """Return how far a projection may move an example: eta, or its root if eta is compared with the square."""
        return math.sqrt(run.learner.most_lost)

    def largest_norm(self, run: Run) -> float:
        reach = self.reach(run)
        return 1 / reach if reach else math.inf


class ProjectronTheorem3(OfProjections):
    """M <= ||g||^2 / a^2 + D / a + ||g|| / a sqrt(D / a), a = 1 - eta ||g||, for ||g|| < 1 / eta and k(x, x) <= 1.

    Where eta is compared with squared distances, its root takes its place, here and in Theorems 4 and 6.
    """

    name = "Orabona et al. (2009), Theorem 3"
    learners = (("projectron", None),)

    def square(self, run: Run) -> float:
        """Return R^2, an upper bound on the squared norm of what a mistake adds, at least the theorems' 1.

        With it, the proof gives lambda^2 ||g||^2 + 2 lambda D >= M (2 lambda (1 - eta ||g||) - R^2) + B.
        """
        return 1.0

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        # The theorems' B, by which margin updates lower the bound.
        gain = run.fact("gain") if self.needs else 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            a = 1 - self.reach(run) * norm
            root = np.sqrt(np.maximum(0.0, self.square(run) * loss / a - gain))
            value = self.square(run) * norm**2 / a**2 + loss / a + norm / a * root
        return np.where(a > 0, value, np.inf)


class ProjectronPlusPlusTheorem4(ProjectronTheorem3):
    """The same with max(0, D / a - gain) under the root, for the gain of the run's margin updates."""

    name = "Orabona et al. (2009), Theorem 4"
    learners = (("projectron++", None),)
    needs = ("gain",)


class PassiveAggressiveRemark(ProjectronTheorem3):
    """M <= ||g||^2 + D + ||g|| sqrt(D), for C = 1 and k(x, x) <= 1.

    Theorem 4 without projections, which covers PA-I according to the text after its proof. The gain of margin updates
    is at least 0, and left out.
    """

    name = "Orabona et al. (2009), after Theorem 4"
    learners = (("passive_aggressive", None),)

    def conditions(self, run: Run) -> list[Condition]:
        return [is_set_to("C", 1.0, run.learner.C, "C = 1"), short_examples(run)]

    def reach(self, run: Run) -> float:
        return 0.0


class SeveralClassesTheorem6(ProjectronTheorem3):
    """Theorem 4 for several classes, for ||k((x, y), .)|| <= 1/2."""

    name = "Orabona et al. (2009), Theorem 6"
    learners = (("projectron++", None),)
    task = "multiclass"
    needs: ClassVar[tuple[str, ...]] = ("gain",)

    def conditions(self, run: Run) -> list[Condition]:
        length = math.sqrt(run.largest_square)
        return [self._equal_costs(run), at_most("the largest", 0.5, length, "||k((x, y), .)|| <= 1/2")]

    @staticmethod
    def _equal_costs(run: Run) -> Condition:
        costs = getattr(run.learner, "costs", None)
        return Condition("every confusion costs 1", "a hierarchy makes some cheaper", costs is None)


class SeveralClassesTheorem6AnyLength(SeveralClassesTheorem6):
    """The same for k((x, y), .) of any length, with R^2 = 2 max k(x, x) in the proof; not in the paper."""

    name = "Orabona et al. (2009), Theorem 6 with R^2"

    def conditions(self, run: Run) -> list[Condition]:
        return [self._equal_costs(run)]

    def square(self, run: Run) -> float:
        # That of k((x, y), .) - k((x, r), .).
        return max(1.0, 2 * run.largest_square)


class SeveralClassesMistakesOnly(SeveralClassesTheorem6):
    """Theorem 6 for the Projectron of several classes, which updates on mistakes only, so the gain is 0."""

    learners = (("projectron", None),)
    needs = ()


class SeveralClassesMistakesOnlyAnyLength(SeveralClassesTheorem6AnyLength):
    """The same with R^2."""

    learners = (("projectron", None),)
    needs = ()


def alma_bound(norm: Floats, loss: Floats, lost: float, C: float, *, published: bool) -> Floats:
    """Return the right-hand side of Theorem 7, for the norm and the loss of a competitor g.

    The theorem has g / ||g|| at the margin gamma = 1 / ||g||, whose loss is D gamma. ``lost``, below gamma, is eta: the
    most that a projection loses of a normalised example. rho as ``published`` is 1 / (C^2 (gamma - eta)^2); in
    Gentile's proof it is the root of that: m updates imply sqrt(m + 1) >= C ((gamma - eta) m - D_gamma), that is, m -
    D_gamma / (gamma - eta) <= rho sqrt(m + 1), which the right-hand side solves for m. The extra square only makes the
    bound larger, because C (gamma - eta) <= 1.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        gamma = 1 / norm
        room = gamma - lost
        rho = 1 / (C * room) ** (2 if published else 1)
        errs = loss * gamma / room
        value = errs + rho**2 / 2 + np.sqrt(rho**4 / 4 + rho**2 * errs + rho**2)
    return np.where((norm > 0) & (room > 0), value, np.inf)


class ProjectedAlmaTheorem7(OfProjections):
    """M <= D_gamma / (gamma - eta) + rho^2 / 2 + sqrt(rho^4 / 4 + rho^2 D_gamma / (gamma - eta) + rho^2).

    As published. gamma > eta is the margin at which g, ||g|| <= 1, has the loss D_gamma; rho = 1 / (C^2 (gamma -
    eta)^2). The test in the paper's text compares eta with what a projection loses of the hypothesis, which includes
    the step. The proof needs what it loses of the example; for the text's test the theorem is wrong.
    """

    name = "Orabona et al. (2009), Theorem 7"
    learners = (("projected_alma", None),)
    normalised = True

    def conditions(self, run: Run) -> list[Condition]:
        return [is_set_to("delta", "example", run.learner.delta, "delta = example, as the proof needs it")]

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        return alma_bound(norm, loss, self.reach(run), run.learner.C, published=True)


class ProjectedAlmaTheorem7Proved(ProjectedAlmaTheorem7):
    """The same as proved, for the text's test, too: rho without its square, eta the largest loss of an example."""

    name = "Orabona et al. (2009), Theorem 7 as proved"
    needs = ("lost",)

    def conditions(self, run: Run) -> list[Condition]:
        return []

    def reach(self, run: Run) -> float:
        return run.fact("lost")

    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        return alma_bound(norm, loss, self.reach(run), run.learner.C, published=False)
