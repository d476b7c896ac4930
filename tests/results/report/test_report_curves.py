"""Figures against the rounds and against the size of the support set, and reports on a user's own stream."""

import re
from contextlib import chdir

import numpy as np
import pytest
from fake_results import SWEPT, build, run, swept_rows, write_curves, write_figures, write_report
from sweeping import config, rows, swept_folder

from budgetrun.config import load
from budgetrun.results.report import Report
from budgetrun.results.report.figures import Numbers
from budgetrun.results.report.figures.axes import BudgetPanel
from budgetrun.results.store.curves import Curves
from budgetrun.results.store.read import load as loaded

ROUNDS = {"name": "f", "dataset": "one", "lines": ["rbp", "projectron"], "point": "perceptron", "x": "rounds"}


def plain_rows():
    rows = []
    for r in range(3):
        rows.append(run("one", "perceptron", 10 + r, repetition=r, support_size=1000 + 100 * r))
        rows.append(run("one", "projectron", 8, repetition=r, support_size=100, n_examples=10000))
        rows += [run("one", "rbp", 20 + s, repetition=r, seed=s, budget=50, support_size=50) for s in range(2)]
    return rows


def plain(tmp_path, figure=ROUNDS, curves=True, rows=None):
    rows = rows or plain_rows()
    folder = build(tmp_path / "r", rows, report={"figures": [figure] if isinstance(figure, dict) else figure})
    if curves:
        write_curves(folder, rows)
    return folder


def figure_of(folder):
    """Return the image's alternative text and the words below it."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    alt = re.search('alt="([^"]*)"', page)
    return alt and alt[1], re.search("<figcaption>(.*)</figcaption>", page)[1]


def test_rounds_show_means_and_deviations_over_repetitions(tmp_path, drawing):
    folder = plain(tmp_path, ROUNDS | {"lines": ["rbp", "projectron", "cks"]})
    write_report(folder)
    assert list(drawing.lines) == ["rbp", "projectron", "perceptron"]
    ((xs, ys),) = drawing.lines["perceptron"]
    assert (xs[0], xs[-1]) == (24, 10000)
    assert ys == pytest.approx(np.full(len(xs), 11))
    # rbp's seeds are averaged first: no spread over repetitions, so no band of its own
    ((_, rbp),) = drawing.lines["rbp"]
    assert rbp == pytest.approx(np.full(len(rbp), 20.5))
    ((_, low, high),) = drawing.bands
    assert (low, high) == (pytest.approx(np.full(len(low), 10)), pytest.approx(np.full(len(low), 12)))
    # Marks lie on the curve.
    recorded = np.load(next((folder / "curves").glob("*.npz")))["rounds"]
    assert set(recorded[recorded >= 20]) <= set(xs)
    assert len(xs) == np.sum(recorded >= 20) + 9
    marks = sorted(set(xs) - set(recorded))
    assert marks == pytest.approx(xs[0] + (np.arange(9) + 0.75) / 9 * (10000 - xs[0]))
    alt, caption = figure_of(folder)
    ends = "rbp: 20.50% at the end. projectron: 8.00% at the end. perceptron: 11.00% at the end."
    assert alt == f"Online error against the number of rounds on one. {ends}"
    assert "against the number of rounds, mean over 3 repetitions (rbp: 2 seeds per repetition)." in caption
    assert "Shaded: one standard deviation over the 3 repetitions." in caption
    assert "The frame leaves out what lies above or below it in the first 200 rounds" in caption
    assert "No finished run of cks." in caption


def test_lines_of_several_budgets_and_settings_are_told_apart(tmp_path, drawing):
    rows = [run("one", "rbp", 20 + b / 50, budget=b) for b in (5, 50)]
    rows += [run("one", "projectron", 8 + eta, setting={"eta": eta}) for eta in (1, 2)]
    write_figures(plain(tmp_path, ROUNDS | {"point": None, "log_x": True}, rows=rows))
    names = ["rbp [B = 5]", "rbp [B = 50]", "projectron [eta=1]", "projectron [eta=2]"]
    assert list(drawing.lines) == names
    assert len({look for name in names for look in drawing.looks[name]}) == 4
    assert drawing.bands == []


def test_without_curves_the_figure_is_left_out_and_said(tmp_path):
    folder = plain(tmp_path, curves=False)
    assert write_figures(folder) == []
    assert all(path.suffix not in (".png", ".svg") for path in write_report(folder))
    alt, caption = figure_of(folder)
    assert alt is None
    again = "to draw it again, type: budgetrun sweep CONFIG --force"
    assert f"Not drawn: the curves over the rounds are not in the folder curves/; {again}" in caption


def test_without_curves_an_earlier_figure_is_kept_and_shown(tmp_path):
    folder = plain(tmp_path)
    before = {path: path.read_bytes() for path in write_figures(folder)}
    for path in (folder / "curves").iterdir():
        path.unlink()
    assert not set(write_report(folder)) & set(before)
    assert {path: path.read_bytes() for path in before} == before
    alt, caption = figure_of(folder)
    assert alt.startswith("Online error against the number of rounds on one.")
    assert "As drawn for an earlier report: the curves over the rounds are not" in caption


def test_one_missing_curve_is_enough_to_leave_a_figure_out_and_torn_ones_are_missing(tmp_path):
    folder = plain(tmp_path, curves=False)
    write_curves(folder, plain_rows()[:-1])
    write_report(folder)
    assert "Not drawn: 1 of 12 curves over the rounds is not in the folder" in figure_of(folder)[1]
    write_curves(folder, plain_rows())
    path = sorted((folder / "curves").iterdir())[0]
    path.write_bytes(path.read_bytes()[:200])
    write_report(folder)
    assert "Not drawn: 7 of 12 curves" in figure_of(folder)[1]


def test_runs_of_different_lengths_share_the_rounds_of_all(tmp_path):
    for i, row in enumerate([run("one", "a", 10, n_examples=n, run_id=f"{n}") for n in (100, 1000)]):
        write_curves(tmp_path, [row])
        next((tmp_path / "curves").glob("0*.npz")).rename(tmp_path / "curves" / f"x{i}.npz")
    rounds, values = Curves(tmp_path / "curves").read(["1000", "100"], "mistakes")
    assert rounds[-1] == 100
    assert values[:, -1] == pytest.approx([100, 1000])


SUPPORT = {"name": "s", "dataset": "one", "lines": ["projectron++", "rbp"], "point": "perceptron", "x": "support_size"}


def swept(tmp_path, *figures):
    return build(tmp_path / "r", swept_rows(), report={"figures": list(figures)}, algorithms=SWEPT)


def test_support_figure(tmp_path, drawing, drawn):
    folder = swept(tmp_path, SUPPORT)
    write_report(folder)
    curves = drawing.lines["projectron++"] + drawing.lines["_"]
    assert [xs for xs, _ in curves] == [[400 + 10 * r, 600 + 10 * r, 800 + 10 * r] for r in range(3)]
    assert [ys for _, ys in curves] == [pytest.approx([10 + r, 9 + r, 8 + r]) for r in range(3)]
    xs, ys, xerr, yerr = drawing.bars["rbp"]
    assert (xs, ys, xerr) == (pytest.approx([410, 610, 810]), pytest.approx([15.5, 14.5, 13.5]), None)
    assert yerr == pytest.approx([1, 1, 1])
    assert drawing.bars["perceptron"] == ([1100], pytest.approx([11]), pytest.approx([100]), pytest.approx([1]))
    assert drawing.looks["perceptron"] == {("black", "o")}
    # Each label stands once in the legend.
    text = (folder / "figures" / "s.svg").read_text(encoding="utf-8")
    assert [text.count(f">{label}</text>") for label in ("projectron++", "rbp", "perceptron")] == [1, 1, 1]
    alt, caption = figure_of(folder)
    assert alt == (
        "Online error against the size of the support set on one. projectron++: 11.00% with 410 examples to 9.00% with "
        "810 examples. rbp: 15.50% with 410 examples to 13.50% with 810 examples. perceptron: 11.00% with 1,100 "
        "examples."
    )
    for words in (
        "mean over 3 repetitions (projectron++: a curve per repetition; rbp: 2 seeds per repetition).",
        "projectron++: a curve for each of 3 repetitions through 3 settings, eta=0.05 to eta=0.3.",
        "Bars of rbp: one standard deviation of the online error over the repetitions.",
        "Bars of perceptron: one standard deviation of both over the repetitions.",
    ):
        assert words in caption


def test_test_errors_of_those_that_have_one(tmp_path, drawing):
    folder = swept(tmp_path, SUPPORT | {"y": "test_error"})
    write_report(folder)
    assert drawing.bars == {}
    assert drawing.lines["projectron++"][0][1] == pytest.approx([10, 9, 8])
    _, caption = figure_of(folder)
    assert "No test error of the averaged hypothesis of rbp, perceptron." in caption


def test_published_numbers_are_at_our_support_size(tmp_path):
    report = {"tables": [{"name": "t"}], "figures": [SUPPORT]}
    expected = {"t": [{"dataset": "one", "label": "perceptron", "value": 9.0}]}
    folder = build(tmp_path / "r", swept_rows(), report=report, algorithms=SWEPT, expected=expected)
    write_report(folder)
    assert "Hollow markers: published numbers." in figure_of(folder)[1]


def test_a_label_looks_the_same_in_all_figures(tmp_path, drawing):
    rows = plain_rows()
    figures = [ROUNDS | {"name": name, "lines": lines} for name, lines in (("a", ["projectron"]), ("b", ["rbp"]))]
    figures.append(SUPPORT | {"lines": ["rbp", "projectron"]})
    write_figures(plain(tmp_path, figures, rows=rows))
    assert {label: len(looks) for label, looks in drawing.looks.items()} == {"projectron": 1, "rbp": 1, "perceptron": 1}
    assert len(set.union(*drawing.looks.values())) == 3


def test_budgets_that_follow_settings_make_one_line_over_the_budget(tmp_path, drawing):
    figures = [{"name": x, "dataset": "one", "lines": ["rbp"], "x": x} for x in ("budget", "budget_fraction")]
    folder = swept(tmp_path, *figures)
    numbers = Numbers(loaded(folder))
    assert [BudgetPanel(numbers, figure, []).whole_x for figure in numbers.results.report.figures] == [True, False]
    write_figures(folder)
    xs, ys = drawing.lines["rbp"][0]
    assert (xs, ys) == (pytest.approx([410, 610, 810]), pytest.approx([15.5, 14.5, 13.5]))


FIGURE = {"dataset": "own", "lines": ["perceptron", "rbp"], "x": "rounds", "budget": 8}
OWN = {
    "datasets": [{"name": "own", "path": "own.csv"}],
    "repetitions": 1,
    "algorithms": [{"name": "perceptron"}, {"name": "remove_oldest", "budget": {"of": "perceptron",
     "fractions": [0.001, 0.01, 0.5]}}, {"name": "rbp", "budget": [1, 8], "seeds": 4}],
    "report": {"figures": [FIGURE | {"name": y, "y": y} for y in ("online_error", "windowed_error")]},
}  # fmt: skip


def own_report(folder, **changes):
    """Return the report of a sweep of a stream of the user's."""
    lines = [f"{i % 2},{(i * i) % 7 + i % 2},{(i * 5) % 11}\n" for i in range(90)]
    (folder / "own.csv").write_text("".join(lines))
    with chdir(folder):
        path = config(folder, **OWN | changes)
        assert load(path).datasets[0].order == "file"
        report = Report(swept_folder(path, folder / "results", jobs=1))
    report.write()
    return report


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return own_report(tmp_path_factory.mktemp("own_report"))


def test_budgets_that_come_to_the_same_number_are_one_row(report):
    (table,) = report.tables
    (block,) = table.blocks
    half = round(block.rows[1].cells[1].measured.budget)
    assert [row.full_label for row in block.rows] == ["B = 0.001 p = 0.01 p = 1", f"B = p/2 = {half}", "B = 8"]
    # Both algorithms are there, and files for programs have a row for each budget.
    assert all(cell.measured for cell in block.rows[0].cells)
    table = rows(report.results.folder / "tables", "online_error.csv")
    assert {row["budget_fraction"] for row in table if row["label"] == "remove_oldest"} == {"0.001", "0.01", "0.5"}


def test_with_several_datasets_the_number_is_beside_the_dataset(tmp_path):
    datasets = [{"name": "own", "path": "own.csv"}, {"name": "other", "path": "own.csv", "n_examples": 60}]
    (table,) = own_report(tmp_path, datasets=datasets, report={}).tables
    assert [block.title for block in table.blocks] == ["B = 0.001 p", "B = 0.01 p", "B = p/2", "B = 1", "B = 8"]
    assert [row.full_label for row in table.blocks[0].rows] == ["own (B 1)", "other (B 1)"]


def test_a_single_stream_shows_the_spread_over_the_seeds(report, tmp_path):
    (table,) = report.tables
    text = (report.results.folder / "tables" / "online_error.md").read_text()
    cell = table.blocks[0].rows[-1].cells[2]
    assert cell.measured.n_seeds == 4
    assert f"{cell.measured.mean:.2f} ± {cell.measured.sd_over_seeds:.2f}" in text
    assert "with a single stream, it is over its seeds." in table.notes[0]
    for n, told in ((1, "a single stream has none."), (2, "it is over its seeds.")):
        rows = [run("one", "rbp", 20 + seed, seed=seed) for seed in range(n)]
        folder = build(tmp_path / str(n), rows, report={"tables": [{"name": "t", "caption": "A table."}]})
        assert Report(folder).tables[0].notes[0].endswith(told)
    page = (report.results.folder / "report.html").read_text()
    assert "Shaded: one standard deviation over the 4 seeds of RBP" in page
