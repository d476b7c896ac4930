"""Generated data: one module per card, found by the card's name.

A module has `check`, which completes the options of a config and raises an InputError for unknown or wrong ones,
`counts`, which returns the number of examples with each label, and `draw`, which returns the examples. A change to what
is drawn changes the ``version`` on the card. A stream that drifts has `changes`, which returns what has changed after
how many rounds.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from budgetrun.base.errors import InputError
from budgetrun.data.cards import card

if TYPE_CHECKING:
    from budgetrun.config.schema import DatasetSpec


def generator(name: str) -> Any:
    """Return the module of the generated dataset with that name."""
    return importlib.import_module(f"{__name__}.{name}")


def changes_of(spec: DatasetSpec) -> dict[int, str]:
    """Return what has changed after how many rounds of a stream, as far as it is known; rounds ascend."""
    try:
        known = card(spec.name)
    except InputError:
        return {}
    if known.format != "generated" or spec.path is not None or spec.order == "permuted" or spec.balanced:
        return {}
    changes = getattr(generator(spec.name), "changes", None)
    return changes(**known.options | spec.options) if changes else {}
