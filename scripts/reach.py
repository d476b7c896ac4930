"""Count the files between a budget in a config and the first example that it evicts.

Usage: python scripts/reach.py [--files]

A config with one learner, Remove-Oldest with a budget of 3, is swept by the command line in this process. Counted are
calls of Python functions of the package, import statements apart, from the first call of `load` in `config` to the
first call of `evict`: the distinct files that hold the functions called, and the moves, which are two calls one after
the other whose functions are in different files. The same is counted for those functions alone whose code has a name or
attribute that contains the word budget.
"""

import argparse
import contextlib
import inspect
import itertools
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

CONFIG = """
name: reach
seed: 0
datasets: [{name: noisy_gaussians, options: {n_per_class: 50}}]
kernel: {name: gaussian, gamma: 0.5}
repetitions: 1
algorithms: [{name: remove_oldest, budget: 3}]
"""


def _imports(frame: FrameType) -> bool:
    """Tell whether a frame is that of a module or class body, or was called from one."""
    outer: FrameType | None = frame
    while outer is not None and "importlib" not in outer.f_code.co_filename:
        if not outer.f_code.co_flags & inspect.CO_OPTIMIZED and outer.f_globals.get("__name__") != "__main__":
            return True
        outer = outer.f_back
    return False


def walk(folder: Path) -> list[tuple[str, bool]]:
    """Sweep the config in ``folder``; return for every call its file, and whether its function mentions a budget."""
    import budgetrun
    from budgetrun.cli import main

    package = Path(budgetrun.__file__).parent
    calls: list[tuple[str, bool]] = []
    state = "before"

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal state
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(package)) or _imports(frame):
            return
        file = str(Path(code.co_filename).relative_to(package))
        if state == "before" and code.co_name == "load" and "config" in file:
            state = "during"
        if state == "during":
            calls.append((file, any("budget" in str(name) for name in (*code.co_names, *code.co_varnames))))
            if code.co_name == "evict":
                state = "after"

    path = folder / "reach.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(sys.stderr):
            main(["sweep", str(path), "--jobs", "1", "--results", str(folder)], standalone_mode=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert state == "after", state
    return calls


def main() -> None:
    """Print the counts, and with --files the files in the order in which they are first entered."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="list the files, in the order of their first calls")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        calls = walk(Path(folder))
    for what, found in (
        ("all functions", [file for file, _ in calls]),
        ("those that name a budget", [file for file, named in calls if named]),
    ):
        files = list(dict.fromkeys(found))
        moves = sum(one != other for one, other in itertools.pairwise(found))
        print(f"{what}: {len(files)} files, {moves} moves, {len(found)} calls")
        if given.files:
            print("  " + "\n  ".join(files))


if __name__ == "__main__":
    main()
