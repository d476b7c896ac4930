"""Tables that compare learners: a mark for each rule of fair comparisons that they break, and tests of differences."""

import itertools

import numpy as np
import pytest
import sweeping
from fake_results import build, of, run, table_of, write_report
from scipy.stats import ttest_rel

from budgetrun.results.report import tables
from budgetrun.results.store.read import load

STEPS = [0.01, 0.1, 1]
LOGISTIC = {"name": "logistic", "label": "logistic", "parameters": {"step": STEPS, "inputs": ["standardised"]}}
BASELINES = [{"name": "majority", "label": "majority"}, LOGISTIC]
BPA = {"name": "bpa", "variant": "nearest", "label": "bpa(nearest)", "parameters": {"C": STEPS}}
DRIFTS = {"name": "one", "label": "one", "order": "file"}
KERNELS = [f"gaussian(gamma={gamma})" for gamma in (0.5, 1, 2)]
PREFIX = {"prefix_examples": 1000, "prefix_mistakes": 100}


def rows(repetitions=20, best=0.1, kernels=KERNELS, prefix=PREFIX, labels=("logistic", "bpa(nearest)"), **others):
    """Return runs that break no rule: the middle of each grid is chosen, and every learner has as many settings."""
    found = []
    for r in range(repetitions):
        own = {"repetition": r, **prefix, **others}
        found.append(run("one", "majority", 24, prefix_log_loss=0.6, kernel=KERNELS[1], **own))
        for i, label in enumerate(labels):
            for value in STEPS:
                for kernel in kernels if i else KERNELS[1:2]:
                    gamma = float(kernel.partition("=")[2][:-1])
                    setting = {"step" if label == "logistic" else "C": value, **({"gamma": gamma} if i else {})}
                    far = abs(np.log10(value / best)) + abs(np.log2(gamma))
                    more = {"prefix_log_loss": 0.3 + 0.01 * far, "setting": setting, "kernel": kernel}
                    found.append(run("one", label, 20 - 4 * i + 0.1 * (r % 3) + far, **more, **own))
    return found


def folder_of(tmp_path, found=None, by="prefix", algorithms=(*BASELINES, BPA), tables=(), dataset=DRIFTS, metrics=None):
    report = {"compares": True, "tables": [{"name": "t", "choose": {"by": by}}, *tables]}
    folder = build(tmp_path / "r", found or rows(), report=report, algorithms=list(algorithms))
    with sweeping.edited(folder) as manifest:
        manifest["config"] |= {"datasets": [dataset], "metrics": ["prefix_log_loss"] if metrics is None else metrics}
        manifest["expected"] = {one["name"]: [] for one in report["tables"]}
    return folder


def by_mistakes():
    return [row | {"prefix_mistakes": round(1000 * float(row["prefix_log_loss"]))} for row in rows()]


def remark(*args, **others):
    return table_of(folder_of(*args, **others)).remark


BREAKS = "Breaks these rules of fair comparisons: {}."


def test_a_table_that_breaks_no_rule_says_nothing(tmp_path):
    assert remark(tmp_path) == ""
    # Data that are scaled need no inputs that are.
    plain = LOGISTIC | {"parameters": {"step": STEPS}}
    assert remark(tmp_path, algorithms=[BASELINES[0], plain, BPA], dataset=DRIFTS | {"scale": "standard"}) == ""


@pytest.mark.parametrize(("text", "given"), [
    ("1 (without the larger class)", {"algorithms": [LOGISTIC, BPA]}),
    ("1 (without a linear learner of scaled inputs)", {"algorithms": [BASELINES[0], BPA]}),
    ("2 (settings are chosen in hindsight)", {"by": "online_error"}),
    ("2 (settings are chosen by mistakes, not by a loss)", {"metrics": [], "found": by_mistakes()}),
    ("2 (settings are chosen on few examples of a class)", {"found": rows(prefix=PREFIX | {"prefix_examples": 5000})}),
    ("3 (one kernel per data set)", {"found": rows(kernels=KERNELS[1:2])}),
    ("3 (80 of 100 chosen values are an end of their grid)", {"found": rows(best=1)}),
    ("4 (budgets count examples, not bytes)", {"algorithms": [*BASELINES, BPA | {"budget": [40]}]}),
    ("5 (3 permutations, not 20)", {"found": rows(3)}),
    ("5 (1 permutation, not 20); 6 (without tests)", {"found": rows(1)}),
    ("7 (the first 5,000 rounds)", {"dataset": DRIFTS | {"n_examples": 5000}}),
    ("7 (without a stream that drifts)", {"dataset": DRIFTS | {"order": "permuted"}}),
])  # fmt: skip
def test_each_rule_that_is_broken_is_named(tmp_path, text, given):
    found = remark(tmp_path, **given)
    if "80 of 100" in text:
        assert "chosen values are an end of their grid" in found
    else:
        assert found == BREAKS.format(text)


def test_rules_are_about_the_columns_of_a_table(tmp_path):
    folder = folder_of(tmp_path, tables=[{"name": "u", "choose": {"by": "prefix"}, "columns": ["bpa(nearest)"]}])
    without = "1 (without the larger class); 1 (without a linear learner of scaled inputs)"
    assert [table.remark for table in tables.build(load(folder))] == ["", BREAKS.format(without)]


def test_the_rules_that_are_broken_are_the_first_line(tmp_path):
    found = remark(tmp_path, rows(1))
    write_report(tmp_path / "r")
    _, _, first, *_ = (tmp_path / "r" / "tables" / "t.md").read_text("utf-8").splitlines()
    assert first == found != ""


def test_learners_have_the_same_number_of_settings(tmp_path):
    norma = {"name": "norma", "label": "norma", "parameters": {"step": STEPS}}
    found = rows(labels=("logistic", "bpa(nearest)", "norma"))
    found = [row for row in found if row["label"] != "norma" or row["kernel"] == KERNELS[1]]
    for row in found:
        row["setting"] = row["setting"].replace('"C"', '"step"') if row["label"] == "norma" else row["setting"]
    assert "3 (3 to 9 settings per learner)" in remark(tmp_path, found, algorithms=[*BASELINES, BPA, norma])


def test_a_choice_in_hindsight_may_stand_beside_one_without(tmp_path):
    folder = folder_of(tmp_path, by="online_error", tables=[{"name": "u", "choose": {"by": "prefix"}}])
    assert [table.remark for table in tables.build(load(folder))] == ["", ""]


def test_differences_from_the_best_with_intervals_and_holms_p(tmp_path):
    table = table_of(folder_of(tmp_path))
    marks = {cell.place.label: table.words(cell).split(" (")[0] for cell in table.cells}
    assert marks["bpa(nearest)"].endswith("*")
    assert not marks["logistic"].endswith(("*", "‡"))
    best = next(cell.key for cell in table.cells if cell.place.label == "bpa(nearest)")
    assert set(table.paired) == {(cell.key, best) for cell in table.cells if cell.key != best}
    ps = sorted((test.p, p) for test, p in table.paired.values())
    assert ps[-1][1] >= ps[0][1]
    assert all(adjusted >= p for p, adjusted in ps)
    write_report(tmp_path / "r")
    found = {row["label"]: row for row in sweeping.rows(tmp_path / "r" / "tables", "t.paired.csv")}
    # 2,000 to 2,020 mistakes, of which 100 in the first 1,000 rounds.
    logistic, bpa = ([100 * (100 * (p + 0.1 * (r % 3)) - 100) / 9000 for r in range(20)] for p in (20, 16))
    assert float(found["logistic"]["difference"]) == pytest.approx(np.mean(np.subtract(logistic, bpa)))
    larger = [100 * 2300 / 9000] * 20
    low, high = ttest_rel(larger, bpa).confidence_interval()
    row = found["majority"]
    assert [float(row[key]) for key in ("low", "high")] == pytest.approx([low, high], abs=1e-7)
    assert any("paired t-test" in note for note in table.notes)


def test_settings_that_are_not_chosen_are_compared_one_by_one(tmp_path):
    better = {0.1: ("bpa(nearest)", 1.0), 1: ("perceptron", 3.0)}
    noise = {"bpa(nearest)": 0.0, "perceptron": 0.1}
    found = [
        run("one", label, 20 + noise[label] * (r % 3) + (label != best) * by, setting={"C": value}, repetition=r)
        for value, (best, by) in better.items()
        for label in noise
        for r in range(5)
    ]
    # Without settings, it is in every row, each time beside another best.
    found += [run("one", "majority", 30 + 0.1 * (r % 2), repetition=r) for r in range(5)]
    algorithms = [
        BASELINES[0],
        BPA | {"parameters": {"C": list(better)}},
        BPA | {"label": "perceptron", "parameters": {"C": list(better)}},
    ]
    folder = folder_of(tmp_path, found, "online_error", algorithms, [{"name": "u"}])
    table = tables.build(load(folder))[1]
    settings = {(one.label, one.setting.text, other.setting.text) for one, other in table.paired}
    of_majority = {("majority", "", "C=0.1"), ("majority", "", "C=1")}
    assert settings == {("perceptron", "C=0.1", "C=0.1"), ("bpa(nearest)", "C=1", "C=1")} | of_majority
    differences = {f"{key.label}, {best.label}": round(test.mean, 6) for (key, best), (test, _) in table.paired.items()}
    assert differences == {
        "perceptron, bpa(nearest)": 1.08,
        "bpa(nearest), perceptron": 2.92,
        "majority, bpa(nearest)": 10.04,
        "majority, perceptron": 9.96,
    }
    assert [(cell.place.label, cell.mark) for cell in table.cells if cell.mark] == [
        ("bpa(nearest)", "*"),
        ("perceptron", "*"),
    ]
    write_report(folder)
    found = sweeping.rows(folder / "tables", "u.paired.csv")
    found = [(row["label"], row["setting"], row["best_setting"]) for row in found]
    assert sorted(found) == sorted(settings)


def test_cells_that_are_not_below_the_majority_are_marked(tmp_path):
    found = [row | ({"mistakes": 2500, "online_error": 0.25} if row["label"] == "logistic" else {}) for row in rows()]
    table = table_of(folder_of(tmp_path, found=found))
    (cell,) = [cell for cell in table.cells if cell.place.label == "logistic"]
    assert table.mean(cell).endswith("‡")
    assert "‡ Not below the error of always predicting the larger class." in table.notes


@pytest.mark.parametrize("what", ["data sets", "settings", "budgets"])
def test_ranks_are_over_data_sets_and_not_over_their_settings_or_budgets(tmp_path, what):
    steps, labels, found = [0.1, 0.2, 0.3, 0.4], ("norma", "perceptron", "rbp"), []
    for i, j, r in itertools.product(range(4), range(3), range(3)):
        own = {"setting": {"step": steps[i]}} if what == "settings" and j == 0 else {}
        own |= {"budget": 10 * (i + 1)} if what == "budgets" else {}
        if i == 0 or own or what == "data sets":
            dataset, percent = f"data{i}" if what == "data sets" else "data", 10 + 5 * j + i + 0.1 * r * (j + 1)
            found.append(run(dataset, labels[j], percent, repetition=r, **own))
    algorithms = [of(label, budget=[10, 20, 30, 40] if what == "budgets" else None) for label in labels]
    algorithms[0] |= {"parameters": {"step": steps}} if what == "settings" else {}
    folder = build(tmp_path / "r", found, report={"compares": True, "tables": [{"name": "t"}]}, algorithms=algorithms)
    with sweeping.edited(folder) as manifest:
        manifest["expected"] = {"t": []}
    table = table_of(folder)
    assert sum(len(block.rows) for block in table.blocks) == 4
    notes = [note for note in table.notes if note.startswith("Mean ranks over 4 data sets: ")]
    assert len(notes) == (what == "data sets")
