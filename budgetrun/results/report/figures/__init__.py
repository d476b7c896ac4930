"""The figures of a report, as PNG and SVG, with the published numbers as hollow markers.

Each module of this folder draws the figures over one kind of horizontal axis.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from budgetrun.base import registry
from budgetrun.base.files import make_folder
from budgetrun.config.quantities import GAP, QUANTITIES
from budgetrun.config.schema import FigureSpec
from budgetrun.results.plotting import (
    CIRCLE,
    HOLLOW,
    STYLE,
    Look,
    hand_out,
    number_log_axis,
    plain_number,
    save,
    slug,
)
from budgetrun.results.report.aggregate import NO_BUDGET
from budgetrun.results.report.figures.panel import Numbers, Panel
from budgetrun.results.report.notes import warnings
from budgetrun.results.store.read import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DECADE = 10.0
# An axis with more decades than this has no room for numbers between them.
MOST_DECADES = 3.0
# Each further row of the legend makes the figure higher, by so many inches, instead of the axes lower.
FREE_LEGEND_ROWS, LEGEND_ROW = 3, 0.24


@dataclass(frozen=True)
class Drawn:
    """A figure of the report; ``alt`` says in words what it shows.

    ``paths`` are its PNG, which pages show, and its SVG. Where it could not be drawn ``note`` says why, and ``paths``
    are those of an earlier report, or none.
    """

    title: str
    caption: str
    alt: str
    paths: list[Path]
    note: str = ""

    @property
    def written(self) -> list[Path]:
        """The files that were written now."""
        return [] if self.note else self.paths


def draw(results: Results) -> list[Drawn]:
    """Write ``figures/<name>.png`` and ``.svg`` of each figure that the config asks for, or of default ones.

    Returns
    -------
    list of Drawn
        Without the figures that have no finished run to show.
    """
    import matplotlib

    numbers = Numbers(results)
    specs = [(spec, [spec.point] if spec.point else []) for spec in results.report.figures]
    kinds = {x: kind for kind in registry.classes(__name__, Panel) for x in kind.axes}  # type: ignore[type-abstract]
    panels = [kinds[spec.x](numbers, spec, points) for spec, points in specs or _default_specs(numbers)]
    looks = _looks(results, panels)
    with matplotlib.rc_context(STYLE):
        return [_drawn(panel, looks, results) for panel in panels if panel.series]


def _looks(results: Results, panels: list[Panel]) -> dict[str, Look]:
    """Hand out looks in the order in which the figures name the labels, to lines of single settings last."""
    names = [name for key in ("lines", "band", "point") for panel in panels for name in panel.names[key]]
    circles = {results.title(panel.pointed[0]): CIRCLE for panel in panels if panel.pointed}
    others = [name for name in names if name not in circles]
    titles = set(map(results.title, results.labels))
    return hand_out(sorted(others, key=lambda name: name not in titles)) | circles


def _default_specs(numbers: Numbers) -> list[tuple[FigureSpec, list[str]]]:
    """Return a figure for each dataset with at least two budgets, or for each dataset of runs with an objective."""
    results = numbers.results
    # Names of datasets may be none that a config could give a figure.
    made = FigureSpec.model_construct
    if results.of_batch:
        lines = tuple(results.labels)
        return [
            (made(name=f"gap_{slug(dataset)}", dataset=dataset, lines=lines, x="seconds", y=GAP.name), [])
            for dataset in results.datasets
        ]
    error = QUANTITIES[results.config.problem.error]
    specs: list[tuple[FigureSpec, list[str]]] = []
    for i, dataset in enumerate(results.datasets):
        here = [place for place in numbers.measured(error) if place.dataset == dataset]
        if len({place.budget for place in here if not place.budget.is_everywhere}) < 2:
            continue
        without = {place.label for place in here if place.budget == NO_BUDGET}
        lines = tuple(label for label in results.labels if label in {place.label for place in here} - without)
        name = f"error_{slug(dataset)}"
        name += f"_{i}" if name in [spec.name for spec, _ in specs] else ""
        specs.append(
            (
                made(name=name, dataset=dataset, lines=lines, y=error.name),
                [label for label in results.labels if label in without],
            )
        )
    return specs


def _drawn(panel: Panel, looks: dict[str, Look], results: Results) -> Drawn:
    """Write a figure; one that cannot be drawn keeps the files of an earlier report where these are there."""
    paths = [results.folder / "figures" / f"{slug(panel.spec.name)}.{suffix}" for suffix in ("png", "svg")]
    if not panel.problem:
        _write(panel, looks, paths)
        return Drawn(panel.title, " ".join([panel.caption(), *warnings(results)]), panel.alt(), paths)
    again = f"{panel.problem}; to draw it again, type: budgetrun sweep CONFIG --force"
    if not paths[0].is_file():
        return Drawn(panel.title, "", "", [], f"Not drawn: {again}")
    return Drawn(panel.title, panel.caption(), panel.alt(), paths, f"As drawn for an earlier report: {again}")


def _write(panel: Panel, looks: dict[str, Look], paths: list[Path]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.6, 5.2), layout="constrained")
    axes = figure.add_subplot()
    for series in panel.series:
        series.draw(axes, looks[series.name])
    _set_scales(axes, panel)
    panel.frame(axes)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y.axis)
    _add_legend(figure, axes, panel)
    _add_title(axes, panel)
    make_folder(paths[0].parent)
    save(figure, *paths)


def _set_scales(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import MaxNLocator

    xs = [x for x in panel.xs() if x > 0]
    spread = max(xs) / min(xs) if xs else 1.0
    if (spread > DECADE if panel.log_x is None else panel.log_x) and xs:
        axes.set_xscale("log")
        number_log_axis(axes.xaxis, (1.0, 2.0, 5.0) if spread <= DECADE**MOST_DECADES else (1.0,))
    elif panel.whole_x:
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
    for axis in (axes.xaxis,) if panel.y.is_percent else (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(plain_number)


def _add_legend(figure: Figure, axes: Axes, panel: Panel) -> None:
    from matplotlib.lines import Line2D

    handles, labels = axes.get_legend_handles_labels()
    if panel.has_published:
        handles.append(Line2D([], [], marker="s", color="#444444", **HOLLOW))
        labels.append("hollow: published")
    columns = 3 if max(map(len, labels)) <= 22 else 2 if max(map(len, labels)) <= 36 else 1
    rows = -(-len(labels) // columns)
    figure.set_figheight(figure.get_figheight() + LEGEND_ROW * max(0, rows - FREE_LEGEND_ROWS))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=10, numpoints=1)


def _add_title(axes: Axes, panel: Panel) -> None:
    title = textwrap.wrap(panel.title, 58) or [panel.title]
    named = "" if panel.called.casefold() in panel.title.casefold() else f"{panel.called}, "
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
