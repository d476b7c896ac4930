"""Learners of other packages: in the arena they make the mistakes that a plain loop over their own classes makes."""

import pickle
import sys

import numpy as np
import pytest
from cases import fed
from faults import message, raises
from sweeping import config, printed, rows, run

from budgetrun.base.errors import InputError
from budgetrun.config import kinds
from budgetrun.engine import Group
from budgetrun.kernels import Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=300) > 0, 1, -1)
# A Perceptron that speaks the line protocol.
PERCEPTRON = """
import sys
w = None
for line in sys.stdin:
    x = [float(value) for value in line.split()]
    w = w or [0.0] * len(x)
    score = sum(a * b for a, b in zip(w, x))
    print(score, flush=True)
    y = int(sys.stdin.readline())
    if y * score <= 0:
        w = [a + y * b for a, b in zip(w, x)]
"""


def played(name, block=64, **given):
    """Return the scores of a program's rounds, and its group."""
    group = Group(Linear(), [kinds.programs()[name](**given)])
    return fed(group, X, Y[None], block)[0], group


def river_loop(model):
    scores = []
    for x, y in zip(X.tolist(), (Y > 0).tolist(), strict=True):
        row = dict(enumerate(x))
        p = model.predict_proba_one(row)
        scores.append(0.5 if not p else p.get(True, 0.0) / sum(p.values()))
        model.learn_one(row, y)
    return np.array(scores)


@pytest.mark.parametrize("block", [1, 7, 300])
def test_a_tree_of_river_predicts_as_in_a_plain_loop(block):
    tree = pytest.importorskip("river.tree")
    scores, group = played("river", block, model="tree.HoeffdingTreeClassifier")
    model = tree.HoeffdingTreeClassifier()
    p = river_loop(model)
    assert 1 / (1 + np.exp(-scores)) == pytest.approx(p, abs=1e-9)
    assert group.members[0].count.mistakes == np.count_nonzero((p - 0.5) * Y <= 0)
    assert group.kept_bytes(0) == pytest.approx(len(pickle.dumps(model)), rel=0.05)


def test_a_seed_goes_to_a_forest():
    forest = pytest.importorskip("river.forest")
    scores, _ = played("river", model="forest.ARFClassifier", seed=3)
    assert 1 / (1 + np.exp(-scores)) == pytest.approx(river_loop(forest.ARFClassifier(seed=3)), abs=1e-9)


@pytest.mark.parametrize("block", [1, 300])
def test_a_model_of_scikit_learn_predicts_as_in_a_plain_loop(block):
    from sklearn.linear_model import SGDClassifier

    model, expected = SGDClassifier(random_state=2), []
    for t, x in enumerate(X):
        expected.append(float(model.decision_function(x[None])[0]) if t else 0.0)
        model.partial_fit(x[None], Y[t : t + 1], [-1, 1])
    assert played("scikit_learn", block, seed=2)[0].tolist() == expected


def test_features_of_nystroem_are_made_from_the_first_rounds():
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDClassifier

    from budgetrun.kernels.width import median_gamma

    scores, _ = played("scikit_learn", components=50)
    features = Nystroem(gamma=median_gamma(X[:50]), n_components=50, random_state=0).fit(X[:50])
    model = SGDClassifier(random_state=0).partial_fit(features.transform(X[:50]), Y[:50], [-1, 1])
    assert not scores[:50].any()
    for t in range(50, 300):
        row = features.transform(X[t : t + 1])
        assert scores[t] == model.decision_function(row)[0]
        model.partial_fit(row, Y[t : t + 1])


def test_vowpal_wabbit_predicts_as_in_a_plain_loop():
    vw = pytest.importorskip("vowpalwabbit")
    scores, group = played("vowpal_wabbit", options="-q ::")
    model = vw.Workspace("--quiet --loss_function logistic -q ::")
    for t, x in enumerate(X):
        line = "| " + " ".join(f"{j}:{value:.9g}" for j, value in enumerate(x))
        assert scores[t] == pytest.approx(model.predict(line), abs=1e-6)
        model.learn(f"{Y[t]} {line}")
    assert group.kept_bytes(0) > 100


def perceptron(folder):
    path = folder / "perceptron.py"
    path.write_text(PERCEPTRON)
    return f"{sys.executable} {path}"


@pytest.mark.parametrize("block", [1, 300])
def test_a_program_plays_by_lines(tmp_path, block):
    scores, group = played("command", block, command=perceptron(tmp_path))
    w, expected = np.zeros(4), []
    for x, y in zip(X, Y, strict=True):
        expected.append(float(w @ x))
        if y * expected[-1] <= 0:
            w = w + y * x
    assert scores == pytest.approx(expected)
    assert group.members[0].count.mistakes == np.count_nonzero(np.array(expected) * Y <= 0)
    assert group.kept_bytes(0) > 1e6


@pytest.mark.parametrize(("name", "given", "said"), [
    ("river", {"model": "tree.Oak"}, "model: river has no 'tree.Oak'; give a path such as linear_model.NAME"),
    ("river", {"model": "Oak"}, "model: river has no 'Oak'"),
    ("scikit_learn", {"model": "linear_model.Oak"}, "model: sklearn has no 'linear_model.Oak'"),
    ("command", {"command": "no-such-program"}, "command 'no-such-program' cannot be started: "),
    ("command", {"command": "true"}, "command 'true' ended; it must answer each line of numbers with one line"),
    ("command", {"command": "sh -c 'echo high; cat'"}, "command \"sh -c 'echo high; cat'\" answered 'high'; it must"),
])  # fmt: skip
def test_what_cannot_be_played_is_said(name, given, said):
    assert message(played, name, **given).startswith(said)


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "vowpalwabbit", None)
    raises(InputError, "vowpalwabbit is not installed; type: pip install vowpalwabbit", played, "vowpal_wabbit")


def test_a_command_is_not_empty():
    raises(ValueError, "command must name a program", kinds.programs()["command"], command=" ")


def test_programs_stand_beside_learners_in_a_config(tmp_path, capsys):
    algorithms = [
        {"name": "majority"},
        {"name": "scikit_learn"},
        {"name": "command", "command": perceptron(tmp_path)},
        {"name": "command", "label": "broken", "command": "true"},
        {"name": "rbp", "budget": 10},
    ]
    path = config(tmp_path, algorithms=algorithms, metrics=["kept_bytes"], tie="positive")
    printed(1, run(capsys, "sweep", path, "--jobs", 1, "--results", tmp_path))
    found = {(row["label"], row["repetition"]): row for row in rows(tmp_path / "small")}
    assert {label for (label, _), row in found.items() if row["status"] == "failed"} == {"broken"}
    assert "InputError: command 'true' ended" in found["broken", "0"]["error"]
    for label in ("majority", "scikit_learn", "command", "rbp"):
        assert float(found[label, "0"]["kept_bytes"]) > 0, label


def test_a_check_starts_no_program(tmp_path, capsys):
    path = config(tmp_path, algorithms=[{"name": "command", "command": f"touch {tmp_path / 'started'}"}])
    assert run(capsys, "check", path)[0] == 0
    assert run(capsys, "sweep", path, "--dry-run", "--results", tmp_path)[0] == 0
    assert not (tmp_path / "started").exists()


# -- sizes that hold nothing -------------------------------------------------------------------------------------------


def test_a_size_that_holds_nothing_is_left_out_if_another_holds_something(tmp_path, capsys):
    sizes = {"name": "rbp", "learner_memory": ["1KB", "16KB"]}
    path = config(tmp_path, algorithms=[{"name": "perceptron"}, sizes])
    _, planned, _ = run(capsys, "sweep", path, "--dry-run", "--results", tmp_path)
    assert "  noisy_gaussians: too little memory for rbp in 1.0 KB; left out\n" in planned
    out, err = printed(0, run(capsys, "sweep", path, "--jobs", 1, "--results", tmp_path))
    assert "noisy_gaussians: too little memory for rbp in 1.0 KB; left out" in out + err
    assert {row["learner_memory"] for row in rows(tmp_path / "small") if row["label"] == "rbp"} == {"16000"}
    path = config(tmp_path, "none", algorithms=[sizes | {"learner_memory": ["1KB", "2KB"]}])
    code, _, err = run(capsys, "sweep", path, "--results", tmp_path)
    assert (code, "is too little: with a budget of 1, the least, the learner keeps more" in err) == (2, True)
