"""Figures over the size of the support set: what an error costs in examples that are held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from budgetrun.config.quantities import SUPPORT_SIZE
from budgetrun.results.plotting import NO_SPREAD
from budgetrun.results.report.aggregate import NO_BUDGET, STREAM, Measured
from budgetrun.results.report.figures.panel import Panel, Points, Series, rounded
from budgetrun.results.store.read import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# With more curves of one label than this, single ones only show as a cloud.
MANY_CURVES = 12


class SupportPanel(Panel):
    """y against the size of the support set after the last round.

    A label with a budget is a line of means with error bars. One without is a point, or, with several settings, a
    curve through these for each stream.
    """

    axes = ("support_size",)
    x_label = "size of the support set after the last round"
    against = "the size of the support set"

    def find(self) -> list[Series]:
        found = []
        for label in dict.fromkeys([*self.lined, *self.banded, *self.pointed]):
            series = self._series(label)
            if series is None:
                self.missing.append(self.results.title(label))
            else:
                found.append(series)
        # Lines before points, curves first.
        return sorted(found, key=lambda one: one.style["zorder"])

    def _series(self, label: str) -> Series | None:
        supports, name = self.numbers.measured(SUPPORT_SIZE), self.results.title(label)
        places = sorted(self.places(label), key=lambda place: supports[place].mean)
        if not places:
            return None
        shown, xs = [self.measured[place] for place in places], [supports[place].mean for place in places]
        ends = [f"{self.value(m.mean)} with {rounded(m.support_size)} examples" for m in (shown[0], shown[-1])]
        has_budget = any(place.budget != NO_BUDGET for place in places)
        if len(places) > 1 and not has_budget:
            curves = self._by_stream(label)
            alpha = 0.85 if len(curves) <= MANY_CURVES else 0.25
            style = {"linestyle": "-", "linewidth": 1.0, "markersize": 3.2, "alpha": alpha, "zorder": 3}
            return Series(name, shown, ends, curves, style=style, swept=self.results.settings(label, self.dataset))
        series = Series(name, shown, ends, [(xs, [m.mean for m in shown])])
        series.bars = {"yerr": _bars(shown)}
        series.style = {"zorder": 4}
        if not has_budget:
            series.bars["xerr"] = _bars([supports[place] for place in places])
            series.style = {"zorder": 6, "linestyle": ""}
        series.published = [mark for place, x in zip(places, xs, strict=True) for mark in self.published(place, x)]
        return series

    def _by_stream(self, label: str) -> list[tuple[Points, Points]]:
        """Return support sizes, rising, and y of each stream through the settings, means over the seeds."""
        runs = self.runs[(self.runs["label"] == label) & self.runs[self.y.column].notna()]
        columns = ["support_size", self.y.column]
        means = runs.groupby([*STREAM, "setting"], sort=False)[columns].mean().sort_values("support_size")
        groups = means.groupby(level=STREAM)
        return [(own["support_size"].to_numpy(), self.y.factor * own[self.y.column].to_numpy()) for _, own in groups]

    def frame(self, axes: Axes) -> None:
        if axes.get_xscale() == "linear":
            axes.set_xlim(left=0)

    def about(self) -> list[str]:
        sentences = []
        for one in self.series:
            if one.swept:
                settings, n = one.swept, len(one.curves)
                each = "a curve" if n == 1 else f"a curve for each of {n} {self.stream}s"
                span = f"{settings[0].text} to {settings[-1].text}"
                sentences.append(f"{one.name}: {each} through {len(settings)} settings, {span}.")
        for bars, spread in (({"yerr"}, f"the {self.y.noun}"), ({"yerr", "xerr"}, "both")):
            own = [one for one in self.series if one.bars and set(one.bars) == bars]
            if any(lengths for one in own for lengths in (one.bars or {}).values()):
                names = listed(one.name for one in own)
                sentences.append(f"Bars of {names}: one standard deviation of {spread} over the {self.stream}s.")
        return sentences


def _bars(measured: list[Measured]) -> list[float] | None:
    """Return the lengths of error bars, None where none has any."""
    lengths = [m.sd if m.n_streams > 1 else 0.0 for m in measured]
    return lengths if max(lengths) > NO_SPREAD else None
