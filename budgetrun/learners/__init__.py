"""The learners, found by file: whatever stands in this folder is read, and its learners are listed."""

from __future__ import annotations

from functools import cache
from typing import Any

from budgetrun.learners.base import BinaryLearner, Learner, MulticlassLearner
from budgetrun.registry import classes, parameters

__all__ = ["BinaryLearner", "Learner", "MulticlassLearner", "find", "parameters", "registry"]


@cache
def registry(multiclass: bool = False) -> dict[str, dict[str | None, type[Any]]]:
    """Return the learners of two classes, or of several, as ``{name: {variant: class}}``.

    The variant is None where a name has only one.
    """
    base: type[Learner] = MulticlassLearner if multiclass else BinaryLearner
    found: dict[str, dict[str | None, type[Any]]] = {}
    for learner in classes(__name__, base):
        found.setdefault(learner.name, {})[learner.variant] = learner
    return dict(sorted(found.items()))


def find(name: str, variant: str | None = None, multiclass: bool = False) -> type[Any]:
    """Return the learner of that name and variant; without a variant, the name's default one.

    Raises
    ------
    KeyError
        No learner of two classes (or of several) has that name, or the name has no such variant.
    """
    variants = registry(multiclass)[name]
    if variant is None and None not in variants:
        variant = next(key for key, learner in variants.items() if learner.__dict__.get("default_variant"))
    return variants[variant]
