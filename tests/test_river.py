"""The models for river: its own checks, the numbers of the estimators, and keys that come and go."""

import inspect
import pickle
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from cases import EXHAUSTIVE, all_cases, one_of_each_form, paired
from faults import raises

import budgetrun
from budgetrun.base.errors import InputError
from budgetrun.estimators import CLASSIFIERS as ESTIMATORS
from budgetrun.estimators import REGRESSORS as REGRESSION
from budgetrun.play.metrics import Calibration

pytest.importorskip("river", reason="river is not installed: pip install 'budgetrun[river]'")

from river import checks, datasets, drift, evaluate, metrics, multiclass, preprocessing

from budgetrun import river as classifiers

CLASSIFIERS, REGRESSORS = classifiers.CLASSIFIERS, classifiers.REGRESSORS
# The parameters that have no default, and a small budget.
GIVEN = {name: {"gamma": 0.5} for name in CLASSIFIERS}
for _, algorithm, _, parameters, _ in all_cases():
    name = next(name for name, made in ESTIMATORS.items() if next(iter(made._learners.values())).name == algorithm)
    for argument in inspect.signature(ESTIMATORS[name]).parameters.values():
        if argument.default is inspect.Parameter.empty or argument.name == "budget":
            GIVEN[name].setdefault(argument.name, parameters.get(argument.name, argument.default))
ALL = {"gamma": 0.5, "step": 0.1, "budget": 20}
for name, made in REGRESSORS.items():
    GIVEN[name] = {key: value for key, value in ALL.items() if key in inspect.signature(made).parameters}
GIVEN["FOGDRegressor"]["features"] = 20
OF_EACH_FORM = sorted({*one_of_each_form(ESTIMATORS), "Forgetron"})
of_learner = pytest.mark.parametrize("name", OF_EACH_FORM)
# Random frequencies belong to columns, so they depend on the order in which keys appear.
# Their numbers depend on the columns that are known at the start.
BY_COLUMN = (
    "AutoClassifier", "AutoRegressor", "FOGD", "DualSGD", "Raker", "AdaRaker", "FOGDRegressor", "RakerRegressor",
    "AdaRakerRegressor",
)  # fmt: skip
SEGMENTS = sorted({y for _, y in datasets.ImageSegments()})


def make(name, **given):
    return classifiers.MADE[name](**(GIVEN[name] | given))


def stream(T=80, d=6, seed=0):
    """Rows of eighths, so that sums over features are exact in any order, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.random(T) < 0.5
    return np.round(8 * (rng.normal(size=(T, d)) + 0.8 * y[:, None])) / 8, y


def dicts(X, keys="abcdefghijkl"):
    return [dict(zip(keys, row.tolist(), strict=False)) for row in X]


def growing(X, every=12):
    """Examples whose keys appear one after the other; zeros are left out."""
    rows = enumerate(dicts(X))
    return [{k: value for j, (k, value) in enumerate(x.items()) if value and t >= every * j} for t, x in rows]


def targets(X):
    return np.round(np.sin(X[:, 0]) + X[:, 1] / 2, 3).tolist()


def state(model):
    """What was learned, without the columns."""
    used = model.estimator.support_set_.any(axis=0)
    columns = {key: model.estimator.support_set_[:, j] for key, j in model.column_of.items() if used[j]}
    inside = [member.hypothesis for member in model.estimator._group.members]
    return {
        "mistakes": model.estimator.mistakes_,
        "weights": model.estimator.weights_.tolist(),
        "explicit": [getattr(f, "w", np.zeros(0)).tolist() for f in inside],
        "support": {key: columns[key].tolist() for key in sorted(columns)},
        "calibration": vars(model._calibration or Calibration()),
    }


def learned(model, examples, y):
    for x, label in zip(examples, y, strict=True):
        model.learn_one(x, label)
    return model


# -- river's own checks ------------------------------------------------------------------------------------------------

# With the whole of river's data sets, learners that project would take minutes.
IN_FULL = ("Forgetron",) if EXHAUSTIVE else ()


# Its checks take seconds for each, and all have one adapter.
@pytest.mark.parametrize("name", [*(CLASSIFIERS if EXHAUSTIVE else ["Forgetron", "FOGD"]), None])
def test_check_estimator(name, monkeypatch):
    if name not in IN_FULL:
        data = datasets.Phishing if name else datasets.ImageSegments
        monkeypatch.setattr(checks, "_yield_datasets", lambda model, scale=1: [list(data().take(10))])
    model = make(name) if name else classifiers.Perceptron(classes=SEGMENTS)
    assert model._multiclass == (name is None)
    checked(model, {"check_shuffle_features_no_impact"} if name in BY_COLUMN else set())


def checked(model, skipped=frozenset()):
    for check in checks.yield_checks(model):
        if check.__name__ not in skipped:
            check(model.clone())


# -- the same numbers --------------------------------------------------------------------------------------------------


def test_every_learner_has_a_classifier():
    assert CLASSIFIERS.keys() == ESTIMATORS.keys()
    assert classifiers.Forgetron is CLASSIFIERS["Forgetron"]
    for name, made in CLASSIFIERS.items():
        extra = set(inspect.signature(made).parameters) - set(inspect.signature(ESTIMATORS[name]).parameters)
        assert extra == {"classes"}
        assert inspect.signature(made).parameters["probabilities"].default
        assert "probabilities : bool" in made.__doc__


@of_learner
def test_the_numbers_of_the_estimator(name):
    X, y = stream()
    model = learned(make(name, probabilities=False), dicts(X), y)
    estimator = ESTIMATORS[name](**GIVEN[name]).partial_fit(X[:1], y[:1], classes=[False, True])
    for row, label in zip(X[1:], y[1:], strict=True):
        estimator.learn_one(row, label)
    assert model.estimator.mistakes_ == estimator.mistakes_
    np.testing.assert_array_equal(model.estimator.support_set_, estimator.support_set_)
    np.testing.assert_array_equal(model.estimator.weights_, estimator.weights_)
    assert [model.predict_one(x) for x in dicts(X)] == estimator.predict(X).tolist()


def test_balanced_classes_are_those_of_the_estimator(reloaded):
    X, y = stream(T=120)
    y &= X[:, 1] > 0.5
    models = [classifiers.AutoClassifier(budget=20, class_weight=weight) for weight in (None, "balanced")]
    plain, balanced = (learned(model, dicts(X[:60]), y[:60]) for model in models)
    balanced = learned(reloaded(balanced, classifiers.load), dicts(X[60:]), y[60:])
    estimator = ESTIMATORS["AutoClassifier"](budget=20, class_weight="balanced")
    estimator.partial_fit(X[:1], y[:1], classes=[False, True])
    for row, label in zip(X[1:], y[1:], strict=True):
        estimator.learn_one(row, label)
    found = [balanced.predict_one(x) for x in dicts(X)]
    assert found == estimator.predict(X).tolist()
    # The rarer class is predicted more often.
    assert sum(found) > sum(map(plain.predict_one, dicts(X))) > 0


@pytest.fixture(scope="module")
def loops():
    """The states after single examples, by name."""
    return {}


@pytest.mark.parametrize(("name", "size"), paired(OF_EACH_FORM, [1, 7, 100, 10_000]))
def test_learn_many_is_the_loop(name, size, loops):
    X, y = stream()
    if name not in loops:
        loops[name] = state(learned(make(name), dicts(X), y))
    table, labels = pd.DataFrame(dicts(X)), pd.Series(y)
    many = make(name)
    for start in range(0, len(y), size):
        many.learn_many(table[start : start + size], labels[start : start + size])
    assert state(many) == loops[name]


@pytest.mark.parametrize("name", ["Forgetron", "Projectron"])
def test_predictions_for_a_table(name):
    X, y = stream(T=150)
    model = learned(make(name), dicts(X), y)
    table = pd.DataFrame(dicts(X), index=range(7, 157))
    # Projections of many examples are sums in another order.
    rel = 1e-9 if name == "Projectron" else 0.0
    shares = model.predict_proba_many(table)
    assert shares.index.equals(table.index)
    expected = pd.DataFrame([model.predict_proba_one(x) for x in dicts(X)], index=table.index)
    pd.testing.assert_frame_equal(shares, expected, rtol=rel, atol=0.0)
    predicted = model.predict_many(table)
    assert predicted.index.equals(table.index)
    assert predicted.tolist() == [model.predict_one(x) for x in dicts(X)]
    fresh = make(name)
    assert fresh.predict_many(table).tolist() == [None] * 150
    assert fresh.predict_proba_many(table).iloc[0].to_dict() == {False: 0.5, True: 0.5}


# -- keys --------------------------------------------------------------------------------------------------------------


@of_learner
def test_new_keys_change_nothing_that_was_learned(name):
    X, y = stream()
    examples = growing(X)
    full = np.array([[x.get(key, 0.0) for key in "abcdef"] for x in examples])
    model = make(name, probabilities=False)
    scores = []
    for x, label in zip(examples, y, strict=True):
        scores.append(model._score_of(x))
        # Keys of predictions are not remembered.
        model.predict_one({"never learned": 1.0, "nor this": 2.0} | x)
        model.learn_one(x, label)
    assert set(model.column_of) <= set("abcdef")
    if name in BY_COLUMN:
        return
    known = ESTIMATORS[name](**GIVEN[name]).partial_fit(full[:1], y[:1], classes=[False, True])
    expected = [0.0]
    for row, label in zip(full[1:], y[1:], strict=True):
        expected.append(known.decision_one(row))
        known.learn_one(row, label)
    assert scores == expected
    assert model.estimator.mistakes_ == known.mistakes_
    np.testing.assert_array_equal(model.estimator.weights_, known.weights_)
    # The same table of growing keys, in batches.
    many = make(name, probabilities=False)
    for start in range(0, len(y), 50):
        batch = examples[start : start + 50]
        many.learn_many(pd.DataFrame(batch).fillna(0.0), pd.Series(y[start : start + 50]))
    assert state(many) == state(model)


@pytest.mark.parametrize("name", ["Forgetron", "NOGD", "KLMS"])
def test_a_stream_may_begin_without_keys(name):
    model, known = (learned(make(name), [first, {"a": 1.0}, {}], [1, 0, 1]) for first in ({}, {"a": 0.0}))
    assert model._score_of({"a": 2.0}) == known._score_of({"a": 2.0}) != 0.0


def test_a_prediction_counts_keys_that_were_never_learned():
    X, y = stream(T=100)
    model = learned(make("Forgetron"), dicts(X), y)
    estimator = ESTIMATORS["Forgetron"](**GIVEN["Forgetron"]).fit(np.hstack([X, np.zeros((100, 2))]), y)
    x = dicts(X)[0]
    assert model._score_of({"new": 0.5} | x) == estimator.decision_one([*X[0], 0.5, 0.0])
    assert model._score_of({"new": 0.5} | x) != model._score_of(x)
    table = pd.DataFrame([{"new": 0.5, "other": 0.25} | x])
    assert model._scores_of(table) == estimator.decision_one([*X[0], 0.5, 0.25])


@pytest.mark.parametrize("table", [False, True])
def test_a_prediction_of_unknown_keys_changes_nothing_that_is_learned_later(table):
    """Which members `auto` has depends on the number of columns, until gamma is fixed."""
    X, y = stream(T=70)
    model, undisturbed = (CLASSIFIERS["AutoClassifier"](budget=10) for _ in range(2))
    for t, (x, label) in enumerate(zip(dicts(X), y, strict=True)):
        if t == 20:
            strange = x | {f"new {i}": 1.0 for i in range(40)}
            assert np.isfinite(model._scores_of(pd.DataFrame([strange])) if table else model._score_of(strange))
        for one in (model, undisturbed):
            one.learn_one(x, label)
    assert model.estimator.n_features_in_ == undisturbed.estimator.n_features_in_
    assert [model._score_of(x) for x in dicts(X)] == [undisturbed._score_of(x) for x in dicts(X)]


@pytest.mark.parametrize(("name", "T"), [("Forgetron", 700), ("NOGD", 100)])
def test_memory_is_bounded_although_there_are_ever_new_keys(name, T):
    rng = np.random.default_rng(0)
    given = GIVEN[name] | {"budget": 5, "gamma": 0.05}
    model, known = CLASSIFIERS[name](**given, probabilities=False), ESTIMATORS[name](**given)
    sizes = []
    for t in range(T):
        # Each word appears for a while.
        words, label = 2 * t + rng.choice(8, 3, replace=False), bool(rng.random() < 0.5)
        row = np.zeros(2 * T + 8)
        row[words] = 1.0
        x = {f"word {j}": 1 for j in words}
        assert model._score_of(x) == (known.decision_one(row) if t else 0.0)
        model.learn_one(x, label)
        known.learn_one(row, label, *([[False, True]] if t == 0 else []))
        sizes.append(len(model.column_of))
    # Examples of the last 64 rounds are also held, and columns are taken away only when there is no room.
    assert max(sizes) <= 2 * 3 * (5 + 2 * 64 + 1) < 2 * 700
    if T == 700:
        assert max(sizes[350:]) < 1.5 * max(sizes[:350])


# -- labels and probabilities ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("labels", "negative", "positive"), [
    ([True, False], False, True), ([np.True_, np.False_], False, True), ([1, 0], 0, 1),
    ([np.int64(1), np.int64(-1)], -1, 1), (["spam", "ham"], "spam", "ham"), ([2, 1], 2, 1),
])  # fmt: skip
def test_labels(labels, negative, positive):
    X, y = stream(T=60)
    model = make("Forgetron")
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {False: 0.5, True: 0.5}
    model.learn_one(dicts(X)[0], labels[0])
    assert sum(model.predict_proba_one({"a": 1.0}).values()) == 1.0
    assert model.predict_one({"a": 1.0}) in model.labels.values()
    learned(model, dicts(X), [labels[int(label)] for label in y])
    assert model.labels == {0: negative, 1: positive}
    assert type(model.predict_one({"a": 1.0})) is type(negative)
    assert set(model.predict_proba_one({})) == {negative, positive}


@pytest.mark.parametrize("name", ["PassiveAggressive", "Forgetron", "Ahpatron", "NOGD"])
def test_several_classes(name):
    data = list(datasets.ImageSegments().take(140))
    names, keys = SEGMENTS, list(data[0][0])
    X = np.array([[x[key] for key in keys] for x, _ in data])
    y = np.array([label for _, label in data])
    model = CLASSIFIERS[name](gamma=1e-4, classes=names)
    shares = []
    for x, label in data:
        shares.append(model.predict_proba_one(x))
        model.learn_one(x, label)
    known = ESTIMATORS[name](gamma=1e-4).partial_fit(X, y, classes=names)
    assert model.estimator.mistakes_ == known.mistakes_
    np.testing.assert_allclose(model.estimator.weights_, known.weights_, rtol=0 if name != "NOGD" else 1e-6)
    assert model.predict_many(pd.DataFrame(X, columns=keys)).tolist() == known.predict(X).tolist()
    assert all(list(share) == names for share in shares)
    np.testing.assert_allclose([sum(share.values()) for share in shares], 1.0)
    # Better than always the same probability.
    loss = -np.mean([np.log(share[label]) for share, label in zip(shares, y, strict=True)])
    assert loss < np.log(len(names))


@pytest.mark.parametrize("name", ["Forgetron", "LinearPerceptron", "NOGD", "FOGD"])
def test_one_learner_per_class_and_keys_that_appear_later(name):
    X, _ = stream()
    codes = np.random.default_rng(1).integers(3, size=len(X))
    examples = growing(X)
    model = learned(make(name, classes=[0, 1, 2], probabilities=False), examples, codes)
    alone = [learned(make(name, probabilities=False), examples, codes == c) for c in range(3)]
    for x in examples[::10]:
        expected = [one._score_of(x) for one in alone]
        np.testing.assert_allclose(model._score_of(x), expected, atol=1e-9)
        assert model.predict_one(x) == np.argmax(expected)
    if name not in BY_COLUMN:
        full = np.array([[x.get(key, 0.0) for key in "abcdef"] for x in examples])
        known = ESTIMATORS[name](**GIVEN[name]).partial_fit(full, codes)
        assert known.mistakes_ == model.estimator.mistakes_
        np.testing.assert_allclose(model.estimator.weights_, known.weights_, atol=1e-9)


def test_one_vs_rest_by_river():
    model = multiclass.OneVsRestClassifier(classifiers.Forgetron(budget=20, gamma=1e-4))
    metric = evaluate.progressive_val_score(datasets.ImageSegments().take(200), model, metrics.Accuracy())
    assert metric.get() > 0.4


def test_probabilities_are_fitted_to_the_scores_before_each_round():
    """As those of the metrics, which tests/runner/test_metrics.py compares with an online Newton step."""
    X, y = stream()
    model, raw = (make("Forgetron", budget=100, probabilities=asked) for asked in (True, False))
    calibration, losses = Calibration(), []
    for x, label in zip(dicts(X), y.tolist(), strict=True):
        f = np.float64(raw._score_of(x))
        p = calibration.of(f)
        assert list(model.predict_proba_one(x).values()) == pytest.approx(p, abs=1e-9)
        losses.append(-np.log(p[int(label)]))
        calibration.learn(f, int(label))
        model.learn_one(x, label)
        raw.learn_one(x, label)
    assert np.mean(losses) < np.log(2)
    raises(NotImplementedError, r"Forgetron has no probabilities: .* probabilities=True", raw.predict_proba_one, {})


# -- life in river -----------------------------------------------------------------------------------------------------


def test_pipelines_delays_and_drift():
    data = list(datasets.Phishing().take(200))
    for wrap in (
        lambda model: preprocessing.StandardScaler() | model,
        lambda model: drift.DriftRetrainingClassifier(model, drift.binary.DDM()),
    ):
        model = wrap(classifiers.Forgetron(budget=50, gamma=0.1))
        metric = evaluate.progressive_val_score(data, model.clone(), metrics.ROCAUC(), moment=None, delay=None)
        assert metric.get() > 0.8
    delayed = [({"moment": t, **x}, y) for t, (x, y) in enumerate(data)]
    model = preprocessing.StandardScaler() | classifiers.Forgetron(budget=50, gamma=0.1)
    metric = evaluate.progressive_val_score(iter(delayed), model, metrics.Accuracy(), delay=20)
    assert metric.get() > 0.7


@pytest.mark.parametrize("name", ["Forgetron", "AutoClassifier"])
def test_a_saved_model_continues_where_it_stopped(name, reloaded):
    X, y = stream()
    examples = growing(X)
    whole, parts = learned(make(name), examples, y), make(name)
    for start in range(0, 80, 25):
        learned(parts, examples[start : start + 25], y[start : start + 25])
        parts = reloaded(parts, classifiers.load)
    assert type(parts) is type(whole)
    assert state(parts) == state(whole)
    assert reloaded(make(name), classifiers.load).predict_one({"a": 1.0}) is None
    numbers = classifiers.KRLS(budget=5)
    numbers.learn_one({"a": 1.0, ("a", 2): 3.0}, 2.5)
    assert reloaded(numbers, classifiers.load).predict_one({"a": 1.0}) == numbers.predict_one({"a": 1.0})
    said = r"not a model of budgetrun\.river that was saved, but a Forgetron"
    raises(InputError, said, reloaded, budgetrun.Forgetron(), classifiers.load)


def test_words():
    X, y = stream()
    model = learned(make("Forgetron", missing="refuse"), dicts(X), y)
    before = state(model)
    refusing = make("CKS", missing="refuse")
    acts = model.predict_one, lambda x: model.learn_one(x, True), lambda x: refusing.learn_one(x, True)
    for x, sentence in [
        ({"a": "red"}, "feature 'a' is the text 'red': use preprocessing.OneHotEncoder() | model"),
        ({"b": None}, "feature 'b' must be a finite number, got None"),
        ({"b": float("nan")}, "feature 'b' must be a finite number, got nan"),
        ({"a": 1.0, "c": float("inf")}, "feature 'c' must be a finite number, got inf"),
        ({"b": 10**400}, "feature 'b' must be a finite number, got 1"),
    ]:
        for act in acts:
            raises(ValueError, re.escape(sentence), act, x)
    for table, sentence in [
        (pd.DataFrame({"a": ["red"]}), "feature 'a' is the text 'red': use preprocessing.OneHotEncoder() | model"),
        (pd.DataFrame({"a": [pd.Timestamp(0)]}), "feature 'a' must be a finite number, got Timestamp"),
        (pd.DataFrame([{"a": 1.0}, {"b": 1.0}]), "row 0, feature 'b': must be a finite number, got nan; a missing key"),
    ]:
        raises(ValueError, re.escape(sentence), model.learn_many, table, pd.Series([True] * len(table)))
    raises(ValueError, "X has 80 rows, but y has 3 labels", model.learn_many, pd.DataFrame(dicts(X)), pd.Series(y[:3]))
    model.learn_many(pd.DataFrame(dicts(X))[:0], pd.Series(y[:0]))
    assert len(model.predict_many(pd.DataFrame(dicts(X))[:0])) == 0
    assert state(model) == before

    for name in ("Forgetron", "Perceptron"):
        with pytest.raises(ValueError, match="'c' is not among the classes 'a', 'b': give all of them in classes"):
            learned(make(name), [{"x": 1.0}] * 3, "abc")
    known = learned(make("Perceptron"), [{"x": 1.0}, {"x": -1.0}], "ab")
    before = state(known)
    with pytest.raises(ValueError, match=re.escape("in classes, or use multiclass.OneVsRestClassifier(model)")):
        known.learn_one({"x": 1.0}, "c")
    assert state(known) == before
    for classes in (["a"], ["a", "a", "b"]):
        raises(ValueError, "classes must be at least two different labels, got ", make, "Perceptron", classes=classes)
    raises(TypeError, "Forgetron has no argument 'bugdet'", classifiers.Forgetron, bugdet=3)
    with pytest.raises(ValueError, match="budget must be an integer >= 1, got 0"):
        classifiers.Forgetron(budget=0).learn_one({"a": 1.0}, True)


def test_after_an_overflow_it_begins_again():
    X, y = stream()
    model = learned(make("Projectron", kernel="polynomial", degree=3), dicts(X), y)
    with pytest.raises(budgetrun.base.errors.OutOfRangeError):
        learned(model, [{"a": 1e60}, {"a": -1e60}] * 3, [True, False] * 3)
    learned(model, dicts(X), y)
    assert np.isfinite(model._score_of(dicts(X)[0]))


def test_without_river_a_sentence_says_what_to_install():
    program = "import sys; sys.modules['river'] = None; import budgetrun.river"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    said = "ImportError: budgetrun.river needs river: type pip install 'budgetrun[river]'"
    assert done.stderr.splitlines()[-1] == said


def seen(model):
    """What a user sees of a model, and its score of an example."""
    score = model.predict_proba_one({"a": 1.0, "b": 2.0}) if hasattr(model, "labels") else model.predict_one({"a": 1.0})
    rounds = 0 if model.estimator is None else model.estimator.n_rounds_
    return dict(getattr(model, "labels", {})), dict(model.column_of), rounds, score


TABLE = pd.DataFrame({"a": [1.0, 2.0], "c": [0.5, 0.0]})
REFUSED_CALLS = {
    "a value that is not finite, with a new label": ("learn_one", {"a": np.nan}, "junk"),
    "a value of a new key": ("learn_one", {"new": np.inf}, "yes"),
    "a text": ("learn_one", {"new": 1.0, "other": "text"}, "junk"),
    "a complex number": ("learn_one", {"new": 1j}, "junk"),
    "a missing label": ("learn_one", {"new": 1.0}, None),
    "a label that is not a number": ("learn_one", {"new": 1.0}, np.nan),
    "a third label": ("learn_many", TABLE, pd.Series(["one", "two"])),
    "other lengths": ("learn_many", TABLE, pd.Series(["junk"])),
    "a table with a gap": ("learn_many", TABLE * [1, np.nan], pd.Series(["junk", "yes"])),
    "two columns of one name": ("learn_many", TABLE.set_axis(["a", "a"], axis=1), pd.Series(["junk", "yes"])),
    "complex columns": ("learn_many", TABLE * 1j, pd.Series(["junk", "yes"])),
}


@pytest.mark.parametrize("rounds", [0, 1, 30])
@pytest.mark.parametrize("call", REFUSED_CALLS)
def test_a_refused_call_changes_nothing(call, rounds):
    model = make("Forgetron", missing="refuse")
    for x in growing(stream()[0][: max(rounds, call == "a third label")]):
        model.learn_one(x, "yes")
    before = seen(model)
    method, x, y = REFUSED_CALLS[call]
    raises(ValueError, r"label|feature|named|rows", getattr(model, method), x, y)
    assert seen(model) == before


@pytest.mark.parametrize("y", [None, np.nan, np.inf, "text", 1j, [1.0]])
def test_a_refused_target_changes_nothing(y):
    model = classifiers.REGRESSORS["KLMS"](gamma=0.5, step=0.1)
    model.learn_one({"a": 1.0}, 2.0)
    before = seen(model)
    raises(ValueError, "the label must be a finite number", model.learn_one, {"new": 1.0}, y)
    assert seen(model) == before


# -- regressors --------------------------------------------------------------------------------------------------------


# Its checks take seconds for each, and all have one adapter.
@pytest.mark.parametrize("name", REGRESSORS if EXHAUSTIVE else ["KLMS", "FOGDRegressor"])
def test_check_regressor(name, monkeypatch):
    if not (EXHAUSTIVE and name == "KLMS"):
        monkeypatch.setattr(checks, "_yield_datasets", lambda model, scale=1: [list(datasets.TrumpApproval().take(10))])
    checked(make(name), {"check_shuffle_features_no_impact"} if name in BY_COLUMN else set())


def test_every_regression_learner_has_a_regressor():
    assert REGRESSORS.keys() == REGRESSION.keys()
    assert classifiers.KRLS is REGRESSORS["KRLS"]
    for name, made in REGRESSORS.items():
        assert list(inspect.signature(made).parameters) == list(inspect.signature(REGRESSION[name]).parameters)
        for word in ("probabilities", "mistake", "classes"):
            assert word not in made.__doc__


@pytest.mark.parametrize("name", REGRESSORS)
def test_the_numbers_of_the_estimator_one_by_one_and_in_tables(name):
    X, _ = stream()
    y = targets(X)
    model, estimator = make(name), REGRESSION[name](**GIVEN[name])
    assert model.predict_one({"a": 1.0}) == 0.0
    for x, row, label in zip(dicts(X), X, y, strict=True):
        if hasattr(estimator, "_group"):
            assert model.predict_one(x) == estimator.predict_one(row)
        model.learn_one(x, label)
        estimator.learn_one(row, label)
    np.testing.assert_array_equal(model.estimator.weights_, estimator.weights_)
    table = pd.DataFrame(dicts(X), index=range(7, 7 + len(y)))
    found = model.predict_many(table)
    assert found.index.equals(table.index)
    np.testing.assert_allclose(found, [model.predict_one(x) for x in dicts(X)], rtol=1e-9, atol=1e-9)
    for size in (1, 50, 1000) if EXHAUSTIVE else (50,):
        many = make(name)
        assert many.predict_many(table).tolist() == [0.0] * len(y)
        for start in range(0, len(y), size):
            many.learn_many(table[start : start + size], pd.Series(y[start : start + size]))
        np.testing.assert_array_equal(many.estimator.weights_, estimator.weights_)


@pytest.mark.parametrize("name", [name for name in REGRESSORS if name not in BY_COLUMN])
def test_keys_may_come_and_go(name):
    """The numbers are those of a run in which all keys are known from the start."""
    X, _ = stream(T=100)
    examples, y = growing(X, every=15), targets(X)
    whole = [{key: x.get(key, 0.0) for key in "abcdef"} for x in examples]
    grown, known = learned(make(name), examples, y), learned(make(name), whole, y)
    grown = pickle.loads(pickle.dumps(grown))
    np.testing.assert_array_equal(grown.estimator.weights_, known.estimator.weights_)
    new = {"a": 0.5, "new": 2.0}
    columns = dict(grown.column_of)
    assert grown.predict_one(new) == pytest.approx(known.predict_one(new), rel=1e-12, abs=1e-15)
    assert grown.column_of == columns


def test_progressive_validation_of_a_regressor():
    model = preprocessing.StandardScaler() | classifiers.KRLS(budget=50, gamma=0.1)
    found = evaluate.progressive_val_score(datasets.TrumpApproval().take(300), model, metrics.MAE())
    assert 0 < found.get() < 5
