"""Run ids depend on what determines a run, and on nothing else."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import probes
from sweeping import TOP, config

from budgetrun import config as config_module
from budgetrun import kernels
from budgetrun.learners import find
from budgetrun.results.store.write import Store
from budgetrun.runner.plan import make_plan

ANEW = "python scripts/results/record_probes.py"


@pytest.mark.committed
def test_behaviour_is_as_recorded_or_its_revision_was_raised(tmp_path):
    recorded = probes.recorded()
    found, problems = set(), []
    for name, revisions, outcome in probes.probes(tmp_path):
        found.add(name)
        known = recorded.get(name, {"revisions": None})
        if known["revisions"] != revisions:
            problems.append(f"{name}: recorded for other revisions; type: {ANEW}")
        elif not probes.same(known["outcome"], json.loads(json.dumps(outcome()))):
            problems.append(f"{name}: another outcome; raise the revision of the part that changed, of {revisions}")
    assert not problems, "\n".join(problems[:10])
    assert found == recorded.keys(), f"probes came or went; type: {ANEW}"


def test_every_part_of_a_run_is_probed():
    probed = {part for entry in probes.recorded().values() for part in entry["revisions"]}
    for name in ("forgetron_fig6", "forgetron_fig7", "projectron_fig7", "quickstart"):
        assert make_plan(config_module.load(name), download=False).revisions <= probed


def ids(path):
    return {run.run_id: run.spec.name for run in make_plan(config_module.load(path)).runs}


@pytest.mark.parametrize(("part", "changed"), [
    (find("rbp"), {"rbp"}),
    (find("forgetron", "self_tuned"), {"forgetron"}),
    (find("remove_oldest"), {"remove_oldest"}),
    (kernels.Gaussian, {"perceptron", "remove_oldest", "forgetron", "rbp"}),
    (kernels.Linear, set()),
    (find("perceptron").form, {"perceptron", "remove_oldest", "forgetron", "rbp"}),
    (find("projectron").form, set()),
    (find("cks"), set()),
], ids=lambda value: getattr(value, "__name__", ""))  # fmt: skip
def test_a_raised_revision_changes_the_ids_of_what_runs_it_alone(tmp_path, monkeypatch, part, changed):
    path = config(tmp_path)
    before = ids(path)
    monkeypatch.setattr(part, "revision", part.revision + 1)
    gone = before.keys() - ids(path).keys()
    assert {before[run_id] for run_id in gone} == changed
    assert len(gone) == sum(name in changed for name in before.values())


def test_a_raised_revision_of_a_value_changes_the_ids_of_runs_with_that_value_alone(tmp_path, monkeypatch):
    readings = [{"name": "nogd", "budget": 5, "step": 0.1, "reading": r, "label": r} for r in ("algorithm", "program")]
    loaded = config_module.load(config(tmp_path, algorithms=readings))

    def labels():
        return {run.run_id: run.spec.label for run in make_plan(loaded).runs}

    before = labels()
    monkeypatch.setattr(find("nogd"), "revised", {("reading", "program"): 99})
    assert {before[run_id] for run_id in before.keys() - labels().keys()} == {"program"}
    monkeypatch.setattr(find("nogd"), "revised", {})
    assert {before[run_id] for run_id in before.keys() - labels().keys()} == {"program"}


def test_a_raised_revision_for_a_kernel_changes_the_ids_of_runs_with_that_kernel_alone(tmp_path, monkeypatch):
    path = config(tmp_path)
    before = ids(path)
    monkeypatch.setattr(find("rbp"), "revised", {("kernel", "linear"): 2})
    assert ids(path) == before
    monkeypatch.setattr(find("rbp"), "revised", {("kernel", "gaussian"): 2})
    assert {before[run_id] for run_id in before.keys() - ids(path).keys()} == {"rbp"}


@pytest.mark.parametrize("constant", ["engine.REVISION", "JOB_REVISION", "STREAM_REVISION"])
def test_what_every_run_goes_through_counts_for_all(tmp_path, monkeypatch, constant):
    path = config(tmp_path)
    before = ids(path)
    monkeypatch.setattr(f"budgetrun.runner.identity.{constant}", 2)
    assert not before.keys() & ids(path).keys()


def test_a_budget_follows_the_run_that_it_is_a_fraction_of(tmp_path, monkeypatch):
    path = config(tmp_path)
    before = ids(path)
    monkeypatch.setattr(find("perceptron"), "revision", 2)
    assert {before[run_id] for run_id in before.keys() - ids(path).keys()} == {"perceptron", "forgetron"}


@pytest.mark.committed
@pytest.mark.parametrize("name", ["forgetron_fig6", "forgetron_fig7", "projectron_fig7"])
def test_committed_runs_on_generated_data_are_current(name):
    kept = Store(TOP / "results" / name).rows()
    if not kept:
        pytest.skip("no committed results here")
    plan = make_plan(config_module.load(TOP / "configs" / f"{name}.yaml"))
    assert {run.run_id for run in plan.runs} == set(kept)
