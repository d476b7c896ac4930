"""Figures against the number of rounds: a mean curve a learner, one standard deviation shaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from budgetrun.report.cells import NO_BUDGET, Measured, Place
from budgetrun.report.looks import BAND_ALPHA, NO_SPREAD, Look
from budgetrun.report.panels import Panel, legend_text, series_name
from budgetrun.store.curves import Curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of all rounds: before these shares the error of a few rounds is noise that would flatten the rest.
LINEAR_START, LOG_START = 0.02, 0.005
MARKS = 9


class Curve(NamedTuple):
    """Mean and standard deviation over the streams (zeros for a single one) after so many rounds."""

    rounds: np.ndarray
    mean: np.ndarray
    sd: np.ndarray


class RoundsPanel(Panel):
    """Online error or size of the support set against the number of rounds."""

    mark = "line"

    def __init__(self, results: Any, spec: dict[str, Any], measurements: Any, made: Any, curves: Curves) -> None:
        super().__init__(results, spec, measurements, made)
        # As most of a stream is in its last decade, the rounds themselves show more than their logarithms.
        self.log_x = bool(self.log_x)
        self._lines: dict[str, Place] = {}
        self._curves: dict[str, Curve] = {}
        for label in dict.fromkeys([*self.lined, *self.banded, *self.pointed]):
            places = self.places(label)
            several = len({place.budget for place in places}) > 1
            for place in places:
                budget = place.budget.title() if several else ""
                self._lines[series_name(label, place.setting.text, budget)] = place
            if not places:
                self.missing.append(label)
        runs = {name: self._runs(place) for name, place in self._lines.items()}
        ids = [run_id for group in runs.values() for run_id in group["run_id"]]
        self._n_runs, self._n_missing = len(ids), curves.missing(ids)
        if not self._n_missing:
            self._curves = {name: self._curve(group, curves) for name, group in runs.items()}

    def _runs(self, place: Place) -> Any:
        runs = self._here()
        runs = runs[(runs["label"] == place.label) & (runs["setting"] == place.setting)]
        fraction, budget = runs["budget_fraction"], runs["budget"]
        if place.budget.kind == "fraction":
            return runs[fraction == place.budget.value]
        return runs[fraction.isna() & (budget.isna() if place.budget == NO_BUDGET else budget == place.budget.value)]

    def _curve(self, runs: Any, curves: Curves) -> Curve:
        is_error = self.y.is_percent
        rounds, values = curves.read(list(runs["run_id"]), "mistakes" if is_error else "support_size")
        if is_error:
            values = self.y.factor * values / rounds
        stream = runs.groupby(["task", "repetition"], sort=False).ngroup().to_numpy()
        n_streams = stream.max() + 1
        by_stream = np.zeros((n_streams, len(rounds)))
        np.add.at(by_stream, stream, values)
        by_stream /= np.bincount(stream)[:, None]
        sd = by_stream.std(axis=0, ddof=1) if n_streams > 1 else np.zeros(len(rounds))
        return Curve(rounds, by_stream.mean(axis=0), sd)

    def problem(self) -> str:
        if not self._n_missing:
            return ""
        count = "the curves" if self._n_missing == self._n_runs else f"{self._n_missing:,} of {self._n_runs:,} curves"
        are = "are" if self._n_missing > 1 or count == "the curves" else "is"
        return f"{count} over the rounds {are} not in the folder curves/"

    def names(self, key: str) -> list[str]:
        return list(self._lines) if key == "lines" else []

    def drawn(self) -> dict[str, list[Measured]]:
        return {name: [self.measured[place]] for name, place in self._lines.items()}

    def xs(self) -> list[float]:
        return [1.0, float(max(curve.rounds[-1] for curve in self._curves.values()))]

    def x_label(self) -> str:
        return "rounds"

    def draw(self, axes: Axes, looks: dict[str, Look]) -> None:
        # Many bands on one another would darken what they share.
        alpha = min(BAND_ALPHA, 1.0 / len(self._curves))
        for i, (name, curve) in enumerate(self._curves.items()):
            look = looks[name]
            shown = curve.rounds >= self._first()
            rounds, mean, sd = (values[shown] for values in curve)
            if sd.max() > NO_SPREAD:
                style: Any = {"color": look.colour, "alpha": alpha, "linewidth": 0}
                axes.fill_between(rounds, mean - sd, mean + sd, zorder=1.5, **style)
            # Marks at different places, so that curves that lie on one another can be told apart.
            xs, ys, marks = self._with_marks(rounds, mean, (i + 1) / (len(self._curves) + 1))
            # The reference is solid: below, so that the others' lines stay to be seen.
            height = 2.5 if self._lines[name].label in self.pointed else 3
            axes.plot(xs, ys, label=legend_text(name), markevery=marks, zorder=height, **look.line)

    def _with_marks(
        self, rounds: np.ndarray, mean: np.ndarray, shift: float
    ) -> tuple[np.ndarray, np.ndarray, list[int]]:
        """Return the same broken line with `MARKS` more points at even distances on the axis, and their indices."""
        position = np.log(rounds) if self.log_x else rounds.astype(float)
        marks = position[0] + (np.arange(MARKS) + shift) / MARKS * (position[-1] - position[0])
        at = np.union1d(position, marks)
        xs = np.exp(at) if self.log_x else at
        return xs, np.interp(at, position, mean), [int(i) for i in np.searchsorted(at, marks)]

    def frame(self, axes: Axes) -> None:
        last = self.xs()[-1]
        axes.set_xlim(self._first() if self.log_x else 0, last * (1.06 if self.log_x else 1.015))
        if not self.y.is_percent:
            axes.set_ylim(bottom=0)
            return
        low, high = self._error_range()
        margin = 0.06 * (high - low) or 1.0
        axes.set_ylim(max(0.0, low - margin), high + margin)

    def _first(self) -> float:
        """Return the round from which on curves are drawn."""
        last = self.xs()[-1]
        if self.log_x:
            return max(1.0, self._start() / 4)
        return 0.1 * LINEAR_START * last if self.y.is_percent else 1.0

    def _start(self) -> float:
        return (LOG_START if self.log_x else LINEAR_START) * self.xs()[-1]

    def _error_range(self) -> tuple[float, float]:
        """Return the lowest and the highest error, spreads included, once the first few rounds are over."""
        late = [(c.mean[c.rounds >= self._start()], c.sd[c.rounds >= self._start()]) for c in self._curves.values()]
        return min((mean - sd).min() for mean, sd in late), max((mean + sd).max() for mean, sd in late)

    def sentences(self) -> list[str]:
        sentences = [f"Mean {self.y.noun} on {self.dataset} after so many rounds, {self.counts()}."]
        streams = {m.n_streams for shown in self.drawn().values() for m in shown}
        if max(streams) > 1:
            sentences.append(f"Shaded: one standard deviation over {max(streams)} streams (repetitions × tasks).")
        if self._curves and self.y.is_percent:
            early = f"in the first {max(1.0, self._start()):,.0f} rounds, when errors are of few examples"
            sentences.append(f"The frame leaves out what lies above or below it {early}.")
        return sentences

    def alt(self) -> str:
        scale = ", on a logarithmic axis" if self.log_x else ""
        parts = [f"{self.noun()} against the number of rounds on {self.dataset}{scale}."]
        for name, place in self._lines.items():
            parts.append(f"{name}: {self.value(self.measured[place].mean)} in the end.")
        return " ".join(parts)
