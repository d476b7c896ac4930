"""The learners, found by file: whatever module stands in this folder is read, and its learners are listed."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache

from budgetrun.learners.base import Budget, Learner, Seed

__all__ = ["Budget", "Learner", "Seed", "find", "parameters", "registry"]


@cache
def registry(multiclass: bool = False) -> dict[str, dict[str | None, type[Learner]]]:
    """Return the learners of two classes, or of several, as ``{name: {variant: class}}``.

    The variant is None where a name has only one.
    """
    found: dict[str, dict[str | None, type[Learner]]] = {}
    for module_info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        for _, thing in inspect.getmembers(module, inspect.isclass):
            if not issubclass(thing, Learner) or thing.__module__ != module.__name__ or inspect.isabstract(thing):
                continue
            if thing.multiclass == multiclass:
                found.setdefault(thing.name, {})[thing.variant] = thing
    return dict(sorted(found.items()))


def find(name: str, variant: str | None = None, multiclass: bool = False) -> type[Learner]:
    """Return the learner of that name and variant; a name with several variants has one that is its default.

    Raises
    ------
    KeyError
        No learner of two classes (or of several) has that name, or the name has no such variant.
    """
    variants = registry(multiclass)[name]
    if variant is None and None not in variants:
        variant = next(key for key, learner in variants.items() if learner.__dict__.get("default_variant"))
    return variants[variant]


def parameters(learner: type[Learner]) -> dict[str, inspect.Parameter]:
    """Return a learner's parameters: the keyword-only arguments of its ``__init__``, in order."""
    signature = inspect.signature(learner.__init__, eval_str=True)
    return {name: p for name, p in signature.parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}
