"""Strict YAML: no key twice, numbers and booleans as in YAML 1.2, bounded sizes, and the line of every value."""

import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from budgetrun.base.errors import CONTROL, InputError, clipped, printable

KeyPath = tuple[Any, ...]

_TAG = "tag:yaml.org,2002:"
_LONGEST_SENTENCE = 1000
shortened = partial(clipped, most=60)  # the beginning of a long text, for a message
# The most of a file: bytes, which also limit the characters of its keys and values; keys and values, with those of an
# alias counted each time that it is used; and levels of nesting.
MOST_BYTES = 1_000_000
MOST_VALUES = 50_000
MOST_LEVELS = 30


class Mistake(NamedTuple):
    """Something wrong in a file: the line (from 1), the path of the value, and a sentence."""

    line: int
    path: KeyPath
    text: str

    @property
    def said(self) -> str:
        """The path and the sentence, on one line."""
        where = dotted(self.path)
        text = self.text if len(self.text) <= _LONGEST_SENTENCE else f"{self.text[:_LONGEST_SENTENCE]}..."
        return (f"{where}: {text}" if where else text).replace("\n", "\\n")

    def __str__(self) -> str:
        return f"{self.line}: {self.said}"


@dataclass(frozen=True)
class Document:
    """The content of a YAML text."""

    data: Any  # plain data; None if the text is not YAML. If a key is given twice, its first value counts.
    # The line (from 1) of each value by its path, e.g. ``("algorithms", 1, "budget")``: the line of its key, or the
    # line where an item of a list begins.
    lines: dict[KeyPath, int]
    # Every duplicate key and every tag, or the one place where the text is not YAML.
    problems: list[Mistake] = field(default_factory=list)

    def line(self, path: KeyPath) -> int:
        """Return the line of a path, or of the nearest value around it if the path does not exist."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def dotted(path: KeyPath) -> str:
    """Return a path in the usual notation: ``("algorithms", 1, "budget")`` is ``algorithms[1].budget``."""
    keys = (f"[{key}]" if isinstance(key, int) else f".{shortened(str(key))}" for key in path)
    return "".join(keys).removeprefix(".")


def read_text(path: Path) -> str:
    """Return the text of a file; an InputError says that it is none, too large, not UTF-8, or cannot be read."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"{path}: is a folder; name a file in it")
        if not stat.S_ISREG(mode):
            # Reading it might never end.
            raise InputError(f"{path}: is a pipe or a device; name a file")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if len(content) > MOST_BYTES:
        raise InputError(f"{path}: is larger than {MOST_BYTES:,} bytes, the most for such a file")
    if b"\0" in content and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path}: is a binary file, not YAML text; name another file")
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from None


def load(path: Path) -> Any:
    """Return the data of a YAML file; an InputError has one line per problem."""
    document = parse(read_text(path))
    if document.problems:
        raise InputError("\n".join(f"{path}:{problem}" for problem in document.problems))
    return document.data


def parse(text: str) -> Document:
    """Read one YAML document. Nothing is raised: the document's `problems` list what is wrong.

    ``1e-3`` is a number; ``on``, ``yes`` and dates are text; only ``true`` and ``false`` are booleans. Anchors and
    aliases are allowed; tags, complex keys, merge keys, control characters and integers beyond 64 bits are not.
    """
    builder = _Builder()
    try:
        node = yaml.compose(text, Loader=_Loader)
        data = None if node is None else builder.build(node, (), ())
    except yaml.MarkedYAMLError as error:
        return Document(None, {}, [_syntax_problem(error)])
    except yaml.reader.ReaderError as error:
        what = f"not valid YAML: character #x{error.character:04x} is not allowed"
        return Document(None, {}, [Mistake(text.count("\n", 0, error.position) + 1, (), what)])
    except _TooMuch as excess:
        return Document(None, {}, [Mistake(excess.line, (), str(excess))])
    return Document(data, builder.lines, builder.problems)


class _TooMuch(Exception):
    """A file has more of something than it may."""

    def __init__(self, node_or_event: Any, what: str) -> None:
        super().__init__(what)
        self.line = _line(node_or_event)


def _integer(text: str) -> int:
    # Python does not convert more than 4,300 digits.
    value = 2**63 if len(text) > 4300 else int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if not -(2**63) <= value < 2**63:
        raise OverflowError
    return value


# YAML 1.2's core schema, as PyYAML has that of 1.1: the pattern of each type, its first characters, its conversion.
_SCALARS: dict[str, tuple[str, list[str], Callable[[str], Any]]] = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""], lambda text: None),
    "bool": (r"true|True|TRUE|false|False|FALSE", [*"tTfF"], lambda text: {"true": True, "false": False}[text.lower()]),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", [*"-+0123456789"], _integer),
    "float": (
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        [*"-+.0123456789"],
        lambda text: float(text.lower().replace(".inf", "inf").replace(".nan", "nan")),
    ),
}
_CONVERT: dict[str, Callable[[str], Any]] = {_TAG + name: row[2] for name, row in _SCALARS.items()}
_CONVERT[f"{_TAG}str"] = str


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012
    _values = _levels = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._values += 1
        self._levels += 1
        if self._values > MOST_VALUES or self._levels > MOST_LEVELS:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise _TooMuch(event, _TOO_DEEP if self._levels > MOST_LEVELS else _TOO_MANY)
        node = super().compose_node(parent, index)
        self._levels -= 1
        return node


_TOO_MANY = f"has more than {MOST_VALUES:,} values and keys, those of an alias counted each time that it is used"
_TOO_DEEP = f"is nested more than {MOST_LEVELS} levels deep"
_TOO_LONG = f"has more than {MOST_BYTES:,} characters, those of an alias counted each time that it is used"


class Plain(yaml.SafeDumper):
    """Writes no aliases, and in quotes what would be read here as another type than text, such as a name ``1e5``."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


for _name, (_pattern, _first, _) in _SCALARS.items():
    for _user in (_Loader, Plain):
        _user.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})\Z"), _first)


class _Builder:
    """Turns YAML nodes into plain data and notes the line of every path."""

    def __init__(self) -> None:
        self.lines: dict[KeyPath, int] = {(): 1}
        self.problems: list[Mistake] = []
        self._values = self._characters = 0

    def build(self, node: yaml.Node, path: KeyPath, parents: tuple[yaml.Node, ...]) -> Any:
        if any(node is parent for parent in parents):
            return self._add(node, path, "this alias stands for something that contains it")
        self._values += 1
        if self._values > MOST_VALUES:
            raise _TooMuch(node, _TOO_MANY)
        if len(parents) > MOST_LEVELS:
            raise _TooMuch(node, _TOO_DEEP)
        parents = (*parents, node)
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node, path, parents)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            items = []
            for index, item in enumerate(node.value):
                here = (*path, index)
                self.lines[here] = _line(item)
                items.append(self.build(item, here, parents))
            return items
        if isinstance(node, yaml.ScalarNode):
            self._characters += len(node.value)
            if self._characters > MOST_BYTES:
                raise _TooMuch(node, _TOO_LONG)
            if CONTROL.search(node.value):
                return self._add(node, path, f"'{printable(shortened(node.value))}' has a control character; remove it")
            try:
                return _CONVERT[node.tag](node.value)
            except OverflowError:
                return self._add(node, path, f"{shortened(node.value)} is not an integer of at most 64 bits")
            except (KeyError, ValueError):
                pass
        tag = node.tag.replace(_TAG, "!!")
        return self._add(node, path, f"tag {shortened(tag)!r} cannot be used here; write the plain value")

    def _mapping(self, node: yaml.MappingNode, path: KeyPath, parents: tuple[yaml.Node, ...]) -> dict[Any, Any]:
        mapping: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._add(key_node, path, "a key must be text or a number")
                continue
            key = self.build(key_node, path, parents)
            here = (*path, key)
            if key in mapping:
                self._add(key_node, here, f"key given twice, first on line {self.lines[here]}")
                continue
            self.lines[here] = _line(key_node)
            mapping[key] = self.build(value_node, here, parents)
        return mapping

    def _add(self, node: yaml.Node, path: KeyPath, text: str) -> Any:
        """Add a problem; the value in its place is None."""
        self.problems.append(Mistake(_line(node), path, text))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _syntax_problem(error: yaml.MarkedYAMLError) -> Mistake:
    mark = error.problem_mark or error.context_mark
    text = f"not valid YAML: {shortened(error.problem or error.context or '')}"
    if "'\\t'" in text:
        text += "; indent with spaces, not tabs"
    if error.context and error.problem and error.context_mark:
        text += f" ({error.context} that begins on line {error.context_mark.line + 1})"
    return Mistake(mark.line + 1 if mark else 1, (), text)
