"""The website builds without a warning."""

import os
import subprocess
import sys

import pytest
from sweeping import TOP


def test_the_site_builds(tmp_path):
    for package in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(package)
    command = [sys.executable, "-m", "sphinx", "-qW", "--keep-going", "-d", tmp_path / "doctrees"]
    environment = {**os.environ, "PYTHONPATH": str(TOP)}
    command += [TOP / "docs", tmp_path / "site"]
    built = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (built.returncode, built.stderr) == (0, "")
    assert (tmp_path / "site" / "reference" / "Forgetron.html").is_file()
    assert (tmp_path / "site" / "results" / "index.html").is_file()
