"""The batch solvers, found by file."""

from functools import cache

from budgetrun.base.registry import classes, parameters
from budgetrun.papers.solvers.base import Progress, Solution, Solver

__all__ = ["Progress", "Solution", "Solver", "find", "parameters", "registry"]


@cache
def registry() -> dict[str, type[Solver]]:
    """Return the solvers by name. This does not import the compiled loops."""
    found = classes(__name__, Solver)  # type: ignore[type-abstract]  # the base is never made
    return {solver.name: solver for solver in sorted(found, key=lambda solver: solver.name)}


def find(name: str) -> type[Solver]:
    """Return the solver of that name; raise a KeyError if there is none."""
    return registry()[name]
