"""Base of the mistake bounds: conditions, a right-hand side, and the search for its best competitor."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.params import Task
from budgetrun.papers.theory.competitors import Competitor, Competitors
from budgetrun.papers.theory.competitors import Floats as Floats

Counted = Literal[
    "mistakes", "expected mistakes", "mistakes of a learner", "halvings", "updates", "damage", "shrinking"
]  # fmt: skip
# Names and variants of learners.
Names = tuple[tuple[str, str | None], ...]

MISSING_FACTS = "needs facts that these results do not have; run the sweep again"


@dataclass(frozen=True)
class Run:
    """A run of a learner or of a batch solver, as bounds need it."""

    learner: Any  # or the solver, with the run's parameters, which theorems read; its state does not matter
    mistakes: float  # M; the mean, for several runs that differ only in their seeds; nan for a solver
    updates: float  # rounds on which the learner acted, mistakes included, or steps of the solver; nan in older results
    largest_square: float  # the largest k(x, x) of the stream
    facts: Mapping[str, float] | None = None  # `Learner.facts` after the last round; None in older results
    objective: float = math.nan  # J of the weights that a solver found
    n_examples: int = 0  # those of a solver

    @property
    def margin_updates(self) -> float:
        """|N_T|: the updates that are not mistakes."""
        return self.updates - self.mistakes

    def fact(self, name: str) -> float:
        """Return one of the facts; a KeyError if the run has no such fact."""
        return (self.facts or {})[name]


@dataclass(frozen=True)
class Condition:
    """A condition of a theorem, and whether a run meets it."""

    text: str  # as in the theorem: ``B >= 83``
    found: str  # the run's value: ``B is 50``
    holds: bool

    def __str__(self) -> str:
        return f"{self.text}, but {self.found}"


@dataclass(frozen=True)
class Verdict:
    """Both sides of a bound."""

    theorem: str  # `Bound.name`
    counts: Counted
    count: float  # the left-hand side
    value: float = math.nan  # the right-hand side, the smallest over the competitors; nan where the bound is void
    conditions: str = ""  # all of them met
    reason: str = ""  # why the bound is void: the conditions that do not hold; empty where it applies
    competitor: Competitor | None = None  # the best one, which gives ``value`` when scaled to ``norm``
    norm: float = math.nan  # ||g||
    loss: float = math.nan  # the sum of g's hinge losses
    shift: float = math.nan  # how far g moved (0 if it is fixed)
    lower: float = math.nan  # for a count that is an estimate, the lower end of its confidence interval

    @property
    def applies(self) -> bool:
        """True if all conditions hold."""
        return not self.reason

    @property
    def violated(self) -> bool:
        """True if the left-hand side exceeds the right-hand side by more than rounding."""
        least = self.count if math.isnan(self.lower) else self.lower
        return self.applies and least > self.value + 1e-6 * (1 + abs(self.value))

    @property
    def ratio(self) -> float:
        """The count divided by the bound: 1 is tight, above 1 is violated; nan where the bound is void."""
        if self.value <= 0:
            return 1.0 if self.count == self.value else math.inf
        return self.count / self.value


class Bound(ABC):
    """A theorem of a paper: an upper bound on a learner's mistakes, in terms of any competitor g, or on other counts.

    `budgetrun.papers.theory.registry` finds the subclasses; the first line of the docstring states the bound.

    A competitor enters by its norm, by D, the sum of its hinge losses max(0, 1 - y g(x)) over the stream, and, if it
    may change during the stream, by S, how far it moves. With several classes, its margin is g_y(x) minus the largest
    of the others.
    """

    name: ClassVar[str]  # paper and theorem, as shown in tables
    learners: ClassVar[Names]  # those that it is about
    task: ClassVar[Task] = "binary"
    counts: ClassVar[Counted] = "mistakes"
    needs: ClassVar[tuple[str, ...]] = ()  # the facts of a run that it needs
    # The learner's parameter that ||g|| must not exceed; None for no limit, or for a `largest_norm` of its own.
    within: ClassVar[str | None] = None
    compares: ClassVar[bool] = True  # a competitor occurs on the right-hand side
    shifting: ClassVar[bool] = False  # competitors may change during the stream
    normalised: ClassVar[bool] = False  # it is about x / sqrt(k(x, x)) instead of x
    of_updates: ClassVar[bool] = False  # it depends on the number of updates

    def is_about(self, algorithm: Any) -> bool:
        """Return True for a theorem on this learner, regardless of its parameters; or on this solver."""
        of_task = getattr(algorithm, "task", None) == self.task
        return of_task and (algorithm.name, algorithm.variant) in self.learners

    def conditions(self, run: Run) -> list[Condition]:
        """Return the theorem's conditions, except those on the competitor; by default k(x, x) <= 1."""
        return [short_examples(run)]

    def largest_norm(self, run: Run) -> float:
        """Return the largest norm that a competitor may have, possibly infinity."""
        return math.inf if self.within is None else float(getattr(run.learner, self.within))

    def count(self, run: Run) -> float:
        """Return the left-hand side."""
        return run.mistakes

    @abstractmethod
    def value(self, run: Run, norm: Floats, loss: Floats, shift: Floats) -> Floats:
        """Return the right-hand side for competitors of these norms, losses and shifts; infinity for no bound."""

    # -- common to all -------------------------------------------------------------------------------------------

    @property
    def anytime(self) -> bool:
        """True if it depends only on the parameters of a run, so that it is known after each round."""
        return not (self.of_updates or self.needs)

    def why_void(self, run: Run) -> str:
        """Return the conditions that do not hold, or that facts are missing; empty if the bound applies."""
        if self._lacks_facts(run):
            return MISSING_FACTS
        return "; ".join(str(condition) for condition in self.conditions(run) if not condition.holds)

    def check(self, run: Run, competitors: Competitors | None) -> Verdict:
        """Return both sides, the right-hand side for the best of the competitors.

        ``competitors`` may be None if the bound does not compare or is void.
        """
        if reason := self.why_void(run):
            count = math.nan if self._lacks_facts(run) and self.counts == "halvings" else self.count(run)
            return Verdict(self.name, self.counts, count, reason=reason)
        largest = self.largest_norm(run)
        on_competitor = [f"||g|| <= {largest:.4g}"] if math.isfinite(largest) else []
        conditions = "; ".join([c.text for c in self.conditions(run)] + on_competitor)
        if not self.compares:
            none = np.zeros(1)
            value = float(self.value(run, none, none, none)[0])
            return Verdict(self.name, self.counts, self.count(run), value, conditions)
        assert competitors is not None
        value, best, norm = self.best(run, competitors)
        loss = float(best.losses(np.array([norm]))[0])
        shift = float(best.shift_at(norm))
        return Verdict(self.name, self.counts, self.count(run), value, conditions, "", best, norm, loss, shift)

    def best(self, run: Run, competitors: Competitors) -> tuple[float, Competitor, float]:
        """Return the smallest right-hand side, its competitor, and the norm to which that competitor is scaled."""
        largest = self.largest_norm(run)
        found = []
        for competitor in self._choices(competitors):
            norms = competitor.grid(largest)
            values = self._values(run, competitor, norms)
            at = int(np.argmin(values))
            # Search again, between the neighbours of the best norm.
            finer = np.linspace(norms[max(at - 1, 0)], norms[min(at + 1, len(norms) - 1)], len(norms))
            again = self._values(run, competitor, finer)
            choices = [(float(values[at]), float(norms[at])), (float(again.min()), float(finer[again.argmin()]))]
            value, norm = min(choices)
            found.append((value, competitor, norm))
        return min(found, key=itemgetter(0))

    def over_rounds(self, run: Run, competitors: Competitors, rounds: NDArray[np.int64]) -> Floats:
        """Return the smallest right-hand sides after each of these numbers of rounds, all >= 1; for `anytime` bounds.

        The norms are from a coarser grid than in `check`.
        """
        found = np.full(len(rounds), np.inf)
        for competitor in self._choices(competitors):
            for norm in competitor.grid(self.largest_norm(run))[::-2]:
                losses = competitor.losses_so_far(norm, rounds)
                shifts = np.full(len(rounds), competitor.shift_at(norm))
                found = np.fmin(found, self.value(run, np.full(len(rounds), norm), losses, shifts))
        return found

    def _lacks_facts(self, run: Run) -> bool:
        return not set(self.needs) <= set(run.facts or ())

    def _choices(self, competitors: Competitors) -> list[Competitor]:
        found = competitors.all if self.shifting else competitors.fixed
        return [one.normalised if self.normalised else one for one in found]

    def _values(self, run: Run, competitor: Competitor, norms: Floats) -> Floats:
        values = self.value(run, norms, competitor.losses(norms), competitor.shift_at(norms))
        return np.where(np.isfinite(values), values, np.inf)


def at_most(name: str, limit: float, found: float, text: str) -> Condition:
    """Return the condition that a quantity is no larger than ``limit``, up to rounding."""
    return Condition(text, _is(name, found), found <= limit * (1 + 1e-9))


def at_least(name: str, limit: float, found: float) -> Condition:
    """Return the condition that a quantity is no smaller than ``limit``."""
    return Condition(f"{name} >= {limit:g}", _is(name, found), found >= limit)


def between(name: str, low: float, high: float, found: float, text: str) -> Condition:
    """Return the condition that a quantity is above ``low`` and below ``high``."""
    return Condition(text, _is(name, found), low < found < high)


def is_set_to(name: str, wanted: Any, found: Any, text: str) -> Condition:
    """Return the condition that a parameter has this value."""
    same = math.isclose(wanted, found, rel_tol=1e-9) if isinstance(wanted, float) else wanted == found
    return Condition(text, _is(name, found), same)


def short_examples(run: Run) -> Condition:
    """Return the condition that k(x, x) <= 1 for all x of the stream."""
    # Rows scaled to unit norm have squares of 1 only up to rounding.
    return at_most("the largest", 1.0, run.largest_square, "k(x, x) <= 1")


def about(bounds: Sequence[Bound], algorithm: Any) -> list[Bound]:
    """Return the bounds on this learner or solver."""
    return [bound for bound in bounds if bound.is_about(algorithm)]


def _is(name: str, found: Any) -> str:
    return f"{name} is {f'{found:.4g}' if isinstance(found, float) else found}"
