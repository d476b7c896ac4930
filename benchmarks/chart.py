"""The figures of growth: log-log panels, with a line for each learner or solver and each way of running it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetrun.results.plotting import COLOURS, DASHES, MARKERS, STYLE, number_log_axis, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A panel is made higher by this share of its range, for the legend; an axis that spans more has ticks at powers of ten.
_ROOM, _WIDE = 0.35, 300.0


def draw(path: Path, title: str, panels: Mapping[str, str], points: Sequence[Any], who: str, how: str) -> None:
    """Draw points as PNG and SVG: one panel per entry of ``panels``, which are the labels of its axis, two in a row.

    ``who`` and ``how`` are the columns of points by which a line has its color and marker, and its dashes.
    """
    import matplotlib
    from matplotlib.figure import Figure

    line_of = attrgetter(who, how)
    names, ways = (list(dict.fromkeys(part)) for part in zip(*map(line_of, points), strict=True))
    n_rows = (len(panels) + 1) // 2
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11.0, 4.2 * n_rows), layout="constrained")
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
        save(figure, path.with_suffix(".png"), path.with_suffix(".svg"))


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
    xs, ys = ([math.log(value) for value in values] for values in zip(*((p.x, p.seconds) for p in upper), strict=True))
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)
