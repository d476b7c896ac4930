"""Saving objects of this package to one file, and loading them, without pickle.

A file is a zip archive: one ``.npy`` member per array, so that `numpy.load` opens it too, and ``state.json`` with all
else. Reading creates objects of classes that are defined in this package, numpy arrays and plain Python values, and
runs no code that the file could choose.
"""

import inspect
import json
import math
import re
import zipfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

import budgetrun
from budgetrun.base.errors import InputError
from budgetrun.base.files import write
from budgetrun.base.moved import class_now
from budgetrun.engine import REVISION
from budgetrun.kernels import Kernel

# The packages and modules whose classes a file may name.
_PACKAGES = {"engine", "learners", "kernels", "base.params", "base.errors", "estimators", "play", "data.scaling"}
_PACKAGES |= {"fleet", "runner.live", "river"}
# The states in the results folders of `budgetrun run`: of a stream, and of one with a model per key.
STREAM_STATE, BY_STATE = "stream.state", "by.state"
_FORMAT = "budgetrun state 1"
# The first version whose files are read.
_OLDEST = (0, 2)
_JSON = "state.json"
_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
# Kinds of dtypes whose values are plain bytes: numbers, text, dates.
_PLAIN = "biufcSUMm"
_NAME = re.compile(r"(?!__)[^\W\d]\w*")
_PATH = re.compile(r"[a-zA-Z_]\w*(\.[a-zA-Z_]\w*)*")


def save_state(path: str | Path, obj: Any, **meta: Any) -> None:
    """Save an object, and all that it refers to, so that continuing after `load_state` gives the same bits.

    What can be saved are objects of this package (groups, hypotheses, learners, kernels, classifiers, ...), numpy
    arrays, scalars, dtypes and random generators, sparse rows, dicts, lists, tuples, sets, deques, text, numbers and
    None. An object that is referred to twice stays one object. ``meta`` are more of these, which `load_state` returns
    beside the object. The file is replaced as a whole or not at all.

    Raises InputError: something cannot be saved: a function, or an object of another package.
    Raises CannotWriteError: the file cannot be written.
    """
    writer = _Writer()
    content: dict[str, Any] = {"format": _FORMAT, "version": budgetrun.__version__}
    content |= {"root": writer.value(obj, "object"), "meta": writer.value(meta, "meta")}
    content |= {"nodes": writer.nodes, "revisions": _revisions(writer.things)}
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(_JSON, json.dumps(content, allow_nan=False))
        for i, array in enumerate(writer.arrays):
            with archive.open(f"{i}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    write(Path(path), file.getbuffer())


def load_state(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """Return the object that `save_state` saved, and its ``meta``.

    A file from somebody else cannot run code of its own, but it can hold numbers that make no sense.

    Raises InputError: the file is missing, damaged, or not a saved state; it names something outside this package; or
    it was saved by a version of this package with other results.
    """
    path = Path(path)
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            _check_sizes(archive, path.stat().st_size)
            content = json.loads(archive.read(_JSON), parse_constant=_refuse)
            if content["format"] != _FORMAT:
                raise ValueError("it has another format")
            _check_version(content["version"], path)
            reader = _Reader(archive, content["nodes"])
            obj, meta = reader.value(content["root"]), reader.value(content["meta"])
            _check_revisions(content["revisions"], _revisions(reader.things), content["version"], path)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except Exception as error:
        # Any error at all can come from a file that somebody made.
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{path}: not a file that budgetrun saved, or damaged ({reason})") from error
    return obj, meta


@contextmanager
def using(path: str | Path) -> Iterator[None]:
    """Turn the errors of what was loaded from a file into a sentence that names it: its numbers may make no sense."""
    try:
        yield
    except (InputError, OSError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"{path}: damaged or edited, because what it holds does not fit together ({type(error).__name__}: "
            f"{reason}); train again"
        ) from error


class _Writer:
    """Turns values into JSON: small ones in place, others as nodes, which are numbered and written once."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.arrays: list[np.ndarray] = []
        # Objects of this package; and every object with a number, so that its id is not given to another object.
        self.things: list[Any] = []
        self._kept: list[Any] = []
        self._numbers: dict[int, int | None] = {}

    def value(self, value: Any, where: str) -> Any:
        """Return a value as JSON; ``where`` says where it is, for messages."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return ["float", value.hex()]
        if isinstance(value, np.generic) and value.dtype.kind in _PLAIN:
            return ["scalar", value.dtype.str, value.tobytes().hex()]
        if isinstance(value, np.dtype) and value.kind in _PLAIN:
            return ["dtype", value.str]
        if isinstance(value, type) and (_is_ours(value) or _is_error(value)):
            return ["class", _title(value)]
        if id(value) not in self._numbers:
            self._kept.append(value)
            self._numbers[id(value)] = None
            self._node(value, where)
        number = self._numbers[id(value)]
        if number is None:
            raise InputError(f"{where}: cannot be saved: a {kind.__name__} that contains itself")
        return ["@", number]

    def _node(self, value: Any, where: str) -> None:
        """Write a node: those that can change before what they contain, the others after it."""
        kind = type(value)
        if kind is np.ndarray:
            self._array(value, where)
        elif kind in (list, deque):
            contents = self._begin(value, [kind.__name__, [], *([value.maxlen] if kind is deque else [])])[1]
            contents += self._values(value, where)
        elif kind is dict:
            pairs = self._begin(value, ["dict", []])[1]
            for key, item in value.items():
                pairs.append([self._hashed(key, where), self.value(item, f"{where}[{key!r}]")])
        elif kind in (set, frozenset):
            self._begin(value, [kind.__name__, [self._hashed(item, where) for item in value]])
        elif isinstance(value, tuple) and (kind is tuple or _is_ours(kind)):
            # Named tuples are tuples, too.
            title = None if kind is tuple else _title(kind)
            self._begin(value, ["tuple", self._values(value, where), title])
        elif kind in (np.random.Generator, np.random.RandomState):
            old = kind is np.random.RandomState
            state = value.get_state(legacy=False) if old else value.bit_generator.state
            self._begin(value, ["random", "RandomState" if old else state["bit_generator"], self.value(state, where)])
        elif kind is sp.csr_array:
            parts = [self.value(part, where) for part in (value.data, value.indices, value.indptr)]
            self._begin(value, ["csr", list(map(int, value.shape)), *parts])
        elif isinstance(value, Exception) and (_is_ours(kind) or _is_error(kind)):
            self._begin(value, ["error", _title(kind), list(map(str, value.args))])
        elif _is_ours(kind):
            self.things.append(value)
            attributes = self._begin(value, ["object", _title(kind), []])[2]
            # Attributes and slots that outlast a pickle.
            state = value.__getstate__()
            for part in state if isinstance(state, tuple) else (state,):
                for name, item in (part or {}).items():
                    attributes.append([name, self.value(item, f"{where}.{name}")])
        else:
            what = f"an object of {kind.__module__}.{kind.__qualname__}"
            raise InputError(f"{where}: cannot be saved: {what}, which is not of this package (pickle may work)")

    def _begin(self, value: Any, node: list[Any]) -> list[Any]:
        """Give a value its number and its node."""
        self._numbers[id(value)] = len(self.nodes)
        self.nodes.append(node)
        return node

    def _values(self, values: Any, where: str) -> list[Any]:
        return [self.value(item, f"{where}[{i}]") for i, item in enumerate(values)]

    def _hashed(self, value: Any, where: str) -> Any:
        if not _is_key(value):
            raise InputError(f"{where}: cannot be saved: a key that is neither text, a number nor a tuple of these")
        return self.value(value, where)

    def _array(self, array: np.ndarray, where: str) -> None:
        if array.dtype.kind in _PLAIN:
            self._begin(array, ["array", len(self.arrays)])
            self.arrays.append(array)
        elif array.dtype.kind == "O":
            self._begin(array, ["objects", list(array.shape), self._values(array.ravel().tolist(), where)])
        else:
            raise InputError(f"{where}: cannot be saved: an array of {array.dtype}")


class _Reader:
    """Creates the nodes: empty ones first, in their order, and then what they contain, so that nothing recurs."""

    def __init__(self, archive: zipfile.ZipFile, nodes: list[Any]) -> None:
        self.things: list[Any] = []
        self._archive = archive
        self._made: list[Any] = []
        for node in nodes:
            self._made.append(self._empty(*node))
        for node, made in zip(nodes, self._made, strict=True):
            self._fill(made, *node)

    def value(self, written: Any) -> Any:
        """Return a value that `_Writer.value` wrote."""
        if written is None or type(written) in (bool, int, str):
            return written
        kind, first, *rest = written
        match kind:
            case "@":
                if not 0 <= first < len(self._made):
                    raise ValueError("an item refers to one that is not there yet, or to itself")
                return self._made[first]
            case "float":
                return float.fromhex(first)
            case "scalar":
                return np.frombuffer(bytes.fromhex(rest[0]), _dtype(first), 1)[0]
            case "dtype":
                return _dtype(first)
            case "class":
                return _find(first)
        raise ValueError(f"unknown value {kind!r}")

    def _values(self, written: list[Any]) -> list[Any]:
        return [self.value(item) for item in written]

    def _empty(self, kind: str, *node: Any) -> Any:
        """Create a node; if it can change, what it contains comes later."""
        match kind, node:
            case "list", (_,):
                return []
            case "dict", (_,):
                return {}
            case "deque", (_, maxlen):
                return deque(maxlen=maxlen)
            case "array", (number,):
                return self._array(f"{number:d}.npy")
            case "objects", (shape, items):
                return np.array([None] * len(items), dtype=object).reshape(shape)
            case "set" | "frozenset", (items,):
                return (set if kind == "set" else frozenset)(map(_key, self._values(items)))
            case "tuple", (items, title):
                cls = tuple if title is None else _find(title)
                if not issubclass(cls, tuple):
                    raise ValueError(f"{title} is not a tuple")
                return tuple.__new__(cls, self._values(items))
            case "random", (name, _) if name in _GENERATORS:
                return np.random.Generator(getattr(np.random, name)(0))
            case "random", ("RandomState", _):
                return np.random.RandomState(0)
            case "csr", ((n, d), *parts):
                rows = sp.csr_array(tuple(map(self.value, parts)), shape=(n, d))
                rows.check_format(full_check=True)
                return rows
            case "error", (title, args):
                cls = _find(title)
                if not issubclass(cls, Exception):
                    raise ValueError(f"{title} is not an error")
                return cls.__new__(cls, *map(str, args))
            case "object", (title, _):
                thing = object.__new__(_find(title))
                self.things.append(thing)
                return thing
        raise ValueError(f"unknown item {kind!r}")

    def _fill(self, made: Any, kind: str, *node: Any) -> None:
        if kind in ("list", "deque"):
            made.extend(self._values(node[0]))
        elif kind == "random":
            state = self.value(node[1])
            if isinstance(made, np.random.RandomState):
                made.set_state(state)
            else:
                made.bit_generator.state = state
        elif kind == "dict":
            made.update((_key(self.value(key)), self.value(item)) for key, item in node[0])
        elif kind == "objects":
            for i, item in enumerate(self._values(node[1])):
                made.flat[i] = item
        elif kind == "object":
            _set_state(made, {name: self.value(item) for name, item in node[1]})

    def _array(self, name: str) -> np.ndarray:
        """Read an array, after comparing the shape that it declares with the bytes that are there."""
        formats, size = np.lib.format, self._archive.getinfo(name).file_size
        with self._archive.open(name) as member:
            old = formats.read_magic(member)[0] == 1
            shape, _, dtype = (formats.read_array_header_1_0 if old else formats.read_array_header_2_0)(member)
            found = size - member.tell()
            if dtype.kind not in _PLAIN or math.prod(shape) * dtype.itemsize != found:
                raise ValueError(f"{name} has {found:,} bytes, which are not an array of {dtype} of shape {shape}")
            member.seek(0)
            return formats.read_array(member, allow_pickle=False)


def _is_known(module: str) -> bool:
    """Return whether a module is in one of the packages whose classes a file may name."""
    return any(f"{module}.".startswith(f"budgetrun.{package}.") for package in _PACKAGES)


def _is_ours(cls: type) -> bool:
    return _is_known(cls.__module__) and "<" not in cls.__qualname__


def _is_error(cls: type) -> bool:
    return issubclass(cls, BaseException) and cls.__module__ == "builtins"


def _title(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _find(title: str) -> type[Any]:
    """Return the class with this title, if a file may name it."""
    refused = ValueError(f"it names {title!r}, which is not a class of this version of budgetrun")
    module, name = class_now(title)
    ours = _is_known(module) and _PATH.fullmatch(module) and _PATH.fullmatch(name)
    if module != "builtins" and not ours:
        raise refused
    try:
        found: Any = import_module(module)
    except ModuleNotFoundError:
        raise refused from None
    except ImportError as error:
        raise InputError(str(error)) from None
    for part in name.split("."):
        found = vars(found).get(part)
        if not isinstance(found, type | ModuleType):
            raise refused
    # It has another name or module if it has been renamed, or has moved and is imported where it was.
    if not isinstance(found, type) or not (_is_ours(found) or _is_error(found)):
        raise refused
    return found


def _set_state(thing: Any, state: dict[str, Any]) -> None:
    """Set the attributes of an object, none of which may have the name of a method or property of the class."""
    cls = type(thing)
    if (own := getattr(cls, "__setstate__", None)) is not None and own.__module__.startswith("budgetrun."):
        own(thing, state)
        return
    for name, value in state.items():
        known = inspect.getattr_static(cls, name, None)
        slot = inspect.ismemberdescriptor(known)
        if not _NAME.fullmatch(name) or (not slot and (callable(known) or hasattr(type(known), "__get__"))):
            raise ValueError(f"{cls.__qualname__} has no attribute {name!r} to set")
        if slot:
            object.__setattr__(thing, name, value)
        else:
            thing.__dict__[name] = value


def _is_key(value: Any) -> bool:
    kinds = (bool, int, float, str, np.generic)
    return value is None or isinstance(value, kinds) or (type(value) is tuple and all(map(_is_key, value)))


def _key(value: Any) -> Any:
    if not _is_key(value):
        raise ValueError("a key is neither text, a number nor a tuple of these")
    return value


def _dtype(text: str) -> np.dtype[Any]:
    if not isinstance(text, str) or (dtype := np.dtype(text)).kind not in _PLAIN:
        raise ValueError(f"unknown type of numbers {text!r}")
    return dtype


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it has the number {constant}")


def _check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse what would take more memory than the file has bytes."""
    members = archive.infolist()
    stored = all(member.compress_type == zipfile.ZIP_STORED for member in members)
    if not stored or sum(member.file_size for member in members) > size:
        raise ValueError("its parts are larger than the file")


def _check_version(saved: str, path: Path) -> None:
    """Refuse a file of a later version, or of one that is too old: its objects may have had other attributes."""
    now = budgetrun.__version__
    release, latest = (tuple(map(int, str(version).split(".")[:2])) for version in (saved, now))
    if not _OLDEST <= release <= latest:
        raise InputError(
            f"{path}: saved by budgetrun {saved}, and this is {now}, which cannot read it: train again, or "
            f"pip install budgetrun=={saved}"
        )


def _part_now(part: str) -> str:
    """Return the present name of a part with a revision: a class, which may have moved, and perhaps a setting."""
    title, *setting = part.split(" ", 1)
    return part if ":" not in title else " ".join([_title(_find(title)), *setting])


def _revisions(things: list[Any]) -> dict[str, int]:
    """Return the revisions that the results of these objects depend on."""
    found = {"engine": REVISION}
    kernels = {thing.name for thing in things if isinstance(thing, Kernel)}
    for thing in things:
        cls = type(thing)
        if isinstance(revision := getattr(cls, "revision", None), int):
            found[_title(cls)] = revision
        for (name, value), revision in getattr(cls, "revised", {}).items():
            if value in kernels if name == "kernel" else thing.__dict__.get(name) == value:
                found[f"{_title(cls)} {name}={value}"] = revision
    return dict(sorted(found.items()))


def _check_revisions(saved: Any, now: dict[str, int], version: str, path: Path) -> None:
    if not isinstance(saved, dict):
        raise ValueError("no revisions")
    saved = {_part_now(part): revision for part, revision in saved.items()}
    changed = [name for name in sorted({*saved, *now}) if saved.get(name) != now.get(name)]
    # The present revision of a class continues the objects of some earlier ones.
    changed = [
        name
        for name in changed
        if ":" not in name or saved.get(name) not in getattr(_find(name.partition(" ")[0]), "continues", ())
    ]
    if not changed:
        return
    parts = ", ".join(f"{name}: {saved.get(name)}, now {now.get(name)}" for name in changed)
    raise InputError(
        f"{path}: saved by budgetrun {version} with revisions of code that give other results ({parts}): train again"
    )
