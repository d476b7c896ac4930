"""Published numbers: read from CSV files, written to manifests and read back."""

import json
from pathlib import Path

import faults
import pytest
from config.demo import GOOD, load, message, replaced

from budgetrun.config.report import manifest_entries, report_of
from budgetrun.config.schema import Config, Published, ReportSpec

pytestmark = pytest.mark.usefixtures("demo_folder")


@pytest.mark.parametrize(("csv", "messages"), [
    ("dataset,labl,online_error_percent\n",
     ["printed.csv:1: column 'label' is missing  (needed: dataset, label, online_error_percent)",
      "printed.csv:1: column 'labl': unknown key; did you mean 'label'?"
      "  (allowed: dataset, label, online_error_percent, budget, budget_fraction, setting, support_size, "
      "margin_updates, test_error_percent, last_test_error_percent, seconds, objective, gap, "
      "sliding_error_percent, fading_error_percent, f1, kappa, auc, brier, log_loss, kept_bytes, rmse, mae, r2, "
      "online_error_percent_sd, support_size_sd, margin_updates_sd, test_error_percent_sd, "
      "last_test_error_percent_sd, seconds_sd, objective_sd, gap_sd, "
      "sliding_error_percent_sd, fading_error_percent_sd, f1_sd, kappa_sd, auc_sd, brier_sd, log_loss_sd, "
      "kept_bytes_sd, rmse_sd, mae_sd, r2_sd)"]),
    ("dataset,label,budget,online_error_percent\ndigits,a,1.5,x\ndigits,b,,\ndigits,c,,101\ndigits,d\n"
     "digits,e,3,1\ndigits,e,3,2\n",
     ["printed.csv:2: budget: must be an integer >= 1 or empty, got '1.5'",
      "printed.csv:2: online_error_percent: must be a number from 0 to 100, got 'x'",
      "printed.csv:3: online_error_percent: must be a number from 0 to 100, got ''",
      "printed.csv:4: online_error_percent: must be a number from 0 to 100, got '101'",
      "printed.csv:5: must have 4 cells, like the first line, got 2",
      "printed.csv:7: the same dataset, label, budget and setting as in line 6"]),
    ("dataset,label,budget_fraction,online_error_percent\ndigits,a,0,5\n",
     ["printed.csv:2: budget_fraction: must be a number > 0 or empty, got '0'"]),
    ("dataset,label,setting,online_error_percent\ndigits,a,0.1,5\ndigits,a,eta=,5\ndigits,a,eta=.1,5\n"
     "digits,a,eta=0.10,6\n",
     ["printed.csv:2: setting: must be like eta=0.1, or eta=0.1, C=2, or empty, got '0.1'",
      "printed.csv:3: setting: must be like eta=0.1, or eta=0.1, C=2, or empty, got 'eta='",
      "printed.csv:3: the same dataset, label, budget and setting as in line 2",
      "printed.csv:5: the same dataset, label, budget and setting as in line 4"]),
])  # fmt: skip
def test_published_numbers_are_checked(csv, messages):
    Path("printed.csv").write_text(csv)
    assert message(GOOD) == [f"13: report.tables[0].expected: {text}" for text in messages]


def test_published_numbers_that_are_not_text():
    Path("printed.csv").write_bytes(b"\xff\xfe")
    (line,) = message(GOOD)
    assert line == "13: report.tables[0].expected: printed.csv: not UTF-8 text (byte 0); save it as UTF-8"


def test_published_numbers_of_other_quantities():
    text = replaced(13, "    - {name: t1, quantity: support_size, expected: printed.csv}")
    Path("printed.csv").write_text("dataset,label,support_size\ndigits,perceptron,793\n")
    (row,) = load(text).report.tables[0].published
    assert row == Published("digits", "perceptron", 793.0)
    Path("printed.csv").write_text("dataset,label,support_size\ndigits,perceptron,-1\ndigits,rbp,\n")
    assert message(text) == [
        "13: report.tables[0].expected: printed.csv:2: support_size: must be a number >= 0, got '-1'",
        "13: report.tables[0].expected: printed.csv:3: support_size: must be a number >= 0, got ''",
    ]


PATH = Path("results/demo/manifest.json")
ROW = {"dataset": "digits", "label": "rbp"}


def manifest(*rows, quantity="online_error"):
    table = {"name": "t1", "quantity": quantity}
    return {"config": {"report": {"tables": [table]}}, "expected": {"t1": list(rows)}}


def test_published_numbers_survive_a_manifest():
    Path("printed.csv").write_text(
        "dataset,label,budget,budget_fraction,setting,support_size,online_error_percent,online_error_percent_sd\n"
        "digits,drawing,3,,rate=0.1,9,,\nmine,drawing,,0.5,,,7.5,0.5\nmine,perceptron,,,,,8,\n"
    )
    chosen = "choose: {by: printed, quantity: support_size, expected: printed.csv}"
    found = load(replaced(13, f"    - {{name: t1, {chosen}, expected: printed.csv}}\n    - {{name: t2}}"))
    entries = json.loads(json.dumps(manifest_entries(found.report)))
    back = report_of({"config": found.resolved(), **entries}, PATH)
    assert back == found.report
    assert back.tables[0].choose == found.report.tables[0].choose
    assert back.tables[0].published == (
        Published("mine", "drawing", 7.5, budget_fraction=0.5, sd=0.5),
        Published("mine", "perceptron", 8.0),
    )
    assert back.tables[0].choose is not None
    assert back.tables[0].choose.published == (Published("digits", "drawing", 9.0, budget=3, setting="rate=0.1"),)


def test_published_numbers_of_earlier_manifests():
    rows = (
        ROW | {"online_error_percent": 7, "budget": 3.0, "setting": ""},
        ROW | {"online_error_percent": "", "budget_fraction": 0.5},
        ROW | {"value": "2.5", "online_error_percent": 9, "sd": None},
    )
    (table,) = report_of(manifest(*rows), PATH).tables
    assert table.published == (Published("digits", "rbp", 7.0, budget=3), Published("digits", "rbp", 2.5))
    (table,) = report_of(manifest(ROW | {"seconds": 3}, quantity="seconds_ratio"), PATH).tables
    assert table.published == (Published("digits", "rbp", 3.0),)


def test_a_manifest_without_a_report_has_an_empty_one():
    assert report_of({"name": "bare"}, PATH) == report_of({"config": {}}, PATH) == ReportSpec()


@pytest.mark.parametrize(("damaged", "text"), [
    (manifest(ROW), "expected.t1[0]: online_error_percent missing"),
    (manifest({"label": "rbp"}), "expected.t1[0]: dataset, online_error_percent missing"),
    (manifest(ROW | {"value": "ten"}), "expected.t1[0].value: must be a number or empty, got 'ten'"),
    (manifest(ROW | {"value": 1, "sd": [1]}), "expected.t1[0].sd: must be a number or empty, got [1]"),
    ({"config": {"report": {"tables": [{}]}}}, "config.report.tables.0.name: Field required"),
])  # fmt: skip
def test_a_damaged_manifest(damaged, text):
    assert faults.message(report_of, damaged, PATH) == f"{PATH}: {text}; repeat the sweep: budgetrun sweep CONFIG"


def test_every_committed_manifest_is_read():
    paths = sorted(Path(__file__).parents[2].glob("results/*/manifest.json"))
    assert paths
    for path in paths:
        stored = json.loads(path.read_text(encoding="utf-8"))
        found = Config.from_resolved(stored["config"])
        # Earlier manifests do not have this key.
        stored["config"]["report"].setdefault("compares", False)
        assert found.resolved() == stored["config"]
        for table, bare in zip(report_of(stored, path).tables, found.report.tables, strict=True):
            assert table.model_copy(update={"published": (), "choose": bare.choose}) == bare
            assert len(table.published) == len(stored["expected"][table.name])
            if table.choose is not None:
                assert len(table.choose.published) == len(stored["choose_expected"][table.name])
