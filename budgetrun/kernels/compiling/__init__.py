"""Compiling: the only package that knows numba, which it imports when it compiles."""

import os
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from budgetrun.base.files import source_digest
from budgetrun.kernels.compiling.objects import TYPE, Compilable, compiled_as, interpreted

__all__ = ["COMPILER", "ENVIRONMENT", "TYPE", "Compilable", "begins", "compiled_as", "folder", "function"]
__all__ += ["interpreted", "loop", "on", "prepared", "takes"]

COMPILER = "numba"
# Setting it to 0 runs everything in numpy, with the same results.
ENVIRONMENT = "BUDGETRUN_COMPILED"
# The methods of a learner's rule; not every learner has each.
_RULE = ("margins", "tolerance", "update")


@cache
def on() -> bool:
    """Return whether code is compiled: numba is installed, and $BUDGETRUN_COMPILED is not 0."""
    return os.environ.get(ENVIRONMENT) != "0" and find_spec(COMPILER) is not None


@cache
def folder() -> Path:
    """Return where compiled code is kept: a folder for each state of the sources, as numba checks only one file."""
    import pooch

    kept = os.environ.get("NUMBA_CACHE_DIR") or pooch.os_cache("budgetrun") / "compiled"
    return Path(kept) / f"{source_digest('engine', 'kernels', 'learners')}-{version(COMPILER)}"


def begins() -> bool:
    """Return whether code is compiled, and the rounds of no learner are kept yet."""
    return on() and next(folder().glob("*/play.play*.nbi"), None) is None


def takes(learner: Any) -> bool:
    """Return whether a learner's rule is compiled: it says so, and none of its methods was replaced from elsewhere."""
    cls: Any = type(learner)
    rule = (getattr(cls, name, None) for name in _RULE)
    if not (learner.compiled and on() and _is_as_written(cls, *rule)):
        return False
    # The type in compiled code is callable, too.
    return not any(callable(value) for name, value in vars(learner).items() if name != TYPE)


@cache
def _is_as_written(cls: Any, *rule: Any) -> bool:
    """Return whether the methods of a rule come from the files of the classes that have them."""
    homes = (next((home for home in cls.__mro__ if name in vars(home)), None) for name in _RULE)
    return all(home is None or home.__module__ == f.__module__ for home, f in zip(homes, rule, strict=True))


@cache
def function(source: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function, and what it calls; the result is kept on disk."""
    from budgetrun.kernels.compiling import structures

    return structures.function(source, folder())


@cache
def loop(name: str) -> Callable[..., Any]:
    """Return a compiled function of `budgetrun.kernels.compiling.loops`."""
    from budgetrun.kernels.compiling import loops

    return function(getattr(loops, name))


def prepared(thing: Any) -> Any:
    """Return an object that compiled code can take."""
    if TYPE not in vars(thing):
        from budgetrun.kernels.compiling import structures

        structures.prepare(thing)
    return thing
