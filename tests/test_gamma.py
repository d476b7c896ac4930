"""The gamma that estimators and river's classes find from the first rows."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from faults import raises
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

import budgetrun
from budgetrun.estimators import base
from budgetrun.estimators.arguments import found_gamma
from budgetrun.kernels.width import median_gamma

river = pytest.importorskip("budgetrun.river")
RAW, LABELS = load_breast_cancer(return_X_y=True)
MODELS = {
    "binary": (lambda **given: budgetrun.Forgetron(budget=20, **given), 2),
    "several": (lambda **given: budgetrun.RBP(budget=20, random_state=np.random.RandomState(3), **given), 3),
    "regression": (lambda **given: budgetrun.KLMS(budget=20, **given), 0),
    "probabilities": (lambda **given: budgetrun.Ahpatron(budget=20, probabilities=True, **given), 2),
    "selecting": (lambda **given: budgetrun.SelectingClassifier(budgetrun.RBP(budget=9), grid={"seed": [1, 2]}), 2),
}


def stream(n_classes, n=150):
    X = np.random.default_rng(1).normal(size=(n, 4)) * [100, 1, 0.01, 30]
    y = np.where(X[:, 0] * X[:, 3] > 0, 1, 0) + (X[:, 0] > 150) * (n_classes > 2)
    return X, y if n_classes else X[:, 0] / 100


def fed(model, X, y, starts, n_classes):
    for start, end in zip(starts, [*starts[1:], len(y)], strict=True):
        options = {"classes": range(n_classes)} if n_classes else {}
        model.partial_fit(X[start:end], y[start:end], **options)
    return model


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_the_model_is_that_of_the_rows_so_far_with_one_gamma(name, sparse, monkeypatch, reloaded):
    monkeypatch.setattr(base, "_EARLY", 100)
    monkeypatch.setattr("budgetrun.kernels.width.ROUNDS", 100)
    made, n_classes = MODELS[name]
    X, y = stream(n_classes)
    rows = sp.csr_array(X) if sparse else X
    for n in (1, 2, 3, 37, 64, 99, 100, 130, 150):
        at = 100 if n >= 100 else 1 << (n.bit_length() - 1)
        gamma = median_gamma(X[:at]) if at > 1 else 1.0
        whole = fed(made(), rows[:n], y[:n], [0], n_classes)
        assert whole.gamma_ == gamma
        cut = fed(made(), rows[:n], y[:n], [0, *sorted({1, 5, n // 2} - {0, n})] if n > 5 else [*range(n)], n_classes)
        others = [cut, copy.deepcopy(whole)]
        if name != "selecting":
            seeded = {"random_state": None, "seed": whole.seed_} if name == "several" else {}
            others.append(fed(made(gamma=gamma).set_params(**seeded), rows[:n], y[:n], [0], n_classes))
        others.append(reloaded(cut))
        for other in others:
            np.testing.assert_array_equal(other.predict(rows), whole.predict(rows))
        for other in others[2:] if n_classes and name != "several" else ():
            assert other.mistakes_ == whole.mistakes_
        last = fed(others[-1], rows[n:], y[n:], [0], n_classes) if n < 150 else whole
        assert last.n_rounds_ == 150


def test_raw_features_are_learned_from():
    for gamma in ("auto", "scale"):
        model = budgetrun.Forgetron(gamma=gamma).fit(RAW, LABELS)
        assert model.online_error_ < 0.15
    assert model.gamma_ == pytest.approx(SVC(gamma="scale").fit(RAW[:512], LABELS[:512])._gamma)
    assert budgetrun.Forgetron(gamma=None).fit(RAW, LABELS).online_error_ > 0.5


def test_gamma_of_other_kernels_and_of_rows_without_distances():
    for options in ({"kernel": "linear"}, {"kernel": "polynomial"}, {"sigma": 2.0}, {"gamma": 0.5}):
        assert not hasattr(budgetrun.Perceptron(**options).fit(RAW / 100, LABELS), "gamma_")
    assert budgetrun.Perceptron(kernel="polynomial", gamma="scale").fit(RAW / 100, LABELS).gamma_ > 0
    assert budgetrun.Perceptron().fit(np.ones((9, 2)), np.arange(9) % 2).gamma_ == 1.0
    # The least and the largest gamma of a kernel, and less.
    for a, gamma in ((7.071067811865475e49, 1e-100), (7.071067811865475e-51, 1e100), (1e50, 1.0)):
        assert found_gamma("scale", np.array([[a, a], [-a, -a]])) == gamma
    raises(ValueError, r"^gamma must be .*got 'mean'", budgetrun.Perceptron(gamma="mean").fit, RAW, LABELS)


def test_what_is_refused_while_gamma_is_sought_changes_nothing():
    model = budgetrun.RBP(budget=5).partial_fit(RAW[:33], LABELS[:33])
    before = model.decision_function(RAW)
    for X, y in ((np.where(RAW[:40] > 0, np.inf, 0.0), LABELS[:40]), (RAW[:40], LABELS[:40] + 7)):
        raises(ValueError, r"infinity|not among the classes", model.partial_fit, X, y)
        np.testing.assert_array_equal(model.decision_function(RAW), before)
        assert (model.n_rounds_, model.gamma_) == (33, median_gamma(RAW[:32]))
    model.partial_fit(RAW[33:64], LABELS[33:64])
    assert model.gamma_ == median_gamma(RAW[:64])


def test_river_finds_the_same_gamma_although_keys_come_and_go():
    model, expected = river.Forgetron(budget=20), budgetrun.Forgetron(budget=20)
    for i, (x, y) in enumerate(zip(RAW[:150], LABELS[:150].tolist(), strict=True)):
        keys = range(30) if i % 3 else range(0, 30, 2)
        x = np.where(np.isin(np.arange(30), list(keys)), x, 0.0)
        model.learn_one({f"k{j}": x[j] for j in keys}, y)
        expected.partial_fit(x[None], [y], classes=[0, 1])
        assert model.estimator.gamma_ == expected.gamma_
        if i in (40, 63, 64, 149):
            found = [model.predict_one({f"k{j}": v for j, v in enumerate(row)}) for row in RAW[:20]]
            assert found == expected.predict(RAW[:20]).tolist()
