"""YAML to `Config`: everything that is wrong in a file is found in one go and told in the order of the file."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field as Limits

from budgetrun.config.algorithms import AlgorithmReader, are_solvers, check_kernels
from budgetrun.config.datasets import KERNEL, DatasetReader, are_multiclass, dataset_label
from budgetrun.config.problems import Field, fields_of, nearest
from budgetrun.config.report import ReportReader
from budgetrun.config.schema import Config, DatasetSpec, Profile
from budgetrun.config.values import Names, Values, Walk
from budgetrun.config.yaml import parse
from budgetrun.errors import InputError
from budgetrun.paths import own_folder

_Some = Annotated[list[Any], Limits(min_length=1)]
_MAPPING = Field(dict[str, Any] | None, required=False)


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
    walk = Walk(document, path.parent)
    if document.lines:
        values = _config(walk, document.data)
    if walk.problems:
        # Sorting is stable: on one line, in the order in which they were found.
        lines = dict.fromkeys(f"{path}:{problem}" for problem in sorted(walk.problems, key=lambda p: p.line))
        raise InputError("\n".join(lines))
    return Config(**values, file=str(path), text=text)


def _config(walk: Walk, data: Any) -> Values:
    given = walk.values(data, (), _top_fields())
    entries, algorithms = given.get("datasets", []), given.get("algorithms", [])
    multiclass = are_multiclass(walk, entries)
    if multiclass and given.get("tie") == "positive":
        text = "must be 'mistake' with task: multiclass, where no score of 0 predicts +1, got 'positive'"
        walk.add(("tie",), text)

    of_datasets = DatasetReader(walk)
    kernel = of_datasets.kernel(given.get("kernel"), ("kernel",))
    # A kernel that is there but wrong is told as that, not as missing from every dataset.
    with_kernel = kernel is not None or (isinstance(data, dict) and data.get("kernel") is not None)
    repetitions = given.get("repetitions", 1)
    datasets = [
        of_datasets.dataset(entry, ("datasets", i), kernel, with_kernel, repetitions) for i, entry in enumerate(entries)
    ]
    names = [dataset_label(entry) for entry in entries]

    solvers = are_solvers(walk, algorithms)
    if solvers:
        _refuse_what_goes_with_learners(walk, given, datasets)
    of_algorithms = AlgorithmReader(walk, multiclass=multiclass, solvers=solvers, datasets=names)
    specs = [of_algorithms.algorithm(entry, ("algorithms", i), algorithms) for i, entry in enumerate(algorithms)]
    labels = walk.unique([of_algorithms.label(entry) for entry in algorithms], "algorithms", "label")
    if solvers:
        check_kernels(walk, algorithms, datasets)

    of_report = ReportReader(
        walk,
        solvers=solvers,
        tested={dataset_label(e) for e in entries if isinstance(e, dict) and (e.get("test") or e.get("test_path"))},
        labels=Names("algorithm", labels),
        datasets=Names("dataset", walk.unique(names, "datasets", "label")),
        algorithms={spec.label: spec for spec in specs if spec is not None},
    )
    return {
        **given,
        "kernel": kernel,
        "datasets": datasets,
        "algorithms": specs,
        "report": of_report.report(given.get("report")),
        "profiles": _profiles(walk, given.get("profiles")),
    }


def _refuse_what_goes_with_learners(walk: Walk, given: Values, datasets: list[DatasetSpec | None]) -> None:
    if given.get("tie") == "positive":
        walk.add(("tie",), "must be 'mistake' with solvers, which have no rounds to predict, got 'positive'")
    if given.get("dtype") == "float32":
        walk.add(("dtype",), "must be 'float64' with solvers, got 'float32'")
    for i, dataset in enumerate(datasets):
        if dataset is not None and dataset.task == "multiclass":
            text = "must be one of binary, equal_splits with solvers, got 'multiclass'"
            walk.add(("datasets", i, "task"), text)


def _profiles(walk: Walk, data: Any) -> dict[str, Profile]:
    profiles = {}
    for name, caps in (data or {}).items():
        here = ("profiles", name)
        if name == "full":
            walk.add(here, "is the name of the whole config; choose another")
        values = walk.values({} if caps is None else caps, here, fields_of(Profile))
        profiles[name] = Profile(**values)
    return profiles


@cache
def _top_fields() -> dict[str, Field]:
    chosen_elsewhere = ("profile", "tasks")
    own = {key: field for key, field in fields_of(Config).items() if key not in chosen_elsewhere}
    return {
        **own,
        "datasets": Field(_Some),
        "kernel": KERNEL,
        "algorithms": Field(_Some),
        "report": _MAPPING,
        "profiles": _MAPPING,
    }


def load(path_or_name: str | Path, profile: str = "full") -> Config:
    """Read and check a config.

    Parameters
    ----------
    path_or_name : str or Path
        A file, or the bare name of a config that comes with budgetrun, such as ``quickstart``.
    profile : str
        Which of the config's profiles to apply; ``full`` for none.

    Raises
    ------
    InputError
        No such config or profile, or something in it is wrong: one line for each thing, in the order of the file.
    """
    path = _find(str(path_or_name))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    return read(text, path).apply_profile(profile)


def list_configs() -> list[tuple[str, str]]:
    """Return the name and the source of every config that comes with budgetrun."""
    listed = []
    for path in sorted(own_folder("configs").glob("*.yaml")):
        data = parse(path.read_text(encoding="utf-8-sig")).data
        listed.append((path.stem, str(data.get("source") or "") if isinstance(data, dict) else ""))
    return listed


def _find(typed: str) -> Path:
    path = Path(typed)
    if path.is_file():
        return path
    names = [name for name, _ in list_configs()]
    if typed in names:
        packaged = own_folder("configs") / f"{typed}.yaml"
        return Path(os.path.relpath(packaged)) if packaged.is_relative_to(Path.cwd()) else packaged
    raise InputError(f"{typed}: no such file or config{nearest(path.stem, names)}  (budgetrun list configs)")
