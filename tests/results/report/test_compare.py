"""`budgetrun compare`: what is matched, what is refused, what is found, and its exit codes."""

import json
import shutil
from functools import cache
from pathlib import Path

import faults
import numpy as np
import pytest
import sweeping
from fake_results import build, of, run
from test_statistics import TABLE6

from budgetrun.results.compare import compare, diagram
from budgetrun.results.report.formats import moment
from budgetrun.results.store.read import load

LABELS = ("ahpatron", "forgetron", "rbp", "perceptron")
PREFIX = {"prefix_examples": 1000, "prefix_mistakes": 100}


def made(folder, rng=None, worse=1.0, n=20, datasets=("one", "two"), labels=LABELS, **config):
    """Write 20 permutations per learner: errors depend on the stream, and on the learner's own draws by 0.5%."""
    rows, streams = [], np.random.default_rng(1)
    for dataset in datasets:
        hard = 20 + streams.normal(size=100)
        for label in labels:
            own = np.ones(n) if rng is None else rng.normal(1, 0.005, n)
            own *= worse if label == "rbp" else 1
            rows += [run(dataset, label, hard[r] * own[r], repetition=r, **PREFIX) for r in range(n)]
    return with_data(build(folder, rows), config)


def with_data(folder, config=None, **changes):
    """Give each data set of a folder its own checksum, and change the config."""
    with sweeping.edited(folder) as manifest:
        for name, about in manifest["datasets"].items():
            about["sha256"] = f"checksum of {name}"
        manifest["config"] |= config or {}
        for one in manifest["config"]["datasets"]:
            one |= changes
    return folder


def refused(*given, **options):
    return faults.message(compare, [str(one) for one in given], **options)


def test_a_regression_of_two_percent_is_found_in_20_permutations(tmp_path):
    rng = np.random.default_rng(0)
    old = made(tmp_path / "old", rng)
    for i in range(10):
        new = made(tmp_path / f"new{i}", rng, worse=1.02)
        found = compare([str(old), str(new)], tolerance=1)
        assert {one.unit.label for one in found.differences if one.is_beyond} == {"rbp"}
        assert found.failed


@pytest.mark.parametrize("test", ["t", "wilcoxon"])
def test_an_unchanged_rerun_is_not_flagged_in_100_tries(tmp_path, monkeypatch, test):
    # Each folder is compared with many others.
    monkeypatch.setattr("budgetrun.results.compare.load", cache(load))
    rng = np.random.default_rng(0)
    folders = [str(made(tmp_path / str(i), rng)) for i in range(15)]
    pairs = [(a, b) for a in folders for b in folders if a < b][:100]
    assert len(pairs) == 100
    assert not any(compare(pair, test=test, tolerance=1).failed for pair in pairs)


def test_statistics_over_data_sets_are_those_of_demsar(tmp_path):
    names = ["c4.5", "c4.5+m", "c4.5+cf", "c4.5+m+cf"]
    rows = [
        run(f"data{i:02}", name, 100 * (1 - auc)) | {"mistakes": round(1e4 * (1 - auc)), "online_error": 1 - auc}
        for i, own in enumerate(TABLE6)
        for name, auc in zip(names, own, strict=True)
    ]
    folder = with_data(build(tmp_path / "r", rows))
    found = compare([f"{folder}:{name}" for name in names])
    (overall,) = found.overall
    assert found.contenders == names
    assert list(found.grids()[0].columns)[1:5] == ["compared", "streams", "c4.5", "mean"]
    assert overall.ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert (overall.friedman.chi2, overall.friedman.f) == pytest.approx((9.28, 3.69), abs=5e-3)
    assert overall.friedman.p == pytest.approx(0.0258, abs=5e-4)
    # 2.569 sqrt(20 / 84).
    assert overall.friedman.distance == pytest.approx(1.25, abs=5e-3)
    page = tmp_path / "page.html"
    found.write(page)
    assert "critical difference 1.25" in page.read_text()
    assert " src=" not in page.read_text()


def test_labels_with_settings_are_chosen_on_the_first_tenth(tmp_path):
    rows = []
    for r in range(3):
        own = {"repetition": r, "prefix_examples": 1000}
        rows.append(run("one", "rbp", 20 + r, prefix_mistakes=200, **own))
        for eta, prefix in ((0.1, 150), (0.5, 300)):
            percent = 10 + r if eta == 0.5 else 19
            rows.append(run("one", "norma", percent, prefix_mistakes=prefix, setting={"eta": eta}, **own))
    algorithms = [of("rbp"), of("norma", parameters={"eta": [0.1, 0.5]})]
    folder = with_data(build(tmp_path / "r", rows, algorithms=algorithms))
    found = compare([f"{folder}:rbp", f"{folder}:norma"])
    (one,), names = found.differences, found.contenders
    assert list(found.grids()[0].columns)[1:4] == ["streams", *names]
    assert one.mean == pytest.approx(100 * (1900 - 150) / 9000)
    assert one.first == pytest.approx(np.mean([100 * (2000 + 100 * r - 200) / 9000 for r in range(3)]))
    assert "online error of the remaining rounds" in found.notes[0]
    of_sizes = compare([f"{folder}:rbp", f"{folder}:norma"], quantity="support_size")
    assert "remaining" not in of_sizes.notes[0]


def test_budgets_are_named_where_a_label_has_several(tmp_path):
    rows = [run("one", "rbp", 20 + b / 100, repetition=r, budget=b) for b in (100, 200) for r in range(3)]
    rows += [run("one", "perceptron", 15, repetition=r) for r in range(3)]
    folder = with_data(build(tmp_path / "r", rows))
    said = refused(f"{folder}:perceptron", f"{folder}:rbp")
    assert said == "rbp: has several budgets on one (100, 200); name one: rbp@200"
    assert refused(f"{folder}:perceptron", f"{folder}:rbp@5") == "rbp@5: no budget '5'; its budgets are 100, 200"
    (one,) = compare([f"{folder}:perceptron", f"{folder}:rbp@200"]).differences
    assert one.mean == pytest.approx(22)


def test_folders_and_labels_with_colons(tmp_path):
    rows = [run("one", label, 20, repetition=r) for label in ("p:q@1", "rbp") for r in range(3)]
    folder = with_data(build(tmp_path / "a:b", rows))
    (one,) = compare([f"{folder}:p:q@1", f"{folder}:rbp"]).differences
    assert one.mean == one.first == 20
    assert refused(f"{folder}:p:q", f"{folder}:rbp").startswith(f"{folder}:p:q: no label 'p:q' in {folder}; its labels")
    assert refused("none:rbp", "none:rbp").startswith("none: ")


def test_a_label_without_the_quantity_is_refused(tmp_path):
    rows = [run("one", "rbp", 20, repetition=r) for r in range(3)]
    rows += [run("one", "perceptron", 15, repetition=r, test_error=0.2) for r in range(3)]
    folder = with_data(build(tmp_path / "r", rows))
    said = refused(f"{folder}:perceptron", f"{folder}:rbp", quantity="test_error")
    assert said == "rbp: no run has a value of test_error"


def test_other_rounds_are_refused_in_words(tmp_path):
    a, b = made(tmp_path / "a"), made(tmp_path / "b", seed=1)
    assert refused(a, b) == (
        "a, b: the data of one are the same, but not the permutations or rounds: seed is 0 and 1; repeat one of the "
        "sweeps with the other's values"
    )
    c = with_data(made(tmp_path / "c"), order="file")
    assert "order is 'permuted' and 'file'; seed is 0 and None" in refused(a, c)
    d = made(tmp_path / "d", n=10)
    assert refused(a, d) == (
        "a, d: other permutations of one, ahpatron: 20 and 10, 10 of them in both; complete the sweeps, or "
        "repeat one with equal repetitions"
    )


def test_data_are_matched_by_checksum_not_by_name(tmp_path):
    a, b = made(tmp_path / "a"), made(tmp_path / "b", datasets=("two", "three"))
    found = compare([str(a), str(b)], tolerance=1)
    assert {one.unit.dataset for one in found.differences} == {"two"}
    # Something that the first has and another lacks is no success.
    assert found.absent == ["b: lacks 4 of the 8 units that a has, such as one, ahpatron"]
    assert found.failed
    assert found.notes == ["Left out: 4 units that a does not have."]
    c = made(tmp_path / "c", datasets=("three",))
    said = f"{a}, {c}: no runs on the same data in common; c: lacks 8 of the 8 units that a has, such as one, ahpatron"
    assert refused(a, c) == said
    renamed = made(tmp_path / "renamed")
    names = (("manifest.json", '"label": "one"'), ("manifest.json", '"one": {'), ("runs.csv", ",one,"))
    for name, old in names:
        (renamed / name).write_text((renamed / name).read_text().replace(old, old.replace("one", "uno")))
    assert not compare([str(a), str(renamed)], tolerance=0).failed


def test_input_that_is_wrong_is_one_sentence(tmp_path):
    a = made(tmp_path / "a")
    assert refused(a, f"{a}:rbp") == f"{a}: give a label with each results folder (FOLDER:LABEL), or with none of them"
    said = f"{a}:forgetton: no label 'forgetton' in {a}; its labels are ahpatron, forgetron, rbp, perceptron"
    assert refused(f"{a}:rbp", f"{a}:forgetton") == said
    assert refused(a, tmp_path / "none").endswith("make one first: budgetrun sweep CONFIG")
    assert refused(a, a, quantity="auc") == f"{a / 'runs.csv'}: no run has a value of auc"


def test_higher_is_better_where_it_is(tmp_path):
    def folder(name, f1):
        rows = [run("one", "rbp", 20, repetition=r, f1=f1 + r / 100) for r in range(5)]
        return str(with_data(build(tmp_path / name, rows)))

    high, low = folder("high", 0.9), folder("low", 0.8)
    assert compare([high, low], "f1", tolerance=1).failed
    assert not compare([low, high], "f1", tolerance=1).failed


def test_the_command_on_a_sweep_and_its_rerun(here, capsys):
    datasets = [{"name": "noisy_gaussians", "noise": 0.1, "options": {"n_per_class": 40}}]
    path = sweeping.config(here, repetitions=10, datasets=datasets)
    assert sweeping.run(capsys, "sweep", path, "--results", "old", "--jobs", "1")[0] == 0
    shutil.copytree("old", "new")
    out, _ = sweeping.printed(0, sweeping.run(capsys, "compare", "old/small", "new/small", "--tolerance", "0"))
    said = "6 pairs of online error in percent: 0 differ at 5%; 0 worse than old/small by more than 0%."
    assert out.splitlines()[-1] == said
    # More than a tenth more mistakes of one learner, in one run of two.
    table = Path("new/small/runs.csv")
    rows = sweeping.rows("new/small")
    for row in rows:
        if row["label"] == "remove_oldest" and row["budget"] == "20":
            row["mistakes"] = str(int(row["mistakes"]) + 1 + int(row["repetition"]) % 2)
            row["online_error"] = str(int(row["mistakes"]) / int(row["n_examples"]))
    table.write_text(sweeping.csv_text(rows))
    (table.parent / "runs.csv.sha256").unlink()
    given = ["compare", "old/small", "new/small", "--output", "c.html", "--output", "c.json"]
    assert sweeping.run(capsys, *given)[0] == 0
    out, _ = sweeping.printed(1, sweeping.run(capsys, *given, "--tolerance", "2"))
    assert "1 differs at 5%; 1 worse than old/small by more than 2%." in out
    found = json.loads(Path("c.json").read_text())
    assert found["failed"]
    assert [one["unit"]["label"] for one in found["differences"] if one["is_beyond"]] == ["remove_oldest"]
    assert "beyond" in Path("c.html").read_text()
    for wrong, said in {
        ("old/small",): "compare: give at least two results folders, or labels in them: FOLDER:LABEL",
        ("old/small", "new/small", "--output", "c.txt"): "--output c.txt: must end in .html or .json",
        ("old/small", "new/small", "--quantity", "x"): "--quantity x: must be one of online_error",
        ("old/small", "new/small", "--tolerance", "nan"): "--tolerance nan: must be a number of at least 0",
    }.items():
        code, _, error = sweeping.run(capsys, "compare", *wrong)
        assert (code, error.startswith(said)) == (2, True)


def test_the_first_tenths_are_the_same_rounds(tmp_path):
    def folder(name, n):
        own = {"prefix_examples": n, "prefix_mistakes": 10}
        rows = [run("one", "norma", 20, repetition=r, setting={"eta": eta}, **own) for r in range(3) for eta in (1, 2)]
        return with_data(build(tmp_path / name, rows, algorithms=[of("norma", parameters={"eta": [1, 2]})]))

    a, b = folder("a", 1000), folder("b", 2000)
    assert "number of first rounds is [1000] and [2000]" in refused(f"{a}:norma", f"{b}:norma")


def test_a_diagram_joins_ranks_that_are_not_told_apart():
    names, ranks = ["d", "a", "b", "c", "e"], [3.5, 1.0, 1.3, 1.6, 5.0]
    axes = diagram(names, ranks, 0.4).axes[0]
    bars = [line.get_xdata().tolist() for line in axes.lines if line.get_linewidth() == 3]
    assert bars == [[1.0, 1.3], [1.3, 1.6]]
    drawn = [diagram(names[:n], ranks[:n], distance) for n, distance in ((5, 0.4), (2, 0.4), (2, 4.5))]
    assert [one.axes[0].get_xlim() for one in drawn] == [(1, 5), (1, 4), (1, 5.5)]
    # Each name stands at the height of its line: the better half on the left from above, the others on the right.
    heights = {text.get_text(): text.get_position() for text in axes.texts[1:]}
    assert heights == {
        "a 1.00 ": (1, -1), "b 1.30 ": (1, -2), "c 1.60 ": (1, -3), "e 5.00 ": (5, -1), "d 3.50 ": (5, -2)
    }  # fmt: skip


def test_times_are_those_of_their_zone():
    assert moment("2026-11-26T08:00:00.25+00:00") == "2026-11-26 08:00:00 UTC"
    assert moment("2026-11-26T08:00:00") == "2026-11-26 08:00:00"


def test_control_characters_become_escapes(tmp_path):
    rows = [run("one\x1b[1m", "rbp", 20, repetition=r) for r in range(2)]
    assert load(build(tmp_path / "r", rows)).datasets == ["one\\x1b[1m"]
