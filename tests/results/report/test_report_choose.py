"""Tables that choose among settings: which, what a cell then shows, and what is said of it."""

import csv
import io

import pytest
import sweeping
from fake_results import build, failed, of, run, summary, table_of, write_report
from faults import message
from sweeping import edited

from budgetrun.results.report import tables
from budgetrun.results.report.layout import Tolerance
from budgetrun.results.store.read import load

EPSILONS = [0.9, 0.5, 0.7]
ALGORITHMS = [of("perceptron"), of("ahpatron", parameters={"epsilon": EPSILONS}, budget={"by_dataset": {"one": [40]}})]
ALGORITHMS.append(of("fogd", parameters={"step": [1, 2]}))
# Of repetitions 0, 1, 2: online errors in percent, and mistakes in the first tenth.
ERRORS = {0.9: (10, 10, 13), 0.5: (9, 12, 12), 0.7: (11, 9, 14)}
EARLY = {0.9: (150, 80, 120), 0.5: (100, 120, 120), 0.7: (100, 70, 150)}


def rows():
    found = []
    for r in range(3):
        tenth = {"repetition": r, "prefix_examples": 1000}
        found.append(run("one", "perceptron", 14, **tenth, prefix_mistakes=500, seconds=2.0))
        for i, epsilon in enumerate(sorted(EPSILONS)):
            own = {"setting": {"epsilon": epsilon}, "budget": 40, "margin_updates": 100 * i + 10 * r}
            early = {"prefix_mistakes": EARLY[epsilon][r], "seconds": 1.0 + i}
            found.append(run("one", "ahpatron", ERRORS[epsilon][r], **own, **tenth, **early))
        for step in (1, 2):
            for seed in (0, 1):
                own = {"setting": {"step": step}, "seed": seed, "prefix_mistakes": 100 * (step == seed + 1)}
                found.append(run("one", "fogd", 15 + step, **own, **tenth, seconds=step))
    return found


def folder_of(tmp_path, table, expected=(), chosen_by=(), found=None, findings=(), **others):
    report = {"tables": [{"name": "t"} | table], "findings": list(findings)}
    others |= {"expected": {"t": list(expected)}, "choose_expected": {"t": list(chosen_by)}}
    return build(tmp_path / "r", found or rows(), report=report, algorithms=ALGORITHMS, **others)


def made(*args, **others):
    return table_of(folder_of(*args, **others))


def cells(table):
    return {cell.place.label: (cell.measured and round(cell.measured.mean, 6), cell.chosen) for cell in table.cells}


def test_in_hindsight_the_first_of_the_lowest_errors(tmp_path):
    # 0.9 and 0.5 are equal: the config has 0.9 first.
    table = made(tmp_path, {"choose": {"by": "online_error"}})
    assert cells(table) == {"perceptron": (14, ""), "ahpatron": (11, "epsilon=0.9"), "fogd": (16, "step=1")}
    assert [row.label for block in table.blocks for row in block.rows] == ["one"]
    found = [(c.place.setting.text, round(c.measured.mean, 3), c.n_streams) for c in table.candidates]
    assert found[:3] == [("epsilon=0.9", 11, 3), ("epsilon=0.5", 11, 0), ("epsilon=0.7", 11.333, 0)]
    assert found[3:] == [("step=1", 16, 3), ("step=2", 17, 0)]
    said = "A cell shows the setting with the lowest mean online error on its dataset, which is a choice in hindsight."
    assert table.notes[1] == said


def test_by_the_first_tenth_scored_on_the_rest(tmp_path):
    expected = [{"dataset": "one", "label": "perceptron", "value": 14.0}]
    table = made(tmp_path, {"choose": {"by": "prefix"}}, expected)
    assert "The published numbers are of all rounds." in table.notes
    # Repetition 0 ties between 0.5 and 0.7, and repetition 2 between 0.9 and 0.5: the order decides nothing.
    rest = [(900 + 1100 - 200) / 18000, (900 - 70) / 9000, (1300 + 1200 - 240) / 18000]
    assert cells(table) == {
        "perceptron": (round(100 * (1400 - 500) / 9000, 6), ""),
        "ahpatron": (round(100 * sum(rest) / 3, 6), "epsilon=0.5 on 2 of 3 streams"),
        "fogd": (round(100 * (1600 + 1700 - 100) / 18000, 6), "step=1 on 3 of 3 streams"),
    }
    chosen = {c.place.setting.text: c.n_streams for c in table.candidates}
    assert chosen == {"epsilon=0.9": 1, "epsilon=0.5": 2, "epsilon=0.7": 2, "step=1": 3, "step=2": 3}
    assert {c.quantity.name for c in table.candidates} == {"prefix_mistakes"}
    assert table.caption.endswith("online error after the first tenth in percent.")
    assert table.notes[1] == (
        "Each stream uses the setting with the fewest mistakes in its first tenth; all columns show the online error "
        "of the remaining rounds. Of several that are equal there, it shows the mean."
    )


def test_root_mean_squares_of_the_rest(tmp_path):
    own = {"n_examples": 100, "prefix_examples": 10, "mae": 1.0, "r2": 0.5, "prefix_rmse": 3.0, "rmse": 2.0}
    found = [run("one", "ahpatron", 0, setting={"epsilon": epsilon}, **own) for epsilon in EPSILONS[:2]]
    folder = folder_of(tmp_path, {"choose": {"by": "prefix"}, "quantity": "rmse"}, found=found)
    with edited(folder) as manifest:
        manifest["config"]["datasets"][0]["task"] = "regression"
    # Both settings have equal errors in the first tenth: 100 squares of 4 on average, the first 10 of 9.
    rest = round(((400 - 90) / 90) ** 0.5, 6)
    assert cells(table_of(folder)) == {"ahpatron": (rest, "epsilon=0.9 on 1 of 1 streams")}


PUBLISHED = [{"dataset": "one", "label": "ahpatron", "value": 190.0}]


def test_by_what_is_published_of_another_quantity(tmp_path):
    choose = {"by": "printed", "quantity": "margin_updates", "expected": "x.csv"}
    table = made(tmp_path, {"choose": choose}, chosen_by=PUBLISHED)
    assert cells(table) == {
        "perceptron": (14, ""),
        "ahpatron": (round(sum(ERRORS[0.9]) / 3, 6), "epsilon=0.9"),
        "fogd": (16, "step=1"),
    }
    assert table.notes[1:3] == [
        "A cell shows the setting whose mean number of margin updates is nearest to the published one, so it is "
        "calibrated on the published numbers.",
        "Where none is published, it shows the setting with the lowest mean online error on its dataset, which is a "
        "choice in hindsight (fogd).",
    ]
    decided = {c.place.label: (c.quantity.name, c.published) for c in table.candidates}
    assert decided == {"ahpatron": ("margin_updates", 190.0), "fogd": ("online_error", None)}


@pytest.mark.parametrize(("more", "found"), [
    ({"budget": 40}, 190.0), ({"budget": 41}, None), ({"budget": None}, 190.0), ({"setting": "epsilon=0.7"}, 190.0),
    ({"budget": 40, "setting": "epsilon=0.7"}, 190.0),
])  # fmt: skip
def test_what_is_published_is_of_this_budget_or_of_none_and_of_any_setting(tmp_path, more, found):
    choose = {"by": "printed", "quantity": "margin_updates", "expected": "x.csv"}
    table = made(tmp_path, {"choose": choose}, chosen_by=[PUBLISHED[0] | more])
    assert {c.published for c in table.candidates if c.place.label == "ahpatron"} == {found}
    # Budgets that are the same on all datasets.
    budgets = [of("ahpatron", budget=[40], parameters={"epsilon": EPSILONS})]
    runs = [row for row in rows() if row["label"] == "ahpatron"]
    report = {"tables": [{"name": "t", "choose": choose}]}
    by = {"choose_expected": {"t": [PUBLISHED[0] | more]}}
    table = table_of(build(tmp_path / "plain", runs, report=report, algorithms=budgets, **by))
    assert {c.published for c in table.candidates} == {found}


def test_other_quantities_of_what_was_chosen(tmp_path):
    def shown(i, **table):
        return cells(made(tmp_path / str(i), table))

    by = {"choose": {"by": "online_error"}}
    assert shown(0, quantity="margin_updates", **by)["ahpatron"] == (210, "epsilon=0.9")
    assert shown(1, quantity="seconds", **by)["ahpatron"] == (3, "epsilon=0.9")
    early = shown(2, quantity="margin_updates", choose={"by": "prefix"})["ahpatron"]
    assert early == (round((50 + 110 + 120) / 3, 6), "epsilon=0.5 on 2 of 3 streams")
    ratios = shown(3, quantity="seconds_ratio", relative_to="ahpatron", columns=["perceptron"], **by)
    assert ratios == {"perceptron": (round(2 / 3, 6), "")}


def test_a_choice_for_each_budget(tmp_path):
    found = [
        run("one", "ahpatron", 10 + (epsilon == best), budget=budget, setting={"epsilon": epsilon})
        for budget, best in ((30, 0.5), (40, 0.9))
        for epsilon in (0.5, 0.9)
    ]
    algorithms = [of("ahpatron", budget=[30, 40], parameters={"epsilon": [0.5, 0.9]})]
    report = {"tables": [{"name": "t", "choose": {"by": "online_error"}}]}
    folder = build(tmp_path / "r", found, report=report, algorithms=algorithms)
    table = table_of(folder)
    assert [cell.chosen for cell in table.cells] == ["epsilon=0.9", "epsilon=0.5"]
    write_report(folder)
    listed = sweeping.rows(folder / "tables", "t.candidates.csv")
    chosen = [f"{row['budget']}: {row['chosen']}" for row in listed]
    assert chosen == ["B = 30: no", "B = 30: yes", "B = 40: yes", "B = 40: no"]


def test_failures_of_what_was_chosen_are_marked(tmp_path):
    for i, (epsilon, mark) in enumerate(((0.9, 1), (0.5, 0))):
        lost = failed("one", "ahpatron", "boom", repetition=3, setting={"epsilon": epsilon}, budget=40)
        table = made(tmp_path / str(i), {"choose": {"by": "online_error"}}, found=[*rows(), lost])
        (cell,) = [cell for cell in table.cells if cell.place.label == "ahpatron"]
        assert (cell.chosen, cell.measured.n_failed) == ("epsilon=0.9", mark)


def test_results_without_a_first_tenth_cannot_choose_by_it(tmp_path):
    bare = [row | {"prefix_examples": "", "prefix_mistakes": ""} for row in rows()]
    folder = folder_of(tmp_path, {"choose": {"by": "prefix"}}, found=bare)
    assert message(tables.build, load(folder)) == (
        f"{folder / 'runs.csv'}: table 't' chooses by: prefix, and run {0:016x} has no prefix_mistakes; repeat "
        "the sweep: budgetrun sweep CONFIG --force"
    )


def test_files_and_page(tmp_path):
    expected = [{"dataset": "one", "label": "ahpatron", "value": 10.0, "sd": 0.5}]
    findings = [{"setting": "epsilon=0.9", "text": "It was chosen."}, {"setting": "epsilon=0.5", "text": "Not this."}]
    choose = {"by": "printed", "quantity": "margin_updates", "expected": "x.csv"}
    folder = folder_of(tmp_path, {"choose": choose}, expected, PUBLISHED, findings=findings)
    paths = [path.name for path in write_report(folder)]
    assert paths[:4] == ["t.csv", "t.md", "t.tex", "t.candidates.csv"]
    long, markdown, latex, listed = ((folder / "tables" / name).read_text("utf-8") for name in paths[:4])
    for words in (
        "11.00 ± 1.73 (epsilon=0.9; 10.00, +10.0%, +2.0 sd)", "16.00 ± 0.00 (step=1) ",
        "measured mean ± standard deviation (chosen setting; published, difference relative to the published value, in "
        "published standard deviations)",
        "one, ahpatron, epsilon=0.9, B = 40: measured 11.00, published 10.00, +1.00 points (+10.0%, +2.0 sd). See 1.",
        "What was found:\n\n1. It was chosen.\n",
    ):  # fmt: skip
        assert words in markdown
    assert "11.00 $\\pm$ 1.73 (epsilon=0.9; 10.00, +10.0\\%, +2.0 sd)" in latex
    (row,) = (row for row in csv.DictReader(io.StringIO(long)) if row["label"] == "ahpatron")
    assert [row[key] for key in ("chosen", "published_sd_percent", "difference_in_sd")] == ["epsilon=0.9", "0.5", "2"]
    assert "setting" not in row
    assert listed.splitlines()[:3] == [
        "dataset,algorithm,setting,chosen,streams that chose it,decided by,mean,sd,published",
        "one,ahpatron,epsilon=0.9,yes,3,number of margin updates,210,10,190",
        "one,ahpatron,epsilon=0.5,no,0,number of margin updates,10,10,190",
    ]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<small>epsilon=0.9</small>" in page
    assert "+10.0%, +2.0 sd</span>" in page
    assert '<td class="text">number of margin updates</td><td>210.0</td><td>10.0</td><td>190.0</td>' in page
    assert {"setting", "epsilon=0.9"} <= set(summary(folder).split())


def test_seconds_say_whether_kernel_values_were_shared(tmp_path):
    def notes(i, **config):
        folder = folder_of(tmp_path / str(i), {"quantity": "seconds"})
        with edited(folder) as manifest:
            manifest["config"] |= config
        return table_of(folder).notes

    assert "Each run was made on its own, so its seconds are all that it needed." in notes(0, alone=True)
    assert any(note.startswith("The learners of a stream shared kernel values:") for note in notes(1, alone=False))
    # Results of before there was a choice.
    assert not any("shared" in note or "on its own" in note for note in notes(2))


@pytest.mark.parametrize(("tolerance", "text", "outside"), [
    (Tolerance(0.05), "5%", ["a", "b", "c", "d"]),
    (Tolerance(None, 3.0), "3 published sd", ["b", "c", "d"]),
    (Tolerance(None, 1.0), "1 published sd", ["a", "b", "c", "d"]),
    (Tolerance(0.15, 3.0), "15% or 3 published sd", ["b"]),
])  # fmt: skip
def test_tolerance_in_published_standard_deviations(tmp_path, tolerance, text, outside):
    # (11 - 10) / 0.5 = 2, (11 - 10) / 0.25 = 4, and two without a published deviation, which 5% decide on.
    own = ("a", 10.0, 0.5), ("b", 10.0, 0.25), ("c", 10.0, None), ("d", 10.4, None)
    expected = [{"dataset": "one", "label": label, "value": value, "sd": sd} for label, value, sd in own]
    spec = {"name": "t", "tolerance": tolerance.relative, "tolerance_sd": tolerance.sds}
    rows = [run("one", label, 11) for label in "abcd"]
    table = table_of(build(tmp_path / "r", rows, report={"tables": [spec]}, expected={"t": expected}))
    assert table.tolerance == tolerance
    assert table.tolerance.text == text
    assert [item.cell.place.label for item in table.outside] == outside
    assert [cell.in_sds for cell in table.cells] == [2, 4, None, None]
