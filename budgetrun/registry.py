"""Registration is the file: classes, configs and cards are found by looking into a folder, and listed nowhere."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")
PACKAGE = Path(__file__).resolve().parent


def modules(package: str) -> Iterator[ModuleType]:
    """Import every module of a package, but not of its subpackages, in the order of their names."""
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__):
        yield importlib.import_module(f"{package}.{found.name}")


def classes(package: str, base: type[T]) -> list[type[T]]:
    """Return the concrete subclasses of ``base`` that the modules of a package define."""
    return [thing for module in modules(package) for thing in defined_in(module, base)]


def defined_in(module: ModuleType, base: type[T]) -> list[type[T]]:
    """Return the concrete subclasses of ``base`` that a module defines, in the order of their names."""
    return [
        thing
        for _, thing in inspect.getmembers(module, inspect.isclass)
        if issubclass(thing, base) and thing.__module__ == module.__name__ and not inspect.isabstract(thing)
    ]


@cache
def parameters(cls: type) -> dict[str, inspect.Parameter]:
    """Return the parameters of a learner, solver or kernel: the keyword-only arguments of its ``__init__``."""
    signature = inspect.signature(cls, eval_str=True)
    return {name: p for name, p in signature.parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}


def own_folder(name: str) -> Path:
    """Return the folder ``configs`` or ``datasets``: at the top of a checkout, inside the package once installed.

    Raises
    ------
    FileNotFoundError
        The installation carries no such folder.
    """
    for parent in (PACKAGE, PACKAGE.parent):
        candidate = parent / name
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"budgetrun's own folder {name!r} is missing from {PACKAGE}")


def checkout() -> Path | None:
    """Return the top of the source checkout this code runs from, or None for an installed wheel."""
    top = PACKAGE.parent
    return top if (top / "pyproject.toml").is_file() and (top / "datasets").is_dir() else None


def is_file(path: Path) -> bool:
    """Return whether something that may be read is at a path: anything but a folder, and no error of any kind."""
    try:
        return path.exists() and not path.is_dir()
    except (OSError, ValueError):
        return False
