"""Run ids depend on what determines a run, and on nothing else."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import probes
from sweeping import TOP, changed_labels, config, labels_by_id

from budgetrun import config as config_module
from budgetrun import engine, kernels
from budgetrun.learners import find
from budgetrun.results.store.write import Store
from budgetrun.runner import identity
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


EVERY = {"perceptron", "remove_oldest", "forgetron(self_tuned)", "rbp"}


@pytest.mark.parametrize(("part", "name", "changed"), [
    (find("rbp"), "revision", {"rbp"}),
    (find("forgetron", "self_tuned"), "revision", {"forgetron(self_tuned)"}),
    (find("remove_oldest"), "revision", {"remove_oldest"}),
    # A budget follows the run that it is a fraction of.
    (find("perceptron"), "revision", {"perceptron", "forgetron(self_tuned)"}),
    (kernels.Gaussian, "revision", EVERY),
    (kernels.Linear, "revision", set()),
    (find("perceptron").form, "revision", EVERY),
    (find("projectron").form, "revision", set()),
    (find("cks"), "revision", set()),
    (engine, "REVISION", EVERY),
    (identity, "JOB_REVISION", EVERY),
    (identity, "STREAM_REVISION", EVERY),
], ids=lambda value: value if isinstance(value, str) else getattr(value, "__name__", ""))  # fmt: skip
def test_a_raised_revision_changes_the_ids_of_what_goes_through_the_part_alone(
    tmp_path, monkeypatch, part, name, changed
):
    path = config(tmp_path)
    before = labels_by_id(path)
    monkeypatch.setattr(part, name, getattr(part, name) + 1)
    assert changed_labels(path, before) == changed


def test_a_raised_revision_of_a_value_changes_the_ids_of_runs_with_that_value_alone(tmp_path, monkeypatch):
    readings = [{"name": "nogd", "budget": 5, "step": 0.1, "reading": r, "label": r} for r in ("algorithm", "program")]
    path = config(tmp_path, algorithms=readings)
    before = labels_by_id(path)
    for revised in ({("reading", "program"): 99}, {}):
        monkeypatch.setattr(find("nogd"), "revised", revised)
        assert changed_labels(path, before) == {"program"}


def test_a_raised_revision_for_a_kernel_changes_the_ids_of_runs_with_that_kernel_alone(tmp_path, monkeypatch):
    path = config(tmp_path)
    before = labels_by_id(path)
    for kernel, changed in (("linear", set()), ("gaussian", {"rbp"})):
        monkeypatch.setattr(find("rbp"), "revised", {("kernel", kernel): 2})
        assert changed_labels(path, before) == changed


@pytest.mark.committed
@pytest.mark.parametrize("name", ["forgetron_fig6", "forgetron_fig7", "projectron_fig7"])
def test_committed_runs_on_generated_data_are_current(name):
    kept = Store(TOP / "results" / name).rows()
    if not kept:
        pytest.skip("no committed results here")
    plan = make_plan(config_module.load(TOP / "configs" / f"{name}.yaml"))
    assert {run.run_id for run in plan.runs} == set(kept)
