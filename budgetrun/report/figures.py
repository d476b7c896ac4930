"""The curves of a report, as PNG and SVG: online error against budget, with the printed numbers as hollow markers."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from budgetrun.report.cells import NO_BUDGET, Budget, Measured, Measurements, measure
from budgetrun.report.results import Results
from budgetrun.report.tables import Table, slug, warnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette without yellow (too faint on white); black and the circle are the reference point's.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666")
MARKERS = ("s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
# Where two curves lie on one another, the lower one shows through the gaps.
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.8)), (0, (7, 1.8, 1.5, 1.8)), (0, (2.5, 1.5)))
DECADE = 10.0
HOLLOW: Any = {"linestyle": "", "markerfacecolor": "none", "markeredgewidth": 1.3, "markersize": 10.5}
DOTS_PER_INCH = 160
BAND_ALPHA = 0.22

STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 11,
    "axes.labelsize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#444444",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.7,
    "lines.markersize": 6,
    "legend.frameon": False,
    # Labels are names, never formulas: a dollar sign in one must not start mathematics.
    "text.parse_math": False,
    "svg.fonttype": "none",
    # Without it the ids within an SVG differ from run to run.
    "svg.hashsalt": "budgetrun",
}


class Look(NamedTuple):
    """How a label is drawn, the same in every figure of a report."""

    colour: str
    marker: str
    dashes: Any


CIRCLE = Look("black", "o", "-")


class Point(NamedTuple):
    """One mark of a line: where, what was measured there, and the printed number in percent (None for none)."""

    x: float
    measured: Measured
    printed: float | None


@dataclass(frozen=True)
class Drawn:
    """A figure that was written: ``paths`` are its PNG and its SVG, ``alt`` says in words what it shows."""

    name: str
    title: str
    caption: str
    alt: str
    paths: list[Path]


@dataclass
class _Content:
    """What a figure's specification comes to with these results."""

    title: str
    dataset: str
    x: str
    lines: dict[str, list[Point]] = field(default_factory=dict)
    levels: dict[str, Measured] = field(default_factory=dict)
    marks: dict[str, Point] = field(default_factory=dict)
    band: list[str] = field(default_factory=list)
    unlined: list[str] = field(default_factory=list)  # a band without its line
    missing: list[str] = field(default_factory=list)

    @property
    def drawn(self) -> dict[str, list[Measured]]:
        """All that is shown, label by label."""
        shown = {label: [point.measured for point in points] for label, points in self.lines.items()}
        shown |= {label: [level] for label, level in self.levels.items()}
        return shown | {label: [mark.measured] for label, mark in self.marks.items()}


def draw(results: Results, made: list[Table]) -> list[Drawn]:
    """Write ``figures/<name>.png`` and ``.svg`` of each figure that the config asks for, or one a dataset.

    Parameters
    ----------
    results : Results
    made : list of Table
        The report's tables, for their printed numbers.

    Returns
    -------
    list of Drawn
        Without the figures that have no finished run to show.
    """
    import matplotlib

    measurements = measure(results.runs, results.failed)
    specs = results.report.get("figures") or _default_specs(results, measurements)
    folder = results.folder / "figures"
    drawn = []
    looks = _looks(results, specs)
    with matplotlib.rc_context(STYLE):
        for spec in specs:
            content = _content(results, spec, measurements, made)
            if not content.drawn:
                continue
            folder.mkdir(exist_ok=True)
            drawn.append(_write(results, looks, str(spec["name"]), content, folder))
    return drawn


def _looks(results: Results, specs: list[dict[str, Any]]) -> dict[str, Look]:
    """Hand out colours and markers in the order in which the figures name the learners."""
    named = [spec.get(key) for key in ("lines", "band", "point") for spec in specs]
    labels = [label for names in named for label in _expanded(results, names)]
    return {
        label: Look(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], DASHES[i % len(DASHES)])
        for i, label in enumerate(dict.fromkeys(labels))
    }


def _default_specs(results: Results, measurements: Measurements) -> list[dict[str, Any]]:
    """Return a figure for each dataset whose learners have at least two budgets."""
    specs: list[dict[str, Any]] = []
    for i, dataset in enumerate(results.datasets):
        budgets = {key[2] for key in measurements if key[0] == dataset and key[2].kind != "none"}
        if len(budgets) < 2:
            continue
        here = [label for label in results.labels if any(key[:2] == (dataset, label) for key in measurements)]
        without = [label for label in here if (dataset, label, NO_BUDGET) in measurements]
        lines = [label for label in here if label not in without]
        name = f"error_{slug(dataset)}"
        if name in [spec["name"] for spec in specs]:
            name = f"{name}_{i}"
        specs.append({"name": name, "dataset": dataset, "lines": lines, "point": without})
    return specs


def _content(results: Results, spec: dict[str, Any], measurements: Measurements, made: list[Table]) -> _Content:
    dataset = str(spec["dataset"])
    x = str(spec.get("x") or "budget")
    content = _Content(title=str(spec.get("title") or dataset), dataset=dataset, x=x)
    own = {key[1:]: value for key, value in measurements.items() if key[0] == dataset}
    lined, banded = _expanded(results, spec.get("lines")), _expanded(results, spec.get("band"))
    for label in dict.fromkeys([*lined, *banded]):
        points = [
            Point(budget.value if x == "budget_fraction" else m.budget, m, _printed(made, dataset, label, budget, True))
            for (other, budget), m in own.items()
            if other == label and budget.kind != "none" and (x == "budget" or budget.kind == "fraction")
        ]
        if points:
            content.lines[label] = sorted(points, key=lambda point: point.x)
        elif (label, NO_BUDGET) in own:
            content.levels[label] = own[label, NO_BUDGET]
        else:
            content.missing.append(label)
    # p, to place a support size on an axis of fractions
    shares = [m.budget / budget.value for (_, budget), m in own.items() if budget.kind == "fraction"]
    scale = sum(shares) / len(shares) if x == "budget_fraction" and shares else 1.0
    for label in _expanded(results, spec.get("point")):
        m = own.get((label, NO_BUDGET))
        if m is None:
            content.missing.append(label)
        else:
            printed = _printed(made, dataset, label, NO_BUDGET, False)
            content.marks[label] = Point(m.support_size / scale, m, printed)
    content.band = [label for label in content.lines if label in banded]
    content.unlined = [label for label in content.band if label not in lined]
    return content


def _expanded(results: Results, wanted: Any) -> list[str]:
    names = [wanted] if isinstance(wanted, str) else wanted or []
    return list(dict.fromkeys(label for name in names for label in results.expand(str(name))))


def _printed(made: list[Table], dataset: str, label: str, budget: Budget, has_budget: bool) -> float | None:
    numbers = (table.printed.find(dataset, label, budget, has_budget) for table in made)
    return next((number for number in numbers if number is not None), None)


def _write(results: Results, looks: dict[str, Look], name: str, content: _Content, folder: Path) -> Drawn:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.6, 5.2), layout="constrained")
    axes = figure.add_subplot()
    has_print = _plot(axes, looks, content)
    _dress(figure, axes, looks, content, has_print)
    paths = [folder / f"{slug(name)}.png", folder / f"{slug(name)}.svg"]
    figure.savefig(paths[0], dpi=DOTS_PER_INCH, metadata={"Software": None})
    figure.savefig(paths[1], metadata={"Date": None, "Creator": None})
    return Drawn(name, content.title, _caption(content, has_print, warnings(results)), _alt(content), paths)


def _plot(axes: Axes, looks: dict[str, Look], content: _Content) -> bool:
    """Draw the marks and return whether a printed number is among them."""
    has_print = False
    for label, points in content.lines.items():
        look = looks[label]
        xs = [point.x for point in points]
        if label in content.band:
            low, high = ([getattr(point.measured, end) for point in points] for end in ("seed_low", "seed_high"))
            axes.fill_between(xs, low, high, color=look.colour, alpha=BAND_ALPHA, linewidth=0, zorder=1.5)
        if label not in content.unlined:
            errors = [point.measured.error for point in points]
            style = {"color": look.colour, "marker": look.marker, "linestyle": look.dashes}
            axes.plot(xs, errors, label=_shown(label), zorder=3, **style)
        has_print |= _hollow(axes, points, look)
    for label, level in content.levels.items():
        axes.axhline(level.error, color=looks[label].colour, linestyle=":", label=_shown(label), zorder=2)
    for label, mark in content.marks.items():
        # Several learners without a budget: the first is the paper's circle, the others keep their own look.
        look = CIRCLE if label == next(iter(content.marks)) else looks[label]
        at = [mark.x], [mark.measured.error]
        axes.plot(*at, color=look.colour, marker=look.marker, linestyle="", label=_shown(label), zorder=6)
        has_print |= _hollow(axes, [mark], look)
    return has_print


def _hollow(axes: Axes, points: list[Point], look: Look) -> bool:
    printed = [(point.x, point.printed) for point in points if point.printed is not None]
    if printed:
        xs, ys = zip(*printed, strict=True)
        axes.plot(xs, ys, marker=look.marker, color=look.colour, zorder=5, **HOLLOW)
    return bool(printed)


def _shown(label: str) -> str:
    # matplotlib leaves a label that starts with an underscore out of the legend
    return f" {label}" if label.startswith("_") else label


def _dress(figure: Figure, axes: Axes, looks: dict[str, Look], content: _Content, has_print: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    xs = [point.x for points in content.lines.values() for point in points if point.x > 0]
    if xs and max(xs) > DECADE * min(xs):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    elif content.x == "budget":
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_xlabel("budget B as a share of p" if content.x == "budget_fraction" else "budget B")
    axes.set_ylabel("online error (%)")

    handles, labels = axes.get_legend_handles_labels()
    for label in content.band:
        handles.append(Patch(facecolor=looks[label].colour, alpha=BAND_ALPHA))
        labels.append(f"{label}, min to max over seeds")
    if has_print:
        handles.append(Line2D([], [], marker="s", color="#444444", **HOLLOW))
        labels.append("hollow: printed")
    columns = 3 if max(map(len, labels)) <= 22 else 2 if max(map(len, labels)) <= 36 else 1
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=10, numpoints=1)

    title = textwrap.wrap(content.title, 58) or [content.title]
    named = "" if content.title == content.dataset else f"{content.dataset}: "
    about = textwrap.wrap(named + _counts(content), 84)
    axes.set_title("\n".join(title), loc="left", fontsize=13, fontweight="bold", pad=14 + 12 * len(about))
    axes.annotate(
        "\n".join(about),
        (0, 1),
        xycoords="axes fraction",
        xytext=(0, 8),
        textcoords="offset points",
        fontsize=9.5,
        color="#555555",
        verticalalignment="bottom",
    )


def _counts(content: _Content) -> str:
    """Return how many runs stand behind a point: ``mean of 126 runs a point; rbp: 1,260``."""
    counts = {label: sorted({m.n_runs for m in shown}) for label, shown in content.drawn.items()}
    spans = {label: f"{n[0]:,}" if n[0] == n[-1] else f"{n[0]:,} to {n[-1]:,}" for label, n in counts.items()}
    usual = Counter(spans.values()).most_common(1)[0][0]
    others = [f"{label}: {span}" for label, span in spans.items() if span != usual]
    first = "a single run a point" if usual == "1" else f"mean of {usual} runs a point"
    return "; ".join([first, *others])


def _caption(content: _Content, has_print: bool, warned: list[str]) -> str:
    axis = "budget as a share of p" if content.x == "budget_fraction" else "mean budget"
    sentences = [f"Mean online error on {content.dataset} against {axis}, {_counts(content)}."]
    if content.marks:
        sentences.append(f"Without a budget, at the mean size of the support set: {', '.join(content.marks)}.")
    if content.levels:
        sentences.append(f"Dotted, without a budget: {', '.join(content.levels)}.")
    if content.band:
        seeds = max(m.n_seeds for label in content.band for m in content.drawn[label])
        sentences.append(f"Band: minimum to maximum over {seeds} seeds of {', '.join(content.band)}.")
    if has_print:
        sentences.append("Hollow markers: the printed numbers.")
    if content.missing:
        sentences.append(f"No finished run of {', '.join(content.missing)}.")
    return " ".join(sentences + warned)


def _alt(content: _Content) -> str:
    axis = "share of p" if content.x == "budget_fraction" else "B"
    parts = [f"Online error against budget on {content.dataset}."]
    for label, points in content.lines.items():
        ends = [f"{p.measured.error:.2f}% at {axis} = {_round(p.x)}" for p in (points[0], points[-1])]
        parts.append(f"{label}: {' to '.join(dict.fromkeys(ends))}.")
    for label, m in content.levels.items():
        parts.append(f"{label}: {m.error:.2f}%.")
    for label, mark in content.marks.items():
        parts.append(f"{label}: {mark.measured.error:.2f}% at {axis} = {_round(mark.x)}.")
    return " ".join(parts)


def _round(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 or math.isclose(value, round(value)) else f"{value:.3g}"
