"""Where jobs run: processes of this machine (joblib) or a dask cluster; and what happens on signals meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING, Any

from budgetrun.errors import InputError
from budgetrun.runner.job import Outcome, Settings, failure, run_and_store
from budgetrun.runner.plan import Job

if TYPE_CHECKING:
    from budgetrun.runner.options import Options


# How long to wait for an answer of a dask scheduler.
DASK_TIMEOUT = "6s"


class LocalBackend:
    """Worker processes on this machine; a single worker is this process itself, unless runs have a limit of time."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def outcomes(self, jobs: Sequence[Job], settings: Settings) -> Iterator[Outcome]:
        """Yield the outcomes of jobs as they finish.

        Raises
        ------
        BrokenProcessPool
            A worker died. Jobs that were running, and those not started, have no outcome.
        """
        from multiprocessing import resource_tracker

        from joblib import Parallel, delayed, parallel_config
        from joblib.externals.loky.backend import resource_tracker as loky_tracker

        # A run that never returns can be ended only in a process of its own.
        several = self._workers > 1 or settings.timeout_seconds is not None
        # joblib starts no process for a single worker.
        how = {"n_jobs": 2, "pre_dispatch": 1} if several and self._workers == 1 else {"n_jobs": self._workers}
        context = parallel_config(backend="loky", inner_max_num_threads=1) if several else nullcontext()
        with context, warnings.catch_warnings():
            # joblib replaces workers that have grown, between jobs, and warns of it.
            warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
            parallel = Parallel(**how, batch_size=1, return_as="generator_unordered")
            if several:
                # Processes that track shared resources would unblock interrupts here if they were started later.
                resource_tracker.ensure_running()
                loky_tracker.ensure_running()
            # Neither joblib nor a worker whose Python is starting can be interrupted safely.
            with _interrupts_deferred():
                outcomes = parallel(delayed(_run_with_parent)(job, settings) for job in jobs)
            yield from outcomes

    def stop(self) -> None:
        """Kill all workers."""
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor(reuse=True, kill_workers=True).shutdown(wait=True, kill_workers=True)


class DaskBackend:
    """The workers of a dask cluster, whose scheduler has an address."""

    def __init__(self, client: Any, address: str | None) -> None:
        self._client, self._address = client, address

    def outcomes(self, jobs: Sequence[Job], settings: Settings) -> Iterator[Outcome]:
        """Yield the outcomes of jobs as they finish."""
        from distributed import KilledWorker, as_completed

        completed: Callable[[list[Any]], Iterator[Any]] = as_completed
        submitted = {self._client.submit(run_job, job, settings, pure=False): job for job in jobs}
        try:
            for future in completed(list(submitted)):
                try:
                    # A worker may have stored its rows in a folder of the same name on another machine.
                    yield replace(future.result(), stored=False)
                except KilledWorker:
                    job = submitted[future]
                    yield failure(job, ["the dask workers that ran its job died"] * len(job.runs))
        except CancelledError:
            raise InputError(
                f"--scheduler {self._address}: the dask scheduler has stopped; finished runs are kept; "
                f"start it again, then repeat the command"
            ) from None

    def stop(self) -> None:
        """Do nothing: the client cancels its jobs when it is closed."""


Backend = LocalBackend | DaskBackend


@contextmanager
def opened(options: Options, workers: int) -> Iterator[Backend]:
    """Open the backend that the options ask for, with a number of local workers.

    Raises
    ------
    InputError
        dask is not installed, or no scheduler answers.
    """
    if options.backend != "dask":
        yield LocalBackend(workers)
        return
    try:
        from distributed import Client
    except ImportError:
        raise InputError("--backend dask needs dask; install it with: pip install 'budgetrun[dask]'") from None
    connect: Callable[..., Any] = Client
    try:
        client = connect(options.scheduler, timeout=DASK_TIMEOUT)
    except (OSError, ValueError) as error:
        raise InputError(f"--scheduler {options.scheduler}: no dask scheduler answers ({error})") from None
    with client:
        yield DaskBackend(client, options.scheduler)


def run_job(job: Job, settings: Settings) -> Outcome:
    """Run a job of learners or of solvers, store its rows and curves in the results folder, and return the rows."""
    if job.runs[0].spec.solver:
        from budgetrun.runner.batch import measure
    else:
        from budgetrun.runner.online import measure
    return run_and_store(job, settings, measure)


@contextmanager
def on_signals(
    numbers: Sequence[signal.Signals], handler: Callable[[int, FrameType | None], Any] | signal.Handlers
) -> Iterator[None]:
    """Handle signals with ``handler`` within the block."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Defer an interrupt to the end of the block; processes started within the block never receive any."""
    received: list[int] = []
    with on_signals((signal.SIGINT,), lambda number, _: received.append(number)):
        # New processes inherit the mask, not the handler.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if received:
        raise KeyboardInterrupt


def _run_with_parent(job: Job, settings: Settings) -> Outcome:
    """Run a job in a process that ends when the process that runs the sweep does."""
    if os.getpid() != settings.parent:
        _end_with(settings.parent)
    return run_job(job, settings)


@cache
def _end_with(parent: int) -> None:
    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
