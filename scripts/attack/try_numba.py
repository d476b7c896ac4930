"""Try the oldest and the newest numba that pyproject.toml allows, for each Python that is installed.

Usage: python scripts/attack/try_numba.py [PYTHON...]

For each pair there is an environment of its own, in a temporary folder, with budgetrun and what pip finds for that
numba; in it, a compiled learner of each form has to have the bits of the interpreter. Without arguments: this Python,
and those of pyenv that the package supports.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

TOP = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
ALLOWED = next(one for one in map(Requirement, PROJECT["dependencies"]) if one.name == "numba").specifier
TESTS = ("tests/engine/test_compiling.py", "tests/engine/test_single_rounds.py")


def pythons() -> dict[str, str]:
    """Return the interpreters to try, by version, one for each minor version."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("given", nargs="*", metavar="PYTHON")
    given = parser.parse_args().given
    if not given:
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
        given = [sys.executable, *map(str, sorted(pyenv.glob("versions/*/bin/python")))]
    found: dict[str, str] = {}
    for python in given:
        version = run([python, "-c", "import platform; print(platform.python_version())"]).stdout.strip()
        if Version(version) in SpecifierSet(PROJECT["requires-python"]):
            found.setdefault(".".join(version.split(".")[:2]), python)
    return found


def found(pip: list[str], newest: bool) -> str | None:
    """Return the oldest or newest version of numba that is allowed and has a wheel for pip's Python."""
    listed = re.search(r"Available versions: (.*)", run([*pip, "index", "versions", "numba"]).stdout)
    known = sorted(listed[1].split(", ") if listed else [], key=Version, reverse=newest)
    trial = [*pip, "install", "--dry-run", "--no-deps", "--only-binary", ":all:"]
    return next((v for v in known if v in ALLOWED and run([*trial, f"numba=={v}"]).returncode == 0), None)


def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def tried(python: str, folder: Path, newest: bool) -> tuple[str, str]:
    """Return the version of numba, and what pytest or pip said last, or why there is none."""
    run([python, "-m", "venv", str(folder)], check=True)
    own = str(folder / "bin" / "python")
    pip = [own, "-m", "pip", "--disable-pip-version-check"]
    if (version := found(pip, newest)) is None:
        return "-", "failed: no version of numba for this Python"
    installed = run([*pip, "install", "--quiet", f"numba=={version}", "pytest", str(TOP)])
    if installed.returncode:
        return version, f"failed: {installed.stdout.strip().splitlines()[-1]}"
    env = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "OPENBLAS_NUM_THREADS": "1"}
    env.pop("PYTHONPATH", None)
    # Old numpy warns of what new libraries do.
    command = [own, "-P", "-m", "pytest", "-p", "no:cacheprovider", "-m", "compiled", "-W", "default", *TESTS]
    done = run(command, cwd=TOP, env=env)
    numpy = run([own, "-c", "import numpy; print(numpy.__version__)"]).stdout.strip()
    said = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "nothing"
    if done.returncode:
        print(done.stdout[-4000:], file=sys.stderr)
    return version, f"{'failed' if done.returncode else 'passed'} with numpy {numpy}: {said}"


def main() -> None:
    """Try each pair, print a line for it, and fail if one did."""
    failed = False
    for version, python in pythons().items():
        for newest in (False, True):
            folder = Path(tempfile.mkdtemp(prefix="numba-"))
            try:
                numba, outcome = tried(python, folder, newest)
            finally:
                shutil.rmtree(folder)
            print(f"Python {version}, numba {numba}: {outcome}", flush=True)
            failed |= outcome.startswith("failed")
    sys.exit(failed)


if __name__ == "__main__":
    main()
