"""Count the files that a reader of the code passes through, and the moves between them, on four walks.

Usage: python scripts/measure/walks.py [--files] [--write]

Each walk is a part of one command, which runs in a fresh interpreter, without compiling and without worker processes:

* config to eviction: `budgetrun sweep` of Remove-Oldest with a budget of 3 on generated data, up to the first call of a
  function named ``evict``;
* row to update: `budgetrun run` of the Perceptron on a CSV file, up to the first call of the learner's ``update``;
* outcome to cell: the same sweep, from the first file of a finished job in ``curves/`` or ``parts/`` to the first
  Markdown table;
* runs.csv to cell: `budgetrun report` of these results, up to the first Markdown table.

Only calls of Python functions that are defined in the package count; resuming a generator is a call. A move is two
successive calls of a thread in different files. Whatever runs during an import does not count: the bodies of modules
and classes, and all calls from these or from importlib. The script relies only on names of commands and of result
folders, and on ``evict``, ``update`` and ``Perceptron``, so it can compare versions of the package: set PYTHONPATH.
With --write, the counts replace those of this version in tests/walks.csv and in CONTRIBUTING.md.
"""

import argparse
import csv
import inspect
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

TOP = Path(__file__).resolve().parents[2]
RECORD = TOP / "tests" / "walks.csv"
PAGE = TOP / "CONTRIBUTING.md"
CONFIG = """
name: walk
seed: 0
datasets: [{name: noisy_gaussians, options: {n_per_class: 50}}]
kernel: {name: gaussian, gamma: 0.5}
repetitions: 1
algorithms: [{name: remove_oldest, budget: 3}]
"""
ROWS = "a,b,label\n" + "".join(f"{i % 7 / 7:.2f},{i % 5 / 5:.2f},{i * i % 3 % 2}\n" for i in range(100))
SWEEP = ("sweep", "walk.yaml", "--jobs", "1")


def _updates(frame: FrameType) -> bool:
    return frame.f_code.co_name == "update" and type(frame.f_locals.get("self")).__name__ == "Perceptron"


@dataclass(frozen=True)
class Walk:
    """A command, the command before it, the folders at whose first file it starts, and where it stops."""

    arguments: tuple[str, ...]
    before: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    stops_at_call: Callable[[FrameType], bool] = lambda frame: False
    stops_at_file: str | None = None  # its suffix


WALKS = {
    "config to eviction": Walk(SWEEP, stops_at_call=lambda frame: frame.f_code.co_name == "evict"),
    "row to update": Walk(("run", "rows.csv", "--algorithm", "perceptron"), stops_at_call=_updates),
    "outcome to cell": Walk(SWEEP, starts=("curves", "parts"), stops_at_file=".md"),
    "runs.csv to cell": Walk(("report", "results/walk"), before=SWEEP, stops_at_file=".md"),
}


@dataclass
class Tracer:
    """Records the file of each call during a walk, per thread."""

    walk: Walk
    package: str
    files: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    started: bool = False
    stopped: bool = False

    def begin(self) -> None:
        """Record calls from now on, or from the moment at which the walk's first file is written."""
        self.started = not self.walk.starts
        sys.addaudithook(self._on_event)
        threading.setprofile(self._on_call)
        sys.setprofile(self._on_call)

    def _on_call(self, frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if self.stopped:
            sys.setprofile(None)
        if event != "call" or not self.started or self.stopped:
            return
        if file.startswith(self.package) and not self._is_importing(frame):
            self.files[threading.get_ident()].append(file.removeprefix(self.package))
            self.stopped = self.walk.stops_at_call(frame)

    def _on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        # Every file of results is written under a temporary name and renamed.
        if event == "os.rename" and not self.stopped:
            path = Path(os.fsdecode(arguments[1]))
            self.started = self.started or path.parent.name in self.walk.starts
            self.stopped = self.started and path.suffix == self.walk.stops_at_file

    def _is_importing(self, frame: FrameType | None) -> bool:
        while frame is not None:
            code = frame.f_code
            is_body = not code.co_flags & inspect.CO_OPTIMIZED
            if "importlib" in code.co_filename or (is_body and code.co_filename.startswith(self.package)):
                return True
            frame = frame.f_back
        return False


def trace(name: str, folder: Path) -> None:
    """Take a walk in this process and write the calls to ``calls.json`` in ``folder``; the command ends the process."""
    import budgetrun
    from budgetrun.__main__ import main as command

    walk = WALKS[name]
    os.chdir(folder)
    tracer = Tracer(walk, str(Path(budgetrun.__file__).parent) + os.sep)
    sys.argv = ["budgetrun", *walk.arguments]
    tracer.begin()
    try:
        command()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        found = list(tracer.files.values()) if tracer.stopped else []
        Path("calls.json").write_text(json.dumps(found), encoding="utf-8")


def take(name: str) -> list[list[str]]:
    """Take a walk in a fresh interpreter; return the files of the calls of each thread, in order."""
    # Compiled code hides calls.
    environment = os.environ | {"BUDGETRUN_COMPILED": "0"}
    walk = WALKS[name]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "walk.yaml").write_text(CONFIG, encoding="utf-8")
        (Path(folder) / "rows.csv").write_text(ROWS, encoding="utf-8")
        if walk.before:
            # Paths in the environment may be relative to the folder of this process.
            start = f"import budgetrun.__main__, os; os.chdir({folder!r}); budgetrun.__main__.main()"
            command = [sys.executable, "-c", start, *walk.before]
            subprocess.run(command, env=environment, check=True, capture_output=True)
        command = [sys.executable, __file__, "--trace", name, "--folder", folder]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        path = Path(folder) / "calls.json"
        found: list[list[str]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    if not found:
        raise SystemExit(f"{name}: the walk did not reach its end\n{done.stderr}")
    return found


def counts(threads: list[list[str]]) -> tuple[int, int, int]:
    """Return the numbers of files, moves and calls of a walk."""
    moves = sum(one != other for files in threads for one, other in itertools.pairwise(files))
    return len(set().union(*threads)), moves, sum(map(len, threads))


def recorded() -> dict[tuple[str, str], tuple[int, int, int]]:
    """Return the recorded counts by version and walk."""
    rows = csv.reader(RECORD.read_text(encoding="utf-8").splitlines()[1:])
    return {(version, walk): (int(files), int(moves), int(calls)) for version, walk, files, moves, calls in rows}


def table(found: dict[tuple[str, str], tuple[int, int, int]]) -> str:
    """Return the table of counts in CONTRIBUTING.md."""
    versions = list(dict.fromkeys(version for version, _ in found))
    lines = ["| walk | " + " | ".join(f"{v}: files | moves | calls" for v in versions) + " |"]
    lines.append("| --- |" + " ---: | ---: | ---: |" * len(versions))
    for name in WALKS:
        lines.append(f"| {name} | " + " | ".join(f"{n:,}" for v in versions for n in found[v, name]) + " |")
    return "\n".join(lines) + "\n"


def write(walks: dict[str, list[list[str]]]) -> None:
    """Record the counts of this version, and write the table in CONTRIBUTING.md again."""
    import budgetrun

    before = recorded()
    found = before | {(budgetrun.__version__, name): counts(threads) for name, threads in walks.items()}
    lines = ["version,walk,files,moves,calls", *(",".join(map(str, (*key, *n))) for key, n in found.items())]
    RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text.replace(table(before), table(found)), encoding="utf-8")


def main() -> None:
    """Print the counts as a table, and with --files the files of each walk in the order in which it enters them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="list the files, in the order of their first calls")
    parser.add_argument("--write", action="store_true", help="record the counts, also in CONTRIBUTING.md")
    parser.add_argument("--trace", choices=WALKS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.trace:
        trace(given.trace, given.folder)
    walks = {name: take(name) for name in WALKS}
    print("| walk               | files | moves |  calls |")
    print("|--------------------|------:|------:|-------:|")
    for name, threads in walks.items():
        n_files, moves, calls = counts(threads)
        print(f"| {name:<18} | {n_files:>5,} | {moves:>5,} | {calls:>6,} |")
    if given.write:
        write(walks)
    if given.files:
        for name, threads in walks.items():
            print(f"\n{name}\n  " + "\n  ".join(dict.fromkeys(itertools.chain(*threads))))


if __name__ == "__main__":
    main()
