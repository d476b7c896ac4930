"""The outcome of the comparisons, as a table on the terminal, in Markdown and in CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any


@dataclass
class Record:
    """One timed side of a comparison; a line of bench.csv.

    Attributes
    ----------
    benchmark : str
        usps_perceptrons, a9a_forgetron, a9a_perceptron, ijcnn1_projectron_pp, a9a_projectron_pp or
        a9a_projectron_pp_large.
    side : str
        ``plain loop`` or ``engine``.
    dtype, input : str
        float64 or float32; dense or csr.
    block_size : int or None
    processes : int
        Of one BLAS thread each.
    rounds, features, learners : int
    timed_learners : int
        Learners that were really run; ``seconds`` is scaled up from them to all ``learners``.
    mistakes : int
        Of the learners timed, together.
    mistakes_difference : int or None
        Of the engine: mistakes more than the plain loop's or, where that ran only some of the learners, more than
        the engine's own in float64.
    seconds : float
        The best time.
    times_faster : float or None
        Than the plain loop with as many processes.
    goal : float or None
        For ``times_faster``.
    floor_seconds, floor_share : float or None
        What the products, solves and exponentials alone took, and that as a share of ``seconds``.
    """

    benchmark: str
    side: str
    dtype: str
    input: str
    block_size: int | None
    processes: int
    rounds: int
    features: int
    learners: int
    timed_learners: int
    mistakes: int
    mistakes_difference: int | None
    seconds: float
    times_faster: float | None = None
    goal: float | None = None
    floor_seconds: float | None = None
    floor_share: float | None = None


HEADINGS = ("side", "numbers", "input", "block", "processes", "seconds", "times faster", "goal", "floor", "mistakes")


def cells(record: Record) -> tuple[str, ...]:
    """Return a record's cells under `HEADINGS`, rounded for reading."""
    scaled = record.timed_learners < record.learners
    difference = f" ({record.mistakes_difference:+,})" if record.mistakes_difference else ""
    goal = ""
    if record.goal is not None and record.times_faster is not None:
        goal = f"{record.goal:g}: {'met' if record.times_faster >= record.goal else 'missed'}"
    return (
        record.side,
        record.dtype,
        record.input,
        str(record.block_size or ""),
        str(record.processes),
        f"{record.seconds:.3g}" + (f" (scaled from {record.timed_learners} learners)" if scaled else ""),
        "" if record.times_faster is None else f"{record.times_faster:.1f}",
        goal,
        "" if record.floor_share is None else f"{100 * record.floor_share:.0f}%",
        f"{record.mistakes:,}{difference}",
    )


def text_table(records: Sequence[Record]) -> str:
    """Return records as lines of aligned columns."""
    rows = [HEADINGS, *map(cells, records)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def markdown_table(records: Sequence[Record]) -> str:
    """Return records as a Markdown table."""
    rows = [HEADINGS, ("---",) * len(HEADINGS), *map(cells, records)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def write_csv(path: Path, records: Sequence[Any]) -> None:
    """Write dataclass records of one kind, a line each; numbers to six digits, empty for None."""
    if not records:
        path.unlink(missing_ok=True)
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(records[0])], lineterminator="\n")
        writer.writeheader()
        for record in records:
            row = asdict(record)
            writer.writerow({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()})
