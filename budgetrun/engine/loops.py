"""The compiled forms of the functions of `play`."""

from __future__ import annotations

from numba.core import types
from numba.extending import overload

from budgetrun.compiling import structures
from budgetrun.engine import play
from budgetrun.kernels import loops  # noqa: F401 (it tells numba how to compile what the functions call)


@overload(play.of_round, jit_options=structures.OPTIONS)
def _of_round(margins, k):
    if isinstance(margins, types.Array):
        return lambda margins, k: margins[k]
    return lambda margins, k: margins


compiled_form = structures.function
