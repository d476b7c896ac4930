"""Reads the section ``select`` of a config: rules that follow candidates on the stream."""

from __future__ import annotations

from typing import Any

from budgetrun.config.formulas import parameter_types
from budgetrun.config.problems import ValueType, allowed_names, quoted, unknown
from budgetrun.config.schema import AlgorithmSpec, DatasetSpec, FractionBudget, Name, SelectSpec
from budgetrun.config.values import Checker, Labels
from budgetrun.config.yaml import KeyPath

_COMMON = {
    "rule": ValueType(str),
    "of": ValueType(str | list[str], required=False),
    "label": ValueType(Name, required=False),
}
# In place of labels: a selection for each algorithm that has several candidates.
EACH = "each"


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
        checker.add(path, f"must be a mapping (key: value), got {quoted(entry)}")
        return []
    rules = selection.registry()
    name = entry.get("rule")
    if not isinstance(name, str) or name not in rules:
        text = "missing; must be the name of a rule" if name is None else unknown(name, rules)
        checker.add((*path, "rule"), f"{text}{allowed_names(rules)}")
        return []
    before = len(checker.problems)
    own = parameter_types(rules[name])
    given = checker.values(entry, path, _COMMON | own)
    of = given.get("of", list(known))
    groups = [[label] for label in several] if of == EACH else [of if isinstance(of, list) else [of]]
    here = (*path, "of")
    if of == EACH and "label" in given and len(groups) > 1:
        checker.add((*path, "label"), "cannot be given with of: each, which makes a selection for each algorithm")
    if of != EACH:
        checker.labels_exist(here, of, labels)
    for label in {label for group in groups for label in group}:
        if label in known and isinstance(known[label].budget, FractionBudget):
            text = f"{label!r} has a budget that depends on another run; candidates need budgets of their own"
            checker.add(here, text)
    if not all(groups):
        checker.add(here, f"must be a label, a list of labels with at least one, or {EACH}")
    if len(checker.problems) > before:
        return []
    default = rules[name]()
    parameters = {key: given.get(key, getattr(default, key)) for key in own}
    return [
        SelectSpec(
            rule=name,
            of=tuple(dict.fromkeys(group)),
            label=given.get("label") or (f"{name}({', '.join(group)})" if "of" in entry else name),
            parameters=parameters,
        )
        for group in groups
    ]


def _candidates(spec: AlgorithmSpec, dataset: DatasetSpec | None) -> int:
    """Return the number of runs of an algorithm on a stream, seeds aside; 0 if that is not known."""
    if dataset is None or dataset.kernel is None or not spec.has(dataset.label):
        return 0
    return len(dataset.kernel.each()) * spec.on(dataset.label).with_one_seed().count()
