"""The papers' plug-ins stand beside the core, which names none of them and works without them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from faults import raises
from sweeping import written

import budgetrun
from budgetrun.base.errors import InputError
from budgetrun.config import kinds

PACKAGE = Path(budgetrun.__file__).parent
# A key of manifests; a heading of pages; the text under a figure.
SPEAK_OF_SOLVERS = {"config/schema.py", "results/report/page.html.jinja", "results/report/figures/axes.py"}


def test_few_modules_of_the_core_speak_of_solvers():
    files = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.jinja")]
    core = [path for path in files if PACKAGE / "papers" not in path.parents]
    speak = [path for path in core if re.search(r"\bsolvers?\b", path.read_text(encoding="utf-8"), re.IGNORECASE)]
    assert {path.relative_to(PACKAGE).as_posix() for path in speak} == SPEAK_OF_SOLVERS


def test_a_kind_without_its_plug_in_is_one_sentence():
    raises(InputError, r"^no plug-in of this installation runs a sampler$", kinds.find, "sampler")


def test_the_core_works_without_plug_ins(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "budgetrun", ignore=shutil.ignore_patterns("papers"))
    for name in ("configs", "datasets"):
        os.symlink(PACKAGE.parent / name, tmp_path / name)
    config = written(
        tmp_path,
        {
            "name": "alone",
            "datasets": [{"name": "noisy_gaussians", "options": {"n_per_class": 60}}],
            "kernel": {"name": "gaussian", "gamma": 1.0},
            "algorithms": [{"name": "perceptron"}, {"name": "remove_oldest", "budget": [5, 10]}],
        },
    )
    table = tmp_path / "rows.csv"
    table.write_text("a,b,label\n" + "".join(f"{i % 7},{i % 5},{'xy'[i % 2]}\n" for i in range(60)))

    commands = [
        ["--help"],
        ["sweep", config, "--jobs", "1"],
        ["report", "results/alone"],
        ["run", table, "--budget", "10", "--algorithm", "perceptron", "--seeds", "1"],
        ["list", "algorithms"],
    ]
    # In one process, because importing the package takes longer than these commands; saving pictures does, too.
    program = f"""
from click.testing import CliRunner
from budgetrun.cli import main
from budgetrun.results.report import figures
figures.save = lambda figure, *paths: [path.touch() for path in paths]
for command in {[[*map(str, command)] for command in commands]}:
    done = CliRunner().invoke(main, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    print(done.stdout, end=chr(12))
"""
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "BUDGETRUN_COMPILED": "0"}
    given = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", program], **given)
    assert done.returncode == 0, done.stderr
    verbs, _, report, _, algorithms, _ = done.stdout.split("\f")
    assert "sweep" in verbs
    assert "bounds" not in verbs
    assert "verdicts" not in verbs
    assert (tmp_path / "results" / "alone" / "report.html").is_file()
    assert "Online error" in report
    assert json.loads((tmp_path / "results" / "rows" / "manifest.json").read_text())["config"]["name"] == "rows"
    assert "solver" not in algorithms
