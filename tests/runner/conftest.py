"""What the tests of sweeps need."""

import re

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
