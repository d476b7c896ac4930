"""Measure status, report and resume on a made-up results folder of a million runs; write results/large_results.csv.

The runs are those of a config on generated data, with outcomes that are drawn instead of played. Each command is a
process of its own, of which processor seconds, seconds and peak memory are measured.

Usage: python scripts/measure/large_results.py [--runs N] [--record]
"""

import argparse
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from budgetrun import config as config_module
from budgetrun.results.store import files
from budgetrun.results.store.large import SCHEMA
from budgetrun.results.store.write import Store
from budgetrun.runner import provenance
from budgetrun.runner.plan import Options, make_plan

TOP = Path(__file__).resolve().parents[2]
TABLE = TOP / "results" / "large_results.csv"
BUDGETS = list(range(5, 55, 5))
SETTINGS = 500  # of the config below, on each of ten datasets


def config(folder: Path, n_runs: int) -> Path:
    """Write a config of ``n_runs`` runs: ten datasets, 500 settings, and as many repetitions as that takes."""
    data = {"name": "noisy_gaussians", "noise": 0.1, "options": {"n_per_class": 150}}
    variants = [{"variant": name} for name in ("basic", "greedy", "self_tuned")]
    given = {
        "name": "large",
        "datasets": [data | {"label": f"stream_{i}"} for i in range(10)],
        "kernel": {"name": "gaussian", "gamma": [0.1, 0.2, 0.5, 1, 2]},
        "repetitions": max(1, n_runs // (10 * SETTINGS)),
        "algorithms": [
            {"name": "remove_oldest", "budget": BUDGETS},
            {"name": "rbp", "budget": BUDGETS, "seeds": 3},
            *({"name": "forgetron", "budget": BUDGETS} | variant for variant in variants),
            {"name": "bpa", "variant": "nearest", "C": [0.1, 1, 10], "budget": BUDGETS},
        ],
        # A figure takes as long for few runs as for many.
        "report": {
            "tables": [
                {"name": "all", "caption": "Error of each setting", "quantity": "online_error"},
                {"name": "chosen", "caption": "Error", "quantity": "online_error", "choose": {"by": "prefix"}},
            ],
            "figures": [{"name": "one", "dataset": "stream_0", "lines": ["remove_oldest", "rbp"], "x": "budget"}],
        },
    }
    path = folder / "large.yaml"
    path.write_text(yaml.safe_dump(given), encoding="utf-8")
    return path


def make(path: Path, results: Path) -> int:
    """Make the results folder of a config whose runs all have finished; return how many there are."""
    loaded = config_module.load(path)
    plan, options = make_plan(loaded), Options(results)
    store, rng, n = Store(options.folder(loaded)), np.random.default_rng(0), len(plan.runs)
    store.open(provenance.manifest(loaded, plan, options, None))
    specs = {id(run.spec): run.spec for run in plan.runs}
    parameters = {key: json.dumps(spec.parameters) for key, spec in specs.items()}
    settings = {key: json.dumps(spec.setting) for key, spec in specs.items()}
    mistakes, damage = rng.integers(30, 120, n), rng.random(n)
    columns = {
        "run_id": [run.run_id for run in plan.runs],
        "dataset": [run.dataset for run in plan.runs],
        "task": ["-"] * n,
        "repetition": [run.repetition for run in plan.runs],
        "seed": [run.spec.seed for run in plan.runs],
        "algorithm": [run.spec.name for run in plan.runs],
        "parameters": [parameters[id(run.spec)] for run in plan.runs],
        "kernel": [f"gaussian({run.spec.kernel.text})" for run in plan.runs],
        "budget": [run.spec.budget for run in plan.runs],
        "n_examples": np.full(n, 300),
        "mistakes": mistakes,
        "online_error": mistakes / 300,
        "updates": mistakes,
        "margin_updates": np.zeros(n, np.int64),
        "support_size": [run.spec.budget for run in plan.runs],
        "max_support_size": [run.spec.budget for run in plan.runs],
        "seconds": rng.random(n),
        "peak_memory_mb": np.full(n, 90.1),
        "status": ["done"] * n,
        "error": [""] * n,
        "label": [run.spec.label for run in plan.runs],
        "prefix_examples": np.full(n, 30),
        "prefix_mistakes": mistakes // 10,
        # Those of a Forgetron are all different.
        "facts": [
            f'{{"damage": {damage[i]}}}' if run.spec.name == "forgetron" else "{}" for i, run in enumerate(plan.runs)
        ],
        "setting": [settings[id(run.spec)] for run in plan.runs],
        "zero_scores": np.ones(n, np.int64),
    }
    arrays = [pa.array(columns[f.name], f.type) if f.name in columns else pa.nulls(n, f.type) for f in SCHEMA]
    file = io.BytesIO()
    pq.write_table(pa.table(arrays, SCHEMA), file, compression="zstd", row_group_size=100_000)
    files.replace_table(store.folder, file.getvalue(), n)
    store.write_manifest(store.manifest() | {"end": provenance.now()})
    return len(plan.runs)


def measured(name: str, code: str, folder: Path) -> dict[str, object]:
    """Run code in a process of its own, and return what it took."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    # What the system counts for a child begins with the memory of this process.
    code += "\nprint('peak', open('/proc/self/status').read().split('VmHWM:')[1].split()[0], file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(TOP), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "peak" in done.stderr, done.stderr
    print(f"{name}: {(done.stdout + done.stderr).strip().splitlines()[-2:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    seconds = time.monotonic() - began
    peak = int(done.stderr.split()[-1]) / 1024
    return {"command": name, "cpu_seconds": f"{cpu:.1f}", "seconds": f"{seconds:.1f}", "peak_mb": f"{peak:.0f}"}


def command(*words: str) -> str:
    """Return the code that runs a command and goes on."""
    return (
        f"from budgetrun.cli import main\ntry:\n    main({list(words)!r}, prog_name='budgetrun')\n"
        "except SystemExit as ended:\n    assert not ended.code, ended.code\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1_000_000, metavar="N", help="the number of runs, some thousands")
    parser.add_argument("--record", action="store_true", help="write results/large_results.csv")
    chosen = parser.parse_args()
    files.LARGE = min(files.LARGE, chosen.runs)
    with tempfile.TemporaryDirectory(prefix="large-") as top:
        folder = Path(top)
        path, began = config(folder, chosen.runs), time.monotonic()
        n_runs = make(path, folder / "results")
        size = (folder / "results" / "large" / files.PARQUET).stat().st_size
        print(f"{n_runs:,} runs made in {time.monotonic() - began:.0f} s, {size / 1e6:.0f} MB", flush=True)
        large = f"from budgetrun.results.store import files; files.LARGE = {files.LARGE}\n"
        resume = "from budgetrun import cli; cli._report = lambda folder: None\n" + command("sweep", "large.yaml")
        found = [
            measured("status", large + command("status", "results/large"), folder),
            measured("resume", large + resume, folder),
            measured("report", large + command("report", "results/large"), folder),
        ]
    rows = pd.DataFrame([{"runs": n_runs} | row for row in found])
    rows.to_csv(TABLE if chosen.record else sys.stdout, index=False)


if __name__ == "__main__":
    main()
