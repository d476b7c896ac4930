"""The batch solvers, found by file: whatever module stands in this folder is read, and its solvers are listed."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache

from budgetrun.solvers.base import Progress, Solution, Solver

__all__ = ["Progress", "Solution", "Solver", "find", "parameters", "registry"]


@cache
def registry() -> dict[str, type[Solver]]:
    """Return the solvers by name. Compiled loops, and numba, wait until a solver is used."""
    found: dict[str, type[Solver]] = {}
    for module_info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        for _, thing in inspect.getmembers(module, inspect.isclass):
            if issubclass(thing, Solver) and thing.__module__ == module.__name__ and not inspect.isabstract(thing):
                found[thing.name] = thing
    return dict(sorted(found.items()))


def find(name: str) -> type[Solver]:
    """Return the solver of that name.

    Raises
    ------
    KeyError
        No solver has that name.
    """
    return registry()[name]


def parameters(solver: type[Solver]) -> dict[str, inspect.Parameter]:
    """Return a solver's parameters: the keyword-only arguments of its ``__init__``, in order."""
    signature = inspect.signature(solver.__init__, eval_str=True)
    return {name: p for name, p in signature.parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}
