"""The compiled forms of the functions of `play`."""

from __future__ import annotations

from functools import cache

from numba.core import types
from numba.extending import overload

from budgetrun import compiled
from budgetrun.engine import play
from budgetrun.kernels import loops  # noqa: F401 (it tells numba how to compile what the functions call)


@overload(play.of_round, jit_options=compiled.OPTIONS)
def _of_round(margins, k):  # type: ignore[no-untyped-def]  # numba compares the two signatures
    if isinstance(margins, types.Array):
        return lambda margins, k: margins[k]
    return lambda margins, k: margins


compiled_form = cache(compiled.function)
