"""What every job has in common, whether its runs are learners or solvers: isolation, rows and storage."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from budgetrun.data import limits
from budgetrun.runner import identity
from budgetrun.runner.memory import peak_mb, reset_peak
from budgetrun.runner.plan import Job, Run, budget_origin
from budgetrun.store.write import Record, Store, Value, record


@dataclass(frozen=True)
class Settings:
    """What a worker needs to know in addition to its job: some values of the config, and where things are."""

    seed: int
    tie: str
    dtype: str
    data_dir: Path | None
    folder: Path  # the results folder
    parent: int  # the id of the process that runs the sweep
    sha256s: Mapping[str, str] = field(default_factory=dict)  # of the planned data, by the label of a dataset
    memory: float | None = None  # the most bytes that reading data may take; None for the default


@dataclass(frozen=True)
class Outcome:
    """A finished job, with the rows of its runs in ``runs.csv``."""

    job_id: str
    rows: list[Record]
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    stored: bool = False  # whether the rows are in the results folder already


# The rows of a job's runs, and the arrays to keep as their curves (empty for none).
Measured = tuple[list[Record], dict[str, np.ndarray]]


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
        running.touch()
    reset_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    with threadpool_limits(1), limits.memory(settings.memory):
        try:
            if identity.source_digest([run.spec for run in job.runs]) != job.source_digest:
                raise RuntimeError("the code has changed since the sweep began; start the sweep again")
            rows, curves = measure(job, settings)
        except Exception as error:
            rows, curves = [failed(run, job, error) for run in job.runs], {}
    outcome = Outcome(job.job_id, rows, time.perf_counter() - wall, time.process_time() - cpu, visible)
    if visible:
        if curves:
            store.save_curves(job.job_id, curves)
        store.save(job.job_id, rows)
        running.unlink(missing_ok=True)
    return outcome


def failed(run: Run, job: Job, error: Exception, n_examples: int | None = None) -> Record:
    """Return the row of a run that failed, or never started, because of ``error``."""
    return row_of(run, job, n_examples=n_examples, status="failed", error=f"{type(error).__name__}: {error}")


def failure(job: Job, reasons: Iterable[str]) -> Outcome:
    """Return the outcome of a job whose runs were never finished: one reason per run."""
    rows = [failed(run, job, RuntimeError(why)) for run, why in zip(job.runs, reasons, strict=True)]
    return Outcome(job.job_id, rows)


def row_of(run: Run, job: Job, *, status: str = "done", error: str = "", **measured: Value) -> Record:
    """Return the row of a run, with the columns that were measured."""
    spec = run.spec
    parameters: dict[str, Any] = {"variant": spec.variant} if spec.variant else {}
    parameters |= spec.parameters
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
        kernel=str(identity.kernel_of(job.dataset)),
        budget=spec.budget,
        peak_memory_mb=round(peak_mb(), 1),
        status=status,
        error=error,
        label=spec.label,
        budget_fraction=spec.budget_fraction,
        setting=json.dumps(spec.setting, ensure_ascii=False),
        **measured,
    )
