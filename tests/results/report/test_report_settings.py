"""Learners that sweep a parameter, budgets that follow them, and values by dataset and by formulas of the length."""

import math

import pytest
import sweeping
from fake_results import (
    ETAS,
    SWEPT,
    build,
    failed,
    of,
    run,
    summary,
    swept_rows,
    table_of,
    write_figures,
    write_report,
    written_file,
)

from budgetrun.config.quantities import ONLINE_ERROR
from budgetrun.results.report import listings
from budgetrun.results.report.formats import WRITERS
from budgetrun.results.report.numbers import NO_BUDGET, Budget, Place, PublishedNumbers, measure
from budgetrun.results.store.read import Failure, Setting, items_of, load


def swept(tmp_path, table=None, expected=(), findings=(), rows=None, **others):
    report = {"tables": [{"name": "t"} | (table or {})], "findings": list(findings)}
    made = {"report": report, "expected": {"t": list(expected)}, "algorithms": SWEPT}
    return build(tmp_path / "r", rows or swept_rows(), **made, **others)


def grid(table):
    """Return the means, row by row; None where there is none."""
    rows = [(block.title, row) for block in table.blocks for row in block.rows]
    return {(title, row.label): [c.measured and round(c.measured.mean, 6) for c in row.cells] for title, row in rows}


def test_each_setting_is_a_row_with_its_budget_and_who_has_none_stands_in_all(tmp_path):
    table = table_of(swept(tmp_path))
    (block,) = table.blocks
    assert [row.mean_budget for row in block.rows] == ["mean B 810", "mean B 610", "mean B 410"]
    assert block.rows[0].full_label == "one, eta=0.05 (mean B 810)"
    note = "B is the budget, p the final support size of projectron++ at the same setting on the same stream."
    assert note in table.notes
    assert table.columns == ["perceptron", "projectron++", "rbp"]
    assert grid(table) == {
        ("B = p", "one, eta=0.05"): [11, 9, 13.5],
        ("B = p", "one, eta=0.1"): [11, 10, 14.5],
        ("B = p", "one, eta=0.3"): [11, 11, 15.5],
    }


def test_budgets_that_follow_several_learners(tmp_path):
    followed = {"rbp": {"of": "projectron", "fractions": [1.0]}, "cks": {"of": "perceptron", "fractions": [1.0]}}
    algorithms = [of("perceptron"), of("projectron"), *(of(name, budget=budget) for name, budget in followed.items())]
    rows = [run("one", "perceptron", 8), run("one", "projectron", 9, support_size=200)]
    rows += [run("one", "rbp", 9, budget=200, budget_fraction=1), run("one", "cks", 9, budget=800, budget_fraction=1)]
    table = table_of(build(tmp_path / "r", rows, algorithms=algorithms))
    assert (
        "B is the budget, p the final support size of projectron (for rbp) or the number of mistakes of perceptron "
        "(for cks) on the same stream." in table.notes
    )
    assert table.blocks[0].rows[0].mean_budget == "mean B 200 to 800"


def test_setting_left_over_by_the_budgets_gets_rows_of_its_own(tmp_path):
    rows = [run("one", "projectron++", 8 + eta, setting={"eta": eta}, support_size=9) for eta in (1, 2)]
    rows += [run("one", "perceptron", 5), *(run("one", "rbp", 20, budget=b) for b in (10, 100))]
    assert grid(table_of(build(tmp_path / "r", rows))) == {
        ("one", "B = 10"): [None, 5, 20],
        ("one", "B = 100"): [None, 5, 20],
        ("one", "no budget, eta=1"): [9, 5, None],
        ("one", "no budget, eta=2"): [10, 5, None],
    }


def test_runs_with_the_budget_of_a_row_come_before_those_without_any(tmp_path):
    rows = [run("one", "rbp", 20, budget=10), run("one", "rbp", 5), run("one", "cks", 7, budget=10)]
    assert grid(table_of(build(tmp_path / "r", rows))) == {("B = 10", "one"): [20, 7]}


def test_own_setting_and_the_followed_ones_are_told_apart(tmp_path):
    rows = [run("one", "projectron", 8, setting={"eta": eta}, support_size=9) for eta in (0.1, 0.2)]
    rows += [
        run("one", "bogd", 10 * own + eta, budget=9, budget_fraction=1, setting={"eta": own, "projectron.eta": eta})
        for own in (1, 2)
        for eta in (0.1, 0.2)
    ]
    algorithms = [of("projectron", parameters={"eta": [0.1, 0.2]})]
    algorithms.append(of("bogd", budget={"of": "projectron"}, parameters={"eta": [1, 2]}))
    results = load(build(tmp_path / "r", rows, algorithms=algorithms))
    texts = [f"eta={own}, projectron.eta={eta}" for own in (1, 2) for eta in (0.1, 0.2)]
    assert [setting.text for setting in results.settings("bogd")] == texts
    assert results.own_text("one", "bogd", results.settings("bogd")[0]) == "eta=1"


def test_one_finished_setting_of_a_sweep_is_still_named(tmp_path):
    results = load(swept(tmp_path, rows=[row for row in swept_rows() if row["setting"] == '{"eta": 0.1}']))
    assert [setting.text for setting in results.settings("projectron++")] == ["eta=0.1"]


def test_settings_that_read_alike_are_not_averaged_together(tmp_path):
    etas = (0.12345678, 0.12345679)
    rows = [run("one", "projectron", 10 * i, setting={"eta": eta}) for i, eta in enumerate(etas, 1)]
    results = load(build(tmp_path / "r", rows))
    assert [m.mean for m in measure(results, ONLINE_ERROR).values()] == pytest.approx([10, 20])


def test_failures_count_for_their_setting(tmp_path):
    rows = [*swept_rows(), failed("one", "projectron++", "boom", repetition=3, setting={"eta": 0.1})]
    results = load(swept(tmp_path, rows=rows))
    measured = measure(results, ONLINE_ERROR)
    lost = {p.setting.text: m.n_failed for p, m in measured.items() if p.label == "projectron++"}
    assert lost == {"eta=0.05": 0, "eta=0.1": 1, "eta=0.3": 0}
    assert results.failures == [Failure("one, projectron++, eta=0.1, repetition 3, seed 0", "boom")]


EXPECTED = [
    {"dataset": "one", "label": "perceptron", "value": 10.0},
    {"dataset": "one", "label": "projectron++", "setting": "eta=0.1", "value": 9.0},
    {"dataset": "one", "label": "rbp", "budget_fraction": 1.0, "setting": "eta=0.3", "value": 12.0},
]


def test_published_numbers_of_settings(tmp_path):
    findings = [
        {"label": "projectron++", "setting": ["eta=0.1"], "text": "It projects otherwise."},
        {"setting": "eta=0.05", "text": "Of another setting."},
    ]
    table = table_of(swept(tmp_path, expected=EXPECTED, findings=findings))
    rows = [row for block in table.blocks for row in block.rows]
    published = {(c.place.label, r.setting.text): c.published and c.published.value for r in rows for c in r.cells}
    assert [published["perceptron", f"eta={eta:g}"] for eta in ETAS] == [10, 10, 10]
    assert [published["projectron++", f"eta={eta:g}"] for eta in ETAS] == [None, 9, None]
    assert [published["rbp", f"eta={eta:g}"] for eta in ETAS] == [None, None, 12]
    assert [(item.text, item.findings) for item in table.outside] == [
        ("one, perceptron", []),
        ("one, projectron++, eta=0.1", ["It projects otherwise."]),
        ("one, rbp, eta=0.3, B = p", []),
    ]


def test_published_numbers_of_learners_that_never_ran(tmp_path):
    """In a row without a budget they are shown if they are the same for each budget; in any setting, if without one."""
    both = [{"label": "rbp", "value": 12.0}, {"label": "perceptron", "setting": "eta=0.1", "value": 13.0}]
    expected = [own | {"dataset": "one", "budget_fraction": share} for own in both for share in (0.5, 1.0)]
    rows = [row for row in swept_rows() if row["label"] == "projectron++"]
    table = table_of(swept(tmp_path, {"columns": ["projectron++", "perceptron", "rbp"]}, expected, rows=rows))
    published = {row.label: [c.published and c.published.value for c in row.cells] for row in table.blocks[0].rows}
    numbers = {0.05: [None, None, 12], 0.1: [None, 13, 12], 0.3: [None, None, 12]}
    assert published == {f"one, eta={eta:g}": found for eta, found in numbers.items()}


def test_order_of_published_parameters_does_not_matter(tmp_path):
    expected = {"t": [{"dataset": "d", "label": "a", "setting": "C=2, eta=0.1", "value": 5.0}]}
    report = {"tables": [{"name": "t"}]}
    (spec,) = load(build(tmp_path / "r", [run("d", "a", 5)], report=report, expected=expected)).tables
    published = PublishedNumbers.in_table(spec)

    def find(*items, **others):
        found = published.find(Place("d", "a", NO_BUDGET, Setting(items)), any_budget=True, **others)
        return found and found.value

    assert find("eta=0.1", "C=2") == 5
    assert find("eta=0.1") is None
    assert find(any_setting=True) == 5


def test_commas_of_a_list_are_no_ends_of_an_item():
    assert items_of("rows=[1, 2], eta=0.1") == {"rows=[1, 2]", "eta=0.1"}
    assert items_of("") == frozenset()


def test_published_settings_are_rows_where_nothing_ran(tmp_path):
    table = {"rows": ["two"], "columns": ["projectron++"]}
    expected = [EXPECTED[1] | {"dataset": "two"}]
    assert grid(table_of(swept(tmp_path, table, expected))) == {("", "two, eta=0.1"): [None]}


def test_files_and_page_and_summary_name_the_setting_of_each_cell(tmp_path):
    written = swept(tmp_path, {"relative_to": "perceptron"}, EXPECTED)
    write_report(written)
    listed = sweeping.rows(written / "tables", "t.csv")
    budgets = {"eta=0.05": "810", "eta=0.1": "610", "eta=0.3": "410"}
    pairs = [[("projectron++", eta, ""), ("rbp", eta, budget)] for eta, budget in budgets.items()]
    found = [(row["label"], row["setting"], row["budget_mean"]) for row in listed]
    assert found == [("perceptron", "", ""), *(one for pair in pairs for one in pair)]
    assert [row["n_runs"] for row in listed] == ["3", "3", "6", "3", "6", "3", "6"]
    markdown = (written / "tables" / "t.md").read_text(encoding="utf-8")
    assert "| one, eta=0.1 (mean B 610)  | 11.00 ± 1.00 (10.00, +10.0%) | 10.00 ± 1.00 (9.00, +11.1%) |" in markdown
    latex = (written / "tables" / "t.tex").read_text(encoding="utf-8")
    assert r"one, eta=0.1 (mean B 610) & 11.00 $\pm$ 1.00 (10.00, +10.0\%)" in latex
    page = (written / "report.html").read_text(encoding="utf-8")
    assert '<th scope="row">one, eta=0.1<small>mean B 610</small></th>' in page
    assert "projectron++ (eta=0.05; eta=0.1; eta=0.3)" in page
    assert "one, eta=0.1 (mean B 610)  measured" in summary(written)


def test_budgets_in_rows_are_formulas_in_latex(tmp_path):
    rows = [run("one", "a_b", 9, budget=b, setting={"eta": eta}) for b in (5, 50) for eta in (1, 2)]
    assert "$B = 5$, eta=1 & 9.00" in WRITERS["tex"](table_of(build(tmp_path / "r", rows)))


def test_costs_are_summed_over_settings(tmp_path):
    seconds, *_ = listings.costs(load(swept(tmp_path)))
    assert seconds.header == ["dataset", "perceptron", "projectron++", "rbp", "all"]
    assert seconds.rows[0][2] == pytest.approx(3 * 0.123 * 6)
    assert seconds.caption.endswith("over tasks, repetitions, seeds, budgets and settings.")


def test_a_place_is_the_same_whatever_its_rank():
    one, other = (Place("d", "a", Budget("fraction", 1.0), Setting(("eta=1",), (rank,))) for rank in (1.0, math.inf))
    assert {one: 1}[other] == 1


OWN_ETAS = {"by_dataset": {"one": [0.1], "two": [0.9, 0.1]}}
BUDGETS = {"by_dataset": {"one": [40], "two": [60]}}
STEPS = ["10 / sqrt(T)", "1e-1 / sqrt(T)", 0.5]
ALGORITHMS = [
    *(of("projectron", parameters={"eta": OWN_ETAS}), of("rbp", budget=BUDGETS)),
    *(of("cks", budget=BUDGETS), of("nogd", parameters={"step": STEPS})),
]


def own_rows(steps=True):
    found = []
    for dataset, T, B in (("one", 10000, 40), ("two", 40000, 60)):
        etas = (0.1,) if dataset == "one" else (0.1, 0.9)
        of = {"n_examples": T}
        for eta in etas:
            found.append(run(dataset, "projectron", 8 + eta, setting={"eta": eta} if dataset == "two" else {}, **of))
        for label in ("rbp", "cks"):
            found += [run(dataset, label, 10 + r, budget=B, repetition=r, **of) for r in range(2)]
        for step, percent in zip(STEPS, (30, 20.1, 20), strict=True) if steps else ():
            found.append(run(dataset, "nogd", percent, setting={"step": step}, **of))
    return found


def folder_of(tmp_path, steps=True, **others):
    return build(tmp_path / "r", own_rows(steps), algorithms=ALGORITHMS, **others)


def test_one_value_per_dataset_makes_neither_blocks_nor_rows(tmp_path):
    table = table_of(folder_of(tmp_path, steps=False))
    assert grid(table) == {
        ("", "one"): [8.1, 10.5, 10.5],
        ("", "two, eta=0.1"): [8.1, 10.5, 10.5],
        ("", "two, eta=0.9"): [8.9, 10.5, 10.5],
    }
    assert table.notes[1:] == ["eta of projectron: one 0.1.", "B of rbp, cks: one 40, two 60."]


def test_formulas_are_rows_as_typed_in_the_order_of_the_config(tmp_path):
    results = load(folder_of(tmp_path))
    texts = ["step=10 / sqrt(T)", "step=1e-1 / sqrt(T)", "step=0.5"]
    assert [setting.text for setting in results.settings("nogd")] == texts
    assert [setting.position for setting in results.settings("nogd", "two")] == [(0,), (1,), (2,)]
    assert [setting.text for setting in results.settings("projectron", "one")] == [""]
    table = table_of(folder_of(tmp_path))
    cells = {label: means[-1] for (_, label), means in grid(table).items() if means[-1]}
    means = dict(zip(texts, (30, 20.1, 20), strict=True))
    assert cells == {f"{dataset}, {text}": means[text] for dataset in ("one", "two") for text in texts}


def test_published_numbers_and_findings_of_a_datasets_own_budget(tmp_path):
    expected = [
        {"dataset": "one", "label": "rbp", "budget": 40, "value": 10.5},
        {"dataset": "two", "label": "rbp", "budget": 40, "value": 10.5},
        {"dataset": "one", "label": "cks", "value": 8.0},
        {"dataset": "two", "label": "cks", "budget": 60, "value": 8.0},
    ]
    findings = [{"label": "cks", "budget": [60], "text": "Of sixty."}, {"budget_fraction": 60, "text": "Of none."}]
    report = {"tables": [{"name": "t", "columns": ["rbp", "cks"]}], "findings": findings}
    folder = folder_of(tmp_path, report=report, expected={"t": expected})
    table = table_of(folder)
    assert [cell.published and cell.published.value for cell in table.cells] == [10.5, 8.0, None, 8.0]
    found = {item.text: item.findings for item in table.outside}
    assert found == {"one, cks, B = 40": [], "two, cks, B = 60": ["Of sixty."]}
    write_report(folder)
    long = sweeping.rows(folder / "tables", "t.csv")
    cells = [f"{row['dataset']} {row['label']} {row['budget']}" for row in long]
    assert cells == ["one rbp 40", "one cks 40", "two rbp 60", "two cks 60"]


def test_own_budgets_stand_in_the_blocks_of_others(tmp_path):
    found = [*own_rows(steps=False), *(run(d, "stoptron", b, budget=b) for d in ("one", "two") for b in (10, 20))]
    table = table_of(build(tmp_path / "r", found, algorithms=ALGORITHMS))
    assert [(block.title, [row.label for row in block.rows]) for block in table.blocks] == [
        ("B = 10", ["one", "two"]),
        ("B = 20", ["one", "two"]),
        ("no budget", ["two, eta=0.1", "two, eta=0.9"]),
    ]
    assert [c.measured and c.measured.mean for c in table.blocks[0].rows[0].cells] == [8.1, 10.5, 10.5, 10]


def test_figures_place_own_budgets(tmp_path):
    figures = [
        {"name": "b", "dataset": "two", "lines": ["rbp", "cks"], "point": "projectron"},
        {"name": "s", "dataset": "two", "lines": ["rbp", "cks", "projectron"], "x": "support_size"},
    ]
    folder = folder_of(tmp_path, report={"figures": figures})
    assert len(write_figures(folder)) == 4
    page = written_file(folder, "report.html")
    # Equal points are drawn once.
    assert "rbp, cks: 10.50% at B = 60." in page
    assert "projectron: a curve through 2 settings, eta=0.1 to eta=0.9." in page
    # Learners of one budget a dataset ask for no figure of their own.
    assert not write_figures(folder_of(tmp_path / "more"))
