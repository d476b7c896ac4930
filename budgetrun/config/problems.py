"""One value of a config: checked against an annotation, and what is wrong with it said in words."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable
from functools import cache, cached_property
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.errors import PydanticInvalidForJsonSchema

Schema = dict[str, Any]

_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="constants")


class Field:
    """A key's type, as an annotation that pydantic understands.

    Parameters
    ----------
    annotation : type
        E.g. ``Annotated[int, pydantic.Field(ge=1)]``.
    required : bool
        Whether the key must be given.
    """

    def __init__(self, annotation: Any, required: bool = True) -> None:
        self.annotation = annotation
        self.required = required

    @cached_property
    def _model(self) -> type[BaseModel]:
        return create_model("Checked", __config__=_STRICT, value=(self.annotation, ...))

    @cached_property
    def _schema(self) -> Schema:
        try:
            return self._model.model_json_schema()
        except PydanticInvalidForJsonSchema:
            return {"properties": {}}

    @property
    def wanted(self) -> str:
        """What the value must be, e.g. ``an integer >= 1``; empty where the annotation has no words."""
        return _words(self._at(("value",))[0], self._schema)

    @property
    def takes_lists(self) -> bool:
        """Whether a list can be a value, so that it is no sweep over values."""
        return any(s.get("type", "array") == "array" for s in _branches(self._at(("value",))[0], self._schema))

    @property
    def takes_formulas(self) -> bool:
        """Whether the value is a number and never text, so that text can be a formula for it."""
        kinds = self._kinds()
        return bool(kinds & {"integer", "number"}) and "string" not in kinds

    @property
    def is_whole(self) -> bool:
        """Whether a number must be an integer."""
        return "number" not in self._kinds()

    def _kinds(self) -> set[str]:
        return {s.get("type", "string") for s in _branches(self._at(("value",))[0], self._schema)}

    def check(self, value: Any) -> tuple[Any, dict[tuple[Any, ...], str]]:
        """Check a value.

        Parameters
        ----------
        value : plain data
            What the YAML holds: nothing is converted, but for an integer where a number is wanted.

        Returns
        -------
        value : plain data
            The checked value, as JSON would hold it; None if something is wrong.
        problems : dict
            Path within the value -> sentence.
        """
        try:
            # JSON is strict about numbers and text, but lets a list be a tuple and a text a path.
            model = self._model.model_validate_json(json.dumps({"value": value}))
        except ValidationError as error:
            problems: dict[tuple[Any, ...], str] = {}
            for item in error.errors(include_url=False):
                self._explain(dict(item), value, problems)
            return None, problems
        return model.model_dump(mode="json")["value"], {}

    def _explain(self, error: dict[str, Any], value: Any, problems: dict[tuple[Any, ...], str]) -> None:
        kind, loc = error["type"], error["loc"]
        missing_item = kind == "missing" and isinstance(loc[-1], int)
        schema, path = self._at(loc[:-1] if missing_item else loc)
        exact = len(path) == len(loc) - 1
        for key in path:
            value = value[key] if isinstance(value, list) else value.get(key)
        if kind == "value_error":
            # The annotation's own check says it best, also against the other branches of a union.
            problems[path] = str(error["ctx"]["error"])
        elif kind == "extra_forbidden" and exact:
            problems[path] = unknown_key(path[-1], self._keys(loc[:-1]))
        elif kind == "missing" and exact:
            problems[path] = f"missing; must be {_words(schema, self._schema)}"
        elif kind == "finite_number":
            problems[path] = f"must be a finite number, got {show(value)}"
        elif kind == "too_short" and problems:
            # Items that are wrong are not counted, and have been told.
            return
        else:
            words = _words(schema, self._schema) or f"valid ({error['msg']})"
            problems.setdefault(path, f"must be {words}, got {show(value)}")

    def _keys(self, loc: tuple[Any, ...]) -> list[str]:
        schema, _ = self._at(loc)
        return [key for branch in _branches(schema, self._schema) for key in branch.get("properties", {})]

    def _at(self, loc: tuple[Any, ...]) -> tuple[Schema, tuple[Any, ...]]:
        """Return the schema at an error's place and the path there, as far as it is the same for every value."""
        schema: Schema = self._schema
        path: list[Any] = []
        for key in loc:
            branches = _branches(schema, self._schema)
            if len(branches) != 1:
                break
            branch = branches[0]
            if isinstance(key, int):
                prefix = branch.get("prefixItems", [])
                step = prefix[key] if key < len(prefix) else branch.get("items", {})
            else:
                step = branch.get("properties", {}).get(key, branch.get("additionalProperties"))
            if step is None:
                break
            schema = step if isinstance(step, dict) else {}
            path.append(key)
        return schema, tuple(path[1:])


@cache
def fields_of(model: type[BaseModel]) -> dict[str, Field]:
    """Return the keys of a model that a file may give: all but the excluded ones."""
    hints = get_type_hints(model, include_extras=True)
    return {
        name: Field(hints[name], info.is_required()) for name, info in model.model_fields.items() if not info.exclude
    }


def show(value: Any) -> str:
    """Return a value as a message quotes it."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case list() | tuple():
            return "a list" if value else "an empty list"
        case dict():
            return "a mapping"
        case float() if not math.isfinite(value):
            return f".{abs(value)}" if value != -math.inf else "-.inf"
    return repr(value)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the known name that looks most like a word, or nothing."""
    lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), lower, n=1)
    return f"; did you mean {lower[close[0]]!r}?" if close else ""


def unknown(name: Any, known: Iterable[str]) -> str:
    """Return the sentence for a name that is none of the known ones."""
    return f"unknown {name!r}{nearest(name, known)}" if isinstance(name, str) else f"must be a name, got {show(name)}"


def unknown_key(key: Any, allowed: Iterable[str]) -> str:
    """Return the sentence for a key that does not belong."""
    allowed = list(allowed)
    listed = f"  (allowed: {', '.join(allowed)})" if allowed else ""
    return f"unknown key{nearest(str(key), allowed)}{listed}"


def _branches(schema: Schema, root: Schema) -> list[Schema]:
    """Return what a value may be, references followed and null left out."""
    if "$ref" in schema:
        return _branches(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return [branch for part in schema[key] for branch in _branches(part, root)]
    return [] if schema.get("type") == "null" else [schema]


def _words(schema: Schema, root: Schema) -> str:
    branches = _branches(schema, root)
    described = [schema["description"]] if "description" in schema else [_branch_words(b, root) for b in branches]
    return " or ".join(dict.fromkeys(described)) if all(described) else ""


def _branch_words(schema: Schema, root: Schema) -> str:
    if "description" in schema and schema.get("type") != "object":
        return str(schema["description"])
    if "const" in schema:
        return show(schema["const"])
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
        case "array" if "prefixItems" in schema:
            return f"a list of {len(schema['prefixItems'])}"
        case "array":
            items = _words(schema.get("items", {}), root)
            listed = "a list with at least one item" if schema.get("minItems") else "a list"
            return f"{listed}, each {items}" if items else listed
        case "object":
            return "a mapping (key: value)"
    return ""


def _range(schema: Schema) -> str:
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    limits = [f"{sign} {schema[key]:g}" for key, sign in signs.items() if key in schema]
    return f" {' and '.join(limits)}" if limits else ""
