"""Figures show what `figures.json` says: limits, scales, lines, shades and words.

After a change that is wanted, look at the figures, then write it again: BUDGETRUN_RECORD=1 pytest -m committed FILE
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import test_report_curves as curves
import test_report_solvers as solvers
from fake_results import build, of, run

from budgetrun.base.files import checkout
from budgetrun.results.report import figures
from budgetrun.results.store.read import load

RECORDED = Path(__file__).with_name("figures.json")
# Of the kinds that need no curves, on linear and on logarithmic axes.
COMMITTED = (
    "auto_diabetes", "forgetron_cks", "forgetron_fig4", "forgetron_fig7", "projectron_fig8", "regression_budgets",
)  # fmt: skip
OF_ROUNDS = [
    curves.ROUNDS,
    curves.ROUNDS | {"name": "g", "y": "support_size"},
    curves.ROUNDS | {"name": "h", "log_x": True, "point": None},
    curves.ROUNDS | {"name": "i", "lines": ["projectron"], "point": None},
]


BUDGETS = {"name": "j", "title": "Budgets", "dataset": "one", "x": "budget", "lines": ["norma", "rbp", "perceptron"]}
OF_BUDGETS = [BUDGETS, BUDGETS | {"name": "k", "lines": ["rbp", "perceptron", "pegasos"]}]


def rows_of_budgets():
    """Two seeds at the smaller budget; settings, whose looks come last; and two learners without a budget."""
    rows = [run("one", "rbp", 20 + s, seed=s, budget=50) for s in (0, 1)] + [run("one", "rbp", 15, budget=100)]
    rows += [run("one", "norma", 18 - eta, budget=b, setting={"eta": eta}) for eta in (1, 2) for b in (50, 100)]
    return [*rows, run("one", "perceptron", 8), run("one", "pegasos", 9)]


def made(name, folder):
    """Return a results folder."""
    if name == "budgets":
        algorithms = [{"name": label, "label": label} for label in ("rbp", "perceptron", "pegasos")]
        algorithms.append(of("norma", parameters={"eta": [1, 2]}))
        return build(folder / "r", rows_of_budgets(), report={"figures": OF_BUDGETS}, algorithms=algorithms)
    if name == "seconds":
        solvers.write_traces(made := solvers.made(folder / "r"), solvers.solved_rows())
        return made
    return curves.plain(folder, OF_ROUNDS) if name == "rounds" else checkout() / "results" / name


LOOKS = "color", "linestyle", "linewidth", "alpha", "marker", "markevery", "zorder"


def rounded(values):
    return [float(f"{value:.6g}") for value in np.ravel(np.asarray(values, dtype=float))]


def line(drawn):
    x, y = (np.asarray(values, dtype=float) for values in drawn.get_data())
    looks = [getattr(drawn, f"get_{name}")() for name in LOOKS]
    return [drawn.get_label(), *map(str, looks), len(x), *rounded([*x[:2], *x[-1:], *y[:2], *y[-1:], np.nansum(y)])]


def shade(drawn):
    corners = np.concatenate([path.vertices for path in drawn.get_paths()] or [np.zeros((1, 2))])
    return [type(drawn).__name__, drawn.get_zorder(), len(corners), *rounded([corners.min(0), corners.max(0)])]


def text(drawn):
    return [drawn.get_text(), *rounded(drawn.get_position()), drawn.get_ha(), drawn.get_va()]


@pytest.mark.parametrize(
    "name", ["rounds", "seconds", "budgets", *(pytest.param(n, marks=pytest.mark.committed) for n in COMMITTED)]
)
def test_figures_show_what_they_showed(name, tmp_path, monkeypatch):
    found = {}

    def keep(figure, *paths):
        (axes,) = figure.axes
        found[paths[0].stem] = {
            "size": rounded(figure.get_size_inches()),
            "x": [axes.get_xlabel(), axes.get_xscale(), *rounded(axes.get_xlim())],
            "y": [axes.get_ylabel(), axes.get_yscale(), *rounded(axes.get_ylim())],
            "lines": [line(each) for each in axes.get_lines()],
            "shades": [shade(each) for each in axes.collections],
            "texts": [text(each) for each in axes.texts],
            "legend": [[one._ncols, *(each.get_text() for each in one.get_texts())] for one in figure.legends],
        }

    monkeypatch.setattr(figures, "save", keep)
    drawn = figures.draw(load(made(name, tmp_path)))
    shown = [[one.title, one.caption, one.alt, found[one.paths[0].stem]] for one in drawn if one.written]
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    if os.environ.get("BUDGETRUN_RECORD"):
        recorded[name] = shown
        RECORDED.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert shown
    assert shown == recorded[name]
