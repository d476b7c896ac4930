"""Files that version 0.2.0 wrote still work: results folders, saved models, pickles and interrupted streams.

`0.2.0/expected.json` holds the outcomes of version 0.2.0, `0.2.0/pickle_globals.txt` and `0.2.0/state_names.txt` the
names that its pickles and saved files refer to. The scripts that wrote them, with that version, are beside them up to
commit 1d65bb6f.
"""

import copy
import csv
import importlib
import json
import os
import pickle
import re
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from data.made_files import members_of, zip_of
from sweeping import outcomes, printed, rows, run

import budgetrun
from budgetrun.base.errors import InputError
from budgetrun.engine import Group
from budgetrun.kernels import Gaussian
from budgetrun.learners import find

DATA = Path(__file__).parent / "0.2.0"
EXPECTED = json.loads(path.read_text()) if (path := DATA / "expected.json").is_file() else {}
# Number of rows that a model predicts; it then learns these and more.
N_PREDICTED = 4


def expected(kind):
    return EXPECTED.get(kind, {})


def closely(numbers):
    """Return what scores are compared with: their last bits may depend on the machine."""
    return pytest.approx(np.array(numbers), rel=1e-9, abs=1e-9)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return the folder with the models, pickles and streams."""
    folder = tmp_path_factory.mktemp("saved")
    with tarfile.open(DATA / "saved.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture
def here(here, saved):
    """Work in a copy of the files, because commands write to them."""
    for folder in (DATA, saved):
        shutil.copytree(folder, here, dirs_exist_ok=True)
    for stream in expected("streams").values():
        os.utime(here / stream["source"], ns=(stream["mtime_ns"],) * 2)


@pytest.fixture
def command(here, capsys):
    """Return a function that runs the command in this process; it returns the exit code, stdout and stderr."""
    return lambda *arguments: run(capsys, *arguments)


# -- contents of the files ---------------------------------------------------------------------------------------------


def untimed(folder):
    """Return the runs of a folder by run id, without empty cells and those that vary between repetitions of a run."""
    return {row["run_id"]: {name: text for name, text in row.items() if text} for row in outcomes(folder)}


def told_of(model, X):
    """Return the state and the predictions of an estimator, as numbers."""
    # The default of gamma was None then.
    given = re.sub(r"(, )?gamma=None", "", repr(model)).replace("(, ", "(")
    found = {"class": type(model).__name__, "parameters": given, "rounds": model.n_rounds_}
    for name in ("mistakes_", "support_size_", "candidate_mistakes_"):
        if hasattr(model, name):
            found[name] = np.asarray(getattr(model, name)).tolist()
    if hasattr(model, "weights_"):
        found["n_weights"] = np.shape(model.weights_)[-1]
        found["weights"] = np.ravel(model.weights_)[:5].tolist()
    X = X[:N_PREDICTED]
    found["predictions"] = model.predict(X).tolist()
    if hasattr(model, "decision_function"):
        found["scores"] = model.decision_function(X).tolist()
    if hasattr(model, "predict_proba"):
        found["probabilities"] = model.predict_proba(X).tolist()
    return found


def told_of_river(model, X):
    """Return the predictions of a river model."""
    dicts = [dict(zip("abc", x, strict=True)) for x in X[:N_PREDICTED].tolist()]
    found = {"class": type(model).__name__, "predictions": [model.predict_one(x) for x in dicts]}
    if getattr(model, "probabilities", False):
        found["probabilities"] = [list(model.predict_proba_one(x).values()) for x in dicts]
    return found


def learn(model, X, y):
    """Train an estimator or a river model on more examples."""
    if hasattr(model, "partial_fit"):
        model.partial_fit(X, y)
        return
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(zip("abc", x, strict=True)), label)


def check(model, told):
    """Compare what a model predicts, before and after it learns more examples, with what it predicted then."""
    rows = EXPECTED["rows"]
    X, y = np.array(rows["examples"][told["examples"]], dtype=float), np.array(rows["labels"][told["labels"]])
    if told["width"] is not None:
        X = sp.csr_array(X)
        X.resize(X.shape[0], told["width"])
    say = told_of if hasattr(model, "partial_fit") else told_of_river
    found = {"before": say(model, X)}
    learn(model, X, y)
    found = json.loads(json.dumps(found | {"after": say(model, X)}))
    for when in ("before", "after"):
        now, then = found[when], told[when]
        assert list(now) == list(then)
        for name, value in then.items():
            if name in ("class", "parameters"):
                # Acronyms were not in capitals.
                assert now[name].lower() == value.lower()
            elif name in ("weights", "scores", "probabilities") or told["labels"] == "numbers":
                assert np.array(now[name]) == closely(value), (when, name)
            else:
                assert now[name] == value, (when, name)


# -- models and pickles ------------------------------------------------------------------------------------------------


# Forms and learners whose ties have been judged by the size of what is compared since then.
OF_TIES = {"covering", "multiclass", "multiclass_framed", "multiclass_points", "one_vs_rest"}


@pytest.mark.parametrize("name", [name for name, told in expected("models").items() if not told["river"]])
def test_a_saved_model_continues(name, saved):
    if name in OF_TIES:
        with pytest.raises(InputError, match=r"saved by budgetrun 0\.2\.0 with revisions of code that give other"):
            budgetrun.load(saved / "models" / name)
        return
    check(budgetrun.load(saved / "models" / name), EXPECTED["models"][name])


@pytest.mark.parametrize("name", expected("models"))
def test_a_pickle_continues(name, saved):
    told = EXPECTED["models"][name]
    if told["river"]:
        pytest.importorskip("river")
    check(pickle.loads((saved / "pickles" / name).read_bytes()), told)


@pytest.mark.parametrize("name", expected("kernels"))
def test_a_pickled_kernel_is_the_same(name, saved):
    kernel, told = pickle.loads((saved / "pickles" / f"kernel_{name}").read_bytes()), EXPECTED["kernels"][name]
    X = np.array(told["X"])
    assert str(kernel) == told["text"]
    assert kernel.between(X, X) == closely(told["values"])


@pytest.mark.filterwarnings("ignore:use .*; the old name")
def test_every_name_in_pickles_exists():
    names = [line.split() for line in (DATA / "pickle_globals.txt").read_text().splitlines()]
    assert len(names) > 200
    missing = []
    for module, name in names:
        try:
            found = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            missing.append(f"{module} {name}")
    assert missing == []


def test_every_class_in_saved_files_is_found(saved, tmp_path):
    from budgetrun.state import load_state

    titles = (DATA / "state_names.txt").read_text().split()
    assert len(titles) > 180
    content = json.loads(members_of(saved / "models" / "expansion")["state.json"])
    # A file that names the classes and holds nothing else.
    content |= {"nodes": [["list", [["class", title] for title in titles]]], "root": ["@", 0], "meta": None}
    content["revisions"] = {"engine": content["revisions"]["engine"]}
    (tmp_path / "classes").write_bytes(zip_of({"state.json": json.dumps(content)}))
    classes, _ = load_state(tmp_path / "classes")
    assert len(classes) == len(titles)
    assert all(isinstance(cls, type) for cls in classes)


def test_a_model_with_an_encoding_predicts_a_table(command):
    out, _ = printed(0, command("predict", "models/encoded", "binary.csv", "--label", "label"))
    check_predictions(out, EXPECTED["encoded"])


def check_predictions(out, then):
    """Compare the first rows that `budgetrun predict` prints; scores may differ in their last bits."""
    now, then = (list(csv.DictReader(text.splitlines())) for text in (out, then))
    assert len(now) >= len(then) == N_PREDICTED
    for row, old in zip(now, then, strict=False):
        scores = [name for name in old if name.startswith("score")] or ["prediction"]
        assert [float(row.pop(name)) for name in scores] == closely([float(old.pop(name)) for name in scores])
        assert row == old


# -- results folders ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", expected("sweeps"))
def test_a_sweep_resumes_and_repeats_no_run(name, command):
    told, folder = EXPECTED["sweeps"][name], Path("results") / name
    finished = told["finished"]
    code, out, err = command("status", folder)
    assert (code, err) == (0, "")
    assert f"{len(finished)} of {len(told['rows'])} runs finished" in out
    assert "earlier code" not in out
    printed(0, command("sweep", f"{name}.yaml", "--jobs", "1"))
    assert untimed(folder) == told["rows"]
    # Their measurements are unchanged, so these runs were not repeated.
    measured = {row["run_id"]: [row["seconds"], row["peak_memory_mb"]] for row in rows(folder)}
    assert {key: measured[key] for key in finished} == finished


@pytest.mark.parametrize("name", expected("tables"))
def test_a_report_has_the_same_cells(name, command):
    folder = Path("results") / name
    printed(0, command("report", folder))
    assert (folder / "report.html").stat().st_size > 1000
    old = sorted((DATA / "results" / name / "tables").iterdir())
    assert len(old) > 4
    for path in old:
        now, then = (place.read_text().splitlines() for place in (folder / "tables" / path.name, path))
        if path.suffix == ".md":
            now, then = ([line for line in lines if line.startswith("|")] for lines in (now, then))
        assert now == then, path.name


@pytest.mark.parametrize("name", expected("tables"))
def test_results_load(name):
    results = budgetrun.load_results(DATA / "results" / name)
    assert len(results.runs) == len(EXPECTED["sweeps"][name]["rows"])
    assert not len(results.failed)
    assert results.tables == list(EXPECTED["tables"][name])
    for table, cells in EXPECTED["tables"][name].items():
        frame = results.table(table)
        assert [list(frame.columns), *json.loads(frame.to_json(orient="values", double_precision=12))] == cells


def test_the_report_of_a_killed_sweep_names_missing_runs(command):
    _, err = printed(1, command("report", "results/killed"))
    assert "budgetrun status results/killed" in err


# -- streams -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", expected("streams"))
def test_an_interrupted_stream_continues(name, command):
    told, folder = EXPECTED["streams"][name], Path("streams") / name
    assert not (folder / "runs.csv").exists()
    # Then, missing values were refused unless another option was given.
    _, err = printed(2 if name == "multiclass" else 0, command("run", *told["arguments"], "--missing", "refuse"))
    if name == "multiclass":
        # Since then, ties between classes are judged by the size of their own scores.
        assert "saved by budgetrun 0.2.0 with revisions of code that give other results" in err
        return
    assert f"continued after {told['interrupted']} rounds" in err
    now, then = untimed(folder), told["rows"]
    assert now.keys() == then.keys()
    for key, row in then.items():
        for column, text in row.items():
            if column in ("online_error", "mistakes", "support_size", "n_examples") or not is_fraction(text):
                assert now[key][column] == text, (row["label"], column)
            else:
                assert float(now[key][column]) == closely(float(text)), (row["label"], column)
    out, _ = printed(0, command("predict", folder / "stream.state", told["source"], "--label", "label"))
    check_predictions(out, told["predict"])


def is_fraction(text):
    try:
        return not float(text).is_integer()
    except ValueError:
        return False


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_models_of_auto_whose_weights_had_other_scales_predict_as_before(tmp_path, task):
    folder = DATA.with_name("auto")
    with tarfile.open(folder / "saved.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    model, known = budgetrun.load(tmp_path / f"{task}.model"), json.loads((folder / "expected.json").read_text())
    X = np.array(known[f"{task}_rows"])
    predict = model.predict if task == "regression" else model.decision_function
    assert predict(X) == closely(known[task])
    model.partial_fit(X, model.predict(X))
    assert model.n_rounds_ == 64
    assert np.isfinite(predict(X)).all()


def test_krls_with_a_cholesky_factor_goes_on():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    learner = find("krls", task="regression")(budget=8, nu=0.01)
    group = Group(Gaussian(gamma=1), [learner])
    group.feed(X[:50], y[None, :50])
    before = copy.deepcopy(learner)
    upper = np.linalg.inv(learner.frame).T
    old = {"budget": 8, "nu": 0.01, "factor": upper, "P": upper.T @ learner.spread @ upper}
    learner.__dict__.clear()
    learner.__setstate__(old)
    assert (learner.frame, learner.spread) == (closely(before.frame), closely(before.spread))
    assert np.isfinite(group.feed(X[50:], y[None, 50:])).all()


@pytest.mark.parametrize("splines", [False, True])
def test_products_go_on_of_as_many_features_as_before(splines):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.choice([-1, 1], size=20)
    group = Group(Gaussian(gamma=1), [find("logistic")(splines=splines, pairs=24 if splines else 64)])
    group.feed(X[:10], y[None, :10])
    again = copy.deepcopy(group)
    f = again.members[0].hypothesis
    f.__setstate__(vars(f) | {"_pairs": True})
    assert np.array_equal(again.feed(X[10:], y[None, 10:]), group.feed(X[10:], y[None, 10:]))
    assert vars(f)["_pairs"] == vars(group.members[0].hypothesis)["_pairs"]
