"""The files of the benchmarks: tables as CSV, and pages in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.cases import Comparison
from budgetrun import engine
from budgetrun.base.errors import counted
from budgetrun.runner import provenance

BENCH = """# The engine compared with plain loops

Written by `make bench`, on one core. The two sides of a comparison run in turn, several times; the best processor time
of each counts (one run for scikit-learn), scaled from the timed learners to all. The plain loop computes
one kernel row per round in numpy, on dense examples. scikit-learn runs a linear learner on as many random features as
the budget; it may be faster or more accurate.
{comparisons}
## Growth

![Time against rounds, budget, features, learners, support size](growth.png)

Slopes are the exponents of growth over the upper half of a line. At every point both sides make the same mistakes
until rounding matters, that is, over the `agreed_rounds` of growth.csv. The engine alone runs some learners.
{end}"""
SOLVERS = """# The batch solvers

Written by `make bench`, on one core. Times are processor seconds, without compilation.

## MPU and LIBLINEAR to the same objective

MPU stops at delta_aft <= 1e-4 (gap), by its own bound. LIBLINEAR, which has none, is run with lower and lower
tolerances until its objective is no larger than MPU's; only the last of these runs counts. Both start from the examples
as they were read, so the time to convert them is included. Each runs several times, in turn; the best time counts.

{races}

## Growth

![Time of the solvers against the number of examples and against 1 / delta](solvers_growth.png)

*reached*: seconds until the objective is within delta of the optimum, relatively. *known*: seconds until the solver's
own bound guarantees it; LIBLINEAR (dcd) and Pegasos have none. The examples are normal, of squared norm about 1,
labeled by a plane, with 10% of the labels flipped. Slopes are the exponents of growth over the upper half of a line.
Pegasos makes at most {steps:,} steps; each point of LIBLINEAR is a separate run.
{end}"""
# Shown above a table, or not at all.
HIDDEN = ("benchmark", "rounds", "features", "learners")


def section(comparison: Comparison) -> str:
    """Return a comparison's part of the page."""
    first, notes = comparison.records[0], "\n".join(f"- {note}" for note in comparison.notes)
    size = f"{first.rounds:,} rounds, {first.features} features, {counted(first.learners, 'learner')}."
    return f"\n## {comparison.title}\n\n{size}\n\n{table(comparison.records, HIDDEN)}\n\n{notes}\n"


def end(missing: Sequence[str]) -> str:
    """Return the last lines of a page: what was left out, and the versions."""
    found = provenance.commit()
    commit = f"{found['commit'] or 'unknown'}{', edited' if found['dirty'] else ''}"
    used = {"commit": commit, "engine revision": engine.REVISION} | provenance.versions()
    lines = ["", "## Left out", "", *(f"- {sentence}" for sentence in missing)] if missing else []
    lines += ["", "## Versions", "", *(f"- {name}: {version}" for name, version in used.items())]
    return "\n".join(lines) + "\n"


def table(records: Sequence[Any], hidden: Sequence[str] = ()) -> str:
    """Return dataclass records as a Markdown table of their fields, without those that are empty everywhere."""
    rows = [asdict(record) for record in records]
    names = [name for name in (rows or [{}])[0] if name not in hidden and any(row[name] is not None for row in rows)]
    return markdown_table([name.replace("_", " ") for name in names], [[_cell(row[n]) for n in names] for row in rows])


def _cell(value: Any) -> str:
    if isinstance(value, float) and abs(value) < 1000:
        return f"{value:.3g}"
    return "" if value is None else value if isinstance(value, str) else f"{value:,}"


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows of cells as a Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_csv(path: Path, records: Sequence[Any]) -> None:
    """Write dataclass records of one kind, one row each; numbers with six digits, empty for None."""
    if records:
        pd.DataFrame(map(asdict, records)).to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
    else:
        path.unlink(missing_ok=True)
