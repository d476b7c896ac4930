"""Small sweeps for tests: configs on generated data, and the command in this process or in one of its own."""

import contextlib
import csv
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml

from budgetrun import cli
from budgetrun import config as config_module
from budgetrun.runner.plan import Options, make_plan
from budgetrun.runner.sweep import sweep

TOP = Path(cli.__file__).resolve().parent.parent
# The `budgetrun` command without reports: most tests are about runs only.
COMMAND = (
    "import sys; sys.argv[0] = 'budgetrun'; from budgetrun.__main__ import main; "
    "from budgetrun import cli; cli._report = print; main()"
)
VARYING = {"seconds", "peak_memory_mb"}


def config(folder, name="small", **changes):
    """Write a config of 2 x 8 runs that takes a fraction of a second, and return its file."""
    given = {
        "name": name,
        "datasets": [{"name": "noisy_gaussians", "noise": 0.1, "options": {"n_per_class": 150}}],
        "kernel": {"name": "gaussian", "gamma": 0.5},
        "repetitions": 2,
        "algorithms": [
            {"name": "perceptron"},
            {"name": "remove_oldest", "budget": [5, 20]},
            {"name": "forgetron", "budget": {"of": "perceptron", "fractions": [0.25, 1]}},
            {"name": "rbp", "budget": 10, "seeds": 3},
        ],
    }
    return written(folder, given | changes)


def slow_config(folder, name="slow"):
    """Write a config of six jobs that take about a quarter of a second each, and return its file."""
    data = [{"name": "noisy_gaussians", "noise": 0.2, "options": {"n_per_class": 2500}}]
    algorithms = [{"name": "cks", "budget": 400}, {"name": "remove_oldest", "budget": 30}]
    return config(folder, name, datasets=data, repetitions=6, algorithms=algorithms)


def written(folder, given):
    path = Path(folder) / f"{given['name']}.yaml"
    path.write_text(yaml.safe_dump(given))
    return path


def swept_folder(path, results, **options):
    """Sweep a config in this process without a failed run, and return its results folder."""
    loaded, options = config_module.load(path), Options(results=Path(results), **options)
    assert sweep(loaded, options) == 0
    return options.folder(loaded)


def labels_by_id(path):
    """Return the label of each planned run of a config by its run id."""
    return {run.run_id: run.spec.label for run in make_plan(config_module.load(path)).runs}


def changed_labels(path, before):
    """Return the labels whose run ids are others than those before; all ids of a label change, or none does."""
    gone = before.keys() - labels_by_id(path).keys()
    labels = {before[run_id] for run_id in gone}
    assert len(gone) == sum(label in labels for label in before.values())
    return labels


def run(capsys, *arguments):
    """Run the command in this process; return its exit code, stdout and stderr."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        cli.main([str(argument) for argument in arguments], prog_name="budgetrun")
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def printed(code, ended):
    """Check the exit code of a command that has ended; return what it printed."""
    found, *texts = ended
    assert found == code, texts[-1]
    return texts


def untimed(text):
    """Return a text with its seconds replaced by ``_``."""
    return re.sub(r"\d+ s\b", "_ s", text)


def copied_package(folder):
    """Copy the package, to be edited, and return its folder and the command that runs it."""
    copy = folder / "copy" / "budgetrun"
    shutil.copytree(TOP / "budgetrun", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("configs", "datasets"):
        (copy.parent / name).symlink_to(TOP / name)
    # Compiling a copy takes longer than its runs.
    before = f"import os, sys; os.environ['BUDGETRUN_COMPILED'] = '0'; sys.path.insert(0, {str(copy.parent)!r})"
    return copy, f"{before}; {COMMAND}"


_started = []


def start(folder, *arguments, command=COMMAND, **options):
    """Start the command in a process and process group of its own."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    # Without coverage: tracing makes a command several times slower, and most of these are killed anyway.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_PROCESS")}
    process = subprocess.Popen(
        [sys.executable, "-c", command, *map(str, arguments)],
        cwd=folder,
        env=environment | {"PYTHONPATH": os.pathsep.join([str(TOP), os.environ.get("PYTHONPATH", "")])},
        start_new_session=True,
        **options,
    )
    _started.append(process)
    return process


def kill_started():
    """Kill what `start` started and a failed test left behind."""
    while _started:
        process = _started.pop()
        _kill(process)
        if process.stdout is not None and not process.stdout.closed:
            process.communicate()


def ended(process, seconds=120):
    """Wait for a started command; return its exit code, stdout and stderr."""
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        _kill(process)
    return process.returncode, out.decode(), err.decode()


def _kill(process):
    """Kill a process and all that it started: a worker that is stopped would keep its pipes open for ever."""
    if process.poll() is None:
        for one in [*psutil.Process(process.pid).children(recursive=True), process]:
            one.kill()


def wait_for(what, seconds=120):
    """Wait until ``what()`` is true, and return it."""
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until, "it never came"
        time.sleep(0.01)
    return found


def workers(process, words="budgetrun.runner.job"):
    return [child for child in psutil.Process(process.pid).children(recursive=True) if _is_worker(child, words)]


def _is_worker(process, words):
    try:
        return words in " ".join(process.cmdline())
    # The process has just ended.
    except psutil.Error:
        return False


def parts(folder):
    """Return the time at which each part of a results folder was written, by name."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "parts").glob("*.jsonl")}


def rows(folder, name="runs.csv"):
    """Return the rows of a results folder's runs.csv, or of another of its tables."""
    path = Path(folder, name)
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def csv_text(rows, columns=None):
    """Return the text of a table of these columns, or of those of the first row."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns or list(rows[0]), restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@contextlib.contextmanager
def edited(folder):
    """Give the manifest of a results folder, to be changed."""
    path = Path(folder, "manifest.json")
    manifest = json.loads(path.read_text(encoding="utf-8"))
    yield manifest
    path.write_text(json.dumps(manifest), encoding="utf-8")


def outcomes(folder):
    """Return the rows without the columns that differ from one sweep to the next."""
    return [{key: value for key, value in row.items() if key not in VARYING} for row in rows(folder)]
