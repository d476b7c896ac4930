"""From YAML to `Config`: all mistakes of a file are found at once and listed in the order of the file."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from budgetrun.base.errors import InputError
from budgetrun.base.files import own_folder
from budgetrun.config.algorithms import AlgorithmReader, check_fit, kind_of_all, selections, title_of
from budgetrun.config.datasets import KERNEL, DatasetReader, common_problem, dataset_label
from budgetrun.config.problems import (
    MOST_PROBLEMS,
    Checker,
    Labels,
    TooManyProblems,
    Values,
    ValueType,
    nearest,
    quoted,
    value_types,
)
from budgetrun.config.report import ReportReader
from budgetrun.config.schema import MOST_RUNS, AlgorithmSpec, Config, DatasetSpec, FileName, FractionBudget, Profile
from budgetrun.config.yaml import parse, read_text

_Some = Annotated[list[Any], Field(min_length=1)]
# The most settings of an algorithm on a dataset: each is tried out when a config is checked.
MOST_SETTINGS = 100_000
_PROFILE = ValueType(FileName)
_MAPPING = ValueType(dict[str, Any] | None, required=False)


def load(path_or_name: str | Path, profile: str = "full") -> Config:
    """Read and check a config.

    Parameters
    ----------
    path_or_name : str or Path
        A file, or the name of a config that comes with budgetrun, such as ``quickstart``.
    profile : str
        Which of the config's profiles to apply; ``full`` for none.

    Raises
    ------
    InputError
        No such config or profile, or the config is wrong: one line per problem, in the order of the file.
    """
    path = find(str(path_or_name))
    if path.suffix not in (".yaml", ".yml") and not _is_mapping(path):
        what = "not a config (a YAML file with the keys name, datasets and algorithms)"
        raise InputError(f"{path}: {what}; if it is data, run learners on it: budgetrun run {path}")
    return read(read_text(path), path).apply_profile(profile)


def _is_mapping(path: Path) -> bool:
    """Return True if a file could be a config: text of allowed length that YAML reads as a mapping."""
    try:
        return isinstance(parse(read_text(path)).data, dict)
    except InputError:
        return False


def list_configs() -> list[tuple[str, str]]:
    """Return the name and the source, or the description, of every config that comes with budgetrun."""
    listed = []
    for name, path in _own_configs().items():
        data = parse(read_text(path)).data
        about = data if isinstance(data, dict) else {}
        listed.append((name, str(about.get("source") or about.get("description") or "")))
    return listed


def read(text: str, path: Path) -> Config:
    """Return the config in a YAML text; ``path`` is its file, as typed, which messages name.

    Raises
    ------
    InputError
        One line per problem.
    """
    document = parse(text)
    checker = Checker(document, path.parent)
    try:
        if isinstance(document.data, dict):
            values = _config(checker, document.data)
        elif not checker.problems:
            wanted = "must be a config: YAML with the keys name, datasets and algorithms"
            checker.add((), f"{wanted}, got {quoted(document.data)}  (for examples: budgetrun list configs)")
    except TooManyProblems:
        pass
    if checker.problems:
        # Sorting is stable: problems of one line stay in the order in which they were found.
        found = sorted(checker.problems, key=lambda p: p.line)[:MOST_PROBLEMS]
        lines = [*dict.fromkeys(f"{path}:{problem}" for problem in found)]
        if len(checker.problems) >= MOST_PROBLEMS:
            lines.append(f"{path}: these are the first {MOST_PROBLEMS} problems; there may be more")
        raise InputError("\n".join(lines))
    return Config(**values, file=str(path), text=text)


def _own_configs() -> dict[str, Path]:
    return {path.stem: path for path in sorted(own_folder("configs").glob("*.yaml"))}


def find(typed: str) -> Path:
    """Return the file of a config, given as typed: a file, or the name of one that comes with budgetrun."""
    path = Path(typed)
    # Unlike the methods of Path, these functions raise nothing if a name is too long or a folder is closed.
    if os.path.isfile(path):
        return path
    known = _own_configs()
    if typed in known:
        packaged = known[typed]
        return Path(os.path.relpath(packaged)) if packaged.is_relative_to(Path.cwd()) else packaged
    if os.path.isdir(path):
        raise InputError(f"{typed}: a folder, not a config; name a file in it, such as {path / 'NAME.yaml'}")
    raise InputError(f"{typed}: no such file or config{nearest(path.stem, known)}  (budgetrun list configs)")


def _config(checker: Checker, data: Values) -> Values:
    given = checker.values(data, (), _top_types())
    entries, algorithms = given.get("datasets", []), given.get("algorithms", [])
    problem = common_problem(checker, entries)
    task = problem.name
    if given.get("tie") == "positive" and "positive" not in problem.ties:
        text = f"must be 'mistake' with task: {task}, where no score of 0 predicts +1, got 'positive'"
        checker.add(("tie",), text)

    of_datasets = DatasetReader(checker)
    kernel = of_datasets.kernel(given.get("kernel"), ("kernel",))
    # A wrong kernel is one problem; the datasets do not also lack a kernel.
    with_kernel = kernel is not None or data.get("kernel") is not None
    repetitions = given.get("repetitions", 1)
    datasets = [
        of_datasets.dataset(entry, ("datasets", i), kernel, with_kernel, repetitions) for i, entry in enumerate(entries)
    ]
    names = [dataset_label(entry) for entry in entries]

    kind = kind_of_all(checker, algorithms)
    if kind:
        kind.check(checker, given, datasets)
    of_algorithms = AlgorithmReader(checker, task=task, kind=kind, datasets=names, entries=algorithms)
    specs = [of_algorithms.algorithm(entry, ("algorithms", i)) for i, entry in enumerate(algorithms)]
    if _are_too_many(checker, specs, datasets):
        specs = []
    for i, spec in enumerate(specs):
        if spec is not None:
            of_algorithms.build_each(spec, ("algorithms", i))
    labels = checker.unique([of_algorithms.label(entry) for entry in algorithms], "algorithms", "label")
    before = len(checker.problems)
    select = selections(checker, given.get("select", []), specs, datasets)
    if select and not problem.of_classes:
        checker.add(("select",), "selects by mistakes, and the labels are numbers (task: regression); remove it")
    # A selection that is wrong has no label; that is one problem.
    every = labels and [*labels, *(spec.label for spec in select)] if len(checker.problems) == before else None
    check_fit(checker, algorithms, datasets)

    metrics = given.get("metrics", ())
    refused = [name for name in metrics if name not in problem.metrics]
    if refused:
        checker.add(("metrics",), f"{', '.join(refused)} cannot be measured with task: {task}; remove it")
    of_report = ReportReader(
        checker,
        kind=kind,
        problem=problem,
        metrics=metrics,
        tested={dataset_label(e) for e in entries if isinstance(e, dict) and (e.get("test") or e.get("test_path"))},
        labels=Labels("algorithm", every),
        datasets=Labels("dataset", checker.unique(names, "datasets", "label")),
        algorithms={spec.label: spec for spec in specs if spec is not None},
        titles={s.label: title for s in specs if s is not None and (title := title_of(s, task)) != s.label},
    )
    return {
        **given,
        "kernel": kernel,
        "datasets": datasets,
        "algorithms": specs,
        "select": select,
        "report": of_report.report(given.get("report")),
        "profiles": _profiles(checker, given.get("profiles")),
    }


def _are_too_many(checker: Checker, specs: list[AlgorithmSpec | None], datasets: list[DatasetSpec | None]) -> bool:
    """Return True, and add a problem, if the good algorithms have more settings or runs than a config may."""
    known = {spec.label: spec for spec in specs if spec is not None}
    n_settings = n_runs = 0
    for i, spec in enumerate(specs):
        for dataset in datasets:
            # A wrong one is a problem already.
            if spec is None or dataset is None or not spec.has(dataset.label):
                continue
            own = spec.on(dataset.label)
            source = known.get(own.budget.of) if isinstance(own.budget, FractionBudget) else None
            if source is not None and not source.has(dataset.label):
                continue
            n = own.count(source.on(dataset.label) if source else None)
            n_settings = max(n_settings, n // (own.seeds if isinstance(own.seeds, int) else 1))
            n_runs += n * (dataset.repetitions or 1)
            if n_settings > MOST_SETTINGS or n_runs > MOST_RUNS:
                most = f"{MOST_RUNS:,} runs" if n_runs > MOST_RUNS else f"{MOST_SETTINGS:,} settings of an algorithm"
                text = f"makes {max(n_runs, n_settings):,} runs or more; a config may have {most}: make several configs"
                checker.add(("algorithms", i), text)
                return True
    return False


def _profiles(checker: Checker, data: Any) -> dict[str, Profile]:
    profiles = {}
    for name, caps in (data or {}).items():
        here = ("profiles", name)
        if name == "full":
            checker.add(here, "is the name of the whole config; choose another")
        # Results of a profile are in a folder of this name.
        for text in _PROFILE.check(name)[1].values():
            checker.add(here, text)
        profiles[name] = Profile(**checker.values({} if caps is None else caps, here, value_types(Profile)))
    return profiles


@cache
def _top_types() -> dict[str, ValueType]:
    types = {key: wanted for key, wanted in value_types(Config).items() if key not in ("profile", "tasks")}
    some = dict.fromkeys(("datasets", "algorithms"), ValueType(_Some))
    mappings = dict.fromkeys(("report", "profiles"), _MAPPING)
    return types | some | mappings | {"kernel": KERNEL, "select": ValueType(_Some, required=False)}
