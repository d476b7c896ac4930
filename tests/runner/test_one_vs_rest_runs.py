"""Runs with one learner per class: their rows, their failures, their memory."""

import numpy as np
import pytest
from sweeping import config, outcomes

from budgetrun import config as config_module
from budgetrun import learners
from budgetrun.data import StreamInfo
from budgetrun.engine import Group, score
from budgetrun.kernels import Gaussian
from budgetrun.runner.estimate import job_bytes, job_seconds
from budgetrun.runner.plan import Run

ALGORITHMS = [
    {"name": "perceptron"},
    {"name": "perceptron", "variant": "one_vs_rest"},
    {"name": "remove_oldest", "budget": 20},
    {"name": "forgetron", "variant": "basic", "budget": 20},
]


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(1)
    codes = rng.integers(3, size=400)
    X = rng.normal(size=(400, 3)) + np.eye(3)[codes]
    np.savez(tmp_path / "own.npz", X=X[:300], y=codes[:300])
    np.savez(tmp_path / "test.npz", X=X[300:], y=codes[300:])
    own = {"name": "own", "path": "own.npz", "test_path": "test.npz", "task": "multiclass"}
    return config(tmp_path, datasets=[own], algorithms=ALGORITHMS, repetitions=1)


def test_rows_count_the_rounds_on_which_the_true_class_is_not_ahead(tmp_path, path, run_sweep):
    assert run_sweep(path)[0] == 0
    found = {row["label"]: row for row in outcomes(tmp_path / "results" / "small")}
    own, test = np.load(tmp_path / "own.npz"), np.load(tmp_path / "test.npz")
    X, y = own["X"], own["y"].astype(np.intp)
    for label, made in {
        "perceptron(one_vs_rest)": learners.find("perceptron", "one_vs_rest", "multiclass")(),
        "remove_oldest(one_vs_rest)": learners.find("remove_oldest", None, "multiclass")(budget=20),
        "forgetron(basic_one_vs_rest)": learners.find("forgetron", "basic", "multiclass")(budget=20),
    }.items():
        group = Group(Gaussian(gamma=0.5), [made], n_classes=3)
        scores = group.feed(X, y[None])[0]
        rivals = scores.copy()
        rivals[y, np.arange(300)] = -np.inf
        (member,) = group.members
        row = found.pop(label)
        assert int(row["mistakes"]) == np.count_nonzero(scores[y, np.arange(300)] <= rivals.max(axis=0))
        assert int(row["updates"]) == member.count.updates
        assert int(row["margin_updates"]) == member.count.updates - member.count.mistakes
        assert int(row["support_size"]) == member.hypothesis.size
        # That of one class, which the budget limits.
        assert int(row["max_support_size"]) == max(f.largest_size for f in member.hypothesis.of_classes)
        if made.budget is not None:
            assert int(row["max_support_size"]) == made.budget == int(row["budget"])
        assert int(row["zero_scores"]) == np.count_nonzero((scores == 0).all(axis=0))
        assert float(row["last_test_error"]) == np.mean(score(member, test["X"]).argmax(axis=0) != test["y"])
        assert bool(row["test_error"]) == made.averages()
    assert list(found) == ["perceptron"]


def test_estimates_count_the_learners_of_all_classes(tmp_path, path):
    specs = {spec.label: spec for spec in config_module.load(path).expand()}
    info = {n: StreamInfo(50_000, 300, None, ["-"], "", n_classes=n) for n in (3, 10)}

    def of(cost, label, n):
        return cost([Run("r", specs[label], "own", "-", 0)], info[n])

    for cost in (job_bytes, job_seconds):
        assert of(cost, "remove_oldest(one_vs_rest)", 10) > of(cost, "remove_oldest(one_vs_rest)", 3)
    # Ten budgets of 20 examples are small; without a budget, the examples of ten classes are stored once.
    assert of(job_bytes, "remove_oldest(one_vs_rest)", 10) < of(job_bytes, "perceptron", 10)
    assert of(job_bytes, "perceptron(one_vs_rest)", 10) < 1.1 * of(job_bytes, "perceptron", 10)
