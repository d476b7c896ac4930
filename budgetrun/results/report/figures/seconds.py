"""Figures over seconds: how near runs with an objective have come to the optimum, on logarithmic axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.results.plotting import BAND_ALPHA
from budgetrun.results.report.aggregate import Place
from budgetrun.results.report.figures.panel import Panel, Points, Series, series_name
from budgetrun.results.store.optimum import ROUNDING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Above this gap nothing has been learned yet.
MOST_GAP = 10.0


class SecondsPanel(Panel):
    """The gap of the objective to the best known optimum against a run's own seconds, a curve per run."""

    axes = ("seconds",)
    x_label = "seconds"
    against = "seconds"
    log_x = True
    whole_x = False

    def find(self) -> list[Series]:
        widths = [
            bracket.width for problem, bracket in self.results.brackets.items() if problem.dataset == self.dataset
        ]
        self.width = float(np.nanmax([*widths, 0.0]))
        places = [place for label in self.lined for place in self.places(label)]
        ran = {place.label for place in places}
        self.missing = [self.results.title(label) for label in self.lined if label not in ran]
        found = [self._series(place) for place in places]
        n_runs, n_drawn = sum(one.measured[0].n_runs for one in found), sum(len(one.curves) for one in found)
        self.problem = self.lacks(n_runs - n_drawn, n_runs, "traces of the solvers")
        self.names = {"lines": [one.name for one in found], "band": [], "point": []}
        return found

    def _series(self, place: Place) -> Series:
        runs = self.runs[(self.runs["label"] == place.label) & (self.runs["setting"] == place.setting)]
        curves = [curve for _, run in runs.iterrows() if (curve := self._curve(run)) is not None]
        m = self.measured[place]
        style = {"markevery": [-1], **({"linewidth": 1.0, "alpha": 0.6} if len(curves) > 1 else {})}
        end = f"{self.value(m.mean)} after {runs['seconds'].max():.3g} seconds"
        return Series(series_name(self.results.title(place.label), place.setting.text), [m], [end], curves, style=style)

    def _curve(self, run: Any) -> tuple[Points, Points] | None:
        trace = self.numbers.curves.trace(run["run_id"])
        if trace is None:
            return None
        seconds, objective = trace
        # Every objective of a run is compared with the same number as its last one.
        base = run["objective"] / (1 + run["gap_to_best"])
        return seconds[seconds > 0], np.maximum(objective / base - 1, ROUNDING)[seconds > 0]

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

    def scale(self) -> str:
        return ", both on logarithmic axes"
