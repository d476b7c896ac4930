"""Making the runs of a config: what is missing, on several processes, whatever may happen to them."""

from __future__ import annotations

import datetime
import errno
import os
import shlex
import signal
import sys
import threading
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetrun.config.published import manifest_entries
from budgetrun.config.schema import setting_text
from budgetrun.errors import InputError
from budgetrun.runner import provenance
from budgetrun.runner.estimate import job_bytes, job_seconds
from budgetrun.runner.job import Outcome, Settings, row_of, run_job
from budgetrun.runner.plan import Job, Plan, Run, make_jobs, make_plan, select, sources_first, with_budgets
from budgetrun.runner.progress import Progress, duration
from budgetrun.store.write import Store

if TYPE_CHECKING:
    from budgetrun.config.schema import Config, DatasetSpec

# What writing runs into that the user can mend.
_NO_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)


@dataclass(frozen=True)
class Options:
    """How to sweep; see the command's help.

    Attributes
    ----------
    results : Path
        The folder of results folders.
    jobs : int, >= 1, or None
        None for the number of cores; for one where seconds are compared (`Config.timed`).
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
    jobs: int | None = 1
    data_dir: Path | None = None
    only: dict[str, list[str]] = field(default_factory=dict)
    memory: float = 8e9
    backend: str = "loky"
    scheduler: str | None = None
    force: bool = False


def n_workers(config: Config, options: Options) -> int:
    """Return how many workers the sweep of a config has."""
    return options.jobs or (1 if config.timed else default_jobs())


def results_folder(config: Config, results: Path) -> Path:
    """Return where a config's results go: a profile's runs never mix with those of the whole config."""
    return results / config.name if config.profile == "full" else results / config.profile / config.name


def command(config: Config, results: Path, data_dir: Path | None = None) -> str:
    """Return what to type for the runs of a config that are missing."""
    words = ["budgetrun", "sweep", config.file or config.name]
    if config.profile != "full":
        words += ["--profile", config.profile]
    if data_dir is not None:
        words += ["--data", str(data_dir)]
    if results != Path("results"):
        words += ["--results", str(results)]
    return shlex.join(words)


def progress_of(folder: Path) -> str:
    """Return a line on how much of a results folder is done, and what to type for the rest; nothing is written.

    Raises
    ------
    InputError
        The folder's manifest cannot be read.
    """
    from budgetrun.config.schema import Config

    store = Store(folder)
    manifest = store.manifest()
    if manifest is None:
        raise InputError(f"{folder / 'manifest.json'}: cannot be read; repeat the sweep: budgetrun sweep CONFIG")
    rows = store.rows()
    try:
        config = Config.from_resolved(manifest["config"]).model_copy(update={"file": manifest.get("config_file", "")})
        plan = make_plan(_beside(config), download=False)
    # A ValueError tells of a manifest that another version of budgetrun wrote.
    except (InputError, ValueError) as error:
        states = Counter(row["status"] for row in rows.values())
        return (
            f"{folder}: {states['done']:,} runs done, {states['failed']:,} failed; of how many cannot be told: {error}"
        )
    done = _done(rows, plan.runs)
    n_failed = sum(rows[run.run_id]["status"] == "failed" for run in plan.runs if run.run_id in rows)
    stale = rows.keys() - {run.run_id for run in plan.runs}
    line = f"{folder}: {len(done):,} of {len(plan.runs):,} runs done"
    line += f", {n_failed:,} failed" if n_failed else ""
    line += f", {len(stale):,} of earlier code or data" if stale and not (plan.missing or plan.left_out) else ""
    line += f", data missing for {', '.join(plan.missing)}" if plan.missing else ""
    if len(done) < len(plan.runs) or plan.missing:
        results = folder.parent if config.profile == "full" else folder.parent.parent
        line += f"; for the rest, type: {command(config, results)}"
    return line


def _beside(config: Config) -> Config:
    """Return a config out of a manifest with its users' files looked for beside the config's file, too."""
    top = Path(config.file).parent

    def found(dataset: DatasetSpec) -> DatasetSpec:
        paths = {"path": dataset.path, "test_path": dataset.test_path}
        beside = {key: top / path for key, path in paths.items() if path is not None and (top / path).is_file()}
        return dataset.model_copy(update=beside)

    return config.model_copy(update={"datasets": tuple(map(found, config.datasets))})


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Let an interrupt wait until the block is left; processes that are started within never see any."""
    held: list[int] = []
    with _on_signals((signal.SIGINT,), lambda signum, _: held.append(signum)):
        # The handler is this process's; what a new one inherits is the mask.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if held:
        raise KeyboardInterrupt


def has_outcomes(folder: Path) -> bool:
    """Return whether a results folder has a finished run."""
    return any(row["status"] == "done" for row in Store(folder).rows().values())


def describe(config: Config, options: Options) -> str:
    """Return what a sweep would do: runs, how many are done, and their estimated time and memory.

    Nothing is written or downloaded.

    Raises
    ------
    InputError
        As `sweep`.
    """
    plan = make_plan(config, options.data_dir, download=False, only=options.only.get("dataset"))
    selected = select(plan.runs, options.only)
    done = set() if options.force else _done(Store(results_folder(config, options.results)).rows(), plan.runs)
    todo = _todo(plan, done, options)
    n_done = sum(run.run_id in done for run in selected)
    lines = [f"{config.name}: {len(selected):,} runs, {n_done:,} done, {len(todo):,} to do"]
    jobs = [job for runs in _phases(plan, todo) for job in _jobs(config, plan, runs, options)]
    seconds: dict[str, float] = defaultdict(float)
    largest: dict[str, float] = defaultdict(float)
    for job in jobs:
        info = plan.infos[job.dataset.label]
        seconds[job.dataset.label] += job_seconds(job.runs, info, config.dtype)
        n_bytes = job_bytes(job.runs, info, config.dtype, _kernel(job.dataset))
        largest[job.dataset.label] = max(largest[job.dataset.label], n_bytes)
    of_dataset, left = Counter(run.dataset for run in selected), Counter(run.dataset for run in todo)
    for label, info in plan.infos.items():
        line = f"  {label}: {info.n_examples:,} rounds x {info.n_features:,} features, "
        line += f"{of_dataset[label]:,} runs, {left[label]:,} to do"
        if left[label]:
            line += f", about {duration(seconds[label])} of one core, {largest[label] / 1e9:.1f} GB a worker"
        lines.append(line)
    lines += [f"  {label}: its runs are not counted. {why}" for label, why in (plan.missing | plan.left_out).items()]
    if todo:
        n_jobs = n_workers(config, options)
        total = sum(seconds.values()) / n_jobs
        at_once = min(n_jobs, len(jobs)) * max(largest.values())
        lines.append(f"  estimate: about {duration(total)} with --jobs {n_jobs}, at most {at_once / 1e9:.1f} GB")
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
        The config or ``only`` does not fit the data, or the results folder cannot be used.
    """
    plan = make_plan(config, options.data_dir, only=options.only.get("dataset"))
    select(plan.runs, options.only)
    for why in plan.missing.values():
        _say(why)
    for label, why in plan.left_out.items():
        _say(f"{label} is optional, and left out: {why}")
    if not plan.runs and not plan.missing:
        _say(f"{config.name}: nothing can be run without its data")
        return 0
    with _dask_client(options) as client:
        return _sweep(config, plan, options, client)


def _sweep(config: Config, plan: Plan, options: Options, client: Any) -> int:
    store = Store(results_folder(config, options.results))
    manifest = _manifest(config, plan, options, None if options.force else store)
    store.open(manifest, options.force)
    stale = _stale(store, plan)
    if stale:
        _say(f"{len(stale):,} runs in {store.folder} are of earlier code or data; they are made again")
    store.prune(lambda row: row["run_id"] not in stale)
    done = _done(store.rows(), plan.runs)
    todo = _todo(plan, done, options)
    how = _one_at_a_time(config, options)
    _say(f"{config.name}: {len(todo):,} runs to do, {len(done):,} done, in {store.folder}{how}")
    work = _Sweep(config, plan, options, store, manifest, client)
    began = time.monotonic()
    finished = interrupted = False
    with _telling_what_cannot_be_written(store.folder):
        try:
            with _on_signals((signal.SIGTERM,), signal.default_int_handler):
                work.make(todo)
            finished = True
        except KeyboardInterrupt:
            interrupted = True
        finally:
            # An impatient second Ctrl-C must not leave workers behind, or the table behind its parts.
            with _on_signals((signal.SIGINT, signal.SIGTERM), signal.SIG_IGN):
                if not finished:
                    _stop_workers()
                if todo:
                    manifest["seconds"] = round(manifest["seconds"] + time.monotonic() - began, 1)
                    manifest["end"] = _now()
                work.finish()
    again = command(config, options.results, options.data_dir)
    if interrupted:
        _say(f"interrupted; every finished run is kept in {store.folder}; for the rest, type: {again}")
        return 130
    rows = store.rows()
    failed = [run for run in plan.runs if rows.get(run.run_id, {}).get("status") == "failed"]
    for run in failed[:10]:
        _say(f"failed: {_name(run)}: {rows[run.run_id]['error']}")
    if failed:
        more = f" ({len(failed) - 10:,} more than these)" if len(failed) > 10 else ""
        _say(f"{len(failed):,} runs failed{more}; to repeat them, type: {again}")
    return 1 if failed or plan.missing else 0


class _Sweep:
    """The state of one sweep: what is left, what it has cost, what is written where."""

    def __init__(
        self, config: Config, plan: Plan, options: Options, store: Store, manifest: dict[str, Any], client: Any
    ) -> None:
        self.client = client
        self.config = config
        self.plan = plan
        self.options = options
        self.store = store
        self.manifest = manifest
        self.settings = Settings(
            seed=config.seed,
            tie=config.tie,
            dtype=config.dtype,
            data_dir=options.data_dir.resolve() if options.data_dir else None,
            folder=store.folder.resolve(),
            parent=os.getpid(),
        )
        self.n_jobs = n_workers(config, options)

    def make(self, todo: Sequence[Run]) -> None:
        """Make these runs: first those whose support sizes are others' budgets."""
        first, rest = _phases(self.plan, todo)
        estimate = sum(self._seconds(job) for runs in (first, rest) for job in self._jobs(runs))
        with Progress(len(todo), estimate, self.n_jobs) as progress:
            self._run(self._jobs(first), progress)
            rows = self.store.rows()
            done = _done(rows, sources_first(self.plan, rest))
            ready = with_budgets(rest, {run_id: int(rows[run_id]["support_size"]) for run_id in done})
            progress.expect(sum(self._seconds(job) for job in self._jobs(ready)))
            self._run(self._jobs(ready), progress)
            known = {run.run_id for run in ready}
            self._give_up([run for run in rest if run.run_id not in known], progress)

    def finish(self) -> None:
        """Leave the folder complete."""
        for mark in self.store.parts.glob("*.running"):
            mark.unlink(missing_ok=True)
        self.store.drop_unfinished_writes()
        self.store.write_table()
        rows = self.store.rows()
        self.manifest["failures"] = sorted(key for key, row in rows.items() if row["status"] == "failed")
        self.store.write_manifest(self.manifest)

    def _run(self, jobs: list[Job], progress: Progress) -> None:
        """Run jobs; those at work when a worker died are tried once more, one at a time, so that one is to blame."""
        # Where seconds are compared, the same data one after the other: what else the machine does is then alike.
        left = jobs if self.config.timed else sorted(jobs, key=self._seconds, reverse=True)
        suspects: dict[str, Job] = {}
        while left:
            left = self._attempt(left, progress)
            if left:
                progress.say("a worker process died (killed, or out of memory); what it had in hand is tried once more")
                suspects |= self._at_work(left)
                left = [job for job in left if job.job_id not in suspects]
        for job in suspects.values():
            for dead in self._attempt([job], progress):
                why = "its worker process died twice (killed, or out of memory)"
                self._keep(dead, self._failure(dead, why), progress)

    def _attempt(self, jobs: list[Job], progress: Progress) -> list[Job]:
        """Run jobs until all are finished or a worker dies; return those that are not finished."""
        left = {job.job_id: job for job in jobs}
        try:
            for outcome in self._outcomes(jobs):
                self._keep(left.pop(outcome.job_id), outcome, progress)
        except BrokenProcessPool:
            # Jobs may have finished without the word of it coming through.
            rows = self.store.rows()
            for job in list(left.values()):
                if len(_done(rows, job.runs)) == len(job.runs):
                    seconds = sum(float(rows[run.run_id]["seconds"]) for run in job.runs)
                    self._keep(left.pop(job.job_id), Outcome(job.job_id, [], seconds, seconds, kept=True), progress)
        return list(left.values())

    def _at_work(self, jobs: list[Job]) -> dict[str, Job]:
        """Return the jobs that had begun when their pool broke: all of them, if none says so."""
        begun = {mark.stem for mark in self.store.parts.glob("*.running")}
        for job in jobs:
            (self.store.parts / f"{job.job_id}.running").unlink(missing_ok=True)
        found = {job.job_id: job for job in jobs if job.job_id in begun}
        return found or {job.job_id: job for job in jobs}

    def _outcomes(self, jobs: list[Job]) -> Iterator[Outcome]:
        """Yield the outcomes of jobs as they finish."""
        if self.client is not None:
            yield from self._dask_outcomes(jobs)
            return
        from joblib import Parallel, delayed, parallel_config

        n_jobs = self.n_jobs
        context = parallel_config(backend="loky", inner_max_num_threads=1) if n_jobs > 1 else nullcontext()
        with context, warnings.catch_warnings():
            # A worker that has grown is replaced between jobs, which is all that this says.
            warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
            calls = (delayed(_run_beside)(job, self.settings) for job in jobs)
            parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
            if n_jobs > 1:
                _start_trackers()
            # Neither joblib nor a worker whose Python is starting can be interrupted in good order.
            with _interrupts_held_back():
                outcomes = parallel(calls)
            yield from outcomes

    def _dask_outcomes(self, jobs: list[Job]) -> Iterator[Outcome]:
        from distributed import KilledWorker, as_completed

        asked = {self.client.submit(_work, job, self.settings, pure=False): job for job in jobs}
        try:
            for future in as_completed(list(asked)):
                try:
                    yield future.result()
                except KilledWorker:
                    yield self._failure(asked[future], "the dask workers that it was given to died")
        except CancelledError:
            raise InputError(
                f"--scheduler {self.options.scheduler}: the dask scheduler has gone; what finished is kept; "
                f"start it again, then repeat the command"
            ) from None

    def _failure(self, job: Job, why: str) -> Outcome:
        return Outcome(job.job_id, [row_of(run, job, failure=RuntimeError(why)) for run in job.runs])

    def _keep(self, job: Job, outcome: Outcome, progress: Progress) -> None:
        # What a dask worker takes for the results folder may be one of that name on another machine.
        if not outcome.kept or self.client is not None:
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
        self.store.write_table()
        self.store.write_manifest(self.manifest)
        progress.advance(len(job.runs), self._seconds(job), outcome.wall_seconds, job.dataset.label)

    def _give_up(self, lost: Sequence[Run], progress: Progress) -> None:
        """Record as failed the runs whose budget is a fraction of the support size of a run that failed."""
        for job in make_jobs(self.config, lost, lambda *_: True):
            rows = []
            for run in job.runs:
                setting = f" ({setting_text(run.spec.budget_setting)})" if run.spec.budget_setting else ""
                why = f"its budget is a fraction of the support size of a {run.spec.budget_of} run{setting} that failed"
                rows.append(row_of(run, job, failure=RuntimeError(why)))
            self._keep(job, Outcome(job.job_id, rows), progress)

    def _jobs(self, runs: Sequence[Run]) -> list[Job]:
        return _jobs(self.config, self.plan, runs, self.options)

    def _seconds(self, job: Job) -> float:
        return job_seconds(job.runs, self.plan.infos[job.dataset.label], self.config.dtype)


def _run_beside(job: Job, settings: Settings) -> Outcome:
    """Run a job in a process that does not outlive the one that sweeps."""
    if os.getpid() != settings.parent:
        _die_with(settings.parent)
    return _work(job, settings)


def _work(job: Job, settings: Settings) -> Outcome:
    if job.runs[0].spec.solver:
        from budgetrun.runner import batch as solving

        return solving.run_job(job, settings)
    return run_job(job, settings)


@cache
def _die_with(parent: int) -> None:
    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _jobs(config: Config, plan: Plan, runs: Sequence[Run], options: Options) -> list[Job]:
    room = options.memory / n_workers(config, options)

    def fits(dataset: DatasetSpec, together: Sequence[Run]) -> bool:
        return job_bytes(together, plan.infos[dataset.label], config.dtype, _kernel(dataset)) <= room

    return make_jobs(config, runs, fits)


def _kernel(dataset: DatasetSpec) -> str:
    return dataset.kernel.name if dataset.kernel else ""


def _done(rows: Mapping[str, Mapping[str, str]], runs: Sequence[Run]) -> set[str]:
    return {run.run_id for run in runs if run.run_id in rows and rows[run.run_id]["status"] == "done"}


def _stale(store: Store, plan: Plan) -> set[str]:
    """Return the kept runs that are not planned, of the datasets that were looked at."""
    planned = {run.run_id for run in plan.runs}
    return {key for key, row in store.rows().items() if row["dataset"] in plan.infos and key not in planned}


def _todo(plan: Plan, done: set[str], options: Options) -> list[Run]:
    """Return the selected runs that are not done, and those that their budgets are fractions of."""
    todo = [run for run in select(plan.runs, options.only) if run.run_id not in done]
    first = [run for run in sources_first(plan, todo) if run.run_id not in done]
    return list({run.run_id: run for run in [*first, *todo]}.values())


def _phases(plan: Plan, todo: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """Return the runs that budgets of the others depend on, and the others."""
    first = {run.run_id for run in sources_first(plan, todo)}
    return [run for run in todo if run.run_id in first], [run for run in todo if run.run_id not in first]


def _manifest(config: Config, plan: Plan, options: Options, store: Store | None) -> dict[str, Any]:
    """Return the manifest of a sweep that begins, going on from what a store has of the same code."""
    new = _fresh_manifest(config, plan, options)
    old = store.manifest() if store else None
    if store is None or old is None or _stale(store, plan):
        return new
    going_on = ["start", "seconds", "parts"]
    if not _todo(plan, _done(store.rows(), plan.runs), options):
        going_on += ["versions", "git", "jobs", "end"]
    # Datasets that --only left out are described as before.
    datasets = old.get("datasets", {}) | new["datasets"]
    return new | {key: old[key] for key in going_on if key in old} | {"datasets": datasets}


def _fresh_manifest(config: Config, plan: Plan, options: Options) -> dict[str, Any]:
    return {
        "name": config.name,
        "source": config.source,
        "description": config.description,
        "config": config.resolved(),
        "config_text": config.text,
        "config_file": config.file,
        **manifest_entries(config.report),
        "profile": config.profile,
        "seed": config.seed,
        "versions": provenance.versions(*(["numba"] if config.solvers else [])),
        "revisions": sorted(plan.revisions),
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
        "jobs": n_workers(config, options),
        "parts": [],
        "failures": [],
    }


def _one_at_a_time(config: Config, options: Options) -> str:
    if not config.timed or options.jobs is not None:
        return ""
    return ", one at a time, so that their seconds can be compared (--jobs N makes N at once)"


@contextmanager
def _telling_what_cannot_be_written(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_WRITING:
            raise
        raise InputError(
            f"{folder}: results cannot be written any more ({error.strerror}); what finished is kept; "
            f"make room there, then repeat the command"
        ) from None


@contextmanager
def _on_signals(numbers: Sequence[signal.Signals], handler: Any) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _start_trackers() -> None:
    """Start the processes that watch over what workers share, which as they start unblock interrupts in this one."""
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as of_loky

    resource_tracker.ensure_running()
    of_loky.ensure_running()


def _stop_workers() -> None:
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor(reuse=True, kill_workers=True).shutdown(wait=True, kill_workers=True)


@contextmanager
def _dask_client(options: Options) -> Iterator[Any]:
    """Open the client of a dask scheduler; None where none is asked for."""
    if options.backend != "dask":
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise InputError("--backend dask needs dask; type: pip install 'budgetrun[dask]'") from None
    try:
        client = Client(options.scheduler, timeout="6s")
    except (OSError, ValueError) as error:
        raise InputError(f"--scheduler {options.scheduler}: no dask scheduler answers there ({error})") from None
    with client:
        yield client


def _name(run: Run) -> str:
    spec = run.spec
    budget = f" B={spec.budget}" if spec.budget else ""
    if spec.budget_fraction is not None:
        setting = f" ({setting_text(spec.budget_setting)})" if spec.budget_setting else ""
        budget = f" B={spec.budget_fraction:g} of {spec.budget_of}{setting}"
    return f"{run.dataset} {run.task} repetition {run.repetition}, {spec.label}{budget} seed {spec.seed}"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def default_jobs() -> int:
    """Return the cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
