"""YAML read strictly: no key twice, numbers and booleans as YAML 1.2 has them, and the line of every value."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

KeyPath = tuple[Any, ...]

_TAG = "tag:yaml.org,2002:"


class Problem(NamedTuple):
    """Something wrong in a file: the line (from 1), the path of the value, and a sentence."""

    line: int
    path: KeyPath
    text: str

    def __str__(self) -> str:
        where = dotted(self.path)
        return f"{self.line}: {where}: {self.text}" if where else f"{self.line}: {self.text}"


@dataclass(frozen=True)
class Document:
    """What a YAML text holds.

    Attributes
    ----------
    data : dict, list, str, int, float, bool or None
        The content as plain data; None if the text is no YAML at all (`problems` says why). Of a key given twice the
        first value stands.
    lines : dict
        The line (from 1) of each value by its path, e.g. ``("algorithms", 1, "budget")``: the line of its key, or
        where an item of a list begins.
    problems : list of Problem
        Every duplicate key, every tag, or the one place where the text stops being YAML.
    """

    data: Any
    lines: dict[KeyPath, int]
    problems: list[Problem] = field(default_factory=list)

    def line(self, path: KeyPath) -> int:
        """Return the line of a path; of what holds it, if it is not there itself."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def dotted(path: KeyPath) -> str:
    """Return a path as people write it: ``("algorithms", 1, "budget")`` is ``algorithms[1].budget``."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")


def parse(text: str) -> Document:
    """Read one YAML document; nothing is raised, what is wrong stands in the document's `problems`.

    ``1e-3`` is a number, ``on`` and ``yes`` and dates are text, only ``true`` and ``false`` are booleans. Anchors and
    aliases are allowed; tags, complex keys and merge keys are not.
    """
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        return Document(None, {}, [_syntax_problem(error)])
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        text = f"not valid YAML: character #x{error.character:04x} is not allowed"
        return Document(None, {}, [Problem(line, (), text)])
    builder = _Builder()
    data = None if node is None else builder.build(node, (), ())
    return Document(data, builder.lines, builder.problems)


class _Loader(yaml.SafeLoader):
    # YAML 1.2's core schema instead of PyYAML's 1.1.
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012


for _name, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})\Z"), _first)


class _Builder:
    """Plain data from YAML nodes, with the line of every path."""

    def __init__(self) -> None:
        self.lines: dict[KeyPath, int] = {(): 1}
        self.problems: list[Problem] = []

    def build(self, node: yaml.Node, path: KeyPath, holders: tuple[yaml.Node, ...]) -> Any:
        if any(node is holder for holder in holders):
            self._note(node, path, "this alias stands for something that contains it")
            return None
        holders = (*holders, node)
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node, path, holders)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            items = []
            for index, item in enumerate(node.value):
                here = (*path, index)
                self.lines[here] = _line(item)
                items.append(self.build(item, here, holders))
            return items
        if isinstance(node, yaml.ScalarNode):
            try:
                return _scalar(node)
            except (KeyError, ValueError):
                pass
        tag = node.tag.replace(_TAG, "!!")
        self._note(node, path, f"tag {tag!r} cannot be used here; write the plain value")
        return None

    def _mapping(self, node: yaml.MappingNode, path: KeyPath, holders: tuple[yaml.Node, ...]) -> dict[Any, Any]:
        mapping: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._note(key_node, path, "a key must be text or a number")
                continue
            key = self.build(key_node, path, holders)
            here = (*path, key)
            if key in mapping:
                self._note(key_node, here, f"key given twice, first on line {self.lines[here]}")
                continue
            self.lines[here] = _line(key_node)
            mapping[key] = self.build(value_node, here, holders)
        return mapping

    def _note(self, node: yaml.Node, path: KeyPath, text: str) -> None:
        self.problems.append(Problem(_line(node), path, text))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _scalar(node: yaml.ScalarNode) -> Any:
    text: str = node.value
    match node.tag.removeprefix(_TAG):
        case "str":
            return text
        case "null":
            return None
        case "bool":
            return {"true": True, "false": False}[text.lower()]
        case "int":
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        case "float":
            special = text.lower().lstrip("+-").removeprefix(".")
            if special == "inf":
                return -math.inf if text.startswith("-") else math.inf
            return float(special if special == "nan" else text)
    raise KeyError(node.tag)


def _syntax_problem(error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    text = f"not valid YAML: {error.problem or error.context}"
    if "'\\t'" in text:
        text += "; indent with spaces, not tabs"
    if error.context and error.problem and error.context_mark:
        text += f" ({error.context} that begins on line {error.context_mark.line + 1})"
    return Problem(mark.line + 1 if mark else 1, (), text)
