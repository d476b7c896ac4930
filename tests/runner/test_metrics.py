"""Metrics against scikit-learn and river, on random scores and on what learners predict."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.special
import sklearn.metrics
from cases import all_cases, firsts, paired, tied_stream
from sweeping import TOP, swept_folder

from budgetrun import config as config_module
from budgetrun import kernels
from budgetrun.base.errors import InputError
from budgetrun.base.problem import BINARY, FADING, WINDOW
from budgetrun.config.quantities import METRICS
from budgetrun.engine import Group
from budgetrun.learners import find
from budgetrun.play.metrics import Calibration, Tally
from budgetrun.results.store import read
from budgetrun.results.store.curves import Curves


def random_scores(T, n_classes=None, seed=0):
    """Scores that say something of the labels, some of them 0 or equal."""
    rng = np.random.default_rng(seed)
    if n_classes is None:
        y = rng.choice([-1, 1], T, p=[0.7, 0.3])
        return np.round(rng.normal(size=T) + 0.5 * y, 1), y
    y = rng.choice(n_classes, T)
    return np.round(rng.normal(size=(n_classes, T)) + (np.arange(n_classes)[:, None] == y), 1), y


def tally(scores, labels, n_classes=None, tie="mistake", names=METRICS, pieces=1):
    one = Tally([name for name in names if name != "auc" or n_classes is None], n_classes, tie)
    for part in np.array_split(np.arange(len(labels)), pieces):
        one.add(scores[..., part], labels[part])
    return one.columns()


def probabilities(scores, codes):
    """Those of each round before its label."""
    calibration, found = Calibration(), []
    for score, code in zip(scores.T, codes.astype(int).tolist(), strict=True):
        found.append(calibration.of(score))
        calibration.learn(score, code)
    return np.array(found)


@pytest.mark.parametrize("n_classes", [None, 3])
def test_calibration_is_an_online_newton_step(n_classes):
    """The step as matrices, and the scale as the root mean square of all scores."""
    scores, y = random_scores(60, n_classes)
    codes = y if n_classes else (y > 0).astype(int)
    found, theta, H = probabilities(scores, codes), np.array([1.0, 0.0]), np.eye(2)
    for t, code in enumerate(codes):
        z = np.atleast_1d(scores[..., t]) / (np.sqrt(np.mean(scores[..., : t + 1] ** 2)) or 1.0)
        z = z if n_classes else np.append(0.0, z)
        offset = np.zeros(len(z)) if n_classes else np.array([0.0, theta[1]])
        p = scipy.special.softmax(theta[0] * z + offset)
        np.testing.assert_allclose(found[t], p, rtol=1e-9)
        g = np.array([p @ z - z[code], 0.0 if n_classes else p[1] - code])
        H += np.outer(g, g)
        theta = theta - np.linalg.solve(H, g)


@pytest.mark.parametrize("T", [40, 700, 2600])
def test_metrics_of_two_classes_are_those_of_scikit_learn(T):
    scores, y = random_scores(T)
    scores[scores == 0] = 0.1
    found, predicted = tally(scores, y), np.sign(scores)
    assert found["f1"] == pytest.approx(sklearn.metrics.f1_score(y, predicted))
    assert found["kappa"] == pytest.approx(sklearn.metrics.cohen_kappa_score(y, predicted))
    assert json.loads(found["confusion"]) == sklearn.metrics.confusion_matrix(y, predicted).tolist()
    parts = [slice(start, start + WINDOW) for start in range(0, T, WINDOW)]
    auc = [sklearn.metrics.roc_auc_score(y[part], scores[part]) * len(y[part]) for part in parts]
    assert found["auc"] == pytest.approx(sum(auc) / T)
    p = probabilities(scores, y > 0)
    assert found["brier"] == pytest.approx(sklearn.metrics.brier_score_loss(y, p[:, 1]))
    assert found["log_loss"] == pytest.approx(sklearn.metrics.log_loss(y, p))
    wrong = predicted != y
    assert found["sliding_error"] == wrong[-WINDOW:].mean()
    weights = FADING ** np.arange(T)[::-1]
    assert found["fading_error"] == pytest.approx(weights @ wrong / weights.sum())


@pytest.mark.parametrize("n_classes", [3, 7])
def test_metrics_of_several_classes_are_those_of_scikit_learn(n_classes):
    scores, y = random_scores(900, n_classes)
    # No class is tied with the true one.
    scores[y, np.arange(900)] += 0.01
    found, predicted = tally(scores, y, n_classes), scores.argmax(axis=0)
    assert found["f1"] == pytest.approx(sklearn.metrics.f1_score(y, predicted, average="macro"))
    assert found["kappa"] == pytest.approx(sklearn.metrics.cohen_kappa_score(y, predicted))
    assert json.loads(found["confusion"]) == sklearn.metrics.confusion_matrix(y, predicted).tolist()
    p = probabilities(scores, y)
    assert found["log_loss"] == pytest.approx(sklearn.metrics.log_loss(y, p))
    assert found["brier"] == pytest.approx(((p - np.eye(n_classes)[y]) ** 2).sum(axis=1).mean())


@pytest.mark.parametrize("n_classes", [None, 4])
def test_no_bit_depends_on_how_rounds_are_divided(n_classes):
    scores, y = random_scores(2300, n_classes)
    for pieces in (7, 500):
        assert tally(scores, y, n_classes) == tally(scores, y, n_classes, pieces=pieces)


CASES = {case_id: given for case_id, *given, _ in all_cases()}
MULTICLASS_CASES = {f"multiclass-{case_id}": given for case_id, *given, _ in all_cases("MULTICLASS_CASES")}


@pytest.mark.parametrize(
    ("case_id", "tie"),
    [*paired(firsts(CASES), ["mistake", "positive"]), *((i, "mistake") for i in firsts(MULTICLASS_CASES))],
)
def test_wrong_predictions_are_the_mistakes_of_the_engine(case_id, tie):
    several = case_id in MULTICLASS_CASES
    name, variant, parameters = (MULTICLASS_CASES if several else CASES)[case_id]
    X, y = tied_stream()
    y, n_classes = (np.arange(len(y)) % 3, 3) if several else (y, None)
    learner = find(name, variant, "multiclass" if several else "binary")(**parameters)
    group = Group(kernels.Gaussian(gamma=0.5), [learner], tie=tie, n_classes=n_classes)
    confusion = np.array(json.loads(tally(group.feed(X, y[None])[0], y, n_classes, tie)["confusion"]))
    assert confusion.sum() - np.trace(confusion) == group.members[0].count.mistakes
    assert confusion.sum(axis=1).tolist() == np.unique(y, return_counts=True)[1].tolist()


def test_a_single_class_has_neither_kappa_nor_auc():
    found = tally(np.ones(5), np.ones(5, dtype=int))
    assert found["kappa"] is None
    assert found["auc"] is None
    assert found["f1"] == 1.0
    assert tally(np.ones(5), -np.ones(5, dtype=int))["f1"] == 0.0


def test_only_what_is_asked_for_is_measured():
    scores, y = random_scores(50)
    assert tally(scores, y, names=("brier",)).keys() == {"brier"}
    assert tally(scores, y, names=("f1", "sliding_error")).keys() == {"f1", "sliding_error", "confusion"}
    # A score of 0 is a mistake, or predicts +1.
    zeros, both = np.zeros(2), np.array([-1, 1])
    assert tally(zeros, both, names=("f1",))["confusion"] == "[[0, 1], [1, 0]]"
    assert tally(zeros, both, names=("f1",), tie="positive")["confusion"] == "[[0, 1], [0, 1]]"


CONFIG = """
name: drifting
datasets:
  - {name: rotating_gaussians, label: drift, order: file, options: {n_examples: 3000, turns: 2}}
kernel: {name: gaussian, gamma: 0.5}
algorithms:
  - {name: perceptron}
  - {name: forgetron, budget: 40}
"""
ASKED = "metrics: [f1, auc, log_loss, fading_error]\n"
REPORT = """
report:
  tables:
    - {name: errors}
    - {name: f1, quantity: f1}
  figures:
    - {name: fading, dataset: drift, lines: [perceptron, "forgetron(self_tuned)"], x: rounds, y: fading_error}
"""


def swept(tmp_path, text, folder):
    (tmp_path / "c.yaml").write_text(text)
    return read.load(swept_folder(tmp_path / "c.yaml", tmp_path / folder, jobs=1))


def test_a_sweep_measures_what_its_config_asks_for(tmp_path):
    from budgetrun.results.report import Report

    with_metrics, without = swept(tmp_path, CONFIG + ASKED + REPORT, "a"), swept(tmp_path, CONFIG, "b")
    runs, plain = with_metrics.runs, without.runs
    assert runs["mistakes"].tolist() == plain["mistakes"].tolist()
    assert not set(runs["run_id"]) & set(plain["run_id"])
    assert plain[[*METRICS]].isna().all(axis=None)
    assert runs[["f1", "auc", "log_loss", "fading_error"]].notna().all(axis=None)
    assert runs[["kappa", "brier", "sliding_error"]].isna().all(axis=None)
    assert "metrics" not in without.config.resolved()
    rounds, curve = Curves(with_metrics.folder / "curves").read(list(runs["run_id"]), "fading_error")
    assert curve[:, rounds == 3000][:, 0].tolist() == runs["fading_error"].tolist()
    Report(with_metrics.folder).write()
    table = pd.read_csv(with_metrics.folder / "tables" / "f1.csv")
    assert sorted(table["f1"]) == pytest.approx(sorted(runs["f1"]))
    page = (with_metrics.folder / "report.html").read_text()
    assert "Dotted vertical lines: here the clouds have changed places." in page
    assert page.count("F1 of the positive class") >= 1


def test_the_auc_is_for_two_classes(tmp_path):
    text = "name: m\ndatasets: [{name: usps, task: multiclass}]\nkernel: {name: linear}\nmetrics: [f1, auc]\n"
    (tmp_path / "c.yaml").write_text(text + "algorithms: [{name: perceptron}]\n")
    with pytest.raises(InputError, match=r"c.yaml:4: metrics: auc cannot be measured with task: multiclass"):
        config_module.load(tmp_path / "c.yaml")


def test_the_documentation_says_the_constants():
    text = (TOP / "docs" / "configs.md").read_text(encoding="utf-8")
    assert f"windows of {WINDOW:,} rounds" in text
    assert f"in the last {WINDOW:,} rounds" in text
    assert f"counts {FADING} times as much as the next" in text
    assert f"at least {np.finfo(float).eps:.1e}" in text


def test_a_score_of_zero_predicts_the_second_class():
    assert BINARY.predict(np.array([-0.5, 0.0, 2.0])).tolist() == [0, 1, 1]
    assert [BINARY.predict(score) for score in (-0.5, 0.0, 2.0)] == [0, 1, 1]
