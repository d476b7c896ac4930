"""Compiling: the only package that knows numba, which it imports when it compiles."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from budgetrun.base.sources import source_digest

COMPILER = "numba"
# Setting it to 0 runs everything in numpy, with the same results.
ENVIRONMENT = "BUDGETRUN_COMPILED"
# The methods of a learner's rule; not every learner has each.
_RULE = ("margins", "tolerance", "update")
F = TypeVar("F", bound=Callable[..., Any])
# The attribute that holds an object's type in compiled code; the compiler looks for this name.
TYPE = "_numba_type_"


class Compilable:
    """An object that compiled code can take."""

    @classmethod
    def floats(cls) -> frozenset[str]:
        """Return the attributes that are floats in compiled code, also where they are integers."""
        return frozenset()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the type in compiled code out of pickles."""
        return {name: value for name, value in self.__dict__.items() if name != TYPE}


def interpreted(method: F) -> F:
    """Mark a method that is not compiled: compiled code that calls it raises."""
    method.interpreted = True  # type: ignore[attr-defined]
    return method


def compiled_as(loop: str) -> Callable[[F], F]:
    """Mark a function in whose place compiled code calls one of `loops`, which has the same parameters."""

    def mark(function: F) -> F:
        function.loop = loop  # type: ignore[attr-defined]
        return function

    return mark


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
