"""The figures of a report, as PNG and SVG, with the published numbers as hollow markers.

A figure is a `Panel` of series. Each kind of horizontal axis is a subclass in a module of this folder.
"""

from __future__ import annotations

import math
import textwrap
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd
from numpy.typing import NDArray

from budgetrun.base import registry
from budgetrun.base.errors import capitalised
from budgetrun.base.files import make_folder
from budgetrun.config.quantities import GAP, IN_FIGURES, QUANTITIES, Quantity
from budgetrun.config.schema import FigureSpec
from budgetrun.results import plotting
from budgetrun.results.plotting import BAND_ALPHA, HOLLOW, Look, hand_out, plain_number, save, slug, styled
from budgetrun.results.report.notes import warnings
from budgetrun.results.report.numbers import NO_BUDGET, Measured, Place, PublishedNumbers, measure
from budgetrun.results.report.tables import quantity_of
from budgetrun.results.store.curves import Curves
from budgetrun.results.store.read import Results, Setting, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DECADE = 10.0
# An axis with more decades than this has no room for numbers between them.
MOST_DECADES = 3.0
# Each further row of the legend makes the figure higher, by so many inches, instead of the axes lower.
FREE_LEGEND_ROWS, LEGEND_ROW = 3, 0.24
BARS: Any = {"capsize": 2.5, "elinewidth": 1.0, "capthick": 1.0}
Points = NDArray[Any] | list[float]


class Numbers:
    """The numbers of a report's figures; each quantity is averaged once."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.curves = Curves(results.folder / "curves")
        self.measured = cache(partial(measure, results))
        self.published: dict[Quantity, list[PublishedNumbers]] = {}
        for spec in results.tables:
            self.published.setdefault(quantity_of(spec), []).append(PublishedNumbers.in_table(spec))


@dataclass
class Series:
    """One name of a figure: a line, single points, or a curve for each stream."""

    name: str  # in the legend; it has one look in all figures
    measured: list[Measured]  # the averages behind it
    ends: list[str]  # its first and last value in words
    # The xs and ys that are drawn; empty for a band alone.
    curves: list[tuple[Points, Points]] = field(default_factory=list)
    # The xs, lows and highs of what is shaded, with ``band_alpha`` and, in the legend, ``band_label``.
    band: tuple[Points, Points, Points] | None = None
    band_alpha: float = BAND_ALPHA
    band_label: str = ""
    bars: dict[str, Any] | None = None  # ``xerr`` and ``yerr`` of error bars, None where none has a length
    level: float | None = None  # the height of a horizontal line, whose label is at its end
    label_above: bool = True
    published: list[tuple[float, float]] = field(default_factory=list)  # the x and y of hollow marks
    style: dict[str, Any] = field(default_factory=dict)  # changes its look
    swept: list[Setting] = field(default_factory=list)  # the settings that a curve goes through

    def draw(self, axes: Axes, look: Look) -> None:
        """Draw it."""
        # matplotlib leaves a label that starts with an underscore out of the legend.
        label = f" {self.name}" if self.name.startswith("_") else self.name
        line: Any = look.line | {"zorder": 3} | self.style
        if self.band is not None:
            shaded: Any = {"color": look.colour, "alpha": self.band_alpha, "linewidth": 0, "zorder": 1.5}
            axes.fill_between(*self.band, label=self.band_label or None, **shaded)
        if self.level is not None:
            axes.axhline(self.level, color=look.colour, linestyle=":", zorder=2)
            at: Any = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points", "ha": "right"}
            above: Any = {"xytext": (-2, 2), "va": "bottom"} if self.label_above else {"xytext": (-2, -3), "va": "top"}
            axes.annotate(self.name, (1, self.level), color=look.colour, fontsize=9.5, **at, **above)
        for i, (xs, ys) in enumerate(self.curves):
            if self.bars is not None:
                axes.errorbar(xs, ys, label=label, **self.bars, **BARS, **line)
            else:
                axes.plot(xs, ys, label="_" if i else label, **line)
        if self.published:
            axes.plot(*zip(*self.published, strict=True), marker=look.marker, color=look.colour, zorder=5, **HOLLOW)


class Panel(ABC):
    """One figure before it is drawn; a subclass for each kind of horizontal axis finds the series."""

    axes: ClassVar[tuple[str, ...]]  # the values of a figure's ``x`` that it draws
    # At the horizontal axis, and in sentences.
    x_label: str
    against: str
    log_x: bool | None = None  # true for a logarithmic horizontal axis; None where that depends on the range
    whole_x: bool = True  # true where horizontal positions are whole numbers
    scale: str = ""  # what the alternative text says of the axes

    def __init__(self, numbers: Numbers, spec: FigureSpec, points: list[str]) -> None:
        self.results, self.numbers, self.spec = numbers.results, numbers, spec
        self.dataset, self.called = spec.dataset, numbers.results.title(spec.dataset)
        self.title = spec.title or self.called
        self.y = IN_FIGURES[spec.y]
        if spec.log_x is not None:
            self.log_x = spec.log_x
        # Labels of algorithms, as the config gives them; then what needs a look.
        self.labels = {"lines": spec.lines, "band": spec.band, "point": tuple(points)}
        self.shown = list(dict.fromkeys([*spec.lines, *spec.band, *points]))
        self.names = {key: list(map(self.results.title, labels)) for key, labels in self.labels.items()}
        self.measured = {p: m for p, m in numbers.measured(self.y).items() if p.dataset == self.dataset}
        # Names with nothing to show, and why the figure cannot be drawn.
        self.missing: list[str] = []
        self.problem = ""
        self.series = self.find()
        self.has_published = any(series.published for series in self.series)

    @abstractmethod
    def find(self) -> list[Series]:
        """Return what is shown; note what is missing, and why nothing can be drawn."""

    @abstractmethod
    def about(self) -> list[str]:
        """Return the sentences of the caption that explain the series."""

    def frame(self, axes: Axes) -> None:  # noqa: B027
        """Set what the axes show, where that is not simply all that is drawn."""

    def xs(self) -> list[float]:
        """Return the horizontal positions that decide on the scale of the axis."""
        return [float(x) for series in self.series for xs, _ in series.curves for x in xs]

    def lacks(self, n_missing: int, n: int, noun: str) -> str:
        """Return why a figure cannot be drawn, ``3 of 12 curves ...``; empty if no curve is missing."""
        if not n_missing:
            return ""
        which, several = ("the ", True) if n_missing == n else (f"{n_missing:,} of {n:,} ", n_missing > 1)
        return f"{which}{noun} {'are' if several else 'is'} not in the folder curves/"

    @cached_property
    def runs(self) -> pd.DataFrame:
        """The finished runs on the figure's dataset."""
        return self.results.runs[self.results.runs["dataset"] == self.dataset]

    def places(self, label: str) -> list[Place]:
        """Return the places of a label with something measured, by budget and setting."""
        own = [place for place in self.measured if place.label == label]
        return sorted(own, key=lambda p: (*p.budget, p.setting.rank, p.setting.items))

    def published(self, place: Place, x: float) -> list[tuple[float, float]]:
        """Return the published number of a place at its position; nothing where there is none."""
        found = (one.of_measured(place) for one in self.numbers.published.get(self.y, []))
        return next(([(x, number.value)] for number in found if number is not None), [])

    def value(self, number: float) -> str:
        """Return a number with its unit."""
        return self.y.write(number) + self.y.unit

    @cached_property
    def stream(self) -> str:
        """The word for a stream: a split of the classes, a repetition, or both."""
        several = self.runs["task"].nunique() > 1, self.runs["repetition"].nunique() > 1
        return {(True, False): "split", (True, True): "stream"}.get(several, "repetition")

    def counts(self) -> str:
        """Return what the means are over: ``mean over the 126 splits (rbp: 10 seeds per split)``."""
        n_streams = {one.name: sorted({m.n_streams for m in one.measured}) for one in self.series}
        spans = {name: f"{n[0]:,}" if n[0] == n[-1] else f"{n[0]:,} to {n[-1]:,}" for name, n in n_streams.items()}
        usual = Counter(spans.values()).most_common(1)[0][0]
        article = "the " if self.stream == "split" else ""
        first = "a single run" if usual == "1" else f"mean over {article}{usual} {self.stream}s"
        details: dict[str, list[str]] = {}
        for one in self.series:
            n_seeds = max(m.n_seeds for m in one.measured)
            parts = [f"{spans[one.name]} {self.stream}s"] if spans[one.name] != usual else []
            parts += [f"{n_seeds:,} seeds per {self.stream}"] if n_seeds > 1 else []
            parts += [f"a curve per {self.stream}"] if len(one.curves) > 1 else []
            details.setdefault(", ".join(parts), []).append(one.name)
        others = [f"{listed(names)}: {text}" for text, names in details.items() if text]
        return f"{first} ({'; '.join(others)})" if others else first

    def shaded(self, series: list[Series]) -> list[str]:
        """Return the sentence on series with shaded standard deviations: over streams, or over the seeds of one."""
        n_streams = max((m.n_streams for one in series for m in one.measured), default=1)
        seeds = {one.name: max(m.n_seeds for m in one.measured) for one in series}
        if n_streams > 1:
            return [f"Shaded: one standard deviation over the {n_streams:,} {self.stream}s."]
        names = listed(name for name, n in seeds.items() if n > 1)
        return [f"Shaded: one standard deviation over the {max(seeds.values()):,} seeds of {names}."] if names else []

    def caption(self) -> str:
        """Return the text below the figure."""
        sentences = [
            f"{capitalised(self.y.noun)} on {self.called} against {self.against}, {self.counts()}.",
            *self.about(),
        ]
        if self.has_published:
            sentences.append("Hollow markers: published numbers.")
        ran = {self.results.title(label) for label in self.runs["label"].unique()}
        absent = listed(name for name in self.missing if name not in ran)
        without = listed(name for name in self.missing if name in ran)
        sentences += [f"No finished run of {absent}."] if absent else []
        sentences += [f"No {self.y.noun} of {without}."] if without else []
        return " ".join(sentences)

    def alt(self) -> str:
        """Return in words what the figure shows."""
        sentences = [f"{capitalised(self.y.noun)} against {self.against} on {self.called}{self.scale}."]
        return " ".join([*sentences, *(f"{one.name}: {' to '.join(dict.fromkeys(one.ends))}." for one in self.series)])


def alike(curves: Iterable[tuple[str, Hashable]]) -> dict[str, list[str]]:
    """Return the names of equal curves together, under one name for all of them: one line stands for these."""
    found: dict[Hashable, list[str]] = {}
    for name, curve in curves:
        found.setdefault(curve, []).append(name)
    return {listed(names): names for names in found.values()}


def series_name(label: str, *parts: str) -> str:
    """Return ``fogd [eta=0.1]``, or the label alone where it has only one line."""
    details = ", ".join(filter(None, parts))
    return f"{label} [{details}]" if details else label


def rounded(value: float) -> str:
    """Return a horizontal position in words."""
    return f"{value:,.0f}" if abs(value) >= 10 or math.isclose(value, round(value)) else f"{value:.3g}"


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

    Figures that have no finished run to show are left out.
    """
    numbers = Numbers(results)
    specs = [(spec, [spec.point] if spec.point else []) for spec in results.report.figures]
    kinds = {x: kind for kind in registry.classes(__name__, Panel) for x in kind.axes}  # type: ignore[type-abstract]
    panels = [kinds[spec.x](numbers, spec, points) for spec, points in specs or _default_specs(numbers)]
    # Looks are handed out in the order in which the figures name the labels, to lines of single settings last.
    names = [name for key in ("lines", "band", "point") for panel in panels for name in panel.names[key]]
    points = [results.title(panel.labels["point"][0]) for panel in panels if panel.labels["point"]]
    titles = set(map(results.title, results.labels))
    looks = hand_out(sorted((name for name in names if name not in points), key=lambda name: name not in titles))
    looks |= dict.fromkeys(points, plotting.CIRCLE)
    return [_drawn(panel, looks, results) for panel in panels if panel.series]


def _default_specs(numbers: Numbers) -> list[tuple[FigureSpec, list[str]]]:
    """Return a figure for each dataset with at least two budgets, or for each dataset of runs with an objective."""
    results = numbers.results
    # Names of datasets may be none that a config could give a figure.
    made = FigureSpec.model_construct
    if results.of_batch:
        common: Any = {"lines": tuple(results.labels), "x": "seconds", "y": GAP.name}
        return [(made(name=f"gap_{slug(dataset)}", dataset=dataset, **common), []) for dataset in results.datasets]
    specs: list[tuple[FigureSpec, list[str]]] = []
    error = QUANTITIES[results.config.problem.error]
    for i, dataset in enumerate(results.datasets):
        here = [place for place in numbers.measured(error) if place.dataset == dataset]
        if len({place.budget for place in here if not place.budget.is_everywhere}) < 2:
            continue
        without = {place.label for place in here if place.budget == NO_BUDGET}
        lines = tuple(label for label in results.labels if label in {place.label for place in here} - without)
        name = f"error_{slug(dataset)}"
        name += f"_{i}" if name in [spec.name for spec, _ in specs] else ""
        spec = made(name=name, dataset=dataset, lines=lines, y=error.name)
        specs.append((spec, [label for label in results.labels if label in without]))
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
    from matplotlib.ticker import MaxNLocator

    with styled(6.6, 5.2) as figure:
        axes = figure.add_subplot()
        for series in panel.series:
            series.draw(axes, looks[series.name])
        xs = [x for x in panel.xs() if x > 0]
        spread = max(xs) / min(xs) if xs else 1.0
        if (spread > DECADE if panel.log_x is None else panel.log_x) and xs:
            axes.set_xscale("log")
            plotting.number_log_axis(axes.xaxis, (1.0, 2.0, 5.0) if spread <= DECADE**MOST_DECADES else (1.0,))
        elif panel.whole_x:
            axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
        for axis in (axes.xaxis,) if panel.y.is_percent else (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(plain_number)
        panel.frame(axes)
        axes.set_xlabel(panel.x_label)
        axes.set_ylabel(panel.y.axis)
        _add_legend(figure, axes, panel)
        title = textwrap.wrap(panel.title, 58) or [panel.title]
        named = "" if panel.called.casefold() in panel.title.casefold() else f"{panel.called}, "
        about = textwrap.wrap(named + panel.counts(), 84)
        axes.set_title("\n".join(title), loc="left", fontsize=13, fontweight="bold", pad=14 + 12 * len(about))
        at: Any = {"xycoords": "axes fraction", "xytext": (0, 8), "textcoords": "offset points", "va": "bottom"}
        axes.annotate("\n".join(about), (0, 1), fontsize=9.5, color="#555555", **at)
        make_folder(paths[0].parent)
        save(figure, *paths)


def _add_legend(figure: Figure, axes: Axes, panel: Panel) -> None:
    from matplotlib.lines import Line2D

    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    if panel.has_published:
        handles.append(Line2D([], [], marker="s", color="#444444", **HOLLOW))
        labels.append("hollow: published")
    columns = 3 if max(map(len, labels)) <= 22 else 2 if max(map(len, labels)) <= 36 else 1
    rows = -(-len(labels) // columns)
    figure.set_figheight(figure.get_figheight() + LEGEND_ROW * max(0, rows - FREE_LEGEND_ROWS))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=10, numpoints=1)
