"""Reads the algorithms of a config, with the values to sweep over, and the rules that select among them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from budgetrun.base.limits import parse_bytes
from budgetrun.base.params import Task
from budgetrun.base.problem import PROBLEMS
from budgetrun.base.registry import parameters
from budgetrun.config import kinds, problems
from budgetrun.config.problems import Checker, Labels, Name, Values, ValueType, value_types
from budgetrun.config.schema import AlgorithmSpec, ByDataset, DatasetSpec, FractionBudget, MemoryBudget, SelectSpec
from budgetrun.config.yaml import KeyPath

_MEMORY = "learner_memory"  # the key that gives a budget in bytes
_LABEL = ValueType(Name, required=False)


@dataclass(frozen=True)
class AlgorithmReader:
    """Reads algorithms; what is wrong with them goes to the checker's problems."""

    checker: Checker
    task: Task  # the task of the config's datasets
    kind: kinds.RunKind | None  # the kind of the config's runs; None for learners
    datasets: list[str | None]  # the labels of the config's datasets; None for a dataset without one
    entries: list[Any]  # all algorithms of the config

    def algorithm(self, data: Any, path: KeyPath) -> AlgorithmSpec | None:
        """Return an algorithm; None if it is wrong. `build_each` has to follow."""
        if not isinstance(data, dict):
            self.checker.add(path, f"must be a mapping (key: value), got {problems.quoted(data)}")
            return None
        if (learner := self._learner(data, path)) is None:
            return None
        before = len(self.checker.problems)
        keys = ["name", *([] if self.kind else ["variant"]), "label", *(["seeds"] if learner.draws else [])]
        common = {key: _LABEL if key == "label" else value_types(AlgorithmSpec)[key] for key in keys}
        own = kinds.parameter_types(learner)
        no_draws = f"{learner.name} draws nothing at random"
        advice = "write seeds: n for the seeds 0 to n - 1" if learner.draws else no_draws
        refused = dict.fromkeys(("seed", "seeds"), f"cannot be given here; {advice}")
        if self.kind:
            kind = f"{learner.name} is a {self.kind.name}, and holds {self.kind.holds}"
            refused["budget"] = f"{kind}: it takes no budget"
        allowed = {*common, *own, *([_MEMORY] if "budget" in own else [])}
        for key in data:
            if key not in allowed:
                self.checker.add((*path, key), refused.get(key) or problems.unknown_key(key, [*common, *own]))
        given = self.checker.values({key: data[key] for key in common if key in data}, path, common)
        swept: dict[str, Any] = {}
        for key, wanted in own.items():
            here = (*path, key)
            if key == "budget" and _MEMORY in data:
                if key in data:
                    self.checker.add(here, f"cannot be given with {_MEMORY}, which decides on it; remove one of them")
                here = (*path, _MEMORY)
                sizes = self.checker.sweep(data[_MEMORY], here, ValueType(str), self._size)
                swept[key] = MemoryBudget(learner_memory=tuple(sizes)) if sizes else None
            elif key not in data:
                if wanted.required:
                    self.checker.add(here, f"missing; must be {wanted.wanted}")
                # Configs that resolved to less, before the learner had the parameter, stay equal to this one.
                if key not in learner.added:
                    default = parameters(learner)[key].default
                    swept[key] = (list(default) if isinstance(default, tuple) else default,)
            elif isinstance(data[key], dict) and "by_dataset" in data[key]:
                swept[key] = self._by_dataset(data[key], here, wanted)
            elif key == "budget" and isinstance(data[key], dict):
                swept[key] = self._fraction_budget(data[key], here)
            else:
                swept[key] = tuple(self.checker.sweep(data[key], here, wanted, self._checked))
        if len(self.checker.problems) > before:
            return None
        budget = swept.pop("budget", None)
        return AlgorithmSpec(
            name=learner.name,
            variant=getattr(learner, "variant", None),
            label=given.get("label") or _default_label(learner),
            seeds=given.get("seeds", 1),
            budget=None if budget == (None,) else budget,
            parameters=swept,
            kind=self.kind.name if self.kind else "",
        )

    def _size(self, value: Any, path: KeyPath, _: ValueType) -> list[int]:
        """Return a list of the bytes of a size, empty if it is wrong."""
        try:
            return [round(parse_bytes(str(value)))]
        except ValueError as error:
            self.checker.add(path, str(error))
            return []

    def _learner(self, data: Values, path: KeyPath) -> Any:
        """Return the class of an entry; None if its name or variant is wrong."""
        name, variant, kind = data.get("name"), data.get("variant"), kinds.kind_of(data.get("name"))
        of_learners = kinds.learners_for(self.task)
        known = [*(self.kind.algorithms() if self.kind else of_learners)]
        key, wrong = "name", ""
        if name is None:
            wrong = "missing; must be the name of an algorithm  (budgetrun list algorithms)"
        elif isinstance(name, str) and (kind is not self.kind if kind else self.kind and name in of_learners):
            # `kind_of_all` reports the first such entry.
            return None
        elif isinstance(name, str) and name not in known and (others := tasks_of(name)):
            learns = " or ".join(PROBLEMS[task].learns for task in others)
            needs = f"; it needs datasets with task: {others[0]}"
            why = needs if self.task == "binary" else f", and the task is {self.task}"
            wrong = f"{name!r} learns {learns} only{why}{problems.allowed_names(known)}"
        elif not isinstance(name, str) or name not in known:
            every = [*known, *(name for kind in kinds.registry().values() for name in kind.algorithms())]
            wrong = f"{problems.unknown(name, every)}  (budgetrun list algorithms)"
        elif not self.kind and variant is not None and not (isinstance(variant, str) and variant in of_learners[name]):
            variants = [key for key in of_learners[name] if key is not None]
            advice = problems.allowed_names(variants) or f"; {name} has no variants"
            key, wrong = "variant", f"{problems.unknown(variant, variants)}{advice}"
        if wrong:
            self.checker.add((*path, key), wrong)
        return None if wrong else kinds.class_of(name, None if self.kind else variant, self.task)

    def label(self, data: Any) -> str | None:
        """Return the label of an entry; None if its algorithm is unknown."""
        if not isinstance(data, dict):
            return None
        if data.get("label") is not None:
            return str(data["label"])
        try:
            return _default_label(kinds.class_of(data.get("name", ""), data.get("variant"), self.task))
        except (KeyError, TypeError):
            return None

    def _by_dataset(self, data: Values, path: KeyPath, wanted: ValueType) -> ByDataset:
        """Return the values for each dataset; a dataset without values is a problem."""
        for key in data:
            if key != "by_dataset":
                self.checker.add((*path, key), problems.unknown_key(key, ["by_dataset"]))
        here = (*path, "by_dataset")
        if not isinstance(data["by_dataset"], dict):
            self.checker.add(here, f"must be a mapping (dataset: value), got {problems.quoted(data['by_dataset'])}")
            return ByDataset(by_dataset={})
        given = {str(label): value for label, value in data["by_dataset"].items()}
        known = [label for label in self.datasets if label is not None]
        if None not in self.datasets:
            for label in given:
                self.checker.labels_exist((*here, label), label, Labels("dataset", known))
            missing = [label for label in known if label not in given]
            if missing:
                self.checker.add(here, f"missing: {', '.join(missing)}; every dataset of the config needs a value")
        checked = (self.checker.sweep(own, (*here, label), wanted, self._checked) for label, own in given.items())
        return ByDataset(by_dataset=dict(zip(given, map(tuple, checked), strict=True)))

    def _checked(self, value: Any, path: KeyPath, wanted: ValueType) -> list[Any]:
        """Return a list of the value, empty if it is wrong."""
        if path[2] == "budget" or not kinds.is_formula(value, wanted):
            return self.checker.checked(value, path, wanted)
        if wrong := kinds.wrong_formula(value, wanted):
            self.checker.add(path, wrong)
        return [] if wrong else [value]

    @cached_property
    def _budgets(self) -> list[tuple[str | None, str]]:
        """The label of each algorithm, None if it is unknown, and how it gets its budget, empty if as numbers."""
        found = []
        for entry in self.entries:
            given = entry if isinstance(entry, dict) else {}
            budget, how = given.get("budget"), ""
            if _MEMORY in given:
                how = f"has a {_MEMORY}"
            elif isinstance(budget, dict) and "of" in budget:
                how = "takes its own budget from another algorithm"
            found.append((self.label(entry), how))
        return found

    def _fraction_budget(self, data: Values, path: KeyPath) -> FractionBudget | None:
        values = self.checker.values(data, path, value_types(FractionBudget))
        fractions = values.get("fractions", [1.0])
        seen: set[float] = set()
        for i, fraction in enumerate(fractions):
            if fraction in seen:
                self.checker.add((*path, "fractions", i), f"{problems.quoted(fraction)} is in this list twice")
            seen.add(fraction)
        if "of" not in values:
            return None
        of, hows = values["of"], [how for label, how in self._budgets if label == values["of"]]
        sources = dict.fromkeys(label for label, how in self._budgets if label and not how)
        allowed = problems.allowed_names(sources)
        if hows and of not in sources:
            self.checker.add((*path, "of"), f"{of!r} {hows[0]}; name one that does not{allowed}")
        elif not hows and all(label is not None for label, _ in self._budgets):
            advice = problems.nearest(of, sources) or "; add one, or name another"
            self.checker.add((*path, "of"), f"no algorithm has the label {of!r}{advice}{allowed}")
        return FractionBudget(of=of, fractions=fractions)

    def build_each(self, spec: AlgorithmSpec, path: KeyPath) -> None:
        """Build the algorithm once for each setting, because only its class knows what goes together.

        Settings that depend on the number of rounds, on a support size or on the size of examples are built later.
        """
        learner = kinds.class_of(spec.name, spec.variant, self.task)
        labels = [label for label in self.datasets if label is not None] if spec.by_dataset else [""]
        for label in labels:
            # A dataset without values is a problem already.
            if label and not spec.has(label):
                continue
            own = spec.on(label) if label else spec
            later = own.budget_of or isinstance(own.budget, MemoryBudget)
            for run in () if later else own.with_one_seed().expand():
                try:
                    if not kinds.formulas(run.parameters, learner):
                        run.build(learner)
                except ValueError as error:
                    self.checker.add(path, f"on dataset {label!r}: {error}" if label else str(error))


def kind_of_all(checker: Checker, entries: list[Any]) -> kinds.RunKind | None:
    """Return the kind of the first known algorithm, None for learners; the first one that differs is a problem."""
    names = {i: entry.get("name") for i, entry in enumerate(entries) if isinstance(entry, dict)}
    found = {i: kind for i, name in names.items() if (kind := kinds.kind_of(name)) or tasks_of(str(name))}
    first = min(found, default=0)
    for i, kind in found.items():
        if kind != found[first]:
            here, there = (one.name if one else "learner" for one in (kind, found[first]))
            which = f"{names[i]!r} is a {here}, and {names[first]!r} a {there}"
            either = " or ".join(f"all {name}s" for name in sorted((here, there)))
            text = f"{which}; a config's algorithms are {either}: make two configs"
            checker.add(("algorithms", i, "name"), text)
            break
    return found.get(first)


def check_fit(checker: Checker, entries: list[Any], datasets: list[DatasetSpec | None]) -> None:
    """Report each algorithm that is not a learner and cannot run on some dataset, once."""
    for i, entry in enumerate(entries):
        name: Any = entry.get("name") if isinstance(entry, dict) else None
        if kind := kinds.kind_of(name):
            texts = (kind.misfit(kind.algorithms()[name], dataset) for dataset in datasets if dataset is not None)
            if text := next(filter(None, texts), None):
                checker.add(("algorithms", i, "name"), text)


def tasks_of(name: str) -> list[Task]:
    """Return the tasks for which there is a learner of this name."""
    from budgetrun import learners

    tasks = [problem.name for problem in PROBLEMS.values()]
    return [task for task in tasks if name in learners.registry(task) or name in kinds.programs(task)]


def title_of(spec: AlgorithmSpec, task: Task) -> str:
    """Return the title of an algorithm's class; the label where there is none, or where the config gives a label."""
    found = kinds.class_of(spec.name, spec.variant, task)
    return found.title or spec.label if spec.label == _default_label(found) else spec.label


def _default_label(learner: Any) -> str:
    variant = getattr(learner, "variant", None)
    return learner.name if variant is None else f"{learner.name}({variant})"


_COMMON = {"rule": ValueType(str), "of": ValueType(str | list[str], required=False), "label": _LABEL}
EACH = "each"  # in place of labels: a selection for each algorithm that has several candidates


def selections(
    checker: Checker, entries: list[Any], specs: list[AlgorithmSpec | None], datasets: list[DatasetSpec | None]
) -> list[SelectSpec]:
    """Return the selections of a config among its algorithms; None stands for what is wrong."""
    known = {spec.label: spec for spec in specs if spec is not None}
    if entries and (kind := next((spec.kind for spec in known.values()), "")):
        checker.add(("select",), f"selects among learners as they run; the algorithms of this config are {kind}s")
        return []
    labels = Labels("algorithm", None if None in specs else list(known))
    several = [label for label, spec in known.items() if any(_candidates(spec, one) > 1 for one in datasets)]
    found = []
    for i, entry in enumerate(entries):
        found += _selection(checker, entry, ("select", i), known, several, labels)
    checker.unique([*known, *(spec.label for spec in found)], "algorithms", "label")
    return found


def _selection(
    checker: Checker, entry: Any, path: KeyPath, known: dict[str, AlgorithmSpec], several: list[str], labels: Labels
) -> list[SelectSpec]:
    # It imports the engine.
    from budgetrun.play import selection

    if not isinstance(entry, dict):
        checker.add(path, f"must be a mapping (key: value), got {problems.quoted(entry)}")
        return []
    rules = selection.registry()
    name = entry.get("rule")
    if not isinstance(name, str) or name not in rules:
        text = "missing; must be the name of a rule" if name is None else problems.unknown(name, rules)
        checker.add((*path, "rule"), f"{text}{problems.allowed_names(rules)}")
        return []
    before = len(checker.problems)
    own = kinds.parameter_types(rules[name])
    given = checker.values(entry, path, _COMMON | own)
    of = given.get("of", list(known))
    groups = [[label] for label in several] if of == EACH else [of if isinstance(of, list) else [of]]
    here = (*path, "of")
    if of == EACH and "label" in given and len(groups) > 1:
        checker.add((*path, "label"), "cannot be given with of: each, which makes a selection for each algorithm")
    if of != EACH:
        checker.labels_exist(here, of, labels)
    for label in {label for group in groups for label in group}:
        if label in known and known[label].budget_of:
            text = f"{label!r} has a budget that depends on another run; candidates need budgets of their own"
            checker.add(here, text)
    if not all(groups):
        checker.add(here, f"must be a label, a list of labels with at least one, or {EACH}")
    if len(checker.problems) > before:
        return []
    default = rules[name]()
    common: dict[str, Any] = {"rule": name, "parameters": {key: given.get(key, getattr(default, key)) for key in own}}
    found = []
    for group in groups:
        label = given.get("label") or (f"{name}({', '.join(group)})" if "of" in entry else name)
        found.append(SelectSpec(of=tuple(dict.fromkeys(group)), label=label, **common))
    return found


def _candidates(spec: AlgorithmSpec, dataset: DatasetSpec | None) -> int:
    """Return the number of runs of an algorithm on a stream, seeds aside; 0 if that is not known."""
    if dataset is None or dataset.kernel is None or not spec.has(dataset.label):
        return 0
    return len(dataset.kernel.each()) * spec.on(dataset.label).with_one_seed().count()
