"""Whether and where code is compiled. numba is imported only when something is."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

# Setting it to 0 runs everything in numpy, with the same results.
ENVIRONMENT = "BUDGETRUN_COMPILED"


@cache
def on() -> bool:
    """Return whether code is compiled: numba is installed, and $BUDGETRUN_COMPILED is not 0."""
    return os.environ.get(ENVIRONMENT) != "0" and find_spec("numba") is not None


@cache
def loop(name: str) -> Callable[..., Any]:
    """Return a compiled function of `budgetrun.kernels.loops`."""
    from budgetrun import compiled
    from budgetrun.kernels import loops

    return compiled.function(getattr(loops, name))


def prepared(thing: Any) -> Any:
    """Return an object that compiled code can take."""
    if "_numba_type_" not in vars(thing):
        from budgetrun import compiled

        compiled.prepare(thing)
    return thing
