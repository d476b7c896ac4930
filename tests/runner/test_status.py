"""What `budgetrun status` says without data, and what manifests and rows keep for it."""

import json

import numpy as np
import pytest
from sweeping import TOP, config, edited, printed, rows, swept_folder

from budgetrun import config as config_module
from budgetrun import kernels
from budgetrun.engine import run as play
from budgetrun.learners import find
from budgetrun.play.session import prefix_of
from budgetrun.results.store.write import Store
from budgetrun.runner import status as saying
from budgetrun.runner.plan import Options, make_plan
from budgetrun.runner.provenance import recorded_streams, summary
from budgetrun.runner.status import status


def test_the_memory_of_a_dry_run_is_that_of_its_largest_job(tmp_path, monkeypatch):
    sizes = iter([1e9, 3e9, 2e9, 1e9])
    monkeypatch.setattr(saying, "job_bytes", lambda *_: next(sizes))
    loaded = config_module.load(config(tmp_path, repetitions=3, algorithms=[{"name": "perceptron"}]))
    text = saying.describe(loaded, Options(tmp_path / "results", jobs=2))
    assert next(sizes) == 1e9
    assert "on one core, 3.0 GB per worker" in text
    assert text.endswith("with --jobs 2, at most 6.0 GB")


@pytest.mark.committed
@pytest.mark.parametrize("name", sorted(path.parent.name for path in (TOP / "results").glob("*/manifest.json")))
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
    path = config(tmp_path, datasets=datasets, repetitions=1, algorithms=[{"name": "perceptron"}])
    folder = swept_folder(path, tmp_path / "results")
    manifest = Store(folder).manifest()
    plan = make_plan(config_module.load(path))
    assert recorded_streams(manifest) == plan.infos
    assert manifest["plan"] == summary(plan.runs) == summary(reversed(plan.runs))
    own.unlink()
    assert status(folder) == f"{folder}: 2 of 2 runs finished"


def test_datasets_that_only_leaves_out_stay_in_the_plan(tmp_path, no_data):
    datasets = [{"name": "noisy_gaussians", "label": label, "options": {"n_per_class": 20}} for label in "ab"]
    path = config(tmp_path, datasets=datasets, repetitions=1)
    plans = []
    for label in "ab":
        folder = swept_folder(path, tmp_path / "results", only={"dataset": [label]})
        plans.append(Store(folder).manifest()["plan"])
    assert [plan["runs"] for plan in plans] == [8, 16]
    assert plans[1] == summary(make_plan(config_module.load(path)).runs)


def test_optional_datasets_count_only_if_they_were_there(tmp_path, no_data):
    datasets = [{"name": "usps", "optional": True}, {"name": "noisy_gaussians", "options": {"n_per_class": 20}}]
    folder = swept_folder(config(tmp_path, datasets=datasets, repetitions=1), tmp_path / "results")
    assert status(folder) == f"{folder}: 8 of 8 runs finished"


def test_a_manifest_of_another_version_still_tells_the_number_of_runs(tmp_path):
    folder = swept_folder(config(tmp_path, repetitions=1), tmp_path / "results")
    for planned, total in (("plan", " of 8"), (None, "")):
        with edited(folder) as manifest:
            manifest["config"]["algorithms"] = "none"
            if planned is None:
                del manifest["plan"]
        said = f"{folder}: 8{total} runs finished, 0 failed; whether they are up to date is unknown: "
        assert status(folder).startswith(said)


@pytest.mark.parametrize(
    ("n_rounds", "prefix"), [(1, 1), (4, 1), (14, 1), (15, 2), (994, 99), (995, 100), (30_000, 3000)]
)
def test_prefix_is_a_tenth_of_the_stream(n_rounds, prefix):
    assert prefix_of(n_rounds) == prefix


def test_rows_have_the_mistakes_of_the_prefix_and_facts(here, run_sweep):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1137, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0, 1, -1)
    lines = [f"{label},{a!r},{b!r}" for label, (a, b) in zip(y.tolist(), X.tolist(), strict=True)]
    (here / "own.csv").write_text("\n".join(lines) + "\n")
    algorithms = [{"name": "perceptron"}, {"name": "forgetron", "budget": 20}, {"name": "rbp", "budget": 20}]
    data = [{"name": "own", "path": "own.csv", "order": "file"}]
    printed(0, run_sweep(config(here, "own", datasets=data, algorithms=algorithms, repetitions=1)))
    kernel = kernels.Gaussian(gamma=0.5)
    for row in rows(here / "results" / "own"):
        name = row["algorithm"]
        given = {} if name == "perceptron" else {"budget": 20}
        assert int(row["prefix_examples"]) == 114
        assert int(row["prefix_mistakes"]) == play(find(name)(**given), kernel, X[:114], y[:114]).mistakes
        learner = find(name)(**given)
        play(learner, kernel, X, y)
        assert json.loads(row["facts"]) == pytest.approx(learner.facts(None))
        assert (json.loads(row["facts"]) == {}) == (name != "forgetron")
