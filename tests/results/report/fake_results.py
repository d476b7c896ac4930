"""Results folders with known numbers, as a sweep would leave them."""

import gzip
import json

import numpy as np
from sweeping import csv_text

from budgetrun.results.report import Report, tables
from budgetrun.results.store import files
from budgetrun.results.store.read import load

COLUMNS = [column.name for column in files.COLUMNS]

EXPECTED = [
    {"dataset": dataset, "label": label, "budget_fraction": fraction, "budget": None, "online_error_percent": percent}
    for dataset, label, fraction, percent in [
        *(("one", "perceptron", 0.5, 8.0), ("one", "perceptron", 1.0, 8.0)),
        *(("one", "rbp", 0.5, 16.0), ("one", "rbp", 1.0, 9.0), ("two", "rbp", 0.5, 20.0)),
    ]
]
TABLE = {"name": "table1", "caption": "A table of two learners.", "expected": "expected/table1.csv", "tolerance": 0.05}
TABLE |= {"columns": ["perceptron", "rbp", "rbp(read otherwise)"], "rows": ["one", "two"], "relative_to": "perceptron"}
FIGURE = {"name": "fig1", "title": "Figure 1: the first dataset", "dataset": "one", "x": "budget"}
REPORT = {
    "tables": [TABLE | {"aliases": {"rbp(read otherwise)": "rbp"}}],
    "figures": [FIGURE | {"lines": ["rbp"], "point": "perceptron", "band": ["rbp"]}],
    "choices": ["The order of examples was drawn once."],
    "findings": [
        {"dataset": "one", "label": ["rbp"], "budget_fraction": 0.5, "budget": None, "text": "It draws badly at p/2."},
        {"dataset": "two", "label": None, "budget_fraction": None, "budget": None, "text": "Nothing is outside here."},
    ],
}


def of(name, **given):
    """Return the entry of an algorithm in a config, under its own name."""
    return {"name": name, "label": name} | given


def run(dataset, label, percent, **others):
    """Return one row of runs.csv: a finished run of 10,000 examples with this online error."""
    mistakes = round(100 * percent)
    row = {"dataset": dataset, "task": "-", "repetition": 0, "seed": 0, "algorithm": label.partition("(")[0]}
    row |= {"parameters": {}, "kernel": "gaussian(gamma=0.78)", "budget": "", "n_examples": 10000, "mistakes": mistakes}
    row |= {"online_error": mistakes / 10000, "updates": mistakes, "margin_updates": 0, "support_size": mistakes}
    row |= {"max_support_size": mistakes, "seconds": 0.5, "peak_memory_mb": 80.0, "status": "done", "error": ""}
    row |= {"label": label, "budget_fraction": "", "setting": {}} | others
    return {name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in row.items()}


def failed(dataset, label, error, **others):
    """Return one row of runs.csv for a run that did not finish."""
    empty = dict.fromkeys(("mistakes", "online_error", "updates", "margin_updates", "support_size", "seconds"), "")
    return run(dataset, label, 0, **others) | empty | {"status": "failed", "error": error}


def row(i, status="done", **changes):
    """Return what a worker saves of a run: numbers, and None where there is nothing."""
    done = status == "done"
    given = dict.fromkeys(COLUMNS) | {
        "run_id": f"{i:016x}", "dataset": "d", "task": "-", "repetition": i, "seed": 0, "algorithm": "rbp",
        "parameters": "{}", "kernel": "linear()", "budget": 10, "n_examples": 30, "seconds": 0.1, "peak_memory_mb": 1.0,
        "status": status, "error": "" if done else "ValueError: no", "label": "rbp",
    }  # fmt: skip
    if done:
        given |= {"mistakes": 7, "online_error": 7 / 30, "updates": 7, "margin_updates": 0}
        given |= {"support_size": 5, "max_support_size": 6}
    return given | changes


def runs_csv(rows, names=COLUMNS):
    return csv_text([{"run_id": f"{i:016x}"} | row for i, row in enumerate(rows)], names)


def manifest(rows, report=None, expected=None, algorithms=None, **others):
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    labels = list(dict.fromkeys(row["label"] for row in rows))
    config = {"name": "fake", "seed": 0, "tie": "mistake", "dtype": "float64"} | {
        "datasets": [{"name": name, "label": name} for name in datasets],
        "algorithms": algorithms or [{"name": label, "label": label, "budget": None} for label in labels],
        "report": report or {"tables": [], "figures": [], "choices": [], "findings": []},
        "profiles": {"ci": {"n_examples": 2000, "tasks": 3, "repetitions": None, "seeds": 2}},
    }
    sizes, times = {"n_examples": 10000, "n_features": 784}, {"wall_seconds": 12.5, "cpu_seconds": 20.25}
    made = {"name": "fake", "source": "Somebody (2001), Table 1", "description": "Numbers made up for a test."}
    made |= {"config": config, "config_text": "name: fake\nseed: 0\n", "expected": expected or {}, "profile": "full"}
    made |= {"seed": 0, "seconds": 3711.0, "jobs": 2, "failures": [], "code": "c0de" * 16}
    made |= {"start": "2024-05-06T07:08:09+00:00", "end": "2024-05-06T08:10:00+00:00"}
    made |= {"versions": {"budgetrun": "0.1.0", "python": "3.11.7", "blas": "openblas", "cpu": "a processor"}}
    made |= {"git": {"commit": "a" * 40, "dirty": True}, "datasets": {}, "parts": []}
    for name in datasets:
        own = {"sha256": "5a" * 32, "files": {f"{name}.gz": "f1" * 32}, "notes": [f"a note about {name}"]}
        made["datasets"][name] = sizes | own
        made["parts"].append({"dataset": name, "algorithms": labels, "runs": len(rows)} | times)
    return made | others


def build(folder, rows, *, compressed=False, **others):
    """Write manifest.json and runs.csv, or runs.csv.gz, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(manifest(rows, **others)), encoding="utf-8")
    text = runs_csv(rows)
    if compressed:
        with gzip.open(folder / "runs.csv.gz", "wt", encoding="utf-8") as file:
            file.write(text)
    else:
        (folder / "runs.csv").write_text(text, encoding="utf-8")
    return folder


def paper_rows():
    """Two tasks of `one` (three seeds of rbp each) and one of `two`; every mean and spread is easy to say."""
    rows = []
    for task, shift in (("01|23", 0.0), ("02|13", 2.0)):
        p = int(1000 + 100 * shift)
        rows.append(run("one", "perceptron", 10 + shift, task=task, support_size=p))
        for fraction, middle in ((0.5, 20), (1.0, 10)):
            asked = {"task": task, "budget": int(fraction * p), "budget_fraction": fraction}
            rows += [run("one", "rbp", middle + shift + seed - 1, seed=seed, **asked) for seed in range(3)]
            rows.append(run("one", "rbp(read otherwise)", 9.1 + shift / 2, **asked))
    rows.append(run("two", "perceptron", 5))
    rows.append(run("two", "rbp", 20.1, budget=250, budget_fraction=0.5))
    return rows


def write_curves(folder, rows, per_file=7):
    """Write the curves of rows as `runs_csv` numbers them: both counts grow evenly, so errors stay what they are."""
    (folder / "curves").mkdir(exist_ok=True)
    for start in range(0, len(rows), per_file):
        part = rows[start : start + per_file]
        n = part[0]["n_examples"]
        rounds = np.unique(np.round(10.0 ** np.arange(0, np.log10(n) + 0.125, 0.125)).clip(1, n).astype(np.int64))
        counts = {name: np.array([row[name] * (rounds / n) for row in part]) for name in ("mistakes", "support_size")}
        ids = [row.get("run_id", f"{start + i:016x}") for i, row in enumerate(part)]
        np.savez_compressed(folder / "curves" / f"{start:016x}.npz", run_id=ids, rounds=rounds, **counts)


ETAS = (0.05, 0.1, 0.3)
SWEPT = [of("perceptron"), of("projectron++", parameters={"eta": list(ETAS), "threshold": ["distance"]})]
SWEPT.append(of("rbp", budget={"of": "projectron++", "fractions": [1.0]}))


def swept_rows(dataset="one", repetitions=3):
    """A Perceptron, a Projectron++ with three values of eta, and an rbp whose budgets are its support sizes."""
    rows = []
    for r in range(repetitions):
        rows.append(run(dataset, "perceptron", 10 + r, repetition=r, support_size=1000 + 100 * r, last_test_error=0.1))
        for i, eta in enumerate(ETAS):
            size = 800 - 200 * i + 10 * r
            both = {"repetition": r, "setting": {"eta": eta}, "support_size": size}
            own = {"parameters": {"eta": eta, "threshold": "distance"}, "seconds": 0.123 * (r + 1)}
            tested = {"test_error": 0.08 + i / 100, "last_test_error": 0.09 + i / 100}
            rows.append(run(dataset, "projectron++", 8 + i + r, **both, **own, **tested))
            budget = {"of": "projectron++", "fraction": 1.0, "setting": {"eta": eta}}
            asked = {"budget": size, "budget_fraction": 1.0, "parameters": {"budget": budget}, "last_test_error": 0.2}
            rows += [run(dataset, "rbp", 12 + i + r + seed, seed=seed, **both, **asked) for seed in range(2)]
    return rows


def table_of(folder):
    """Return the first table of a folder."""
    return tables.build(load(folder))[0]


def write_report(folder):
    return Report(folder).write()


def write_figures(folder):
    return Report(folder).draw()


def summary(folder):
    return Report(folder).summary()


def written_file(folder, name):
    """Write the report and return the text of one of its files."""
    write_report(folder)
    return (folder / name).read_text(encoding="utf-8")
