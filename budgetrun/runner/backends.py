"""Where jobs run: processes of this machine, or a dask cluster."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection, Pipe, wait
from typing import TYPE_CHECKING, Any

from budgetrun.base.errors import InputError
from budgetrun.runner import job as job_module
from budgetrun.runner.interrupts import deferred
from budgetrun.runner.job import Outcome, Settings, failure, run_and_store
from budgetrun.runner.plan import Job

if TYPE_CHECKING:
    from budgetrun.runner.options import Options


# How long to wait for an answer of a dask scheduler.
DASK_TIMEOUT = "6s"
# The seconds without any dask worker after which the user is told, and after which the sweep gives up.
DASK_TOLD, DASK_GIVEN_UP = 10, 300
_DASK_ADDRESS = re.compile(r"((tcp|tls|ucx|ws|wss)://)?[^/\s]+:\d{1,5}")
# The seconds that a killed worker has to disappear.
_KILL_SECONDS = 5
# One thread per worker, for the libraries that read this when they are imported.
_ONE_THREAD = dict.fromkeys(
    (f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA", "NUMEXPR")), "1"
) | {"VECLIB_MAXIMUM_THREADS": "1"}


# What is told the shares of the running jobs that have been done, by the ids of the jobs.
Partly = Callable[[Mapping[str, float]], None]


def _ignored(shares: Mapping[str, float]) -> None:
    pass


def _tell_alone(partly: Partly, job_id: str, share: float) -> None:
    partly({job_id: share})


class LocalBackend:
    """Worker processes on this machine; a single worker is this process itself, unless runs have a limit of time.

    Each worker has a connection of its own, which the death of either side closes. There are no threads, locks or
    named semaphores that a killed process could leave behind.
    """

    def __init__(self, workers: int) -> None:
        self._n_workers = workers
        self._workers: dict[Connection, subprocess.Popen[bytes]] = {}

    def outcomes(self, jobs: Sequence[Job], settings: Settings, partly: Partly = _ignored) -> Iterator[Outcome]:
        """Yield the outcomes of jobs as they finish; ``partly`` is told the shares of those that are running, by id.

        Raises
        ------
        BrokenProcessPool
            Workers died; the jobs that they were running have no outcome, all others have been yielded.
        """
        # A run that never returns can be ended only in a process of its own.
        if self._n_workers == 1 and settings.timeout_seconds is None:
            for job in jobs:
                job_module.tell = partial(_tell_alone, partly, job.job_id)
                yield run_job(job, settings)
            return
        waiting, died = list(reversed(jobs)), False
        idle, busy = list(self._workers), dict[Connection, str]()
        shares: dict[str, float] = {}
        received: list[Outcome | Exception] = []
        try:
            while True:
                while waiting and len(busy) < self._n_workers:
                    worker = idle.pop() if idle else self._start()
                    job = waiting.pop()
                    busy[worker] = job.job_id
                    # If it has just died, there is nothing to receive below.
                    with suppress(OSError):
                        worker.send((job, settings))
                # Workers have their next jobs before the outcomes of the last are dealt with.
                for outcome in received:
                    if isinstance(outcome, Exception):
                        raise outcome
                    yield outcome
                received.clear()
                if not busy:
                    break
                ready = wait(busy)
                for worker in [one for one in busy if one in ready]:
                    try:
                        found = worker.recv()
                        if isinstance(found, float):
                            shares[busy[worker]] = found
                            continue
                        received.append(found)
                        idle.append(worker)
                    except (EOFError, OSError):
                        died = True
                        self._end([worker])
                    shares.pop(busy.pop(worker), None)
                partly(shares)
        finally:
            self._end(list(busy))
        if died:
            raise BrokenProcessPool

    def stop(self) -> None:
        """Kill all workers."""
        self._end(list(self._workers))

    def _start(self) -> Connection:
        ours, theirs = Pipe()
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        command = [sys.executable, "-P", "-m", "budgetrun.runner.worker", str(theirs.fileno()), str(os.getpid())]
        with deferred(), theirs:
            # Workers inherit the mask: what a terminal sends to all its processes concerns this one alone.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
            try:
                self._workers[ours] = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    env=os.environ | _ONE_THREAD | {"PYTHONPATH": path},
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return ours

    def _end(self, workers: list[Connection]) -> None:
        for connection in workers:
            connection.close()
            self._workers[connection].kill()
        for connection in workers:
            # One that the system cannot end, as while a network drive is away, ends later by itself.
            with suppress(subprocess.TimeoutExpired):
                self._workers.pop(connection).wait(_KILL_SECONDS)


class DaskBackend:
    """The workers of a dask cluster, whose scheduler has an address."""

    def __init__(self, client: Any, address: str | None) -> None:
        self._client, self._address = client, address

    def outcomes(self, jobs: Sequence[Job], settings: Settings, partly: Partly = _ignored) -> Iterator[Outcome]:
        """Yield the outcomes of jobs as they finish; nothing is known of those that are running.

        Raises
        ------
        InputError
            The scheduler has stopped, or has had no workers for too long.
        """
        from distributed import KilledWorker, as_completed

        completed: Callable[[list[Any]], Any] = as_completed
        submitted = {self._client.submit(run_job, job, settings, pure=False): job for job in jobs}
        finished = completed(list(submitted))
        try:
            while not finished.is_empty():
                self._await(finished)
                future = next(finished)
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

    def _await(self, finished: Any) -> None:
        """Wait until a job has finished; say so if there are no workers, and give up after some time."""
        worked, told = time.monotonic(), False
        while not finished.has_ready():
            time.sleep(0.02)
            now = time.monotonic()
            if now - worked > (DASK_GIVEN_UP if told else DASK_TOLD):
                if self._n_workers():
                    worked, told = now, False
                elif told:
                    raise InputError(
                        f"--scheduler {self._address}: no dask worker for {DASK_GIVEN_UP} s; finished runs are kept; "
                        f"start workers with: dask worker {self._address}"
                    )
                else:
                    told = True
                    text = f"the dask scheduler {self._address} has no workers; waiting {DASK_GIVEN_UP} s for one"
                    print(text, file=sys.stderr, flush=True)

    def _n_workers(self) -> int:
        with suppress(OSError, TimeoutError):
            return len(self._client.sync(self._client.scheduler.ncores, callback_timeout=DASK_TOLD))
        return 0


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
    address = options.scheduler or ""
    if not _DASK_ADDRESS.fullmatch(address):
        raise InputError(f"--scheduler {address}: not an address; give one such as tcp://host:8786")
    # It reports in its own way what is reported here in a sentence.
    for part in ("client", "batched"):
        logging.getLogger(f"distributed.{part}").setLevel(logging.CRITICAL)
    connect: Callable[..., Any] = Client
    try:
        client = connect(address, timeout=DASK_TIMEOUT)
    except (OSError, ValueError) as error:
        raise InputError(f"--scheduler {address}: no dask scheduler answers ({error})") from None
    except TypeError:
        raise InputError(
            f"--scheduler {address}: tls needs certificates; name them in dask's configuration, distributed.comm.tls"
        ) from None
    with client:
        yield DaskBackend(client, address)


def run_job(job: Job, settings: Settings) -> Outcome:
    """Run a job of learners or of solvers, store its rows and curves in the results folder, and return the rows."""
    if job.runs[0].spec.solver:
        from budgetrun.runner.batch import measure
    else:
        from budgetrun.runner.online import measure
    return run_and_store(job, settings, measure)
