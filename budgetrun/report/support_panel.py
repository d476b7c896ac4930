"""Figures against the size of the support set: what an error costs in examples that are held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from budgetrun.report.cells import NO_BUDGET, Measured, Place
from budgetrun.report.looks import NO_SPREAD, Look
from budgetrun.report.panels import Panel, Point, legend_text, rounded
from budgetrun.report.quantities import SUPPORT_SIZE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BARS: Any = {"capsize": 2.5, "elinewidth": 1.0, "capthick": 1.0}
# With more curves of one label than this, single ones only show as a cloud.
MANY_CURVES = 12


class Marks(NamedTuple):
    """What is drawn for a label: its places in order of support size, and how far they spread."""

    points: list[Point]
    sd: list[float]
    sd_of_support: list[float]


class SupportPanel(Panel):
    """Error against the size of the support set after the last round."""

    def __init__(self, results: Any, spec: dict[str, Any], measurements: Any, made: Any) -> None:
        super().__init__(results, spec, measurements, made)
        supports = measurements[SUPPORT_SIZE]
        # Without a budget: a curve a stream through the settings, or one point; with one: a line of means.
        self.curves: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        self.lines: dict[str, Marks] = {}
        self.points: dict[str, Marks] = {}
        self._places: dict[str, list[Place]] = {}
        for label in dict.fromkeys([*self.lined, *self.banded, *self.pointed]):
            places = sorted(self.places(label), key=lambda place: supports[place].mean)
            if not places:
                self.missing.append(label)
                continue
            self._places[label] = places
            means = [self.measured[place] for place in places]
            points = [
                Point(supports[place].mean, m, self.printed(place)) for place, m in zip(places, means, strict=True)
            ]
            marks = Marks(points, _spreads(means), _spreads([supports[place] for place in places]))
            if any(place.budget != NO_BUDGET for place in places):
                self.lines[label] = marks
            elif len(places) > 1:
                self.curves[label] = self._by_stream(label)
            else:
                self.points[label] = marks

    def _by_stream(self, label: str) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return support sizes, rising, and y of each stream through the settings, means over the seeds."""
        runs = self._here()
        runs = runs[(runs["label"] == label) & runs[self.y.name].notna()]
        columns = ["support_size", self.y.name]
        means = runs.groupby(["task", "repetition", "setting"], sort=False)[columns].mean().reset_index()
        found = []
        for _, stream in means.sort_values("support_size").groupby(["task", "repetition"]):
            found.append((stream["support_size"].to_numpy(), self.y.factor * stream[self.y.name].to_numpy()))
        return found

    def counts(self) -> str:
        averaged = {label: shown for label, shown in self.drawn().items() if label not in self.curves}
        curves = (
            f"{label}: {len(curves)} curve{'' if len(curves) == 1 else 's'}" for label, curves in self.curves.items()
        )
        return "; ".join([*([self.counts_of(averaged)] if averaged else []), *curves])

    def names(self, key: str) -> list[str]:
        return {"lines": self.lined, "band": self.banded, "point": self.pointed}[key]

    def drawn(self) -> dict[str, list[Measured]]:
        return {label: [self.measured[place] for place in places] for label, places in self._places.items()}

    def xs(self) -> list[float]:
        marks = [point.x for shown in (*self.lines.values(), *self.points.values()) for point in shown.points]
        return marks + [float(x) for curves in self.curves.values() for xs, _ in curves for x in xs]

    def x_label(self) -> str:
        return "size of the support set after the last round"

    def draw(self, axes: Axes, looks: dict[str, Look]) -> None:
        for label, curves in self.curves.items():
            look = looks[label]._replace(dashes="-")
            style: Any = {"linewidth": 1.0, "markersize": 3.2, "alpha": 0.85 if len(curves) <= MANY_CURVES else 0.25}
            for i, curve in enumerate(curves):
                axes.plot(*curve, label=legend_text(label) if not i else "_", zorder=3, **style, **look.line)
        for label, marks in self.lines.items():
            look = looks[label]
            xs, ys = [p.x for p in marks.points], [p.measured.mean for p in marks.points]
            axes.errorbar(xs, ys, yerr=_bars(marks.sd), label=legend_text(label), zorder=4, **BARS, **look.line)
            self.hollow(axes, marks.points, look)
        for label, marks in self.points.items():
            look = looks[label]._replace(dashes="")
            (point,) = marks.points
            style = {"yerr": _bars(marks.sd), "xerr": _bars(marks.sd_of_support), **BARS, **look.line}
            axes.errorbar([point.x], [point.measured.mean], label=legend_text(label), zorder=6, **style)
            self.hollow(axes, marks.points, look)

    def frame(self, axes: Axes) -> None:
        if axes.get_xscale() == "linear":
            axes.set_xlim(left=0)

    def sentences(self) -> list[str]:
        first = f"Mean {self.y.noun} on {self.dataset} against the size of the support set after the last round"
        sentences = [f"{first}, {self.counts()}."]
        for label in self.curves:
            settings = self.results.settings(label, self.dataset)
            span = f"{settings[0].text} to {settings[-1].text}"
            n = len(self.curves[label])
            each = "a curve" if n == 1 else f"a curve for each of {n} streams (repetitions × tasks)"
            sentences.append(f"{label}: {each} through {len(settings)} settings, {span}.")
        if any(_bars(shown.sd) for shown in self.lines.values()):
            sentences.append(f"Bars of {', '.join(self.lines)}: one standard deviation of the error over the streams.")
        if any(_bars([*shown.sd, *shown.sd_of_support]) for shown in self.points.values()):
            sentences.append(f"Bars of {', '.join(self.points)}: one standard deviation of both.")
        return sentences

    def alt(self) -> str:
        parts = [f"{self.noun()} against the size of the support set on {self.dataset}."]
        for label, places in self._places.items():
            shown = [self.measured[place] for place in (places[0], places[-1])]
            ends = [f"{self.value(m.mean)} with {rounded(m.support_size)} examples" for m in shown]
            parts.append(f"{label}: {' to '.join(dict.fromkeys(ends))}.")
        return " ".join(parts)


def _spreads(measured: list[Measured]) -> list[float]:
    return [m.sd if m.n_streams > 1 else 0.0 for m in measured]


def _bars(spreads: list[float]) -> list[float] | None:
    """Return the lengths of error bars, None where none has any."""
    return spreads if max(spreads) > NO_SPREAD else None
