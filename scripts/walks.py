"""Count the files of the package, and the moves between them, on four walks through it that a reader takes.

Usage: python scripts/walks.py [--files]

Each walk is a part of what one command does, in a fresh interpreter, interpreted and without worker processes:

* config to eviction: `budgetrun sweep` of Remove-Oldest with a budget of 3 on generated data, from the command's first
  call to the first call of a function named ``evict``;
* row to update: `budgetrun run` of the Perceptron on a CSV file, from the command's first call to the first call of the
  learner's ``update``;
* outcome to cell: the same sweep, from the moment at which it has written the first file of a finished job, to
  ``curves/`` or ``parts/``, to the moment at which the first Markdown table is in its place;
* runs.csv to cell: `budgetrun report` of these results, from the command's first call to the same moment.

Counted are calls of Python functions that files of the package define, and each time that a generator goes on; a file
is entered when one of its functions is called. Two successive calls of a thread in different files are a move. Bodies
of modules and of classes do not count, nor does anything else that runs while something is imported: these are frames
below one of importlib, or below such a body. Nothing but names of commands, of folders of results, and of ``evict``,
``update`` and ``Perceptron`` is assumed of the package, so that versions of it can be compared.
"""

import argparse
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


def _evicts(frame: FrameType) -> bool:
    return frame.f_code.co_name == "evict"


def _updates(frame: FrameType) -> bool:
    return frame.f_code.co_name == "update" and type(frame.f_locals.get("self")).__name__ == "Perceptron"


def _is_stored(path: Path) -> bool:
    return path.parent.name in ("curves", "parts")


def _is_table(path: Path) -> bool:
    return path.suffix == ".md"


@dataclass(frozen=True)
class Walk:
    """A command, the commands before it, and where the walk starts and stops: at a call, or when a file is in place."""

    arguments: tuple[str, ...]
    before: tuple[str, ...] = ()
    starts: Callable[[Path], bool] | None = None
    stops_at_call: Callable[[FrameType], bool] = lambda frame: False
    stops_at_file: Callable[[Path], bool] = lambda path: False


WALKS = {
    "config to eviction": Walk(SWEEP, stops_at_call=_evicts),
    "row to update": Walk(("run", "rows.csv", "--algorithm", "perceptron"), stops_at_call=_updates),
    "outcome to cell": Walk(SWEEP, starts=_is_stored, stops_at_file=_is_table),
    "runs.csv to cell": Walk(("report", "results/walk"), before=SWEEP, stops_at_file=_is_table),
}


@dataclass
class Tracer:
    """Records the files of the package whose functions are called during a walk, thread by thread."""

    walk: Walk
    package: str
    files: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    started: bool = False
    stopped: bool = False

    def begin(self) -> None:
        """Record calls from now on, or from the file on at which the walk starts."""
        self.started = self.walk.starts is None
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
        # Every file of results is written under another name first.
        if event == "os.rename" and not self.stopped:
            path = Path(os.fsdecode(arguments[1]))
            self.started = self.started or (self.walk.starts is not None and self.walk.starts(path))
            self.stopped = self.started and self.walk.stops_at_file(path)

    def _is_importing(self, frame: FrameType | None) -> bool:
        while frame is not None:
            code = frame.f_code
            is_body = not code.co_flags & inspect.CO_OPTIMIZED
            if "importlib" in code.co_filename or (is_body and code.co_filename.startswith(self.package)):
                return True
            frame = frame.f_back
        return False


def trace(name: str, folder: Path) -> None:
    """Take a walk in this process, which then ends, and write what was called to ``calls.json`` in ``folder``."""
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
    """Take a walk in a fresh interpreter; return for each thread the files of its calls, in their order."""
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
        raise SystemExit(f"{name}: the walk has not come to its end\n{done.stderr}")
    return found


def main() -> None:
    """Print the counts as a Markdown table, and with --files the files in the order in which they are first entered."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="list the files, in the order of their first calls")
    parser.add_argument("--trace", choices=WALKS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.trace:
        trace(given.trace, given.folder)
    walks = {name: take(name) for name in WALKS}
    print("| walk               | files | moves |  calls |")
    print("|--------------------|------:|------:|-------:|")
    for name, threads in walks.items():
        moves = sum(one != other for files in threads for one, other in itertools.pairwise(files))
        n_files, calls = len(set().union(*threads)), sum(map(len, threads))
        print(f"| {name:<18} | {n_files:>5,} | {moves:>5,} | {calls:>6,} |")
    if given.files:
        for name, threads in walks.items():
            print(f"\n{name}\n  " + "\n  ".join(dict.fromkeys(itertools.chain(*threads))))


if __name__ == "__main__":
    main()
