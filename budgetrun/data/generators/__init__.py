"""Generated data, one module a card, found by the card's name.

A module has `check`, which completes the options of a config, `counts`, which tells how many examples of each label
they give, and `draw`, which gives the examples. Whatever changes what is drawn changes the ``version`` on the card.
"""

from __future__ import annotations

import importlib
from typing import Any


def generator(name: str) -> Any:
    """Return the module of the generated data set of that name."""
    return importlib.import_module(f"{__name__}.{name}")
