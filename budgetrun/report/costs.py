"""What the runs of a results folder took."""

from __future__ import annotations

from typing import Any

from budgetrun.report.layout import Listing
from budgetrun.store.read import Results


def build(results: Results) -> list[Listing]:
    """Return the sums of the runs' seconds and, where the manifest has them, the times of the parts."""
    sums = results.runs.groupby(["dataset", "label"])["seconds"].sum().to_dict()
    labels = results.labels
    rows: list[list[Any]] = []
    for dataset in results.datasets:
        own = [sums.get((dataset, label)) for label in labels]
        rows.append([dataset, *own, sum(value for value in own if value is not None)])
    swept = any(setting.items for setting in results.runs["setting"].unique())
    over = "tasks, repetitions, seeds, budgets and settings" if swept else "tasks, repetitions, seeds and budgets"
    caption = f"Seconds recorded with the runs, summed over {over}."
    if results.of_solvers:
        compiling = results.runs["compile_seconds"].sum()
        caption += f" Compiling, which does not count, took {compiling:,.1f} s more."
    listings = [Listing("seconds", caption, ["dataset", *labels, "all"], rows, 1)]
    parts = results.manifest.get("parts") or []
    if parts:
        rows = [
            [
                str(part.get("dataset", "")),
                ", ".join(map(str, part.get("algorithms") or [])),
                part.get("runs"),
                part.get("wall_seconds"),
                part.get("cpu_seconds"),
            ]
            for part in parts
        ]
        caption = "Times of the sweep's parts: the learners of a part read one stream together."
        header = ["dataset", "algorithms", "runs", "wall_seconds", "cpu_seconds"]
        listings.append(Listing("parts", caption, header, rows, 2))
    return listings
