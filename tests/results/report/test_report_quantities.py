"""Tables of something else than the online error: digits, units, comparisons, files."""

import csv
import io
import re

import pytest
from fake_results import COLUMNS, SWEPT, build, run, runs_csv, swept_rows, table_of, written_file

from budgetrun.config.quantities import ONLINE_ERROR, SECONDS, SUPPORT_SIZE, figures


def folder_of(tmp_path, quantity, expected=(), rows=None, algorithms=SWEPT, **table):
    report = {"tables": [{"name": "t", "quantity": quantity} | table]}
    made = {"report": report, "expected": {"t": list(expected)}, "algorithms": algorithms}
    return build(tmp_path / "r", rows or swept_rows(), **made)


def means(folder):
    blocks = table_of(folder).blocks
    return [[c.measured and c.measured.mean for c in row.cells] for block in blocks for row in block.rows]


FIRST_ROWS = {
    "support_size": [1100, 810, 810],
    "test_error": [None, 8, None],
    "last_test_error": [10, 9, 20],
    "seconds": [0.5, 0.246, 0.5],
}


def test_means(tmp_path):
    for quantity, first_row in FIRST_ROWS.items():
        row = means(folder_of(tmp_path / quantity, quantity))[0]
        assert [value if value is None else pytest.approx(value) for value in row] == first_row


def test_results_from_before_there_were_test_sets(tmp_path):
    folder = folder_of(tmp_path, "test_error")
    path = folder / "runs.csv"
    path.write_text(runs_csv(swept_rows(), [name for name in COLUMNS if "test" not in name]), encoding="utf-8")
    assert means(folder)[0] == [None, None, None]


EXPECTED = [
    {"dataset": "one", "label": "projectron++", "setting": "eta=0.1", "budget": None, "value": 793.0},
    {"dataset": "one", "label": "projectron++", "setting": "eta=0.3", "budget": None, "support_size": 412.5},
]


def test_support_sizes_are_compared_in_examples_and_published_in_a_column_of_their_name(tmp_path):
    table = table_of(folder_of(tmp_path, "support_size", EXPECTED))
    (item,) = table.outside
    assert item.cell.difference == pytest.approx(610 - 793)
    assert item.cell.percent == pytest.approx(100 * (610 / 793 - 1))
    assert [cell.published.value for cell in table.cells if cell.published] == [793, 412.5]


def test_files_of_support_sizes(tmp_path):
    folder = folder_of(tmp_path, "support_size", EXPECTED)
    markdown = written_file(folder, "tables/t.md")
    assert "# Somebody (2001), Table 1: size of the support set\n" in markdown
    assert re.search(r"\| 1,100.0 ± 100.0 +\|", markdown)
    assert "610.0 ± 10.0 (793, -23.1%)" in markdown
    assert "410.0 ± 10.0 (412.5, -0.6%)" in markdown
    assert "one, projectron++, eta=0.1: measured 610.0, published 793, -183.0 (-23.1%)." in markdown
    assert "in percent" not in markdown
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "610.0 ± 10.0<small>published 793 " in page
    rows = list(csv.DictReader(io.StringIO((folder / "tables" / "t.csv").read_text(encoding="utf-8"))))
    row = next(r for r in rows if r["setting"] == "eta=0.1" and r["label"] == "projectron++")
    assert (row["support_size"], row["sd"], row["published"], row["difference"]) == ("610", "10", "793", "-183")
    assert "online_error_percent" not in row


def test_learners_without_an_averaged_hypothesis_are_explained(tmp_path):
    table = table_of(folder_of(tmp_path, "test_error"))
    assert "Only learners that never drop an example have an averaged hypothesis of bounded size." in table.notes
    assert table.blocks[0].rows[0].full_label == "one, eta=0.05 (mean B 810)"


def test_ratios_work_for_any_quantity(tmp_path):
    rows = [run("one", "perceptron", 8, support_size=200), run("one", "projectron", 9, support_size=60)]
    expected = [{"dataset": "one", "label": "perceptron", "value": 100}]
    expected.append({"dataset": "one", "label": "projectron", "value": 60})
    made = {"rows": rows, "algorithms": None, "relative_to": "perceptron"}
    table = table_of(folder_of(tmp_path, "support_size", expected, **made))
    assert [cell.relative for cell in table.cells] == [1, pytest.approx(0.5)]


def test_two_figures_and_differences():
    texts = {
        0.0123: "0.012",
        0.0996: "0.10",
        0.999: "1.0",
        9.96: "10",
        34.6: "35",
        374: "370",
        12345: "12,000",
        0.0: "0",
    }
    assert {value: figures(value, 2) for value in texts} == texts
    assert [ONLINE_ERROR.difference(value) for value in (5, -0.001)] == ["+5.00 points", "+0.00 points"]
    assert (SUPPORT_SIZE.difference(-1234.56), SECONDS.difference(-0.25)) == ("-1,234.6", "-0.25 s")
