"""The kinds of horizontal axes of figures: rounds, seconds, the budget, and the size of the support set."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from budgetrun.base.problem import METRICS_IN_CURVES, SQUARED_ERROR
from budgetrun.config.quantities import RMSE, SUPPORT_SIZE, WINDOWED_ERROR, WINDOWED_RMSE
from budgetrun.data.generators import changes_of
from budgetrun.results.plotting import BAND_ALPHA, NO_SPREAD, mark_changes
from budgetrun.results.report.figures import Panel, Points, Series, alike, rounded, series_name
from budgetrun.results.report.numbers import NO_BUDGET, STREAM, Measured, Place, places_of
from budgetrun.results.store.optimum import ROUNDING
from budgetrun.results.store.read import NO_SETTING, Setting, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# As shares of all rounds: earlier the error is that of a few rounds, noise that would flatten the rest.
LINEAR_START, LOG_START = 0.02, 0.005
MARKS = 9
# Parts of the stream whose own errors are drawn.
WINDOWS = 50
# Above this gap nothing has been learned yet.
MOST_GAP = 10.0


class Curve(NamedTuple):
    """Mean and standard deviation over the streams (zeros for a single one) after each number of rounds."""

    rounds: NDArray[np.int64]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]


class RoundsPanel(Panel):
    """Errors or the size of the support set against the number of rounds: a mean curve per label."""

    axes = ("rounds",)
    x_label = "rounds"
    against = "the number of rounds"
    # Most of a stream is in its last decade, so the rounds themselves show more than their logarithms.
    log_x = False

    def find(self) -> list[Series]:
        # Errors of few rounds, which are noise, are left out.
        self.is_error = self.y is not SUPPORT_SIZE
        self.scale = ", on a logarithmic axis" if self.log_x else ""
        lines: dict[str, Place] = {}
        one = self.spec.budget
        for label in self.shown:
            own = self.places(label)
            alone = one is None or len({place.budget for place in own}) == 1
            places = [p for p in own if alone or p.budget == NO_BUDGET or self.measured[p].budget == one]
            several = len({place.budget for place in places}) > 1
            lines |= {
                series_name(self.results.title(label), p.setting.text, p.budget.title() if several else ""): p
                for p in places
            }
            self.missing += [] if places else [self.results.title(label)]
        numbered = places_of(self.runs)
        groups = {numbered[number]: group for number, group in self.runs.groupby("place")}
        ids = [run_id for place in lines.values() for run_id in groups[place]["run_id"]]
        missing = self.numbers.curves.missing(ids)
        self.problem = self.lacks(missing, len(ids), "curves over the rounds")
        self.curves: list[Curve] = []
        if not missing:
            curves = {name: self._curve(groups[place]) for name, place in lines.items()}
            same = alike((name, curve.mean.tobytes()) for name, curve in curves.items())
            lines = {name: lines[own[0]] for name, own in same.items()}
            self.curves = [curves[own[0]] for own in same.values()]
        self.names = {"lines": list(lines), "band": [], "point": []}
        self.last = max((float(curve.rounds[-1]) for curve in self.curves), default=1.0)
        # The rounds from which on errors decide on the frame, and from which on curves are drawn.
        self.start = (LOG_START if self.log_x else LINEAR_START) * self.last
        self.first = max(1.0, self.start / 4) if self.log_x else 0.1 * self.start if self.is_error else 1.0
        found = []
        for i, (name, place) in enumerate(lines.items()):
            m = self.measured[place]
            last = self.curves[i].mean[-1] if self.curves else m.mean
            # Solid curves below, so that the others' lines stay visible.
            style = {"zorder": 2.5 if place.label in self.labels["point"] else 3}
            series = Series(name, [m], [f"{self.value(last)} at the end"], style=style)
            if self.curves:
                self._fill(series, self.curves[i], (i + 1) / (len(lines) + 1))
            found.append(series)
        return found

    def _curve(self, runs: pd.DataFrame) -> Curve:
        y, of_squares = self.y, self.y in (RMSE, WINDOWED_RMSE)
        counted = SQUARED_ERROR if of_squares else "mistakes" if self.is_error else "support_size"
        is_metric = y.name in METRICS_IN_CURVES
        rounds, values = self.numbers.curves.read(list(runs["run_id"]), y.name if is_metric else counted)
        if is_metric:
            values = y.factor * values
        elif y in (WINDOWED_ERROR, WINDOWED_RMSE):
            ends = np.unique(np.searchsorted(rounds, np.linspace(0, rounds[-1], WINDOWS + 1)[1:]))
            rounds = rounds[ends]
            counts, lengths = np.diff(values[:, ends], prepend=0), np.diff(rounds, prepend=0)
            values = y.factor * counts / lengths
        elif self.is_error:
            values = y.factor * values / rounds
        every = pd.DataFrame(np.sqrt(values) if of_squares else values)
        streams = every.groupby(runs.groupby(STREAM, sort=False).ngroup().to_numpy()).mean()
        # With a single stream, the spread is that over the seeds.
        spread = (streams if len(streams) > 1 else every).std().fillna(0.0)
        return Curve(rounds, streams.mean().to_numpy(), spread.to_numpy())

    def _fill(self, series: Series, curve: Curve, shift: float) -> None:
        """Set what is drawn: the curve with marks at different places, so that overlapping ones can be told apart."""
        rounds, mean, sd = (values[curve.rounds >= self.first] for values in curve)
        if sd.max() > NO_SPREAD:
            series.band = rounds, mean - sd, mean + sd
            # Many overlapping bands would darken what they share.
            series.band_alpha = min(BAND_ALPHA, 1.0 / len(self.curves))
        position = np.log(rounds) if self.log_x else rounds.astype(float)
        marks = position[0] + (np.arange(MARKS) + shift) / MARKS * (position[-1] - position[0])
        at = np.union1d(position, marks)
        series.curves = [(np.exp(at) if self.log_x else at, np.interp(at, position, mean))]
        series.style["markevery"] = [int(i) for i in np.searchsorted(at, marks)]

    def xs(self) -> list[float]:
        return [1.0, self.last]

    @cached_property
    def changes(self) -> dict[int, str]:
        """Number of rounds -> change of the stream after them, as far as these are known."""
        spec = self.results.specs.get(self.dataset)
        known = changes_of(spec) if spec else {}
        return {rounds: what for rounds, what in known.items() if rounds < self.last}

    def frame(self, axes: Axes) -> None:
        mark_changes(axes, self.changes)
        axes.set_xlim(self.first if self.log_x else 0, self.last * (1.06 if self.log_x else 1.015))
        if not self.is_error:
            axes.set_ylim(bottom=0)
            return
        late = [(c.mean[c.rounds >= self.start], c.sd[c.rounds >= self.start]) for c in self.curves]
        low, high = min((mean - sd).min() for mean, sd in late), max((mean + sd).max() for mean, sd in late)
        margin = 0.06 * (high - low) or 1.0
        axes.set_ylim(max(0.0, low - margin), high + margin)

    def about(self) -> list[str]:
        sentences = self.shaded(self.series)
        if self.curves and self.is_error:
            early = f"in the first {max(1.0, self.start):,.0f} rounds, when errors are of few examples"
            sentences.append(f"The frame leaves out what lies above or below it {early}.")
        if self.changes:
            sentences.append(f"Dotted vertical lines: here {listed(dict.fromkeys(self.changes.values()))}.")
        return sentences


class SecondsPanel(Panel):
    """The gap of the objective to the best known optimum against a run's own seconds, a curve per run."""

    axes = ("seconds",)
    x_label = "seconds"
    against = "seconds"
    log_x = True
    whole_x = False
    scale = ", both on logarithmic axes"

    def find(self) -> list[Series]:
        brackets = self.results.brackets.items()
        widths = [bracket.width for problem, bracket in brackets if problem.dataset == self.dataset]
        self.width = float(np.nanmax([*widths, 0.0]))
        places = {label: self.places(label) for label in self.spec.lines}
        self.missing = [self.results.title(label) for label, own in places.items() if not own]
        found = [self._series(place) for own in places.values() for place in own]
        n_runs, n_drawn = sum(one.measured[0].n_runs for one in found), sum(len(one.curves) for one in found)
        self.problem = self.lacks(n_runs - n_drawn, n_runs, "traces of the solvers")
        self.names = {"lines": [one.name for one in found], "band": [], "point": []}
        return found

    def _series(self, place: Place) -> Series:
        runs = self.runs[(self.runs["label"] == place.label) & (self.runs["setting"] == place.setting)]
        curves: list[tuple[Points, Points]] = []
        for _, run in runs.iterrows():
            if trace := self.numbers.curves.trace(run["run_id"]):
                seconds, objective = trace
                # Every objective of a run is compared with the same number as its last one.
                base = run["objective"] / (1 + run["gap_to_best"])
                curves.append((seconds[seconds > 0], np.maximum(objective / base - 1, ROUNDING)[seconds > 0]))
        m = self.measured[place]
        style = {"markevery": [-1], **({"linewidth": 1.0, "alpha": 0.6} if len(curves) > 1 else {})}
        end = f"{self.value(m.mean)} after {runs['seconds'].max():.3g} seconds"
        return Series(series_name(self.results.title(place.label), place.setting.text), [m], [end], curves, style=style)

    def frame(self, axes: Axes) -> None:
        axes.set_yscale("log")
        if self.width > ROUNDING:
            style: Any = {"color": "#888888", "alpha": BAND_ALPHA, "linewidth": 0}
            axes.axhspan(ROUNDING / 10, self.width, zorder=1, label="within what is known of the optimum", **style)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        gaps = np.concatenate([gap for one in self.series for _, gap in one.curves])
        lowest = min(gaps.min(), self.width) if self.width > ROUNDING else gaps.min()
        axes.set_ylim(lowest / 2, min(MOST_GAP, 2 * gaps.max()))

    def about(self) -> list[str]:
        return [
            "The gap is relative to the best known lower bound of the optimum. Seconds are the solver's own: compiling "
            "and computing the curve do not count. A mark is where a run ended.",
            "Shaded: gaps below the distance between the best lower bound and the best objective, where nothing is "
            "known.",
        ]


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
            here = (p for p in own.get(name, []) if p.budget != NO_BUDGET)
            if places := [p for p in here if p.budget.kind == "fraction" or not self.is_share]:
                self.lines.append(self._line(name, sorted(places, key=self._x)))
            elif name in without:
                m = self.measured[without[name]]
                self.levels.append(Series(name, [m], [self.value(m.mean)], level=m.mean))
            else:
                self.missing.append(name)
        plain = {one.name: one for one in self.lines if not (one.published or one.band)}
        same = alike((name, (tuple(one.curves[0][0]), tuple(one.curves[0][1]))) for name, one in plain.items())
        joint = {one: name for name, own in same.items() for one in own}
        later = {name for own in same.values() for name in own[1:]}
        self.lines = [one for one in self.lines if one.name not in later]
        for one in self.lines:
            one.name = joint.get(one.name, one.name)
        self.names["lines"] = list(dict.fromkeys(joint.get(name, name) for name in self.names["lines"]))
        if self.levels:
            # Of two that are near each other, the names are apart.
            min(self.levels, key=lambda one: one.level or 0.0).label_above = len(self.levels) == 1
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
        if banded := [one for one in self.lines if one.band_label]:
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
        places = {label: self.places(label) for label in self.shown}
        self.missing = [self.results.title(label) for label, own in places.items() if not own]
        # Lines before points, curves first.
        found = [self._series(label, own) for label, own in places.items() if own]
        return sorted(found, key=lambda one: one.style["zorder"])

    def _series(self, label: str, places: list[Place]) -> Series:
        supports, name = self.numbers.measured(SUPPORT_SIZE), self.results.title(label)
        places = sorted(places, key=lambda place: supports[place].mean)
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
