"""Figures of mistakes and bounds against rounds, for one stream of each dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.files import make_folder
from budgetrun.papers.bounds.check import Checked, Row, StreamKey
from budgetrun.results.plotting import Look, hand_out, number_log_axis, save, slug, styled
from budgetrun.results.store.curves import Curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from budgetrun.papers.theory import Competitors
    from budgetrun.results.store.read import Results

# The figure begins after this share of the stream; before it there are few mistakes.
START = 0.01
HOLLOW: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 1.3}


def draw(results: Results, checked: Checked) -> dict[Path, bool]:
    """Write ``figures/bounds_<dataset>.png`` for each dataset with a bound that applies; tell which of them are kept.

    Mistakes are a solid line with filled markers, bounds a dashed line with hollow markers. A bound that depends on the
    whole run is known only after the last round, and is a larger hollow marker there. Of several settings the one with
    the tightest bound is shown. If ``curves/`` lacks some, an existing figure is kept; a new one has the last round.
    """
    curves = Curves(results.folder / "curves")
    drawn = {}
    for stream, competitors in checked.competitors.items():
        rows = [row for row in checked.rows if row.stream == stream and row.bound and row.verdict.applies]
        if rows := [row for row in rows if row.verdict.counts != "halvings"]:
            path = results.folder / "figures" / f"bounds_{slug(stream[0])}.png"
            kept = path.is_file() and any(curves.missing(row.run_ids) for row in rows)
            if not kept:
                make_folder(path.parent)
                _draw(path, results, stream, rows, competitors, curves)
            drawn[path] = kept
    return drawn


def _draw(
    path: Path, results: Results, stream: StreamKey, rows: list[Row], competitors: Competitors, curves: Curves
) -> None:
    from matplotlib.lines import Line2D

    # The bounds on one run of each label, the one with the tightest bound.
    by_label = {}
    for label in results.labels:
        if mine := [row for row in rows if row.label == label]:
            chosen = max(mine, key=lambda row: row.verdict.ratio).run_ids
            by_label[label] = [row for row in mine if row.run_ids == chosen]
    looks = hand_out(by_label)
    n_lines = -(-(len(by_label) + 2) // 2)
    with styled(6.6, 4.9 + 0.22 * n_lines) as figure:
        axes = figure.add_subplot()
        handles = []
        for i, (label, of_one) in enumerate(by_label.items()):
            look, budget = looks[label], of_one[0].budget
            _draw_label(axes, of_one, competitors, curves, look, (i + 0.5) / len(by_label))
            has_budget = budget is None or label.endswith(f"B = {budget}")
            text = label if has_budget else f"{label}, B = {budget:,}"
            handles.append(Line2D([], [], color=look.colour, marker=look.marker, label=text))
        grey: Any = {"color": "#444444", "marker": "o"}
        handles.append(Line2D([], [], linestyle="--", label="bound after each round", **grey, **HOLLOW))
        handles.append(Line2D([], [], linestyle="", markersize=9, label="bound known at the end", **grey, **HOLLOW))
        T = rows[0].n_examples
        axes.axhline(100, color="#999999", linewidth=1.2, zorder=1)
        axes.annotate("every round a mistake", (START * T, 103), color="#777777", fontsize=9, va="bottom")
        axes.set(xscale="log", yscale="log", xlabel="rounds", ylabel="mistakes and bounds, % of the rounds so far")
        axes.set_xlim(START * T * 0.97, T * 1.12)
        for axis in (axes.xaxis, axes.yaxis):
            number_log_axis(axis)
        dataset, repetition, task, kernel = stream
        what = f"{dataset}, {f'task {task}, ' if task != '-' else ''}repetition {repetition}"
        what += f", {kernel}" if results.runs.loc[results.runs["dataset"] == dataset, "kernel"].nunique() > 1 else ""
        axes.set_title(f"Mistakes and their bounds\n{what}", loc="left", fontsize=12, fontweight="bold")
        figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=9.5)
        save(figure, path)


def _draw_label(
    axes: Axes, rows: list[Row], competitors: Competitors, curves: Curves, look: Look, shift: float
) -> None:
    ids, T = rows[0].run_ids, rows[0].n_examples
    colour: Any = {"color": look.colour, "marker": look.marker}
    rounds = np.array([T])
    if curves.missing(ids):
        axes.plot([T], [100 * rows[0].verdict.count / T], zorder=3, clip_on=False, **colour)
    else:
        rounds, mistakes = curves.read(ids, "mistakes")
        late = rounds >= START * T
        rounds = rounds[late]
        marks = _marks(rounds, shift)
        axes.plot(rounds, 100 * mistakes.mean(axis=0)[late] / rounds, zorder=3, markevery=marks, **colour)
    if over_rounds := [row for row in rows if row.bound is not None and row.bound.anytime]:
        best = min(over_rounds, key=lambda row: row.verdict.value)
        assert best.bound is not None
        assert best.run is not None
        values = best.bound.over_rounds(best.run, competitors, rounds)
        line: Any = {"linestyle": "--", "markevery": _marks(rounds, shift), "clip_on": len(rounds) > 1}
        axes.plot(rounds, 100 * values / rounds, zorder=2.5, **line, **colour, **HOLLOW)
    if at_end := [row for row in rows if row.bound is not None and not row.bound.anytime]:
        value = min(row.verdict.value for row in at_end)
        axes.plot([T], [100 * value / T], linestyle="", zorder=3.5, clip_on=False, markersize=9, **colour, **HOLLOW)


def _marks(rounds: NDArray[np.int64], shift: float) -> list[int]:
    """Return where on a curve to put markers: five, evenly spaced on the log scale, shifted by a share of a spacing."""
    position = np.log(rounds)
    wanted = position[0] + (np.arange(5) + shift) / 5 * (position[-1] - position[0])
    return sorted({int(np.abs(position - at).argmin()) for at in wanted})
