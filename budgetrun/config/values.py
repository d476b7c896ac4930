"""What reading any part of a config needs: checked values, and a list of what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from budgetrun.config.problems import Field, nearest, show, unknown_key
from budgetrun.config.yaml import Document, KeyPath, Problem

Values = dict[str, Any]


class Walk:
    """A walk over the data of one document, which collects what is wrong.

    Attributes
    ----------
    folder : Path
        Where the files are that the document names.
    problems : list of Problem
    """

    def __init__(self, document: Document, folder: Path) -> None:
        self._document = document
        self.folder = folder
        self.problems = list(document.problems)

    def add(self, path: KeyPath, text: str) -> None:
        """Tell that something is wrong at a place."""
        self.problems.append(Problem(self._document.line(path), path, text))

    def values(self, data: Any, path: KeyPath, fields: Mapping[str, Field]) -> Values:
        """Return the good values of a mapping; tell keys that are unknown, missing or have bad values."""
        if not isinstance(data, dict):
            self.add(path, f"must be a mapping (key: value), got {show(data)}")
            return {}
        for key in data:
            if key not in fields:
                self.add((*path, key), unknown_key(key, fields))
        values = {}
        for key, field in fields.items():
            if key in data:
                value, problems = field.check(data[key])
                for inner, text in problems.items():
                    self.add((*path, key, *inner), text)
                if not problems:
                    values[key] = value
            elif field.required:
                self.add((*path, key), f"missing; must be {field.wanted}")
        return values

    def unique(self, names: list[str | None], section: str, key: str) -> list[str] | None:
        """Tell names given twice; return the names, or None if one of them cannot be told."""
        first: dict[str, int] = {}
        for i, name in enumerate(names):
            if name is not None and first.setdefault(name, i) != i:
                advice = f"give this entry a {key} of its own"
                text = f"{key} {name!r} is already used by {section}[{first[name]}]; {advice}"
                self.add((*section.split("."), i, key), text)
        return None if None in names else list(first)

    def refer(self, path: KeyPath, given: Any, names: Names) -> None:
        """Tell labels that no entry has; one label or a list of them."""
        for i, name in enumerate(given if isinstance(given, list) else [given]):
            here = (*path, i) if isinstance(given, list) else path
            if name is not None and names.known is not None and name not in names.known:
                self.add(here, f"no {names.kind} has the label {name!r}{nearest(name, names.known)}{names.listed}")


class Names:
    """The labels that a report may name; ``known`` is None where an entry is too wrong to have one."""

    def __init__(self, kind: str, known: list[str] | None) -> None:
        self.kind = kind
        self.known = known

    @property
    def listed(self) -> str:
        """The labels for the end of a message."""
        return f"  (allowed: {', '.join(self.known)})" if self.known else ""
