"""Compare the engine's speed with that of another checkout of this repository, in processor time.

Both checkouts run the same cases in processes of their own, in turn, and the best time of each counts. The first run of
a process is not timed; what it takes longer is shown as compilation. Only what both checkouts share is used: streams,
kernels, learners and `budgetrun.engine.Group`.

Usage: python scripts/measure/compare_speed.py OLD_CHECKOUT [--turns 3] [CASE ...]   (a CASE is the beginning of a name)
"""

import argparse
import inspect
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream
from budgetrun.engine import Group
from budgetrun.kernels import Gaussian
from budgetrun.learners import find

TOP = Path(__file__).resolve().parents[2]
TABLE = TOP / "configs" / "forgetron_table81.yaml"
Learners = Callable[[Any, Any], list[tuple[Any, int]]]
Case = tuple[float | None, dict[str, Any], float, Learners, tuple[int, ...]]


# -- a case: its goal, stream, gamma, learners with their tasks, and the block sizes of which the faster counts --------


def one(name: str, variant: str | None = None, **parameters: Any) -> Learners:
    """Return one learner on the first task."""
    return lambda X, Y: [(find(name, variant)(**parameters), 0)]


def per_task(X: Any, Y: Any) -> list[tuple[Any, int]]:
    """Return a Perceptron for each task."""
    return [(find("perceptron")(), i) for i in range(len(Y))]


def table81(X: Any, Y: Any, *, gamma: float) -> list[tuple[Any, int]]:
    """Return all learners of Table 8.1 on the first task; budgets are fractions of the Perceptron's mistakes."""
    mistakes = run_group([(find("perceptron")(), 0)], X, Y, gamma, 256)[0]
    learners = []
    for entry in yaml.safe_load(TABLE.read_text())["algorithms"]:
        known = ("name", "variant", "label", "budget", "seeds")
        given = {key: value for key, value in entry.items() if key not in known}
        make = partial(find(entry["name"], entry.get("variant")), **given)
        for fraction in entry["budget"]["fractions"] if "budget" in entry else [None]:
            budget = {} if fraction is None else {"budget": round(fraction * mistakes)}
            seeds: list[dict[str, int]] = [{"seed": k} for k in range(entry["seeds"])] if "seeds" in entry else [{}]
            learners += [(make(**budget, **seed), 0) for seed in seeds]
    return learners


SMALL = (64, 256)
SELF_TUNED = partial(one, "forgetron", "self_tuned")
USPS = {"name": "usps", "task": "equal_splits", "scale": "unit_norm"}
PART = {**USPS, "name": "mnist", "n_examples": 20000}
CASES: dict[str, Case] = {
    "Perceptron, a9a": (7, {"name": "a9a"}, 0.04, one("perceptron"), (256,)),
    "Perceptron, w8a": (7, {"name": "w8a"}, 0.04, one("perceptron"), (256,)),
    "self-tuned B=200, a9a": (5, {"name": "a9a"}, 0.04, SELF_TUNED(budget=200), SMALL),
    "self-tuned B=1000, a9a": (None, {"name": "a9a"}, 0.04, SELF_TUNED(budget=1000), SMALL),
    "self-tuned B=200, ijcnn1": (2, {"name": "ijcnn1"}, 8.0, SELF_TUNED(budget=200), SMALL),
    "self-tuned B=200, cod_rna": (2, {"name": "cod_rna", "scale": "minmax"}, 8.0, SELF_TUNED(budget=200), SMALL),
    "self-tuned B=200, usps as floats": (2.5, USPS, 0.78, SELF_TUNED(budget=200), SMALL),
    "Perceptron, ijcnn1": (1.5, {"name": "ijcnn1"}, 8.0, one("perceptron"), (256,)),
    "Perceptron, cod_rna": (1.5, {"name": "cod_rna", "scale": "minmax"}, 8.0, one("perceptron"), (256,)),
    "Perceptron, usps as floats": (1, USPS, 0.78, one("perceptron"), (256,)),
    "RBP B=200, a9a": (None, {"name": "a9a"}, 0.04, one("rbp", budget=200), SMALL),
    "greedy B=200, a9a": (None, {"name": "a9a"}, 0.04, one("forgetron", "greedy", budget=200), SMALL),
    "126 Perceptrons, usps": (5, USPS, 0.78, per_task, (256,)),
    "126 Perceptrons, usps as integers": (5, {**USPS, "scale": "none"}, 0.02 / 2000**2, per_task, (256,)),
    "Table 8.1, a usps split": (None, USPS, 0.78, partial(table81, gamma=0.78), (256,)),
    "Table 8.1, 20,000 of a mnist split": (None, PART, 0.78, partial(table81, gamma=0.78), (256,)),
    "Table 8.1, 20,000 of a mnist split as integers": (
        None,
        {**PART, "scale": "none"},
        1.3e-7,
        partial(table81, gamma=1.3e-7),
        (256,),
    ),
}
# In these, the stream is also given as a sparse one.
SPARSE_TOO = ("Perceptron, a9a", "self-tuned B=200, a9a")
AS_CSR = " (CSR)"
AS_FLOATS = "as floats"


def run_group(learners: list[tuple[Any, int]], X: Any, Y: Any, gamma: float, block: int) -> list[int]:
    """Return the mistakes of all learners."""
    group = Group(Gaussian(gamma=gamma), [learner for learner, _ in learners], [task for _, task in learners])
    # As `fit`, which reads no scores.
    options = {"scores": False} if "scores" in inspect.signature(Group.feed).parameters else {}
    for start in range(0, X.shape[0], block):
        group.feed(X[start : start + block], Y[:, start : start + block], **options)
    return [member.count.mistakes for member in group.members]


# -- a process of one checkout ----------------------------------------------------------------------------------------


def serve() -> None:
    """Time the cases that standard input names, one run per line."""
    opened: tuple[str, Any, Any] | None = None
    for line in sys.stdin:
        name, block = json.loads(line)
        _, spec, gamma, learners, _ = CASES[name.removesuffix(AS_CSR)]
        if opened is None or opened[0] != name:
            opened = None
            opened = name, *_opened(spec, sparse=name.endswith(AS_CSR), as_floats=name.endswith(AS_FLOATS))
        _, X, Y = opened
        made = learners(X, Y)
        began, wall = time.process_time(), time.perf_counter()
        mistakes = run_group(made, X, Y, gamma, block)
        times = time.process_time() - began, time.perf_counter() - wall
        print(json.dumps([*times, len(made), mistakes]), flush=True)


def _opened(spec: dict[str, Any], sparse: bool, as_floats: bool) -> tuple[Any, Any]:
    stream = open_stream(DatasetSpec(**spec), 0, 0)
    X = stream.X
    if spec["name"] == "usps" and "scale" in spec and spec["scale"] == "none":
        # The values of USPS are multiples of 1/2000.
        X = np.rint(2000 * np.asarray(X.floats() if hasattr(X, "floats") else X))
    elif as_floats:
        X = X.floats() if hasattr(X, "floats") else X
    elif not sparse and hasattr(X, "toarray"):
        X = X.toarray()
    return X, np.stack(list(stream.tasks.values()))


@contextmanager
def checkout(folder: Path) -> Iterator[Callable[[str, int], list[Any]]]:
    """Start the process of a checkout; yields a function that runs a case once."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(
        command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def once(name: str, block: int) -> list[Any]:
            print(json.dumps([name, block]), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield once
        process.stdin.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    names = [full for name in CASES for full in (name, *((name + AS_CSR,) if name in SPARSE_TOO else ()))]
    heads = ("case", "learners", "old s", "new s", "ratio", "goal", "compiling s", "mistakes")
    print("| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads), flush=True)
    new_seconds: dict[str, float] = {}
    with checkout(given.old.resolve()) as old, checkout(TOP) as new:
        for name in names:
            if given.cases and not name.startswith(tuple(given.cases)):
                continue
            goal, *_, blocks = CASES[name.removesuffix(AS_CSR)]
            first = [[once(name, block) for block in blocks] for once in (old, new)]
            runs: list[list[list[Any]]] = [[], []]
            for _ in range(given.turns):
                for side, once in zip(runs, (old, new), strict=True):
                    side += [once(name, block) for block in blocks]
            seconds = [min(run[0] for run in side) for side in runs]
            new_seconds[name] = seconds[1]
            compiling = max(0.0, first[1][0][1] - runs[1][0][1])
            mistakes = [sum(side[0][3]) for side in runs]
            apart = "" if mistakes[0] == mistakes[1] else f" ({mistakes[1] - mistakes[0]:+,})"
            ratio = seconds[0] / seconds[1]
            met = "" if goal is None else f"{goal:g}: {'met' if ratio >= goal else 'missed'}"
            if name.endswith(AS_CSR):
                slower = seconds[1] / new_seconds[name.removesuffix(AS_CSR)]
                met = f"{slower:.2f} of dense; at most 1.15: {'met' if slower <= 1.15 else 'missed'}"
            row = (name, str(runs[0][0][2]), *(f"{s:.3f}" for s in seconds), f"{ratio:.1f}", met, f"{compiling:.1f}")
            print("| " + " | ".join((*row, f"{mistakes[0]:,}{apart}")) + " |", flush=True)


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["--serve"] else main()
