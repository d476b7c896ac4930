"""The figures of a report, as PNG and SVG, with the printed numbers as hollow markers."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from budgetrun.plotting import save, slug
from budgetrun.report.budget_panel import BudgetPanel
from budgetrun.report.cells import NO_BUDGET, Measurements, measure
from budgetrun.report.layout import Table
from budgetrun.report.looks import CIRCLE, HOLLOW, STYLE, Look, hand_out
from budgetrun.report.notes import warnings
from budgetrun.report.panels import Panel, y_of
from budgetrun.report.quantities import ONLINE_ERROR, SUPPORT_SIZE, Quantity
from budgetrun.report.rounds_panel import RoundsPanel
from budgetrun.report.seconds_panel import SecondsPanel
from budgetrun.report.support_panel import SupportPanel
from budgetrun.report.traces import Traces
from budgetrun.store.curves import Curves
from budgetrun.store.read import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DECADE = 10.0
# An axis with more decades than this has no room for numbers between them.
MOST_DECADES = 3.0
# A legend with more rows than this makes the figure higher, by so many inches a row, and not the axes lower.
FREE_LEGEND_ROWS, LEGEND_ROW = 3, 0.24


@dataclass(frozen=True)
class Drawn:
    """A figure of the report: ``alt`` says in words what it shows.

    ``paths`` are its PNG and its SVG. Where it could not be drawn ``note`` says why, and ``paths`` are those of an
    earlier report, or none.
    """

    name: str
    title: str
    caption: str
    alt: str
    paths: list[Path]
    note: str = ""

    @property
    def written(self) -> list[Path]:
        """The files that were written now."""
        return [] if self.note else self.paths


def draw(results: Results, made: list[Table]) -> list[Drawn]:
    """Write ``figures/<name>.png`` and ``.svg`` of each figure that the config asks for, or one a dataset.

    Parameters
    ----------
    results : Results
    made : list of Table
        The report's tables, for their printed numbers.

    Returns
    -------
    list of Drawn
        Without the figures that have no finished run to show.
    """
    import matplotlib

    panels = _panels(results, made)
    looks = _looks(results, panels)
    folder = results.folder / "figures"
    drawn = []
    with matplotlib.rc_context(STYLE):
        for panel in panels:
            if not panel.drawn():
                continue
            if panel.problem():
                drawn.append(_kept(results, panel, folder))
            else:
                folder.mkdir(exist_ok=True)
                drawn.append(_write(results, looks, panel, folder))
    return drawn


def _looks(results: Results, panels: list[Panel]) -> dict[str, Look]:
    """Hand out looks in the order in which the figures name the learners, to lines of single settings last."""
    names = [name for key in ("lines", "band", "point") for panel in panels for name in panel.names(key)]
    circles = {panel.pointed[0]: CIRCLE for panel in panels if panel.pointed}
    others = [name for name in names if name not in circles]
    return hand_out(sorted(others, key=lambda name: name not in results.labels)) | circles


def _panels(results: Results, made: list[Table]) -> list[Panel]:
    measured = {ONLINE_ERROR: measure(results.runs, results.failed)}
    specs = results.report.get("figures") or _default_specs(results, measured[ONLINE_ERROR])
    wanted: list[Quantity] = [y_of(spec) for spec in specs]
    wanted += [SUPPORT_SIZE] if any(spec.get("x") == "support_size" for spec in specs) else []
    measured |= {q: measure(results.runs, results.failed, q) for q in wanted if q not in measured}
    curves, traces = Curves(results.folder / "curves"), Traces(results.folder / "curves")
    panels: list[Panel] = []
    for spec in specs:
        match spec.get("x"):
            case "rounds":
                panels.append(RoundsPanel(results, spec, measured, made, curves))
            case "support_size":
                panels.append(SupportPanel(results, spec, measured, made))
            case "seconds":
                panels.append(SecondsPanel(results, spec, measured, made, traces))
            case _:
                panels.append(BudgetPanel(results, spec, measured, made))
    return panels


def _default_specs(results: Results, measurements: Measurements) -> list[dict[str, Any]]:
    """Return a figure for each dataset whose learners have at least two budgets; of solvers one for each dataset."""
    specs: list[dict[str, Any]] = []
    if results.of_solvers:
        every = [(f"gap_{slug(dataset)}", dataset) for dataset in results.datasets]
        lines: Any = {"lines": results.labels, "x": "seconds", "y": "gap"}
        return [{"name": name, "dataset": dataset, **lines} for name, dataset in every]
    for i, dataset in enumerate(results.datasets):
        here = [place for place in measurements if place.dataset == dataset]
        budgets = {place.budget for place in here if not place.budget.is_everywhere}
        if len(budgets) < 2:
            continue
        labels = [label for label in results.labels if any(place.label == label for place in here)]
        without = [label for label in labels if any(p.label == label and p.budget == NO_BUDGET for p in here)]
        lines = [label for label in labels if label not in without]
        name = f"error_{slug(dataset)}"
        if name in [spec["name"] for spec in specs]:
            name = f"{name}_{i}"
        specs.append({"name": name, "dataset": dataset, "lines": lines, "point": without})
    return specs


def _kept(results: Results, panel: Panel, folder: Path) -> Drawn:
    """Return a figure that cannot be drawn, with the files of an earlier report where they are there."""
    paths = _paths(panel, folder)
    again = f"{panel.problem()}; to draw it anew, type: budgetrun sweep CONFIG --force"
    if not all(path.is_file() for path in paths):
        return Drawn(panel.name, panel.title, "", "", [], f"Not drawn: {again}")
    return Drawn(panel.name, panel.title, panel.caption(), panel.alt(), paths, f"As an earlier report drew it: {again}")


def _paths(panel: Panel, folder: Path) -> list[Path]:
    return [folder / f"{slug(panel.name)}.png", folder / f"{slug(panel.name)}.svg"]


def _write(results: Results, looks: dict[str, Look], panel: Panel, folder: Path) -> Drawn:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.6, 5.2), layout="constrained")
    axes = figure.add_subplot()
    panel.draw(axes, looks)
    _dress(figure, axes, looks, panel)
    paths = _paths(panel, folder)
    save(figure, *paths)
    caption = " ".join([panel.caption(), *warnings(results)])
    return Drawn(panel.name, panel.title, caption, panel.alt(), paths)


def _dress(figure: Figure, axes: Axes, looks: dict[str, Look], panel: Panel) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter

    _scale(axes, panel)
    if not panel.y.is_percent and axes.get_yscale() == "linear":
        axes.yaxis.set_major_formatter(FuncFormatter(_number))
    panel.frame(axes)
    axes.set_xlabel(panel.x_label())
    axes.set_ylabel(panel.y.axis)

    handles, labels = axes.get_legend_handles_labels()
    for handle, label in panel.handles(looks):
        handles.append(handle)
        labels.append(label)
    if panel.has_print:
        handles.append(Line2D([], [], marker="s", color="#444444", **HOLLOW))
        labels.append("hollow: printed")
    columns = 3 if max(map(len, labels)) <= 22 else 2 if max(map(len, labels)) <= 36 else 1
    rows = -(-len(labels) // columns)
    figure.set_figheight(figure.get_figheight() + LEGEND_ROW * max(0, rows - FREE_LEGEND_ROWS))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=10, numpoints=1)

    title = textwrap.wrap(panel.title, 58) or [panel.title]
    named = "" if panel.title == panel.dataset else f"{panel.dataset}: "
    about = textwrap.wrap(named + panel.counts(), 84)
    axes.set_title("\n".join(title), loc="left", fontsize=13, fontweight="bold", pad=14 + 12 * len(about))
    axes.annotate(
        "\n".join(about),
        (0, 1),
        xycoords="axes fraction",
        xytext=(0, 8),
        textcoords="offset points",
        fontsize=9.5,
        color="#555555",
        verticalalignment="bottom",
    )


def _scale(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    xs = [x for x in panel.xs() if x > 0]
    spread = max(xs) / min(xs) if xs else 1.0
    if (spread > DECADE if panel.log_x is None else panel.log_x) and xs:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if spread <= DECADE**MOST_DECADES else (1.0,)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    elif panel.whole_x:
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(_number))


def _number(value: float, _: int) -> str:
    return f"{value:,.10g}"
