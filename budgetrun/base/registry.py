"""Registration is the file: classes are found by looking into a folder of the package, and are listed nowhere."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, get_args, get_type_hints

T = TypeVar("T")
# The folder of the plug-ins, one package each. The rest of budgetrun works without it.
_PLUGINS = "papers"


def modules(package: str) -> Iterator[ModuleType]:
    """Import every module of a package, but not of its subpackages, in the order of their names."""
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__):
        yield importlib.import_module(f"{package}.{found.name}")


def classes(package: str, base: type[T]) -> list[type[T]]:
    """Return the concrete subclasses of ``base`` that the modules of a package define."""
    return [thing for module in modules(package) for thing in defined_in(module, base)]


def defined_in(module: ModuleType, base: type[T]) -> list[type[T]]:
    """Return the concrete subclasses of ``base`` that a module defines, in the order of their names."""
    own = [thing for name, thing in sorted(vars(module).items()) if isinstance(thing, type) and thing.__name__ == name]
    return [t for t in own if t.__module__ == module.__name__ and issubclass(t, base) and not inspect.isabstract(t)]


def plugin_modules(name: str) -> list[ModuleType]:
    """Import the module of this name of every plug-in that has one, in the order of the plug-ins' names."""
    folder = Path(__file__).parents[1] / _PLUGINS
    found = sorted(path.parent.name for path in folder.glob(f"*/{name}.py"))
    return [importlib.import_module(f"budgetrun.{_PLUGINS}.{plugin}.{name}") for plugin in found]


@cache
def parameters(cls: type) -> dict[str, inspect.Parameter]:
    """Return the parameters of an algorithm or kernel: the keyword-only arguments of its ``__init__``."""
    signature = inspect.signature(cls, eval_str=True)
    return {name: p for name, p in signature.parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}


@cache
def float_parameters(cls: type[Any]) -> frozenset[str]:
    """Return the names of the parameters whose values are floats, or floats and None."""
    kinds = get_type_hints(cls.__init__)
    return frozenset(name for name, kind in kinds.items() if float in (kind, *get_args(kind)))
