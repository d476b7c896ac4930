"""Compiling: the only package that knows numba, which it imports when it compiles."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

from budgetrun.kernels.compiling import background
from budgetrun.kernels.compiling.background import COMPILER, ENVIRONMENT, border, folder
from budgetrun.kernels.compiling.objects import (
    TYPE,
    Compilable,
    Kind,
    compiled_as,
    is_own,
    kept,
    kind_of,
    named,
    shape_of,
    title_of,
)
from budgetrun.kernels.compiling.objects import interpreted as interpreted

__all__ = ["COMPILER", "ENVIRONMENT", "TYPE", "Compilable", "begins", "border", "call", "entry", "first", "folder"]
__all__ += ["kept", "kind_of", "loop", "on", "prepared", "ready", "takes"]

# True within `first`.
_FIRST = ContextVar("first", default=False)
# The methods of a learner's rule; not every learner has each.
_RULE = ("margins", "tolerance", "update")
_LOOPS = f"{__name__}.loops"
# The functions of `structures` for what Python keeps between calls.
KEEP, WRITE_BACK = f"{__name__}.structures:keep", f"{__name__}.structures:write_back"


@cache
def on() -> bool:
    """Return whether code is compiled: numba is installed and not switched off, and $BUDGETRUN_COMPILED is not 0."""
    off = os.environ.get(ENVIRONMENT) == "0" or os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    return not off and find_spec(COMPILER) is not None


@contextmanager
def first() -> Iterator[None]:
    """Compile code before it is run: where seconds are measured, nothing is interpreted until it is compiled."""
    token = _FIRST.set(True)
    try:
        yield
    finally:
        _FIRST.reset(token)


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


@compiled_as("call")
def call(source: Callable[..., Any], *arguments: Any, interpreted: Callable[..., Any] | None = None) -> Any:
    """Call what a function was compiled to, if that is ready, or the function; the results are the same bits.

    ``interpreted`` stands in for a function whose loops are too slow for the interpreter.
    """
    found = ready(source, *map(kind_of, arguments)) if on() else None
    return (interpreted or source)(*arguments) if found is None else found(*map(prepared, arguments))


def loop(name: str, *arguments: Any) -> Callable[[], Any] | None:
    """Return the call of a compiled function of `budgetrun.kernels.compiling.loops`; None if it is not ready."""
    return compiled(f"{_LOOPS}:{name}", *arguments)


def compiled(source: Callable[..., Any] | str, *arguments: Any) -> Callable[[], Any] | None:
    """Return the call of what a function, or that of a title, was compiled to; None if it is not ready."""
    found = ready(source, *map(kind_of, arguments)) if on() else None
    return None if found is None else partial(found, *map(prepared, arguments))


def ready(source: Callable[..., Any] | str, *kinds: Kind) -> Callable[..., Any] | None:
    """Return a function, or the one of a title, as compiled for arguments of some kinds; None if it is not ready.

    Then it is requested. Within `first`, and for classes from outside this package, it is compiled at once.
    """
    title = source if isinstance(source, str) else title_of(source)
    key = title, *kinds
    try:
        return background.compiled[key]
    except KeyError:
        pass
    own = isinstance(source, str) or is_own(source)
    waits = not own or _FIRST.get() or os.environ.get(ENVIRONMENT) == "1"
    if waits or not all(getattr(kind, "own", True) for kind in kinds):
        return background.load(key, named(source) if isinstance(source, str) else source)
    background.request(key)
    return None


def entry(source: Callable[..., Any], *kinds: Kind) -> Callable[..., Any] | None:
    """Return `ready`, but without the search for the types of arguments: a call must give those of these kinds."""
    found: Any = ready(source, *kinds)
    if found is None:
        return None
    from budgetrun.kernels.compiling.structures import type_of

    return found.overloads[tuple(map(type_of, kinds))].entry_point


def prepared(thing: Any) -> Any:
    """Return an argument as compiled code can take it."""
    if isinstance(thing, Compilable) and TYPE not in vars(thing):
        from budgetrun.kernels.compiling.structures import type_of

        setattr(thing, TYPE, type_of(shape_of(thing)))
    return thing
