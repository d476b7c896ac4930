"""Figures of final numbers: over the budget, and over the size of the support set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from budgetrun.config.quantities import SUPPORT_SIZE
from budgetrun.results.plotting import BAND_ALPHA, NO_SPREAD
from budgetrun.results.report.figures import Panel, Points, Series, rounded, series_name
from budgetrun.results.report.numbers import NO_BUDGET, STREAM, Measured, Place
from budgetrun.results.store.read import NO_SETTING, Setting, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# With more curves of one label than this, single ones only show as a cloud.
MANY_CURVES = 12


class BudgetPanel(Panel):
    """y against the budget, or against the budget as a share of p.

    A label is a line, or, without a budget, a dotted level or a single point.
    """

    axes = ("budget", "budget_fraction")

    def find(self) -> list[Series]:
        self.is_share = self.spec.x == "budget_fraction"
        self.whole_x = not self.is_share
        share = " as a share of p" if self.is_share else ""
        self.x_label, self.against = f"budget B{share}", f"the budget{share}"
        self.names = {key: self._names(labels) for key, labels in self.labels.items()}
        own: dict[str, list[Place]] = {}
        for place in self.measured:
            own.setdefault(self._name(place.label, place.setting), []).append(place)
        without = {name: p for name, places in own.items() for p in places if p.budget == NO_BUDGET}
        self.lines, self.levels, self.marks = [], [], []
        for name in dict.fromkeys([*self.names["lines"], *self.names["band"]]):
            places = [p for p in own.get(name, []) if p.budget != NO_BUDGET]
            if self.is_share:
                places = [p for p in places if p.budget.kind == "fraction"]
            if places:
                self.lines.append(self._line(name, sorted(places, key=self._x)))
            elif name in without:
                m = self.measured[without[name]]
                self.levels.append(Series(name, [m], [self.value(m.mean)], level=m.mean))
            else:
                self.missing.append(name)
        for one in self.lines:
            # Many overlapping bands would darken what they share.
            one.band_alpha = BAND_ALPHA if one.band_label else min(BAND_ALPHA, 0.5 / len(self.lines))
        for name in self.names["point"]:
            if name in without:
                self.marks.append(self._mark(name, without[name]))
            else:
                self.missing.append(name)
        return [*self.lines, *self.levels, *self.marks]

    def _names(self, labels: tuple[str, ...]) -> list[str]:
        settings = ((a, s) for a in labels for s in self.results.settings(a, self.dataset) or [NO_SETTING])
        return list(dict.fromkeys(self._name(label, setting) for label, setting in settings))

    def _name(self, label: str, setting: Setting) -> str:
        """Return the name of a line: where budgets follow another algorithm's settings, those are its points."""
        own = setting.text if self.is_share else self.results.own_text(self.dataset, label, setting)
        return series_name(self.results.title(label), own)

    def _x(self, place: Place) -> float:
        return place.budget.value if self.is_share else self.measured[place].budget

    def _at(self, x: float, mean: float) -> str:
        return f"{self.value(mean)} at {'share of p' if self.is_share else 'B'} = {rounded(x)}"

    def _line(self, name: str, places: list[Place]) -> Series:
        xs, shown = [self._x(place) for place in places], [self.measured[place] for place in places]
        means = [m.mean for m in shown]
        series = Series(name, shown, [self._at(xs[i], means[i]) for i in (0, -1)], [(xs, means)])
        series.published = [mark for place, x in zip(places, xs, strict=True) for mark in self.published(place, x)]
        if name in self.names["band"]:
            series.band = xs, [m.seed_low for m in shown], [m.seed_high for m in shown]
            series.band_label = f"{name}, min to max over seeds"
            if name not in self.names["lines"]:
                series.curves = []
        elif len(xs) > 1 and min(m.spread for m in shown) >= 0 and max(m.spread for m in shown) > NO_SPREAD:
            series.band = xs, [m.mean - m.spread for m in shown], [m.mean + m.spread for m in shown]
        return series

    def _mark(self, name: str, place: Place) -> Series:
        """Return the point of a label without a budget, at the mean size of its support set."""
        m = self.measured[place]
        # p places a support size on an axis of shares.
        shares = [o.budget / p.budget.value for p, o in self.measured.items() if p.budget.kind == "fraction"]
        x = m.support_size * (len(shares) / sum(shares) if self.is_share and shares else 1.0)
        # The first is the circle of the papers, the others keep their own look.
        style = {"linestyle": "", "zorder": 6} | ({} if self.marks else {"color": "black", "marker": "o"})
        hollow = self.published(place, x)
        return Series(name, [m], [self._at(x, m.mean)], [([x], [m.mean])], published=hollow, style=style)

    def xs(self) -> list[float]:
        return [float(x) for one in self.lines for x in (one.band or one.curves[0])[0]]

    def about(self) -> list[str]:
        sentences = []
        if self.marks:
            names = listed(one.name for one in self.marks)
            sentences.append(f"Without a budget, at the mean size of the support set: {names}.")
        if self.levels:
            sentences.append(f"Dotted, without a budget: {listed(one.name for one in self.levels)}.")
        sentences += self.shaded([one for one in self.lines if one.band and not one.band_label])
        banded = [one for one in self.lines if one.band_label]
        if banded:
            seeds = max(m.n_seeds for one in banded for m in one.measured)
            names = listed(one.name for one in banded)
            sentences.append(f"Band: minimum to maximum over {seeds} seeds of {names}.")
        return sentences


class SupportPanel(Panel):
    """y against the size of the support set after the last round: what an error costs in examples that are held.

    A label with a budget is a line of means with error bars. One without is a point, or, with several settings, a
    curve through these for each stream.
    """

    axes = ("support_size",)
    x_label = "size of the support set after the last round"
    against = "the size of the support set"

    def find(self) -> list[Series]:
        found = [self._series(label) for label in self.shown if self.places(label)]
        self.missing = [self.results.title(label) for label in self.shown if not self.places(label)]
        # Lines before points, curves first.
        return sorted(found, key=lambda one: one.style["zorder"])

    def _series(self, label: str) -> Series:
        supports, name = self.numbers.measured(SUPPORT_SIZE), self.results.title(label)
        places = sorted(self.places(label), key=lambda place: supports[place].mean)
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
