"""Generated data: one module per card, found by the card's name.

A module has `check`, which completes the options of a config and raises an InputError for unknown or wrong ones,
`counts`, which returns the number of examples with each label, and `draw`, which returns the examples. A change to what
is drawn changes the ``version`` on the card.
"""

from __future__ import annotations

import importlib
from typing import Any


def generator(name: str) -> Any:
    """Return the module of the generated dataset with that name."""
    return importlib.import_module(f"{__name__}.{name}")
