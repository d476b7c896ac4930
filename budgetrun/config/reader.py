"""From YAML to `Config`: all mistakes of a file are found at once and listed in the order of the file."""

import itertools
import os
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from budgetrun.base.errors import InputError
from budgetrun.base.files import PARQUET, is_url, own_files
from budgetrun.base.problem import BINARY, Problem, problem_of
from budgetrun.base.registry import parameters
from budgetrun.config import problems
from budgetrun.config.algorithms import AlgorithmReader, check_fit, kind_of_all, selections, title_of
from budgetrun.config.problems import Checker, FileName, Labels, Values, ValueType, value_types
from budgetrun.config.report import MAPPING, ReportReader
from budgetrun.config.schema import MOST_RUNS, AlgorithmSpec, Config, DatasetSpec, KernelSpec, Profile
from budgetrun.config.yaml import KeyPath, Mistake, parse, read_text

_Some = Annotated[list[Any], Field(min_length=1)]
MOST_SETTINGS = 100_000  # the most settings of an algorithm on a dataset: each is tried out when a config is checked
_PROFILE = ValueType(FileName)
# The most names of files that are read to find Parquet among them: a large folder of other files takes no time.
_MOST_NAMES = 10_000


def load(path_or_name: str | Path, profile: str = "full") -> Config:
    """Read and check a config: a file, or by name one that comes with budgetrun, such as ``quickstart``.

    ``profile`` names the one of the config's profiles that is applied; ``full`` is none.

    Raises InputError: no such config or profile, or the config is wrong: a line per problem, in the order of the file.
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
    for name, path in own_files("configs").items():
        data = parse(read_text(path)).data
        about = data if isinstance(data, dict) else {}
        listed.append((name, str(about.get("source") or about.get("description") or "")))
    return listed


def read(text: str, path: Path, told: Callable[[Mistake], str] | None = None) -> Config:
    """Return the config in a YAML text; ``path`` is its file, as typed, which messages name unless ``told`` words them.

    Raises InputError: one line per problem.
    """
    document = parse(text)
    checker = Checker(document, path.parent)
    try:
        if isinstance(document.data, dict):
            values = _config(checker, document.data)
        elif not checker.problems:
            wanted = "must be a config: YAML with the keys name, datasets and algorithms"
            checker.add((), f"{wanted}, got {problems.quoted(document.data)}  (for examples: budgetrun list configs)")
    except problems.TooManyProblems:
        pass
    if checker.problems:
        # Sorting is stable: problems of one line stay in the order in which they were found.
        found = sorted(checker.problems, key=lambda p: p.line)[: problems.MOST_PROBLEMS]
        lines = [*dict.fromkeys(told(problem) if told else f"{path}:{problem}" for problem in found)]
        if len(checker.problems) >= problems.MOST_PROBLEMS:
            lines.append(f"{path}: these are the first {problems.MOST_PROBLEMS} problems; there may be more")
        raise InputError("\n".join(lines))
    return Config(**values, file=str(path), text=text)


def find(typed: str) -> Path:
    """Return the file of a config, given as typed: a file, or the name of one that comes with budgetrun."""
    path = Path(typed)
    # Unlike the methods of Path, these functions raise nothing if a name is too long or a folder is closed.
    if os.path.isfile(path):
        return path
    known = own_files("configs")
    if packaged := known.get(typed):
        return Path(os.path.relpath(packaged)) if packaged.is_relative_to(Path.cwd()) else packaged
    if os.path.isdir(path):
        raise InputError(f"{typed}: a folder, not a config; name a file in it, such as {path / 'NAME.yaml'}")
    raise InputError(f"{typed}: no such file or config{problems.nearest(path.stem, known)}  (budgetrun list configs)")


def _config(checker: Checker, data: Values) -> Values:
    given = checker.values(data, (), _top_types())
    entries, algorithms = given.get("datasets", []), given.get("algorithms", [])
    problem = common_problem(checker, entries)
    task = problem.name
    if given.get("tie") == "positive" and "positive" not in problem.ties:
        checker.add(("tie",), f"must be 'mistake' with task: {task}, where no score of 0 predicts +1, got 'positive'")

    kernel = _kernel(checker, given.get("kernel"), ("kernel",))
    # A wrong kernel is one problem; the datasets do not also lack a kernel.
    with_kernel = kernel is not None or data.get("kernel") is not None
    repetitions = given.get("repetitions", 1)
    datasets = [
        _dataset(checker, entry, ("datasets", i), kernel, with_kernel, repetitions) for i, entry in enumerate(entries)
    ]
    names = [dataset_label(entry) for entry in entries]

    kind = kind_of_all(checker, algorithms)
    if kind:
        kind.check(checker, given, datasets)
    of_algorithms = AlgorithmReader(checker, task, kind, names, algorithms)
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
    if refused := [name for name in metrics if name not in problem.metrics]:
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
            source = known.get(own.budget_of or "")
            if source is not None and not source.has(dataset.label):
                continue
            n = own.count(source.on(dataset.label) if source else None)
            n_settings = max(n_settings, n // own.n_seeds)
            n_runs += n * (dataset.repetitions or 1)
            if n_settings > MOST_SETTINGS or n_runs > MOST_RUNS:
                most = f"{MOST_RUNS:,} runs" if n_runs > MOST_RUNS else f"{MOST_SETTINGS:,} settings of an algorithm"
                text = f"makes {max(n_runs, n_settings):,} runs or more; a config may have {most}: make several configs"
                checker.add(("algorithms", i), text)
                return True
    return False


def _has_parts(place: Path) -> bool:
    """Return whether a folder holds Parquet files among the first names; one of results has ``parts`` of its own."""
    names = (name for _, _, files in os.walk(place) for name in files) if os.path.isdir(place) else iter(())
    return any(name.endswith(PARQUET) for name in itertools.islice(names, _MOST_NAMES))


def _profiles(checker: Checker, data: Any) -> dict[str, Profile]:
    profiles = {}
    for name, caps in (data or {}).items():
        here = ("profiles", name)
        if name == "full":
            checker.add(here, "is the name of the whole config; choose another")
        # Results of a profile are in a folder of this name.
        checker.checked(name, here, _PROFILE)
        profiles[name] = Profile(**checker.values({} if caps is None else caps, here, value_types(Profile)))
    return profiles


@cache
def _top_types() -> dict[str, ValueType]:
    types = {key: wanted for key, wanted in value_types(Config).items() if key not in ("profile", "tasks")}
    some = dict.fromkeys(("datasets", "algorithms"), ValueType(_Some))
    mappings = dict.fromkeys(("report", "profiles"), MAPPING)
    return types | some | mappings | {"kernel": MAPPING, "select": ValueType(_Some, required=False)}


def _kernel(checker: Checker, data: Any, path: KeyPath) -> KernelSpec | None:
    if data is None:
        return None
    from budgetrun import kernels

    known = kernels.registry()
    name = data.get("name")
    if not isinstance(name, str) or name not in known:
        text = f"missing; must be one of {', '.join(known)}" if name is None else problems.unknown(name, known)
        checker.add((*path, "name"), text if name is None else f"{text}  (budgetrun list kernels)")
        return None
    before = len(checker.problems)
    types = _kernel_types(known[name])
    given: dict[str, Any] = {}
    for key, value in data.items():
        if key in types:
            values = checker.sweep(value, (*path, key), types[key], checker.checked)
            # A list of one value is that value.
            given[key] = values if len(values) > 1 else next(iter(values), None)
        elif key != "name":
            checker.add((*path, key), problems.unknown_key(key, ["name", *types]))
    if len(checker.problems) > before:
        return None
    spec = KernelSpec(name=name, parameters={key: given[key] for key in types if key in given})
    try:
        # Any number will do for one that the data decide on.
        for one, _ in spec.each(median=1.0):
            one.build()
    except ValueError as error:
        checker.add(path, str(error))
    return spec


def _dataset(
    checker: Checker, data: Any, path: KeyPath, kernel: KernelSpec | None, with_kernel: bool, repetitions: int
) -> DatasetSpec | None:
    """Return a dataset, with the config's kernel and repetitions where it has none of its own; None if it is wrong.

    ``with_kernel`` is true if the config gives a kernel, even a wrong one.
    """
    before = len(checker.problems)
    values = checker.values(data, path, {**value_types(DatasetSpec), "kernel": MAPPING})
    if not isinstance(data, dict):
        return None
    values["repetitions"] = values.get("repetitions") or repetitions
    if values.get("kernel") is not None:
        values["kernel"] = _kernel(checker, values["kernel"], (*path, "kernel"))
    elif "kernel" not in data or data["kernel"] is None:
        values["kernel"] = kernel
        if not with_kernel:
            checker.add((*path, "kernel"), "missing; give this dataset a kernel, or the whole config one")
    for key in ("path", "test_path"):
        typed = values.get(key)
        # Streams that were played from standard input or a URL; a sweep cannot read them again.
        if typed is not None and is_url(str(typed)):
            values[f"typed_{key}"] = data[key]
        elif typed is not None and str(typed) != "-":
            # Unlike those of Path, these raise nothing if there is no such user or place.
            own = Path(os.path.expanduser(typed))
            places = list(dict.fromkeys([checker.folder / own, own]))
            found = [place for place in places if os.path.isfile(place) or _has_parts(place)]
            if found:
                values.update({key: found[0], f"typed_{key}": typed})
            else:
                checker.add((*path, key), f"no such file: {' or '.join(str(place) for place in places)}")
    generated = data.get("path") is None and "name" in values and _is_generated(checker, values["name"], path)
    _refuse(checker, values, path, generated)
    default_order = "permuted" if values.get("path") is None else "file"
    varies = generated or values.get("balanced") or values.get("noise")
    if values.get("order", default_order) == "file" and values["repetitions"] > 1 and not varies:
        default = "" if "order" in values else ", the default for a file of your own"
        text = f"with order: file{default}, each of the {values['repetitions']} repetitions would be the same"
        checker.add((*path, "order"), f"{text}; use repetitions: 1 or order: permuted")
    return DatasetSpec(**values) if len(checker.problems) == before else None


def _refuse(checker: Checker, values: Values, path: KeyPath, generated: bool) -> None:
    """Refuse the keys of a dataset that do not go with its task, or with where it comes from."""
    problem, own = problem_of(values.get("task")), values.get("path") is not None
    refused: list[tuple[str, str]] = []
    if not problem.of_signs:
        keys = [*(key for key in ("noise", "balanced") if values.get(key)), "positive"]
        refused += [(key, f"goes with two classes, not with task: {problem.name}; remove it") for key in keys]
    elif values.get("task") == "equal_splits" and values.get("balanced"):
        refused.append(("balanced", "goes with two classes, not with task: equal_splits; remove it"))
    if not problem.of_classes:
        refused += [(key, "goes with classes, not with task: regression; remove it") for key in ("test", "test_path")]
    if own or generated:
        advice = "a file of your own is tested on test_path: FILE" if own else "generated data have none; remove it"
        refused.append(("test", f"names parts of a card; {advice}"))
    if not own:
        refused.append(("test_path", "goes with path, a file of your own; for a card write test: [parts]"))
        refused += [(key, "goes with path, a file of your own; remove it") for key in ("label_column", "missing")]
    for key, text in refused:
        if values.get(key) is not None:
            checker.add((*path, key), text)


def _is_generated(checker: Checker, name: str, path: KeyPath) -> bool:
    """Return True if a card generates new points in every repetition; a card that does not exist is a problem."""
    cards = own_files("datasets")
    if name in cards:
        return bool(_format(cards[name]) == "generated")
    text = f"{problems.unknown(name, cards)}  (budgetrun data list; a file of your own needs path)"
    checker.add((*path, "name"), text)
    return False


@lru_cache(maxsize=64)
def _format(card: Path) -> Any:
    data = parse(read_text(card)).data
    return data.get("format") if isinstance(data, dict) else None


@cache
def _kernel_types(kernel: Any) -> dict[str, ValueType]:
    """Return the parameters of a kernel; a gamma that is a rate of distances may be left to the data."""
    auto = {"gamma"} if kernel.of_distance else set()
    return {
        name: ValueType(p.annotation | Literal["auto"] if name in auto else p.annotation)
        for name, p in parameters(kernel).items()
    }


def common_problem(checker: Checker, entries: list[Any]) -> Problem:
    """Return what is learned from the first dataset; the first one that differs from it is a problem."""
    kinds = [problem_of(entry.get("task") if isinstance(entry, dict) else None) for entry in entries]
    for i, kind in enumerate(kinds):
        if kind != kinds[0]:
            which = f"is {'of two classes' if kind.of_signs else kind.name}, and that of datasets[0] is not"
            other = kinds[0] if kind.of_signs else kind
            text = f"{which}; a config's datasets are all {other.name}, or none is: make two configs"
            checker.add(("datasets", i, "task"), text)
            break
    return kinds[0] if kinds else BINARY


def dataset_label(data: Any) -> str | None:
    """Return the label of an entry; None if it has none."""
    label = (data.get("label") or data.get("name")) if isinstance(data, dict) else None
    return label if isinstance(label, str) else None
