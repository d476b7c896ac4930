"""What the tests of sweeps need."""

import contextlib
import io
import re
import shutil

import pytest
import sweeping
from sweeping import untimed

from budgetrun import config as config_module
from budgetrun.runner.plan import Options
from budgetrun.runner.sweep import sweep


@pytest.fixture(autouse=True)
def no_process_left():
    """No process outlives the test that started it."""
    yield
    sweeping.kill_started()


@pytest.fixture(scope="session")
def small_once(tmp_path_factory):
    """A finished sweep of the config `small`: the folder that holds the config and its results."""
    folder = tmp_path_factory.mktemp("small")
    with contextlib.redirect_stderr(io.StringIO()):
        sweeping.swept_folder(sweeping.config(folder), folder / "results")
    return folder


@pytest.fixture
def small(small_once, tmp_path):
    """A copy of that sweep: its config and its results folder."""
    shutil.copytree(small_once, tmp_path, dirs_exist_ok=True)
    return tmp_path / "small.yaml", tmp_path / "results" / "small"


@pytest.fixture
def folder(tmp_path):
    """The results folder of the config `small`."""
    return tmp_path / "results" / "small"


@pytest.fixture
def run_sweep(tmp_path, capsys):
    """Return a function that sweeps a config in this process and returns its exit code and stderr."""

    def run(path, profile="full", **options):
        code = sweep(config_module.load(path, profile), Options(results=tmp_path / "results", **options))
        # A slow machine says how far it is.
        return code, re.sub(r"^\d+/\d+ runs, _ s, about .*\n", "", untimed(capsys.readouterr().err), flags=re.M)

    return run
