"""Registration is the file: what stands in a folder of the package is found there, and listed nowhere else."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


def modules(package: str) -> Iterator[ModuleType]:
    """Import every module that stands directly in a package, in the order of their names."""
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__):
        yield importlib.import_module(f"{package}.{found.name}")


def classes(package: str, base: type[T]) -> list[type[T]]:
    """Return the concrete subclasses of ``base`` that the modules of a package define."""
    return [
        thing
        for module in modules(package)
        for _, thing in inspect.getmembers(module, inspect.isclass)
        if issubclass(thing, base) and thing.__module__ == module.__name__ and not inspect.isabstract(thing)
    ]


@cache
def parameters(cls: type) -> dict[str, inspect.Parameter]:
    """Return what a learner, solver or kernel takes: the keyword-only arguments of its ``__init__``, in order."""
    signature = inspect.signature(cls, eval_str=True)
    return {name: p for name, p in signature.parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}
