"""What `budgetrun status` says without data, and what manifests keep for it."""

import json

import pytest
from sweeping import TOP, config

from budgetrun import config as config_module
from budgetrun.data import files
from budgetrun.results.store.write import Store
from budgetrun.runner.plan import Options, make_plan
from budgetrun.runner.provenance import recorded_streams, summary
from budgetrun.runner.status import status
from budgetrun.runner.sweep import sweep

COMMITTED = sorted(path.parent.name for path in (TOP / "results").glob("*/manifest.json"))


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    """Neither files nor a network."""
    monkeypatch.setattr(files, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(files, "_download", lambda card, file: files._Failure("no network", offline=True))
    monkeypatch.delenv(files.ENVIRONMENT, raising=False)


@pytest.mark.committed
@pytest.mark.parametrize("name", COMMITTED)
def test_a_committed_folder_is_finished_and_says_so_without_data(name, no_data, monkeypatch):
    monkeypatch.chdir(TOP)
    folder = TOP / "results" / name
    n = Store(folder).manifest()["plan"]["runs"]
    assert status(folder) == f"{folder}: {n:,} of {n:,} runs finished"


def test_the_manifest_records_what_a_plan_needs(tmp_path, no_data):
    own = tmp_path / "own.csv"
    own.write_text("".join(f"{i % 3},{i % 7}\n" for i in range(40)))
    held_out = tmp_path / "held_out.csv"
    held_out.write_text("0,1\n1,2\n2,3\n")
    datasets = [
        {"name": "own", "path": str(own), "task": "multiclass"},
        {"name": "own", "label": "split", "path": str(own), "test_path": str(held_out), "task": "multiclass"},
    ]
    loaded = config_module.load(config(tmp_path, datasets=datasets, repetitions=1, algorithms=[{"name": "perceptron"}]))
    options = Options(tmp_path / "results")
    assert sweep(loaded, options) == 0
    folder = options.folder(loaded)
    manifest = Store(folder).manifest()
    plan = make_plan(loaded)
    assert recorded_streams(manifest) == plan.infos
    assert manifest["plan"] == summary(plan.runs) == summary(reversed(plan.runs))
    own.unlink()
    assert status(folder) == f"{folder}: 2 of 2 runs finished"


def test_datasets_that_only_leaves_out_stay_in_the_plan(tmp_path, no_data):
    datasets = [{"name": "noisy_gaussians", "label": label, "options": {"n_per_class": 20}} for label in "ab"]
    loaded = config_module.load(config(tmp_path, datasets=datasets, repetitions=1))
    counts = []
    for label in "ab":
        options = Options(tmp_path / "results", only={"dataset": [label]})
        assert sweep(loaded, options) == 0
        counts.append(Store(options.folder(loaded)).manifest()["plan"]["runs"])
    assert counts == [8, 16]
    assert Store(options.folder(loaded)).manifest()["plan"] == summary(make_plan(loaded).runs)


def test_optional_datasets_count_only_if_they_were_there(tmp_path, no_data):
    datasets = [{"name": "usps", "optional": True}, {"name": "noisy_gaussians", "options": {"n_per_class": 20}}]
    loaded = config_module.load(config(tmp_path, datasets=datasets, repetitions=1))
    options = Options(tmp_path / "results")
    assert sweep(loaded, options) == 0
    assert status(options.folder(loaded)) == f"{options.folder(loaded)}: 8 of 8 runs finished"


def test_a_manifest_of_another_version_still_tells_the_number_of_runs(tmp_path):
    loaded = config_module.load(config(tmp_path, repetitions=1))
    options = Options(tmp_path / "results")
    assert sweep(loaded, options) == 0
    path = options.folder(loaded) / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["config"]["algorithms"] = "none"
    for planned, total in (("plan", " of 8"), (None, "")):
        if planned is None:
            del manifest["plan"]
        path.write_text(json.dumps(manifest))
        said = f"{path.parent}: 8{total} runs finished, 0 failed; whether they are up to date is unknown: "
        assert status(path.parent).startswith(said)
