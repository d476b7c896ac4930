"""Reports of solvers: objectives, how far they are from the optimum, ratios of seconds, curves over seconds."""

import numpy as np
import pandas as pd
import pytest
import sweeping
from fake_results import build, run, summary, table_of, write_report

from budgetrun.config.quantities import GAP, OBJECTIVE, SECONDS_RATIO, figures
from budgetrun.results.report.numbers import with_ratios
from budgetrun.results.store import optimum
from budgetrun.results.store.curves import Curves
from budgetrun.results.store.read import load

RESULTS = {"mpu": (100.2, 100.0, 0.3), "dcd": (100.1, "", 0.1), "svm_perf": (101.0, 99.0, 3.0)}
EXPECTED = {
    name: [{"dataset": dataset, "label": label, "value": value} for dataset, label, value in rows]
    for name, rows in {
        "t": [("one", "mpu", 100.19), ("one", "dcd", 100.1), ("one", "svm_perf", 95)],
        "s": [("one", "mpu", 0.4), ("one", "dcd", 0.2), ("two", "mpu", 0.7)],
    }.items()
}
TABLES = [
    {"name": "t", "quantity": "objective", "caption": "Objectives.", "tolerance": 1e-4},
    {"name": "g", "quantity": "gap", "caption": "Gaps."},
    {"name": "s", "quantity": "seconds_ratio", "relative_to": "dcd", "caption": "Ratios.", "tolerance": 1.0},
]
FIGURE = {"name": "f", "title": "Towards the optimum", "dataset": "one", "lines": ["mpu", "dcd"]}
FIGURE |= {"x": "seconds", "y": "gap"}


def solved(dataset, label, objective, lower_bound="", seconds=0.5, **others):
    """Return one row of runs.csv: a finished run of a solver."""
    gap = objective / lower_bound - 1 if lower_bound else ""
    empty = dict.fromkeys(("mistakes", "online_error", "margin_updates", "support_size", "max_support_size"), "")
    own = {"objective": objective, "lower_bound": lower_bound, "gap": gap, "seconds": seconds}
    counts = {"steps": 9, "updates": 9, "unlearning_steps": 1, "epochs": 4, "compile_seconds": 0.25}
    return run(dataset, label, 0, kernel="linear", parameters={"C": 1.0}) | empty | own | counts | others


def solved_rows():
    objectives = [("one", 0.0), ("two", 0.5)]
    return [solved(data, label, at + more, *own) for data, more in objectives for label, (at, *own) in RESULTS.items()]


def made(folder):
    return build(folder, solved_rows(), report={"tables": TABLES, "figures": [FIGURE]}, expected=EXPECTED)


@pytest.fixture
def folder(tmp_path):
    return made(tmp_path / "r")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder with its report, without traces, which tests do not change."""
    folder = made(tmp_path_factory.mktemp("written") / "r")
    write_report(folder)
    return folder


def write_traces(folder, rows):
    """Write a trace for each row as `runs_csv` numbers them, that ends at its objective."""
    (folder / "curves").mkdir(exist_ok=True)
    for i, row in enumerate(rows):
        seconds = np.array([[0.0, 0.25, 0.5, 1.0, np.nan]]) * row["seconds"]
        objective = np.array([[3.0, 2.0, 1.1, 1.0, np.nan]]) * row["objective"]
        curves = {"run_id": [f"{i:016x}"], "seconds": seconds, "objective": objective, "gap": seconds}
        np.savez_compressed(folder / "curves" / f"{i:016x}.npz", **curves)


def table(folder, name):
    return {(row["dataset"], row["label"]): row for row in sweeping.rows(folder / "tables", f"{name}.csv")}


def test_gaps_are_to_the_largest_lower_bound_of_all_runs(written):
    found = {label: float(row["gap"]) for (dataset, label), row in table(written, "g").items() if dataset == "one"}
    assert found == pytest.approx({"mpu": 0.002, "dcd": 0.001, "svm_perf": 0.01})
    text = (written / "tables" / "g.md").read_text()
    assert "| one     | 2.0e-03 | 1.0e-03 |   1.0e-02 |" in text
    assert r"one: the optimum lies in \[100, 100.1\], 1.0e-03 wide (lower bound: mpu; objective: dcd)." in text
    assert "A gap is objective / L - 1" in text


def test_tiny_gaps_keep_their_digits(tmp_path):
    rows = [solved("one", "mpu", 1 + 1.25e-10, 1.0)]
    report = {"tables": [{"name": "g", "quantity": "gap"}], "titles": {"mpu": "MPU"}}
    folder = build(tmp_path / "r", rows, report=report)
    write_report(folder)
    assert table(folder, "g")["one", "mpu"]["gap"] == "1.25e-10"
    assert "(lower bound: MPU; objective: MPU)" in (folder / "tables" / "g.md").read_text()


def test_objectives_beside_published_ones(written):
    text = (written / "tables" / "t.md").read_text()
    assert r"100.2000 (100.19, +0.0100%) |" in text
    assert "Cells that differ from the published value by more than 0.01%" in text
    assert "- one, svm\\_perf: measured 101.0000, published 95, +6.000000 (+6.3158%). *no explanation recorded*" in text
    assert "one, mpu:" not in text
    row = table(written, "t")["one", "mpu"]
    assert (row["objective"], row["published"], row["support_size_mean"]) == ("100.2", "100.19", "")


def test_seconds_are_ratios_on_both_sides(written):
    found = table(written, "s")
    assert float(found["one", "mpu"]["seconds_ratio"]) == pytest.approx(3)
    assert float(found["one", "mpu"]["published"]) == 2
    assert float(found["one", "dcd"]["seconds_ratio"]) == float(found["one", "dcd"]["published"]) == 1
    assert found["one", "svm_perf"]["published"] == ""
    # No DCD is published there to divide by.
    assert found["two", "mpu"]["published"] == ""
    text = (written / "tables" / "s.md").read_text()
    assert "Seconds are divided by those of dcd on the same data; published seconds by its published seconds." in text
    assert "Relative to" not in text


def ratios_to(reference, *rows_given):
    columns = ["dataset", "task", "repetition", "label", "seconds", "parameters"]
    runs = pd.DataFrame([(data, "-", *rest) for data, *rest in rows_given], columns=columns)
    return with_ratios(runs.assign(kernel="linear"), reference)["seconds_ratio"].tolist()


def test_ratios_are_of_the_same_stream():
    streams = [("d", "0", "a", 1.0), ("d", "0", "b", 3.0), ("d", "1", "a", 2.0), ("d", "1", "b", 3.0)]
    streams += [("d", "1", "a", 4.0), ("e", "0", "b", 1.0)]
    found = ratios_to("a", *((*one, "{}") for one in streams))
    np.testing.assert_allclose(found, [1, 3, 2 / 3, 1, 4 / 3, np.nan])


def test_ratios_are_of_the_same_problem_where_there_is_one():
    own = [(1.0, '{"C": 1.0, "accuracy": 0.1}'), (9.0, '{"C": {"formula": "T", "value": 2.0}}')]
    others = [(3.0, f'{{"C": {C}}}') for C in (1.0, 2.0, 3.0)]
    found = ratios_to("a", *(("d", "0", "a", *one) for one in own), *(("d", "0", "b", *one) for one in others))
    np.testing.assert_allclose(found, [1, 1, 3, 1 / 3, 3 / 5])


def test_the_page_speaks_of_solvers(written):
    page = (written / "report.html").read_text()
    assert "<dt>Solvers</dt><dd>mpu, dcd, svm_perf</dd>" in page
    assert "<dt>Tie</dt>" not in page
    assert "Compiling, which does not count, took 1.5 s more." in page
    assert "+0.0100%" in page
    assert "100.2000" in summary(written)


def test_without_a_report_section_all_is_shown(tmp_path):
    rows = solved_rows()
    folder = build(tmp_path / "r", rows)
    write_traces(folder, rows)
    names = [path.name for path in write_report(folder)]
    assert names[:9:3] == ["objective.csv", "gap.csv", "seconds.csv"]
    assert {"gap_one.png", "gap_two.svg"} <= set(names)


def test_figure_without_traces_says_so(written):
    assert not (written / "figures").exists()
    page = (written / "report.html").read_text()
    assert "Not drawn: the traces of the solvers are not in the folder curves/" in page


def test_traces_leave_out_what_is_not_known_and_never_go_back(tmp_path):
    seconds, objective = [[1, 3, 2], [1, 1, 1]], [[9, 8, 7], [np.nan] * 3]
    np.savez(tmp_path / "a.npz", run_id=["x", "y"], seconds=seconds, objective=objective, gap=seconds)
    (tmp_path / "b.npz").write_bytes(b"PK torn")
    np.savez(tmp_path / "c.npz", run_id=["z"], rounds=[1], mistakes=[[1]], support_size=[[1]])
    curves = Curves(tmp_path)
    seconds, objective = curves.trace("x")
    assert (seconds.tolist(), objective.tolist()) == ([1, 2, 2], [9, 8, 7])
    assert curves.trace("y") is curves.trace("z") is curves.trace("w") is None


def test_problems_are_kept_apart(tmp_path):
    rows = [
        solved("one", "mpu", 10.0, 9.9),
        solved("one", "dcd", 5.0, "", parameters='{"C": 0.5, "tolerance": 0.1}'),
        solved("one", "mpu", 6.0, 5.5, repetition=1),
        solved("one", "mpu", 7.0, 6.5, parameters='{"C": 3.0, "hard_margin": true}'),
    ]
    found = load(build(tmp_path / "r", rows))
    assert found.runs["gap_to_best"].tolist() == pytest.approx([10 / 9.9 - 1, 0, 6 / 5.5 - 1, 7 / 6.5 - 1])
    assert optimum.notes(found.brackets, ["one"]) == [
        "one (repetition 0, C=1): the optimum lies in [9.9, 10], 1.0e-02 wide (lower bound: mpu; objective: mpu).",
        "one (repetition 0, C=0.5): no lower bound is known, so gaps are relative to the smallest objective, 5 (dcd).",
        "one (repetition 1, C=1): the optimum lies in [5.5, 6], 9.1e-02 wide (lower bound: mpu; objective: mpu).",
        "one (repetition 0, hard_margin=1): the optimum lies in [6.5, 7], 7.7e-02 wide "
        "(lower bound: mpu; objective: mpu).",
    ]


def test_a_bound_above_an_objective_is_told(tmp_path):
    found = load(build(tmp_path / "r", [solved("one", "mpu", 10.0, 9.9), solved("one", "dcd", 9.0)]))
    (note,) = optimum.notes(found.brackets, ["one"])
    said = "one: the largest lower bound, 9.9 (mpu), is above the smallest objective, 9 (dcd): one of the two is wrong."
    assert note == said


def test_gaps_above_the_accuracy_are_told_with_their_cause(tmp_path):
    asked = {"parameters": '{"C": 1.0, "accuracy": 0.0001}'}
    rows = [
        solved("one", "mpu", 10.0, 9.9995, **asked),
        solved("one", "dcd", 10.0011, **asked),
        solved("one", "pegasos", 10.1, **asked, error="stopped at its limit of 5 steps"),
        solved("one", "exact", 10.0004, **asked),
        solved("one", "unchanged", 10.002, 9.99, **asked),
        solved("one", "aimed", 11.0, parameters='{"C": 1.0, "accuracy": 0.0001, "target": 11}'),
        solved("two", "dcd", 10.0, **asked),
    ]
    found = load(build(tmp_path / "r", rows))
    assert optimum.notes(found.brackets, ["one", "two"])[1:-1] == [
        "one: dcd is known to be within 1.6e-04 of the optimum, not within 0.0001; it has no lower bound of its own to "
        "stop by.",
        "one: pegasos is known to be within 1.0e-02 of the optimum, not within 0.0001; it stopped early, see below.",
        "one: unchanged is known to be within 2.5e-04 of the optimum, not within 0.0001; it ran until nothing changed.",
    ]


def test_runs_that_stopped_early_are_noted(tmp_path):
    rows = [solved("one", "dcd", 5.0, error="stopped at its limit of 10 passes"), solved("one", "mpu", 5.0, 4.9)]
    assert "one, dcd: stopped at its limit of 10 passes." in table_of(build(tmp_path / "r", rows)).notes


def test_numbers():
    shown = [OBJECTIVE.write(value) for value in (11434.38123, 340490.4321, 0.5)]
    assert shown == ["11,434.38", "340,490.4", "0.5000000"]
    assert (GAP.write(0.000123), SECONDS_RATIO.write(0.4321)) == ("1.2e-04", "0.43")
    assert [figures(value, 3) for value in (1234.5, 0.12345, 0, 99.96)] == ["1,230", "0.123", "0", "100"]
