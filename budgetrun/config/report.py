"""Tables, figures, choices and findings of a config."""

from __future__ import annotations

import json
from typing import Any

from budgetrun.config.problems import Field, fields_of, nearest, show
from budgetrun.config.published import read_expected, sd_column
from budgetrun.config.schema import (
    AlgorithmSpec,
    ChooseSpec,
    FigureSpec,
    FindingSpec,
    FractionBudget,
    ReportSpec,
    TableSpec,
)
from budgetrun.config.values import Names, Values, Walk
from budgetrun.config.yaml import KeyPath

_LIST = Field(list[Any] | None, required=False)
_CHOOSE = Field(dict[str, Any] | None, required=False)

# What a figure may show over its horizontal axis; the first is the default.
_HEIGHTS = {
    "budget": ("online_error", "test_error", "last_test_error"),
    "budget_fraction": ("online_error", "test_error", "last_test_error"),
    "rounds": ("online_error", "support_size"),
    "support_size": ("online_error", "test_error", "last_test_error"),
    "seconds": ("gap",),
}
_OF_TESTS = ("test_error", "last_test_error")
# What a table may show of learners and of solvers; the first is the default.
_QUANTITIES = {
    False: (
        "online_error",
        "support_size",
        "margin_updates",
        "test_error",
        "last_test_error",
        "seconds",
        "seconds_ratio",
    ),
    True: ("objective", "gap", "seconds_ratio", "seconds", "support_size", "last_test_error"),
}


class ReportReader:
    """Reads a report, and tells what is wrong with it.

    ``solvers`` says whether the config's algorithms are that; ``tested`` are the labels of the datasets with a test
    set, ``labels`` and ``datasets`` those that may be named, and ``algorithms`` what is known of the good ones.
    """

    def __init__(
        self,
        walk: Walk,
        *,
        solvers: bool,
        tested: set[str | None],
        labels: Names,
        datasets: Names,
        algorithms: dict[str, AlgorithmSpec],
    ) -> None:
        self._walk = walk
        self._solvers = solvers
        self._tested = tested
        self._labels = labels
        self._datasets = datasets
        self._algorithms = algorithms

    def report(self, data: Any) -> ReportSpec:
        """Return the report; an empty one where anything of the config is wrong."""
        if data is None:
            return ReportSpec()
        path = ("report",)
        fields = {**fields_of(ReportSpec), "tables": _LIST, "figures": _LIST, "findings": _LIST}
        given = self._walk.values(data, path, fields)
        tables = []
        for i, entry in enumerate(given.get("tables") or []):
            tables.append(self._table(entry, (*path, "tables", i)))
        figures = []
        for i, entry in enumerate(given.get("figures") or []):
            here = (*path, "figures", i)
            figures.append(self._figure(entry, here))
        findings = []
        for i, entry in enumerate(given.get("findings") or []):
            here = (*path, "findings", i)
            values = self._walk.values(entry, here, fields_of(FindingSpec))
            self._walk.refer((*here, "dataset"), values.get("dataset"), self._datasets)
            self._walk.refer((*here, "label"), values.get("label"), self._labels)
            findings.append(values)
        for key, entries in (("tables", tables), ("figures", figures)):
            self._walk.unique([entry.get("name") for entry in entries], f"report.{key}", "name")
        if self._walk.problems:
            return ReportSpec()
        return ReportSpec(
            tables=tuple(TableSpec(**values) for values in tables),
            figures=tuple(FigureSpec(**values) for values in figures),
            choices=tuple(given.get("choices", ())),
            findings=tuple(FindingSpec(**values) for values in findings),
        )

    def _figure(self, data: Any, path: KeyPath) -> Values:
        values = self._walk.values(data, path, fields_of(FigureSpec))
        self._walk.refer((*path, "dataset"), values.get("dataset"), self._datasets)
        for key in ("lines", "point", "band"):
            self._walk.refer((*path, key), values.get(key), self._labels)
        # One that is wrong has been told.
        if not isinstance(data, dict) or any(key in data and key not in values for key in ("x", "y")):
            return values
        x = values.setdefault("x", "seconds" if self._solvers else "budget")
        y = values.setdefault("y", _HEIGHTS[x][0])
        if (x == "seconds") != self._solvers:
            are = "solvers: write x: seconds" if self._solvers else "learners, and seconds go with solvers"
            self._walk.add((*path, "x"), f"must be another, got {show(x)}; the algorithms are {are}")
        elif y not in _HEIGHTS[x]:
            self._walk.add((*path, "y"), f"with x: {x} must be one of {', '.join(_HEIGHTS[x])}, got {show(y)}")
        elif y in _OF_TESTS:
            self._need_test((*path, "y"), y, [values.get("dataset")])
        for key in ("band", "point") if x == "seconds" else ("band",):
            if values.get(key) and not x.startswith("budget"):
                text = f"goes with x: budget or budget_fraction, not with x: {x}; put its labels into lines"
                self._walk.add((*path, key), text)
        return values

    def _need_test(self, path: KeyPath, quantity: str, shown: list[str | None]) -> None:
        """Tell if none of the datasets shown is tested on; an unknown label among them has been told."""
        known = self._datasets.known or []
        if all(label in known for label in shown) and not self._tested & set(shown):
            which = f"dataset {shown[0]!r} has none" if len(shown) == 1 else "no dataset has one"
            text = f"{quantity} needs a test set, and {which}; give it test: [parts], or test_path: FILE beside path"
            self._walk.add(path, text)

    def _table(self, data: Any, path: KeyPath) -> Values:
        values = self._walk.values(data, path, {**fields_of(TableSpec), "choose": _CHOOSE})
        if values.get("choose") is not None:
            values["choose"] = self._choose(values["choose"], (*path, "choose"))
        self._walk.refer((*path, "columns"), values.get("columns"), self._labels)
        self._walk.refer((*path, "relative_to"), values.get("relative_to"), self._labels)
        self._walk.refer((*path, "rows"), values.get("rows"), self._datasets)
        if self._labels.known is not None and self._datasets.known is not None:
            either = Names("algorithm or dataset", [*self._labels.known, *self._datasets.known])
            for key in values.get("aliases", {}):
                self._walk.refer((*path, "aliases", key), key, either)
        known = _QUANTITIES[self._solvers]
        wrong = isinstance(data, dict) and "quantity" in data and "quantity" not in values
        quantity = values.setdefault("quantity", known[0])
        if not wrong and quantity not in known:
            kind = "solvers" if self._solvers else "learners"
            text = f"must be one of {', '.join(known)}, as the algorithms are {kind}, got {show(quantity)}"
            self._walk.add((*path, "quantity"), text)
        elif quantity == "seconds_ratio" and isinstance(data, dict) and data.get("relative_to") is None:
            text = "missing; must be the label of the algorithm whose seconds the others' are divided by"
            self._walk.add((*path, "relative_to"), text)
        elif quantity == "seconds_ratio" and not self._solvers:
            self._check_divisor(values, (*path, "relative_to"))
        if quantity in _OF_TESTS:
            self._need_test((*path, "quantity"), quantity, values.get("rows") or self._datasets.known or [])
        if values.get("expected") is not None:
            rows, problems = read_expected(self._walk.folder / values["expected"], values["expected"], quantity)
            for text in problems:
                self._walk.add((*path, "expected"), text)
            printed = list(dict.fromkeys(row[key] for row in rows for key in ("dataset", "label")))
            for key, name in values.get("aliases", {}).items():
                if not problems and name not in printed:
                    text = f"{values['expected']} has no dataset or label {name!r}{nearest(name, printed)}"
                    self._walk.add((*path, "aliases", key), text)
            if not problems and values.get("tolerance_sd") and not any("sd" in row for row in rows):
                text = f"needs printed standard deviations, and {values['expected']} has no {sd_column(quantity)}"
                self._walk.add((*path, "tolerance_sd"), text)
            values["expected_rows"] = rows
        if values.get("tolerance_sd") is not None:
            values.setdefault("tolerance", None)
        return values

    def _choose(self, data: Values, path: KeyPath) -> ChooseSpec | None:
        before = len(self._walk.problems)
        values = self._walk.values(data, path, fields_of(ChooseSpec))
        if self._solvers:
            self._walk.add(path, "goes with learners, and the algorithms are solvers; remove it")
        by, quantity, expected = (values.get(key) for key in ("by", "quantity", "expected"))
        if by == "printed":
            if "quantity" not in data:
                text = "missing; with by: printed must be one of margin_updates, support_size"
                self._walk.add((*path, "quantity"), text)
            if "expected" not in data:
                self._walk.add((*path, "expected"), "missing; with by: printed must be the file of the printed numbers")
        else:
            for key in ("quantity", "expected"):
                if by is not None and values.get(key) is not None:
                    self._walk.add((*path, key), "goes with by: printed; remove it")
        if len(self._walk.problems) == before and expected is not None and quantity is not None:
            values["expected_rows"], problems = read_expected(self._walk.folder / expected, expected, quantity)
            for text in problems:
                self._walk.add((*path, "expected"), text)
        return ChooseSpec(**values) if len(self._walk.problems) == before else None

    def _check_divisor(self, values: Values, path: KeyPath) -> None:
        """Tell a learner whose seconds are not those of one setting and budget on each dataset."""
        label = values.get("relative_to")
        if label not in self._algorithms:
            return
        for dataset in self._datasets.known or []:
            known = {other.label: other.on(dataset) for other in self._algorithms.values()}
            own = known[label]
            runs = list(own.expand(known.get(own.budget.of) if isinstance(own.budget, FractionBudget) else None))
            n_budgets = len({(run.budget, run.budget_fraction) for run in runs})
            n_settings = len({json.dumps([run.parameters, run.budget_setting]) for run in runs})
            if n_budgets > 1 or (n_settings > 1 and values.get("choose") is None):
                what, advice = ("budgets", "") if n_budgets > 1 else ("settings", ", or let the table choose")
                text = f"{label!r} has several {what}, and seconds are divided by those of one; name another{advice}"
                self._walk.add(path, text)
                break
