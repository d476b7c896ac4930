"""Seconds as ratios to those of one solver: what another machine's seconds can be compared with."""

from __future__ import annotations

from typing import Any

import pandas as pd

from budgetrun.store.optimum import problem_of

_STREAM = ["dataset", "task", "repetition"]


def with_ratios(runs: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Return runs with a column ``seconds_ratio``: their seconds over the mean of the reference's on the same stream.

    Of a reference that ran with several C, the runs with the same C count, if there are any. The ratio is NaN where it
    has no finished run.
    """
    keyed = runs.assign(problem=runs["parameters"].map(problem_of))
    own = keyed[keyed["label"] == reference]
    bases = (own.groupby(keys)["seconds"].mean().rename("base") for keys in ([*_STREAM, "problem"], _STREAM))
    of_problem, of_stream = (keyed.join(base, on=base.index.names)["base"] for base in bases)
    return runs.assign(seconds_ratio=runs["seconds"] / of_problem.fillna(of_stream))


def printed_ratios(rows: list[dict[str, Any]], reference: str) -> list[dict[str, Any]]:
    """Return printed seconds over the printed seconds of the reference on the same dataset, where both are known."""
    base = {row["dataset"]: row["value"] for row in rows if row.get("label") == reference and row.get("value")}
    known = [row for row in rows if row.get("dataset") in base and row.get("value") is not None]
    return [{**row, "value": row["value"] / base[row["dataset"]]} for row in known]
