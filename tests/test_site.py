"""The website builds without a warning."""

import os
import subprocess
import sys

import pytest
from sweeping import TOP


def test_the_site_builds(tmp_path):
    for package in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(package)
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-qW",
            "--keep-going",
            "-d",
            tmp_path / "doctrees",
            TOP / "docs",
            tmp_path / "site",
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TOP)},
    )
    assert (built.returncode, built.stderr) == (0, "")
    assert (tmp_path / "site" / "reference" / "Forgetron.html").is_file()
    assert (tmp_path / "site" / "results" / "index.html").is_file()
