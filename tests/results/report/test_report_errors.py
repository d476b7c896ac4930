"""Folders that cannot be reported on: one sentence, with what to type next."""

import json
import re
import shutil

import pytest
from fake_results import COLUMNS, build, failed, run, runs_csv, summary, write_figures, write_report
from faults import raises

from budgetrun.base.errors import InputError

ROWS = [run("one", "rbp", 10, budget=5)]


def made(*rows, **others):
    return lambda folder: build(folder, rows or ROWS, **others)


def gone(name):
    return lambda folder: (folder / name).unlink()


def manifest(text):
    return lambda folder: (folder / "manifest.json").write_text(text)


def table(text):
    return lambda folder: (folder / "runs.csv").write_text(text)


def without(*names):
    return table(runs_csv(ROWS, [name for name in COLUMNS if name not in names]))


def torn_gzip(folder):
    gone("runs.csv")(build(folder, ROWS, compressed=True))
    path = folder / "runs.csv.gz"
    path.write_bytes(path.read_bytes()[:60])


def published(**row):
    return made(report={"tables": [{"name": "t"}]}, expected={"t": [{"dataset": "one", "label": "rbp", **row}]})


# What is damaged, and how the sentence starts and ends: {0} is the folder, and three dots stand for any words.
REFUSED = [
    (shutil.rmtree, "{0}: no such results folder; make one first"),
    (gone("manifest.json"), "{0}/manifest.json: no such file, so this is not a results folder; make one first"),
    (manifest('{"name": '), "{0}/manifest.json: not readable as JSON ...; repeat the sweep"),
    (manifest("[]"), "{0}/manifest.json: must hold a JSON object; repeat the sweep"),
    (manifest(json.dumps({"config": {"name": "r", "kernels": []}})),
     "{0}/manifest.json: no config that this version reads ...; repeat the sweep"),
    (gone("runs.csv"), "{0}: neither runs.csv nor runs.csv.gz; make them first"),
    (table(""), "{0}/runs.csv: empty; run the sweep first"),
    (table(runs_csv([])), "{0}/runs.csv: no finished run; run the sweep first"),
    (made(failed("one", "rbp", "boom"), failed("one", "cks", "bang")),
     "{0}/runs.csv: no finished run; the first of 2 failures: boom; run the sweep first"),
    (torn_gzip, "{0}/runs.csv.gz: not readable as CSV ...; repeat the sweep"),
    (without("label", "budget_fraction"),
     "{0}/runs.csv: columns label, budget_fraction missing; a results folder comes from"),
    (without("setting"), "{0}/runs.csv: no column setting, so an earlier version made these runs; repeat the sweep"),
    (made(run("one", "rbp", 10, parameters=[1])),
     "{0}/runs.csv: parameters: must be a JSON object, got '[1]'; repeat"),
    (published(), "{0}/manifest.json: expected.t[0]: online_error_percent missing; repeat the sweep"),
    (published(online_error_percent="ten"),
     "{0}/manifest.json: expected.t[0].online_error_percent: must be a number or empty, got 'ten'; repeat the sweep"),
]  # fmt: skip


def refuses(folder, message):
    pattern = re.escape(message).replace(r"\.\.\.", ".*")
    for function in (write_report, write_figures, summary):
        raises(InputError, f"^{pattern}$", function, folder)


@pytest.mark.parametrize(("damage", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_a_damaged_folder_is_a_sentence(tmp_path, damage, said):
    folder = build(tmp_path / "r", ROWS)
    damage(folder)
    refuses(folder, f"{said.format(folder)}: budgetrun sweep CONFIG")


@pytest.mark.parametrize(("column", "value"), [
    ("online_error", ""), ("online_error", "nan"), ("online_error", "inf"), ("seconds", ""), ("objective", "inf"),
])  # fmt: skip
def test_finished_run_without_a_number_that_it_needs(tmp_path, column, value):
    folder = build(tmp_path / "r", [run("one", "rbp", 10, run_id="abc", **{column: value})])
    said = f"{column}: run abc is done without a finite number; repeat: budgetrun sweep CONFIG --force"
    refuses(folder, f"{folder / 'runs.csv'}: {said}")


def test_run_that_is_listed_twice(tmp_path):
    folder = build(tmp_path / "r", [run("one", "rbp", 10, run_id="abc")] * 2)
    said = "run abc is listed twice, so means would be wrong; repeat: budgetrun sweep CONFIG --force"
    refuses(folder, f"{folder / 'runs.csv'}: {said}")


def test_text_where_a_number_belongs(tmp_path):
    folder = build(tmp_path / "r", [*ROWS, run("one", "rbp", 10, budget="many")])
    refuses(folder, f"{folder / 'runs.csv'}:3: budget: must be a number or empty, got 'many'")


def test_manifest_with_nothing_but_a_name_is_enough(tmp_path):
    folder = build(tmp_path / "r", ROWS)
    (folder / "manifest.json").write_text(json.dumps({"name": "bare"}))
    assert "Online error in percent." in summary(folder)
    assert write_report(folder)[-1].name == "report.html"
