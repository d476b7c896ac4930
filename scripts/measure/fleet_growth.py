"""Measure the memory and the speed of a fleet of 10 to 1,000,000 keys.

    python scripts/measure/fleet_growth.py [--keys 10 100 1000 10000 100000 1000000]

Writes rows of results/fleet/growth.csv, and growth.png. Each number of keys is measured in its own process: rows of 10
features (float32), a floor of 4 examples, 1,500 bytes per key, labels by a plane per key, 10% of them flipped. Once the
memory is full, the time per example is that of `partial_fit` and `learn_one`, in seconds of the processor. With a
million keys it takes minutes, and 2 GB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
from threadpoolctl import threadpool_limits

from budgetrun import Fleet
from budgetrun.kernels import compiling
from budgetrun.results.plotting import number_log_axis, save, styled

TOP = Path(__file__).resolve().parents[2]
KEYS = (10, 100, 1000, 10_000, 100_000, 1_000_000)
BYTES_PER_KEY, FEATURES, FLIPPED, GAMMA = 1500, 10, 0.1, 0.05
# Examples per call, and those that are timed.
BATCH, TIMED, ONE_BY_ONE = 100_000, 2_000_000, 200_000


class Stream:
    """Examples of keys, in arrays that are used again."""

    def __init__(self, n_keys: int) -> None:
        self.random = np.random.default_rng(n_keys)
        self.n_keys, self.planes = n_keys, self.random.normal(size=(n_keys, FEATURES)).astype(np.float32)
        self.X = np.empty((BATCH, FEATURES), dtype=np.float32)

    def batch(self, start: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return examples of random keys, or of all keys in turn from a round on."""
        keys = self.random.integers(0, self.n_keys, BATCH) if start is None else np.arange(start, start + BATCH)
        keys %= self.n_keys
        self.random.standard_normal(out=self.X, dtype=np.float32)
        y = np.where((self.X * self.planes[keys]).sum(axis=1) > 0, 1, -1)
        return keys, self.X, np.where(self.random.random(BATCH) < FLIPPED, -y, y)


def measured(n_keys: int) -> dict[str, float]:
    """Fill a fleet of so many keys, and measure it."""
    stream = Stream(n_keys)
    with threadpool_limits(1), compiling.first():
        # Loads the compiled code, and makes all arrays that are used again.
        warm = Fleet(BYTES_PER_KEY * 10, gamma=GAMMA)
        # Python keeps numbers below 257.
        warm.partial_fit(1000 + np.arange(BATCH) % 10, *stream.batch()[1:])
        warm.learn_one(1000, stream.X[0], 1)
        process = psutil.Process()
        before = process.memory_info().rss
        fleet, fed = Fleet(BYTES_PER_KEY * n_keys, gamma=GAMMA), 0
        while len(fleet) < n_keys or fleet.memory_used < 0.999 * fleet.memory - 200:
            fleet.partial_fit(*stream.batch(fed))
            fed += BATCH
        seconds = mistakes = 0.0
        for _ in range(TIMED // BATCH):
            keys, X, y = stream.batch()
            began = time.process_time()
            scores = fleet.partial_fit(keys, X, y)
            seconds += time.process_time() - began
            mistakes += np.count_nonzero(scores * y <= 0)
        grown = process.memory_info().rss - before
        single, rounds = 0.0, 0
        while rounds < ONE_BY_ONE:
            keys, X, y = stream.batch()
            events = list(zip(keys.tolist(), X, y.tolist(), strict=True))
            began = time.process_time()
            for key, x, label in events:
                fleet.learn_one(key, x, label)
            single += time.process_time() - began
            rounds += BATCH
    held = fleet.facts()["held"]
    return {
        "keys": n_keys,
        "memory": fleet.memory,
        "accounted": fleet.memory_used,
        "process_grew": grown,
        "examples_per_key": held.mean(),
        "least_examples": held.min(),
        "rounds_to_fill": fed,
        "error": mistakes / TIMED,
        "batch_per_second": round(TIMED / seconds, -3),
        "one_by_one_per_second": round(rounds / single, -3),
    }


def draw(table: pd.DataFrame, path: Path) -> None:
    """Draw bytes per key and microseconds per example over the keys."""
    with styled(10.0, 3.8) as figure:
        left, right = figure.subplots(1, 2)
        for name, column in (("accounted", "accounted"), ("growth of the process", "process_grew")):
            left.plot(table["keys"], table[column] / table["keys"], marker="o", label=name)
        for name, column in (("partial_fit", "batch_per_second"), ("learn_one", "one_by_one_per_second")):
            right.plot(table["keys"], 1e6 / table[column], marker="o", label=name)
        for axes, label in ((left, "bytes per key"), (right, "microseconds per example")):
            axes.set_xscale("log")
            number_log_axis(axes.xaxis, (1.0,))
            top = axes.get_ylim()[1] if axes is right else 2 * BYTES_PER_KEY
            axes.set(xlabel="keys", ylabel=label, ylim=(0, top))
            axes.legend()
        save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, nargs="+", default=KEYS)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(pd.Series(measured(options.one)).to_json())
        return
    folder = TOP / "results" / "fleet"
    folder.mkdir(parents=True, exist_ok=True)
    for n_keys in options.keys:
        command = [sys.executable, __file__, "--one", str(n_keys)]
        shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        print(shown, end="", flush=True)
        record(json.loads(shown.splitlines()[-1]), folder / "growth.csv")
    draw(pd.read_csv(folder / "growth.csv"), folder / "growth.png")


def record(found: dict[str, float], path: Path) -> None:
    """Write what was measured for some keys into the table, in the place of what was measured before."""
    known = [pd.read_csv(path)] if path.is_file() else []
    table = pd.concat([*known, pd.DataFrame([found])]).drop_duplicates("keys", keep="last")
    table = table.sort_values("keys").round(4)
    whole = table.columns.drop(["examples_per_key", "error"])
    table.astype(dict.fromkeys(whole, int)).to_csv(path, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
