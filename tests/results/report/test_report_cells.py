"""Means, spreads and comparisons against numbers worked out by hand, of the online error and other quantities."""

import json
import math

import pytest
from fake_results import (
    COLUMNS,
    EXPECTED,
    REPORT,
    SWEPT,
    build,
    failed,
    paper_rows,
    run,
    runs_csv,
    swept_rows,
    table_of,
    write_report,
)

from budgetrun.config.quantities import ONLINE_ERROR, SECONDS, SUPPORT_SIZE, figures
from budgetrun.results.report import listings, tables
from budgetrun.results.report.numbers import NO_BUDGET, Budget, Place, PublishedNumbers, measure
from budgetrun.results.store.read import NO_SETTING, load


def cells(folder):
    return {(c.place.dataset, c.place.label, c.place.budget.value): c for c in table_of(folder).cells}


def measured(folder):
    return measure(load(folder), ONLINE_ERROR)


def test_mean_and_spreads_respect_the_nesting(paper):
    cell = measured(paper)[Place("one", "rbp", Budget("fraction", 0.5))]
    assert cell.mean == pytest.approx(21)
    # over the two tasks' means, 20 and 22; over seeds 19, 20, 21 in each
    assert cell.sd == pytest.approx(math.sqrt(2))
    assert cell.sd_over_seeds == pytest.approx(1)
    assert (cell.minimum, cell.maximum) == pytest.approx((19, 23))
    assert (cell.seed_low, cell.seed_high) == pytest.approx((20, 22))
    assert (cell.n_runs, cell.n_streams, cell.n_seeds, cell.n_failed) == (6, 2, 3, 0)
    assert cell.budget == pytest.approx(550)

    assert math.isnan(measured(paper)[Place("two", "rbp", Budget("fraction", 0.5))].sd)
    cell = measured(paper)[Place("one", "perceptron", NO_BUDGET)]
    assert cell.mean == pytest.approx(11)
    assert math.isnan(cell.budget)
    assert math.isnan(cell.sd_over_seeds)
    assert cell.support_size == pytest.approx(1100)


def test_stream_with_fewer_seeds_counts_as_much_as_the_others(tmp_path):
    rows = [run("one", "rbp", 10, repetition=0, seed=seed, budget=5) for seed in range(3)]
    rows += [run("one", "rbp", 20, repetition=1, seed=0, budget=5)]
    rows += [failed("one", "rbp", "boom", repetition=1, seed=seed, budget=5) for seed in (1, 2)]
    cell = measured(build(tmp_path / "r", rows))[Place("one", "rbp", Budget("budget", 5))]
    assert cell.mean == pytest.approx(15)
    assert (cell.n_runs, cell.n_failed) == (4, 2)


def test_differences_ratios_and_aliases(paper):
    found = cells(paper)
    cell = found["one", "rbp", 0.5]
    assert cell.published.value == 16
    assert cell.difference == pytest.approx(5)
    assert cell.percent == pytest.approx(31.25)
    assert cell.relative == pytest.approx((21 / 16) / (11 / 8))
    assert found["one", "perceptron", 0.5].relative == pytest.approx(1)
    # An alias takes the published number of another label.
    cell = found["one", "rbp(read otherwise)", 1.0]
    assert (cell.published.value, cell.source) == (9, ("one", "rbp"))
    assert cell.measured.mean == pytest.approx(9.6)
    # Nothing published is ever invented.
    assert found["two", "perceptron", 0.5].published is None
    assert found["two", "perceptron", 0.5].percent is None
    # published for rbp, but without the reference's number there is no ratio
    assert found["two", "rbp", 0.5].relative is None
    assert found["two", "rbp", 1.0].measured is None


def test_outside_names_each_cell_once_with_its_findings(paper):
    table = table_of(paper)
    assert [(item.text, item.findings) for item in table.outside] == [
        ("one, perceptron", []),
        ("one, rbp, B = p/2", ["It draws badly at p/2."]),
        ("one, rbp(read otherwise), B = p/2", []),
        ("one, rbp, B = p", []),
        ("one, rbp(read otherwise), B = p", []),
    ]
    assert tables.other_findings(load(paper), [table]) == ["Nothing is outside here."]


def test_tolerance_counts_from_the_published_number(tmp_path):
    percents = {"a": 10.5, "b": 9.5, "c": 10.51, "d": 9.49, "e": 10}
    rows = [run("one", label, percent, budget=5) for label, percent in percents.items()]
    report = {"tables": [{"name": "t", "tolerance": 0.05}]}
    expected = [{"dataset": "one", "label": label, "budget": 5, "online_error_percent": 10} for label in percents]
    table = table_of(build(tmp_path / "r", rows, report=report, expected={"t": expected}))
    assert [item.cell.place.label for item in table.outside] == ["c", "d"]


def test_selectors_of_a_finding(tmp_path):
    selectors = {
        "all": {},
        "dataset": {"dataset": "one"},
        "several": {"dataset": ["two", "one"], "label": "rbp", "budget_fraction": [0.25, 0.5]},
        "half": {"dataset": "one", "budget_fraction": 0.5},
        "other dataset": {"dataset": "two"},
        "other label": {"label": "perceptron"},
        "other share": {"budget_fraction": 1},
        "other budget": {"budget": 1},
    }
    report = REPORT | {"findings": [chosen | {"text": text} for text, chosen in selectors.items()]}
    table = table_of(build(tmp_path / "r", paper_rows(), report=report, expected={"table1": EXPECTED}))
    found = {item.text: item.findings for item in table.outside}
    assert found["one, rbp, B = p/2"] == ["all", "dataset", "several", "half"]
    # A budget chooses no learner without one.
    assert found["one, perceptron"] == ["all", "dataset", "other label"]


def test_budget_and_its_origin_are_no_settings(tmp_path):
    origin = {"of": "perceptron", "fraction": 0.5}
    rows = [
        run("one", "rbp", 10, repetition=r, budget=5 + r, budget_fraction=0.5, parameters={"budget": 5 + r} | origin)
        for r in range(2)
    ]
    assert load(build(tmp_path / "r", rows)).settings("rbp") == [NO_SETTING]


def test_text_that_looks_like_something_else_stays_text(tmp_path):
    rows = [run("007", "NA", 10, task=task, budget=5) for task in ("-", "01234|56789", "012")]
    results = load(build(tmp_path / "r", rows, compressed=True))
    assert (results.datasets, results.labels) == (["007"], ["NA"])
    assert list(results.runs["task"]) == ["-", "01234|56789", "012"]


def test_one_dataset_or_many_budgets_make_a_block_a_dataset(tmp_path):
    rows = [run(name, "rbp", 10, budget=b) for name in ("one", "two") for b in range(1, 8)]
    table = table_of(build(tmp_path / "r", rows))
    assert [block.title for block in table.blocks] == ["one", "two"]
    assert [row.header for row in table.blocks[0].rows] == [f"B = {b}" for b in range(1, 8)]


def test_titles_of_budgets():
    shares = {0.25: "B = p/4", 1.0: "B = p", 0.75: "B = 3p/4", 2.0: "B = 2p", 0.123: "B = 0.123 p"}
    assert {value: Budget("fraction", value).title() for value in shares} == shares
    assert [Budget("budget", value).title() for value in (100.0, 1234567.0)] == ["B = 100", "B = 1234567"]
    assert NO_BUDGET.title() == ""


def test_published_number_of_a_learner_without_a_budget(tmp_path):
    def find(numbers, budget, **others):
        rows = [
            {"dataset": "d", "label": "p", "budget_fraction": f, "online_error_percent": n}
            for f, n in zip((0.25, 0.5), numbers, strict=True)
        ]
        report = {"tables": [{"name": "t"}]}
        (spec,) = load(build(tmp_path / "r", [run("d", "p", 5)], report=report, expected={"t": rows})).tables
        found = PublishedNumbers.in_table(spec).find(Place("d", "p", budget), **others)
        return found and found.value

    other = Budget("fraction", 1.0)
    assert find((6.08, 6.08), other, any_budget=True) == 6.08
    assert find((6.08, 7.0), other, any_budget=True) is None
    assert find((6.08, 6.08), other) is None
    assert find(("6.08", ""), Budget("fraction", 0.25)) == 6.08


def test_order_is_the_configs(tmp_path):
    results = load(build(tmp_path / "r", [run(dataset, label, 10) for dataset in "ba" for label in "zy"]))
    assert (results.datasets, results.labels) == (["b", "a"], ["z", "y"])


def test_costs(paper):
    seconds, parts = listings.costs(load(paper))
    assert seconds.header == ["dataset", "perceptron", "rbp", "rbp(read otherwise)", "all"]
    assert seconds.rows == [["one", 1.0, 6.0, 2.0, 9.0], ["two", 0.5, 0.5, None, 1.0]]
    assert parts.rows[0][2:] == [20, 12.5, 20.25]
    assert parts.remark == ""
    path = paper / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["parts"] = [manifest["parts"][0] | {"runs": 2}]
    path.write_text(json.dumps(manifest), encoding="utf-8")
    said = "Of 2 of the 20 runs; earlier sweeps made the others."
    assert listings.costs(load(paper))[1].remark == said
    write_report(paper)
    assert f"<dt>Times</dt><dd>{said}</dd>" in (paper / "report.html").read_text(encoding="utf-8")


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


SIZES = [
    {"dataset": "one", "label": "projectron++", "setting": "eta=0.1", "budget": None, "value": 793.0},
    {"dataset": "one", "label": "projectron++", "setting": "eta=0.3", "budget": None, "support_size": 412.5},
]


def test_support_sizes_are_compared_in_examples_and_published_in_a_column_of_their_name(tmp_path):
    table = table_of(folder_of(tmp_path, "support_size", SIZES))
    (item,) = table.outside
    assert item.cell.difference == pytest.approx(610 - 793)
    assert item.cell.percent == pytest.approx(100 * (610 / 793 - 1))
    assert [cell.published.value for cell in table.cells if cell.published] == [793, 412.5]


def test_learners_without_an_averaged_hypothesis_are_explained(tmp_path, paper):
    table, note = table_of(folder_of(tmp_path, "test_error")), "Only learners that never drop an example have an averag"
    assert any(one.startswith(note) for one in table.notes)
    # Of other quantities, a number may be missing for other reasons.
    assert not any(one.startswith(note) for one in table_of(paper).notes)
    assert table.blocks[0].rows[0].full_label == "one, eta=0.05 (mean B 810)"


def test_ratios_work_for_any_quantity(tmp_path):
    rows = [run("one", "perceptron", 8, support_size=200), run("one", "projectron", 9, support_size=60)]
    expected = [{"dataset": "one", "label": "perceptron", "value": 100}]
    expected.append({"dataset": "one", "label": "projectron", "value": 60})
    made = {"rows": rows, "algorithms": None, "relative_to": "perceptron"}
    table = table_of(folder_of(tmp_path, "support_size", expected, **made))
    assert [cell.relative for cell in table.cells] == [1, pytest.approx(0.5)]


def test_two_figures_and_differences():
    texts = {0.0123: "0.012", 0.0996: "0.10", 0.999: "1.0", 9.96: "10", 34.6: "35", 374: "370", 12345: "12,000", 0: "0"}
    assert {value: figures(value, 2) for value in texts} == texts
    assert [ONLINE_ERROR.difference(value) for value in (5, -0.001)] == ["+5.00 points", "+0.00 points"]
    assert (SUPPORT_SIZE.difference(-1234.56), SECONDS.difference(-0.25)) == ("-1,234.6", "-0.25 s")
