"""The figures of growth: log-log panels, with a line for each learner or solver and each way of running it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetrun.bench.growth import FORGETRON, OTHERS, PERCEPTRON, PROJECTRON, Point
from budgetrun.bench.solver_growth import AXES as SOLVER_AXES
from budgetrun.bench.solver_growth import KNOWN, REACHED, SOLVERS, SolverPoint
from budgetrun.results.plotting import STYLE, number_log_axis, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AXES = {
    "rounds": "rounds T",
    "budget": "budget B",
    "features": "features d",
    "learners": "learners on one stream",
    "support_size": "support examples at the end, by eta",
}
_SOLID: dict[str, Any] = {"linestyle": "-"}
_DOTTED: dict[str, Any] = {"linestyle": ":"}
_DASHED: dict[str, Any] = {"linestyle": "--", "markerfacecolor": "white"}
# By learner, and by side.
_LEARNERS = {
    FORGETRON: ("os^", _SOLID),
    PERCEPTRON: ("os^", _DASHED),
    PROJECTRON: ("DDD", _SOLID),
    **{name: (3 * marker, _DOTTED) for name, marker in zip(OTHERS, ("^", "v", "D"), strict=True)},
}
_SIDES = {"plain loop": "#D55E00", "engine": "#0072B2", "engine, BLAS": "#009E73"}
_SOLVERS = dict(zip(SOLVERS, (("#0072B2", "s"), ("#D55E00", "^"), ("#009E73", "D"), ("#CC79A7", "v")), strict=True))
_PLACES: Any = [["rounds", "budget"], ["features", "learners"], ["support_size", "support_size"]]
# A panel is made higher by this share of its range, for the legend; an axis that spans more has ticks at powers of ten.
_ROOM, _WIDE = 0.35, 300.0


def draw_growth(points: Sequence[Point], folder: Path) -> list[Path]:
    """Draw growth.png and growth.svg into a folder and return their paths."""
    title = "Time of the engine and of a plain loop, one core"
    return _draw(folder / "growth", title, (10.5, 12.0), _PLACES, points)


def draw_solver_growth(points: Sequence[SolverPoint], folder: Path) -> list[Path]:
    """Draw solvers_growth.png and solvers_growth.svg into a folder and return their paths."""
    title = "Time of the batch solvers, one core, generated data, C = 1"
    return _draw(folder / "solvers_growth", title, (11.5, 6.0), [list(SOLVER_AXES)], points)


def _draw(
    path: Path,
    title: str,
    size: tuple[float, float],
    places: Any,
    points: Sequence[Point] | Sequence[SolverPoint],
) -> list[Path]:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        for panel, axes in figure.subplot_mosaic(places).items():
            learners = [point for point in points if isinstance(point, Point) and point.panel == panel]
            solvers = [point for point in points if isinstance(point, SolverPoint) and point.panel == panel]
            if learners:
                _learner_panel(axes, str(panel), learners)
            elif solvers:
                _solver_panel(axes, str(panel), solvers)
        figure.suptitle(title, x=0.01, ha="left", weight="bold")
        paths = [path.with_suffix(".png"), path.with_suffix(".svg")]
        save(figure, *paths)
    return paths


def _learner_panel(axes: Axes, panel: str, points: list[Point]) -> None:
    for learner, (markers, style) in _LEARNERS.items():
        for (side, color), marker in zip(_SIDES.items(), markers, strict=True):
            line = [point for point in points if (point.learner, point.side) == (learner, side)]
            if line:
                _line(axes, line, f"{learner}, {side}", color=color, marker=marker, **style)
    _finish(axes, AXES[panel], _fixed(panel, points))


def _solver_panel(axes: Axes, panel: str, points: list[SolverPoint]) -> None:
    for name, (color, marker) in _SOLVERS.items():
        for kind, by, style in ((REACHED, "", _SOLID), (KNOWN, ", by its own bound", _DASHED)):
            line = [point for point in points if (point.solver, point.kind) == (name, kind)]
            if line:
                _line(axes, line, f"{name}{by}", color=color, marker=marker, **style)
    fixed = f"delta = {points[0].delta:g}" if panel == "examples" else f"N = {points[0].examples:,}"
    _finish(axes, SOLVER_AXES[panel], f"{fixed}, d = {points[0].features}")


def _line(axes: Axes, line: Sequence[Point] | Sequence[SolverPoint], label: str, **style: Any) -> None:
    if len(line) > 1:
        label += f": slope {slope(line):.2f}"
    axes.plot([point.x for point in line], [point.seconds for point in line], label=label, **style)


def _finish(axes: Axes, x_label: str, title: str) -> None:
    """Make both axes logarithmic, labeled with plain numbers, with room for the legend above the lines."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top * (top / bottom) ** _ROOM)
    for axis in (axes.xaxis, axes.yaxis):
        low, high = axis.get_view_interval()
        number_log_axis(axis, (1.0,) if high > _WIDE * low else (1.0, 2.0, 5.0))
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
    """Return what is fixed in a panel, for example ``B = 100, d = 20, 1 learner``."""
    point = next(p for p in points if p.learner != PERCEPTRON)
    parts = {
        "rounds": f"T = {point.rounds:,}",
        "budget": f"B = {point.budget:,}" if point.budget else "",
        "features": f"d = {point.features:,}",
        "learners": f"{point.learners} learner",
    }
    return ", ".join(text for name, text in parts.items() if text and name != panel)
