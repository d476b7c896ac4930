"""YAML to `Config`: everything that is wrong in a file is found in one go and told in the order of the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import Field as Limits

from budgetrun import resources
from budgetrun.config import (
    AlgorithmSpec,
    ByDataset,
    ChooseSpec,
    Config,
    DatasetSpec,
    FigureSpec,
    FindingSpec,
    FractionBudget,
    KernelSpec,
    Profile,
    ReportSpec,
    Seeds,
    TableSpec,
    Text,
)
from budgetrun.errors import InputError
from budgetrun.expected import read_expected, sd_column
from budgetrun.fields import Field, fields_of, nearest, show, unknown, unknown_key
from budgetrun.stream_length import formulas, is_formula, parameter_fields, problem
from budgetrun.strict_yaml import Document, KeyPath, Problem, parse

if TYPE_CHECKING:
    from budgetrun.learners import Learner
    from budgetrun.solvers import Solver

    Algorithm = type[Learner] | type[Solver]

_Mapping = dict[str, Any]
_Some = Annotated[list[Any], Limits(min_length=1)]

_KERNEL = Field(dict[str, Any] | None, required=False)
_LIST = Field(list[Any] | None, required=False)
_MAPPING = Field(dict[str, Any] | None, required=False)

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


def read(text: str, path: Path) -> Config:
    """Return the config that a YAML text holds.

    Parameters
    ----------
    text : str
    path : Path
        The file, as typed: for messages, and to find the files that it names.

    Raises
    ------
    InputError
        One line for each thing that is wrong.
    """
    document = parse(text)
    reader = _Reader(document, path.parent)
    if document.lines:
        values = reader.config(document.data)
    if reader.problems:
        # Sorting is stable: on one line, in the order in which they were found.
        lines = dict.fromkeys(f"{path}:{problem}" for problem in sorted(reader.problems, key=lambda p: p.line))
        raise InputError("\n".join(lines))
    return Config(**values, file=str(path), text=text)


class _Reader:
    """Walks the data of one document and collects what is wrong."""

    def __init__(self, document: Document, folder: Path) -> None:
        self._document = document
        self._folder = folder
        self._multiclass = False
        self._solvers = False
        self._tested: set[str | None] = set()
        self._datasets: list[str | None] = []
        self._algorithms: dict[str, AlgorithmSpec] = {}
        self.problems = list(document.problems)

    def config(self, data: Any) -> _Mapping:
        given = self._values(data, (), _top_fields())
        kernel = self._kernel(given.get("kernel"), ("kernel",))
        repetitions = given.get("repetitions", 1)
        entries = given.get("datasets", [])
        self._multiclass = self._kind(entries)
        tested = [e for e in entries if isinstance(e, dict) and (e.get("test") or e.get("test_path"))]
        self._tested = {_dataset_label(entry) for entry in tested}
        self._datasets = [_dataset_label(entry) for entry in entries]
        if self._multiclass and given.get("tie") == "positive":
            text = "must be 'mistake' with task: multiclass, where no score of 0 predicts +1, got 'positive'"
            self._add(("tie",), text)
        # A kernel that is there but wrong is told as that, not as missing from every dataset.
        with_kernel = kernel is not None or (isinstance(data, dict) and data.get("kernel") is not None)
        datasets = [
            self._dataset(entry, ("datasets", i), kernel, with_kernel, repetitions) for i, entry in enumerate(entries)
        ]
        algorithms = given.get("algorithms", [])
        self._solvers = self._kind_of_algorithms(algorithms)
        if self._solvers:
            self._refuse_what_goes_with_learners(given, datasets)
        specs = [self._algorithm(entry, ("algorithms", i), algorithms) for i, entry in enumerate(algorithms)]
        self._algorithms = {spec.label: spec for spec in specs if spec is not None}
        labels = self._unique([self._algorithm_label(entry) for entry in algorithms], "algorithms", "label")
        if self._solvers:
            self._check_kernels(algorithms, datasets)
        dataset_labels = self._unique([_dataset_label(e) for e in entries], "datasets", "label")
        report = self._report(given.get("report"), _Names("algorithm", labels), _Names("dataset", dataset_labels))
        profiles = self._profiles(given.get("profiles"))
        return {
            **given,
            "kernel": kernel,
            "datasets": datasets,
            "algorithms": specs,
            "report": report,
            "profiles": profiles,
        }

    # Steps that every part takes.

    def _add(self, path: KeyPath, text: str) -> None:
        self.problems.append(Problem(self._document.line(path), path, text))

    def _values(self, data: Any, path: KeyPath, fields: Mapping[str, Field]) -> _Mapping:
        """Return the good values of a mapping; tell keys that are unknown, missing or have bad values."""
        if not isinstance(data, dict):
            self._add(path, f"must be a mapping (key: value), got {show(data)}")
            return {}
        for key in data:
            if key not in fields:
                self._add((*path, key), unknown_key(key, fields))
        values = {}
        for key, field in fields.items():
            if key in data:
                value, problems = field.check(data[key])
                for inner, text in problems.items():
                    self._add((*path, key, *inner), text)
                if not problems:
                    values[key] = value
            elif field.required:
                self._add((*path, key), f"missing; must be {field.wanted}")
        return values

    def _unique(self, names: list[str | None], section: str, key: str) -> list[str] | None:
        """Tell names given twice; return the names, or None if one of them cannot be told."""
        first: dict[str, int] = {}
        for i, name in enumerate(names):
            if name is not None and first.setdefault(name, i) != i:
                advice = f"give this entry a {key} of its own"
                text = f"{key} {name!r} is already used by {section}[{first[name]}]; {advice}"
                self._add((*section.split("."), i, key), text)
        return None if None in names else list(first)

    def _refer(self, path: KeyPath, given: Any, names: _Names) -> None:
        """Tell labels that no entry has; one label or a list of them."""
        for i, name in enumerate(given if isinstance(given, list) else [given]):
            here = (*path, i) if isinstance(given, list) else path
            if name is not None and names.known is not None and name not in names.known:
                self._add(here, f"no {names.kind} has the label {name!r}{nearest(name, names.known)}{names.listed}")

    # Kernels and datasets.

    def _kind(self, entries: list[Any]) -> bool:
        """Tell datasets of several classes beside such of two; return whether the first has several."""
        kinds = [isinstance(entry, dict) and entry.get("task") == "multiclass" for entry in entries]
        for i, kind in enumerate(kinds):
            if kind != kinds[0]:
                which = f"is {'multiclass' if kind else 'of two classes'}, and that of datasets[0] is not"
                text = f"{which}; a config's datasets are all multiclass, or none is: make two configs"
                self._add(("datasets", i, "task"), text)
                break
        return bool(kinds) and kinds[0]

    def _kernel(self, data: Any, path: KeyPath) -> KernelSpec | None:
        if data is None:
            return None
        from budgetrun import kernels

        known = kernels.registry()
        name = data.get("name")
        if name is None:
            self._add((*path, "name"), f"missing; must be one of {', '.join(known)}")
            return None
        if not isinstance(name, str) or name not in known:
            self._add((*path, "name"), f"{unknown(name, known)}  (budgetrun list kernels)")
            return None
        before = len(self.problems)
        values = self._values(data, path, {"name": Field(str), **parameter_fields(known[name])})
        if len(self.problems) > before:
            return None
        spec = KernelSpec(name=values.pop("name"), parameters=values)
        try:
            spec.build()
        except ValueError as error:
            self._add(path, str(error))
        return spec

    def _dataset(
        self, data: Any, path: KeyPath, kernel: KernelSpec | None, with_kernel: bool, repetitions: int
    ) -> DatasetSpec | None:
        before = len(self.problems)
        values = self._values(data, path, {**fields_of(DatasetSpec), "kernel": _KERNEL})
        if not isinstance(data, dict):
            return None
        values["repetitions"] = values.get("repetitions") or repetitions
        if values.get("kernel") is not None:
            values["kernel"] = self._kernel(values["kernel"], (*path, "kernel"))
        elif "kernel" not in data or data["kernel"] is None:
            values["kernel"] = kernel
            if not with_kernel:
                self._add((*path, "kernel"), "missing; give this dataset a kernel, or the whole config one")
        for key in ("path", "test_path"):
            typed = values.get(key)
            if typed is not None:
                own = Path(typed).expanduser()
                places = list(dict.fromkeys([self._folder / own, own]))
                found = [place for place in places if place.is_file()]
                if found:
                    values.update({key: found[0], f"typed_{key}": typed})
                else:
                    self._add((*path, key), f"no such file: {' or '.join(str(place) for place in places)}")
        if values.get("task") == "multiclass":
            self._refuse_what_needs_two_classes(values, path)
        generated = data.get("path") is None and "name" in values and self._is_generated(values["name"], path)
        self._check_test(values, path, generated)
        every_repetition_same = (
            values.get("order") == "file"
            and values["repetitions"] > 1
            and not generated
            and not values.get("balanced")
            and not values.get("noise")
        )
        if every_repetition_same:
            text = f"with order: file, each of the {values['repetitions']} repetitions would be the same"
            self._add((*path, "order"), f"{text}; use repetitions: 1 or order: permuted")
        return DatasetSpec(**values) if len(self.problems) == before else None

    def _refuse_what_needs_two_classes(self, values: _Mapping, path: KeyPath) -> None:
        given = {key: bool(values.get(key)) for key in ("noise", "balanced")}
        for key, is_given in {**given, "positive": values.get("positive") is not None}.items():
            if is_given:
                self._add((*path, key), "goes with two classes, not with task: multiclass; remove it")

    def _check_test(self, values: _Mapping, path: KeyPath, generated: bool) -> None:
        own = values.get("path") is not None
        if values.get("test") is not None and (own or generated):
            advice = "a file of your own is tested on test_path: FILE" if own else "generated data have none; remove it"
            self._add((*path, "test"), f"names parts of a card; {advice}")
        if values.get("test_path") is not None and not own:
            self._add((*path, "test_path"), "goes with path, a file of your own; for a card write test: [parts]")

    def _is_generated(self, name: str, path: KeyPath) -> bool:
        """Tell whether a card makes its points anew in every repetition; tell a card that does not exist."""
        cards = {file.stem: file for file in resources.folder("datasets").glob("*.yaml")}
        if name in cards:
            card = parse(cards[name].read_text(encoding="utf-8")).data
            return isinstance(card, dict) and card.get("format") == "generated"
        text = f"{unknown(name, cards)}  (budgetrun data list; a file of your own needs path)"
        self._add((*path, "name"), text)
        return False

    # Algorithms.

    def _kind_of_algorithms(self, entries: list[Any]) -> bool:
        """Tell solvers beside learners; return whether the first that can be told is a solver."""
        from budgetrun import learners

        known = learners.registry(multiclass=False).keys() | learners.registry(multiclass=True).keys()
        kinds = {}
        for i, entry in enumerate(entries):
            if _is_solver(entry) or (isinstance(entry, dict) and str(entry.get("name")) in known):
                kinds[i] = _is_solver(entry)
        first = min(kinds, default=0)
        for i, kind in kinds.items():
            if kind != kinds[first]:
                here, there = ("solver", "learner") if kind else ("learner", "solver")
                which = f"{entries[i]['name']!r} is a {here}, and {entries[first]['name']!r} a {there}"
                text = f"{which}; a config's algorithms are all learners or all solvers: make two configs"
                self._add(("algorithms", i, "name"), text)
                break
        return kinds.get(first, False)

    def _refuse_what_goes_with_learners(self, given: _Mapping, datasets: list[DatasetSpec | None]) -> None:
        if given.get("tie") == "positive":
            self._add(("tie",), "must be 'mistake' with solvers, which have no rounds to predict, got 'positive'")
        if given.get("dtype") == "float32":
            self._add(("dtype",), "must be 'float64' with solvers, got 'float32'")
        for i, dataset in enumerate(datasets):
            if dataset is not None and dataset.task == "multiclass":
                text = "must be one of binary, equal_splits with solvers, got 'multiclass'"
                self._add(("datasets", i, "task"), text)

    def _check_kernels(self, entries: list[Any], datasets: list[DatasetSpec | None]) -> None:
        """Tell solvers that do not know the kernel of some dataset, each once."""
        from budgetrun import solvers

        for i, entry in enumerate(entries):
            for dataset in datasets:
                if not _is_solver(entry) or dataset is None or dataset.kernel is None:
                    continue
                known = solvers.find(entry["name"]).kernels
                if dataset.kernel.name not in known:
                    of = f"dataset {dataset.label!r} has {dataset.kernel.name}"
                    text = f"{entry['name']} solves with the kernel {' or '.join(known)} only, and {of}"
                    self._add(("algorithms", i, "name"), text)
                    break

    def _algorithm(self, data: Any, path: KeyPath, entries: list[Any]) -> AlgorithmSpec | None:
        if not isinstance(data, dict):
            self._add(path, f"must be a mapping (key: value), got {show(data)}")
            return None
        learner = self._learner(data, path)
        if learner is None:
            return None
        before = len(self.problems)
        fields = {
            "name": Field(str),
            "variant": Field(str | None, required=False),
            "label": Field(Text, required=False),
        }
        if self._solvers:
            del fields["variant"]
        if learner.draws:
            fields["seeds"] = Field(Seeds, required=False)
        own = parameter_fields(learner)
        for key in ("seed", "seeds"):
            if key in data and key not in fields:
                no_draws = f"{learner.name} draws nothing at random"
                advice = "write seeds: n for the seeds 0 to n - 1" if learner.draws else no_draws
                self._add((*path, key), f"cannot be given here; {advice}")
        told = {"seed", "seeds"} - fields.keys()
        if self._solvers and "budget" in data:
            self._add((*path, "budget"), f"{learner.name} is a solver, and holds all examples: it takes no budget")
            told.add("budget")
        for key in data:
            if key not in fields and key not in own and key not in told:
                self._add((*path, key), unknown_key(key, [*fields, *own]))
        common = self._values({key: data[key] for key in fields if key in data}, path, fields)
        swept: dict[str, Any] = {}
        for key, field in own.items():
            here = (*path, key)
            if key not in data:
                if field.required:
                    self._add(here, f"missing; must be {field.wanted}")
                swept[key] = (_default(learner, key),)
            elif isinstance(data[key], dict) and "by_dataset" in data[key]:
                swept[key] = self._by_dataset(data[key], here, field)
            elif key == "budget" and isinstance(data[key], dict):
                swept[key] = self._fraction_budget(data[key], here, entries)
            else:
                swept[key] = self._sweep(data[key], here, field)
        if len(self.problems) > before:
            return None
        budget = swept.pop("budget", None)
        spec = AlgorithmSpec(
            name=learner.name,
            variant=getattr(learner, "variant", None),
            label=common.get("label") or _default_label(learner),
            seeds=common.get("seeds", 1),
            budget=None if budget == (None,) else budget,
            parameters=swept,
            solver=self._solvers,
        )
        self._try(spec, learner, path)
        return spec

    def _learner(self, data: _Mapping, path: KeyPath) -> Algorithm | None:
        """Return the class of an entry, a learner's or a solver's."""
        from budgetrun import learners, solvers

        known: _Mapping = solvers.registry() if self._solvers else learners.registry(multiclass=self._multiclass)
        name, variant = data.get("name"), data.get("variant")
        if self._solvers and name in known:
            return solvers.find(name)
        if _is_solver(data) != self._solvers and (_is_solver(data) or name in learners.registry(self._multiclass)):
            # Told once, at the first such entry.
            return None
        if name is None:
            self._add((*path, "name"), "missing; must be the name of an algorithm  (budgetrun list algorithms)")
        elif isinstance(name, str) and name not in known and name in learners.registry(multiclass=not self._multiclass):
            if self._multiclass:
                text = f"{name!r} learns two classes only, and the task is multiclass"
            else:
                text = f"{name!r} learns several classes only; it needs datasets with task: multiclass"
            self._add((*path, "name"), f"{text}  (allowed: {', '.join(known)})")
        elif not isinstance(name, str) or name not in known:
            names = [*known, *solvers.registry()]
            self._add((*path, "name"), f"{unknown(name, names)}  (budgetrun list algorithms)")
        elif variant is not None and not (isinstance(variant, str) and variant in known[name]):
            variants = [key for key in known[name] if key is not None]
            listed = f"  (allowed: {', '.join(variants)})" if variants else f"; {name} has no variants"
            self._add((*path, "variant"), f"{unknown(variant, variants)}{listed}")
        else:
            return learners.find(name, variant, multiclass=self._multiclass)
        return None

    def _algorithm_label(self, data: Any) -> str | None:
        """Return an entry's label, None where it cannot be told."""
        from budgetrun import learners

        if not isinstance(data, dict):
            return None
        if data.get("label") is not None:
            return str(data["label"])
        if _is_solver(data):
            return str(data["name"])
        try:
            found = learners.find(data.get("name", ""), data.get("variant"), multiclass=self._multiclass)
        except (KeyError, TypeError):
            return None
        return _default_label(found)

    def _by_dataset(self, data: _Mapping, path: KeyPath, field: Field) -> ByDataset:
        """Check the values of each dataset; all of them must be there."""
        for key in data:
            if key != "by_dataset":
                self._add((*path, key), unknown_key(key, ["by_dataset"]))
        here = (*path, "by_dataset")
        given = data["by_dataset"]
        if not isinstance(given, dict):
            self._add(here, f"must be a mapping (dataset: value), got {show(given)}")
            return ByDataset(by_dataset={})
        known = [label for label in self._datasets if label is not None]
        if None not in self._datasets:
            for label in given:
                if label not in known:
                    listed = f"  (allowed: {', '.join(known)})"
                    self._add((*here, label), f"no dataset has the label {label!r}{nearest(str(label), known)}{listed}")
            missing = [label for label in known if label not in given]
            if missing:
                self._add(here, f"missing: {', '.join(missing)}; every dataset of the config needs a value")
        values = {label: self._sweep(value, (*here, label), field) for label, value in given.items()}
        return ByDataset(by_dataset={str(label): own for label, own in values.items()})

    def _sweep(self, value: Any, path: KeyPath, field: Field) -> tuple[Any, ...]:
        """Check a value, or each of a list of them; return the good ones."""
        if not isinstance(value, list) or field.takes_lists:
            return tuple(self._checked(value, path, field))
        if not value:
            self._add(path, f"must be {field.wanted}, or a list with at least one such value, got an empty list")
        found: list[Any] = []
        for i, item in enumerate(value):
            for good in self._checked(item, (*path, i), field):
                if json.dumps(good) in map(json.dumps, found):
                    self._add((*path, i), f"{show(good)} is in this list twice")
                found.append(good)
        return tuple(found)

    def _checked(self, value: Any, path: KeyPath, field: Field) -> list[Any]:
        if path[2] != "budget" and is_formula(value, field):
            wrong = problem(value, field)
            if wrong:
                self._add(path, wrong)
            return [] if wrong else [value]
        good, problems = field.check(value)
        for inner, text in problems.items():
            self._add((*path, *inner), text)
        return [] if problems else [good]

    def _fraction_budget(self, data: _Mapping, path: KeyPath, entries: list[Any]) -> FractionBudget | None:
        values = self._values(data, path, fields_of(FractionBudget))
        fractions = values.get("fractions", [1.0])
        for i, fraction in enumerate(fractions):
            if fraction in fractions[:i]:
                self._add((*path, "fractions", i), f"{show(fraction)} is in this list twice")
        if "of" not in values:
            return None
        of = values["of"]
        labels = [self._algorithm_label(entry) for entry in entries]
        takes = [isinstance(e, dict) and isinstance(e.get("budget"), dict) and "of" in e["budget"] for e in entries]
        sources = [label for label, other in zip(labels, takes, strict=True) if label and not other]
        allowed = f"  (allowed: {', '.join(sources)})" if sources else ""
        if of in labels and of not in sources:
            text = f"{of!r} takes its own budget from another algorithm; name one that does not{allowed}"
            self._add((*path, "of"), text)
        elif of not in labels and None not in labels:
            advice = nearest(of, sources) or "; add one, or name another"
            self._add((*path, "of"), f"no algorithm has the label {of!r}{advice}{allowed}")
        return FractionBudget(of=of, fractions=fractions)

    def _try(self, spec: AlgorithmSpec, learner: Algorithm, path: KeyPath) -> None:
        """Build the learner or solver once for each setting: what its parameters may not be together only it knows.

        Settings that wait for a number of rounds, or for a support size, are built when those are known.
        """
        labels = [label for label in self._datasets if label is not None] if spec.by_dataset else [""]
        for label in labels:
            own = spec.on(label)
            if isinstance(own.budget, FractionBudget):
                continue
            for run in own.model_copy(update={"seeds": 1}).expand():
                if formulas(run.parameters, learner):
                    continue
                extra: _Mapping = {} if run.budget is None else {"budget": run.budget}
                if learner.draws:
                    extra["seed"] = 0
                try:
                    cast("Callable[..., Any]", learner)(**run.parameters, **extra)
                except ValueError as error:
                    self._add(path, f"on dataset {label!r}: {error}" if label else str(error))

    # The report and the profiles.

    def _report(self, data: Any, labels: _Names, datasets: _Names) -> ReportSpec:
        if data is None:
            return ReportSpec()
        path = ("report",)
        fields = {**fields_of(ReportSpec), "tables": _LIST, "figures": _LIST, "findings": _LIST}
        given = self._values(data, path, fields)
        tables = []
        for i, entry in enumerate(given.get("tables") or []):
            tables.append(self._table(entry, (*path, "tables", i), labels, datasets))
        figures = []
        for i, entry in enumerate(given.get("figures") or []):
            here = (*path, "figures", i)
            figures.append(self._figure(entry, here, labels, datasets))
        findings = []
        for i, entry in enumerate(given.get("findings") or []):
            here = (*path, "findings", i)
            values = self._values(entry, here, fields_of(FindingSpec))
            self._refer((*here, "dataset"), values.get("dataset"), datasets)
            self._refer((*here, "label"), values.get("label"), labels)
            findings.append(values)
        for key, entries in (("tables", tables), ("figures", figures)):
            self._unique([entry.get("name") for entry in entries], f"report.{key}", "name")
        if self.problems:
            return ReportSpec()
        return ReportSpec(
            tables=tuple(TableSpec(**values) for values in tables),
            figures=tuple(FigureSpec(**values) for values in figures),
            choices=tuple(given.get("choices", ())),
            findings=tuple(FindingSpec(**values) for values in findings),
        )

    def _figure(self, data: Any, path: KeyPath, labels: _Names, datasets: _Names) -> _Mapping:
        values = self._values(data, path, fields_of(FigureSpec))
        self._refer((*path, "dataset"), values.get("dataset"), datasets)
        for key in ("lines", "point", "band"):
            self._refer((*path, key), values.get(key), labels)
        # One that is wrong has been told.
        if not isinstance(data, dict) or any(key in data and key not in values for key in ("x", "y")):
            return values
        x = values.setdefault("x", "seconds" if self._solvers else "budget")
        y = values.setdefault("y", _HEIGHTS[x][0])
        if (x == "seconds") != self._solvers:
            are = "solvers: write x: seconds" if self._solvers else "learners, and seconds go with solvers"
            self._add((*path, "x"), f"must be another, got {show(x)}; the algorithms are {are}")
        elif y not in _HEIGHTS[x]:
            self._add((*path, "y"), f"with x: {x} must be one of {', '.join(_HEIGHTS[x])}, got {show(y)}")
        elif y in _OF_TESTS:
            self._need_test((*path, "y"), y, [values.get("dataset")], datasets)
        for key in ("band", "point") if x == "seconds" else ("band",):
            if values.get(key) and not x.startswith("budget"):
                text = f"goes with x: budget or budget_fraction, not with x: {x}; put its labels into lines"
                self._add((*path, key), text)
        return values

    def _need_test(self, path: KeyPath, quantity: str, shown: list[str | None], datasets: _Names) -> None:
        """Tell if none of the datasets shown is tested on; an unknown label among them has been told."""
        known = datasets.known or []
        if all(label in known for label in shown) and not self._tested & set(shown):
            which = f"dataset {shown[0]!r} has none" if len(shown) == 1 else "no dataset has one"
            text = f"{quantity} needs a test set, and {which}; give it test: [parts], or test_path: FILE beside path"
            self._add(path, text)

    def _table(self, data: Any, path: KeyPath, labels: _Names, datasets: _Names) -> _Mapping:
        values = self._values(data, path, {**fields_of(TableSpec), "choose": _MAPPING})
        if values.get("choose") is not None:
            values["choose"] = self._choose(values["choose"], (*path, "choose"))
        self._refer((*path, "columns"), values.get("columns"), labels)
        self._refer((*path, "relative_to"), values.get("relative_to"), labels)
        self._refer((*path, "rows"), values.get("rows"), datasets)
        if labels.known is not None and datasets.known is not None:
            either = _Names("algorithm or dataset", [*labels.known, *datasets.known])
            for key in values.get("aliases", {}):
                self._refer((*path, "aliases", key), key, either)
        known = _QUANTITIES[self._solvers]
        wrong = isinstance(data, dict) and "quantity" in data and "quantity" not in values
        quantity = values.setdefault("quantity", known[0])
        if not wrong and quantity not in known:
            kind = "solvers" if self._solvers else "learners"
            text = f"must be one of {', '.join(known)}, as the algorithms are {kind}, got {show(quantity)}"
            self._add((*path, "quantity"), text)
        elif quantity == "seconds_ratio" and isinstance(data, dict) and data.get("relative_to") is None:
            text = "missing; must be the label of the algorithm whose seconds the others' are divided by"
            self._add((*path, "relative_to"), text)
        elif quantity == "seconds_ratio" and not self._solvers:
            self._check_divisor(values, (*path, "relative_to"))
        if quantity in _OF_TESTS:
            self._need_test((*path, "quantity"), quantity, values.get("rows") or datasets.known or [], datasets)
        if values.get("expected") is not None:
            rows, problems = read_expected(self._folder / values["expected"], values["expected"], quantity)
            for text in problems:
                self._add((*path, "expected"), text)
            printed = list(dict.fromkeys(row[key] for row in rows for key in ("dataset", "label")))
            for key, name in values.get("aliases", {}).items():
                if not problems and name not in printed:
                    text = f"{values['expected']} has no dataset or label {name!r}{nearest(name, printed)}"
                    self._add((*path, "aliases", key), text)
            if not problems and values.get("tolerance_sd") and not any("sd" in row for row in rows):
                text = f"needs printed standard deviations, and {values['expected']} has no {sd_column(quantity)}"
                self._add((*path, "tolerance_sd"), text)
            values["expected_rows"] = rows
        if values.get("tolerance_sd") is not None:
            values.setdefault("tolerance", None)
        return values

    def _choose(self, data: _Mapping, path: KeyPath) -> ChooseSpec | None:
        before = len(self.problems)
        values = self._values(data, path, fields_of(ChooseSpec))
        if self._solvers:
            self._add(path, "goes with learners, and the algorithms are solvers; remove it")
        by, quantity, expected = (values.get(key) for key in ("by", "quantity", "expected"))
        if by == "printed":
            if "quantity" not in data:
                text = "missing; with by: printed must be one of margin_updates, support_size"
                self._add((*path, "quantity"), text)
            if "expected" not in data:
                self._add((*path, "expected"), "missing; with by: printed must be the file of the printed numbers")
        else:
            for key in ("quantity", "expected"):
                if by is not None and values.get(key) is not None:
                    self._add((*path, key), "goes with by: printed; remove it")
        if len(self.problems) == before and expected is not None and quantity is not None:
            values["expected_rows"], problems = read_expected(self._folder / expected, expected, quantity)
            for text in problems:
                self._add((*path, "expected"), text)
        return ChooseSpec(**values) if len(self.problems) == before else None

    def _check_divisor(self, values: _Mapping, path: KeyPath) -> None:
        """Tell a learner whose seconds are not those of one setting and budget on each dataset."""
        label = values.get("relative_to")
        if label not in self._algorithms:
            return
        for dataset in filter(None, self._datasets):
            known = {other.label: other.on(dataset) for other in self._algorithms.values()}
            own = known[label]
            runs = list(own.expand(known.get(own.budget.of) if isinstance(own.budget, FractionBudget) else None))
            n_budgets = len({(run.budget, run.budget_fraction) for run in runs})
            n_settings = len({json.dumps([run.parameters, run.budget_setting]) for run in runs})
            if n_budgets > 1 or (n_settings > 1 and values.get("choose") is None):
                what, advice = ("budgets", "") if n_budgets > 1 else ("settings", ", or let the table choose")
                text = f"{label!r} has several {what}, and seconds are divided by those of one; name another{advice}"
                self._add(path, text)
                break

    def _profiles(self, data: Any) -> dict[str, Profile]:
        profiles = {}
        for name, caps in (data or {}).items():
            here = ("profiles", name)
            if name == "full":
                self._add(here, "is the name of the whole config; choose another")
            values = self._values({} if caps is None else caps, here, fields_of(Profile))
            profiles[name] = Profile(**values)
        return profiles


class _Names:
    """The labels that a report may name; ``known`` is None where an entry is too wrong to have one."""

    def __init__(self, kind: str, known: list[str] | None) -> None:
        self.kind = kind
        self.known = known

    @property
    def listed(self) -> str:
        return f"  (allowed: {', '.join(self.known)})" if self.known else ""


def _is_solver(data: Any) -> bool:
    """Whether an entry names a solver."""
    from budgetrun import solvers

    return isinstance(data, dict) and isinstance(data.get("name"), str) and data["name"] in solvers.registry()


@cache
def _top_fields() -> dict[str, Field]:
    chosen_elsewhere = ("profile", "tasks")
    own = {key: field for key, field in fields_of(Config).items() if key not in chosen_elsewhere}
    return {
        **own,
        "datasets": Field(_Some),
        "kernel": _KERNEL,
        "algorithms": Field(_Some),
        "report": _MAPPING,
        "profiles": _MAPPING,
    }


def _default(learner: Algorithm, name: str) -> Any:
    from budgetrun import learners

    default = learners.parameters(learner)[name].default
    return list(default) if isinstance(default, tuple) else default


def _default_label(learner: Algorithm) -> str:
    variant = getattr(learner, "variant", None)
    return learner.name if variant is None else f"{learner.name}({variant})"


def _dataset_label(data: Any) -> str | None:
    label = (data.get("label") or data.get("name")) if isinstance(data, dict) else None
    return label if isinstance(label, str) else None
