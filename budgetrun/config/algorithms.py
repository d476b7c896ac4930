"""Learners and solvers of a config, with the values that are swept."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from budgetrun.config.formulas import formulas, is_formula, parameter_fields, problem
from budgetrun.config.problems import Field, fields_of, nearest, show, unknown, unknown_key
from budgetrun.config.schema import AlgorithmSpec, ByDataset, DatasetSpec, FractionBudget, Seeds, Text
from budgetrun.config.values import Values, Walk
from budgetrun.config.yaml import KeyPath

if TYPE_CHECKING:
    from budgetrun.learners import Learner
    from budgetrun.solvers import Solver

    Algorithm = type[Learner] | type[Solver]


class AlgorithmReader:
    """Reads algorithms, and tells what is wrong with them.

    ``multiclass`` and ``solvers`` say what kind the config's are; ``datasets`` are the labels of its datasets, None for
    one that cannot be told.
    """

    def __init__(self, walk: Walk, *, multiclass: bool, solvers: bool, datasets: list[str | None]) -> None:
        self._walk = walk
        self._multiclass = multiclass
        self._solvers = solvers
        self._datasets = datasets

    def algorithm(self, data: Any, path: KeyPath, entries: list[Any]) -> AlgorithmSpec | None:
        """Return an algorithm, ``entries`` being all of the config; None if it is wrong."""
        if not isinstance(data, dict):
            self._walk.add(path, f"must be a mapping (key: value), got {show(data)}")
            return None
        learner = self._learner(data, path)
        if learner is None:
            return None
        before = len(self._walk.problems)
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
                self._walk.add((*path, key), f"cannot be given here; {advice}")
        told = {"seed", "seeds"} - fields.keys()
        if self._solvers and "budget" in data:
            self._walk.add((*path, "budget"), f"{learner.name} is a solver, and holds all examples: it takes no budget")
            told.add("budget")
        for key in data:
            if key not in fields and key not in own and key not in told:
                self._walk.add((*path, key), unknown_key(key, [*fields, *own]))
        common = self._walk.values({key: data[key] for key in fields if key in data}, path, fields)
        swept: dict[str, Any] = {}
        for key, field in own.items():
            here = (*path, key)
            if key not in data:
                if field.required:
                    self._walk.add(here, f"missing; must be {field.wanted}")
                swept[key] = (_default(learner, key),)
            elif isinstance(data[key], dict) and "by_dataset" in data[key]:
                swept[key] = self._by_dataset(data[key], here, field)
            elif key == "budget" and isinstance(data[key], dict):
                swept[key] = self._fraction_budget(data[key], here, entries)
            else:
                swept[key] = self._sweep(data[key], here, field)
        if len(self._walk.problems) > before:
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

    def _learner(self, data: Values, path: KeyPath) -> Algorithm | None:
        """Return the class of an entry, a learner's or a solver's."""
        from budgetrun import learners, solvers

        known: Values = solvers.registry() if self._solvers else learners.registry(multiclass=self._multiclass)
        name, variant = data.get("name"), data.get("variant")
        if self._solvers and name in known:
            return solvers.find(name)
        if is_solver(data) != self._solvers and (is_solver(data) or name in learners.registry(self._multiclass)):
            # Told once, at the first such entry.
            return None
        if name is None:
            self._walk.add((*path, "name"), "missing; must be the name of an algorithm  (budgetrun list algorithms)")
        elif isinstance(name, str) and name not in known and name in learners.registry(multiclass=not self._multiclass):
            if self._multiclass:
                text = f"{name!r} learns two classes only, and the task is multiclass"
            else:
                text = f"{name!r} learns several classes only; it needs datasets with task: multiclass"
            self._walk.add((*path, "name"), f"{text}  (allowed: {', '.join(known)})")
        elif not isinstance(name, str) or name not in known:
            names = [*known, *solvers.registry()]
            self._walk.add((*path, "name"), f"{unknown(name, names)}  (budgetrun list algorithms)")
        elif variant is not None and not (isinstance(variant, str) and variant in known[name]):
            variants = [key for key in known[name] if key is not None]
            listed = f"  (allowed: {', '.join(variants)})" if variants else f"; {name} has no variants"
            self._walk.add((*path, "variant"), f"{unknown(variant, variants)}{listed}")
        else:
            return learners.find(name, variant, multiclass=self._multiclass)
        return None

    def label(self, data: Any) -> str | None:
        """Return an entry's label, None where it cannot be told."""
        from budgetrun import learners

        if not isinstance(data, dict):
            return None
        if data.get("label") is not None:
            return str(data["label"])
        if is_solver(data):
            return str(data["name"])
        try:
            found = learners.find(data.get("name", ""), data.get("variant"), multiclass=self._multiclass)
        except (KeyError, TypeError):
            return None
        return _default_label(found)

    def _by_dataset(self, data: Values, path: KeyPath, field: Field) -> ByDataset:
        """Check the values of each dataset; all of them must be there."""
        for key in data:
            if key != "by_dataset":
                self._walk.add((*path, key), unknown_key(key, ["by_dataset"]))
        here = (*path, "by_dataset")
        given = data["by_dataset"]
        if not isinstance(given, dict):
            self._walk.add(here, f"must be a mapping (dataset: value), got {show(given)}")
            return ByDataset(by_dataset={})
        known = [label for label in self._datasets if label is not None]
        if None not in self._datasets:
            for label in given:
                if label not in known:
                    listed = f"  (allowed: {', '.join(known)})"
                    self._walk.add(
                        (*here, label), f"no dataset has the label {label!r}{nearest(str(label), known)}{listed}"
                    )
            missing = [label for label in known if label not in given]
            if missing:
                self._walk.add(here, f"missing: {', '.join(missing)}; every dataset of the config needs a value")
        values = {label: self._sweep(value, (*here, label), field) for label, value in given.items()}
        return ByDataset(by_dataset={str(label): own for label, own in values.items()})

    def _sweep(self, value: Any, path: KeyPath, field: Field) -> tuple[Any, ...]:
        """Check a value, or each of a list of them; return the good ones."""
        if not isinstance(value, list) or field.takes_lists:
            return tuple(self._checked(value, path, field))
        if not value:
            self._walk.add(path, f"must be {field.wanted}, or a list with at least one such value, got an empty list")
        found: list[Any] = []
        for i, item in enumerate(value):
            for good in self._checked(item, (*path, i), field):
                if json.dumps(good) in map(json.dumps, found):
                    self._walk.add((*path, i), f"{show(good)} is in this list twice")
                found.append(good)
        return tuple(found)

    def _checked(self, value: Any, path: KeyPath, field: Field) -> list[Any]:
        if path[2] != "budget" and is_formula(value, field):
            wrong = problem(value, field)
            if wrong:
                self._walk.add(path, wrong)
            return [] if wrong else [value]
        good, problems = field.check(value)
        for inner, text in problems.items():
            self._walk.add((*path, *inner), text)
        return [] if problems else [good]

    def _fraction_budget(self, data: Values, path: KeyPath, entries: list[Any]) -> FractionBudget | None:
        values = self._walk.values(data, path, fields_of(FractionBudget))
        fractions = values.get("fractions", [1.0])
        for i, fraction in enumerate(fractions):
            if fraction in fractions[:i]:
                self._walk.add((*path, "fractions", i), f"{show(fraction)} is in this list twice")
        if "of" not in values:
            return None
        of = values["of"]
        labels = [self.label(entry) for entry in entries]
        takes = [isinstance(e, dict) and isinstance(e.get("budget"), dict) and "of" in e["budget"] for e in entries]
        sources = [label for label, other in zip(labels, takes, strict=True) if label and not other]
        allowed = f"  (allowed: {', '.join(sources)})" if sources else ""
        if of in labels and of not in sources:
            text = f"{of!r} takes its own budget from another algorithm; name one that does not{allowed}"
            self._walk.add((*path, "of"), text)
        elif of not in labels and None not in labels:
            advice = nearest(of, sources) or "; add one, or name another"
            self._walk.add((*path, "of"), f"no algorithm has the label {of!r}{advice}{allowed}")
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
                extra: Values = {} if run.budget is None else {"budget": run.budget}
                if learner.draws:
                    extra["seed"] = 0
                try:
                    cast("Callable[..., Any]", learner)(**run.parameters, **extra)
                except ValueError as error:
                    self._walk.add(path, f"on dataset {label!r}: {error}" if label else str(error))


def are_solvers(walk: Walk, entries: list[Any]) -> bool:
    """Tell solvers beside learners; return whether the first that can be told is a solver."""
    from budgetrun import learners

    known = learners.registry(multiclass=False).keys() | learners.registry(multiclass=True).keys()
    kinds = {}
    for i, entry in enumerate(entries):
        if is_solver(entry) or (isinstance(entry, dict) and str(entry.get("name")) in known):
            kinds[i] = is_solver(entry)
    first = min(kinds, default=0)
    for i, kind in kinds.items():
        if kind != kinds[first]:
            here, there = ("solver", "learner") if kind else ("learner", "solver")
            which = f"{entries[i]['name']!r} is a {here}, and {entries[first]['name']!r} a {there}"
            text = f"{which}; a config's algorithms are all learners or all solvers: make two configs"
            walk.add(("algorithms", i, "name"), text)
            break
    return kinds.get(first, False)


def check_kernels(walk: Walk, entries: list[Any], datasets: list[DatasetSpec | None]) -> None:
    """Tell solvers that do not know the kernel of some dataset, each once."""
    from budgetrun import solvers

    for i, entry in enumerate(entries):
        for dataset in datasets:
            if not is_solver(entry) or dataset is None or dataset.kernel is None:
                continue
            known = solvers.find(entry["name"]).kernels
            if dataset.kernel.name not in known:
                of = f"dataset {dataset.label!r} has {dataset.kernel.name}"
                text = f"{entry['name']} solves with the kernel {' or '.join(known)} only, and {of}"
                walk.add(("algorithms", i, "name"), text)
                break


def is_solver(data: Any) -> bool:
    """Whether an entry names a solver."""
    from budgetrun import solvers

    return isinstance(data, dict) and isinstance(data.get("name"), str) and data["name"] in solvers.registry()


def _default(learner: Algorithm, name: str) -> Any:
    from budgetrun import learners

    default = learners.parameters(learner)[name].default
    return list(default) if isinstance(default, tuple) else default


def _default_label(learner: Algorithm) -> str:
    variant = getattr(learner, "variant", None)
    return learner.name if variant is None else f"{learner.name}({variant})"
