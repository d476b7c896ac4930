"""Compiling methods: numba runs the methods of plain Python classes from their own source.

The state of such an object is numbers, text and arrays in its attributes. `function` compiles a function that takes
such objects: in the compiled code they are structures of the same attributes, with the same methods and properties, and
at the end of the call their numbers are written back. Arrays are shared, so they must be changed in place.
"""

import inspect
import itertools
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
from filelock import FileLock
from llvmlite import ir
from numba.core import caching, cgutils, extending, imputils, types
from numba.core.bytecode import FunctionIdentity
from numba.core.datamodel import default_manager, models
from numba.core.pythonapi import reflect
from numba.core.registry import cpu_target
from numba.core.typing.templates import AttributeTemplate, signature
from numba.experimental import structref
from numba.experimental.jitclass.base import imp_dtor

from budgetrun.kernels.compiling import loops, objects
from budgetrun.kernels.compiling.loops import INNER, OPTIONS
from budgetrun.kernels.compiling.objects import Kind, Shape

# What only compiled code calls is kept, too, so that a learner compiles only what no other learner needed.
KEPT = INNER | {"cache": True}
_WRITTEN_BACK = (types.Integer, types.Float, types.Boolean)
# The plain functions that compiled code can call already.
_CALLABLE: set[FunctionType] = set()
_OTHERS = {"str": types.unicode_type, "none": types.none, "generator": numba.typeof(np.random.default_rng(0))}
_MEMBER = "of_"
# The classes of numba's types, by name, and what tells this process from others.
_FOUND: dict[str, type[types.StructRef]] = {}
_PROCESS = uuid.uuid4().hex
_PARENT = "parent"


def _name_apart() -> None:
    """Give functions in compiled code names that no other process gives.

    numba counts the functions of a process from 1, and the count tells functions apart that have the same title and
    take the same types. But one process loads what several have compiled, where two such functions had the same number.
    """
    FunctionIdentity._unique_ids = itertools.count(uuid.uuid4().int >> 64)


_name_apart()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_name_apart)


@cache
def function(source: Any, folder: Path) -> Any:
    """Return a function that compiles itself; the results are kept in a folder."""
    _make_callable(source)
    with _kept_in(folder):
        return numba.njit(cache=True, **OPTIONS)(source)


def compiled(source: Any, kinds: tuple[Kind, ...], folder: Path) -> Callable[..., Any]:
    """Compile a function for arguments of some kinds, and what it calls, or load what was compiled before."""
    _FOLDER[:] = [folder]
    found: Callable[..., Any] = function(source, folder)
    # What only compiled code calls is kept apart: Python could not call it, and numba would not tell them apart.
    with _kept_in(folder / "inner"):
        found.compile(tuple(map(type_of, kinds)))
    return found


class Files(caching.IndexDataCacheFile):  # type: ignore[misc]
    """The files of a function in the cache, with one writer: two could give different code the same name."""

    # Whether all could be written.
    complete = True

    def save(self, key: Any, data: Any) -> None:
        """Write what was compiled, unless no other process can use it; the disk may be full, or the lock held."""
        if _PROCESS in str(key):
            return
        try:
            with FileLock(Path(self._cache_path) / "lock", timeout=10):
                super().save(key, data)
        except OSError:
            Files.complete = False

    def load(self, key: Any) -> Any:
        """Return what was compiled; None if it is not there, or damaged."""
        with suppress(Exception):
            return super().load(key)

    def _load_index(self) -> Any:
        # One that is damaged is written again.
        with suppress(Exception):
            return super()._load_index()
        return {}


@contextmanager
def _kept_in(folder: Path) -> Iterator[None]:
    before = numba.config.CACHE_DIR, caching.IndexDataCacheFile
    numba.config.CACHE_DIR, caching.IndexDataCacheFile = str(folder), Files
    try:
        yield
    finally:
        numba.config.CACHE_DIR, caching.IndexDataCacheFile = before


def processor() -> str:
    """Return what compiled code depends on besides its sources."""
    return str(cpu_target.target_context.codegen().magic_tuple())


@structref.register
class KeptType(types.StructRef):  # type: ignore[misc]  # numba has no types
    """The type of `Kept` in compiled code."""


class Kept(structref.StructRefProxy):  # type: ignore[misc]
    """A structure that Python keeps between calls of compiled code, which finds it in the attribute ``inside``.

    It shares the arrays of the object that it was made from, but not its numbers; see `write_back`.
    """


structref.define_proxy(Kept, KeptType, ["inside"])


def keep(thing: Any) -> Kept:
    """Return the structure of an object; this function is only compiled."""
    return Kept(thing)


def write_back(kept: Any) -> None:
    """Write its numbers back into the objects that it was made from, which must still exist; only compiled."""
    _reflect(kept.inside)


@extending.intrinsic
def _reflect(typing: Any, thing: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        context.get_python_api(builder).reflect_native_value(signature.args[0], args[0])
        return context.get_dummy_value()

    return types.void(thing), generate


@cache
def type_of(kind: Kind) -> types.Type:
    """Return the type of the values of a kind in compiled code."""
    if isinstance(kind, Shape):
        fields = [(name, type_of(field)) for name, field in kind.fields]
        if kind.cls is objects.Kept:
            return KeptType(fields)
        if issubclass(kind.cls, tuple):
            return types.NamedTuple([field for _, field in fields], kind.cls)
        return _struct_class(kind.cls)([*((_MEMBER + name, field) for name, field in fields), (_PARENT, types.voidptr)])
    if isinstance(kind, str):
        return _OTHERS.get(kind) or numba.from_dtype(np.dtype(kind))
    dtype, ndim, layout, writeable = kind
    return types.Array(numba.from_dtype(np.dtype(dtype)), ndim, layout, readonly=not writeable)


# -- structures -------------------------------------------------------------------------------------------------------


@cache
def _struct_class(cls: type) -> type[types.StructRef]:
    """Return the class of the numba types of ``cls``'s instances; its name lets a pickle find it again."""
    name = f"{cls.__module__}:{cls.__qualname__}".replace(".", "-")
    if not cls.__module__.startswith("budgetrun."):
        # Code for classes from elsewhere is not kept: their sources may change.
        name += f"#{_PROCESS}"
    struct = type(name, (types.StructRef,), {"__module__": __name__})
    _FOUND[name] = struct
    default_manager.register(struct, models.StructRefModel)
    _add_attributes(struct)
    extending.unbox(struct)(_unbox)
    reflect(struct)(_write_back)
    for attribute in dir(cls):
        if attribute.startswith("__"):
            continue
        found = inspect.getattr_static(cls, attribute)
        if isinstance(found, FunctionType):
            source = _stand_in(found) if hasattr(found, "interpreted") else found
            _make_callable(source)
            # Rules are long, and called once per act. Those of other packages may be defined again.
            if (hasattr(source, "apart") or attribute == "update") and objects.is_own(source):
                source = _call_of(source)
            options = KEPT if source is found else INNER
            extending.overload_method(struct, attribute, jit_options=options)(_resolving(source))
        elif isinstance(found, staticmethod):
            # A function of its own: with an object, calls in loops are not vectorized.
            _make_callable(found.__func__)
            dispatcher = numba.njit(**KEPT)(found.__func__)
            extending.overload_attribute(struct, attribute, jit_options=INNER)(_constant(dispatcher))
        elif isinstance(found, property):
            assert isinstance(found.fget, FunctionType)
            _make_callable(found.fget)
            extending.overload_attribute(struct, attribute, jit_options=KEPT)(_resolving(found.fget))
        elif isinstance(found, bool | int | float | str):
            extending.overload_attribute(struct, attribute, jit_options=INNER)(_constant(found))
    return struct


def __getattr__(name: str) -> Any:
    """Find the class of a type that was kept on disk."""
    module, _, qualname = name.partition(":")
    if not qualname:
        raise AttributeError(name)
    if name not in _FOUND:
        __import__(module.replace("-", "."))
        _struct_class(getattr(sys.modules[module.replace("-", ".")], qualname))
    return _FOUND[name]


def _add_attributes(struct: type[types.StructRef]) -> None:
    """Let compiled code read and write the attributes of a structure; members are named differently, as numba asks."""

    @extending.infer_getattr
    class Attributes(AttributeTemplate):
        key = struct

        def generic_resolve(self, kind: Any, name: str) -> types.Type | None:
            return kind.field_dict.get(_MEMBER + name)

    @extending.lower_getattr_generic(struct)
    def read(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
        member = getattr(structref._Utils(context, builder, kind).get_data_struct(value), _MEMBER + name)
        return imputils.impl_ret_borrowed(context, builder, kind.field_dict[_MEMBER + name], member)

    @extending.lower_setattr_generic(struct)
    def write(context: Any, builder: Any, signature: Any, args: Any, name: str) -> None:
        (kind, given), (value, new) = signature.args, args
        field = kind.field_dict[_MEMBER + name]
        if not isinstance(field, _WRITTEN_BACK):
            raise TypeError(f"compiled code cannot replace {name}, of type {field}")
        members = structref._Utils(context, builder, kind).get_data_struct(value)
        setattr(members, _MEMBER + name, context.cast(builder, new, given, field))


def _constant(value: Any) -> Callable[..., Any]:
    return lambda self: lambda self: value


def _resolving(source: FunctionType) -> Callable[..., FunctionType]:
    def resolve(*arguments: Any) -> FunctionType:
        return source

    # numba compares the two signatures.
    resolve.__signature__ = inspect.signature(source)  # type: ignore[attr-defined]
    return resolve


def _stand_in(method: FunctionType) -> FunctionType:
    """Return a function of the same parameters that raises; for numba's sake, it also has a result."""
    names = ", ".join(inspect.signature(method).parameters)
    error = "NotImplementedError('compiled code has called a method that is not compiled')"
    scope: dict[str, Any] = {"np": np, "__name__": __name__}
    exec(f"def stand_in({names}):\n    if len('raise') > 0:\n        raise {error}\n    return np.empty(0)", scope)
    made: FunctionType = scope["stand_in"]
    return made


def _make_callable(source: FunctionType) -> None:
    """Let compiled code call the plain functions of this package that a function names."""
    for name in source.__code__.co_names:
        found = source.__globals__.get(name)
        inner = isinstance(found, FunctionType) and found.__module__.startswith("budgetrun")
        if inner and found not in _CALLABLE:
            _CALLABLE.add(found)
            loop = getattr(loops, found.loop) if hasattr(found, "loop") else found
            called = _call_of(found) if hasattr(found, "apart") else loop
            # What names other functions cannot be kept.
            options = KEPT if called is loop is not loops.call else INNER
            extending.overload(found, jit_options=options)(_resolving(called))
            _make_callable(loop)


# -- functions apart --------------------------------------------------------------------------------------------------

# The sources of functions that are compiled apart, by title, and the folder of what is compiled.
_APART: dict[str, FunctionType] = {}
_FOLDER: list[Path] = []


@cache
def _apart(source: FunctionType) -> Any:
    if "." not in source.__qualname__:
        # Python may call it, too.
        return function(source, _FOLDER[0])
    with _kept_in(_FOLDER[0] / "inner"):
        return numba.njit(**KEPT)(source)


def _compiled_apart(source: FunctionType, kinds: tuple[types.Type, ...]) -> Any:
    _apart(source).compile(kinds)
    return _apart(source).overloads[kinds]


def address(title: str, kinds: tuple[types.Type, ...]) -> int:
    """Return the address of a function that is compiled apart, for arguments of some types."""
    found = _compiled_apart(_APART[title], kinds)
    return int(found.library.get_pointer_to_function(found.fndesc.llvm_func_name))


def _call_of(source: FunctionType) -> FunctionType:
    """Return a function that calls another by its address, which compiled code asks for at the first call.

    numba would compile the other one again with each caller.
    """
    title = objects.title_of(source)
    _APART[title] = source

    def typed(*given: Any) -> Any:
        kinds = tuple(map(types.unliteral, given))
        return signature(_compiled_apart(source, kinds).signature.return_type, *kinds), generate

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, result = signature.args, signature.return_type
        found = cgutils.add_global_variable(builder.module, cgutils.voidptr_t, f"address of {title}")
        found.linkage, found.initializer = "internal", ir.Constant(cgutils.voidptr_t, None)
        with builder.if_then(cgutils.is_null(builder, builder.load(found)), likely=False):
            api = context.get_python_api(builder)
            ask = api.unserialize(api.serialize_object(partial(address, title, kinds)))
            number = api.call_function_objargs(ask, [])
            with cgutils.if_unlikely(builder, cgutils.is_null(builder, number)):
                context.call_conv.return_exc(builder)
            builder.store(api.long_as_voidptr(number), found)
        pointer = context.call_conv.get_function_type(result, kinds).as_pointer()
        function = builder.bitcast(builder.load(found), pointer)
        status, value = context.call_conv.call_function(builder, function, result, kinds, args)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return value

    names = ", ".join(inspect.signature(source).parameters)
    scope: dict[str, Any] = {"typed": typed, "intrinsic": extending.intrinsic, "__name__": __name__}
    exec(f"@intrinsic\ndef called(typing, {names}):\n    return typed({names})", scope)
    exec(f"def call({names}):\n    return called({names})", scope)
    made: FunctionType = scope["call"]
    return made


def _unbox(kind: Any, thing: Any, c: Any) -> extending.NativeValue:
    """Read a Python object's attributes into a new structure."""
    data_type = kind.get_data_type()
    alloc = c.context.data_model_manager[data_type].get_value_type()
    meminfo = c.context.nrt.meminfo_alloc_dtor_unchecked(
        c.builder,
        c.context.get_constant(types.uintp, c.context.get_abi_sizeof(alloc)),
        imp_dtor(c.context, c.builder.module, kind),
    )
    data = c.builder.bitcast(c.context.nrt.meminfo_data(c.builder, meminfo), alloc.as_pointer())
    c.builder.store(cgutils.get_null_value(alloc), data)
    struct = c.context.make_helper(c.builder, kind)
    struct.meminfo = meminfo
    values = cgutils.create_struct_proxy(data_type)(c.context, c.builder, ref=data)
    error = cgutils.alloca_once_value(c.builder, cgutils.false_bit)
    for name, field in kind.field_dict.items():
        if name == _PARENT:
            setattr(values, name, thing)
            continue
        attribute = c.pyapi.object_getattr(thing, _name(c, name))
        native = c.pyapi.to_native_value(field, attribute)
        with c.builder.if_then(native.is_error, likely=False):
            c.builder.store(cgutils.true_bit, error)
        setattr(values, name, native.value)
        c.pyapi.decref(attribute)
    return extending.NativeValue(struct._getvalue(), is_error=c.builder.load(error))


def _name(c: Any, member: str) -> Any:
    """Return the name of an attribute as a Python string, which compiled code makes once."""
    name, module = member.removeprefix(_MEMBER), c.builder.module
    made = cgutils.add_global_variable(module, c.pyapi.pyobj, f"name of {name}")
    made.linkage, made.initializer = "internal", ir.Constant(c.pyapi.pyobj, None)
    with c.builder.if_then(cgutils.is_null(c.builder, c.builder.load(made)), likely=False):
        kind = ir.FunctionType(c.pyapi.pyobj, [cgutils.voidptr_t])
        intern = cgutils.get_or_insert_function(module, kind, "PyUnicode_InternFromString")
        c.builder.store(c.builder.call(intern, [c.context.insert_const_string(module, name)]), made)
    return c.builder.load(made)


def _write_back(kind: Any, value: Any, c: Any) -> None:
    """Write a structure's numbers back into the Python object that it was read from."""
    utils = structref._Utils(c.context, c.builder, kind)
    values = utils.get_data_struct(value)
    thing = getattr(values, _PARENT)
    for name, field in kind.field_dict.items():
        if isinstance(field, _WRITTEN_BACK):
            boxed = c.pyapi.from_native_value(field, getattr(values, name), c.env_manager)
            c.pyapi.object_setattr(thing, _name(c, name), boxed)
            c.pyapi.decref(boxed)
        elif isinstance(field, types.StructRef):
            c.pyapi.reflect_native_value(field, getattr(values, name), c.env_manager)
