"""What a config amounts to: its runs, which of them share a stream, and what they will cost."""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetrun.config.formulas import resolve
from budgetrun.config.problems import nearest
from budgetrun.config.schema import setting_text
from budgetrun.errors import DataMissingError, InputError
from budgetrun.runner import identity

if TYPE_CHECKING:
    from budgetrun.config.schema import Config, DatasetSpec, RunSpec
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
    source : str or None
        The run id of the one whose final support size the budget is a fraction of.
    """

    run_id: str
    spec: RunSpec
    dataset: str
    task: str
    repetition: int
    source: str | None = None


@dataclass(frozen=True)
class Job:
    """Runs that read one stream together, on one worker.

    Attributes
    ----------
    job_id : str
    dataset : DatasetSpec
    repetition : int
    runs : tuple of Run
    source_digest : str
        `identity.source_digest` of the process that planned the job.
    """

    job_id: str
    dataset: DatasetSpec
    repetition: int
    runs: tuple[Run, ...]
    source_digest: str


@dataclass
class Plan:
    """All runs of a config.

    Attributes
    ----------
    runs : list of Run
    infos : dict of label to StreamInfo
    revisions : set of str
        All that the runs execute, as `identity.revisions` names it.
    missing, left_out : dict of label to str
        Datasets whose files are not to be had, and the sentence that says where to put them; ``left_out`` has the
        optional ones.
    """

    runs: list[Run] = field(default_factory=list)
    infos: dict[str, StreamInfo] = field(default_factory=dict)
    revisions: set[str] = field(default_factory=set)
    missing: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


# Runs that share a job. More of them share more kernel values; fewer lose less when a job is cut short.
RUNS_A_JOB = 900


def make_plan(
    config: Config, data_dir: Path | None = None, download: bool = True, only: Collection[str] | None = None
) -> Plan:
    """Return the runs of a config; datasets that are not to be had are named, and their runs left out.

    Without ``download``, data sets that are not on this machine are not to be had. ``only`` has the labels of the
    datasets to look at; None for all.

    Raises
    ------
    InputError
        A dataset does not fit what the config asks of it, or ``only`` has one that the config does not; or a formula
        gives a number there that the learner or solver does not take.
    """
    # What reads data is slow to import, and much of what needs this module does without.
    from budgetrun.data import stream_info

    if only is not None:
        _check_known("dataset", only, [dataset.label for dataset in config.datasets])
    plan = Plan()
    problems: list[str] = []
    for dataset in config.datasets:
        if only is not None and dataset.label not in only:
            continue
        try:
            info = plan.infos[dataset.label] = stream_info(dataset, data_dir, download)
        except DataMissingError as error:
            (plan.left_out if dataset.optional else plan.missing)[dataset.label] = str(error)
            continue
        specs = _specs(config, dataset.label, info.n_examples, problems)
        plan.revisions.update(part for spec in specs for part in identity.revisions(spec, dataset, info))
        for repetition in range(dataset.repetitions or 1):
            for task in info.task_names[: config.tasks]:
                plan.runs += _runs(config, dataset, info, repetition, task, specs)
    if problems:
        raise InputError("\n".join(dict.fromkeys(problems)))
    return plan


def _specs(config: Config, dataset: str, n_rounds: int, problems: list[str]) -> list[RunSpec]:
    """Return the specs of a dataset's runs, numbers in place of formulas; what is wrong with these goes to problems."""
    specs = []
    for spec in config.expand(dataset):
        try:
            specs.append(resolve(spec, identity.algorithm_of(spec), n_rounds))
        except ValueError as error:
            where = f"{config.file or config.name}: algorithm {spec.label!r} on dataset {dataset!r}"
            problems += [f"{where}: {line}" for line in str(error).split("\n")]
    return [] if problems else specs


def _runs(
    config: Config, dataset: DatasetSpec, info: StreamInfo, repetition: int, task: str, specs: Sequence[RunSpec]
) -> list[Run]:
    """Return the runs on one task of one repetition, in the order of their specs."""
    algorithms = config.on(dataset.label)
    ids: dict[tuple[str, str], str] = {}
    made: dict[int, Run] = {}
    # Those that others' budgets may be fractions of come first: their ids are part of the others'.
    for i, spec in sorted(enumerate(specs), key=lambda item: item[1].budget_of is not None):
        if algorithms[spec.label].seeds == "by_repetition":
            spec = replace(spec, seed=repetition)
        source = None if spec.budget_of is None else ids[spec.budget_of, json.dumps(spec.budget_setting)]
        run_id = identity.run_id(config, dataset, info, repetition, task, spec, source)
        if spec.budget_of is None:
            # The first seed of a setting is met first.
            ids.setdefault((spec.label, json.dumps(algorithms[spec.label].source_setting(spec))), run_id)
        made[i] = Run(run_id, spec, dataset.label, task, repetition, source)
    return [made[i] for i in range(len(specs))]


def make_jobs(config: Config, runs: Iterable[Run], fits: Callable[[DatasetSpec, Sequence[Run]], bool]) -> list[Job]:
    """Put runs that read the same stream together, task by task, as long as ``fits`` agrees.

    Where seconds are compared (`Config.timed`), each has a job of its own.

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
        if config.timed:
            jobs += [_job(specs[label], repetition, [run]) for of_task in tasks.values() for run in of_task]
            continue
        together: list[Run] = []
        for of_task in tasks.values():
            more = [*together, *of_task]
            if together and (len(more) > RUNS_A_JOB or not fits(specs[label], more)):
                jobs.append(_job(specs[label], repetition, together))
                more = of_task
            together = more
        jobs.append(_job(specs[label], repetition, together))
    return jobs


def sources_first(plan: Plan, runs: Iterable[Run]) -> list[Run]:
    """Return the runs that the budgets of ``runs`` are fractions of."""
    asked = {run.source for run in runs}
    return [run for run in plan.runs if run.run_id in asked]


def with_budgets(runs: Iterable[Run], sizes: Mapping[str, int]) -> list[Run]:
    """Return the runs with every fraction turned into a budget, at least 1.

    ``sizes`` has the final support sizes of `Run.source`, by run id; runs for which it has none are left out.
    """
    resolved = []
    for run in runs:
        fraction = run.spec.budget_fraction
        if fraction is not None:
            size = sizes.get(run.source or "")
            if size is None:
                continue
            run = replace(run, spec=replace(run.spec, budget=max(1, math.floor(fraction * size + 0.5))))
        resolved.append(run)
    return resolved


def budget_origin(spec: RunSpec) -> dict[str, Any] | None:
    """Return where a budget comes from, as `parameters` in `runs.csv` has it; None for one that is no fraction."""
    if spec.budget_of is None:
        return None
    origin: dict[str, Any] = {"of": spec.budget_of, "fraction": spec.budget_fraction}
    return origin | ({"setting": spec.budget_setting} if spec.budget_setting else {})


def select(runs: Sequence[Run], only: dict[str, list[str]]) -> list[Run]:
    """Return the runs that every ``--only`` key agrees with.

    Keys are `ONLY_KEYS`; ``algorithm`` is a name or a label, ``budget`` a budget, a fraction, or the
    setting that it is a fraction of, such as ``eta=0.1``. Several values of a key are alternatives.

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
        return [f"{spec.budget_fraction:g}", *([setting_text(spec.budget_setting)] if spec.budget_setting else [])]
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
    paths = {"path": dataset.path, "test_path": dataset.test_path}
    return dataset.model_copy(update={key: path.resolve() for key, path in paths.items() if path is not None})


def _job(dataset: DatasetSpec, repetition: int, runs: list[Run]) -> Job:
    digest = hashlib.sha256("".join(run.run_id for run in runs).encode()).hexdigest()
    return Job(digest[:16], dataset, repetition, tuple(runs), identity.source_digest([run.spec for run in runs]))
