"""Figures against the seconds of solvers: how near they have come to the optimum, on logarithmic axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.report.cells import Measured
from budgetrun.report.looks import BAND_ALPHA, Look
from budgetrun.report.panels import Panel, legend_text, series_name
from budgetrun.report.traces import Traces
from budgetrun.store.optimum import ROUNDING

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# Above it nothing is learnt yet.
MOST_GAP = 10.0


class SecondsPanel(Panel):
    """The gap of the objective to the best known optimum against a solver's own seconds, a curve a run."""

    mark = "curve"

    def __init__(self, results: Any, spec: dict[str, Any], measurements: Any, made: Any, traces: Traces) -> None:
        super().__init__(results, spec, measurements, made)
        if self.log_x is None:
            self.log_x = True
        self.whole_x = False
        self._shown: dict[str, list[Measured]] = {}
        self._curves: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        self._last: dict[str, float] = {}
        self._n_runs = self._n_missing = 0
        widths = [bracket.width for key, bracket in results.brackets.items() if key[0] == self.dataset]
        self._width = float(np.nanmax([*widths, 0.0]))
        for label in self.lined:
            places = self.places(label)
            for place in places:
                name = series_name(label, place.setting.text)
                runs = self._here()
                runs = runs[(runs["label"] == label) & (runs["setting"] == place.setting)]
                curves = [self._curve(run, traces) for _, run in runs.iterrows()]
                self._n_runs += len(curves)
                self._n_missing += sum(curve is None for curve in curves)
                self._shown[name] = [self.measured[place]]
                self._last[name] = float(runs["seconds"].max())
                self._curves[name] = [curve for curve in curves if curve is not None]
            if not places:
                self.missing.append(label)

    def _curve(self, run: Any, traces: Traces) -> tuple[np.ndarray, np.ndarray] | None:
        trace = traces.of(run["run_id"])
        if trace is None:
            return None
        seconds, objective = trace
        # Every objective of a run is compared with the same number as its last one.
        base = run["objective"] / (1 + run["gap_to_best"])
        return seconds, np.maximum(objective / base - 1, ROUNDING)

    def problem(self) -> str:
        if not self._n_missing:
            return ""
        count = "the traces" if self._n_missing == self._n_runs else f"{self._n_missing:,} of {self._n_runs:,} traces"
        return f"{count} of the solvers are not in the folder curves/"

    def names(self, key: str) -> list[str]:
        return list(self._curves) if key == "lines" else []

    def drawn(self) -> dict[str, list[Measured]]:
        return self._shown

    def xs(self) -> list[float]:
        return [x for curves in self._curves.values() for seconds, _ in curves for x in seconds.tolist() if x > 0]

    def x_label(self) -> str:
        return "seconds"

    def draw(self, axes: Axes, looks: dict[str, Look]) -> None:
        axes.set_yscale("log")
        for name, curves in self._curves.items():
            look = looks[name]
            several: Any = {"linewidth": 1.0, "alpha": 0.6} if len(curves) > 1 else {}
            for seconds, gap in curves:
                positive = seconds > 0
                axes.plot(seconds[positive], gap[positive], markevery=[-1], zorder=3, **look.line, **several)
        if self._width > ROUNDING:
            style: Any = {"color": "#888888", "alpha": BAND_ALPHA, "linewidth": 0}
            axes.axhspan(ROUNDING / 10, self._width, zorder=1, label="within what is known of the optimum", **style)

    def handles(self, looks: dict[str, Look]) -> list[tuple[Artist, str]]:
        from matplotlib.lines import Line2D

        return [(Line2D([], [], **looks[name].line), legend_text(name)) for name in self._curves]

    def frame(self, axes: Axes) -> None:
        from matplotlib.ticker import FuncFormatter

        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        gaps = np.concatenate([gap for curves in self._curves.values() for _, gap in curves])
        lowest = min(gaps.min(), self._width) if self._width > ROUNDING else gaps.min()
        axes.set_ylim(lowest / 2, min(MOST_GAP, 2 * gaps.max()))

    def sentences(self) -> list[str]:
        return [
            f"Relative gap of the objective to the best known lower bound of the optimum on {self.dataset} after so "
            f"many seconds of the solver's own, {self.counts()}; compiling and computing the trace do not count. A "
            "mark is where a run ended.",
            "Shaded: gaps below the distance between the best lower bound and the best objective, where nobody knows.",
        ]

    def alt(self) -> str:
        parts = [f"{self.noun()} against seconds on {self.dataset}, both on logarithmic axes."]
        for name, (measured,) in self._shown.items():
            parts.append(f"{name}: {self.value(measured.mean)} after {self._last[name]:.3g} seconds.")
        return " ".join(parts)
