"""Reads the report of a config: tables, figures, choices, findings, and the published numbers to compare with."""

import csv
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from budgetrun.base.errors import InputError
from budgetrun.base.params import Formula
from budgetrun.base.problem import Problem
from budgetrun.config import schema
from budgetrun.config.kinds import RunKind
from budgetrun.config.problems import Checker, Labels, Values, ValueType, nearest, quoted, unknown_key, value_types
from budgetrun.config.quantities import METRICS, QUANTITIES
from budgetrun.config.schema import AlgorithmSpec, Published, ReportSpec
from budgetrun.config.yaml import KeyPath, read_text

_LIST = ValueType(list[Any] | None, required=False)
MAPPING = ValueType(dict[str, Any] | None, required=False)

IN_BRACES = r"\{(\w+)\}"  # a number in a text

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
        types = {**value_types(ReportSpec), "tables": _LIST, "figures": _LIST, "findings": _LIST, "numbers": MAPPING}
        given = self.checker.values(data, path, types)
        found: dict[str, list[Values]] = {}
        for key, read in {"tables": self._table, "figures": self._figure, "findings": self._finding}.items():
            found[key] = [read(entry, (*path, key, i)) for i, entry in enumerate(given.get(key) or [])]
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
        values = self.checker.values(data, path, value_types(schema.FindingSpec))
        self.checker.labels_of(values, path, dataset=self.datasets, label=self.labels)
        return values

    def _figure(self, data: Any, path: KeyPath) -> Values:
        values = self.checker.values(data, path, value_types(schema.FigureSpec))
        algorithms = dict.fromkeys(("lines", "point", "band"), self.labels)
        self.checker.labels_of(values, path, dataset=self.datasets, **algorithms)
        # A wrong x or y is already a problem.
        if not isinstance(data, dict) or any(key in data and key not in values for key in ("x", "y")):
            return values
        x = values.setdefault("x", "seconds" if self.kind else "budget")
        windowed = "windowed_error" if self.problem.of_classes else "windowed_rmse"
        shown = [y for y in schema.FIGURE_AXES[x] if y in self.quantities or (y == windowed and not self.kind)]
        y = values.setdefault("y", (shown or schema.FIGURE_AXES[x])[0])
        allowed = [x for x in schema.FIGURE_AXES if (x == "seconds") == bool(self.kind)]
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

    def _not_for_these(self, path: KeyPath, value: str, allowed: Sequence[str]) -> None:
        """Add the problem of a value that does not go with the kind of algorithms."""
        wanted = f"one of {', '.join(allowed)}" if len(allowed) > 1 else allowed[0]
        are = f"{self.kind.name}s" if self.kind else "learners" if self.problem.of_classes else "regression learners"
        self.checker.add(path, f"must be {wanted}, as the algorithms are {are}, got {quoted(value)}")

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
        values = self.checker.values(data, path, {**value_types(schema.TableSpec), "choose": MAPPING})
        if values.get("choose") is not None:
            values["choose"] = self._choose(values["choose"], (*path, "choose"))
        self.checker.labels_of(values, path, columns=self.labels, relative_to=self.labels, rows=self.datasets)
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
            has_no = f"{values['expected']} has no"
            for i, name in enumerate(values.get("as_written", ())):
                if name not in values.get("aliases", {}):
                    self.checker.add((*path, "as_written", i), f"must be one of the aliases, got {name!r}")
            for key, name in values.get("aliases", {}).items():
                if rows is not None and name not in names:
                    text = f"{has_no} dataset or label {name!r}{nearest(name, names)}"
                    self.checker.add((*path, "aliases", key), text)
            if rows is not None and values.get("tolerance_sd") and all(row.sd is None for row in rows):
                text = f"needs published standard deviations, and {has_no} {value_column(quantity)}_sd"
                self.checker.add((*path, "tolerance_sd"), text)
        return values

    def _published(self, expected: str, quantity: str, path: KeyPath) -> tuple[Published, ...] | None:
        rows, problems = read_published(self.checker.folder / expected, expected, quantity)
        for text in problems:
            self.checker.add((*path, "expected"), text)
        return None if problems else rows

    def _choose(self, data: Values, path: KeyPath) -> schema.ChooseSpec | None:
        before = len(self.checker.problems)
        values = self.checker.values(data, path, value_types(schema.ChooseSpec))
        if self.kind:
            self.checker.add(path, f"goes with learners, and the algorithms are {self.kind.name}s; remove it")
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
        return schema.ChooseSpec(**values) if len(self.checker.problems) == before else None

    def _check_divisor(self, values: Values, path: KeyPath) -> None:
        """Check that a learner to divide seconds by has one setting and one budget on each dataset."""
        label = values.get("relative_to")
        if label not in self.algorithms:
            return
        for dataset in self.datasets.known or []:
            known = {other.label: other.on(dataset) for other in self.algorithms.values()}
            own = known[label].with_one_seed()
            runs = list(own.expand(known.get(own.budget_of or "")))
            n_budgets = len({(run.budget, run.budget_fraction, run.learner_memory) for run in runs})
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
        numbers[name] = checker.values(number, (*path, name), value_types(schema.NumberSpec))
        if text := numbers[name].get("formula"):
            check_formula(checker, Formula, text, tuple(numbers)[:-1], (*path, name, "formula"))
    return numbers


def check_formula(checker: Checker, kind: type[Formula], text: str, names: tuple[str, ...], path: KeyPath) -> None:
    """Add the problem of a formula or condition that cannot be read, or uses other names than these."""
    try:
        kind(text, names)
    except ValueError as error:
        checker.add(path, str(error))


# -- published numbers: read from CSV files, written to manifests and read back from them ------------------------------

_REQUIRED = ("dataset", "label")
_OPTIONAL = ("budget", "budget_fraction", "setting")
_REPEAT = "repeat the sweep: budgetrun sweep CONFIG"


def value_column(quantity: str) -> str:
    """Return the column with a quantity's published numbers. Errors are in percent; ratios are of seconds."""
    return "seconds" if quantity == "seconds_ratio" else QUANTITIES[quantity].csv_column


_VALUES = tuple(dict.fromkeys(map(value_column, QUANTITIES)))


def read_published(path: Path, shown: str, quantity: str) -> tuple[tuple[Published, ...], list[str]]:
    """Return the published numbers of a table's ``quantity``, and one sentence per problem.

    The CSV file has the columns ``dataset``, ``label`` and `value_column`. The columns ``budget``, ``budget_fraction``,
    ``setting`` and that of the standard deviation (``_sd``) are optional, and their cells may be empty. If the file has
    other quantities too, any number may be missing. ``shown`` is its path for messages.
    """
    if not os.path.exists(path):
        return (), [f"no such file: {path}"]
    try:
        reader = csv.reader(read_text(path).splitlines())
        lines = [(reader.line_num, cells) for cells in reader if cells or reader.line_num == 1]
    except InputError as error:
        return (), [str(error)]
    except csv.Error as error:
        return (), [f"{shown}: not CSV ({error})"]
    _, header = lines.pop(0) if lines else (1, [])
    value = value_column(quantity)
    sd = f"{value}_sd"
    needed = [*_REQUIRED, value]
    allowed = list(dict.fromkeys([*needed, *_OPTIONAL, *_VALUES, *(f"{name}_sd" for name in _VALUES)]))
    problems = [
        f"{shown}:1: column {key!r} is missing  (needed: {', '.join(needed)})" for key in needed if key not in header
    ]
    problems += [f"{shown}:1: column {key!r}: {unknown_key(key, allowed)}" for key in header if key not in allowed]
    if problems:
        return (), problems
    may_be_missing = len(set(header) & set(_VALUES)) > 1
    rows: list[Published] = []
    first: dict[tuple[Any, ...], int] = {}
    for line, cells in lines:
        where = f"{shown}:{line}"
        if len(cells) != len(header):
            problems.append(f"{where}: must have {len(header)} cells, like the first line, got {len(cells)}")
            continue
        typed = dict(zip(header, (cell.strip() for cell in cells), strict=True))
        if may_be_missing and not typed[value]:
            continue
        found: dict[str, Any] = {}
        for key in (*_OPTIONAL, value, *([sd] if quantity != "seconds_ratio" else [])):
            if key == value or typed.get(key):
                found[key], wanted = _setting(typed[key]) if key == "setting" else _number(typed[key], key)
                problems += [f"{where}: {key}: must be {wanted}, got {typed[key]!r}"] if found[key] is None else []
        row = Published(typed["dataset"], typed["label"], found.pop(value), sd=found.pop(sd, None), **found)
        cell_of = (row.dataset, row.label, row.budget, row.budget_fraction, row.setting)
        if first.setdefault(cell_of, line) != line:
            problems.append(f"{where}: the same dataset, label, budget and setting as in line {first[cell_of]}")
        rows.append(row)
    return tuple(rows), problems


def _number(cell: str, column: str) -> tuple[float | int | None, str]:
    """Return the number in a cell, None if it is wrong, and a description of good ones."""
    number = found if isinstance(found := schema.plain(cell), float) else math.nan
    if column == "budget":
        good, wanted = number >= 1 and number.is_integer(), "an integer >= 1 or empty"
    elif column == "budget_fraction":
        good, wanted = 0 < number < math.inf, "a number > 0 or empty"
    elif column.endswith("_percent"):
        good, wanted = 0 <= number <= 100, "a number from 0 to 100"
    else:
        good, wanted = 0 <= number < math.inf, "a number >= 0"
    return (None if not good else int(number) if column == "budget" else number), wanted


def _setting(cell: str) -> tuple[str | None, str]:
    """Return a setting with its numbers as tables show them, None if it is wrong, and a description of good ones."""
    # A comma separates two values only before a name; a list has commas, too.
    pairs = [tuple(map(str.strip, part.partition("="))) for part in re.split(r",\s*(?=\w+\s*=)", cell)]
    good = all(name.isidentifier() and value for name, _, value in pairs)
    text = schema.setting_text({name: schema.plain(value) for name, _, value in pairs}) if good else None
    return text, "like eta=0.1, or eta=0.1, C=2, or empty"


def manifest_entries(report: ReportSpec) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the entries of a manifest with the published numbers of a report, as `report_of` reads them."""
    return {
        "expected": {table.name: [asdict(row) for row in table.published] for table in report.tables},
        "choose_expected": {t.name: [asdict(row) for row in t.choose.published] for t in report.tables if t.choose},
    }


def report_of(manifest: Mapping[str, Any], path: Path) -> ReportSpec:
    """Return the report section of a manifest of any version, with the published numbers of its tables.

    Without a report section, the report is empty. ``path`` is the manifest's file, for messages.

    Raises InputError: the report section or a published number is damaged.
    """
    try:
        report = ReportSpec.model_validate((manifest.get("config") or {}).get("report") or {})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, ("config", "report", *first["loc"])))
        raise InputError(f"{path}: {where}: {first['msg']}; {_REPEAT}") from None

    def rows(key: str, name: str, quantity: str | None) -> tuple[Published, ...]:
        given = (manifest.get(key) or {}).get(name) or []
        column = value_column(quantity or "online_error")
        read = (_from_manifest(row, column, f"{path}: {key}.{name}[{i}]") for i, row in enumerate(given))
        return tuple(row for row in read if row is not None)

    tables = []
    for table in report.tables:
        if choose := table.choose:
            choose = choose.model_copy(update={"published": rows("choose_expected", table.name, choose.quantity)})
        published = rows("expected", table.name, table.quantity)
        tables.append(table.model_copy(update={"choose": choose, "published": published}))
    return report.model_copy(update={"tables": tuple(tables)})


def _from_manifest(row: Mapping[str, Any], column: str, where: str) -> Published | None:
    """Return a published number; None if it is empty. Earlier manifests have it under the quantity's column."""
    column = "value" if "value" in row else column
    missing = [key for key in (*_REQUIRED, column) if key not in row]
    if missing:
        raise InputError(f"{where}: {', '.join(missing)} missing; {_REPEAT}")
    numbers: dict[str, Any] = {}
    for key in (column, "budget", "budget_fraction", "sd"):
        given = row.get(key)
        try:
            number = math.nan if given in (None, "") else float(given)
        except (TypeError, ValueError):
            raise InputError(f"{where}.{key}: must be a number or empty, got {given!r:.80}; {_REPEAT}") from None
        numbers[key] = None if math.isnan(number) else int(number) if key == "budget" else number
    value = numbers.pop(column)
    if value is None:
        return None
    setting = str(row.get("setting") or "") or None
    return Published(str(row["dataset"]), str(row["label"]), value, setting=setting, **numbers)
