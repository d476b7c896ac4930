"""Checks the values of a config against type annotations, and explains each mistake in a sentence."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from budgetrun.config.yaml import Document, KeyPath, Mistake, shortened

Schema = dict[str, Any]

_STRICT = ConfigDict(strict=True, allow_inf_nan=False, ser_json_inf_nan="constants")


class ValueType:
    """The type of a key's value, as an annotation that pydantic understands: ``Annotated[int, pydantic.Field(ge=1)]``.

    A key that is ``required`` must be given.
    """

    def __init__(self, annotation: Any, required: bool = True) -> None:
        self._annotation = annotation
        self.required = required

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self._annotation, config=_STRICT)

    @cached_property
    def _schema(self) -> Schema:
        return self._adapter.json_schema()

    @property
    def _kinds(self) -> set[str]:
        return {branch.get("type", "any") for branch in _branches(self._schema)}

    @property
    def wanted(self) -> str:
        """Description of good values, e.g. ``an integer >= 1``; empty if the annotation cannot be put into words."""
        return _words(self._schema)

    @property
    def takes_lists(self) -> bool:
        """True if the value can be a list, so that a list is not a sweep over values."""
        return bool(self._kinds & {"array", "any"})

    @property
    def takes_formulas(self) -> bool:
        """True if the value is a number and never text, so that a text can be a formula."""
        return bool(self._kinds & {"integer", "number"}) and not self._kinds & {"string", "any"}

    @property
    def is_whole(self) -> bool:
        """True if a number must be an integer."""
        return "number" not in self._kinds

    def check(self, value: Any) -> tuple[Any, dict[tuple[Any, ...], str]]:
        """Return a checked value of YAML, as JSON would hold it, and sentences by their paths within the value.

        Nothing is converted, except an integer where a number is wanted. If something is wrong, the value is None.
        """
        try:
            # Strict JSON: numbers and text stay apart, but a list can be a tuple and a text can be a path.
            checked = self._adapter.validate_json(json.dumps(value))
        except ValidationError as error:
            problems: dict[tuple[Any, ...], str] = {}
            for item in error.errors(include_url=False):
                self._explain(dict(item), value, problems)
            return None, problems
        return self._adapter.dump_python(checked, mode="json"), {}

    def _explain(self, error: dict[str, Any], value: Any, problems: dict[tuple[Any, ...], str]) -> None:
        """Add the sentence for an error of pydantic, at the innermost value that is in every branch of a union."""
        schema: Schema = self._schema
        path: tuple[Any, ...] = ()
        for key in error["loc"]:
            branches = _branches(schema)
            inner = branches[0].get("items" if isinstance(key, int) else "additionalProperties")
            if len(branches) != 1 or inner is None:
                break
            schema = inner if isinstance(inner, dict) else {}
            value = value[key] if isinstance(value, list) else value.get(key)
            path = (*path, key)
        if error["type"] == "value_error":
            # The annotation's own check explains it best, also among the branches of a union.
            problems[path] = str(error["ctx"]["error"])
        elif error["type"] == "finite_number":
            problems[path] = f"must be a finite number, got {quoted(value)}"
        elif error["type"] != "too_short" or not problems:
            # Items with an error of their own do not count towards the length.
            wanted = _words(schema) or f"valid ({error['msg']})"
            problems.setdefault(path, f"must be {wanted}, got {quoted(value)}")


@cache
def value_types(model: type[BaseModel]) -> dict[str, ValueType]:
    """Return the keys of a model that a file may give: all except the excluded ones."""
    hints = get_type_hints(model, include_extras=True)
    keys = {name: info for name, info in model.model_fields.items() if not info.exclude}
    return {name: ValueType(hints[name], info.is_required()) for name, info in keys.items()}


def quoted(value: Any) -> str:
    """Return a value as a message quotes it."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case str():
            return repr(shortened(value))
        case list() | tuple():
            return "a list" if value else "an empty list"
        case dict():
            return "a mapping"
        case float() if not math.isfinite(value):
            return f".{abs(value)}" if value != -math.inf else "-.inf"
    return repr(value)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` with the known name that is most similar to a word, or an empty text."""
    lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), lower, n=1)
    return f"; did you mean {lower[close[0]]!r}?" if close else ""


def unknown(name: Any, known: Iterable[str]) -> str:
    """Return the sentence for a name that is not among the known ones."""
    if not isinstance(name, str):
        return f"must be a name, got {quoted(name)}"
    return f"unknown {quoted(name)}{nearest(name, known)}"


def unknown_key(key: Any, allowed: Collection[str]) -> str:
    """Return the sentence for a key that is not allowed."""
    return f"unknown key{nearest(str(key), allowed)}{allowed_names(allowed)}"


def allowed_names(names: Iterable[str]) -> str:
    """Return ``  (allowed: a, b)`` for the end of a message; empty if there are no names."""
    listed = ", ".join(names)
    return f"  (allowed: {listed})" if listed else ""


def _branches(schema: Schema) -> list[Schema]:
    """Return the alternatives of a union, null left out."""
    return [branch for branch in schema.get("anyOf", [schema]) if branch.get("type") != "null"]


def _words(schema: Schema) -> str:
    described = [schema["description"]] if "description" in schema else [_branch_words(b) for b in _branches(schema)]
    return " or ".join(dict.fromkeys(described)) if all(described) else ""


def _branch_words(schema: Schema) -> str:
    if "description" in schema:
        return str(schema["description"])
    if "const" in schema:
        return quoted(schema["const"])
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    match schema.get("type"):
        case "integer":
            return f"an integer{_range(schema)}"
        case "number":
            return f"a number{_range(schema)}"
        case "boolean":
            return "true or false"
        case "string":
            return "text that is not empty" if schema.get("minLength") else "text"
        case "array":
            items = _words(schema.get("items", {}))
            listed = "a list with at least one item" if schema.get("minItems") else "a list"
            return f"{listed}, each {items}" if items else listed
        case "object":
            return "a mapping (key: value)"
    return ""


def _range(schema: Schema) -> str:
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    limits = [f"{sign} {schema[key]:g}" for key, sign in signs.items() if key in schema]
    return f" {' and '.join(limits)}" if limits else ""


def _one_line(name: str) -> str:
    if len(name) > _MOST_LETTERS or not name.strip() or "\n" in name:
        raise ValueError(f"must be one line of at most {_MOST_LETTERS} characters, got {quoted(name)}")
    return name


def _not_a_device(name: str) -> str:
    if re.fullmatch("con|prn|aux|nul|(com|lpt)[0-9]", name):
        raise ValueError(f"{name!r} is a device on some systems, and cannot name a file; choose another name")
    return name


_MOST_LETTERS = 100
Text = Annotated[str, Field(min_length=1)]
# The name of a dataset or an algorithm in tables and figures; file names contain it in the form of `plotting.slug`.
Name = Annotated[Text, AfterValidator(_one_line)]
FileName = Annotated[
    str,
    Field(pattern=r"^[a-z0-9_-]+$", description="a name made of lower-case letters, digits, '_' and '-'"),
    AfterValidator(_one_line),
    AfterValidator(_not_a_device),
]

Values = dict[str, Any]
Check = Callable[[Any, KeyPath, ValueType], list[Any]]
MOST_PROBLEMS = 100  # the problems that a message lists; a file with more is not checked further


class TooManyProblems(Exception):
    """A file has `MOST_PROBLEMS` problems."""


class Checker:
    """Checks the values of one document and collects what is wrong."""

    def __init__(self, document: Document, folder: Path) -> None:
        self._document = document
        self.folder = folder  # of the document, where the files that it names are
        self.problems = list(document.problems)

    def add(self, path: KeyPath, text: str) -> None:
        """Add a problem at a path; raise `TooManyProblems` if these are enough."""
        self.problems.append(Mistake(self._document.line(path), path, text))
        if len(self.problems) >= MOST_PROBLEMS:
            raise TooManyProblems

    def values(self, data: Any, path: KeyPath, types: Mapping[str, ValueType]) -> Values:
        """Return the good values of a mapping; add unknown keys, missing keys and bad values to the problems."""
        if not isinstance(data, dict):
            self.add(path, f"must be a mapping (key: value), got {quoted(data)}")
            return {}
        for key in data:
            if key not in types:
                self.add((*path, key), unknown_key(key, types))
        values: Values = {}
        for key, wanted in types.items():
            if key in data:
                values.update((key, value) for value in self.checked(data[key], (*path, key), wanted))
            elif wanted.required:
                self.add((*path, key), f"missing; must be {wanted.wanted}")
        return values

    def sweep(self, value: Any, path: KeyPath, wanted: ValueType, check: Check) -> list[Any]:
        """Return the good values of a value or a list of values to sweep over; add the others to the problems.

        ``check`` returns a list of a single value, empty if it is wrong, and then adds to the problems.
        """
        if not isinstance(value, list) or wanted.takes_lists:
            return check(value, path, wanted)
        if not value:
            self.add(path, f"must be {wanted.wanted}, or a list with at least one such value, got an empty list")
        found: list[Any] = []
        written: set[str] = set()
        for i, item in enumerate(value):
            for good in check(item, (*path, i), wanted):
                if json.dumps(good) in written:
                    self.add((*path, i), f"{quoted(good)} is in this list twice")
                written.add(json.dumps(good))
                found.append(good)
        return found

    def checked(self, value: Any, path: KeyPath, wanted: ValueType) -> list[Any]:
        """Return a list of a value, empty if it is wrong."""
        good, problems = wanted.check(value)
        for inner, text in problems.items():
            self.add((*path, *inner), text)
        return [] if problems else [good]

    def unique(self, names: list[str | None], section: str, key: str) -> Collection[str] | None:
        """Return the names, each once; None if one of them is unknown. Names given twice are problems."""
        first: dict[str, int] = {}
        for i, name in enumerate(names):
            if name is not None and first.setdefault(name, i) != i:
                text = f"{key} {name!r} is already used by {section}[{first[name]}]; give this entry a {key} of its own"
                self.add((*section.split("."), i, key), text)
        return None if None in names else first

    def labels_of(self, values: Values, path: KeyPath, **labels: Labels) -> None:
        """Check the labels that some keys of a mapping give, each among those that it may name."""
        for key, known in labels.items():
            self.labels_exist((*path, key), values.get(key), known)

    def labels_exist(self, path: KeyPath, given: str | list[str] | None, labels: Labels) -> None:
        """Check that each given label (one or a list) belongs to an entry."""
        for i, label in enumerate(given if isinstance(given, list) else [given]):
            here = (*path, i) if isinstance(given, list) else path
            if label is not None and labels.known is not None and label not in labels.known:
                advice = f"{nearest(label, labels.known)}{allowed_names(labels.known)}"
                self.add(here, f"no {labels.kind} has the label {label!r}{advice}")


class Labels(NamedTuple):
    """The labels that a report may name; ``known`` is None if an entry is too wrong to have one."""

    kind: str
    known: Collection[str] | None
