"""Figures over the budget: a line per label, dotted levels and single points for those without a budget."""

from __future__ import annotations

from budgetrun.results.plotting import BAND_ALPHA, NO_SPREAD
from budgetrun.results.report.aggregate import NO_BUDGET, Place
from budgetrun.results.report.figures.panel import Panel, Series, rounded, series_name
from budgetrun.results.store.read import NO_SETTING, Setting, listed


class BudgetPanel(Panel):
    """y against the budget, or against the budget as a share of p."""

    axes = ("budget", "budget_fraction")

    def find(self) -> list[Series]:
        self.is_share = self.spec.x == "budget_fraction"
        self.whole_x = not self.is_share
        self.x_label = "budget B as a share of p" if self.is_share else "budget B"
        self.against = "the budget as a share of p" if self.is_share else "the budget"
        self.names = {key: self._names(labels) for key, labels in self.labels.items()}
        own: dict[str, list[Place]] = {}
        for place in self.measured:
            own.setdefault(self._name(place.label, place.setting), []).append(place)
        without = {name: p for name, places in own.items() for p in places if p.budget == NO_BUDGET}
        self.lines, self.levels, self.marks = [], [], []
        for name in dict.fromkeys([*self.names["lines"], *self.names["band"]]):
            places = [
                place
                for place in own.get(name, [])
                if place.budget != NO_BUDGET and (not self.is_share or place.budget.kind == "fraction")
            ]
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

    def _names(self, labels: list[str]) -> list[str]:
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
        ends = [self._at(xs[i], means[i]) for i in (0, -1)]
        series = Series(name, shown, ends, [(xs, means)])
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
        circle = {} if self.marks else {"color": "black", "marker": "o"}
        style = {"linestyle": "", "zorder": 6, **circle}
        return Series(
            name, [m], [self._at(x, m.mean)], [([x], [m.mean])], published=self.published(place, x), style=style
        )

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
