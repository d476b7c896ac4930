"""Plain functions that are compiled when their module is imported, for arguments of stated types."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba import types
from numba.extending import overload

__all__ = ["by_type", "compiled", "types"]

F = TypeVar("F", bound=Callable[..., Any])


def compiled(*signatures: Any) -> Callable[[F], F]:
    """Compile a function for each of some signatures; the results are kept on disk."""
    decorate: Any = numba.njit(list(signatures), cache=True, error_model="numpy")
    return decorate


def by_type(function: Callable[..., Any]) -> Callable[[F], F]:
    """Let compiled functions call, in the place of ``function``, what the decorated one returns for types."""
    return overload(function)
