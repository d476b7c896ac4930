"""The figure of growth: five panels, log-log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetrun.bench.growth import FORGETRON, PERCEPTRON, PROJECTRON, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from budgetrun.bench.solver_growth import SolverPoint

AXES = {
    "rounds": "rounds T",
    "budget": "budget B",
    "features": "features d",
    "learners": "learners over one stream",
    "support_size": "support examples in the end, by eta",
}
LOOKS: dict[tuple[str, str], dict[str, Any]] = {
    (FORGETRON, "plain loop"): {"color": "#D55E00", "marker": "o", "linestyle": "-"},
    (FORGETRON, "engine"): {"color": "#0072B2", "marker": "s", "linestyle": "-"},
    (PERCEPTRON, "plain loop"): {"color": "#D55E00", "marker": "o", "linestyle": "--", "markerfacecolor": "white"},
    (PERCEPTRON, "engine"): {"color": "#0072B2", "marker": "s", "linestyle": "--", "markerfacecolor": "white"},
    (PROJECTRON, "plain loop"): {"color": "#D55E00", "marker": "D", "linestyle": "-"},
    (PROJECTRON, "engine"): {"color": "#0072B2", "marker": "D", "linestyle": "-"},
}
# The panels' places: the last is wide.
_PLACES: list[Any] = [["rounds", "budget"], ["features", "learners"], ["support_size", "support_size"]]
# A panel's height is stretched by this share, for its legend; an axis that spans more gets ticks at powers of ten only.
_ROOM, _WIDE = 0.35, 300.0


def draw_growth(points: Sequence[Point], folder: Path) -> list[Path]:
    """Draw growth.png and growth.svg into a folder and return their paths."""
    import matplotlib
    from matplotlib.figure import Figure

    from budgetrun.report.looks import DOTS_PER_INCH, STYLE

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 12.0), layout="constrained")
        for panel, axes in figure.subplot_mosaic(_PLACES).items():
            _panel(axes, panel, [point for point in points if point.panel == panel])
        figure.suptitle("Time of the engine and of a plain loop, one core, float64", x=0.01, ha="left", weight="bold")
        paths = [folder / "growth.png", folder / "growth.svg"]
        figure.savefig(paths[0], dpi=DOTS_PER_INCH, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None, "Creator": None})
    return paths


def _panel(axes: Axes, panel: str, points: list[Point]) -> None:
    for (learner, side), look in LOOKS.items():
        line = [point for point in points if (point.learner, point.side) == (learner, side)]
        if not line:
            continue
        label = f"{learner}, {side}: slope {slope(line):.2f}"
        axes.plot([p.x for p in line], [p.seconds for p in line], label=label, **look)
    finish(axes, AXES[panel], _fixed(panel, points))


def finish(axes: Axes, x_label: str, title: str) -> None:
    """Make both axes logarithmic, with numbers people read, and room for the legend above the lines."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.set_yscale("log")
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top * (top / bottom) ** _ROOM)
    for axis in (axes.xaxis, axes.yaxis):
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1.0,) if high > _WIDE * low else (1.0, 2.0, 5.0)))
        axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_xlabel(x_label)
    axes.set_ylabel("seconds")
    axes.set_title(title, loc="left", fontsize=10.5, color="#555555")
    axes.legend(loc="upper left", fontsize=9.5, frameon=True, framealpha=1, edgecolor="none")


def slope(line: Sequence[Point] | Sequence[SolverPoint]) -> float:
    """Return the exponent of growth over the upper half of a line, by least squares on the logarithms."""
    upper = line[-max(2, (len(line) + 1) // 2) :]
    xs, ys = ([math.log(value) for value in values] for values in zip(*((p.x, p.seconds) for p in upper), strict=True))
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def _fixed(panel: str, points: Sequence[Point]) -> str:
    """Return what is held fixed in a panel, such as ``B = 100, d = 20, 1 learner``."""
    point = next(p for p in points if p.learner != PERCEPTRON)
    parts = {
        "rounds": f"T = {point.rounds:,}",
        "budget": f"B = {point.budget:,}" if point.budget else "",
        "features": f"d = {point.features:,}",
        "learners": f"{point.learners} learner",
    }
    return ", ".join(text for name, text in parts.items() if text and name != panel)
