"""Running a job: in which process, isolation, time limits, rows and storage; and jobs of learners.

A worker process of the backend `local` runs `serve`.
"""

import faulthandler
import json
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from budgetrun.base import limits
from budgetrun.base.files import source_digest
from budgetrun.base.problem import problem_of
from budgetrun.config import kinds
from budgetrun.data import Stream, open_stream
from budgetrun.engine.group import Member
from budgetrun.kernels import Rows, compiling
from budgetrun.play.selection import Selection, registry
from budgetrun.play.session import Curve, Session, checkpoints, compile_first, group_options, scores_of
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


# Callback that reports the progress of this process's job (0 to 1); a worker sends it to the sweep.
tell: Callable[[float], None] | None = None
_TOLD_SECONDS = 1.0
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
    """The seconds that the code of a run of a job may take: a run that takes longer fails when its code returns.

    If it never returns, this process is ended, and the job's mark in the results folder names the run.
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
        """Run the code of a run that has taken ``spent`` seconds already; a RuntimeError says that it took too long."""
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


def attempt(job: Job, settings: Settings) -> Outcome | Exception:
    """Run a job; return the error if it cannot be run or stored, because joblib drops all jobs if one raises."""
    try:
        return run_job(job, settings)
    except Exception as error:
        error.add_note(traceback.format_exc())
        return error


def run_job(job: Job, settings: Settings) -> Outcome:
    """Run a job in this process and store its rows and curves; an error that is not of one run fails all of them."""
    # Ctrl-C reaches every process of a terminal; only the process that runs the sweep handles it.
    if os.getpid() != settings.parent and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    kind = job.runs[0].spec.kind
    store = Store(settings.folder)
    running = store.parts / f"{job.job_id}.running"
    # A worker on another machine may not see the results folder; then the process that runs the sweep stores the rows.
    visible = store.parts.is_dir()
    if visible:
        # Empty, whatever a killed sweep left there.
        running.write_bytes(b"")
    # Restarts `_peak_mb`; where the system cannot (all but Linux), the peak is that of the whole process.
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    wall, cpu = time.perf_counter(), time.process_time()
    with threadpool_limits(1), limits.memory(settings.memory), compiling.first():
        try:
            loaded = len(sys.modules)
            for played in (played for run in job.runs for played in run.played):
                identity.algorithm_of(played.spec)
            # What is imported only now may have been edited since this process hashed the files.
            if len(sys.modules) > loaded:
                source_digest.cache_clear()
            if source_digest() != job.source_digest:
                raise RuntimeError("the code has changed since the sweep began; start the sweep again")
            rows, curves = kinds.find(kind).measure(job, settings) if kind else measure(job, settings)
        except errors_of_runs(settings) as error:
            rows, curves = [failed(run, job, error) for run in job.runs], {}
    outcome = Outcome(job.job_id, rows, time.perf_counter() - wall, time.process_time() - cpu, visible)
    if visible:
        if curves:
            store.save_curves(job.job_id, curves)
        store.save(job.job_id, rows)
        running.unlink(missing_ok=True)
    return outcome


def serve(connection: Connection, parent: int) -> None:
    """Call functions for the process with the id ``parent`` until it closes the connection or has ended."""
    global tell
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()

    def send(share: float) -> None:
        with suppress(OSError):
            connection.send(share)

    tell = send
    # The sweep has closed the connection, or was killed.
    with suppress(EOFError, OSError):
        while True:
            calls = connection.recv()
            try:
                results: object = [function(*args, **kwargs) for function, args, kwargs in calls]
            except Exception as error:
                results = error
            connection.send(results)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.25)
    os._exit(1)


def _peak_mb() -> float:
    """Return the peak memory since the job began, in MB of 2^20 bytes."""
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
        learner_memory=spec.learner_memory,
        **measured,
    )


@dataclass(eq=False)
class _Played:
    """A run with its curves, the learners that play it (its own, or its candidates) and the columns of its row."""

    run: Run
    curves: dict[str, np.ndarray]
    learners: list[Any] = field(default_factory=list)
    columns: dict[str, Any] = field(default_factory=dict)
    error: BaseException | None = None  # if it has failed


def measure(job: Job, settings: Settings) -> Measured:
    """Feed a job's learners with their stream; return their rows, of status ``failed`` where one raises, and curves."""
    stream = stream_of(job, settings)
    limit, T = Limit(job, settings), stream.n_examples
    played = _play(job.runs, job, stream, settings, limit)
    # An error of several runs may be that of one learner, while they shared a hypothesis or kernel values.
    failures = Counter(id(one.error) for one in played if one.error is not None)
    rows = []
    for i, one in enumerate(played):
        if failures[id(one.error)] > 1:
            (one,) = (played[i],) = _play([one.run], job, stream, settings, limit)
        if one.error is None:
            rows.append(row_of(one.run, job, n_examples=T, **one.columns))
        else:
            rows.append(failed(one.run, job, one.error, T))
    curves = {"run_id": np.array([run.run_id for run in job.runs]), "rounds": checkpoints(T)}
    return rows, curves | {name: np.stack([one.curves[name] for one in played]) for name in played[0].curves}


def _play(runs: Sequence[Run], job: Job, stream: Stream, settings: Settings, limit: Limit) -> list[_Played]:
    """Feed the learners of some of a job's runs together; an error that cannot be attributed fails them all."""
    recorded = () if runs[0].candidates else problem_of(job.dataset.task).curves(settings.metrics)
    played = [_Played(run, Curve(1, recorded, stream.n_examples).of(0)) for run in runs]
    isolated = errors_of_runs(settings)
    for one in played:
        try:
            with limit.of(one.run.run_id):
                one.learners = [(identity.kernel_of(of.spec), identity.build(of.spec)) for of in one.run.played]
        except isolated as error:
            one.error = error
    built = [one for one in played if one.error is None]
    try:
        if built:
            _play_built(built, job.dataset.task, stream, settings, limit)
    except isolated as error:
        for one in built:
            one.error = error
    return played


def _play_built(built: list[_Played], task: str, stream: Stream, settings: Settings, limit: Limit) -> None:
    tasks, n_rounds, isolated = list(stream.tasks), stream.n_examples, errors_of_runs(settings)
    Y = np.stack([stream.tasks[name] for name in tasks])
    ids, told = [one.run.run_id for one in built], time.monotonic()
    every = [pair for one in built for pair in one.learners]
    options: dict[str, Any] = {"n_classes": len(stream.classes), "tie": settings.tie, "dtype": settings.dtype}
    compile_first(every, group_options(task, **options), stream.X, Y)

    def after(rounds: int) -> None:
        nonlocal told
        if tell is not None and (now := time.monotonic()) - told >= _TOLD_SECONDS:
            told = now
            tell(rounds / n_rounds)

    # A selection is the only run of its job.
    rule = built[0].run.spec if built[0].run.candidates else None
    with nullcontext() if rule is None else limit.of(ids[0]):
        selections = [] if rule is None else [Selection(registry()[rule.name](**rule.parameters), every, **options)]
        session = Session(
            [] if selections else every,
            selections,
            task=task,
            **options,
            rows=None if selections else [tasks.index(one.run.task) for one in built],
            metrics=settings.metrics,
            labels=Y,
            isolate=isolated,
            guard=(lambda i, seconds: limit.of(ids[i], seconds)) if settings.timeout_seconds else None,
        )
        try:
            session.run([(stream.X, Y)], after=after)
        finally:
            for i, one in enumerate(built):
                one.curves = session.curve.of(i)
    members: Sequence[Any] = session.members or [None]
    for i, (one, member) in enumerate(zip(built, members, strict=True)):
        one.error = None if member is None else member.error
        if one.error is not None:
            continue
        try:
            with limit.of(one.run.run_id):
                one.columns = session.columns(i)
                if member is not None and stream.test is not None:
                    one.columns |= evaluate(member, stream.test.X, stream.test.tasks[one.run.task], settings.tie)
        except isolated as error:
            one.error = error


def evaluate(member: Member, X: Rows, y: np.ndarray, tie: str) -> dict[str, float | None]:
    """Return the test errors of a learner at the end of its stream, as shares of the n >= 1 test examples.

    ``last_test_error`` is that of the last hypothesis; ``test_error`` of the mean of the hypotheses of all rounds (the
    online-to-batch conversion of Cesa-Bianchi, Conconi & Gentile, 2004), or None for a learner whose mean needs more
    examples than it holds. Labels ``y``, shape (n,), are -1 and +1, or classes from 0; ``tie`` is that of `Group`. Any
    change of the numbers needs a higher `identity.EVALUATION_REVISION`.
    """
    mistakes = problem_of(member.learner.task).mistakes

    def error(averaged: bool) -> float:
        wrong = mistakes(scores_of(member, X, averaged), y.astype(np.intp), tie)
        return int(np.count_nonzero(wrong)) / len(y)

    return {"test_error": error(averaged=True) if member.learner.averages() else None, "last_test_error": error(False)}
