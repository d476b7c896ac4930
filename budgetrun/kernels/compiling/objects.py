"""Python objects and functions as compiled code sees them."""

import importlib
from collections.abc import Callable
from functools import cache
from types import NoneType
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])
# The attributes that hold an object's type in compiled code, where the compiler looks for it, and its shape.
TYPE, SHAPE = "_numba_type_", "_shape_"
# Numbers are called as their dtypes.
_SCALARS: dict[type, str] = {bool: "|b1", int: "<i8", float: "<f8", str: "str", NoneType: "none"}
# The kind of a value: a name of a scalar; dtype, dimensions, layout and writeability of an array; or a shape.
Kind = Any


class Compilable:
    """An object that compiled code can take."""

    @classmethod
    def floats(cls) -> frozenset[str]:
        """Return the attributes that are floats in compiled code, also where they are integers."""
        return frozenset()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the type in compiled code out of pickles."""
        return {name: value for name, value in self.__dict__.items() if name not in (TYPE, SHAPE)}


class Shape:
    """The class of an object, and the kinds of its attributes: all that code compiled for it depends on.

    There is one for each class with these attributes, so that shapes can be compared by identity.
    """

    def __init__(self, cls: type, fields: tuple[tuple[str, Kind], ...]) -> None:
        self.cls, self.fields = cls, fields
        # Whether other processes have all of these classes.
        self.own: bool = is_own(cls) and all(kind.own for _, kind in fields if isinstance(kind, Shape))


shape: Callable[[type, tuple[tuple[str, Kind], ...]], Shape] = cache(Shape)


def shape_of(thing: Any) -> Shape:
    """Return the shape of an object, as it is when this is first asked; values of other kinds are left out."""
    if isinstance(thing, tuple):
        return shape(type(thing), tuple(zip(thing._fields, map(kind_of, thing), strict=True)))  # type: ignore[attr-defined]
    found = vars(thing).get(SHAPE)
    if found is None:
        floats = thing.floats()
        # Code for step=0.5 is also that for step=1.
        values = {name: float(v) if name in floats and type(v) is int else v for name, v in vars(thing).items()}
        kinds = ((name, _of_attribute(value)) for name, value in values.items() if name != TYPE)
        found = shape(type(thing), tuple((name, kind) for name, kind in kinds if kind is not None))
        setattr(thing, SHAPE, found)
    return found


def kind_of(value: Any) -> Kind:
    """Return the kind of a value, None if compiled code cannot take it."""
    if type(value) in _SCALARS:
        return _SCALARS[type(value)]
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return value.dtype.str, value.ndim, layout, flags.writeable
    if isinstance(value, Compilable | tuple):
        return shape_of(value)
    if isinstance(value, np.generic):
        return value.dtype.str
    return "generator" if isinstance(value, np.random.Generator) else None


def _of_attribute(value: Any) -> Kind:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.ndim, "C", True
    return None if isinstance(value, tuple) else kind_of(value)


class Kept:
    """The structure of an object that Python keeps between calls; `structures.Kept` when there is one."""


def kept(thing: Any) -> Kind:
    """Return the kind of such a structure."""
    return shape(Kept, (("inside", shape_of(thing)),))


def to_json(kind: Kind) -> Any:
    """Return a kind as JSON."""
    if isinstance(kind, Shape):
        return {title_of(kind.cls): to_json(kind.fields)}
    return [to_json(part) for part in kind] if isinstance(kind, tuple) else kind


def from_json(given: Any) -> Kind:
    """Return the kind of which this is the JSON; no class from outside this package is looked up."""
    if isinstance(given, dict):
        ((title, fields),) = given.items()
        return shape(named(title), from_json(fields))
    return tuple(map(from_json, given)) if isinstance(given, list) else given


def is_own(thing: Any) -> bool:
    """Return whether a function or class is from this package."""
    return bool(thing.__module__.startswith("budgetrun."))


def title_of(thing: Any) -> str:
    """Return the name of a function or class in other processes."""
    return f"{thing.__module__}:{thing.__qualname__}"


def named(title: str) -> Any:
    """Return the function or class of this package that has a name."""
    module, _, name = title.partition(":")
    found = getattr(importlib.import_module(module), name) if module.startswith("budgetrun.") else None
    if getattr(found, "__module__", None) != module:
        raise ValueError(f"{title} is not in this package")
    return found


def interpreted(method: F) -> F:
    """Mark a method that is not compiled: compiled code that calls it raises."""
    method.interpreted = True  # type: ignore[attr-defined]
    return method


def apart(function: F) -> F:
    """Mark a function that is compiled once, and not again with each function that calls it."""
    function.apart = True  # type: ignore[attr-defined]
    return function


def compiled_as(loop: str) -> Callable[[F], F]:
    """Mark a function in whose place compiled code calls one of `loops`, which has the same parameters."""

    def mark(function: F) -> F:
        function.loop = loop  # type: ignore[attr-defined]
        return function

    return mark


def only_compiled(loop: str) -> Any:
    """Return a function in whose place compiled code calls one of `loops`, and which Python cannot call."""

    @compiled_as(loop)
    def stand_in(*arguments: Any) -> Any:
        raise NotImplementedError(loop)

    return stand_in
