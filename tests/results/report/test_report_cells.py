"""Means, spreads and comparisons against numbers worked out by hand."""

import math

import pytest
from fake_results import EXPECTED, REPORT, build, failed, paper_rows, run

from budgetrun.config.quantities import ONLINE_ERROR
from budgetrun.results.report import listings, tables
from budgetrun.results.report.numbers import NO_BUDGET, Budget, Place, Published, measure
from budgetrun.results.store.read import NO_SETTING, Setting, load


def cells(folder):
    (table, *_) = tables.build(load(folder))
    return {(c.place.dataset, c.place.label, c.place.budget.value): c for c in table.cells}


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


def test_learner_without_a_budget_has_none(paper):
    cell = measured(paper)[Place("one", "perceptron", NO_BUDGET)]
    assert cell.mean == pytest.approx(11)
    assert math.isnan(cell.budget)
    assert math.isnan(cell.sd_over_seeds)
    assert cell.support_size == pytest.approx(1100)


def test_one_stream_has_no_standard_deviation(paper):
    assert math.isnan(measured(paper)[Place("two", "rbp", Budget("fraction", 0.5))].sd)


def test_stream_with_fewer_seeds_counts_as_much_as_the_others(tmp_path):
    rows = [run("one", "rbp", 10, repetition=0, seed=seed, budget=5) for seed in range(3)]
    rows += [run("one", "rbp", 20, repetition=1, seed=0, budget=5)]
    rows += [failed("one", "rbp", "boom", repetition=1, seed=seed, budget=5) for seed in (1, 2)]
    cell = measured(build(tmp_path / "r", rows))[Place("one", "rbp", Budget("budget", 5))]
    assert cell.mean == pytest.approx(15)
    assert (cell.n_runs, cell.n_failed) == (4, 2)


def test_difference_and_ratio(paper):
    cell = cells(paper)["one", "rbp", 0.5]
    assert cell.published.value == 16
    assert cell.difference == pytest.approx(5)
    assert cell.percent == pytest.approx(31.25)
    assert cell.relative == pytest.approx((21 / 16) / (11 / 8))
    assert cells(paper)["one", "perceptron", 0.5].relative == pytest.approx(1)


def test_alias_takes_the_published_number_of_another_label(paper):
    cell = cells(paper)["one", "rbp(read otherwise)", 1.0]
    assert cell.published.value == 9
    assert cell.source == ("one", "rbp")
    assert cell.measured.mean == pytest.approx(9.6)


def test_nothing_published_is_never_invented(paper):
    found = cells(paper)
    assert found["two", "perceptron", 0.5].published is None
    assert found["two", "perceptron", 0.5].percent is None
    # published for rbp, but without the reference's number there is no ratio
    assert found["two", "rbp", 0.5].relative is None
    assert found["two", "rbp", 1.0].measured is None


def test_outside_names_each_cell_once_with_its_findings(paper):
    (table,) = tables.build(load(paper))
    assert [(item.text, item.findings) for item in table.outside] == [
        ("one, perceptron", []),
        ("one, rbp, B = p/2", ["It draws badly at p/2."]),
        ("one, rbp(read otherwise), B = p/2", []),
        ("one, rbp, B = p", []),
        ("one, rbp(read otherwise), B = p", []),
    ]
    assert tables.other_findings(load(paper), [table]) == ["Nothing is outside here."]


@pytest.mark.parametrize(
    ("measured_percent", "outside"), [(10.5, False), (9.5, False), (10.51, True), (9.49, True), (10, False)]
)
def test_tolerance_counts_from_the_published_number(tmp_path, measured_percent, outside):
    rows = [run("one", "rbp", measured_percent, budget=5)]
    report = {"tables": [{"name": "t", "tolerance": 0.05}]}
    expected = {"t": [{"dataset": "one", "label": "rbp", "budget": 5, "online_error_percent": 10}]}
    (table,) = tables.build(load(build(tmp_path / "r", rows, report=report, expected=expected)))
    assert bool(table.outside) is outside


@pytest.mark.parametrize(
    ("selectors", "chosen"),
    [
        ({}, True),
        ({"dataset": "one"}, True),
        ({"dataset": ["two", "one"], "label": "rbp", "budget_fraction": [0.25, 0.5]}, True),
        ({"dataset": "two"}, False),
        ({"label": "perceptron"}, False),
        ({"budget_fraction": 1}, False),
        ({"budget": 1}, False),
    ],
)
def test_selectors_of_a_finding(tmp_path, selectors, chosen):
    report = REPORT | {"findings": [selectors | {"text": "why"}]}
    results = load(build(tmp_path / "r", paper_rows(), report=report, expected={"table1": EXPECTED}))
    (table,) = tables.build(results)
    items = {item.text: item.findings for item in table.outside}
    assert items["one, rbp, B = p/2"] == (["why"] if chosen else [])


def test_finding_for_a_budget_is_not_for_a_learner_without_one(tmp_path):
    report = REPORT | {"findings": [{"dataset": "one", "budget_fraction": 0.5, "text": "why"}]}
    (table,) = tables.build(load(build(tmp_path / "r", paper_rows(), report=report, expected={"table1": EXPECTED})))
    assert {item.text: item.findings for item in table.outside}["one, perceptron"] == []


def test_settings_of_a_sweep_are_never_averaged_together(tmp_path):
    rows = [
        run("one", "fogd", 10 * eta, budget=budget, parameters={"eta": eta, "clip": 1}, setting={"eta": eta})
        for eta in (2, 0.5, 1)
        for budget in (5, 50)
    ]
    results = load(build(tmp_path / "r", rows))
    assert results.labels == ["fogd"]
    assert [setting.text for setting in results.settings("fogd")] == ["eta=0.5", "eta=1", "eta=2"]
    place = Place("one", "fogd", Budget("budget", 5), Setting(("eta=2",)))
    assert measure(results, ONLINE_ERROR)[place].mean == pytest.approx(20)


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
    (table,) = tables.build(load(build(tmp_path / "r", rows)))
    assert [block.title for block in table.blocks] == ["one", "two"]
    assert [row.header for row in table.blocks[0].rows] == [f"B = {b}" for b in range(1, 8)]


@pytest.mark.parametrize(
    ("budget", "title"),
    [
        (Budget("fraction", 0.25), "B = p/4"),
        (Budget("fraction", 1.0), "B = p"),
        (Budget("fraction", 0.75), "B = 3p/4"),
        (Budget("fraction", 2.0), "B = 2p"),
        (Budget("fraction", 0.123), "B = 0.123 p"),
        (Budget("budget", 100.0), "B = 100"),
        (Budget("budget", 1234567.0), "B = 1234567"),
        (NO_BUDGET, ""),
    ],
)
def test_titles_of_budgets(budget, title):
    assert budget.title() == title


def test_published_number_of_a_learner_without_a_budget(tmp_path):
    def find(numbers, budget, **others):
        rows = [
            {"dataset": "d", "label": "p", "budget_fraction": f, "online_error_percent": n}
            for f, n in zip((0.25, 0.5), numbers, strict=True)
        ]
        report = {"tables": [{"name": "t"}]}
        (spec,) = load(build(tmp_path / "r", [run("d", "p", 5)], report=report, expected={"t": rows})).tables
        found = Published.in_table(spec).find(Place("d", "p", budget), **others)
        return found and found.value

    other = Budget("fraction", 1.0)
    assert find((6.08, 6.08), other, any_budget=True) == 6.08
    assert find((6.08, 7.0), other, any_budget=True) is None
    assert find((6.08, 6.08), other) is None
    assert find(("6.08", ""), Budget("fraction", 0.25)) == 6.08


def test_order_is_the_configs(tmp_path):
    rows = [run(dataset, label, 10) for dataset in ("b", "a") for label in ("z", "y")]
    results = load(build(tmp_path / "r", rows))
    assert (results.datasets, results.labels) == (["b", "a"], ["z", "y"])


def test_costs(paper):
    seconds, parts = listings.costs(load(paper))
    assert seconds.header == ["dataset", "perceptron", "rbp", "rbp(read otherwise)", "all"]
    assert seconds.rows == [["one", 1.0, 6.0, 2.0, 9.0], ["two", 0.5, 0.5, None, 1.0]]
    assert parts.rows[0][2:] == [20, 12.5, 20.25]
