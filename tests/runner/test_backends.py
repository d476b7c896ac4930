"""Backends of joblib: the same rows wherever jobs run, and what each does when workers die."""

import importlib.util
import os
import subprocess
import sys
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from types import SimpleNamespace

import pytest
from faults import message
from joblib import Parallel, delayed, register_parallel_backend
from joblib.parallel import BACKENDS
from sweeping import config, ended, outcomes, printed, rows, slow_config, start, wait_for

from budgetrun.base.errors import InputError
from budgetrun.runner import backends
from budgetrun.runner.plan import Options

pytestmark = pytest.mark.faults


def needs(package):
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"{package} is not installed")


@pytest.fixture
def cluster(tmp_path):
    """The address of a dask scheduler, and the processes of its two workers."""
    pytest.importorskip("distributed", reason="dask is not installed")
    given = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "text": True, "bufsize": 1}
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen([*command, "--no-dashboard"], stderr=subprocess.PIPE, **given) as scheduler:
        address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
        both = [subprocess.Popen([*command, "--no-dashboard"], stderr=subprocess.DEVNULL, **given) for _ in range(2)]
        try:
            yield address, both
        finally:
            for process in (*both, scheduler):
                process.kill()
                process.wait()


def same_rows(small, backend, *more):
    path, folder = small
    command = start(path.parent, "sweep", path, "--results", "again", "--jobs", 2, "--backend", backend, *more)
    printed(0, ended(command))
    assert outcomes(path.parent / "again" / "small") == outcomes(folder)


@pytest.mark.parametrize("backend", ["local", "loky", "multiprocessing", pytest.param("ray", marks=needs("ray"))])
def test_the_same_rows_from_two_workers_of_each_backend(small, backend):
    same_rows(small, backend)


def test_the_same_rows_from_dask_which_retries_the_job_of_a_killed_worker(tmp_path, small, cluster):
    address, both = cluster
    same_rows(small, "dask", "--scheduler", address)
    process = start(tmp_path, "sweep", slow_config(tmp_path), "--backend", "dask", "--scheduler", address)
    wait_for(lambda: list((tmp_path / "results" / "slow" / "parts").glob("*.running")))
    both[0].kill()
    printed(0, ended(process))
    assert {row["status"] for row in rows(tmp_path / "results" / "slow")} == {"done"}


def test_a_job_that_kills_dask_workers_fails():
    cluster = pytest.importorskip("budgetrun.runner.cluster", reason="dask is not installed")
    backend, ended_job = cluster.DaskBackend.__new__(cluster.DaskBackend), Future()
    job = SimpleNamespace(job_id="one", runs=())
    backend._submitted = {ended_job: SimpleNamespace(items=[(None, (job, None), {})])}
    ended_job.set_exception(cluster.KilledWorker("one", "a worker", 3))
    assert backend.retrieve_result_callback(ended_job) == [cluster.failure(job, [])]


def test_calls_whose_worker_dies_return_an_error_and_the_others_go_on():
    calls = [delayed(abs)(-1), delayed(os._exit)(3), *[delayed(abs)(-n) for n in range(2, 6)]]
    backend = backends.LocalBackend()
    found = Parallel(2, backend=backend, return_as="generator_unordered", batch_size=1)(calls)
    found = sorted(found, key=str)
    assert found[:5] == [1, 2, 3, 4, 5]
    assert isinstance(found[5], BrokenProcessPool)
    backend.stop()
    assert Parallel(2, backend="local")(delayed(abs)(-n) for n in range(3)) == [0, 1, 2]


def test_a_backend_that_was_registered_elsewhere(tmp_path, run_sweep):
    register_parallel_backend("mine", backends.LocalBackend)
    assert run_sweep(config(tmp_path), backend="mine", jobs=2)[0] == 0
    assert {row["status"] for row in rows(tmp_path / "results" / "small")} == {"done"}
    del BACKENDS["mine"]


def test_workers_tell_how_much_they_have_done():
    backend, told = backends.LocalBackend(), []
    backend.told = lambda calls, share: told.append((calls[0][1][0], share))
    code = "from budgetrun.runner import job; job.tell(0.5)"
    assert Parallel(2, backend=backend)([delayed(exec)(code)]) == [None]
    assert told == [(code, 0.5)]
    backend.stop()


def test_an_error_ends_the_calls_and_kills_the_workers():
    backend = backends.LocalBackend()
    began = time.monotonic()
    message(Parallel(2, backend=backend), [delayed(time.sleep)(60), delayed(abs)("text")], kind=TypeError)
    assert time.monotonic() - began < 50
    assert not backend._idle


NO_PROCESSES = "joblib has no such backend of processes; there are dask, local, loky, multiprocessing, ray, spark"


@pytest.mark.parametrize(("name", "sentence"), [
    ("threading", f"--backend threading: {NO_PROCESSES}"),
    ("ray", "--backend ray needs ray; install it with: pip install ray"),
    ("spark", "--backend spark needs spark; install it with: pip install joblibspark"),
])  # fmt: skip
def test_a_backend_that_is_not_there(tmp_path, monkeypatch, name, sentence):
    for module in ("ray", "joblibspark"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError) as raised, backends.opened(Options(results=tmp_path, backend=name), 2):
        pass
    assert str(raised.value) == sentence
