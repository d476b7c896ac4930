"""The outcome of the comparisons as a table on the terminal, in Markdown and in CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from budgetrun.base.files import explained, write


@dataclass
class Record:
    """One timed side of a comparison; a row of bench.csv."""

    benchmark: str  # the name of one of `budgetrun.bench.run.COMPARISONS`
    side: str  # plain loop, engine, or another library
    input: str  # dense or csr
    rounds: int
    features: int
    learners: int
    timed_learners: int  # those that were run; `seconds` is scaled up from them to all learners
    timed_rounds: int  # likewise
    mistakes: int  # of all timed learners, in all timed rounds
    mistakes_difference: int | None  # the engine's, minus those of the plain loop
    error_rate: float  # mistakes per timed learner and round
    seconds: float  # the best processor time
    times_faster: float | None = None  # than the plain loop
    goal: float | None = None  # for `times_faster`
    floor_seconds: float | None = None  # the time of the kernel values and score sums alone
    floor_share: float | None = None  # of `seconds`


HEADINGS = ("side", "input", "seconds", "times faster", "goal", "floor", "mistakes", "error rate")


def cells(record: Record) -> tuple[str, ...]:
    """Return a record's cells under `HEADINGS`, rounded for reading."""
    timed = ""
    if record.timed_learners < record.learners:
        timed = f" (scaled from {record.timed_learners} learners)"
    elif record.timed_rounds < record.rounds:
        timed = f" (scaled from {record.timed_rounds:,} rounds)"
    difference = f" ({record.mistakes_difference:+,})" if record.mistakes_difference else ""
    goal = ""
    if record.goal is not None and record.times_faster is not None:
        goal = f"{record.goal:g}: {'met' if record.times_faster >= record.goal else 'missed'}"
    return (
        record.side,
        record.input,
        f"{record.seconds:.3g}{timed}",
        "" if record.times_faster is None else f"{record.times_faster:.2g}",
        goal,
        "" if record.floor_share is None else f"{100 * record.floor_share:.0f}%",
        f"{record.mistakes:,}{difference}",
        f"{100 * record.error_rate:.1f}%",
    )


def text_table(records: Sequence[Record]) -> str:
    """Return records as lines of aligned columns."""
    rows = [HEADINGS, *map(cells, records)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows of cells as a Markdown table."""
    lines = [headings, ("---",) * len(headings), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_csv(path: Path, records: Sequence[Any]) -> None:
    """Write dataclass records of one kind, one row each; numbers with six digits, empty for None."""
    if not records:
        with explained(path):
            path.unlink(missing_ok=True)
        return
    text = io.StringIO()
    writer = csv.DictWriter(text, [f.name for f in fields(records[0])], lineterminator="\n")
    writer.writeheader()
    for record in records:
        row = asdict(record)
        writer.writerow({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()})
    write(path, text.getvalue())
