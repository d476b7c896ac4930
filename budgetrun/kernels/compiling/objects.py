"""Python objects and functions as compiled code sees them."""

from collections.abc import Callable
from typing import Any, TypeVar

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
