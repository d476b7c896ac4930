"""One job on one worker: a stream, and all the learners that read it."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from budgetrun.data import open_stream
from budgetrun.engine import Group
from budgetrun.engine.group import Member
from budgetrun.runner import identity
from budgetrun.runner.evaluation import evaluate
from budgetrun.runner.memory import peak_mb, reset_peak
from budgetrun.runner.plan import Job, Run, budget_origin
from budgetrun.store.write import Store

BLOCK_SIZE = 256


@dataclass(frozen=True)
class Settings:
    """What a worker needs to know beside its job.

    Attributes
    ----------
    seed : int
    tie, dtype : str
        As in the config.
    data_dir : Path or None
        Where to look for data first.
    folder : Path
        The results folder.
    parent : int
        The process that sweeps.
    """

    seed: int
    tie: str
    dtype: str
    data_dir: Path | None
    folder: Path
    parent: int


@dataclass(frozen=True)
class Outcome:
    """A finished job: its rows for `runs.csv`, how long it took, and whether the results folder has them already."""

    job_id: str
    rows: list[dict[str, Any]]
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    kept: bool = False


Played = tuple[list[dict[str, Any]], dict[str, np.ndarray]]


def run_job(job: Job, settings: Settings) -> Outcome:
    """Run a job's learners, keep runs and curves in the results folder, and return the runs.

    A learner that fails gives a row of status ``failed``; so does every run of a job whose stream cannot be opened.
    """
    return carry_out(job, settings, _run)


def carry_out(job: Job, settings: Settings, play: Callable[[Job, Settings], Played]) -> Outcome:
    """Do a job on this process, and keep what comes of it in the results folder.

    Parameters
    ----------
    job : Job
    settings : Settings
    play : callable
        Returns the rows of the runs, and the arrays to keep as their curves (empty for none); what it raises fails all
        runs of the job.
    """
    _leave_interrupts_to(settings.parent)
    store = Store(settings.folder)
    mark = store.parts / f"{job.job_id}.running"
    # A worker elsewhere may not see the results folder: then the process that asked for the job keeps its runs.
    here = store.parts.is_dir()
    if here:
        mark.touch()
    reset_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    with threadpool_limits(1):
        try:
            if identity.source_digest([run.spec for run in job.runs]) != job.source_digest:
                raise RuntimeError("the code has changed since the sweep began; start the sweep again")
            rows, curves = play(job, settings)
        except Exception as error:
            rows, curves = [row_of(run, job, failure=error) for run in job.runs], {}
    outcome = Outcome(job.job_id, rows, time.perf_counter() - wall, time.process_time() - cpu, here)
    if here:
        if curves:
            store.save_curves(job.job_id, curves)
        store.save(job.job_id, rows)
        mark.unlink(missing_ok=True)
    return outcome


def checkpoints(n_rounds: int) -> np.ndarray:
    """Return the rounds at which curves are recorded: eight a decade, some fifty at equal distances, and the last."""
    grid = np.logspace(0, np.log10(n_rounds), int(8 * np.log10(n_rounds)) + 2)
    # Where blocks end anyway.
    step = BLOCK_SIZE * max(1, round(n_rounds / (50 * BLOCK_SIZE)))
    return np.unique(np.concatenate([np.rint(grid).astype(int), np.arange(step, n_rounds, step)]))


def prefix_of(n_rounds: int) -> int:
    """Return how many rounds are the beginning of a stream, on which settings may be chosen: a tenth, at least 1."""
    return max(1, math.floor(n_rounds / 10 + 0.5))


def _leave_interrupts_to(parent: int) -> None:
    """Ctrl-C reaches every process of a terminal; only the one that sweeps is to act on it."""
    if os.getpid() != parent and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run(job: Job, settings: Settings) -> Played:
    tasks = list(dict.fromkeys(run.task for run in job.runs))
    stream = open_stream(job.dataset, settings.seed, job.repetition, settings.data_dir, tasks)
    Y = np.stack([stream.tasks[task] for task in tasks])
    assert job.dataset.kernel is not None
    group = Group(
        job.dataset.kernel.build(),
        [identity.build(run.spec) for run in job.runs],
        [tasks.index(run.task) for run in job.runs],
        n_classes=len(stream.classes) if job.dataset.task == "multiclass" else None,
        tie=settings.tie,
        dtype=settings.dtype,
        isolate=True,
    )
    T = stream.n_examples
    grid, prefix = checkpoints(T), prefix_of(T)
    ends = np.unique(np.concatenate([np.arange(BLOCK_SIZE, T, BLOCK_SIZE), grid, [prefix]]))
    mistakes = np.zeros((len(job.runs), len(grid)), dtype=np.int32)
    support = np.zeros_like(mistakes)
    early: list[int] = []
    start = 0
    for end in ends.tolist():
        group.feed(stream.X[start:end], Y[:, start:end])
        start = end
        if end == prefix:
            early = [m.count.mistakes for m in group.members]
        at = int(np.searchsorted(grid, end))
        if grid[at] == end:
            mistakes[:, at] = [m.count.mistakes for m in group.members]
            support[:, at] = [m.hypothesis.size for m in group.members]
    rows = [row_of(run, job, T, member) for run, member in zip(job.runs, group.members, strict=True)]
    for row, member, count in zip(rows, group.members, early, strict=True):
        if member.error is None:
            row.update(prefix_examples=prefix, prefix_mistakes=count)
    if stream.test is not None:
        for row, run, member in zip(rows, job.runs, group.members, strict=True):
            if member.error is None:
                row.update(evaluate(member, stream.test.X, stream.test.tasks[run.task], settings.tie))
    ids = np.array([run.run_id for run in job.runs])
    return rows, {"run_id": ids, "rounds": grid, "mistakes": mistakes, "support_size": support}


def row_of(
    run: Run, job: Job, n_examples: int | None = None, member: Member | None = None, failure: Exception | None = None
) -> dict[str, Any]:
    """Return a run's row of `runs.csv`; without a member, or with a failure, the row of a run that failed."""
    spec = run.spec
    parameters = {"variant": spec.variant} if spec.variant else {}
    parameters |= spec.parameters
    if (origin := budget_origin(spec)) is not None:
        parameters["budget"] = origin
    row: dict[str, Any] = {
        "run_id": run.run_id,
        "dataset": run.dataset,
        "task": run.task,
        "repetition": run.repetition,
        "seed": spec.seed,
        "algorithm": spec.name,
        "parameters": json.dumps(parameters),
        "kernel": str(job.dataset.kernel.build()) if job.dataset.kernel else "",
        "budget": spec.budget,
        "n_examples": n_examples,
        "mistakes": None,
        "online_error": None,
        "updates": None,
        "margin_updates": None,
        "support_size": None,
        "max_support_size": None,
        "seconds": None,
        "peak_memory_mb": round(peak_mb(), 1),
        "status": "failed",
        "error": "",
        "label": spec.label,
        "budget_fraction": spec.budget_fraction,
        "test_error": None,
        "last_test_error": None,
        "prefix_examples": None,
        "prefix_mistakes": None,
        "facts": "",
        "setting": json.dumps(spec.setting, ensure_ascii=False),
    }
    failure = failure or (member.error if member else None)
    if failure is not None or member is None:
        return row | {"error": f"{type(failure).__name__}: {failure}" if failure else "did not run"}
    count = member.count
    assert n_examples is not None
    return row | {
        "mistakes": count.mistakes,
        "online_error": count.mistakes / n_examples,
        "updates": count.updates,
        "margin_updates": count.margin_updates,
        "support_size": member.hypothesis.size,
        "max_support_size": count.max_support,
        "seconds": round(count.seconds, 6),
        "status": "done",
        "facts": json.dumps(member.learner.facts(member.hypothesis)),
    }
