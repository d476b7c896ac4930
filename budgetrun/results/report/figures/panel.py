"""The parts that all figures share: series of points or curves, drawing them, and the words around them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd
from numpy.typing import NDArray

from budgetrun.config.quantities import IN_FIGURES, Quantity
from budgetrun.config.schema import FigureSpec
from budgetrun.results.plotting import BAND_ALPHA, HOLLOW, Look
from budgetrun.results.report import published
from budgetrun.results.report.aggregate import Measured, Place, measure
from budgetrun.results.report.published import Published
from budgetrun.results.report.tables import quantity_of
from budgetrun.results.store.curves import Curves
from budgetrun.results.store.read import Results, Setting, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Points = NDArray[Any] | list[float]
BARS: Any = {"capsize": 2.5, "elinewidth": 1.0, "capthick": 1.0}


class Numbers:
    """The numbers of a report's figures; each quantity is averaged once."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.curves = Curves(results.folder / "curves")
        self.measured = cache(partial(measure, results))
        self.published: dict[Quantity, list[Published]] = {}
        for spec in results.tables:
            self.published.setdefault(quantity_of(spec), []).append(published.shown(spec))


@dataclass
class Series:
    """One name of a figure: a line, single points, or a curve for each stream."""

    # In the legend; it has one look in all figures.
    name: str
    # The averages behind it.
    measured: list[Measured]
    # Its first and last value in words.
    ends: list[str]
    # The xs and ys that are drawn; empty for a band alone.
    curves: list[tuple[Points, Points]] = field(default_factory=list)
    # The xs, lows and highs of what is shaded, with ``band_alpha`` and, in the legend, ``band_label``.
    band: tuple[Points, Points, Points] | None = None
    band_alpha: float = BAND_ALPHA
    band_label: str = ""
    # ``xerr`` and ``yerr`` of error bars, None where none has a length.
    bars: dict[str, Any] | None = None
    # The height of a horizontal line.
    level: float | None = None
    # The x and y of hollow marks.
    published: list[tuple[float, float]] = field(default_factory=list)
    # Changes its look.
    style: dict[str, Any] = field(default_factory=dict)
    # The settings that a curve goes through.
    swept: list[Setting] = field(default_factory=list)

    def draw(self, axes: Axes, look: Look) -> None:
        """Draw it."""
        # matplotlib leaves a label that starts with an underscore out of the legend.
        label = f" {self.name}" if self.name.startswith("_") else self.name
        line = look.line | {"zorder": 3} | self.style
        if self.band is not None:
            shaded: Any = {"color": look.colour, "alpha": self.band_alpha, "linewidth": 0, "zorder": 1.5}
            axes.fill_between(*self.band, label=self.band_label or None, **shaded)
        if self.level is not None:
            axes.axhline(self.level, color=look.colour, linestyle=":", label=label, zorder=2)
        for i, (xs, ys) in enumerate(self.curves):
            if self.bars is not None:
                axes.errorbar(xs, ys, label=label, **self.bars, **BARS, **line)
            else:
                axes.plot(xs, ys, label="_" if i else label, **line)
        if self.published:
            axes.plot(*zip(*self.published, strict=True), marker=look.marker, color=look.colour, zorder=5, **HOLLOW)


class Panel(ABC):
    """One figure before it is drawn; a subclass for each kind of horizontal axis finds the series."""

    # The values of a figure's ``x`` that it draws.
    axes: ClassVar[tuple[str, ...]]
    # At the horizontal axis, and in sentences.
    x_label: str
    against: str
    # True for a logarithmic horizontal axis; None where that depends on the range.
    log_x: bool | None = None
    # True where horizontal positions are whole numbers.
    whole_x: bool = True

    def __init__(self, numbers: Numbers, spec: FigureSpec, points: list[str]) -> None:
        self.results, self.numbers, self.spec = numbers.results, numbers, spec
        self.dataset, self.called = spec.dataset, numbers.results.title(spec.dataset)
        self.title = spec.title or self.called
        self.y = IN_FIGURES[spec.y]
        if spec.log_x is not None:
            self.log_x = spec.log_x
        # Labels of algorithms, as the config gives them; then what needs a look.
        self.lined, self.banded, self.pointed = (list(dict.fromkeys(k)) for k in (spec.lines, spec.band, points))
        self.labels = {"lines": self.lined, "band": self.banded, "point": self.pointed}
        self.names = {key: [self.results.title(label) for label in labels] for key, labels in self.labels.items()}
        self.measured = {p: m for p, m in numbers.measured(self.y).items() if p.dataset == self.dataset}
        # Names with nothing to show, and why the figure cannot be drawn.
        self.missing: list[str] = []
        self.problem = ""
        self.series = self.find()

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

    # Numbers.

    @cached_property
    def runs(self) -> pd.DataFrame:
        """The finished runs on the figure's dataset."""
        return self.results.runs[self.results.runs["dataset"] == self.dataset]

    def places(self, label: str) -> list[Place]:
        """Return the places of a label with something measured, by budget and setting."""
        own = [place for place in self.measured if place.label == label]
        return sorted(own, key=lambda p: (p.budget.kind, p.budget.value, p.setting.rank, p.setting.items))

    def published(self, place: Place, x: float) -> list[tuple[float, float]]:
        """Return the published number of a place at its position; nothing where there is none."""
        found = (one.of_measured(place) for one in self.numbers.published.get(self.y, []))
        return next(([(x, number.value)] for number in found if number is not None), [])

    # Words.

    def value(self, number: float) -> str:
        """Return a number with its unit."""
        return self.y.write(number) + self.y.unit

    @property
    def noun(self) -> str:
        """The quantity's noun, for the start of a sentence."""
        return self.y.noun[0].upper() + self.y.noun[1:]

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
        sentences = [f"{self.noun} on {self.called} against {self.against}, {self.counts()}.", *self.about()]
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
        sentences = [f"{self.noun} against {self.against} on {self.called}{self.scale()}."]
        return " ".join([*sentences, *(f"{one.name}: {' to '.join(dict.fromkeys(one.ends))}." for one in self.series)])

    def scale(self) -> str:
        """Return what the alternative text says of the axes."""
        return ""

    @property
    def has_published(self) -> bool:
        """True if a published number is among the marks."""
        return any(series.published for series in self.series)


def series_name(label: str, *parts: str) -> str:
    """Return ``fogd [eta=0.1]``, or the label alone where it has only one line."""
    details = ", ".join(filter(None, parts))
    return f"{label} [{details}]" if details else label


def rounded(value: float) -> str:
    """Return a horizontal position in words."""
    return f"{value:,.0f}" if abs(value) >= 10 or math.isclose(value, round(value)) else f"{value:.3g}"
