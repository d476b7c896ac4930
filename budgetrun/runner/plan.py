"""The options of a sweep, and its plan: all runs of a config, and the jobs of runs that share a stream."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import shlex
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from budgetrun.base.errors import DataMissingError, InputError
from budgetrun.base.files import is_file, source_digest
from budgetrun.base.limits import sized
from budgetrun.base.problem import problem_of
from budgetrun.config import kinds
from budgetrun.config.kinds import parameter_types, resolve
from budgetrun.config.problems import nearest
from budgetrun.config.schema import MOST_RUNS, Config, DatasetSpec, RunSpec, setting_text
from budgetrun.data import StreamInfo
from budgetrun.engine.group import trial
from budgetrun.engine.hypotheses.base import bytes_kept
from budgetrun.kernels.kinds import row_bytes
from budgetrun.runner import identity


class Shard(NamedTuple):
    """One of several parts of the runs of a config: ``part``, from 1, of ``of``."""

    part: int
    of: int

    def __str__(self) -> str:
        return f"{self.part}/{self.of}"


@dataclass(frozen=True)
class Options:
    """Options of a sweep; ``budgetrun sweep --help`` describes each."""

    results: Path  # the folder that holds one results folder per config
    jobs: int | None = 1  # None: one per core, or a single one if run times are compared (`Config.timed`)
    data_dir: Path | None = None
    only: dict[str, list[str]] = field(default_factory=dict)
    memory: float = 8e9  # bytes, for all workers together
    backend: str = "local"  # local, loky, dask, or another backend of joblib
    scheduler: str | None = None  # the address of a dask scheduler
    force: bool = False
    shard: Shard | None = None  # the part of the runs to play; None: all
    called: str = ""  # what called the sweep, if it is not the command, in words

    def workers(self, config: Config) -> int:
        """Return how many workers the sweep of a config uses, by default one per core that this process may use."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return self.jobs or (1 if config.timed else cores)

    def folder(self, config: Config) -> Path:
        """Return the results folder of a config; those of a profile, and of each shard, are apart from the others."""
        # Two machines that write into one folder never share a file. Names of configs have no dot.
        name = config.name if self.shard is None else f"{config.name}.{self.shard.part}-of-{self.shard.of}"
        return (self.results if config.profile == "full" else self.results / config.profile) / name

    def command(self, config: Config) -> str:
        """Return the command that runs what a config's results folder lacks."""
        chosen = [
            ("--profile", config.profile, "full"),
            ("--data", self.data_dir, None),
            ("--results", self.results, Path("results")),
            ("--shard", self.shard, None),
        ]
        if self.called:
            return self.called
        words = [word for option, value, usual in chosen if value != usual for word in (option, str(value))]
        return shlex.join(["budgetrun", "sweep", config.file or config.name, *words])


@dataclass(frozen=True, slots=True)
class Run:
    """One learner on one task of one repetition of a stream."""

    run_id: str  # a hash of everything that determines the outcome (`budgetrun.runner.identity`)
    spec: RunSpec
    dataset: str  # the dataset's label
    task: str
    repetition: int
    source: Run | None = None  # the run whose final support size the budget is a fraction of
    candidates: tuple[Run, ...] = ()  # of a selection: the runs that its rule follows

    @property
    def played(self) -> tuple[Run, ...]:
        """The runs of learners that this one consists of: its candidates, or itself."""
        return self.candidates or (self,)

    @property
    def source_setting(self) -> str:
        """The setting that the budget is a fraction of, as text in brackets; empty if there is only one."""
        setting = self.spec.budget_setting
        return f" ({setting_text(setting)})" if setting else ""

    def __str__(self) -> str:
        spec = self.spec
        budget = f" B={spec.budget}" if spec.budget else ""
        if spec.budget_fraction is not None:
            budget = f" B={spec.budget_fraction:g} of {spec.budget_of}{self.source_setting}"
        return f"{self.dataset} {self.task} repetition {self.repetition}, {spec.label}{budget} seed {spec.seed}"


@dataclass(frozen=True)
class Job:
    """Runs that share a stream and are run together by one worker."""

    job_id: str
    dataset: DatasetSpec
    repetition: int
    runs: tuple[Run, ...]
    source_digest: str  # `source_digest` of the process that planned the job


@dataclass
class Plan:
    """All runs of a config; the dictionaries are by the label of a dataset."""

    runs: list[Run] = field(default_factory=list)
    infos: dict[str, StreamInfo] = field(default_factory=dict)
    revisions: set[str] = field(default_factory=set)  # of all code that the runs execute (`identity.revisions`)
    # For datasets without their files, the message that says where to put them; optional ones are left out.
    missing: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    # A sentence per dataset with values of ``learner_memory`` that hold nothing, though larger ones do.
    too_little: list[str] = field(default_factory=list)

    def outdated(self, rows: Rows) -> set[str]:
        """Return the ids of rows that are not planned any more, of datasets whose runs are known."""
        others = set(rows).difference(run.run_id for run in self.runs)
        return {key for key in others if rows[key]["dataset"] in self.infos}

    def remaining(self, finished: Collection[str], only: Mapping[str, list[str]]) -> list[Run]:
        """Return the selected runs that are not finished, preceded by those that their budgets are fractions of."""
        chosen = [run for run in select(self.runs, only) if run.run_id not in finished]
        needed = [run for run in sources(chosen) if run.run_id not in finished]
        return list({run.run_id: run for run in [*needed, *chosen]}.values())


# The least budget that goes with the other parameters of a learner is below this.
_MOST_TRIED = 100
# Rows of a results folder, by run id.
Rows = Mapping[str, Mapping[str, str]]
# The most runs of a job. Larger jobs share more kernel values; smaller ones lose less when they are interrupted.
RUNS_PER_JOB = 900


def make_plan(
    config: Config,
    data_dir: Path | None = None,
    download: bool = True,
    only: Collection[str] | None = None,
    recorded: Mapping[str, StreamInfo] | None = None,
    played: Mapping[str, StreamInfo] | None = None,
) -> Plan:
    """Return the runs of a config, without those of datasets that are missing.

    ``only`` are the labels of the datasets to plan; None plans all. ``recorded`` is what a manifest records of them:
    then the files of a dataset with a card are not verified, a dataset whose files are missing is planned from what is
    recorded, and optional ones only if they are recorded. ``played`` are streams that have been read already.

    Raises InputError: a dataset does not fit what the config asks of it; ``only`` names an unknown dataset; or a
    formula yields a number that the algorithm does not accept.
    """
    if only is not None:
        _check_known("dataset", only, [dataset.label for dataset in config.datasets])
    plan = Plan()
    problems: list[str] = []
    n_runs = 0
    for dataset in config.datasets:
        if only is not None and dataset.label not in only:
            continue
        try:
            info = played[dataset.label] if played else _info(config, dataset, data_dir, download, recorded)
        except DataMissingError as error:
            (plan.left_out if dataset.optional else plan.missing)[dataset.label] = str(error)
            continue
        plan.infos[dataset.label] = info
        tasks = info.task_names[: config.tasks]
        if config.kind and kinds.find(config.kind).of_all_tasks:
            tasks = ["-"]
        n_runs += (config.count(dataset.label) + len(config.select)) * (dataset.repetitions or 1) * len(tasks)
        if n_runs > MOST_RUNS:
            raise InputError(f"{config.file or config.name}: has more than {MOST_RUNS:,} runs; make several configs")
        try:
            specs, small = specs_of(config, dataset, info)
        except InputError as error:
            problems.append(str(error))
            continue
        plan.too_little += [f"{dataset.label}: too little memory for {', '.join(small)}; left out"] if small else []
        plan.revisions.update(part for spec in specs for part in identity.revisions(spec, dataset, info))
        plan.revisions.update(map(identity.revision_of_rule, config.select))
        plan.runs += _runs(config, dataset, info, specs, tasks)
    if problems:
        raise InputError("\n".join(problems))
    return plan


def _info(
    config: Config,
    dataset: DatasetSpec,
    data_dir: Path | None,
    download: bool,
    recorded: Mapping[str, StreamInfo] | None,
) -> StreamInfo:
    # Importing what reads data is slow, and several commands do without.
    from budgetrun.data import stream_info

    known = (recorded or {}).get(dataset.label)
    if recorded is not None and known is None and dataset.optional:
        raise DataMissingError(f"dataset '{dataset.label}': optional, and not part of these results")
    own_files = [path for path in (dataset.path, dataset.test_path) if path is not None]
    try:
        is_gone = known is not None and not all(map(is_file, own_files))
        info = known if is_gone else stream_info(dataset, data_dir, download, verify=recorded is None)
    except DataMissingError:
        info = known
        if known is None:
            raise
    assert info is not None
    if not config.kernel_on(dataset.label).is_auto or info.median_gamma is not None:
        return info
    if known is not None and known.median_gamma is not None and known.sha256 == info.sha256:
        return replace(info, median_gamma=known.median_gamma)
    from budgetrun.data.streams import auto_gamma

    return replace(info, median_gamma=auto_gamma(dataset, config.seed, data_dir, info.sha256))


def specs_of(config: Config, dataset: DatasetSpec, info: StreamInfo) -> tuple[list[RunSpec], list[str]]:
    """Return the specs of the runs on one task of a dataset, with formulas evaluated, in the order of `make_plan`.

    A size of ``learner_memory`` that is too little is left out if the algorithm has another that is not; these are
    returned too, in words.

    Raises InputError: a formula yields a number that the learner does not accept, or no budget fits its memory.
    """
    specs, problems = [], []
    too_little: dict[tuple[str, float], str] = {}
    for spec in config.expand(dataset.label, info.median_gamma):
        where = f"{config.file or config.name}: algorithm {spec.label!r} on dataset {dataset.label!r}"
        try:
            algorithm = identity.algorithm_of(spec)
            specs.append(_with_budget(resolve(spec, algorithm, info.n_examples), algorithm, info))
        except _TooLittleMemory as error:
            too_little[spec.label, spec.learner_memory or 0] = f"{where}: {error}"
        except ValueError as error:
            problems += [f"{where}: {line}" for line in str(error).split("\n")]
    fit = {spec.label for spec in specs}
    problems += {label: text for (label, _), text in too_little.items() if label not in fit}.values()
    if problems:
        raise InputError("\n".join(dict.fromkeys(problems)))
    return specs, [f"{label} in {sized(memory)}" for label, memory in too_little]


class _TooLittleMemory(ValueError):
    """No budget of a learner fits its ``learner_memory``."""


def _with_budget(spec: RunSpec, algorithm: Any, info: StreamInfo) -> RunSpec:
    """Return a run's spec with the largest budget whose `bytes_kept` its ``learner_memory`` holds.

    It is at most the number of rounds. A spec without ``learner_memory`` is returned as it is.

    Raises _TooLittleMemory: no budget fits; or ValueError: the learner does not take its parameters together with any.
    """
    if spec.learner_memory is None:
        return spec
    kernel, shape = identity.kernel_of(spec), problem_of(spec.task).scores_each(info.n_classes)
    row = row_bytes(info.held_as, info.n_features, info.values_per_example)
    taken = parameter_types(algorithm)["budget"]

    def goes(budget: int) -> bool:
        with suppress(ValueError):
            return not taken.check(budget)[1] and bool(replace(spec, budget=budget).build(algorithm))
        return False

    found = list(itertools.islice(filter(goes, range(1, _MOST_TRIED)), 2))
    if len(found) < 2:
        # The learner says which of its parameters do not go together.
        replace(spec, budget=_MOST_TRIED).build(algorithm)
    smallest, following = found

    def budget_at(i: int) -> int:
        return smallest + i * (following - smallest)

    def kept(i: int) -> float:
        built = replace(spec, budget=budget_at(i)).build(algorithm)
        return bytes_kept(*trial(built, kernel, *shape), budget_at(i), row, info.n_features)

    if (least := kept(0)) > spec.learner_memory:
        raise _TooLittleMemory(
            f"learner_memory: {sized(spec.learner_memory)} is too little: with a budget of {smallest}, the least, "
            f"the learner keeps more; give at least {math.ceil(least / 100) / 10:g}KB"
        )
    most = max(0, (info.n_examples - smallest) // (following - smallest))
    largest = bisect_right(range(most + 1), float(spec.learner_memory), lo=1, key=kept) - 1
    return replace(spec, budget=budget_at(largest))


def _runs(
    config: Config, dataset: DatasetSpec, info: StreamInfo, specs: Sequence[RunSpec], tasks: Sequence[str]
) -> Iterator[Run]:
    """Yield the runs on all tasks of all repetitions of a dataset, each in the order of the specs, then selections."""
    algorithms, entries = config.on(dataset.label), []
    followed = {spec.budget_of for spec in specs}
    # Budgets follow the first seed of a setting.
    first: dict[tuple[str, str, str], int] = {}
    # Specs that budgets follow come first, because their ids are part of the followers' ids.
    for i, spec in sorted(enumerate(specs), key=lambda item: item[1].budget_of is not None):
        kernel, follows = spec.kernel.text if spec.kernel else "", None
        if spec.budget_of is not None:
            follows = first[kernel, spec.budget_of, json.dumps(spec.budget_setting)]
        elif spec.label in followed:
            first.setdefault((kernel, spec.label, json.dumps(algorithms[spec.label].source_setting(spec))), i)
        by_repetition = algorithms[spec.label].seeds == "by_repetition"
        entries.append((i, spec, identity.run_ids(config, dataset, info, spec), by_repetition, follows))
    for repetition, task in itertools.product(range(dataset.repetitions or 1), tasks):
        runs: dict[int, Run] = {}
        for i, spec, id_of, by_repetition, follows in entries:
            if by_repetition:
                spec = replace(spec, seed=repetition)
            source = None if follows is None else runs[follows]
            run_id = id_of(repetition, task, spec.seed, source.run_id if source else None)
            runs[i] = Run(run_id, spec, dataset.label, task, repetition, source)
        found = [runs[i] for i in range(len(entries))]
        yield from found
        for select in config.select:
            candidates = tuple(run for run in found if run.spec.label in select.of)
            rule = RunSpec(select.label, select.rule, None, select.parameters, task=candidates[0].spec.task)
            run_id = identity.selection_id(config, select, [run.run_id for run in candidates])
            yield Run(run_id, rule, dataset.label, task, repetition, candidates=candidates)


def make_jobs(config: Config, runs: Iterable[Run], fits: Callable[[DatasetSpec, Sequence[Run]], bool]) -> list[Job]:
    """Group runs that read the same stream with the same kernel into jobs, task by task, as long as ``fits`` agrees.

    Learners that standardise examples themselves read a stream that ``scale: running`` has left as it is. Where run
    times are compared (`Config.timed`), every run is a job of its own.
    """
    streams: dict[tuple[str, bool, int, str], dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    # A worker may run in another folder.
    specs = {dataset.label: with_paths(dataset, Path.absolute) for dataset in config.datasets}
    timed = config.timed
    for run in runs:
        # A selection plays its candidates again, so that its time and memory are its own.
        what = run.run_id if run.candidates else run.spec.kernel.text if run.spec.kernel else ""
        as_given = specs[run.dataset].scale == "running" and not run.candidates and identity.standardises(run.spec)
        streams[run.dataset, as_given, run.repetition, what][run.run_id if timed else run.task].append(run)
    jobs = []
    for (label, as_given, repetition, _), tasks in streams.items():
        dataset = specs[label].model_copy(update={"scale": "none"}) if as_given else specs[label]
        together: list[Run] = []
        for task_runs in tasks.values():
            more = [*together, *task_runs]
            if together and (timed or len(more) > RUNS_PER_JOB or not fits(dataset, more)):
                jobs.append(_job(dataset, repetition, together))
                more = task_runs
            together = more
        jobs.append(_job(dataset, repetition, together))
    return jobs


def part_of(job: Job, runs: Iterable[Run]) -> Job:
    """Return the job of some of a job's runs."""
    return _job(job.dataset, job.repetition, list(runs))


def sources(runs: Iterable[Run]) -> list[Run]:
    """Return the runs whose support sizes the budgets of ``runs`` are fractions of."""
    return list({run.source.run_id: run.source for run in runs if run.source}.values())


def in_phases(runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """Split runs into those that budgets of the others depend on, and the others."""
    first = {run.run_id for run in sources(runs)}
    return [run for run in runs if run.run_id in first], [run for run in runs if run.run_id not in first]


def with_budgets(runs: Iterable[Run], sizes: Mapping[str, int]) -> list[Run]:
    """Return the runs with every fraction replaced by a budget, at least 1.

    ``sizes`` maps the run ids of sources to final support sizes; runs whose source is not among them are left out.
    """
    resolved = []
    for run in runs:
        fraction = run.spec.budget_fraction
        if fraction is None or run.source is None:
            resolved.append(run)
        elif run.source.run_id in sizes:
            budget = max(1, math.floor(fraction * sizes[run.source.run_id] + 0.5))
            resolved.append(replace(run, spec=replace(run.spec, budget=budget)))
    return resolved


def budget_origin(spec: RunSpec) -> dict[str, Any] | None:
    """Return the entry ``budget`` of ``parameters`` in ``runs.csv`` for a fraction; None for other budgets."""
    if spec.budget_of is None:
        return None
    origin: dict[str, Any] = {"of": spec.budget_of, "fraction": spec.budget_fraction}
    return origin | ({"setting": spec.budget_setting} if spec.budget_setting else {})


def select(runs: Sequence[Run], only: Mapping[str, list[str]]) -> list[Run]:
    """Return the runs that match every ``--only`` key.

    Keys are `ONLY_KEYS`; ``algorithm`` is a name or a label; ``budget`` is a budget, a fraction, or the setting that it
    is a fraction of, for example ``eta=0.1``; ``setting`` is a swept value, such as ``gamma=1``, or all of a run's.
    Several values of a key are alternatives.

    Raises InputError: no run has such a value, or no run has all of them together.
    """
    if not (runs and only):
        return list(runs)
    for key, values in only.items():
        _check_known(key, values, dict.fromkeys(name for run in runs for name in _VALUES[key](run)))
    chosen = [run for run in runs if all(set(values) & set(_VALUES[key](run)) for key, values in only.items())]
    if not chosen:
        asked = " ".join(f"--only {key}={value}" for key, values in only.items() for value in values)
        raise InputError(f"{asked}: each matches some runs, but no run matches all of them")
    return chosen


_VALUES: dict[str, Callable[[Run], list[str]]] = {
    "dataset": lambda run: [run.dataset],
    "task": lambda run: [run.task],
    "repetition": lambda run: [str(run.repetition)],
    "algorithm": lambda run: [run.spec.name, run.spec.label],
    "budget": lambda run: _budgets(run.spec),
    "seed": lambda run: [str(run.spec.seed)],
    "setting": lambda run: _settings(run.spec),
}
ONLY_KEYS = tuple(_VALUES)
# The most values that a message lists.
_MOST_LISTED = 20


def _budgets(spec: RunSpec) -> list[str]:
    if spec.budget_fraction is not None:
        return [f"{spec.budget_fraction:g}", *([setting_text(spec.budget_setting)] if spec.budget_setting else [])]
    return [] if spec.budget is None else [str(spec.budget)]


def _settings(spec: RunSpec) -> list[str]:
    """Return each value of a setting, such as ``eta=0.1``, and all of them."""
    texts = [*(setting_text({name: value}) for name, value in spec.setting.items()), setting_text(spec.setting)]
    return texts if spec.setting else []


def _check_known(key: str, values: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for value in values:
        if value not in known:
            more = f" and {len(known) - _MOST_LISTED:,} more" if len(known) > _MOST_LISTED else ""
            listed = f"{', '.join(known[:_MOST_LISTED])}{more}" if known else "no run has one"
            raise InputError(f"--only {key}={value}: no such {key}{nearest(value, known)}  (allowed: {listed})")


def with_paths(dataset: DatasetSpec, change: Callable[[Path], Path]) -> DatasetSpec:
    """Return a dataset with other paths to the user's files."""
    paths = {"path": dataset.path, "test_path": dataset.test_path}
    return dataset.model_copy(update={key: change(path) for key, path in paths.items() if path is not None})


def _job(dataset: DatasetSpec, repetition: int, runs: list[Run]) -> Job:
    digest = hashlib.sha256("".join(run.run_id for run in runs).encode()).hexdigest()
    return Job(digest[:16], dataset, repetition, tuple(runs), source_digest())
