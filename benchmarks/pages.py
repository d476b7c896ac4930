"""The files of the benchmarks: tables as CSV, pages in Markdown, and log-log figures of growth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from statistics import linear_regression
from typing import TYPE_CHECKING, Any

import pandas as pd

from benchmarks.cases import Comparison
from budgetrun import engine
from budgetrun.base.errors import counted
from budgetrun.results.plotting import COLOURS, DASHES, MARKERS, number_log_axis, save, styled
from budgetrun.runner import provenance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A panel is made higher by this share of its range, for the legend; an axis that spans more has ticks at powers of ten.
_ROOM, _WIDE = 0.35, 300.0

BENCH = """# The engine compared with plain loops

Written by `make bench`, on one core. The two sides of a comparison run in turn, several times; the best processor time
of each counts (one run for scikit-learn), scaled from the timed learners to all. The plain loop computes
one kernel row per round in numpy, on dense examples. scikit-learn runs a linear learner on as many random features as
the budget; it may be faster or more accurate.
{comparisons}{first_use}
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
FIRST_USE = """
## First use

Processor seconds of the process that calls `fit`, on generated rows of zeros and ones: with an empty cache, where it
begins at once while another process compiles (*first*), or where it compiles itself before it begins (*compiled
first*); in a new process with a full cache, and once more in the process that had compiled (*again*).

{table}
"""
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


def draw(path: Path, title: str, panels: Mapping[str, str], points: Sequence[Any], who: str, how: str) -> None:
    """Draw points as PNG: one panel per entry of ``panels``, which are the labels of its axis, two in a row.

    ``who`` and ``how`` are the columns of points by which a line has its color and marker, and its dashes.
    """
    line_of = attrgetter(who, how)
    names, ways = (list(dict.fromkeys(part)) for part in zip(*map(line_of, points), strict=True))
    n_rows = (len(panels) + 1) // 2
    with styled(11.0, 4.2 * n_rows) as figure:
        for i, (panel, label) in enumerate(panels.items()):
            axes = figure.add_subplot(n_rows, 2, i + 1)
            among = [point for point in points if point.panel == panel]
            for name, way in dict.fromkeys(map(line_of, among)):
                line = [point for point in among if line_of(point) == (name, way)]
                k, dashes = names.index(name), DASHES[ways.index(way)]
                slopes = f": slope {slope(line):.2f}" if len(line) > 1 else ""
                xs, ys = [point.x for point in line], [point.seconds for point in line]
                axes.plot(xs, ys, label=f"{name}, {way}{slopes}", color=COLOURS[k], marker=MARKERS[k], linestyle=dashes)
            _finish(axes, label)
        figure.suptitle(title, x=0.01, ha="left", weight="bold")
        save(figure, path.with_suffix(".png"))


def _finish(axes: Axes, label: str) -> None:
    """Make both axes logarithmic, labeled with plain numbers, with room for the legend above the lines."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top * (top / bottom) ** _ROOM)
    for axis in (axes.xaxis, axes.yaxis):
        low, high = axis.get_view_interval()
        number_log_axis(axis, (1.0,) if high > _WIDE * low else (1.0, 2.0, 5.0))
    axes.set_xlabel(label)
    axes.set_ylabel("seconds")
    axes.legend(loc="upper left", fontsize=9.5, frameon=True, framealpha=1, edgecolor="none")


def slope(line: Sequence[Any]) -> float:
    """Return the exponent of growth over the upper half of a line, by least squares on the logarithms."""
    upper = line[-max(2, (len(line) + 1) // 2) :]
    return linear_regression([math.log(point.x) for point in upper], [math.log(point.seconds) for point in upper]).slope
