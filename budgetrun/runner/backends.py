"""Backends of joblib that run jobs; `local` is ours."""

import importlib
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection, Pipe
from typing import Any

from joblib import Parallel, delayed, register_parallel_backend
from joblib.parallel import BACKENDS, BatchedCalls, LokyBackend, ParallelBackendBase, SequentialBackend

from budgetrun.base.errors import InputError
from budgetrun.runner import job as job_module
from budgetrun.runner.job import Outcome, Settings, attempt
from budgetrun.runner.plan import Job, Options

# Backends that joblib does not know before a function of another package has been called.
_REGISTERED_BY = {"ray": ("ray.util.joblib", "register_ray"), "spark": ("joblibspark", "register_spark")}
_PACKAGES = {"dask": "'budgetrun[dask]'", "ray": "ray", "spark": "joblibspark"}
# The jobs per worker that are run together by backends that return a list.
_JOBS_PER_WORKER = 4
# The seconds that a killed worker has to disappear.
_KILL_SECONDS = 5
# One thread per worker, for the libraries that read this when they are imported.
_ONE_THREAD = dict.fromkeys(ParallelBackendBase.MAX_NUM_THREADS_VARS, "1")

# Callback with the shares of the running jobs that have been done, by the ids of the jobs.
Partly = Callable[[Mapping[str, float]], None]
# Functions with their arguments, as joblib hands them to its backends.
Calls = list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]


def _ignored(*told: object) -> None:
    pass


class LocalBackend(ParallelBackendBase):  # type: ignore[misc]
    """Worker processes on this machine; with ``keep``, they serve one call of joblib after another, until `stop`.

    Each worker has a connection of its own, which the death of either side closes, and a thread of this process that
    waits for it. A call whose worker died returns a `BrokenProcessPool`, and the others go on. Workers share no queue,
    lock or named semaphore that a killed process could leave behind.
    """

    supports_retrieve_callback = True

    def __init__(self, keep: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self._keep = keep
        # Callback with the calls of a worker and the share of them that has been done.
        self.told: Callable[[Calls, float], None] = _ignored
        self._workers: dict[Connection, subprocess.Popen[bytes]] = {}
        self._idle: list[Connection] = []
        self._stopped = False
        self._lock = threading.Lock()

    def effective_n_jobs(self, n_jobs: int) -> int:
        return n_jobs

    def configure(self, n_jobs: int = 1, parallel: Parallel | None = None, **_: Any) -> int:
        self.parallel, self._stopped = parallel, False
        self._threads = ThreadPoolExecutor(n_jobs)
        # joblib makes the calls of a single worker in this process.
        return max(2, n_jobs)

    def submit(self, func: BatchedCalls, callback: Callable[[Future[Any]], object] | None = None) -> Future[Any]:
        """Queue calls for the next idle worker."""
        future = self._threads.submit(self._run, func.items)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Future[list[Any]]) -> list[Any]:
        return out.result()

    def terminate(self) -> None:
        """End the threads, which have nothing left to do, and the workers unless they are kept."""
        self._threads.shutdown(wait=False)
        if not self._keep:
            self.stop()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Kill all workers and forget what is queued."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.stop()
        if ensure_ready and self.parallel is not None:
            self.configure(self.parallel.n_jobs, self.parallel)

    def stop(self) -> None:
        """Kill all workers."""
        with self._lock:
            self._stopped = True
            processes = list(self._workers.values())
            for process in processes:
                process.kill()
            # Threads close the others, which they read from.
            for connection in self._idle:
                del self._workers[connection]
                connection.close()
            self._idle.clear()
        for process in processes:
            _await_end(process)

    def _run(self, calls: Calls) -> list[Any]:
        with self._lock:
            worker = self._idle.pop() if self._idle else self._start()
        try:
            worker.send(calls)
            while isinstance(received := worker.recv(), float):
                self.told(calls, received)
        except (EOFError, OSError):
            with self._lock:
                process = self._workers.pop(worker)
                process.kill()
            worker.close()
            _await_end(process)
            return [BrokenProcessPool("a worker process died")] * len(calls)
        with self._lock:
            self._idle.append(worker)
        if isinstance(received, Exception):
            raise received
        return received  # type: ignore[no-any-return]

    def _start(self) -> Connection:
        if self._stopped:
            raise BrokenProcessPool("the workers have been stopped")
        ours, theirs = Pipe()
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        code = (
            f"from budgetrun.runner.job import Connection, serve; serve(Connection({theirs.fileno()}), {os.getpid()})"
        )
        with theirs:
            self._workers[ours] = subprocess.Popen(
                [sys.executable, "-P", "-c", code],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=os.environ | _ONE_THREAD | {"PYTHONPATH": path},
            )
        return ours


def _await_end(process: subprocess.Popen[bytes]) -> None:
    # A process that the system cannot end now, for example while a network drive is gone, ends later by itself.
    with suppress(subprocess.TimeoutExpired):
        process.wait(_KILL_SECONDS)


class _LokyBackend(LokyBackend):  # type: ignore[misc]
    """joblib's own workers, which are kept until `stop`."""

    _executor: Any = None

    def configure(self, *args: Any, **options: Any) -> int:
        n_workers: int = super().configure(*args, **options)
        self._executor = self._workers
        return n_workers

    def stop(self) -> None:
        """Kill all workers."""
        if self._executor is not None:
            self._executor.shutdown(kill_workers=True)


register_parallel_backend("local", LocalBackend)


class Workers:
    """The workers of a sweep behind a backend of joblib, all on this machine if they are ``here``."""

    def __init__(self, backend: Any, n_workers: int, here: bool) -> None:
        self._backend, self._n_workers, self._here = backend, n_workers, here

    def outcomes(self, jobs: Sequence[Job], settings: Settings, partly: Partly = _ignored) -> Generator[Outcome]:
        """Yield the outcomes of jobs as they finish; ``partly`` receives the shares of those that are running, by id.

        Close the iterator: what is still running is then ended.

        Raises BrokenProcessPool: workers died, and the jobs that they were running have no outcome. With `local`, all
        others have been yielded.
        Raises InputError: the scheduler of a cluster has stopped, or has had no workers for too long.
        """
        shares: dict[str, float] = {}

        def told(job: Job, share: float) -> None:
            shares[job.job_id] = share
            partly(dict(shares))

        def calls() -> Iterator[Any]:
            for job in jobs:
                # A job of this process begins when it is asked for.
                job_module.tell = partial(told, job)
                yield delayed(attempt)(job, settings)

        if isinstance(self._backend, LocalBackend):
            self._backend.told = lambda calls, share: told(calls[0][1][0], share)
        died: BrokenProcessPool | None = None
        with closing(self._results(calls(), settings)) as results:
            for result in results:
                if isinstance(result, BrokenProcessPool):
                    died = result
                elif isinstance(result, Exception):
                    raise result
                else:
                    shares.pop(result.job_id, None)
                    # A worker may have stored its rows in a folder of the same name on another machine.
                    yield result if self._here else replace(result, stored=False)
        if died:
            raise died

    def stop(self) -> None:
        """Kill all workers of this machine."""
        getattr(self._backend, "stop", _ignored)()

    def _results(self, calls: Iterator[Any], settings: Settings) -> Generator[Any]:
        # A run that never returns can be ended only in a process of its own.
        in_process = isinstance(self._backend, LocalBackend) and settings.timeout_seconds is None
        backend = SequentialBackend() if in_process and self._n_workers == 1 else self._backend
        parallel = partial(
            Parallel, self._n_workers, backend=backend, pre_dispatch="all", batch_size=1, max_nbytes=None
        )
        if isinstance(backend, SequentialBackend) or backend.supports_return_generator:
            # Workers and threads inherit the mask: what a terminal sends to all its processes concerns this thread.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
            try:
                results = parallel(return_as="generator_unordered")(calls)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            with closing(results):
                yield from results
        else:
            while together := list(islice(calls, _JOBS_PER_WORKER * self._n_workers)):
                yield from parallel()(together)


@contextmanager
def opened(options: Options, workers: int) -> Iterator[Workers]:
    """Open the backend that the options ask for, with a number of workers.

    Raises InputError: there is no such backend, its package is not installed, or no dask scheduler answers.
    """
    name = options.backend
    with warnings.catch_warnings():
        # joblib warns of calls that are given up, or made again.
        warnings.filterwarnings("ignore", module="joblib")
        if name == "dask":
            with _installed(name):
                from budgetrun.runner.cluster import connected
            with connected(options.scheduler or "") as backend:
                yield Workers(backend, workers, here=False)
        elif name in ("local", "loky"):
            kept = LocalBackend(keep=True) if name == "local" else _LokyBackend(inner_max_num_threads=1)
            yield Workers(kept, workers, here=True)
        else:
            factory = _registered(name)
            one_thread = {"inner_max_num_threads": 1} if factory.supports_inner_max_num_threads else {}
            yield Workers(factory(**one_thread), workers, here=False)


def _registered(name: str) -> Any:
    if name in _REGISTERED_BY:
        module, function = _REGISTERED_BY[name]
        with _installed(name):
            getattr(importlib.import_module(module), function)()
    # Runs need processes: they limit threads and memory, and ignore signals, for the process that they are in.
    known = {key: factory for key, factory in BACKENDS.items() if not getattr(factory, "uses_threads", False)}
    if name not in known:
        names = ", ".join(sorted({*known, *_PACKAGES}))
        raise InputError(f"--backend {name}: joblib has no such backend of processes; there are {names}")
    return known[name]


@contextmanager
def _installed(name: str) -> Iterator[None]:
    try:
        yield
    except ImportError:
        raise InputError(f"--backend {name} needs {name}; install it with: pip install {_PACKAGES[name]}") from None
