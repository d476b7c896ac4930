"""Running a job of any kind: isolation, time limits, rows and storage."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from budgetrun.base.sources import source_digest
from budgetrun.data import Stream, limits, open_stream
from budgetrun.results.store.write import Record, Store, Value, record
from budgetrun.runner import identity
from budgetrun.runner.plan import Job, Run, budget_origin


@dataclass(frozen=True)
class Settings:
    """Settings that a worker needs in addition to its job."""

    seed: int
    tie: str
    dtype: str
    data_dir: Path | None
    folder: Path  # the results folder
    parent: int  # the id of the process that runs the sweep
    timeout_seconds: float | None = None
    sha256s: Mapping[str, str] = field(default_factory=dict)  # of the planned data, by the label of a dataset
    memory: float | None = None  # the most bytes that reading data may take; None for the default
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """A finished job, with the rows of its runs in ``runs.csv``."""

    job_id: str
    rows: list[Record]
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    stored: bool = False  # whether the rows are in the results folder already


# Callback that reports the job's progress (0 to 1); a worker sends it to the sweep.
tell: Callable[[float], None] | None = None
_TOLD_SECONDS = 1.0


class Share:
    """Reports the progress of a job at most once a second."""

    def __init__(self) -> None:
        self._told = time.monotonic()

    def done(self, share: float) -> None:
        """Report a share between 0 and 1, if a second has passed."""
        if tell is not None and (now := time.monotonic()) - self._told >= _TOLD_SECONDS:
            self._told = now
            tell(share)


# The rows of a job's runs, and the arrays to keep as their curves (empty for none).
Measured = tuple[list[Record], dict[str, np.ndarray]]


def stream_of(job: Job, settings: Settings) -> Stream:
    """Return the stream of a job with the tasks of its runs; its data must be those that were planned."""
    tasks = list(dict.fromkeys(run.task for run in job.runs))
    planned = settings.sha256s.get(job.dataset.label)
    return open_stream(job.dataset, settings.seed, job.repetition, settings.data_dir, tasks, planned)


def errors_of_runs(settings: Settings) -> tuple[type[BaseException], ...]:
    """Return the errors of algorithms that are failed runs."""
    # An interrupt is handled by the process that runs the sweep; in any other, the code of a run raised it by itself.
    return (Exception, SystemExit, GeneratorExit) if os.getpid() == settings.parent else (BaseException,)


class Limit:
    """The seconds that the code of a run of a job may take.

    A run that takes longer fails when its code returns. If it never returns, this process is ended, and the job's mark
    in the results folder names the run.
    """

    def __init__(self, job: Job, settings: Settings) -> None:
        self._seconds = settings.timeout_seconds
        self._running: tuple[str, float] | None = None
        # The process that runs the sweep must not end itself.
        self._ends_process = self._seconds is not None and os.getpid() != settings.parent
        if self._ends_process:
            mark = Store(settings.folder).parts / f"{job.job_id}.running"
            self._mark = (mark if mark.is_file() else Path(os.devnull)).open("wb", buffering=0)

    @contextmanager
    def of(self, run_id: str, spent: float = 0.0) -> Iterator[None]:
        """Run the code of a run that has taken ``spent`` seconds already.

        Raises
        ------
        RuntimeError
            It took too long.
        """
        if self._seconds is None:
            yield
            return
        before, until = self._running, time.monotonic() + self._seconds - spent
        self._watch((run_id, until))
        try:
            yield
        finally:
            self._watch(before)
        if time.monotonic() > until:
            raise RuntimeError(too_long(self._seconds))

    def _watch(self, running: tuple[str, float] | None) -> None:
        self._running = running
        if not self._ends_process:
            return
        if running is None:
            faulthandler.cancel_dump_traceback_later()
            return
        run_id, until = running
        self._mark.seek(0)
        self._mark.write(f"{run_id}\n".encode())
        # This needs no lock of the interpreter. It writes `_TIMED_OUT` and the place in the code.
        seconds = max(0.0, until - time.monotonic()) + _GRACE_SECONDS
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._mark)


# The seconds beyond its limit that a run has to return, before its process is ended.
_GRACE_SECONDS = 1.0
_TIMED_OUT = "Timeout ("


def too_long(seconds: float) -> str:
    """Return why a run failed that took longer than its limit."""
    return f"it took longer than timeout_seconds, {seconds:g} s"


def timed_out(mark: Path) -> str:
    """Return the id of the run because of which a worker ended itself (`Limit`), given its mark; empty if none."""
    try:
        run_id, _, more = mark.read_text().partition("\n")
    except OSError:
        return ""
    return run_id if more.startswith(_TIMED_OUT) else ""


def run_and_store(job: Job, settings: Settings, measure: Callable[[Job, Settings], Measured]) -> Outcome:
    """Run a job in this process and store what it measures; if ``measure`` raises, all runs of the job have failed."""
    # Ctrl-C reaches every process of a terminal; only the process that runs the sweep handles it.
    if os.getpid() != settings.parent and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    store = Store(settings.folder)
    running = store.parts / f"{job.job_id}.running"
    # A worker on another machine may not see the results folder; then the process that runs the sweep stores the rows.
    visible = store.parts.is_dir()
    if visible:
        # Empty, whatever a killed sweep left there.
        running.write_bytes(b"")
    _reset_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    with threadpool_limits(1), limits.memory(settings.memory):
        try:
            if source_digest() != job.source_digest:
                raise RuntimeError("the code has changed since the sweep began; start the sweep again")
            rows, curves = measure(job, settings)
        except errors_of_runs(settings) as error:
            rows, curves = [failed(run, job, error) for run in job.runs], {}
    outcome = Outcome(job.job_id, rows, time.perf_counter() - wall, time.process_time() - cpu, visible)
    if visible:
        if curves:
            store.save_curves(job.job_id, curves)
        store.save(job.job_id, rows)
        running.unlink(missing_ok=True)
    return outcome


def _reset_peak() -> None:
    """Restart `_peak_mb`; where the system cannot (all but Linux), the peak is that of the whole process."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_mb() -> float:
    """Return the peak memory since `_reset_peak`, in MB of 2^20 bytes."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def failed(run: Run, job: Job, error: BaseException, n_examples: int | None = None) -> Record:
    """Return the row of a run that failed, or never started, because of ``error``."""
    return row_of(run, job, n_examples=n_examples, status="failed", error=f"{type(error).__name__}: {error}")


def failure(job: Job, reasons: Iterable[str]) -> Outcome:
    """Return the outcome of a job whose runs were never finished: one reason per run."""
    rows = [failed(run, job, RuntimeError(why)) for run, why in zip(job.runs, reasons, strict=True)]
    return Outcome(job.job_id, rows)


def row_of(run: Run, job: Job, *, status: str = "done", error: str = "", **measured: Value) -> Record:
    """Return the row of a run, with the columns that were measured."""
    spec = run.spec
    parameters = ({"variant": spec.variant} if spec.variant else {}) | spec.parameters
    if (origin := budget_origin(spec)) is not None:
        parameters["budget"] = origin
    return record(
        run_id=run.run_id,
        dataset=run.dataset,
        task=run.task,
        repetition=run.repetition,
        seed=spec.seed,
        algorithm=spec.name,
        parameters=json.dumps(parameters),
        kernel=", ".join(dict.fromkeys(str(identity.kernel_of(played.spec)) for played in run.played)),
        budget=spec.budget,
        peak_memory_mb=round(_peak_mb(), 1),
        status=status,
        error=error,
        label=spec.label,
        budget_fraction=spec.budget_fraction,
        setting=json.dumps(spec.setting, ensure_ascii=False),
        **measured,
    )
