"""What every figure has in common: where its numbers come from, its frame, and its words."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from budgetrun.report.cells import NO_BUDGET, Measured, Measurements, Place
from budgetrun.report.layout import Table
from budgetrun.report.looks import HOLLOW, Look
from budgetrun.report.quantities import ONLINE_ERROR, QUANTITIES, Quantity
from budgetrun.store.read import Results

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


class Point(NamedTuple):
    """One mark of a line: where, what was measured there, and the printed number in y's unit (None for none)."""

    x: float
    measured: Measured
    printed: float | None


class Panel:
    """One figure before it is drawn.

    Parameters
    ----------
    results : Results
    spec : dict
        The figure's entry in the config.
    measurements : dict of Quantity to Measurements
        With those of the figure's y.
    made : list of Table
        The report's tables, for their printed numbers.

    Attributes
    ----------
    lined, banded, pointed : list of str
        Labels of algorithms, as the config gives them.
    missing : list of str
        Names with nothing to show.
    has_print : bool
        Whether a printed number is among the marks.
    """

    # What a single number of a line is.
    mark: ClassVar[str] = "point"

    def __init__(
        self,
        results: Results,
        spec: dict[str, Any],
        measurements: dict[Quantity, Measurements],
        made: list[Table],
    ) -> None:
        self.results = results
        self.dataset = str(spec["dataset"])
        self.name = str(spec["name"])
        self.title = str(spec.get("title") or self.dataset)
        self.y = y_of(spec)
        self.log_x: bool | None = spec.get("log_x")
        # Whether horizontal positions are whole numbers.
        self.whole_x = True
        self.lined, self.banded, self.pointed = (_labels(spec.get(key)) for key in ("lines", "band", "point"))
        self.measured = {p: m for p, m in measurements[self.y].items() if p.dataset == self.dataset}
        self.made = [table for table in made if table.quantity == self.y]
        self.missing: list[str] = []
        self.has_print = False

    # Each kind of figure says these.

    def names(self, key: str) -> list[str]:
        """Return the names that need a look, of what the config's ``lines``, ``band`` or ``point`` asks for."""
        raise NotImplementedError

    def drawn(self) -> dict[str, list[Measured]]:
        """Return all that is shown, name by name."""
        raise NotImplementedError

    def xs(self) -> list[float]:
        """Return the horizontal positions that the axis must reach."""
        raise NotImplementedError

    def x_label(self) -> str:
        """Return the words at the horizontal axis."""
        raise NotImplementedError

    def draw(self, axes: Axes, looks: dict[str, Look]) -> None:
        """Draw the marks."""
        raise NotImplementedError

    def sentences(self) -> list[str]:
        """Return the caption without what holds for all figures."""
        raise NotImplementedError

    def alt(self) -> str:
        """Return in words what is to be seen."""
        raise NotImplementedError

    def frame(self, axes: Axes) -> None:
        """Set what the axes show, where that is not simply all that is drawn."""

    def handles(self, looks: dict[str, Look]) -> list[tuple[Artist, str]]:
        """Return entries of the legend that stand for no single artist."""
        return []

    # Words.

    def problem(self) -> str:
        """Return why the figure cannot be drawn, empty if it can."""
        return ""

    def counts(self) -> str:
        """Return how many runs stand behind a mark: ``mean of 126 runs a point; rbp: 1,260``."""
        return self.counts_of(self.drawn())

    def counts_of(self, drawn: dict[str, list[Measured]]) -> str:
        """Return the same of what is drawn as means."""
        counts = {name: sorted({m.n_runs for m in shown}) for name, shown in drawn.items()}
        spans = {name: f"{n[0]:,}" if n[0] == n[-1] else f"{n[0]:,} to {n[-1]:,}" for name, n in counts.items()}
        usual = Counter(spans.values()).most_common(1)[0][0]
        others = [f"{name}: {span}" for name, span in spans.items() if span != usual]
        first = f"a single run a {self.mark}" if usual == "1" else f"mean of {usual} runs a {self.mark}"
        return "; ".join([first, *others])

    def caption(self) -> str:
        """Return the words below the figure."""
        sentences = self.sentences()
        if self.has_print:
            sentences.append("Hollow markers: the printed numbers.")
        if self.missing:
            sentences.append(self._of_missing())
        return " ".join(sentences)

    def noun(self) -> str:
        """Return what is shown, at the start of a sentence."""
        return self.y.noun[0].upper() + self.y.noun[1:]

    def value(self, number: float) -> str:
        """Return a number with its unit."""
        return self.y.text(number) + self.y.unit

    def _of_missing(self) -> str:
        ran = {label for label in self.missing if label in set(self._here()["label"])}
        absent = [label for label in self.missing if label not in ran]
        parts = [f"No finished run of {', '.join(absent)}."] if absent else []
        without = [label for label in self.missing if label in ran]
        return " ".join(parts + ([f"No {self.y.noun} of {', '.join(without)}."] if without else []))

    def _here(self) -> Any:
        return self.results.runs[self.results.runs["dataset"] == self.dataset]

    # Numbers.

    def places(self, label: str) -> list[Place]:
        """Return the places of a label with something measured, by budget and setting."""
        own = [place for place in self.measured if place.label == label]
        return sorted(own, key=lambda p: (p.budget.kind, p.budget.value, p.setting.rank, p.setting.items))

    def printed(self, place: Place) -> float | None:
        """Return the printed number of a place, None for none."""
        has_budget, setting = place.budget != NO_BUDGET, place.setting
        numbers = (
            table.printed.find(self.dataset, place.label, place.budget, has_budget, setting, bool(setting.items))
            for table in self.made
        )
        return next((number for number in numbers if number is not None), None)

    def hollow(self, axes: Axes, points: list[Point], look: Look) -> None:
        """Draw the printed numbers of some points."""
        shown = [(point.x, point.printed) for point in points if point.printed is not None]
        if shown:
            xs, ys = zip(*shown, strict=True)
            axes.plot(xs, ys, marker=look.marker, color=look.colour, zorder=5, **HOLLOW)
            self.has_print = True


def y_of(spec: dict[str, Any]) -> Quantity:
    """Return what a figure shows at its vertical axis."""
    return QUANTITIES[str(spec.get("y") or ONLINE_ERROR.name)]


def series_name(label: str, *parts: str) -> str:
    """Return ``fogd [eta=0.1]``, or the label alone where nothing tells its lines apart."""
    told = ", ".join(part for part in parts if part)
    return f"{label} [{told}]" if told else label


def legend_text(name: str) -> str:
    """Return a name as matplotlib takes it: it leaves one that starts with an underscore out of the legend."""
    return f" {name}" if name.startswith("_") else name


def rounded(value: float) -> str:
    """Return a horizontal position in words."""
    return f"{value:,.0f}" if abs(value) >= 10 or math.isclose(value, round(value)) else f"{value:.3g}"


def _labels(wanted: Any) -> list[str]:
    return list(dict.fromkeys([wanted] if isinstance(wanted, str) else map(str, wanted or [])))
