"""Reports on a user's own stream: the number behind a fraction, equal budgets once, and the spread over seeds."""

import csv
from contextlib import chdir

import numpy as np
import pytest
from sweeping import config

from budgetrun.config import load
from budgetrun.results.report import Report
from budgetrun.results.report.figures import Numbers
from budgetrun.results.report.figures.axes import RoundsPanel
from budgetrun.runner.plan import Options
from budgetrun.runner.sweep import sweep

FIGURE = {"dataset": "own", "lines": ["perceptron", "rbp"], "x": "rounds", "budget": 8}
SWEPT = {
    "datasets": [{"name": "own", "path": "own.csv"}],
    "repetitions": 1,
    "algorithms": [{"name": "perceptron"}, {"name": "remove_oldest", "budget": {"of": "perceptron",
     "fractions": [0.001, 0.01, 0.5]}}, {"name": "rbp", "budget": [1, 8], "seeds": 4}],
    "report": {"figures": [FIGURE | {"name": y, "y": y} for y in ("online_error", "windowed_error")]},
}  # fmt: skip


def swept(folder, **changes):
    """Return the report of a sweep of a stream of the user's."""
    lines = [f"{i % 2},{(i * i) % 7 + i % 2},{(i * 5) % 11}\n" for i in range(90)]
    (folder / "own.csv").write_text("".join(lines))
    with chdir(folder):
        loaded = load(str(config(folder, **SWEPT | changes)))
        assert loaded.datasets[0].order == "file"
        assert sweep(loaded, Options(results=folder / "results", jobs=1)) == 0
    report = Report(folder / "results" / "small")
    report.write()
    return report


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return swept(tmp_path_factory.mktemp("swept"))


def test_budgets_that_come_to_the_same_number_are_one_row(report):
    (table,) = report.tables
    (block,) = table.blocks
    half = round(block.rows[1].cells[1].measured.budget)
    assert [row.full_label for row in block.rows] == ["B = 0.001 p = 0.01 p = 1", f"B = p/2 = {half}", "B = 8"]
    # Both algorithms are there, and files for programs have a row for each budget.
    assert all(cell.measured for cell in block.rows[0].cells)
    with (report.results.folder / "tables" / "online_error.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["budget_fraction"] for row in rows if row["label"] == "remove_oldest"} == {"0.001", "0.01", "0.5"}


def test_with_several_datasets_the_number_is_beside_the_dataset(tmp_path):
    datasets = [{"name": "own", "path": "own.csv"}, {"name": "other", "path": "own.csv", "n_examples": 60}]
    (table,) = swept(tmp_path, datasets=datasets, report={}).tables
    assert [block.title for block in table.blocks] == ["B = 0.001 p", "B = 0.01 p", "B = p/2", "B = 1", "B = 8"]
    assert [row.full_label for row in table.blocks[0].rows] == ["own (B 1)", "other (B 1)"]


def test_a_single_stream_shows_the_spread_over_the_seeds(report):
    (table,) = report.tables
    text = (report.results.folder / "tables" / "online_error.md").read_text()
    cell = table.blocks[0].rows[-1].cells[2]
    assert cell.measured.n_seeds == 4
    assert f"{cell.measured.mean:.2f} ± {cell.measured.sd_over_seeds:.2f}" in text
    assert "with a single stream, it is over its seeds." in table.notes[0]
    page = (report.results.folder / "report.html").read_text()
    assert "Shaded: one standard deviation over the 4 seeds of RBP" in page


@pytest.mark.parametrize("i", [0, 1])
def test_curves_of_one_budget_with_the_spread_over_the_seeds(report, i):
    figure = report.results.report.figures[i]
    y, panel = figure.y, RoundsPanel(Numbers(report.results), figure, [])
    assert [one.name.partition(" ")[0] for one in panel.series] == ["Perceptron", "RBP"]
    runs = report.results.runs
    rbp = runs[(runs["label"] == "rbp") & (runs["budget"] == 8)]["online_error"]
    curve = panel.curves[1]
    lengths = np.diff(curve.rounds, prepend=0)
    last = np.average(curve.mean, weights=lengths) if y == "windowed_error" else curve.mean[-1]
    assert last == pytest.approx(100 * rbp.mean())
    assert curve.rounds[-1] == 90
    assert (curve.sd[-1] if y == "online_error" else 100 * rbp.std()) == pytest.approx(100 * rbp.std())
    assert panel.curves[0].sd.max() == 0
    assert "Shaded: one standard deviation over the 4 seeds of RBP" in panel.caption()
