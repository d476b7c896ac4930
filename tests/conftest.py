"""What all tests need."""

import contextlib
import gc
import io
import os
import shutil
import signal
import zlib

import pytest
from cases import EXHAUSTIVE
from sweeping import config, swept_folder

import budgetrun
from budgetrun.base.files import source_digest
from budgetrun.data import dataset, files
from budgetrun.kernels import compiling
from budgetrun.state import load_state, save_state

# A shell without job control starts what runs in its background deaf to interrupts, and so is all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# nohup makes them deaf to hangups.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


# Waiting for the disk takes long, and what it does cannot be seen here: no test cuts the power.
os.fsync = lambda descriptor: None


# CI runs one in so many tests of compiled code and of faults. Which ones changes with the sources.
SHARE = int(os.environ.get("BUDGETRUN_SHARE", "1"))


def pytest_collection_modifyitems(config, items):
    """Leave out what `make test-compiled`, `-faults` and `-results` run, unless tests are exhaustive.

    Tests that break things run if their files are named.
    """
    asked = config.getoption("markexpr")
    elsewhere = ["compiled", "committed"]
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        elsewhere.append("faults")

    def has_only(item, names, wanted=""):
        marks = [mark for name in names if (mark := item.get_closest_marker(name))]
        return marks and not any(mark.name in wanted or mark.kwargs.get("always") for mark in marks)

    left_out = {item for item in items if not EXHAUSTIVE and has_only(item, elsewhere, asked)}
    # Cases of one test take about the same time, so that each share has some of them.
    slow = [item for item in items if has_only(item, ("compiled", "faults"))]
    left_out |= {*slow} - {*slow[zlib.crc32(source_digest().encode()) % SHARE :: SHARE]}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish():
    """Do not search the thousands of collected tests for garbage again and again."""
    gc.freeze()


@pytest.fixture(autouse=True)
def compiled_before(monkeypatch):
    """What a sweep says does not depend on whether its learners were compiled before."""
    monkeypatch.setattr(compiling, "begins", lambda: False)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in a folder of the test's own, and return it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    """Neither files nor a network."""
    monkeypatch.setattr(files, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(files, "_download", lambda card, file: (None, "the download failed", True))
    monkeypatch.delenv(files.ENVIRONMENT, raising=False)


@pytest.fixture(scope="session")
def small_once(tmp_path_factory):
    """A finished sweep of the config `small`: the folder that holds the config and its results."""
    folder = tmp_path_factory.mktemp("small")
    with contextlib.redirect_stderr(io.StringIO()):
        swept_folder(config(folder), folder / "results", jobs=1)
    return folder


@pytest.fixture
def small(small_once, tmp_path):
    """A copy of that sweep: its config and its results folder."""
    shutil.copytree(small_once, tmp_path, dirs_exist_ok=True)
    return tmp_path / "small.yaml", tmp_path / "results" / "small"


@pytest.fixture
def unreported(monkeypatch):
    """Commands write no report after a sweep."""
    monkeypatch.setattr("budgetrun.cli._report", lambda folder: None)


@pytest.fixture
def drawn():
    """A test that asks for it gets real pictures."""


@pytest.fixture
def no_pictures(request, monkeypatch):
    """Saving pictures takes most of the time of a report; most tests look at what is around them."""
    if "drawn" not in request.fixturenames:
        for home in ("results.report.figures", "papers.bounds.figure", "runner.live.by"):
            monkeypatch.setattr(f"budgetrun.{home}.save", lambda figure, *paths: [path.touch() for path in paths])


@pytest.fixture
def reloaded(tmp_path):
    """Save a model, or what has no method for it, and return what its file holds."""

    def through_a_file(thing, load=None):
        if not hasattr(thing, "save"):
            save_state(tmp_path / "reloaded", thing)
            return load_state(tmp_path / "reloaded")[0]
        thing.save(tmp_path / "reloaded")
        return (load or budgetrun.load)(tmp_path / "reloaded")

    return through_a_file


# A test may replace it.
on = compiling.on
# What the user wants of compiled code.
GIVEN = os.environ.get(compiling.ENVIRONMENT, "1")


def switch_compiling(wanted):
    # The processes that a test starts inherit it.
    os.environ[compiling.ENVIRONMENT] = wanted
    on.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def interpreted():
    """Compiling a learner takes longer than most tests; those of tests/engine show that it changes no bit."""
    switch_compiling("0")


@pytest.fixture(scope="module")
def read_once():
    """Keep all data in memory: about 400 MB."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset, "KEPT_BYTES", 1e9)
        yield


@pytest.fixture(autouse=True)
def compiled_if_marked(request):
    """Only tests that are marked for it compile code."""
    marked = request.node.get_closest_marker("compiled") is not None
    if marked:
        switch_compiling(GIVEN)
        if not compiling.on():
            pytest.skip(f"nothing is compiled: numba is missing, or {compiling.ENVIRONMENT} is 0")
    yield
    if marked:
        switch_compiling("0")
