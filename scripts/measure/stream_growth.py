"""Measure `budgetrun run` on generated streams of 1 to 20 million rows, from a pipe and from Parquet.

    python scripts/measure/stream_growth.py [--millions 1 5 20]

Writes results/streams/growth.csv and growth.png: peak memory and rounds per second, beside the engine's own on arrays.
Needs about 1 GB of temporary disk and, with the default sizes, a quarter of an hour on two idle cores. With
``--write N PATH`` it only writes N rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from budgetrun import learners
from budgetrun.data.scaling import Running
from budgetrun.engine import Group
from budgetrun.kernels import Gaussian

TOP = Path(__file__).resolve().parents[2]
FEATURES, BATCH = 20, 100_000
LEARNERS = ("linear_perceptron", "forgetron", "rbp", "ahpatron:epsilon=0.7")
BUDGET, GAMMA = 100, 0.025


def batches(n_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield rows of 20 features, with three decimals, whose label is a noisy function of them."""
    rng, w = np.random.default_rng(0), np.random.default_rng(1).normal(size=FEATURES)
    for start in range(0, n_rows, BATCH):
        X = rng.normal(size=(min(BATCH, n_rows - start), FEATURES)).round(3)
        y = np.tanh(X @ w) + X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=len(X)) > 0
        columns = [pa.array(column) for column in [*X.T.copy(), y.astype(np.int64)]]
        yield pa.RecordBatch.from_arrays(columns, [*(f"x{j}" for j in range(FEATURES)), "label"])


def write(n_rows: int, path: str) -> None:
    """Write rows as CSV to standard output, or to a Parquet file."""
    schema = next(batches(1)).schema
    made = pa.csv.CSVWriter(sys.stdout.buffer, schema) if path == "-" else pa.parquet.ParquetWriter(path, schema)
    with made as writer:
        for batch in batches(n_rows):
            writer.write_batch(batch)


def played(n_rows: int, source: str, folder: Path) -> dict[str, float]:
    """Play a stream in a process of its own; return its peak memory in MB, its seconds and rounds per second."""
    name = f"{'pipe' if source == '-' else 'parquet'}_{n_rows}"
    options = ["--budget", str(BUDGET), "--gamma", str(GAMMA), "--seeds", "1", "--name", name, "--results", str(folder)]
    options += [word for learner in LEARNERS for word in ("--algorithm", learner)]
    command = [sys.executable, "-m", "budgetrun", "run", source, *options]
    writes = [sys.executable, __file__, "--write", str(n_rows), "-"]
    maker = subprocess.Popen(writes, stdout=subprocess.PIPE) if source == "-" else None
    began = time.perf_counter()
    process = subprocess.Popen(command, stdin=maker.stdout if maker else None, stdout=subprocess.DEVNULL)
    peak, waited, status, usage = 0.0, 0, 0, None
    # What the system reports at the end includes the memory of this process, of which that one began as a copy.
    while not waited:
        peak = max(peak, _peak_mb(process.pid))
        time.sleep(0.02)
        waited, status, usage = os.wait4(process.pid, os.WNOHANG)
    seconds = time.perf_counter() - began
    if status or usage is None:
        raise SystemExit(f"{' '.join(command)}: failed")
    if maker:
        maker.wait()
    runs = pd.read_csv(folder / name / "runs.csv")
    assert (runs["n_examples"] == n_rows).all()
    mistakes = dict(zip(runs["label"], runs["mistakes"], strict=True))
    return {"peak_mb": peak, "seconds": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime, **mistakes}


def _peak_mb(process: int) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return float(line.split()[1]) / 1024
    return 0.0


def engine(n_rows: int) -> dict[str, float]:
    """Play the first rows as an array that is scaled already."""
    tables = list(batches(n_rows))
    X = np.concatenate([np.column_stack(batch.columns[:-1]) for batch in tables])
    Y = 2 * np.concatenate([batch.columns[-1].to_numpy() for batch in tables])[None] - 1
    X = Running(FEATURES).scaled(X)

    def group() -> Group:
        given = {"linear_perceptron": {}, "forgetron": {"budget": BUDGET}, "rbp": {"budget": BUDGET}}
        given["ahpatron"] = {"budget": BUDGET, "epsilon": 0.7}
        return Group(Gaussian(gamma=GAMMA), [learners.find(name)(**options) for name, options in given.items()])

    with threadpool_limits(1):
        group().feed(X[:64], Y[:, :64])
        one = group()
        began, cpu = time.perf_counter(), time.process_time()
        for start in range(0, n_rows, 8192):
            one.feed(X[start : start + 8192], Y[:, start : start + 8192])
        return {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}


def draw(found: pd.DataFrame, path: Path) -> None:
    """Draw peak memory against the number of rows."""
    figure = Figure(figsize=(6.6, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for source, own in found[found["source"] != "arrays"].groupby("source", sort=False):
        axes.plot(own["rows"] / 1e6, own["peak_mb"], marker="o", label=source)
    axes.axhline(400, color="#888888", linestyle=":", label="400 MB")
    axes.set(xscale="log", ylim=(0, 450), xlabel="rows (millions)", ylabel="peak memory (MB)")
    axes.set_title("Memory of budgetrun run on 20 features", loc="left", fontweight="bold")
    axes.legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 5, 20])
    parser.add_argument("--write", nargs=2, metavar=("N", "PATH"))
    given = parser.parse_args()
    if given.write:
        write(int(given.write[0]), given.write[1])
        return
    target = TOP / "results" / "streams"
    target.mkdir(parents=True, exist_ok=True)
    rows = [{"source": "arrays", "rows": 1_000_000, **engine(1_000_000)}]
    with tempfile.TemporaryDirectory(prefix="budgetrun-") as folder:
        for millions in given.millions:
            n_rows = int(millions * 1e6)
            path = Path(folder) / "s.parquet"
            write(n_rows, str(path))
            for source, name in (("-", "CSV pipe"), (str(path), "Parquet")):
                rows.append({"source": name, "rows": n_rows, **played(n_rows, source, Path(folder))})
                print(rows[-1], flush=True)
    found = pd.DataFrame(rows)
    found["rows_per_second"] = (found["rows"] / found["seconds"]).round()
    found.round(2).to_csv(target / "growth.csv", index=False)
    draw(found, target / "growth.png")
    print(found.to_string())


if __name__ == "__main__":
    main()
