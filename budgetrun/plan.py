"""What a config amounts to: its runs, which of them share a stream, and what they will cost."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetrun.errors import DataMissingError, InputError
from budgetrun.fields import nearest
from budgetrun.learners import Learner, find
from budgetrun.resources import PACKAGE

if TYPE_CHECKING:
    from budgetrun.config import Config, DatasetSpec, RunSpec
    from budgetrun.data import StreamInfo


@dataclass(frozen=True)
class Run:
    """One learner on one task of one repetition of a stream.

    Attributes
    ----------
    run_id : str
        A hash of all that determines the outcome: parameters, stream, data and code.
    spec : RunSpec
    dataset : str
        The dataset's label.
    task : str
    repetition : int
    """

    run_id: str
    spec: RunSpec
    dataset: str
    task: str
    repetition: int


@dataclass(frozen=True)
class Job:
    """Runs that read one stream together, on one worker.

    Attributes
    ----------
    job_id : str
    dataset : DatasetSpec
    repetition : int
    runs : tuple of Run
    """

    job_id: str
    dataset: DatasetSpec
    repetition: int
    runs: tuple[Run, ...]


@dataclass
class Plan:
    """All runs of a config.

    Attributes
    ----------
    runs : list of Run
    infos : dict of label to StreamInfo
    missing : dict of label to str
        Datasets whose files are not to be had, and the sentence that says where to put them.
    """

    runs: list[Run] = field(default_factory=list)
    infos: dict[str, StreamInfo] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


# Runs that share a job. More of them share more kernel values; fewer lose less when a job is cut short.
RUNS_A_JOB = 900


@cache
def code_version(*learners: type[Learner]) -> str:
    """Return a hash of the code that determines outcomes; comments and docstrings do not count.

    That is the engine, the kernels, the data layer and, of the learners, the modules of those given: a new learner
    leaves the runs of the others alone.
    """
    paths = {PACKAGE / name for name in ("kernels.py", "formula.py", "work.py", "learners/base.py")}
    for folder in ("engine", "data"):
        paths |= set((PACKAGE / folder).glob("*.py"))
    paths |= {Path(inspect.getfile(base)) for learner in learners for base in learner.__mro__ if base is not object}
    digest = hashlib.sha256()
    for path in sorted(path for path in paths if path.is_relative_to(PACKAGE)):
        digest.update(f"{path.relative_to(PACKAGE)} {_code(path)}".encode())
    return digest.hexdigest()[:16]


@cache
def _code(path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, False):
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def make_plan(
    config: Config, data_dir: Path | None = None, download: bool = True, only: Collection[str] | None = None
) -> Plan:
    """Return the runs of a config; datasets that are not to be had are named, and their runs left out.

    Without ``download``, data sets that are not on this machine are not to be had. ``only`` has the labels of the
    datasets to look at; None for all.

    Raises
    ------
    InputError
        A dataset does not fit what the config asks of it, or ``only`` has one that the config does not.
    """
    # What reads data is slow to import, and much of what needs this module does without.
    from budgetrun.data import stream_info

    if only is not None:
        _check_known("dataset", only, [dataset.label for dataset in config.datasets])
    plan = Plan()
    specs = [spec for algorithm in config.algorithms for spec in algorithm.expand()]
    for dataset in config.datasets:
        if only is not None and dataset.label not in only:
            continue
        try:
            info = plan.infos[dataset.label] = stream_info(dataset, data_dir, download)
        except DataMissingError as error:
            plan.missing[dataset.label] = str(error)
            continue
        for repetition in range(dataset.repetitions or 1):
            for task in info.task_names[: config.tasks]:
                for spec in specs:
                    run_id = _run_id(config, dataset, info.sha256, repetition, task, spec)
                    plan.runs.append(Run(run_id, spec, dataset.label, task, repetition))
    return plan


def make_jobs(config: Config, runs: Iterable[Run], fits: Callable[[DatasetSpec, Sequence[Run]], bool]) -> list[Job]:
    """Put runs that read the same stream together, task by task, as long as ``fits`` agrees.

    Returns
    -------
    list of Job
        In the order of the config.
    """
    streams: dict[tuple[str, int], dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        streams[run.dataset, run.repetition][run.task].append(run)
    specs = {dataset.label: _absolute(dataset) for dataset in config.datasets}
    jobs = []
    for (label, repetition), tasks in streams.items():
        together: list[Run] = []
        for of_task in tasks.values():
            more = [*together, *of_task]
            if together and (len(more) > RUNS_A_JOB or not fits(specs[label], more)):
                jobs.append(_job(specs[label], repetition, together))
                more = of_task
            together = more
        jobs.append(_job(specs[label], repetition, together))
    return jobs


def perceptrons_first(plan: Plan, runs: Iterable[Run]) -> list[Run]:
    """Return the Perceptron runs that the budgets of ``runs`` are fractions of."""
    asked = {(r.dataset, r.repetition, r.task) for r in runs if r.spec.budget_fraction is not None}
    return [r for r in plan.runs if r.spec.name == "perceptron" and (r.dataset, r.repetition, r.task) in asked]


def with_budgets(runs: Iterable[Run], mistakes: dict[tuple[str, int, str], int]) -> list[Run]:
    """Return the runs with every fraction turned into a budget, at least 1.

    ``mistakes`` has the Perceptron's of a (dataset, repetition, task); runs for which it has none are left out.
    """
    resolved = []
    for run in runs:
        fraction = run.spec.budget_fraction
        if fraction is not None:
            p = mistakes.get((run.dataset, run.repetition, run.task))
            if p is None:
                continue
            run = replace(run, spec=replace(run.spec, budget=max(1, math.floor(fraction * p + 0.5))))
        resolved.append(run)
    return resolved


def select(runs: Sequence[Run], only: dict[str, list[str]]) -> list[Run]:
    """Return the runs that every ``--only`` key agrees with.

    Keys are `ONLY_KEYS`; ``algorithm`` is a name or a label, ``budget`` a budget or a fraction. Several values of a
    key are alternatives.

    Raises
    ------
    InputError
        No run has such a value, or none has all of them together.
    """
    if not runs:
        return []
    for key, values in only.items():
        _check_known(key, values, dict.fromkeys(name for run in runs for name in _FIELDS[key](run)))
    chosen = [run for run in runs if all(set(values) & set(_FIELDS[key](run)) for key, values in only.items())]
    if not chosen:
        asked = " ".join(f"--only {key}={value}" for key, values in only.items() for value in values)
        raise InputError(f"{asked}: each is there, but no run is all of these")
    return chosen


_FIELDS: dict[str, Callable[[Run], list[str]]] = {
    "dataset": lambda run: [run.dataset],
    "task": lambda run: [run.task],
    "repetition": lambda run: [str(run.repetition)],
    "algorithm": lambda run: [run.spec.name, run.spec.label],
    "budget": lambda run: _budgets(run.spec),
    "seed": lambda run: [str(run.spec.seed)],
}
ONLY_KEYS = tuple(_FIELDS)
# So many values fit a message.
_MOST_LISTED = 20


def _budgets(spec: RunSpec) -> list[str]:
    if spec.budget_fraction is not None:
        return [f"{spec.budget_fraction:g}"]
    return [] if spec.budget is None else [str(spec.budget)]


def _check_known(key: str, values: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for value in values:
        if value not in known:
            more = f" and {len(known) - _MOST_LISTED:,} more" if len(known) > _MOST_LISTED else ""
            listed = f"{', '.join(known[:_MOST_LISTED])}{more}" if known else "no run has one"
            raise InputError(f"--only {key}={value}: no such {key}{nearest(value, known)}  (allowed: {listed})")


def _absolute(dataset: DatasetSpec) -> DatasetSpec:
    """Return a dataset whose file is found from any folder: a worker elsewhere may run in another one."""
    return dataset if dataset.path is None else dataset.model_copy(update={"path": dataset.path.resolve()})


def _job(dataset: DatasetSpec, repetition: int, runs: list[Run]) -> Job:
    digest = hashlib.sha256("".join(run.run_id for run in runs).encode()).hexdigest()
    return Job(digest[:16], dataset, repetition, tuple(runs))


def _run_id(config: Config, dataset: DatasetSpec, sha256: str, repetition: int, task: str, spec: RunSpec) -> str:
    assert dataset.kernel is not None
    stream = {"name", "task", "scale", "order", "balanced", "noise", "positive", "n_examples"}
    what: dict[str, Any] = {
        "code": code_version(find(spec.name, spec.variant)),
        "data": sha256,
        "stream": dataset.model_dump(mode="json", include=stream),
        "dataset": dataset.label,
        "seed": config.seed,
        "repetition": repetition,
        "split": task,
        "kernel": str(dataset.kernel.build()),
        "tie": config.tie,
        "dtype": config.dtype,
        "label": spec.label,
        "learner": [spec.name, spec.variant, spec.parameters, spec.seed, spec.budget, spec.budget_fraction],
    }
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]
