"""Figures over the number of rounds: a mean curve per label, one standard deviation shaded."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from budgetrun.base.problem import METRICS_IN_CURVES, SQUARED_ERROR
from budgetrun.config.quantities import RMSE, SUPPORT_SIZE, WINDOWED_ERROR, WINDOWED_RMSE
from budgetrun.data.generators import changes_of
from budgetrun.results.plotting import BAND_ALPHA, NO_SPREAD, mark_changes
from budgetrun.results.report.aggregate import NO_BUDGET, PLACE, STREAM, Place, place_of, with_budgets
from budgetrun.results.report.figures.panel import Panel, Series, series_name
from budgetrun.results.store.read import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# As shares of all rounds: earlier the error is that of a few rounds, noise that would flatten the rest.
LINEAR_START, LOG_START = 0.02, 0.005
MARKS = 9
# Parts of the stream whose own errors are drawn.
WINDOWS = 50


class Curve(NamedTuple):
    """Mean and standard deviation over the streams (zeros for a single one) after each number of rounds."""

    rounds: NDArray[np.int64]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]


class RoundsPanel(Panel):
    """Errors or the size of the support set against the number of rounds."""

    axes = ("rounds",)
    x_label = "rounds"
    against = "the number of rounds"
    # Most of a stream is in its last decade, so the rounds themselves show more than their logarithms.
    log_x = False

    def find(self) -> list[Series]:
        lines: dict[str, Place] = {}
        for label in dict.fromkeys([*self.lined, *self.banded, *self.pointed]):
            places = [place for place in self.places(label) if self._is_shown(place)]
            several = len({place.budget for place in places}) > 1
            lines |= {
                series_name(self.results.title(label), p.setting.text, p.budget.title() if several else ""): p
                for p in places
            }
            self.missing += [] if places else [self.results.title(label)]
        self.names = {"lines": list(lines), "band": [], "point": []}
        groups = {place_of(key): group for key, group in with_budgets(self.runs).groupby(PLACE, sort=False)}
        ids = [run_id for place in lines.values() for run_id in groups[place]["run_id"]]
        missing = self.numbers.curves.missing(ids)
        self.problem = self.lacks(missing, len(ids), "curves over the rounds")
        self.curves = [] if missing else [self._curve(groups[place]) for place in lines.values()]
        self.last = max((float(curve.rounds[-1]) for curve in self.curves), default=1.0)
        found = []
        for i, (name, place) in enumerate(lines.items()):
            m = self.measured[place]
            last = self.curves[i].mean[-1] if self.curves else m.mean
            series = Series(name, [m], [f"{self.value(last)} at the end"])
            # Solid curves below, so that the others' lines stay visible.
            series.style = {"zorder": 2.5 if place.label in self.pointed else 3}
            if self.curves:
                self._fill(series, self.curves[i], (i + 1) / (len(lines) + 1))
            found.append(series)
        return found

    @property
    def is_error(self) -> bool:
        """True if errors of few rounds, which are noise, are left out."""
        return self.y is not SUPPORT_SIZE

    def _is_shown(self, place: Place) -> bool:
        one = self.spec.budget
        return one is None or place.budget == NO_BUDGET or self.measured[place].budget == one

    def _curve(self, runs: pd.DataFrame) -> Curve:
        name = self.y.name
        of_squares = self.y in (RMSE, WINDOWED_RMSE)
        kept = SQUARED_ERROR if of_squares else "support_size" if self.y is SUPPORT_SIZE else "mistakes"
        kept = name if name in METRICS_IN_CURVES else kept
        rounds, values = self.numbers.curves.read(list(runs["run_id"]), kept)
        if name in METRICS_IN_CURVES:
            values = self.y.factor * values
        elif self.y in (WINDOWED_ERROR, WINDOWED_RMSE):
            ends = np.unique(np.searchsorted(rounds, np.linspace(0, rounds[-1], WINDOWS + 1)[1:]))
            rounds = rounds[ends]
            counts, lengths = np.diff(values[:, ends], prepend=0), np.diff(rounds, prepend=0)
            values = self.y.factor * counts / lengths
        elif self.is_error:
            values = self.y.factor * values / rounds
        values = np.sqrt(values) if of_squares else values
        every = pd.DataFrame(values)
        streams = every.groupby(runs.groupby(STREAM, sort=False).ngroup().to_numpy()).mean()
        # With a single stream, the spread is that over the seeds.
        spread = (streams if len(streams) > 1 else every).std().fillna(0.0)
        return Curve(rounds, streams.mean().to_numpy(), spread.to_numpy())

    def _fill(self, series: Series, curve: Curve, shift: float) -> None:
        """Set what is drawn: the curve with marks at different places, so that overlapping ones can be told apart."""
        rounds, mean, sd = (values[curve.rounds >= self._first()] for values in curve)
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

    def _start(self) -> float:
        """Return the round from which on errors decide on the frame."""
        return (LOG_START if self.log_x else LINEAR_START) * self.last

    def _first(self) -> float:
        """Return the round from which on curves are drawn."""
        if self.log_x:
            return max(1.0, self._start() / 4)
        return 0.1 * LINEAR_START * self.last if self.is_error else 1.0

    @cached_property
    def changes(self) -> dict[int, str]:
        """Number of rounds -> change of the stream after them, as far as these are known."""
        spec = next((spec for spec in self.results.config.datasets if spec.label == self.dataset), None)
        known = {} if spec is None else changes_of(spec)
        return {rounds: what for rounds, what in known.items() if rounds < self.last}

    def frame(self, axes: Axes) -> None:
        mark_changes(axes, self.changes)
        axes.set_xlim(self._first() if self.log_x else 0, self.last * (1.06 if self.log_x else 1.015))
        if not self.is_error:
            axes.set_ylim(bottom=0)
            return
        late = [(c.mean[c.rounds >= self._start()], c.sd[c.rounds >= self._start()]) for c in self.curves]
        low, high = min((mean - sd).min() for mean, sd in late), max((mean + sd).max() for mean, sd in late)
        margin = 0.06 * (high - low) or 1.0
        axes.set_ylim(max(0.0, low - margin), high + margin)

    def about(self) -> list[str]:
        sentences = self.shaded(self.series)
        if self.curves and self.is_error:
            early = f"in the first {max(1.0, self._start()):,.0f} rounds, when errors are of few examples"
            sentences.append(f"The frame leaves out what lies above or below it {early}.")
        if self.changes:
            sentences.append(f"Dotted vertical lines: here {listed(dict.fromkeys(self.changes.values()))}.")
        return sentences

    def scale(self) -> str:
        return ", on a logarithmic axis" if self.log_x else ""
