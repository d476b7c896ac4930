"""The papers' bounds, one module per paper, and the best competitors in hindsight."""

from budgetrun.base.registry import classes
from budgetrun.papers.theory.base import Bound, Condition, Run, Verdict, about
from budgetrun.papers.theory.competitors import Competitor, Competitors, find

__all__ = ["Bound", "Competitor", "Competitors", "Condition", "Run", "Verdict", "about", "find", "registry"]


def registry() -> list[Bound]:
    """Return every bound, in the order of the modules' names and of the classes' names in them."""
    return [bound() for bound in classes(__name__, Bound)]  # type: ignore[type-abstract]  # the base is never made
