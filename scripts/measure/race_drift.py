"""Compare the learners with river's adaptive models on drifting streams; write results/river_drift/.

The streams are those of sutskever_bounds.yaml whose points come in the order of time, as dicts. Each model predicts an
example, then learns it. Ours have the config's kernel, river's have their defaults; nothing is tuned. Where it says
DDM, river's DriftRetrainingClassifier starts the model again when its detector DDM finds more errors; it predicts the
more probable class, so that ours compute probabilities there. KNNClassifier searches the last 1,000 examples.

Errors and windows are means over the repetitions. Times are processor times of one process with one thread; the ratio
is that to river's LogisticRegression on the same stream, which is timed right before each model, and is the median of
the repetitions. Memory is river's own measure (`_raw_memory_usage`) after the last example, which counts the contents
of arrays twice.

Usage: python scripts/measure/race_drift.py [--repetitions N]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from race_river import Rounds, race, speed_of, versions
from river import drift, ensemble, forest, linear_model, neighbors, tree
from threadpoolctl import threadpool_limits

from benchmarks.pages import markdown_table
from budgetrun import config as configs
from budgetrun import river as budgetrun_river
from budgetrun.data import open_stream
from budgetrun.data.generators import changes_of
from budgetrun.results.plotting import hand_out, mark_changes, save, styled

FOLDER = Path(__file__).resolve().parents[2] / "results" / "river_drift"
CONFIG = "sutskever_bounds"
BUDGETS = (100, 1000)
WINDOWS = 50
ALONE = "LogisticRegression"
# One model on one stream; and one model in one part of a stream.
Row = dict[str, Any]
Window = dict[str, Any]


def models(gamma: float) -> dict[str, tuple[str, Callable[[], Any]]]:
    """Return the library and what makes the model, by name."""

    def again(model: Any) -> Any:
        return drift.DriftRetrainingClassifier(model, drift.binary.DDM())

    of_ours: dict[str, Callable[..., Any]] = {
        "RBP": budgetrun_river.RBP,
        "RemoveOldest": budgetrun_river.RemoveOldest,
        "Forgetron": budgetrun_river.Forgetron,
        "Forgetron (simplified)": partial(budgetrun_river.Forgetron, variant="simplified"),
    }
    every = {"Perceptron": partial(budgetrun_river.Perceptron, gamma=gamma)}
    for name, kind in of_ours.items():
        for budget in BUDGETS:
            every[f"{name}, B = {budget:,}"] = partial(kind, budget=budget, gamma=gamma)
    made: dict[str, tuple[str, Callable[[], Any]]] = {}
    for title, make in every.items():
        made[title] = "budgetrun", partial(make, probabilities=False)
        made[f"{title}, DDM"] = "budgetrun", lambda make=make: again(make())
    of_river: dict[str, Callable[[], Any]] = {
        ALONE: linear_model.LogisticRegression,
        f"{ALONE}, DDM": lambda: again(linear_model.LogisticRegression()),
        "KNNClassifier": neighbors.KNNClassifier,
        "KNNClassifier, DDM": lambda: again(neighbors.KNNClassifier()),
        "HoeffdingTreeClassifier": tree.HoeffdingTreeClassifier,
        "HoeffdingAdaptiveTreeClassifier": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=0),
        "ADWINBaggingClassifier": lambda: ensemble.ADWINBaggingClassifier(tree.HoeffdingTreeClassifier(), seed=0),
        "ARFClassifier": lambda: forest.ARFClassifier(seed=0),
        "SRPClassifier": lambda: ensemble.SRPClassifier(seed=0),
    }
    return made | {name: ("river", make) for name, make in of_river.items()}


def measured(dataset: str, streams: list[Rounds], gamma: float) -> tuple[list[Row], list[Window]]:
    """Return the rows and windows of all models on the repetitions of a stream."""
    rows, windows = [], []
    every = models(gamma)
    for name, (library, make) in every.items():
        wrongs, (speed, ratio, memory) = race(make, every[ALONE][1], streams)
        errors = (100 * wrongs.mean(axis=1)).tolist()
        row = {
            "dataset": dataset,
            "library": library,
            "model": name,
            "rounds": wrongs.shape[1],
            "repetitions": len(streams),
            "error_percent": statistics.mean(errors),
            "error_sd": statistics.stdev(errors) if len(errors) > 1 else None,
            "rounds_per_second": speed,
            "time_ratio": 1.0 if name == ALONE else ratio,
            "memory_kb": memory,
        }
        rows.append(row)
        print(*row.values(), sep="\t", file=sys.stderr, flush=True)
        parts = np.array_split(np.mean(wrongs, axis=0), WINDOWS)
        for part, end in zip(parts, np.cumsum([len(part) for part in parts]).tolist(), strict=True):
            windows.append({"dataset": dataset, "model": name, "end": end, "error_percent": 100 * float(part.mean())})
    return rows, windows


def draw(dataset: str, title: str, windows: list[Window], shown: list[str], marks: dict[int, str]) -> None:
    """Draw the windowed errors of some models, with marks where the stream changes."""
    with styled(7.2, 5.2) as figure:
        axes = figure.add_subplot()
        for name, look in hand_out(shown).items():
            own = [window for window in windows if window["model"] == name]
            ends, errors = ([window[key] for window in own] for key in ("end", "error_percent"))
            axes.plot(ends, errors, label=name, **look.line, markevery=6)
        mark_changes(axes, marks)
        axes.set_title(title, loc="left", fontweight="bold")
        axes.set(xlabel="rounds", ylabel="error in each part (%)")
        axes.set_xlim(0)
        axes.set_ylim(0)
        figure.legend(loc="outside lower center", ncols=2, fontsize=9)
        save(figure, FOLDER / f"{dataset}.png", FOLDER / f"{dataset}.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    config = configs.load(CONFIG)
    gamma = config.kernel.parameters["gamma"]
    rows, windows = [], []
    with threadpool_limits(1):
        for spec in (spec for spec in config.datasets if spec.order == "file"):
            streams = []
            for repetition in range(arguments.repetitions):
                stream = open_stream(spec, config.seed, repetition)
                points = [dict(enumerate(x)) for x in stream.X.tolist()]
                streams.append(list(zip(points, (stream.tasks["-"] > 0).tolist(), strict=True)))
            own, parts = measured(spec.label, streams, gamma)
            rows += own
            windows += parts
            # The two best of ours, and the three best of river.
            best = sorted(own, key=lambda row: row["error_percent"])
            shown = []
            for library, n in (("budgetrun", 2), ("river", 3)):
                shown += [row["model"] for row in best if row["library"] == library][:n]
            draw(spec.label, config.report.titles[spec.label], parts, shown, changes_of(spec))
            pd.DataFrame(rows).to_csv(FOLDER / "race.csv", index=False, float_format="%.6g")
            packed = {"method": "gzip", "mtime": 0}
            pd.DataFrame(windows).to_csv(FOLDER / "windows.csv.gz", index=False, compression=packed)
    (FOLDER / "race.md").write_text(page(rows))


def page(rows: list[Row]) -> str:
    """Return what was measured, as Markdown."""
    head = ["stream", "library", "model", "error, %", "rounds/s", "time ratio", "memory, kB"]
    table = [
        [row["dataset"], row["library"], row["model"], f"{row['error_percent']:.1f}", *speed_of(row)] for row in rows
    ]
    text = (__doc__ or "").split("\n\n")
    return "\n\n".join([f"# {text[0]}", *text[1:3], markdown_table(head, table), versions()]) + "\n"


if __name__ == "__main__":
    main()
