"""The learners, one file per algorithm. A file in this folder is found automatically."""

from __future__ import annotations

from functools import cache
from typing import Any

from budgetrun.learners.base import BinaryLearner, Learner, MulticlassLearner
from budgetrun.registry import classes, parameters

__all__ = ["BinaryLearner", "Learner", "MulticlassLearner", "find", "parameters", "registry"]


@cache
def registry(multiclass: bool = False) -> dict[str, dict[str | None, type[Any]]]:
    """Return the binary or the multiclass learners as ``{name: {variant: class}}``.

    The variant is None if the name has only one learner.
    """
    base: type[Learner] = MulticlassLearner if multiclass else BinaryLearner
    found: dict[str, dict[str | None, type[Any]]] = {}
    for learner in classes(__name__, base):
        found.setdefault(learner.name, {})[learner.variant] = learner
    return dict(sorted(found.items()))


def find(name: str, variant: str | None = None, multiclass: bool = False) -> type[Any]:
    """Return the learner of that name and variant; without a variant, the default variant.

    Raises
    ------
    KeyError
        No binary (or multiclass) learner has that name or that variant.
    """
    variants = registry(multiclass)[name]
    if variant is None and None not in variants:
        variant = next(key for key, learner in variants.items() if learner.__dict__.get("default_variant"))
    return variants[variant]
