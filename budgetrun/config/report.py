"""Reads the report of a config: tables, figures, choices and findings."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from budgetrun.base.params.expressions import Formula
from budgetrun.base.problem import Problem
from budgetrun.config.kinds import RunKind
from budgetrun.config.problems import Checker, Labels, Values, ValueType, nearest, quoted, value_types
from budgetrun.config.published import read_published, sd_column
from budgetrun.config.quantities import METRICS
from budgetrun.config.schema import (
    FIGURE_AXES,
    AlgorithmSpec,
    ChooseSpec,
    FigureSpec,
    FindingSpec,
    FractionBudget,
    NumberSpec,
    Published,
    ReportSpec,
    TableSpec,
)
from budgetrun.config.yaml import KeyPath

_LIST = ValueType(list[Any] | None, required=False)
_MAPPING = ValueType(dict[str, Any] | None, required=False)

# A number in a text.
IN_BRACES = r"\{(\w+)\}"

_OF_TESTS = ("test_error", "last_test_error")
# The quantities of a table for learners of classes, and for regression learners; the first is the default.
_OF_CLASSES = ("online_error", "support_size", "margin_updates", *_OF_TESTS, "seconds", "seconds_ratio", *METRICS)
_OF_NUMBERS = ("rmse", "mae", "r2", "support_size", "seconds", "seconds_ratio")


@dataclass(frozen=True)
class ReportReader:
    """Reads a report; what is wrong with it goes to the checker's problems."""

    checker: Checker
    kind: RunKind | None  # the kind of the config's runs; None for learners
    problem: Problem
    metrics: Sequence[str]  # those that the config asks for
    tested: set[str | None]  # the labels of the datasets with a test set
    labels: Labels  # the algorithms that the report may name
    datasets: Labels  # the datasets that it may name
    algorithms: dict[str, AlgorithmSpec]  # the good algorithms, by label
    titles: dict[str, str]  # the titles of their classes, by default label

    @property
    def algorithms_are(self) -> str:
        """The name of the config's algorithms in messages."""
        return f"{self.kind.name}s" if self.kind else "learners" if self.problem.of_classes else "regression learners"

    @property
    def either(self) -> Labels:
        """The algorithms and datasets that the report may name, together."""
        algorithms, datasets = self.labels.known, self.datasets.known
        both = None if algorithms is None or datasets is None else [*algorithms, *datasets]
        return Labels("algorithm or dataset", both)

    @property
    def quantities(self) -> tuple[str, ...]:
        """The quantities that a table can show."""
        return self.kind.quantities if self.kind else _OF_CLASSES if self.problem.of_classes else _OF_NUMBERS

    def report(self, data: Any) -> ReportSpec:
        """Return the report; an empty one if anything in the config is wrong."""
        if data is None:
            return ReportSpec(titles=self.titles)
        path = ("report",)
        types = {**value_types(ReportSpec), "tables": _LIST, "figures": _LIST, "findings": _LIST, "numbers": _MAPPING}
        given = self.checker.values(data, path, types)
        readers = {"tables": self._table, "figures": self._figure, "findings": self._finding}
        found = {
            key: [read(entry, (*path, key, i)) for i, entry in enumerate(given.get(key) or [])]
            for key, read in readers.items()
        }
        for key in ("tables", "figures"):
            self.checker.unique([entry.get("name") for entry in found[key]], f"report.{key}", "name")
        numbers = read_numbers(self.checker, given.get("numbers") or {}, (*path, "numbers"))
        texts: list[tuple[KeyPath, str | None]] = [
            *((("findings", i, "text"), values.get("text")) for i, values in enumerate(found["findings"])),
            (("finding",), given.get("finding")),
            *((("choices", i), text) for i, text in enumerate(given.get("choices", ()))),
        ]
        for here, text in texts:
            for name in re.findall(IN_BRACES, text or ""):
                if name not in numbers:
                    self.checker.add((*path, *here), f"no number {name!r} in report.numbers{nearest(name, numbers)}")
        titles = self.titles | self._titles(given.get("titles") or {}, (*path, "titles"))
        if self.checker.problems:
            return ReportSpec()
        return ReportSpec(**{**given, **found, "numbers": numbers, "titles": titles})

    def _titles(self, given: dict[str, str], path: KeyPath) -> dict[str, str]:
        """Return the titles of a config; no two algorithms or datasets may be called the same."""
        known = [*(self.labels.known or []), *(self.datasets.known or [])]
        taken = {self.titles.get(label, label): label for label in known if label not in given}
        for label, title in given.items():
            self.checker.labels_exist((*path, label), label, self.either)
            if (other := taken.setdefault(title, label)) != label:
                self.checker.add((*path, label), f"{title!r} is already the title of {other!r}; choose another")
        return given

    def _finding(self, data: Any, path: KeyPath) -> Values:
        values = self.checker.values(data, path, value_types(FindingSpec))
        self._check_labels(values, path, dataset=self.datasets, label=self.labels)
        return values

    def _figure(self, data: Any, path: KeyPath) -> Values:
        values = self.checker.values(data, path, value_types(FigureSpec))
        algorithms = dict.fromkeys(("lines", "point", "band"), self.labels)
        self._check_labels(values, path, dataset=self.datasets, **algorithms)
        # A wrong x or y is already a problem.
        if not isinstance(data, dict) or any(key in data and key not in values for key in ("x", "y")):
            return values
        x = values.setdefault("x", "seconds" if self.kind else "budget")
        windowed = "windowed_error" if self.problem.of_classes else "windowed_rmse"
        shown = [y for y in FIGURE_AXES[x] if y in self.quantities or (y == windowed and not self.kind)]
        y = values.setdefault("y", (shown or FIGURE_AXES[x])[0])
        allowed = [x for x in FIGURE_AXES if (x == "seconds") == bool(self.kind)]
        if x not in allowed:
            self._not_for_these((*path, "x"), x, allowed)
        elif y not in shown:
            self.checker.add((*path, "y"), f"with x: {x} must be one of {', '.join(shown)}, got {quoted(y)}")
        elif y in _OF_TESTS:
            self._need_test((*path, "y"), y, [values.get("dataset")])
        self._need_metric((*path, "y"), y)
        if values.get("budget") is not None and x != "rounds":
            self.checker.add((*path, "budget"), f"goes with x: rounds, not with x: {x}; remove it")
        for key in ("band", "point") if x == "seconds" else ("band",):
            if values.get(key) and not x.startswith("budget"):
                text = f"goes with x: budget or budget_fraction, not with x: {x}; put its labels into lines"
                self.checker.add((*path, key), text)
        return values

    def _check_labels(self, values: Values, path: KeyPath, **labels: Labels) -> None:
        """Check that the labels under each key belong to an algorithm or dataset."""
        for key, known in labels.items():
            self.checker.labels_exist((*path, key), values.get(key), known)

    def _not_for_these(self, path: KeyPath, value: str, allowed: Sequence[str]) -> None:
        """Add the problem of a value that does not go with the kind of algorithms."""
        wanted = f"one of {', '.join(allowed)}" if len(allowed) > 1 else allowed[0]
        self.checker.add(path, f"must be {wanted}, as the algorithms are {self.algorithms_are}, got {quoted(value)}")

    def _need_metric(self, path: KeyPath, quantity: str) -> None:
        if quantity in METRICS and quantity not in self.metrics and not self.kind:
            asked = ", ".join([*self.metrics, quantity])
            self.checker.add(path, f"{quantity} is measured only if asked for; add metrics: [{asked}] to the config")

    def _need_test(self, path: KeyPath, quantity: str, shown: Sequence[str | None]) -> None:
        """Check that a dataset shown has a test set; unknown labels are already problems."""
        known = self.datasets.known or []
        if all(label in known for label in shown) and not self.tested & set(shown):
            which = f"dataset {shown[0]!r} has none" if len(shown) == 1 else "no dataset has one"
            text = f"{quantity} needs a test set, and {which}; add test: [parts], or test_path: FILE next to path"
            self.checker.add(path, text)

    def _table(self, data: Any, path: KeyPath) -> Values:
        values = self.checker.values(data, path, {**value_types(TableSpec), "choose": _MAPPING})
        if values.get("choose") is not None:
            values["choose"] = self._choose(values["choose"], (*path, "choose"))
        self._check_labels(values, path, columns=self.labels, relative_to=self.labels, rows=self.datasets)
        for key in values.get("aliases", {}):
            self.checker.labels_exist((*path, "aliases", key), key, self.either)
        known = self.quantities
        wrong = isinstance(data, dict) and "quantity" in data and "quantity" not in values
        quantity = values.setdefault("quantity", known[0])
        if not wrong and quantity not in known:
            self._not_for_these((*path, "quantity"), quantity, known)
        elif quantity == "seconds_ratio" and isinstance(data, dict) and data.get("relative_to") is None:
            text = "missing; must be the label of the algorithm whose seconds the others' are divided by"
            self.checker.add((*path, "relative_to"), text)
        elif quantity == "seconds_ratio" and not self.kind:
            self._check_divisor(values, (*path, "relative_to"))
        self._need_metric((*path, "quantity"), quantity)
        if quantity in _OF_TESTS:
            self._need_test((*path, "quantity"), quantity, values.get("rows") or list(self.datasets.known or []))
        if values.get("expected") is not None:
            rows = values["published"] = self._published(values["expected"], quantity, path)
            names = list(dict.fromkeys(name for row in rows or () for name in (row.dataset, row.label)))
            for key, name in values.get("aliases", {}).items():
                if rows is not None and name not in names:
                    text = f"{values['expected']} has no dataset or label {name!r}{nearest(name, names)}"
                    self.checker.add((*path, "aliases", key), text)
            if rows is not None and values.get("tolerance_sd") and all(row.sd is None for row in rows):
                text = f"needs published standard deviations, and {values['expected']} has no {sd_column(quantity)}"
                self.checker.add((*path, "tolerance_sd"), text)
        return values

    def _published(self, expected: str, quantity: str, path: KeyPath) -> tuple[Published, ...] | None:
        """Return the content of a file of published numbers; None if it is wrong."""
        rows, problems = read_published(self.checker.folder / expected, expected, quantity)
        for text in problems:
            self.checker.add((*path, "expected"), text)
        return None if problems else rows

    def _choose(self, data: Values, path: KeyPath) -> ChooseSpec | None:
        before = len(self.checker.problems)
        values = self.checker.values(data, path, value_types(ChooseSpec))
        if self.kind:
            self.checker.add(path, f"goes with learners, and the algorithms are {self.algorithms_are}; remove it")
        by, quantity, expected = (values.get(key) for key in ("by", "quantity", "expected"))
        allowed = ["online_error", "prefix", "printed"] if self.problem.of_classes else ["rmse", "prefix"]
        if by is not None and by not in allowed and not self.kind:
            self._not_for_these((*path, "by"), by, allowed)
        needed = {"quantity": "one of margin_updates, support_size", "expected": "the file of the published numbers"}
        for key, wanted in needed.items():
            if by == "printed" and data.get(key) is None:
                self.checker.add((*path, key), f"missing; with by: printed must be {wanted}")
            elif by not in (None, "printed") and values.get(key) is not None:
                self.checker.add((*path, key), "goes with by: printed; remove it")
        if len(self.checker.problems) == before and expected is not None and quantity is not None:
            values["published"] = self._published(expected, quantity, path)
        return ChooseSpec(**values) if len(self.checker.problems) == before else None

    def _check_divisor(self, values: Values, path: KeyPath) -> None:
        """Check that a learner to divide seconds by has one setting and one budget on each dataset."""
        label = values.get("relative_to")
        if label not in self.algorithms:
            return
        for dataset in self.datasets.known or []:
            known = {other.label: other.on(dataset) for other in self.algorithms.values()}
            own = known[label].with_one_seed()
            runs = list(own.expand(known.get(own.budget.of) if isinstance(own.budget, FractionBudget) else None))
            n_budgets = len({(run.budget, run.budget_fraction) for run in runs})
            n_settings = len({json.dumps(run.setting) for run in runs})
            if n_budgets > 1 or (n_settings > 1 and values.get("choose") is None):
                what, advice = ("budgets", "") if n_budgets > 1 else ("settings", ", or let the table choose")
                text = f"{label!r} has several {what}, and seconds are divided by those of one; name another{advice}"
                self.checker.add(path, text)
                break


def read_numbers(checker: Checker, given: Values, path: KeyPath) -> Values:
    """Return the good values of each number; a formula may use the numbers before it."""
    numbers: Values = {}
    for name, number in given.items():
        numbers[name] = checker.values(number, (*path, name), value_types(NumberSpec))
        if text := numbers[name].get("formula"):
            check_formula(checker, Formula, text, tuple(numbers)[:-1], (*path, name, "formula"))
    return numbers


def check_formula(checker: Checker, kind: type[Formula], text: str, names: tuple[str, ...], path: KeyPath) -> None:
    """Add the problem of a formula or condition that cannot be read, or uses other names than these."""
    try:
        kind(text, names)
    except ValueError as error:
        checker.add(path, str(error))
