"""Checked values of a config, and a list of the problems found."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from budgetrun.config.problems import ValueType, allowed_names, nearest, quoted, unknown_key
from budgetrun.config.yaml import Document, KeyPath, Problem

Values = dict[str, Any]
Check = Callable[[Any, KeyPath, ValueType], list[Any]]
# The problems that a message lists; a file with more is not checked further.
MOST_PROBLEMS = 100


class TooManyProblems(Exception):
    """A file has `MOST_PROBLEMS` problems."""


class Checker:
    """Checks the values of one document and collects what is wrong.

    Attributes
    ----------
    folder : Path
        The folder of the document, where the files that it names are.
    problems : list of Problem
    """

    def __init__(self, document: Document, folder: Path) -> None:
        self._document = document
        self.folder = folder
        self.problems = list(document.problems)

    def add(self, path: KeyPath, text: str) -> None:
        """Add a problem at a path; raise `TooManyProblems` if these are enough."""
        self.problems.append(Problem(self._document.line(path), path, text))
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
        values = {}
        for key, wanted in types.items():
            if key in data:
                value, problems = wanted.check(data[key])
                for inner, text in problems.items():
                    self.add((*path, key, *inner), text)
                if not problems:
                    values[key] = value
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
