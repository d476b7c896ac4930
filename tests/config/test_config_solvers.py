"""Configs of solvers: what they may ask for, and the whole message of each mistake."""

import faults
import pytest
from sweeping import written

from budgetrun import config as config_module
from budgetrun.config.schema import Config

GOOD = {
    "name": "solved",
    "datasets": [{"name": "noisy_gaussians", "label": "clouds"}],
    "kernel": {"name": "linear"},
    "algorithms": [{"name": "dcd", "C": [0.5, 1]}, {"name": "mpu", "seeds": 3}],
}
LEARNING = {
    "datasets": GOOD["datasets"],
    "kernel": {"name": "gaussian", "gamma": 1},
    "algorithms": [{"name": "rbp", "budget": 3}],
}
MPU = {"algorithms": [{"name": "mpu"}]}


def load(tmp_path, **changes):
    return config_module.load(written(tmp_path, GOOD | changes))


def table(**given):
    return {"report": {"tables": [{"name": "t", **given}]}}


def figure(**given):
    return {"report": {"figures": [{"name": "f", "dataset": "clouds", "lines": ["mpu"], **given}]}}


def test_solvers_are_swept_like_learners(tmp_path):
    config = load(tmp_path)
    assert config.kind
    specs = list(config.expand())
    assert [(spec.label, spec.parameters["C"], spec.seed) for spec in specs] == [
        ("dcd", 0.5, 0), ("dcd", 1.0, 0), ("mpu", 1.0, 0), ("mpu", 1.0, 1), ("mpu", 1.0, 2),
    ]  # fmt: skip
    assert all(spec.kind and spec.budget is None and spec.variant is None for spec in specs)
    assert Config.from_resolved(config.resolved()).kind
    assert not load(tmp_path, **LEARNING).kind


def test_what_is_shown_by_default(tmp_path):
    shown = load(tmp_path, report={"tables": [{"name": "t"}], **figure()["report"]}).report
    assert shown.tables[0].quantity == "objective"
    assert (shown.figures[0].x, shown.figures[0].y) == ("seconds", "gap")
    report = {"tables": [{"name": "t"}], "figures": [{"name": "f", "dataset": "clouds", "lines": ["rbp"]}]}
    learnt = load(tmp_path, **LEARNING, report=report)
    assert learnt.report.tables[0].quantity == "online_error"
    assert (learnt.report.figures[0].x, learnt.report.figures[0].y) == ("budget", "online_error")


MISTAKES = [
    ({"algorithms": [{"name": "mpu"}, {"name": "perceptron"}, {"name": "rbp", "budget": 3}]},
     "algorithms[1].name: 'perceptron' is a learner, and 'mpu' a solver; "
     "a config's algorithms are all learners or all solvers: make two configs"),
    ({"algorithms": [{"name": "perceptron"}, {"name": "dcd"}, {"name": "mpu"}]},
     "algorithms[1].name: 'dcd' is a solver, and 'perceptron' a learner; "
     "a config's algorithms are all learners or all solvers: make two configs"),
    ({"tie": "positive"}, "tie: must be 'mistake' with solvers, which have no rounds to predict, got 'positive'"),
    ({"metrics": ["f1"]}, "metrics: goes with learners, and the algorithms are solvers; remove it"),
    ({"dtype": "float32"}, "dtype: must be 'float64' with solvers, got 'float32'"),
    ({"datasets": [{"name": "noisy_gaussians", "label": "clouds", "task": "multiclass"}]},
     "datasets[0].task: must be one of binary, equal_splits with solvers, got 'multiclass'"),
    ({"algorithms": [{"name": "mpu", "budget": 100}]},
     "algorithms[0].budget: mpu is a solver, and holds all examples: it takes no budget"),
    ({"kernel": {"name": "gaussian", "gamma": 1}},
     "algorithms[0].name: dcd solves with the kernel linear only, and dataset 'clouds' has gaussian"),
    ({"algorithms": [{"name": "mpu", "C": 0}]}, "algorithms[0].C: must be a number > 0, got 0"),
    ({"algorithms": [{"name": "mpu", "delta_b": 1}]},
     "algorithms[0].delta_b: must be a number > 1 (in units of R^2, or learning and unlearning may cycle), got 1"),
    ({"algorithms": [{"name": "mpu", "seed": 1}]},
     "algorithms[0].seed: cannot be given here; write seeds: n for the seeds 0 to n - 1"),
    ({"algorithms": [{"name": "svm_perf", "seeds": 2}]},
     "algorithms[0].seeds: cannot be given here; svm_perf draws nothing at random"),
    ({"algorithms": [{"name": "mpus"}]},
     "algorithms[0].name: unknown 'mpus'; did you mean 'mpu'?  (budgetrun list algorithms)"),
    ({"algorithms": [{"name": "mpu"}, {"name": ["dcd"]}]},
     "algorithms[1].name: must be a name, got a list  (budgetrun list algorithms)"),
    (MPU | table(quantity="online_error"),
     "report.tables[0].quantity: must be one of objective, gap, seconds_ratio, seconds, support_size, "
     "last_test_error, as the algorithms are solvers, got 'online_error'"),
    (MPU | table(quantity="seconds_ratio"),
     "report.tables[0].relative_to: missing; must be the label of the algorithm whose seconds the others' are "
     "divided by"),
    (LEARNING | table(quantity="gap"),
     "report.tables[0].quantity: must be one of online_error, support_size, margin_updates, test_error, "
     "last_test_error, seconds, seconds_ratio, sliding_error, fading_error, f1, kappa, auc, brier, log_loss, "
     "kept_bytes, as the algorithms are learners, got 'gap'"),
    (MPU | figure(x="budget"), "report.figures[0].x: must be seconds, as the algorithms are solvers, got 'budget'"),
    (MPU | figure(x="seconds", y="online_error"),
     "report.figures[0].y: with x: seconds must be one of gap, got 'online_error'"),
    (MPU | figure(point="mpu"),
     "report.figures[0].point: goes with x: budget or budget_fraction, not with x: seconds; put its labels into "
     "lines"),
    (LEARNING | figure(lines=["rbp"], x="seconds"),
     "report.figures[0].x: must be one of budget, budget_fraction, rounds, support_size, as the algorithms are "
     "learners, got 'seconds'"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), MISTAKES)
def test_each_mistake_has_its_message(tmp_path, changes, message):
    caught = faults.message(load, tmp_path, **changes)
    # Without the file and the line.
    assert [line.split(": ", 1)[1] for line in caught.splitlines()] == [message]


def test_mpu_takes_any_kernel(tmp_path):
    assert load(tmp_path, **MPU, kernel={"name": "gaussian", "gamma": 1}).kind
