"""Generated data sets, one module per card, found by the card's name.

A module has ``OPTIONS`` (for each option its type and least value, or the allowed words) and `draw`, which returns the
examples; where they apply, `refused`, which says what is wrong with options that are good one by one, `counts`, which
returns the number of examples with each label (for regression, all count as one), and `changes`, which returns what has
changed after how many rounds. A change to what is drawn changes the ``version`` on the card.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.base.errors import InputError
from budgetrun.data.cards import Card, Label, card

if TYPE_CHECKING:
    from budgetrun.config.schema import DatasetSpec


def completed(known: Card, options: dict[str, Any], where: str) -> dict[str, Any]:
    """Return options completed by the defaults of their card.

    Raises
    ------
    InputError
        An option is unknown, or its value is wrong.
    """
    module = _module(known.name)
    for name in options:
        if name not in known.options:
            raise InputError(f"{where}: options: unknown '{name}'; allowed: {' '.join(known.options)}")
    chosen = known.options | options
    for name, allowed in module.OPTIONS.items():
        if fault := _fault(chosen[name], allowed):
            raise InputError(f"{where}: options.{name}: must be {fault}, got {chosen[name]!r}")
    if hasattr(module, "refused") and (fault := module.refused(**chosen)):
        raise InputError(f"{where}: {fault}")
    return chosen


def _fault(value: Any, allowed: tuple[Any, ...]) -> str | None:
    if isinstance(allowed[0], str):
        return None if value in allowed else f"one of {' '.join(allowed)}"
    kind, least = allowed
    types = int if kind is int else (int, float)
    if isinstance(value, bool) or not isinstance(value, types) or not least <= value < float("inf"):
        return f"{'an integer' if kind is int else 'a number'} >= {least:g}"
    return None


def counts(name: str, options: dict[str, Any]) -> dict[Label, int]:
    """Return the number of examples with each label; for regression, under one label that stands for all of them."""
    module = _module(name)
    found: dict[Label, int] = module.counts(**options) if hasattr(module, "counts") else {0.0: options["n_examples"]}
    return found


def draw(name: str, rng: np.random.Generator, options: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the examples and labels of a generated dataset, in file order."""
    found: tuple[np.ndarray, np.ndarray] = _module(name).draw(rng, **options)
    return found


def changes_of(spec: DatasetSpec) -> dict[int, str]:
    """Return what has changed after how many rounds of a stream, as far as it is known; rounds ascend."""
    try:
        known = card(spec.name)
    except InputError:
        return {}
    if known.format != "generated" or spec.path is not None or spec.order == "permuted" or spec.balanced:
        return {}
    changes = getattr(_module(spec.name), "changes", None)
    return changes(**known.options | spec.options) if changes else {}


def _module(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}")
