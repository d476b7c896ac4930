"""Values by dataset and values typed as formulas of the stream's length: what makes rows, and what does not."""

import csv
import io

from fake_results import build, run, table_of, write_figures, write_report, written_file

from budgetrun.results.store.read import load

ETAS = {"by_dataset": {"one": [0.1], "two": [0.9, 0.1]}}
BUDGETS = {"by_dataset": {"one": [40], "two": [60]}}
STEPS = ["10 / sqrt(T)", "1e-1 / sqrt(T)", 0.5]
ALGORITHMS = [
    {"name": "projectron", "label": "projectron", "parameters": {"eta": ETAS}},
    {"name": "rbp", "label": "rbp", "budget": BUDGETS},
    {"name": "cks", "label": "cks", "budget": BUDGETS},
    {"name": "nogd", "label": "nogd", "parameters": {"step": STEPS}},
]


def rows(steps=True):
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
    return build(tmp_path / "r", rows(steps), algorithms=ALGORITHMS, **others)


def grid(table):
    rows = [(block.title, row) for block in table.blocks for row in block.rows]
    return {(title, row.label): [c.measured and c.measured.mean for c in row.cells] for title, row in rows}


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
    long = list(csv.DictReader(io.StringIO((folder / "tables" / "t.csv").read_text())))
    cells = [f"{row['dataset']} {row['label']} {row['budget']}" for row in long]
    assert cells == ["one rbp 40", "one cks 40", "two rbp 60", "two cks 60"]


def test_own_budgets_stand_in_the_blocks_of_others(tmp_path):
    found = [*rows(steps=False), *(run(d, "stoptron", b, budget=b) for d in ("one", "two") for b in (10, 20))]
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
    assert "rbp: 10.50% at B = 60." in page
    assert "projectron: a curve through 2 settings, eta=0.1 to eta=0.9." in page
    # Learners of one budget a dataset ask for no figure of their own.
    assert not write_figures(folder_of(tmp_path / "more"))
