"""Folders that cannot be reported on: one sentence, with what to type next."""

import json
import re

import pytest
from fake_results import COLUMNS, build, failed, run, runs_csv, summary, write_figures, write_report

from budgetrun.base.errors import InputError

ROWS = [run("one", "rbp", 10, budget=5)]


@pytest.fixture
def folder(tmp_path):
    return build(tmp_path / "r", ROWS)


def refuses(folder, message):
    for function in (write_report, write_figures, summary):
        with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
            function(folder)


def test_no_folder(tmp_path):
    place = tmp_path / "absent"
    refuses(place, f"{place}: no such results folder; make one first: budgetrun sweep CONFIG")


def test_no_manifest(folder):
    path = folder / "manifest.json"
    path.unlink()
    refuses(folder, f"{path}: no such file, so this is not a results folder; make one first: budgetrun sweep CONFIG")


def test_torn_manifest(folder):
    (folder / "manifest.json").write_text('{"name": ')
    with pytest.raises(InputError, match=r"manifest\.json: not readable as JSON .*: budgetrun sweep CONFIG$"):
        write_report(folder)


def test_manifest_that_is_a_list(folder):
    path = folder / "manifest.json"
    path.write_text("[]")
    refuses(folder, f"{path}: must hold a JSON object; repeat the sweep: budgetrun sweep CONFIG")


def test_no_runs(folder):
    (folder / "runs.csv").unlink()
    refuses(folder, f"{folder}: neither runs.csv nor runs.csv.gz; make them first: budgetrun sweep CONFIG")


def test_empty_runs(folder):
    path = folder / "runs.csv"
    path.write_text("")
    refuses(folder, f"{path}: empty; run the sweep first: budgetrun sweep CONFIG")


def test_header_alone(folder):
    path = folder / "runs.csv"
    path.write_text(runs_csv([]))
    refuses(folder, f"{path}: no finished run; run the sweep first: budgetrun sweep CONFIG")


def test_only_failures(tmp_path):
    folder = build(tmp_path / "r", [failed("one", "rbp", "boom"), failed("one", "cks", "bang")])
    refuses(
        folder,
        f"{folder / 'runs.csv'}: no finished run; the first of 2 failures: boom; "
        "run the sweep first: budgetrun sweep CONFIG",
    )


def test_torn_gzip(tmp_path):
    folder = build(tmp_path / "r", ROWS, compressed=True)
    path = folder / "runs.csv.gz"
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(InputError, match=r"runs\.csv\.gz: not readable as CSV .*: budgetrun sweep CONFIG$"):
        write_report(folder)


def test_missing_columns(folder):
    path = folder / "runs.csv"
    path.write_text(runs_csv(ROWS, [name for name in COLUMNS if name not in ("label", "budget_fraction")]))
    message = f"{path}: columns label, budget_fraction missing; a results folder comes from: budgetrun sweep CONFIG"
    refuses(folder, message)


def test_text_where_a_number_belongs(tmp_path):
    folder = build(tmp_path / "r", [*ROWS, run("one", "rbp", 10, budget="many")])
    refuses(folder, f"{folder / 'runs.csv'}:3: budget: must be a number or empty, got 'many'")


@pytest.mark.parametrize("value", ["", "nan", "inf"])
def test_finished_run_without_an_error(tmp_path, value):
    folder = build(tmp_path / "r", [run("one", "rbp", 10, online_error=value, run_id="abc")])
    refuses(
        folder,
        f"{folder / 'runs.csv'}: online_error: run abc is done without a finite number; "
        "repeat: budgetrun sweep CONFIG --force",
    )


def test_run_that_is_listed_twice(tmp_path):
    folder = build(tmp_path / "r", [run("one", "rbp", 10, run_id="abc")] * 2)
    refuses(
        folder,
        f"{folder / 'runs.csv'}: run abc is listed twice, so means would be wrong; "
        "repeat: budgetrun sweep CONFIG --force",
    )


def test_parameters_that_are_no_object(tmp_path):
    folder = build(tmp_path / "r", [run("one", "rbp", 10, parameters=[1])])
    path = folder / "runs.csv"
    refuses(folder, f"{path}: parameters: must be a JSON object, got '[1]'; repeat: budgetrun sweep CONFIG")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"dataset": "one", "label": "rbp"}, "expected.t[0]: online_error_percent missing"),
        (
            {"dataset": "one", "label": "rbp", "online_error_percent": "ten"},
            "expected.t[0].online_error_percent: must be a number or empty, got 'ten'",
        ),
    ],
)
def test_published_numbers_that_are_none(tmp_path, row, said):
    folder = build(tmp_path / "r", ROWS, report={"tables": [{"name": "t"}]}, expected={"t": [row]})
    refuses(folder, f"{folder / 'manifest.json'}: {said}; repeat the sweep: budgetrun sweep CONFIG")


def test_manifest_with_nothing_but_a_name_is_enough(folder):
    (folder / "manifest.json").write_text(json.dumps({"name": "bare"}))
    assert "Online error in percent." in summary(folder)
    assert write_report(folder)[-1].name == "report.html"


def test_runs_of_a_version_without_settings(folder):
    path = folder / "runs.csv"
    path.write_text(runs_csv(ROWS, [name for name in COLUMNS if name != "setting"]))
    message = f"{path}: no column setting, so an earlier version made these runs; repeat the sweep: budgetrun sweep"
    refuses(folder, f"{message} CONFIG")


def test_manifest_with_a_config_of_another_version(folder):
    (folder / "manifest.json").write_text(json.dumps({"config": {"name": "r", "kernels": []}}))
    with pytest.raises(InputError, match=r"manifest\.json: no config that this version reads .* sweep CONFIG$"):
        summary(folder)
