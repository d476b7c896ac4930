"""Figures against the budget: a line a learner, dotted levels and single points for those without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from budgetrun.report.cells import NO_BUDGET, Measured, Place
from budgetrun.report.looks import BAND_ALPHA, CIRCLE, Look
from budgetrun.report.panels import Panel, Point, legend_text, rounded, series_name
from budgetrun.store.read import NO_SETTING, Setting

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


class BudgetPanel(Panel):
    """y against the budget, or against the budget as a share of p."""

    def __init__(self, results: Any, spec: dict[str, Any], measurements: Any, made: Any) -> None:
        super().__init__(results, spec, measurements, made)
        self.is_share = spec.get("x") == "budget_fraction"
        self.whole_x = not self.is_share
        self.lines: dict[str, list[Point]] = {}
        self.levels: dict[str, Measured] = {}
        self.marks: dict[str, Point] = {}
        own: dict[str, list[Place]] = {}
        for place in self.measured:
            own.setdefault(self._name(place.label, place.setting), []).append(place)
        lined, banded = self.names("lines"), self.names("band")
        for name in dict.fromkeys([*lined, *banded]):
            points = [
                self._point(place)
                for place in own.get(name, [])
                if place.budget != NO_BUDGET and (not self.is_share or place.budget.kind == "fraction")
            ]
            if points:
                self.lines[name] = sorted(points, key=lambda point: point.x)
            elif without := self._without(own, name):
                self.levels[name] = self.measured[without]
            else:
                self.missing.append(name)
        # p, to place a support size on an axis of shares
        shares = [
            m.budget / place.budget.value for place, m in self.measured.items() if place.budget.kind == "fraction"
        ]
        scale = sum(shares) / len(shares) if self.is_share and shares else 1.0
        for name in self.names("point"):
            if mark := self._without(own, name):
                m = self.measured[mark]
                self.marks[name] = Point(m.support_size / scale, m, self.printed(mark))
            else:
                self.missing.append(name)
        self.band = [name for name in self.lines if name in banded]
        # a band without its line
        self.unlined = [name for name in self.band if name not in lined]

    def _name(self, label: str, setting: Setting) -> str:
        """Return the name of a line: where budgets follow another's settings, those are its points."""
        own = self.results.own_text(self.dataset, label, setting)
        return series_name(label, setting.text if self.is_share else own)

    @staticmethod
    def _without(own: dict[str, list[Place]], name: str) -> Place | None:
        return next((place for place in own.get(name, []) if place.budget == NO_BUDGET), None)

    def _point(self, place: Place) -> Point:
        m = self.measured[place]
        return Point(place.budget.value if self.is_share else m.budget, m, self.printed(place))

    def names(self, key: str) -> list[str]:
        labels = {"lines": self.lined, "band": self.banded, "point": self.pointed}[key]
        names = [
            self._name(label, setting)
            for label in labels
            for setting in self.results.settings(label, self.dataset) or [NO_SETTING]
        ]
        return list(dict.fromkeys(names))

    def drawn(self) -> dict[str, list[Measured]]:
        shown = {name: [point.measured for point in points] for name, points in self.lines.items()}
        shown |= {name: [level] for name, level in self.levels.items()}
        return shown | {name: [mark.measured] for name, mark in self.marks.items()}

    def xs(self) -> list[float]:
        return [point.x for points in self.lines.values() for point in points]

    def x_label(self) -> str:
        return "budget B as a share of p" if self.is_share else "budget B"

    def draw(self, axes: Axes, looks: dict[str, Look]) -> None:
        for name, points in self.lines.items():
            look = looks[name]
            xs = [point.x for point in points]
            if name in self.band:
                low, high = ([getattr(point.measured, end) for point in points] for end in ("seed_low", "seed_high"))
                axes.fill_between(xs, low, high, color=look.colour, alpha=BAND_ALPHA, linewidth=0, zorder=1.5)
            if name not in self.unlined:
                axes.plot(xs, [p.measured.mean for p in points], label=legend_text(name), zorder=3, **look.line)
            self.hollow(axes, points, look)
        for name, level in self.levels.items():
            axes.axhline(level.mean, color=looks[name].colour, linestyle=":", label=legend_text(name), zorder=2)
        for name, mark in self.marks.items():
            # Several learners without a budget: the first is the paper's circle, the others keep their own look.
            look = CIRCLE if name == next(iter(self.marks)) else looks[name]
            at = [mark.x], [mark.measured.mean]
            axes.plot(*at, color=look.colour, marker=look.marker, linestyle="", label=legend_text(name), zorder=6)
            self.hollow(axes, [mark], look)

    def handles(self, looks: dict[str, Look]) -> list[tuple[Artist, str]]:
        from matplotlib.patches import Patch

        return [
            (Patch(facecolor=looks[name].colour, alpha=BAND_ALPHA), f"{name}, min to max over seeds")
            for name in self.band
        ]

    def sentences(self) -> list[str]:
        axis = "budget as a share of p" if self.is_share else "mean budget"
        sentences = [f"Mean {self.y.noun} on {self.dataset} against {axis}, {self.counts()}."]
        if self.marks:
            sentences.append(f"Without a budget, at the mean size of the support set: {', '.join(self.marks)}.")
        if self.levels:
            sentences.append(f"Dotted, without a budget: {', '.join(self.levels)}.")
        if self.band:
            seeds = max(m.n_seeds for name in self.band for m in self.drawn()[name])
            sentences.append(f"Band: minimum to maximum over {seeds} seeds of {', '.join(self.band)}.")
        return sentences

    def alt(self) -> str:
        axis = "share of p" if self.is_share else "B"
        parts = [f"{self.noun()} against budget on {self.dataset}."]
        for name, points in self.lines.items():
            ends = [f"{self.value(p.measured.mean)} at {axis} = {rounded(p.x)}" for p in (points[0], points[-1])]
            parts.append(f"{name}: {' to '.join(dict.fromkeys(ends))}.")
        for name, m in self.levels.items():
            parts.append(f"{name}: {self.value(m.mean)}.")
        for name, mark in self.marks.items():
            parts.append(f"{name}: {self.value(mark.measured.mean)} at {axis} = {rounded(mark.x)}.")
        return " ".join(parts)
