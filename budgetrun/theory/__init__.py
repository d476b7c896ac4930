"""The papers' mistake bounds: a module a paper, and competitors in hindsight to evaluate them with."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from budgetrun.theory.base import Bound, Condition, Run, Verdict, about
from budgetrun.theory.competitors import Competitor, Competitors, find

__all__ = ["Bound", "Competitor", "Competitors", "Condition", "Run", "Verdict", "about", "find", "registry"]


def registry() -> list[Bound]:
    """Return every bound of this package, in the order of the modules' names and of the classes in them."""
    found: list[Bound] = []
    for module in sorted(info.name for info in pkgutil.iter_modules(__path__)):
        members = vars(importlib.import_module(f"{__name__}.{module}")).values()
        classes = [m for m in members if inspect.isclass(m) and m.__module__ == f"{__name__}.{module}"]
        found += [c() for c in classes if issubclass(c, Bound) and not inspect.isabstract(c)]
    return found
