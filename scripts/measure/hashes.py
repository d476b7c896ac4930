"""Write or check tests/engine/hashes.json: the results that every machine must give, bit by bit.

An entry is the sha256 of a learner's scores on a whole stream, its weights and the rounds of its support set. Only the
learners whose results are canonical are in the table (docs/engine.md). Real data are included if $BUDGETRUN_DATA has
them. Each way of computing runs in a process of its own; the exit code is 1 if a hash differs.

Usage: python scripts/measure/hashes.py [--write] [--ways WAY ...] [--sizes N ...] [STREAM ...]
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream
from budgetrun.engine import Group
from budgetrun.kernels import Gaussian
from budgetrun.kernels.kinds import IntegerRows, floats
from budgetrun.learners import find

TOP = Path(__file__).resolve().parents[2]
TABLE = TOP / "tests" / "engine" / "hashes.json"
# Rounds per call; 0 for all of them at once, -1 for calls of random sizes.
WHOLE, RANDOM = 0, -1
SIZES = (1, 7, 64, 256, 1024, WHOLE, RANDOM)
WAYS = {
    "compiled": {},
    "numpy": {"BUDGETRUN_COMPILED": "0"},
    "compiled for generic": {"NUMBA_CPU_NAME": "generic"},
    "compiled for haswell": {"NUMBA_CPU_NAME": "haswell"},
    "BLAS for Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "BLAS for SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "numpy, BLAS for Haswell": {"BUDGETRUN_COMPILED": "0", "OPENBLAS_CORETYPE": "Haswell"},
}
LEARNERS: tuple[tuple[str, str | None, dict[str, int]], ...] = (
    ("perceptron", None, {}),
    ("rbp", None, {"budget": 100, "seed": 1}),
    ("forgetron", "self_tuned", {"budget": 100}),
    ("forgetron", "greedy", {"budget": 100}),
    ("forgetron", "basic", {"budget": 100}),
)
MULTICLASS = LEARNERS[:2]
N_CLASSES = 4
Made = tuple[Any, np.ndarray, float]


# -- streams: examples, labels, gamma ---------------------------------------------------------------------------------


def generated(seed: int, draw: Callable[[np.random.Generator], np.ndarray], gamma: float) -> Made:
    """Return rows, and the sides of a plane; its weights are small integers, so that the sums are nearly exact."""
    rng = np.random.default_rng(seed)
    X = draw(rng).astype(float)
    scores = (X * rng.integers(-3, 4, X.shape[1])).sum(axis=1)
    flips = np.where(rng.random(len(X)) < 0.1, -1, 1)
    return X, np.where(scores > np.median(scores), 1, -1) * flips, gamma


def scaled_integers() -> Made:
    """Return rows of small integers, scaled to unit norm."""
    X, y, _ = GENERATED["integers"]()
    return IntegerRows(X, 1 / np.sqrt((X * X).sum(axis=1))), y, 1.0


def real(name: str, gamma: float, factor: float = 1.0, **spec: Any) -> Made:
    """Return the first task of a dataset, not scaled, in the order of seed 0; ``factor`` makes the values whole."""
    stream = open_stream(DatasetSpec(name=name, **spec), 0, 0)
    X = stream.X if factor == 1 else np.rint(factor * np.asarray(floats(stream.X)))
    return X, next(iter(stream.tasks.values())), gamma


GENERATED: dict[str, Callable[[], Made]] = {
    "bits": partial(generated, 1, lambda rng: rng.random((1500, 130)) < 0.2, 0.05),
    "integers": partial(generated, 2, lambda rng: rng.integers(-300, 301, (1500, 35)), 1e-6),
    "scaled integers": scaled_integers,
    "floats": partial(generated, 3, lambda rng: rng.random((1500, 11)), 1.0),
}
REAL: dict[str, Callable[[], Made]] = {
    "a9a": partial(real, "a9a", 0.04),
    "w8a": partial(real, "w8a", 0.04),
    "usps": partial(real, "usps", 5e-9, 2000.0, task="equal_splits"),
    "mnist": partial(real, "mnist", 1e-7, task="equal_splits", n_examples=20_000),
    "ijcnn1": partial(real, "ijcnn1", 8.0),
    "cod_rna": partial(real, "cod_rna", 1e-4),
}
STREAMS = GENERATED | REAL


# -- hashes -----------------------------------------------------------------------------------------------------------


def hashes(stream: str, size: int) -> dict[str, str]:
    """Return the hash of each learner on a stream, in calls of this size."""
    X, y, gamma = STREAMS[stream]()
    found = _played(X, y, gamma, size, LEARNERS, None)
    # Four classes: by label, and every third round apart.
    classes = (y > 0) + 2 * (np.arange(len(y)) % 3 == 0)
    several = _played(X, classes, gamma, size, MULTICLASS, N_CLASSES)
    return found | {f"{name}, multiclass": digest for name, digest in several.items()}


def _played(X: Any, y: np.ndarray, gamma: float, size: int, learners: Any, n_classes: int | None) -> dict[str, str]:
    task = "binary" if n_classes is None else "multiclass"
    built = [find(name, variant, task)(**given) for name, variant, given in learners]
    group = Group(Gaussian(gamma=gamma), built, n_classes=n_classes)
    found = [hashlib.sha256() for _ in learners]
    for part in _calls(len(y), size):
        for digest, scores in zip(found, group.feed(X[part], y[None, part]), strict=True):
            digest.update(scores.T.astype("<f8").tobytes())
    named = {}
    for digest, member, (name, variant, _) in zip(found, group.members, learners, strict=True):
        digest.update(member.hypothesis.coef.astype("<f8").tobytes())
        digest.update(member.hypothesis.rounds.astype("<i8").tobytes())
        named[name if variant is None else f"{name}({variant})"] = digest.hexdigest()
    return named


def _calls(n: int, size: int) -> Iterator[slice]:
    rng = np.random.default_rng(0)
    start = 0
    while start < n:
        end = start + (int(rng.integers(1, 400)) if size == RANDOM else size or n)
        yield slice(start, end)
        start = end


def differences(table: dict[str, dict[str, str]], stream: str, size: int) -> list[str]:
    """Return the learners whose hash differs from the table."""
    return [name for name, found in hashes(stream, size).items() if table[stream][name] != found]


def _check(ways: Sequence[str], sizes: Sequence[int], streams: Sequence[str]) -> int:
    """Check the table in each way of computing; return the number of combinations that differ."""
    wrong = 0
    for way in ways:
        command = [sys.executable, __file__, *streams, "--here", "--sizes", *map(str, sizes)]
        done = subprocess.run(command, env=os.environ | WAYS[way], stdout=subprocess.PIPE)
        if done.returncode:
            raise SystemExit(f"{way}: exit code {done.returncode}")
        for line in done.stdout.splitlines():
            stream, size, seconds, names = json.loads(line)
            wrong += bool(names)
            calls = {WHOLE: "the whole stream", RANDOM: "random calls"}.get(size, f"calls of {size}")
            print(f"{way}, {stream}, {calls}: {', '.join(names) + ' differ' if names else 'ok'} ({seconds:.1f} s)")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("streams", nargs="*", choices=[*STREAMS, []])
    parser.add_argument("--write", action="store_true", help="write the hashes of this machine, in calls of 256")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    given = parser.parse_args()
    streams = given.streams or list(STREAMS if os.environ.get("BUDGETRUN_DATA") else GENERATED)
    table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    if given.write:
        table |= {stream: hashes(stream, 256) for stream in streams}
        TABLE.write_text(json.dumps(table, indent=1) + "\n")
        return 0
    if not given.here:
        return int(_check(given.ways, given.sizes, streams) > 0)
    for stream in streams:
        for size in given.sizes:
            began = time.perf_counter()
            names = differences(table, stream, size)
            print(json.dumps([stream, size, time.perf_counter() - began, names]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
