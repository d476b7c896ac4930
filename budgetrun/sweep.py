"""Making the runs of a config: what is missing, on several processes, whatever may happen to them."""

from __future__ import annotations

import datetime
import os
import signal
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetrun import provenance
from budgetrun.cost import job_bytes, job_seconds
from budgetrun.errors import InputError
from budgetrun.plan import Job, Plan, Run, code_version, make_jobs, make_plan, perceptrons_first, select, with_budgets
from budgetrun.progress import Progress, duration
from budgetrun.store import Store
from budgetrun.work import Outcome, Settings, row_of, run_job

if TYPE_CHECKING:
    from budgetrun.config import Config, DatasetSpec

# A job whose worker died this often is not tried again.
_MOST_DEATHS = 2


@dataclass(frozen=True)
class Options:
    """How to sweep; see the command's help.

    Attributes
    ----------
    results : Path
        The folder of results folders.
    jobs : int, >= 1
    data_dir : Path or None
    only : dict of str to list of str
    memory : float
        Bytes for all workers together.
    backend : {"loky", "dask"}
    scheduler : str or None
        Address of a dask scheduler.
    force : bool
    """

    results: Path
    jobs: int = 1
    data_dir: Path | None = None
    only: dict[str, list[str]] = field(default_factory=dict)
    memory: float = 8e9
    backend: str = "loky"
    scheduler: str | None = None
    force: bool = False


def results_folder(config: Config, results: Path) -> Path:
    """Return where a config's results go: a profile's runs never mix with those of the whole config."""
    return results / config.name if config.profile == "full" else results / config.profile / config.name


def describe(config: Config, options: Options) -> str:
    """Return what a sweep would do: runs, how many are done, and their estimated time and memory."""
    plan = make_plan(config, options.data_dir, download=False)
    store = Store(results_folder(config, options.results))
    done = _done(store, plan)
    selected = select(plan.runs, options.only)
    todo = [run for run in selected if run.run_id not in done]
    lines = [f"{config.name}: {len(selected):,} runs, {len(selected) - len(todo):,} done, {len(todo):,} to do"]
    jobs = _jobs(config, plan, todo, options)
    seconds: Counter[str] = Counter()
    largest: dict[str, float] = defaultdict(float)
    for job in jobs:
        info = plan.infos[job.dataset.label]
        seconds[job.dataset.label] += job_seconds(job.runs, info, config.dtype)
        largest[job.dataset.label] = max(largest[job.dataset.label], job_bytes(job.runs, info, config.dtype))
    for label, info in plan.infos.items():
        runs = [run for run in selected if run.dataset == label]
        left = sum(run.run_id not in done for run in runs)
        line = f"  {label}: {info.n_examples:,} rounds x {info.n_features:,} features, "
        line += f"{len(runs):,} runs, {left:,} to do"
        if left:
            line += f", about {duration(seconds[label])} of one core, {largest[label] / 1e9:.1f} GB a worker"
        lines.append(line)
    lines += [f"  {label}: not to be had. {why}" for label, why in plan.missing.items()]
    if todo:
        total = sum(seconds.values()) / options.jobs
        at_once = min(options.jobs, len(jobs)) * max(largest.values())
        lines.append(f"  estimate: about {duration(total)} with --jobs {options.jobs}, at most {at_once / 1e9:.1f} GB")
    return "\n".join(lines)


def sweep(config: Config, options: Options) -> int:
    """Make every run of a config that is not yet kept in its results folder.

    Returns
    -------
    int
        0; 1 if a run failed or a dataset is not to be had; 130 if interrupted. The results folder is complete in any
        case.

    Raises
    ------
    InputError
        The config does not fit the data, or the results folder cannot be used.
    """
    plan = make_plan(config, options.data_dir)
    for why in plan.missing.values():
        _say(why)
    store = Store(results_folder(config, options.results))
    old = None if options.force else store.manifest()
    manifest = _manifest(config, plan, options)
    if old is not None and old.get("code") == code_version():
        manifest |= {key: old[key] for key in ("start", "seconds", "parts")}
        if not _todo(store, plan, options):
            manifest |= {key: old[key] for key in ("versions", "git", "jobs", "end")}
    store.open(manifest, options.force)
    done = _done(store, plan)
    planned = {run.run_id for run in plan.runs}
    stale = sum(row["status"] == "done" for key, row in store.rows().items() if key not in planned)
    if stale and not plan.missing:
        _say(f"{stale:,} runs in {store.folder} were made by an earlier version of the code; they are made again")
    todo = _todo(store, plan, options)
    _say(f"{config.name}: {len(todo):,} runs to do, {len(done):,} done, in {store.folder}")
    work = _Sweep(config, plan, options, store, manifest)
    began = time.monotonic()
    interrupted = False
    try:
        with _interruptible():
            work.make(todo)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        if todo:
            manifest["seconds"] = round(manifest["seconds"] + time.monotonic() - began, 1)
            manifest["end"] = _now()
        work.finish()
    rows = store.rows()
    failed = [run for run in plan.runs if rows.get(run.run_id, {}).get("status") == "failed"]
    if interrupted:
        _say(f"interrupted; every finished run is kept in {store.folder}, and the same command makes the rest")
        return 130
    for run in failed[:10]:
        _say(f"failed: {_name(run)}: {rows[run.run_id]['error']}")
    if failed:
        _say(f"{len(failed):,} runs failed; to repeat them: budgetrun sweep {config.file or config.name}")
    return 1 if failed or plan.missing else 0


class _Sweep:
    """The state of one sweep: what is left, what it has cost, what is written where."""

    def __init__(self, config: Config, plan: Plan, options: Options, store: Store, manifest: dict[str, Any]) -> None:
        self.config = config
        self.plan = plan
        self.options = options
        self.store = store
        self.manifest = manifest
        self.wanted = {run.run_id for run in plan.runs} if not plan.missing else None
        self.settings = Settings(
            seed=config.seed,
            tie=config.tie,
            dtype=config.dtype,
            data_dir=options.data_dir,
            folder=store.folder.resolve(),
            parent=os.getpid(),
            code=code_version(),
        )

    def make(self, todo: Sequence[Run]) -> None:
        """Make these runs: first the Perceptrons whose mistakes are others' budgets."""
        done = _done(self.store, self.plan)
        first = [run for run in perceptrons_first(self.plan, todo) if run.run_id not in done]
        chosen = {run.run_id for run in first}
        rest = [run for run in todo if run.run_id not in chosen]
        estimate = _jobs(self.config, self.plan, [*first, *rest], self.options)
        progress = Progress(len(first) + len(rest), sum(self._seconds(job) for job in estimate), self.options.jobs)
        with progress:
            self._run(_jobs(self.config, self.plan, first, self.options), progress)
            rows = self.store.rows()
            mistakes = {
                (run.dataset, run.repetition, run.task): int(rows[run.run_id]["mistakes"])
                for run in perceptrons_first(self.plan, rest)
                if rows.get(run.run_id, {}).get("status") == "done"
            }
            ready = with_budgets(rest, mistakes)
            progress.expect(sum(self._seconds(job) for job in _jobs(self.config, self.plan, ready, self.options)))
            self._run(_jobs(self.config, self.plan, ready, self.options), progress)
            self._give_up(rest, ready)

    def finish(self) -> None:
        """Leave the folder complete."""
        for mark in self.store.parts.glob("*.running"):
            mark.unlink(missing_ok=True)
        self.store.write_table(self.wanted)
        rows = self.store.rows()
        self.manifest["failures"] = sorted(key for key, row in rows.items() if row["status"] == "failed")
        self.store.write_manifest(self.manifest)

    def _run(self, jobs: list[Job], progress: Progress) -> None:
        """Run jobs until each is finished or has lost its worker too often."""
        left = {job.job_id: job for job in sorted(jobs, key=self._seconds, reverse=True)}
        deaths: Counter[str] = Counter()
        while left:
            try:
                for outcome in self._outcomes(list(left.values())):
                    job = left.pop(outcome.job_id)
                    self._keep(job, outcome)
                    progress.advance(len(job.runs), self._seconds(job), outcome.wall_seconds, job.dataset.label)
            except _broken_pools() as error:
                running = {path.stem for path in self.store.parts.glob("*.running")} & set(left)
                for path in self.store.parts.glob("*.running"):
                    path.unlink(missing_ok=True)
                progress.say("a worker process died (killed, or out of memory); the runs it had in hand are made again")
                deaths.update(running or left)
                for job_id in [key for key, n in deaths.items() if n >= _MOST_DEATHS and key in left]:
                    job = left.pop(job_id)
                    failure = RuntimeError(f"its worker process died {_MOST_DEATHS} times ({type(error).__name__})")
                    rows = [row_of(run, job, failure=failure) for run in job.runs]
                    self._keep(job, Outcome(job_id, rows))
                    progress.advance(len(job.runs), self._seconds(job), 0.0, job.dataset.label)

    def _outcomes(self, jobs: list[Job]) -> Iterator[Outcome]:
        """Yield the outcomes of jobs as they finish."""
        from joblib import Parallel, delayed, parallel_config

        calls = [delayed(run_job)(job, self.settings) for job in jobs]
        if self.options.backend == "dask":
            with _dask_client(self.options.scheduler), parallel_config(backend="dask"):
                yield from Parallel(n_jobs=-1, batch_size=1)(calls)
            return
        n_jobs = min(self.options.jobs, len(jobs))
        context = parallel_config(backend="loky", inner_max_num_threads=1) if n_jobs > 1 else nullcontext()
        with context, warnings.catch_warnings():
            # A worker that has grown is replaced between jobs, which is all that this says.
            warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
            yield from Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")(calls)

    def _keep(self, job: Job, outcome: Outcome) -> None:
        if not outcome.kept:
            self.store.save(job.job_id, outcome.rows)
        for entry in self.manifest["parts"]:
            if entry["dataset"] == job.dataset.label:
                break
        else:
            entry = {"dataset": job.dataset.label, "runs": 0, "wall_seconds": 0.0, "cpu_seconds": 0.0, "algorithms": []}
            self.manifest["parts"].append(entry)
        entry["runs"] += len(job.runs)
        entry["wall_seconds"] = round(entry["wall_seconds"] + outcome.wall_seconds, 2)
        entry["cpu_seconds"] = round(entry["cpu_seconds"] + outcome.cpu_seconds, 2)
        entry["algorithms"] = sorted({*entry["algorithms"], *(run.spec.label for run in job.runs)})
        self.store.write_table(self.wanted)
        self.store.write_manifest(self.manifest)

    def _give_up(self, rest: Sequence[Run], ready: Sequence[Run]) -> None:
        """Record as failed the runs whose budget is a fraction of a Perceptron's mistakes that failed."""
        resolved = {run.run_id for run in ready}
        lost = [run for run in rest if run.run_id not in resolved]
        failure = RuntimeError("its budget is a fraction of the mistakes of a Perceptron run that failed")
        for job in make_jobs(self.config, lost, lambda *_: True):
            self.store.save(job.job_id, [row_of(run, job, failure=failure) for run in job.runs])

    def _seconds(self, job: Job) -> float:
        return job_seconds(job.runs, self.plan.infos[job.dataset.label], self.config.dtype)


def _jobs(config: Config, plan: Plan, runs: Sequence[Run], options: Options) -> list[Job]:
    room = options.memory / options.jobs

    def fits(dataset: DatasetSpec, together: Sequence[Run]) -> bool:
        return job_bytes(together, plan.infos[dataset.label], config.dtype) <= room

    return make_jobs(config, runs, fits)


def _done(store: Store, plan: Plan) -> set[str]:
    rows = store.rows()
    return {run.run_id for run in plan.runs if rows.get(run.run_id, {}).get("status") == "done"}


def _todo(store: Store, plan: Plan, options: Options) -> list[Run]:
    done = _done(store, plan)
    return [run for run in select(plan.runs, options.only) if run.run_id not in done]


def _manifest(config: Config, plan: Plan, options: Options) -> dict[str, Any]:
    """Return the manifest of a sweep that begins."""
    return {
        "name": config.name,
        "source": config.source,
        "description": config.description,
        "config": config.resolved(),
        "config_text": config.text,
        "expected": {table.name: list(table.expected_rows) for table in config.report.tables},
        "profile": config.profile,
        "seed": config.seed,
        "versions": provenance.versions(),
        "code": code_version(),
        "git": provenance.commit(),
        "datasets": {
            label: {
                "sha256": info.sha256,
                "files": info.files,
                "n_examples": info.n_examples,
                "n_features": info.n_features,
                "notes": info.notes,
            }
            for label, info in plan.infos.items()
        },
        "start": _now(),
        "end": None,
        "seconds": 0.0,
        "jobs": options.jobs,
        "parts": [],
        "failures": [],
    }


@contextmanager
def _interruptible() -> Iterator[None]:
    """Take a request to terminate as Ctrl-C, and leave no worker behind after either."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True, kill_workers=True)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _dask_client(address: str | None) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError:
        raise InputError("--backend dask needs dask: pip install 'budgetrun[dask]'") from None
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise InputError(f"--scheduler {address}: no dask scheduler answers there ({error})") from None
    with client:
        yield client


def _broken_pools() -> tuple[type[BaseException], ...]:
    from concurrent.futures.process import BrokenProcessPool

    return (BrokenProcessPool,)


def _name(run: Run) -> str:
    budget = f" B={run.spec.budget}" if run.spec.budget else ""
    fraction = f" B={run.spec.budget_fraction:g}p" if run.spec.budget_fraction else budget
    return f"{run.dataset} {run.task} repetition {run.repetition}, {run.spec.label}{fraction} seed {run.spec.seed}"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def default_jobs() -> int:
    """Return the cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
