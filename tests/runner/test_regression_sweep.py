"""Configs with task: regression, from data to the page."""

import re

import faults
import numpy as np
import pandas as pd
import pytest
from faults import raises
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.datasets import load_diabetes
from sweeping import printed, run

from budgetrun.base.errors import InputError
from budgetrun.config import load
from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream, stream_info
from budgetrun.engine import Group
from budgetrun.kernels import Gaussian
from budgetrun.learners import find
from budgetrun.play.metrics import Errors
from budgetrun.results.store.curves import Curves

CONFIG = """
name: own
datasets:
  - {{name: stream, path: {path}, label_column: target, task: regression}}
  - {{name: friedman, task: regression, options: {{n_examples: 150}}}}
kernel: {{name: gaussian, gamma: 0.5}}
algorithms:
  - {{name: klms, budget: [10, 40], step: [0.1, 0.5]}}
  - {{name: norma, budget: 20}}
  - {{name: krls, budget: 20}}
report:
  tables:
    - {{name: prefix, choose: {{by: prefix}}}}
    - {{name: best, quantity: r2, choose: {{by: rmse}}}}
  figures:
    - {{name: rounds, dataset: stream, lines: [klms, krls], x: rounds, budget: 10}}
    - {{name: budgets, dataset: stream, lines: [klms]}}
"""
T = 300


@pytest.fixture
def own_file(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=T), "kind": rng.choice(["x", "y"], T), "b": rng.normal(size=T)})
    frame["target"] = np.round(np.sin(frame["a"]) + (frame["kind"] == "x") + 0.1 * rng.normal(size=T), 6)
    frame.to_csv(tmp_path / "stream.csv", index=False)
    return tmp_path / "stream.csv", frame


def test_own_file_from_the_csv_to_the_page(own_file, tmp_path, capsys):
    path, frame = own_file
    config = tmp_path / "own.yaml"
    config.write_text(CONFIG.format(path=path))
    told, _ = printed(0, run(capsys, "sweep", config, "--results", tmp_path / "results", "--jobs", "1"))
    folder = tmp_path / "results" / "own"
    runs = pd.read_csv(folder / "runs.csv")
    assert len(runs) == 12
    assert (runs["mistakes"] == 0).all()
    assert list(runs.columns[-6:-2]) == ["mae", "rmse", "r2", "prefix_rmse"]

    X = np.column_stack([frame["a"], frame["kind"] == "x", frame["kind"] == "y", frame["b"]]).astype(float)
    y = frame["target"].to_numpy()
    scores = Group(Gaussian(gamma=0.5), [find("krls", task="regression")(budget=20)]).feed(X, y[None])[0]
    (row,) = runs[(runs["algorithm"] == "krls") & (runs["dataset"] == "stream")].to_dict("records")
    assert row["mae"] == pytest.approx(metrics.mean_absolute_error(y, scores), rel=1e-9)
    assert row["rmse"] == pytest.approx(metrics.root_mean_squared_error(y, scores), rel=1e-9)
    assert row["r2"] == pytest.approx(metrics.r2_score(y, scores), rel=1e-9)
    assert row["prefix_rmse"] == pytest.approx(metrics.root_mean_squared_error(y[:30], scores[:30]), rel=1e-9)
    rounds, squares = Curves(folder / "curves").read([row["run_id"]], "squared_error")
    np.testing.assert_allclose(squares[0], np.cumsum((scores - y) ** 2)[rounds - 1], rtol=1e-9)

    table = (folder / "tables" / "prefix.md").read_text()
    rest = metrics.root_mean_squared_error(y[30:], scores[30:])
    assert f"{float(f'{rest:.3e}'):.4f}"[:6] in table
    assert "lowest root mean squared error in its first tenth" in table
    page = (folder / "report.html").read_text()
    assert "mistake" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    assert "online error" not in page
    assert "mistake" not in told
    assert {p.stem for p in (folder / "figures").glob("*.png")} == {"rounds", "budgets"}


@pytest.mark.parametrize(("old", "new", "message"), [
    ("task: regression, o", "o", "datasets[1].task: is of two classes, and that of datasets[0] is not"),
    ("klms, budget: [10, 40], step: [0.1, 0.5]", "rbp, budget: 3", "'rbp' learns two classes or several classes"),
    ("quantity: r2", "quantity: online_error", "must be one of rmse, mae, r2, support_size, seconds, seconds_"),
    ("by: rmse", "by: online_error", "by: must be one of rmse, prefix, as the algorithms are regression learners"),
    ("x: rounds", "y: online_error, x: rounds", "with x: rounds must be one of rmse, windowed_rmse, support_"),
    ("label_column: target", "noise: 0.1", "noise: goes with two classes, not with task: regression; remove it"),
    ("name: own", "name: own\ntie: positive", "must be 'mistake' with task: regression, where no score of 0"),
    ("label_column: target", "test_path: stream.csv", "goes with classes, not with task: regression; remove it"),
    ("step: [0.1, 0.5]", "step: 0", "step: must be a number > 0, got 0"),
    ("label_column: target", "positive: 1", "positive: goes with two classes, not with task: regression; remove"),
    ("friedman, task", "friedman, test: [x], task", "test: goes with classes, not with task: regression; remove"),
    ("name: own", "name: own\nmetrics: [f1, auc]", "metrics: f1, auc cannot be measured with task: regression"),
    ("{name: krls, budget: 20}", "{name: dcd}", "algorithms[2].name: 'dcd' is a solver, and "),
])  # fmt: skip
def test_mistakes_of_configs(own_file, tmp_path, old, new, message):
    (tmp_path / "own.yaml").write_text(CONFIG.format(path=own_file[0]).replace(old, new, 1))
    assert message in faults.message(load, tmp_path / "own.yaml")


@pytest.mark.parametrize(("task", "name"), [("binary", "friedman"), ("multiclass", "mackey_glass")])
def test_numbers_are_not_classes(task, name):
    with pytest.raises(InputError, match=f"dataset '{name}': .*(task: regression|multiclass)"):
        stream_info(DatasetSpec(name=name, task=task))


def test_labels_of_text_are_no_numbers(tmp_path):
    (tmp_path / "text.csv").write_text("label,a\nyes,1\nno,2\nyes,3\n")
    spec = DatasetSpec(name="text", path=tmp_path / "text.csv", task="regression")
    sentence = "needs numbers as labels, found 'no'; name the column of the numbers with 'label_column', or use"
    raises(InputError, sentence, open_stream, spec, 0, 0)


def test_streams_of_numbers_keep_their_values(own_file):
    path, frame = own_file
    stream = open_stream(DatasetSpec(name="s", path=path, label_column="target", task="regression"), 0, 0)
    assert stream.classes == []
    np.testing.assert_array_equal(stream.tasks["-"], frame["target"])


def test_the_diabetes_data_are_those_of_scikit_learn():
    stream = open_stream(DatasetSpec(name="diabetes", task="regression", order="file"), 0, 0)
    X, y = load_diabetes(return_X_y=True, scaled=False)
    np.testing.assert_array_equal(stream.X if isinstance(stream.X, np.ndarray) else stream.X.integers, X)
    np.testing.assert_array_equal(stream.tasks["-"], y)
    assert (y.sum(), len(y)) == (67243.0, 442)


numbers = st.floats(-1e3, 1e3, allow_subnormal=False)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=40), st.integers(1, 39))
def test_errors_are_those_of_scikit_learn(pairs, cut):
    scores, y = np.array(pairs).T
    errors, at_once, alone = Errors(2), Errors(2), Errors(1)
    at_once.add([scores, 0 * y], [y, y])
    alone.add([scores], [y])
    assert alone.columns(0) == at_once.columns(0)
    for part in (slice(0, cut), slice(cut, None)):
        if len(y[part]):
            errors.add([scores[part], 0 * y[part]], [y[part]] * 2)
    for i, predicted in enumerate((scores, 0 * y)):
        found = errors.columns(i)
        assert found == at_once.columns(i)
        assert found["mae"] == pytest.approx(metrics.mean_absolute_error(y, predicted), rel=1e-9, abs=1e-12)
        assert found["rmse"] == pytest.approx(metrics.root_mean_squared_error(y, predicted), rel=1e-9, abs=1e-12)
        if np.ptp(y) > 1e-3:
            assert found["r2"] == pytest.approx(metrics.r2_score(y, predicted), rel=1e-6, abs=1e-6)
