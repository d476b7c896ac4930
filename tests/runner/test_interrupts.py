"""How a command ends: signals while it starts and works, closed outputs, threads that stay, lost workers."""

import os
import signal
import sys
import threading
import time
from concurrent.futures import Future
from types import SimpleNamespace

import psutil
import pytest
from faults import message
from sweeping import COMMAND, config, ended, printed, rows, slow_config, start, wait_for, workers

from budgetrun.base.errors import InputError
from budgetrun.runner import api, backends, interrupts
from budgetrun.runner.plan import Options

pytestmark = pytest.mark.faults

# Sends a signal to the command while it imports a module.
STRIKE = """
class Strike:
    def find_spec(name, *_):
        if name == 'click':
            [signal.raise_signal(number) for number in {numbers}]
sys.meta_path.insert(0, Strike)
main()
"""


@pytest.mark.parametrize("numbers", [(signal.SIGTERM,), (signal.SIGHUP,), (signal.SIGINT,) * 2])
def test_a_signal_during_imports(tmp_path, numbers):
    code = "import signal, sys; from budgetrun.__main__ import main\n" + STRIKE.format(numbers=[*map(int, numbers)])
    assert ended(start(tmp_path, "list", command=code)) == (130, "", "interrupted\n")


def test_a_hangup_that_nohup_ignores(tmp_path):
    code = "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); from budgetrun.__main__ import main\n"
    code += STRIKE.format(numbers=[int(signal.SIGHUP)])
    ended_with, out, err = ended(start(tmp_path, "list", command=code))
    assert (ended_with, err) == (0, "")
    assert "quickstart" in out


@pytest.mark.parametrize(
    ("method", "work"),
    [("__del__", "Odd(); time.sleep(20); print('lost')"), ("__set_name__", "type('Made', (), {'odd': Odd()})")],
)
def test_an_interrupt_that_python_loses_in_a_finalizer_or_wraps_while_a_class_is_made(tmp_path, method, work):
    odd = f"class Odd:\n    def {method}(self, *_):\n        signal.raise_signal(signal.SIGINT)\n        len('')\n"
    wait = f"def wait(*_, **__):\n    {work}\ncli.for_each = wait\nmain()\n"
    code = f"import signal, time; from budgetrun import cli; from budgetrun.__main__ import main\n{odd}{wait}"
    assert ended(start(tmp_path, "status", "results", command=code), 15) == (130, "", "interrupted\n")


def test_a_process_ends_although_a_thread_stays(tmp_path):
    stay = "import threading, time; threading.Thread(target=time.sleep, args=(100,)).start(); "
    patience = "from budgetrun import __main__; __main__.EXIT_SECONDS = 0.2; "
    assert ended(start(tmp_path, "status", "nowhere", command=stay + patience + COMMAND), 20)[0] == 2


def test_no_worker_is_left_when_the_report_is_written_and_messages_may_be_lost(tmp_path):
    """A worker that was killed then would have kept the command from ending."""
    listing = "cli._report = lambda _: print([p.cmdline() for p in psutil.Process().children(recursive=True)]); "
    command = COMMAND.replace("cli._report = print; ", f"import psutil; {listing}")
    reader, writer = os.pipe()
    os.close(reader)
    process = start(tmp_path, "sweep", config(tmp_path), "--jobs", 2, command=command, stderr=writer)
    os.close(writer)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, b"[]\n")
    assert len(rows(tmp_path / "results" / "small")) == 16


def test_outputs_that_are_closed_or_full(tmp_path):
    code = f'exec {sys.executable} -c "{COMMAND}" list'
    closed = start(tmp_path, command=f"import os; os.execvp('sh', ['sh', '-c', {code + ' >&- 2>&-'!r}])")
    assert ended(closed) == (0, "", "")
    with open("/dev/full", "w") as full:
        process = start(tmp_path, "list", stdout=full)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, b"the output could not be written (No space left on device)\n")


def test_a_worker_that_dies_costs_its_neighbours_nothing(tmp_path, run_sweep, monkeypatch):
    real, started = backends.subprocess.Popen, []

    def dying_first(command, **options):
        started.extend(word for word in command if "budgetrun.runner.job" in word)
        return real(["false"] if len(started) == 1 else command, **options)

    monkeypatch.setattr(backends.subprocess, "Popen", dying_first)
    code, err = run_sweep(config(tmp_path), jobs=2)
    died = "a worker process died (killed, or out of memory); the jobs that were running are retried"
    assert (code, err.splitlines()[1:]) == (0, [died, "16/16 runs, _ s"])
    assert len(rows(tmp_path / "results" / "small")) == 16


def test_an_interrupt_while_a_worker_is_stopped(tmp_path):
    process = start(tmp_path, "sweep", slow_config(tmp_path), "--jobs", 2)
    begun = wait_for(lambda: workers(process))
    begun[0].send_signal(signal.SIGSTOP)
    process.send_signal(signal.SIGHUP)
    _, err = printed(130, ended(process, 60))
    assert err.splitlines()[1:] == [
        "interrupted; every finished run is kept in results/slow; to run the remaining ones: "
        f"budgetrun sweep {tmp_path}/slow.yaml"
    ]
    assert not psutil.wait_procs(begun, timeout=20)[1]


# -- dask --------------------------------------------------------------------------------------------------------------

STOPPING = """
import subprocess, sys, threading
from budgetrun.runner import cluster
from budgetrun.__main__ import main

scheduler = subprocess.Popen(
    [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1"],
    stderr=subprocess.PIPE, text=True,
)
address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
cluster.DASK_TIMEOUT = "1s"
real, cluster.DaskBackend.start_call = cluster.DaskBackend.start_call, lambda self: (scheduler.kill(), real(self))
sys.argv += ["--backend", "dask", "--scheduler", address]
try:
    main()
finally:
    scheduler.kill()
"""


def test_a_dask_scheduler_that_stops(tmp_path):
    pytest.importorskip("distributed", reason="dask is not installed")
    _, err = printed(2, ended(start(tmp_path, "sweep", config(tmp_path), command=STOPPING)))
    address = err.splitlines()[-1].split()[1].rstrip(":")
    assert err.splitlines()[1:] == [
        f"--scheduler {address}: the dask scheduler has stopped; finished runs are kept; start it again, "
        "then repeat the command"
    ]


def test_a_dask_cluster_without_workers(monkeypatch, capsys):
    cluster = pytest.importorskip("budgetrun.runner.cluster", reason="dask is not installed")
    monkeypatch.setattr(cluster, "DASK_TOLD", 0.01)
    monkeypatch.setattr(cluster, "DASK_GIVEN_UP", 0.1)
    backend, job = cluster.DaskBackend.__new__(cluster.DaskBackend), Future()
    backend.client = SimpleNamespace(scheduler=SimpleNamespace(ncores=None), sync=lambda *_, **__: {})
    backend._address, backend._submitted = "tcp://h:1", {job: None}
    backend._watch(threading.Event())
    assert str(job.exception()) == (
        "--scheduler tcp://h:1: no dask worker for 0.1 s; finished runs are kept; start workers with: "
        "dask worker tcp://h:1"
    )
    assert capsys.readouterr().err == "the dask scheduler tcp://h:1 has no workers; waiting 0.1 s for one\n"


NO_ADDRESS = "not an address; give one such as tcp://host:8786"
NO_CERTIFICATES = "tls needs certificates; name them in dask's configuration, distributed.comm.tls"


@pytest.mark.parametrize(
    ("address", "sentence"),
    [("nowhere", NO_ADDRESS), ("http://host:80", NO_ADDRESS), ("tls://127.0.0.1:9", NO_CERTIFICATES)],
)
def test_an_address_that_is_none(tmp_path, address, sentence):
    pytest.importorskip("distributed", reason="dask is not installed")
    options = Options(results=tmp_path, backend="dask", scheduler=address)
    with pytest.raises(InputError) as raised, backends.opened(options, 1):
        pass
    assert str(raised.value) == f"--scheduler {address}: {sentence}"


# From Python 3.12 on, a fork beside threads is warned of.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_signal_ends_a_forked_process_at_once():
    with interrupts.raising():
        process = os.fork()
        if process == 0:
            os._exit(0 if all(signal.getsignal(number) == signal.SIG_DFL for number in interrupts.SIGNALS) else 1)
        assert os.waitpid(process, 0)[1] == 0
        assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL


def test_an_interrupt_that_was_lost_is_raised_again(monkeypatch):
    sent = []
    monkeypatch.setattr(
        threading, "Timer", lambda seconds, function, given: SimpleNamespace(start=lambda: sent.append(given))
    )
    with monkeypatch.context() as patch:
        patch.setattr(interrupts, "_raised", time.monotonic())
        assert interrupts.raised()
        interrupts.resend(SimpleNamespace(exc_type=KeyboardInterrupt))
        assert not interrupts.raised()
    assert sent == [[os.getpid(), signal.SIGTERM]]


def test_sweeps_from_python_are_interrupted(tmp_path, monkeypatch):
    monkeypatch.setattr(api, "run_sweep", lambda *_: 130)
    message(api.sweep, config(tmp_path), results=tmp_path, kind=KeyboardInterrupt)
