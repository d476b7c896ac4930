"""What every mistake bound is: conditions, a right-hand side, and the best competitor for it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

if TYPE_CHECKING:
    from budgetrun.learners.base import Learner
    from budgetrun.theory.competitors import Competitor, Competitors

Counted = Literal["mistakes", "expected mistakes", "halvings", "updates"]


@dataclass(frozen=True)
class Run:
    """What bounds need to know of a run.

    Attributes
    ----------
    learner : Learner
        With the run's parameters; its state does not matter.
    mistakes : float
        M; of several runs that differ by their seeds, the mean.
    updates : float
        Rounds on which the learner acted, mistakes among them.
    largest_square : float
        The largest k(x, x) of its stream.
    facts : mapping of str to float, or None
        `Learner.facts` after the last round; None for a run of before they were recorded.
    """

    learner: Learner
    mistakes: float
    updates: float
    largest_square: float
    facts: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Condition:
    """Something a theorem asks for, and what there is.

    Attributes
    ----------
    text : str
        As the theorem has it: ``B >= 83``.
    found : str
        ``B is 50``.
    holds : bool
    """

    text: str
    found: str
    holds: bool

    def __str__(self) -> str:
        return f"{self.text}, but {self.found}"


@dataclass(frozen=True)
class Verdict:
    """Both sides of a bound.

    Attributes
    ----------
    theorem : str
        `Bound.name`.
    counts : {"mistakes", "expected mistakes", "halvings", "updates"}
        What is on the left.
    count : float
        How many there were.
    value : float
        The right-hand side, the smallest over the competitors; nan where the bound is void.
    conditions : str
        What was asked for, all of it met.
    reason : str
        Why the bound is void: the conditions that do not hold; empty where it applies.
    competitor : Competitor or None
        The one whose right-hand side it is, scaled to the norm that is best; None where the bound is void.
    norm, loss, shift : float
        ||g||, the sum of g's hinge losses, and how far it moved (0 if it did not).
    lower : float
        The least that the count may be, where it is an estimate: the lower end of its confidence interval.
    """

    theorem: str
    counts: Counted
    count: float
    value: float = math.nan
    conditions: str = ""
    reason: str = ""
    competitor: Competitor | None = None
    norm: float = math.nan
    loss: float = math.nan
    shift: float = math.nan
    lower: float = math.nan

    @property
    def applies(self) -> bool:
        """Whether all conditions hold."""
        return not self.reason

    @property
    def violated(self) -> bool:
        """Whether the left-hand side is above the right one, rounding aside."""
        least = self.count if math.isnan(self.lower) else self.lower
        return self.applies and least > self.value + 1e-6 * (1 + abs(self.value))

    @property
    def ratio(self) -> float:
        """The count as a share of the bound: 1 is tight, above 1 is violated; nan where the bound is void."""
        if self.value <= 0:
            return 1.0 if self.count == self.value else math.inf
        return self.count / self.value


class Bound(ABC):
    """A bound of a paper: how often a learner errs at most, in terms of any competitor g.

    A subclass is found by `budgetrun.theory.registry`; its docstring's first line is the bound.

    A competitor is given by its norm, by D, the sum of its hinge losses max(0, 1 - y g(x)) over the stream, and, if it
    may change in mid-stream, by S, how far it moved.

    Attributes
    ----------
    name : str
        Paper and theorem, as tables show it.
    learners : tuple of (str, str or None)
        Names and variants of the learners that it is about.
    multiclass : bool
        Of several classes; the margin of a competitor is then g_y(x) - max over r != y of g_r(x).
    counts : {"mistakes", "expected mistakes", "halvings"}
        What is bounded.
    needs : tuple of str
        The facts of a run that it cannot do without.
    compares : bool
        The right-hand side has a competitor in it.
    shifting : bool
        Competitors may change in mid-stream.
    normalised : bool
        It is about x / sqrt(k(x, x)) in place of x.
    anytime : bool
        Of a run it takes no more than the parameters, so that it is known after each round.
    """

    name: ClassVar[str]
    learners: ClassVar[tuple[tuple[str, str | None], ...]]
    multiclass: ClassVar[bool] = False
    counts: ClassVar[Counted] = "mistakes"
    needs: ClassVar[tuple[str, ...]] = ()
    compares: ClassVar[bool] = True
    shifting: ClassVar[bool] = False
    normalised: ClassVar[bool] = False
    anytime: ClassVar[bool] = True

    def is_about(self, learner: Learner) -> bool:
        """Whether it is a theorem on this learner, whatever its parameters."""
        return learner.multiclass == self.multiclass and (learner.name, learner.variant) in self.learners

    @abstractmethod
    def conditions(self, run: Run) -> list[Condition]:
        """Return what the theorem asks for, but for what it asks of the competitor."""

    def largest_norm(self, run: Run) -> float:
        """Return the norm that a competitor may have at most; infinity if it may have any."""
        return math.inf

    def count(self, run: Run) -> float:
        """Return the left-hand side."""
        return run.mistakes

    @abstractmethod
    def value(self, run: Run, norm: np.ndarray, loss: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """Return the right-hand side for competitors of these norms, losses and shifts; infinity for no bound."""

    # -- what is the same for all --------------------------------------------------------------------------------

    def why_void(self, run: Run) -> str:
        """Return the conditions that do not hold, or which facts are missing; empty if the bound applies."""
        if self._lacks_facts(run):
            return MISSING_FACTS
        broken = [str(c) for c in self.conditions(run) if not c.holds]
        return "; ".join(broken)

    def check(self, run: Run, competitors: Competitors | None) -> Verdict:
        """Return both sides, the right one for the best of the competitors; not all bounds need any."""
        reason = self.why_void(run)
        if reason:
            count = math.nan if self._lacks_facts(run) and self.counts == "halvings" else self.count(run)
            return Verdict(self.name, self.counts, count, reason=reason)
        asked = "; ".join([c.text for c in self.conditions(run)] + self._asked_of_competitor(run))
        if not self.compares:
            none = np.zeros(1)
            value = float(self.value(run, none, none, none)[0])
            return Verdict(self.name, self.counts, self.count(run), value, asked)
        assert competitors is not None
        value, best, norm = self.best(run, competitors)
        loss = float(best.losses(np.array([norm]), self.normalised)[0])
        shift = float(best.shift_at(norm))
        return Verdict(self.name, self.counts, self.count(run), value, asked, "", best, norm, loss, shift)

    def best(self, run: Run, competitors: Competitors) -> tuple[float, Competitor, float]:
        """Return the smallest right-hand side, the competitor that it is of, and the norm to scale that one to."""
        largest = self.largest_norm(run)
        found = []
        for competitor in competitors.all if self.shifting else competitors.fixed:
            norms = competitor.grid(largest)
            values = self._values(run, competitor, norms)
            at = int(np.argmin(values))
            # Once more between the neighbours of the best.
            finer = np.linspace(norms[max(at - 1, 0)], norms[min(at + 1, len(norms) - 1)], len(norms))
            again = self._values(run, competitor, finer)
            choices = [(float(values[at]), float(norms[at])), (float(again.min()), float(finer[again.argmin()]))]
            value, norm = min(choices)
            found.append((value, competitor, norm))
        return min(found, key=lambda item: item[0])

    def over_rounds(self, run: Run, competitors: Competitors, rounds: np.ndarray) -> np.ndarray:
        """Return the smallest right-hand sides after so many rounds, of the shape of ``rounds``; for `anytime` bounds.

        Norms are from a coarser grid than for `check`.
        """
        found = np.full(len(rounds), np.inf)
        for competitor in competitors.all if self.shifting else competitors.fixed:
            for norm in competitor.grid(self.largest_norm(run))[::-2]:
                losses = competitor.losses_so_far(norm, rounds, self.normalised)
                shifts = np.full(len(rounds), competitor.shift_at(norm))
                values = self.value(run, np.full(len(rounds), norm), losses, shifts)
                found = np.fmin(found, values)
        return found

    def _asked_of_competitor(self, run: Run) -> list[str]:
        largest = self.largest_norm(run)
        return [f"||g|| <= {largest:.4g}"] if math.isfinite(largest) else []

    def _lacks_facts(self, run: Run) -> bool:
        return not set(self.needs) <= set(run.facts or ())

    def _values(self, run: Run, competitor: Competitor, norms: np.ndarray) -> np.ndarray:
        losses = competitor.losses(norms, self.normalised)
        values = self.value(run, norms, losses, competitor.shift_at(norms))
        return np.where(np.isfinite(values), values, np.inf)


MISSING_FACTS = "needs facts that these results do not have; run the sweep again"


def at_most(name: str, limit: float, found: float, text: str | None = None) -> Condition:
    """Return the condition that a quantity is no larger than ``limit``, rounding aside."""
    return Condition(text or f"{name} <= {limit:g}", _is(name, found), found <= limit * (1 + 1e-9))


def at_least(name: str, limit: float, found: float, text: str | None = None) -> Condition:
    """Return the condition that a quantity is no smaller than ``limit``."""
    return Condition(text or f"{name} >= {limit:g}", _is(name, found), found >= limit)


def between(name: str, low: float, high: float, found: float, text: str | None = None) -> Condition:
    """Return the condition that a quantity is above ``low`` and below ``high``."""
    return Condition(text or f"{low:.4g} < {name} < {high:.4g}", _is(name, found), low < found < high)


def is_set_to(name: str, wanted: Any, found: Any, text: str | None = None) -> Condition:
    """Return the condition that a parameter has this value."""
    same = math.isclose(wanted, found, rel_tol=1e-9) if isinstance(wanted, float) else wanted == found
    return Condition(text or f"{name} = {_shown(wanted)}", _is(name, found), same)


def short_examples(run: Run) -> Condition:
    """Return the condition k(x, x) <= 1, for all x of the stream."""
    # The squares of rows scaled to unit norm are 1 but for rounding.
    return at_most("the largest", 1.0, run.largest_square, "k(x, x) <= 1")


def about(bounds: Sequence[Bound], learner: Learner) -> list[Bound]:
    """Return the bounds on this learner."""
    return [bound for bound in bounds if bound.is_about(learner)]


def _is(name: str, found: Any) -> str:
    return f"{name} is {_shown(found)}"


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
