"""Run the small experiments that findings mention and no config contains; write results/trials.csv.

Usage: python scripts/results/trials.py [--data DIR] [NAME ...]       (without names: all of them, in some ten minutes)
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import yaml

from budgetrun.config.quantities import Quantity
from budgetrun.results.report.numbers import measure
from budgetrun.results.store.read import load

TOP = Path(__file__).resolve().parents[2]
TABLE = TOP / "results" / "trials.csv"
QUANTITIES = ("online_error_percent", "mistakes", "support_size", "margin_updates", "objective")
STEPS = ["1e-1 / sqrt(T)", "1 / sqrt(T)", "10 / sqrt(T)", "100 / sqrt(T)", "1000 / sqrt(T)"]


def splits(**changed: object) -> dict[str, object]:
    """Return the Perceptron on all splits of the digits, as in Table 8.1 of the Forgetron paper otherwise."""
    gamma = changed.pop("gamma", 0.78)
    names = ("usps", "mnist")
    return {
        "kernel": {"name": "gaussian", "gamma": gamma},
        "datasets": [{"name": name, "task": "equal_splits", "scale": "unit_norm", **changed} for name in names],
        "algorithms": [{"name": "perceptron"}],
    }


def gaussian(name: str, sigma: float, **others: object) -> dict[str, object]:
    """Return a data set of the Ahpatron paper."""
    return {"name": name, "kernel": {"name": "gaussian", "sigma": sigma}, **others}


def digits(name: str, degree: int) -> dict[str, object]:
    """Return ten digits with the homogeneous kernel of Figure 9 of the Projectron paper, of another degree."""
    kernel = {"name": "polynomial", "degree": degree, "gamma": 1, "coef0": 0}
    label = f"{name}_{degree}"
    return {
        "name": name, "label": label, "task": "multiclass", "parts": ["train"], "scale": "unit_norm",
        "n_examples": 10_000, "kernel": kernel,
    }  # fmt: skip


# What differs from the config whose finding mentions it.
TRIALS = {
    # forgetron_table81
    "width": splits(gamma=0.5),
    "file_order": splits(order="file"),
    # ahpatron_table2
    "ridge": {
        "tie": "positive",
        "repetitions": 10,
        "datasets": [gaussian("w8a", 2)],
        "algorithms": [{"name": "ahpatron", "budget": 300, "epsilon": [0.8, 0.9], "eta": [0.0005, 0.01]}],
    },
    "features": {
        "tie": "positive",
        "repetitions": 10,
        "datasets": [gaussian("phishing", 1), gaussian("w8a", 2), gaussian("a9a", 2, parts=["train", "test"])],
        "algorithms": [
            {
                "name": "fogd",
                "features": {"by_dataset": {"phishing": 1000, "w8a": 150, "a9a": 150}},
                "step": STEPS,
                "seeds": "by_repetition",
            }
        ],
    },
    # projectron_fig9
    "degrees": {
        "datasets": [*(digits("usps", d) for d in (5, 7, 9, 11, 13)), *(digits("mnist", d) for d in (5, 7, 9))],
        "algorithms": [{"name": "perceptron"}],
    },
    # mpu_table1
    "tolerance": {
        "kernel": {"name": "linear"},
        "datasets": [{"name": "mnist", "positive": [5, 6, 7, 8, 9], "scale": "unit_norm"}],
        "algorithms": [{"name": "dcd", "C": 1, "tolerance": [0.1, 0.05, 0.025]}],
    },
}


def no_ball() -> dict[str, object]:
    """Return the modified RBP of sutskever_bounds in a ball so large that the projection never acts."""
    config = yaml.safe_load((TOP / "configs" / "sutskever_bounds.yaml").read_text(encoding="utf-8"))
    rbp = next(entry for entry in config["algorithms"] if entry["name"] == "modified_rbp")
    kept = {key: config[key] for key in ("seed", "tie", "kernel", "datasets") if key in config}
    for dataset in kept["datasets"]:
        dataset["repetitions"] = 1
    entry = {**rbp, "seeds": 3}
    return {**kept, "algorithms": [entry, {**entry, "label": "no_ball", "radius": 1e6}]}


def run(name: str, config: dict[str, object], data: str | None) -> list[dict[str, object]]:
    """Run a trial and return its averages."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trial.yaml"
        path.write_text(yaml.safe_dump({"name": "trial", "seed": 0, **config}), encoding="utf-8")
        command = [sys.executable, "-m", "budgetrun", "sweep", str(path), "--results", folder, "--jobs", "1"]
        subprocess.run([*command, *(["--data", data] if data else [])], check=True)
        results = load(Path(folder) / "trial")
        if name == "no_ball":
            keys = ["dataset", "repetition", "seed", "budget"]
            ours, other = (results.runs[results.runs["label"] == label] for label in ("modified_rbp", "no_ball"))
            pairs = ours.merge(other, on=keys)
            # Not an average: how many of n runs make another number of mistakes.
            n_differing = int((pairs["mistakes_x"] != pairs["mistakes_y"]).sum())
            return [{"trial": name, "dataset": "all", "label": "rbp", "n": len(pairs), "mistakes": n_differing}]
        rows: dict[object, dict[str, object]] = {}
        for quantity in QUANTITIES:
            column = quantity.removesuffix("_percent")
            if column not in results.runs or results.runs[column].isna().all():
                continue
            factor = 100.0 if quantity != column else 1.0
            found = measure(results, Quantity(quantity, quantity, quantity, column=column, factor=factor))
            for place, measured in found.items():
                row = rows.setdefault(place, {"trial": name, "dataset": place.dataset, "label": place.label})
                row |= {"budget": place.budget.value if place.budget.kind == "budget" else ""}
                row |= {"setting": place.setting.text, "n": measured.n_streams, quantity: round(measured.mean, 9)}
    return list(rows.values())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--data", default=os.environ.get("BUDGETRUN_DATA"))
    arguments = parser.parse_args()
    trials = TRIALS | {"no_ball": no_ball()}
    known = pd.read_csv(TABLE, keep_default_na=False) if TABLE.exists() else pd.DataFrame({"trial": []})
    for name in arguments.names or trials:
        rows = pd.DataFrame(run(name, trials[name], arguments.data))
        known = pd.concat([known[known["trial"] != name], rows])
        known.sort_values(["trial", "dataset", "label", "setting"], kind="stable").to_csv(TABLE, index=False)
