"""Seconds as ratios to those of one solver: what another machine's seconds can be compared with."""

from __future__ import annotations

from typing import Any

import pandas as pd

_STREAM = ["dataset", "task", "repetition"]


def with_ratios(runs: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Return runs with a column ``seconds_ratio``: their seconds over the mean of the reference's on the same stream.

    It is NaN where the reference has no finished run.
    """
    base = runs[runs["label"] == reference].groupby(_STREAM)["seconds"].mean().rename("of_reference")
    joined = runs.join(base, on=_STREAM)
    return runs.assign(seconds_ratio=joined["seconds"] / joined["of_reference"])


def printed_ratios(rows: list[dict[str, Any]], reference: str) -> list[dict[str, Any]]:
    """Return printed seconds over the printed seconds of the reference on the same dataset, where both are known."""
    base = {row["dataset"]: row["value"] for row in rows if row.get("label") == reference and row.get("value")}
    known = [row for row in rows if row.get("dataset") in base and row.get("value") is not None]
    return [{**row, "value": row["value"] / base[row["dataset"]]} for row in known]
