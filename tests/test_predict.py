"""`budgetrun predict`: a saved classifier on files, with the columns that it was trained on."""

import csv
import io
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import budgetrun
from budgetrun.cli import main
from budgetrun.data.tables import open_table
from budgetrun.engine import score
from budgetrun.runner.live.request import Request
from budgetrun.runner.live.run import run
from budgetrun.state import load_state

N = 120
X = np.random.default_rng(0).normal(size=(N, 3))
SIGNS = X[:, 0] + X[:, 1] > 0
WORDS = np.where(SIGNS, "yes", "no")
FRAME = pd.DataFrame(X, columns=list("abc"))


@pytest.fixture(autouse=True)
def in_a_folder(here):
    FRAME.assign(y=WORDS).to_csv("named.csv", index=False)
    pd.DataFrame(np.column_stack([SIGNS, X]).astype(float)).to_csv("numbers.csv", index=False, header=False)


def predict(*arguments, code=0, given=None):
    result = CliRunner().invoke(main, ["predict", *arguments], input=given)
    assert result.exit_code == code, result.stderr
    return result.stdout, result.stderr


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_columns_go_by_name():
    model = budgetrun.RBP(budget=30).fit(FRAME, WORDS)
    model.save("model")
    stdout, stderr = predict("model", "named.csv", "--label", "y")
    found = rows(stdout)
    assert list(found[0]) == ["row", "label", "prediction", "score"]
    assert [float(row["score"]) for row in found] == model.decision_function(FRAME).tolist()
    assert [row["prediction"] for row in found] == model.predict(FRAME).tolist()
    assert [row["row"] for row in found] == [str(i) for i in range(1, N + 1)]
    wrong = sum(row["prediction"] != row["label"] for row in found)
    assert stderr == f"{N} rows; {wrong} mistakes, an error of {wrong / N:.2%}\n"
    # In any order, with others between, from standard input, into a file.
    FRAME.assign(other=WORDS)[["c", "other", "a", "b"]].to_csv("moved.csv", index=False)
    expected = [row["score"] for row in found]
    assert [row["score"] for row in rows(predict("model", "moved.csv")[0])] == expected
    assert [row["score"] for row in rows(predict("model", "-", given=Path("moved.csv").read_text())[0])] == expected
    assert predict("model", "moved.csv", "--output", "out.csv") == ("", f"{N} rows\n")
    assert [row["score"] for row in rows(Path("out.csv").read_text())] == expected
    for read in ("model", "moved.csv"):
        before = Path(read).read_bytes()
        _, said = predict("model", "moved.csv", "--output", f"./{read}", code=2)
        assert said.endswith(f"--output {read}: would replace what is read; give another file\n")
        assert Path(read).read_bytes() == before
    _, said = predict("model", "numbers.csv", "--label", "first", code=2)
    assert said.endswith("the labels in column 1, such as 0, are none of the classes of the model: no yes\n")
    FRAME[["a", "b"]].to_csv("short.csv", index=False)
    assert "column 'c' of the table that was learned is missing" in predict("model", "short.csv", code=2)[1]


def test_rows_without_a_label_and_with_a_new_one_are_predicted_too():
    FRAME.assign(y=WORDS).to_csv("train.csv", index=False)
    assert run(Request("train.csv", quick=True, results=Path("results"))) == 0
    labels = WORDS.astype(object)
    labels[[3, 7]], labels[5] = "", "perhaps"
    FRAME.assign(y=labels).to_csv("some.csv", index=False)
    stdout, stderr = predict("results/train", "some.csv")
    found = rows(stdout)
    assert [row["label"] for row in found] == labels.tolist()
    known = rows(predict("results/train", "train.csv")[0])
    assert [row["score"] for row in found] == [row["score"] for row in known]
    wrong = sum(row["prediction"] != row["label"] != "" for row in found)
    assert stderr.startswith(
        f"{N} rows; {N - 2} of them have a label; {wrong} mistakes, an error of {wrong / (N - 2):.2%}"
    )
    assert "1 of them because the model does not know the label" in stderr
    FRAME.assign(y="").to_csv("none.csv", index=False)
    assert predict("results/train", "none.csv")[1].startswith(f"{N} rows; 0 of them have a label; by auto")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_feature_is_no_label(suffix):
    FRAME.assign(y=WORDS).to_csv("train.csv", index=False)
    assert run(Request("train.csv", quick=True, results=Path("results"))) == 0
    table = FRAME.assign(y=WORDS)
    {"csv": partial(table.to_csv, index=False), "jsonl": partial(table.to_json, orient="records", lines=True),
     "parquet": table.to_parquet}[suffix](f"t.{suffix}")  # fmt: skip
    said = predict("results/train", f"t.{suffix}", "--label", "a", code=2)[1]
    told = "label: column 1 (a) is a feature of the table that was learned; name another column"
    assert said == f"t.{suffix}: {told}\n"
    FRAME.to_csv("without.csv", index=False)
    said = predict("results/train", "without.csv", "--label", "z", code=2)[1]
    assert said.startswith("without.csv: label: no column 'z'; its columns are a b")


def test_columns_without_names_go_by_position(tmp_path):
    model = budgetrun.Perceptron().fit(X, SIGNS.astype(int))
    model.save("model")
    stdout, stderr = predict("model", "numbers.csv", "--label", "1")
    assert [float(row["score"]) for row in rows(stdout)] == model.decision_function(X).tolist()
    assert "an error of" in stderr
    sp.save_npz("rows.npz", sp.csr_array(X))
    stdout, stderr = predict("model", "numbers.csv", code=2)
    assert stderr == (
        "numbers.csv: 4 columns where the table that was learned has 3; they must be equal; if one is the label, "
        "name it: --label COLUMN\n"
    )
    said = "--label: not with standard input, for a model that was saved without its encoding\n"
    assert predict("model", "-", "--label", "1", code=2, given="1,2,3,4\n")[1] == said


def test_categories_and_several_classes_are_those_of_the_model():
    color = np.random.default_rng(1).choice(["red", "green", "blue"], N)
    FRAME.assign(color=color, y=np.array(["u", "v", "w"])[np.arange(N) % 3]).to_csv("train.csv", index=False)
    table, model = open_table("train.csv", label="y"), budgetrun.Perceptron()
    for chunk in table.chunks():
        model.partial_fit(chunk.X, chunk.y, classes=table.classes)
    model.save("model", encoding=table.encoding)
    stdout, _ = predict("model", "train.csv", "--label", "y")
    assert list(rows(stdout)[0]) == ["row", "label", "prediction", "score_u", "score_v", "score_w"]
    # Fewer categories, which would make other features.
    FRAME.assign(color="red").head(5).to_csv("red.csv", index=False)
    chunk = next(open_table("train.csv", label="y", encoding=table.encoding).chunks())
    assert len(rows(predict("model", "red.csv")[0])) == 5
    first = model.decision_function(np.column_stack([X[:5], np.tile([0.0, 0.0, 1.0], (5, 1))]))
    assert table.features[3:] == ["color=blue", "color=green", "color=red"]
    assert chunk.X.shape == (N, 6)
    found = rows(predict("model", "red.csv")[0])
    assert [[float(row[f"score_{c}"]) for c in "uvw"] for row in found] == first.tolist()
    FRAME.assign(color="Red").head(5).to_csv("other.csv", index=False)
    assert predict("model", "other.csv")[1].splitlines()[0] == (
        "other.csv: 5 rows with an unknown category in color: zeros"
    )


def test_what_cannot_be_predicted():
    budgetrun.Forgetron().save("new")
    assert predict("new", "named.csv", code=2)[1] == "new: this Forgetron has not been fitted\n"
    assert predict("named.csv", "named.csv", code=2)[1].startswith("named.csv: not a file that budgetrun saved, or ")
    assert predict("none", "named.csv", code=2)[1] == "none: cannot be read (No such file or directory)\n"
    assert predict(".", "named.csv", code=2)[1] == ".: not a results folder of budgetrun run, nor a saved model\n"
    budgetrun.Perceptron().fit(FRAME, WORDS).save("model")
    assert predict("model", "none.csv", code=2)[1].startswith("none.csv: no such file")
    frame = FRAME.copy()
    frame.loc[3, "b"] = np.nan
    frame.to_csv("gap.csv", index=False)
    assert "missing" in predict("model", "gap.csv", code=2)[1]
    stdout, stderr = predict("model", "gap.csv", "--missing", "zero")
    assert len(rows(stdout)) == N
    assert stderr == f"{N} rows\n"
    predict("model", "gap.csv", "--output", "out.csv", code=2)
    assert not list(Path().glob("*out*"))
    FRAME.assign(y=np.where(np.arange(N) == 5, "perhaps", WORDS)).to_csv("odd.csv", index=False)
    _, said = predict("model", "odd.csv", "--label", "y")
    assert said.endswith(", 1 of them because the model does not know the label\n")


STATE = "results/stream/stream.state"


def played(frame, **given):
    """Run learners on a stream; return their outcomes, the predictions of the best, and what is printed."""
    frame.to_csv("stream.csv", index=False)
    assert run(Request("stream.csv", **given)) == 0
    stdout, stderr = predict(STATE, "stream.csv", "--label", "y")
    return pd.read_csv("results/stream/runs.csv"), rows(stdout), stderr


def scores_of(losses, stderr):
    """Return the scores of the learner that goes on, by the scale so far, and the names of its classes."""
    state, _ = load_state(STATE)
    i = int(np.argmin(losses(state.session)))
    assert f"by {state.names[i]}, " in stderr
    table = open_table("stream.csv", encoding=state.encoding)
    scaled = np.concatenate([chunk.X for chunk in table.chunks()])
    state.scaler.scale(scaled, learn=False)
    return state.session.members[i].hypothesis.score(scaled).T, state.classes


@pytest.mark.parametrize("words", [WORDS, np.where(SIGNS, np.where(X[:, 2] > 0, "yes", "no"), "maybe")])
def test_the_best_learner_of_a_stream_predicts(words):
    frame = FRAME.assign(d=50 * X[:, 0], color=WORDS[::-1], y=words)
    algorithms = ("perceptron", "rbp", "forgetron")
    runs, found, stderr = played(frame, algorithms=algorithms, budgets=(5, 40), seeds=2, scale="running")
    wrong = sum(row["prediction"] != row["label"] for row in found)
    assert wrong < runs["mistakes"].min()
    assert stderr.startswith(f"{N} rows; {wrong} mistakes, an error of {wrong / N:.2%}; by ")
    assert stderr.endswith(f", which made the fewest mistakes on its stream ({runs['mistakes'].min()})\n")
    scores, classes = scores_of(lambda session: [member.count.mistakes for member in session.members], stderr)
    columns = ["score"] if scores.ndim == 1 else [f"score_{name}" for name in classes]
    np.testing.assert_array_equal([[float(row[c]) for c in columns] for row in found], scores.reshape(N, -1))
    # It learned nothing meanwhile.
    stdout, again = predict(STATE, "stream.csv", "--label", "y")
    assert (rows(stdout), again) == (found, stderr)


def test_a_regressor_predicts_numbers():
    target = X[:, 0] - X[:, 1] / 3
    FRAME.assign(y=target).to_csv("numbers.csv", index=False)
    model = budgetrun.KRLS(budget=30, gamma=0.3).fit(FRAME, target)
    model.save("model")
    stdout, stderr = predict("model", "numbers.csv", "--label", "y")
    found = rows(stdout)
    assert list(found[0]) == ["row", "label", "prediction"]
    errors = target - model.predict(FRAME)
    np.testing.assert_array_equal([float(row["prediction"]) for row in found], model.predict(FRAME))
    np.testing.assert_array_equal([float(row["label"]) for row in found], target)
    rmse, mae = np.sqrt(np.square(errors).mean()), np.abs(errors).mean()
    assert stderr == f"{N} rows; root mean squared error {rmse:.4g}, mean absolute error {mae:.4g}\n"
    assert predict("model", "named.csv")[1] == f"{N} rows\n"
    # Words are not numbers.
    assert predict("model", "named.csv", "--label", "y", code=2)[1] == (
        f"named.csv: the labels in column 4 (y), such as {WORDS[0]}, are not numbers, but this model predicts "
        "numbers; name another column with --label, or leave it out\n"
    )
    budgetrun.KRLS().fit(X, target).save("by_position")
    FRAME.assign(y=target).to_csv("plain.csv", index=False, header=False)
    assert "root mean squared error" in predict("by_position", "plain.csv", "--label", "last")[1]
    budgetrun.KRLS().save("new")
    assert predict("new", "named.csv", code=2)[1] == "new: this KRLS has not been fitted\n"


def test_the_best_regression_learner_of_a_stream_predicts():
    algorithms = ("krls", "klms:step=0.01")
    frame = FRAME.assign(y=3 * X[:, 0])
    runs, found, stderr = played(frame, task="regression", algorithms=algorithms, budgets=(20,))
    assert f", which had the smallest root mean squared error on its stream ({runs['rmse'].min():.4g})" in stderr
    expected, _ = scores_of(lambda session: session.totals(), stderr)
    np.testing.assert_array_equal([float(row["prediction"]) for row in found], expected)


@pytest.mark.parametrize("make", [
    lambda: budgetrun.Forgetron(budget=30),
    lambda: budgetrun.Logistic(),
    lambda: budgetrun.AutoClassifier(budget=20),
])  # fmt: skip
def test_rows_far_from_those_that_were_learned_are_said(make):
    raw = FRAME * [1, 10, 200] + [5, 0, 1000]
    scaled = (raw - raw.mean()) / raw.std()
    make().fit(scaled[:60], WORDS[:60]).partial_fit(scaled[60:], WORDS[60:]).save("model")
    raw.to_csv("raw.csv", index=False)
    raw[:1].to_csv("one.csv", index=False)
    scaled.to_csv("scaled.csv", index=False)
    said = predict("model", "raw.csv")[1].splitlines()
    mean, there = raw["c"].mean(), scaled["c"]
    assert abs(there.mean()) < 1e-12
    assert said == [
        f"warning: these rows lie far from those that were learned: the mean of feature c is {mean:.4g} here, and was "
        f"0 with a deviation of {there.std(ddof=0):.4g} there; give them the same scale and units",
        f"{N} rows",
    ]
    assert "warning: these rows lie far" in predict("model", "one.csv")[1]
    assert predict("model", "scaled.csv")[1] == f"{N} rows\n"
    scaled[:5].to_csv("scaled.csv", index=False)
    assert predict("model", "scaled.csv")[1] == "5 rows\n"


def test_auto_reads_rows_as_they_are_where_others_scale_them():
    frame = FRAME * [1, 10, 200] + [5, 0, 1000]
    played(frame.assign(y=WORDS), algorithms=("auto",), budgets=(20,), scale="running")
    frame.to_csv("again.csv", index=False)
    model = budgetrun.AutoClassifier(budget=20).fit(frame, WORDS)
    scores = [float(row["score"]) for row in rows(predict(STATE, "again.csv")[0])]
    np.testing.assert_allclose(scores, model.decision_function(frame), rtol=1e-12)


def test_a_stream_says_so_by_its_scale():
    played(FRAME.assign(y=WORDS), algorithms=("rbp",), budgets=(5,), scale="running")
    (FRAME + 50).to_csv("far.csv", index=False)
    assert "warning: these rows lie far from those that were learned: the mean of " in predict(STATE, "far.csv")[1]


def test_sparse_rows_are_predicted_as_they_were_learned():
    """The engine holds rows of few columns dense, and subtracts the means of auto's inputs."""
    rng = np.random.default_rng(3)
    given = {"density": 0.1, "rng": rng, "data_sampler": lambda size: rng.normal(3, 1, size), "format": "csr"}
    rows_of = sp.random_array((400, 90), **given)
    labels = np.where(rows_of[:, :45].sum(axis=1) > rows_of[:, 45:].sum(axis=1), 1, 2)
    dump_svmlight_file(rows_of, labels, "stream.libsvm", zero_based=False)
    run(Request("stream.libsvm", quick=True))
    state, _ = load_state(STATE)
    expected = score(state.session.members[0], load_svmlight_file("stream.libsvm")[0].toarray())
    found = rows(predict(STATE, "stream.libsvm", "--label", "1")[0])
    np.testing.assert_allclose([float(row["score"]) for row in found], expected, rtol=1e-9)
