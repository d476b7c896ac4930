"""Sweeps from Python, on data in memory and in files, and their results as data frames."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import yaml
from faults import raises

import budgetrun
from budgetrun.base.errors import InputError
from budgetrun.results.store import read as stored

N = 90
X = np.random.default_rng(0).normal(size=(N, 3))
WORDS = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
FRAME = pd.DataFrame(X, columns=list("abc")).assign(target=WORDS)
CONFIG = {
    "name": "mine",
    "kernel": {"name": "gaussian", "gamma": 0.5},
    "repetitions": 2,
    "datasets": [{"name": "points", "order": "permuted"}],
    "algorithms": [{"name": "remove_oldest", "budget": [5, 10]}, {"name": "perceptron"}],
}


@pytest.fixture(autouse=True)
def in_a_folder(here, monkeypatch):
    monkeypatch.setenv("BUDGETRUN_COMPILED", "0")


def sweep(config=CONFIG, **given):
    return budgetrun.sweep(config, jobs=1, **given)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("BUDGETRUN_COMPILED", "0")
        return sweep(data={"points": FRAME}, results=tmp_path_factory.mktemp("found"))


def test_a_data_frame_is_swept_without_a_file(capfd, tmp_path):
    found = sweep(data={"points": FRAME})
    assert "points: the label is column 4 (target)" in capfd.readouterr().err
    assert str(found.folder) == "results/mine"
    runs = found.runs
    assert len(runs) == 6
    assert len(found.failed) == 0
    assert runs["label"].value_counts().to_dict() == {"remove_oldest": 4, "perceptron": 2}
    assert (runs["n_examples"] == N).all()
    assert (str(runs["mistakes"].dtype), runs["online_error"].dtype) == ("Int64", np.float64)
    assert runs.loc[runs["label"] == "perceptron", "budget"].isna().all()
    # The same numbers as in the file, read by the one reader.
    assert runs["mistakes"].tolist() == stored.load(found.folder).runs["mistakes"].tolist()
    stream = found.manifest["datasets"]["points"]
    assert list(stream["files"]) == ["points.arrow"]
    assert len(stream["sha256"]) == 64
    # Nothing is run again for the same data, be they of another kind, but is for others.
    ids = set(runs["run_id"])
    capfd.readouterr()
    assert set(sweep(data={"points": pl.from_pandas(FRAME)}).runs["run_id"]) == ids
    assert "0 runs to do, 6 finished" in capfd.readouterr().err
    assert "budgetrun-" not in (found.folder / "manifest.json").read_text()
    other = sweep(data={"points": FRAME.assign(a=0.0)})
    assert not ids & set(other.runs["run_id"])
    assert repr(other) == "<Results of results/mine: 6 runs; tables online_error>"
    pd.testing.assert_frame_equal(budgetrun.load_results("results/mine").runs, other.runs)


def test_pairs_and_files_and_configs_in_files(tmp_path):
    without = {key: value for key, value in CONFIG.items() if key != "datasets"} | {"repetitions": 1}
    pairs = {"dense": (X, WORDS), "sparse": (sp.csr_matrix(X), WORDS == "yes"), "list": (X.tolist(), WORDS)}
    found = [sweep(without | {"name": kind}, data={"points": pair}).runs for kind, pair in pairs.items()]
    assert found[0]["mistakes"].tolist() == found[1]["mistakes"].tolist() == found[2]["mistakes"].tolist()
    FRAME[["target", "a", "b", "c"]].to_csv("points.csv", index=False)
    (tmp_path / "folder").mkdir()
    text = yaml.safe_dump(CONFIG | {"datasets": [{"name": "points", "path": "../points.csv", "order": "permuted"}]})
    (tmp_path / "folder" / "mine.yaml").write_text(text)
    by_config = sweep("folder/mine.yaml", results="one")
    by_path = sweep("folder/mine.yaml", data={"points": "points.csv"}, results="two")
    by_frame = sweep("folder/mine.yaml", data={"points": FRAME}, results="three")
    assert by_config.runs["run_id"].tolist() == by_path.runs["run_id"].tolist()
    order = ["label", "budget", "repetition"]
    mistakes = [one.runs.sort_values(order)["mistakes"].tolist() for one in (by_config, by_path, by_frame)]
    assert mistakes[0] == mistakes[1] == mistakes[2]


def test_tables_and_curves_are_data_frames(found):
    table = found.table()
    assert found.tables == ["online_error"]
    assert list(table["label"].unique()) == ["remove_oldest", "perceptron"]
    column = "online_error_percent"
    own = found.runs[(found.runs["label"] == "remove_oldest") & (found.runs["budget"] == 5)]["online_error"].mean()
    shown = table[(table["label"] == "remove_oldest") & (table["budget"] == 5)][column]
    assert shown.tolist() == [pytest.approx(100 * own, abs=1e-6)]
    last = found.curves(dataset="points", label="perceptron").sort_values("rounds").groupby("run_id").last()
    expected = found.runs[found.runs["label"] == "perceptron"].set_index("run_id")
    assert last["mistakes"].to_dict() == expected["mistakes"].to_dict()
    assert set(found.curves("support_size")["label"]) == {"remove_oldest", "perceptron"}
    for call, sentence in [
        (lambda: found.table("none"), "no table 'none'; there are online_error"),
        (lambda: found.curves("seconds"), "curves: must be mistakes or support_size, got 'seconds'"),
        (lambda: found.curves(label="rbp"), "no finished run with label 'rbp'"),
    ]:
        raises(InputError, sentence, call)


def test_failed_runs_are_kept_apart():
    # On one far point, the kernel overflows.
    kernel = {"name": "polynomial", "degree": 1000, "gamma": 1e3}
    config = CONFIG | {"algorithms": [{"name": "perceptron"}, {"name": "fogd", "features": 5, "step": 0.1}]}
    config = config | {"datasets": [{"name": "points"}], "repetitions": 1}
    assert len(sweep(config, data={"points": FRAME}).failed) == 0
    raises(InputError, "polynomial", sweep, config | {"kernel": kernel, "name": "far"}, data={"points": FRAME})


@pytest.mark.parametrize(("config", "data", "sentence"), [
    ("nothing", None, "nothing: no such file or config"),
    (CONFIG, {"other": FRAME}, "data: 'other' is not a dataset of the config; its datasets are points"),
    (CONFIG, {"points": 3}, "data: 'points': must be a path, a data frame of pandas, polars or Arrow, or a pair"),
    (CONFIG, {"points": X[:, 0]}, "data: 'points': X has shape"),
    (CONFIG, {"points": (X, WORDS[:3])}, "data: 'points': X has 90 rows and y has 3; they must be equal"),
    (CONFIG, {"points": (FRAME.rename(columns={"a": "label"}), WORDS)}, "data: 'points': X has a column 'label'"),
    (CONFIG, {"points": (sp.csr_array(X), WORDS)}, "the labels of sparse examples must be numbers, got <U3"),
    (CONFIG, {"points": "none.csv"}, "no such file"),
    (CONFIG | {"seed": np.int64(1)}, None, "a config consists of what YAML can hold"),
    (CONFIG | {"allgorithms": []}, {"points": FRAME}, "config:.*allgorithms.*did you mean 'algorithms'"),
    ({"name": "x"}, None, "config:1: "),
])  # fmt: skip
def test_what_cannot_be_swept_is_a_sentence(config, data, sentence):
    raises(InputError, sentence, sweep, config, data=data)


def test_jobs_and_folders(found):
    raises(InputError, "jobs: must be an integer >= 1 or None, got 0", budgetrun.sweep, CONFIG, jobs=0)
    raises(InputError, "no such results folder", budgetrun.load_results, "nothing")
    assert json.dumps(found.manifest["config"])
