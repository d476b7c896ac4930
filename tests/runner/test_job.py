"""What the rows of a job hold in addition to its counts."""

import csv
import json

import numpy as np
import pytest
from sweeping import config

from budgetrun import kernels
from budgetrun.engine import run as play
from budgetrun.learners import find
from budgetrun.play.session import prefix_of


@pytest.mark.parametrize(
    ("n_rounds", "prefix"), [(1, 1), (4, 1), (14, 1), (15, 2), (994, 99), (995, 100), (30_000, 3000)]
)
def test_prefix_is_a_tenth_of_the_stream(n_rounds, prefix):
    assert prefix_of(n_rounds) == prefix


def test_rows_have_the_mistakes_of_the_prefix_and_facts(tmp_path, run_sweep, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1137, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0, 1, -1)
    lines = [f"{label},{a!r},{b!r}" for label, (a, b) in zip(y.tolist(), X.tolist(), strict=True)]
    (tmp_path / "own.csv").write_text("\n".join(lines) + "\n")
    algorithms = [{"name": "perceptron"}, {"name": "forgetron", "budget": 20}, {"name": "rbp", "budget": 20}]
    data = [{"name": "own", "path": "own.csv", "order": "file"}]
    code, err = run_sweep(config(tmp_path, "own", datasets=data, algorithms=algorithms, repetitions=1))
    assert code == 0, err
    kernel = kernels.Gaussian(gamma=0.5)
    with (tmp_path / "results" / "own" / "runs.csv").open() as file:
        rows = {row["algorithm"]: row for row in csv.DictReader(file)}
    for name, row in rows.items():
        given = {} if name == "perceptron" else {"budget": 20}
        assert int(row["prefix_examples"]) == 114
        assert int(row["prefix_mistakes"]) == play(find(name)(**given), kernel, X[:114], y[:114]).mistakes
        learner = find(name)(**given)
        play(learner, kernel, X, y)
        assert json.loads(row["facts"]) == pytest.approx(learner.facts(None))
        assert (json.loads(row["facts"]) == {}) == (name != "forgetron")
