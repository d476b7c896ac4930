"""The classifiers: scikit-learn's conventions, and the same numbers as the references."""

import copy
import doctest
import pickle
import re
import threading
from functools import partial

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from cases import EXHAUSTIVE, OF_PRODUCTS, all_cases, firsts, one_of_each_form, paired, random_stream
from estimating import failed_checks, in_pieces
from faults import message, raises
from hypothesis import Phase, settings
from hypothesis import given as drawn
from hypothesis import strategies as st
from reference import kernel_expansion, multiclass
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info

import budgetrun
from budgetrun import learners
from budgetrun.base.errors import InputError
from budgetrun.engine.hypotheses.points import Points
from budgetrun.estimators import CLASSIFIERS, base
from budgetrun.kernels.spans import SpannedFunction
from budgetrun.state import save_state

BY_NAME = {next(iter(made._learners.values())).name: made for made in CLASSIFIERS.values()}
SEVERAL = sorted(learners.registry("multiclass"))
CHECKED = {next(iter(CLASSIFIERS[name]._learners.values())).name for name in one_of_each_form(CLASSIFIERS)}
AVERAGED = sorted(name for name, made in BY_NAME.items() if "averaged" in made().get_params())
BINARY_CASES = {case_id: rest for case_id, *rest in all_cases()}
MULTICLASS_CASES = {f"multiclass-{case_id}": rest for case_id, *rest in all_cases("MULTICLASS_CASES")}


def make(name, **given):
    return BY_NAME[name](**given)


def test_every_learner_has_a_classifier():
    assert sorted(BY_NAME) == sorted(learners.registry())
    assert set(CLASSIFIERS) >= {"Perceptron", "Forgetron", "CKS", "PassiveAggressive", "ProjectronPlusPlus"}
    assert budgetrun.Forgetron is CLASSIFIERS["Forgetron"]


def coded_stream(T=150, n_classes=4, seed=3):
    """Examples around a centre for each class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=T)
    angle = 2 * np.pi * codes / n_classes
    return rng.normal(size=(T, 2)) + 1.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1), codes


# The checks are about what all classes share, and take seconds for each.
@pytest.mark.parametrize(("name", "given"), [
    *((name, {}) for name in (sorted(CHECKED) if EXHAUSTIVE else ("forgetron", "nogd"))),
    *((name, {"averaged": True}) for name in AVERAGED[: 2 if EXHAUSTIVE else 1]),
    *((name, {"probabilities": True}) for name in ("forgetron", "passive_aggressive")[: 2 if EXHAUSTIVE else 1]),
])  # fmt: skip
def test_check_estimator(name, given):
    failed = failed_checks(make(name, **given))
    if given.get("probabilities"):
        # `predict` goes by the sign of the score, and Platt scaling has an offset, so the two can differ near 0.
        assert all(c.startswith("check_classifiers_train") and "Arrays are not equal" in e for c, e in failed)
        return
    # A dict of class weights is refused: a threshold follows the labels, and examples have no weights.
    refused = [("check_class_weight_classifiers", "class_weight must be 'balanced', got a mapping")]
    assert failed == (refused if name == "auto" else [])


# The reference of `auto` for several classes takes as long as all others.
CUT = [i for i in (*firsts(BINARY_CASES), *firsts(MULTICLASS_CASES)) if EXHAUSTIVE or "multiclass-auto" not in i]


@pytest.mark.parametrize("case_id", CUT)
def test_same_as_the_reference_however_the_stream_is_cut(case_id):
    several = case_id in MULTICLASS_CASES
    name, variant, parameters, function = (MULTICLASS_CASES if several else BINARY_CASES)[case_id]
    X, codes = coded_stream() if several else random_stream(T=150)
    # In the order of the codes, and given in another.
    classes = np.array(["north", "south", "up", "west"]) if several else np.array([-1, 1])
    y = classes[codes] if several else codes
    k = kernel_expansion.gaussian(0.5)
    trace = function(X, codes, k, *([4] if several else []))
    given = parameters | ({"variant": variant} if variant else {})
    whole = make(name, gamma=0.5, **given).fit(X, y)
    pieces = in_pieces(make(name, gamma=0.5, **given), X, y, classes=classes[::-1])
    form = learners.find(name, variant).form
    # The two programs solve linear systems for weights differently.
    solved = several or form.averages
    alpha = dict(zip(trace.active[-1], trace.alpha[-1], strict=True))
    # Some hypotheses are not kernel expansions over their support set, and merged points are no examples.
    final, merged = getattr(trace, "final", None), variant == "merging" or form is Points
    points = np.random.default_rng(5).normal(size=(3, 2))
    if several:
        scores = [final(x) if final else multiclass.values(alpha, X, x, k, 4) for x in points]
    else:
        scores = [final(x) if final else kernel_expansion.value(alpha, X, x, k) for x in points]
    for fitted in (whole, pieces):
        assert list(fitted.classes_) == list(classes)
        assert (fitted.mistakes_, fitted.n_rounds_) == (sum(trace.mistakes), 150)
        expected = np.reshape(trace.alpha[-1], (-1, 4) if several else -1)
        np.testing.assert_allclose(fitted.weights_.T, expected, rtol=1e-9, atol=1e-8 if solved else 1e-12)
        if merged or (several and name == "dualsgd"):
            continue
        np.testing.assert_array_equal(fitted.support_set_, X[trace.active[-1]])
        if several:
            np.testing.assert_array_equal(fitted.predict(points), classes[np.argmax(scores, axis=1)])
        np.testing.assert_allclose(fitted.decision_function(points), scores, atol=1e-9 if solved or final else 1e-12)


@pytest.mark.parametrize(
    ("name", "n_classes"), [*((name, 2) for name in AVERAGED), *((name, 4) for name in AVERAGED if name in SEVERAL)]
)
def test_averaged_is_the_mean_of_the_hypotheses_that_predicted(name, n_classes):
    X, codes = coded_stream(n_classes=n_classes)
    points = np.random.default_rng(5).normal(size=(7, 2))
    model = make(name, gamma=0.5)
    scores = [np.zeros((7, n_classes)) if n_classes > 2 else np.zeros(7)]
    for t in range(len(X)):
        model.partial_fit(X[t : t + 1], codes[t : t + 1], classes=range(n_classes))
        scores.append(model.decision_function(points))
    # The last hypothesis has not predicted yet.
    mean = np.mean(scores[:-1], axis=0)
    averaged = make(name, gamma=0.5, averaged=True).fit(X, codes)
    np.testing.assert_allclose(averaged.decision_function(points), mean, atol=1e-9)
    model.set_params(averaged=True)
    np.testing.assert_allclose(model.decision_function(points), mean, atol=1e-9)
    np.testing.assert_array_equal(averaged.weights_, make(name, gamma=0.5).fit(X, codes).weights_)
    np.testing.assert_array_equal(averaged.predict(points), mean.argmax(axis=1) if n_classes > 2 else mean >= 0)


def test_hierarchy_goes_by_the_names_of_the_labels():
    X, codes = coded_stream()
    expected = budgetrun.ProjectronPlusPlus(hierarchy="(0 1) (2 3)").fit(X, codes).decision_function(X)
    # Classes are in ascending order, and text sorts "10" before "9".
    for labels, hierarchy in [
        (["10", "11", "8", "9"], "(8 9) (11 10)"),
        ([-1.0, 0.0, 2.0, 3.0], "(-1 0) (3 2)"),
        (["a", "b", "c", "d"], "(a b)(c d)"),
    ]:
        model = budgetrun.ProjectronPlusPlus(hierarchy=hierarchy).fit(X, np.array(labels)[codes])
        np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-12)
    apart = budgetrun.ProjectronPlusPlus().fit(X, codes).decision_function(X)
    assert np.abs(apart - expected).max() > 0.1
    unmatched = "must be labels in groups, e.g. '(0 6 8) (3 5) 1 2'; '(0 1) (2 3' has an unmatched '('"
    for hierarchy, sentence in [
        ("(0 1) (2 3 4)", "has the label 4, which is not among the classes [0, 1, 2, 3]"),
        ("(0 1) 2", "lacks the class 3: it must contain each of [0, 1, 2, 3]"),
        ("(0 1) (2 3", unmatched),
    ]:
        with pytest.raises(ValueError, match=re.escape(f"hierarchy {sentence}")):
            budgetrun.ProjectronPlusPlus(hierarchy=hierarchy).fit(X, codes)


def test_sigma_is_another_way_to_say_gamma():
    X, y = random_stream()
    one = budgetrun.RBP(budget=10, sigma=2.0).fit(X, y)
    other = budgetrun.RBP(budget=10, gamma=0.125).fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X))
    assert clone(one).get_params()["sigma"] == 2.0


def test_seed_is_the_learner_s_own():
    X, y = random_stream()
    runs = [budgetrun.RBP(budget=10, seed=s, gamma=0.5).fit(X, y).weights_.tolist() for s in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize(("given", "sentence"), [
    ({"budget": 0}, "budget must be an integer >= 1, got 0"),
    ({"budget": 2.5}, "budget must be an integer >= 1, got 2.5"),
    ({"variant": "bold"}, "variant must be one of basic, greedy, self_tuned, simplified, got 'bold'"),
    ({"kernel": "gauss"}, "kernel must be one of gaussian, linear, polynomial, multitask, got 'gauss'"),
    ({"gamma": -1.0}, "gamma must be a number > 0, got -1.0"),
    ({"gamma": 1.0, "sigma": 1.0}, "the gaussian kernel takes either gamma or sigma (gamma = 1 / (2 sigma^2))"),
    ({"tie": "skip"}, "tie must be one of mistake, positive, got 'skip'"),
    ({"dtype": "float16"}, "dtype must be one of float64, float32, got 'float16'"),
])  # fmt: skip
def test_bad_parameters(given, sentence):
    X, y = random_stream()
    raises(ValueError, re.escape(sentence), budgetrun.Forgetron(**given).fit, X, y)


def test_two_learners_under_one_name():
    X, y = random_stream()
    X4, codes = coded_stream()
    sentence = r"hierarchy is not a parameter of projectron\+\+ for two classes: leave it out"
    raises(ValueError, sentence, budgetrun.ProjectronPlusPlus(hierarchy="(-1 1)").fit, X, y)
    sentence = r"test is not a parameter of forgetron\(basic\) for two classes: leave it out"
    raises(ValueError, sentence, budgetrun.Forgetron(variant="basic", test="cumulative").fit, X, y)
    with pytest.raises(ValueError, match="tie must be mistake with more than two classes, got 'positive'"):
        budgetrun.Perceptron(tie="positive").fit(X4, codes)
    raises(ValueError, "averaged must be one of False, True, got 'yes'", budgetrun.Perceptron(averaged="yes").fit, X, y)
    raises(TypeError, "RBP has no argument 'averaged'", budgetrun.RBP, averaged=True)
    raises(ValueError, "eta must be a number > 0, got 0", budgetrun.ProjectronPlusPlus(eta=0).fit, X, y)
    raises(ValueError, re.escape("C^2 + 2 (1 - alpha) B C must be 1"), budgetrun.ProjectedALMA(C=1.0).fit, X, y)
    # The same object can be fitted to two classes and then to more.
    model = budgetrun.PassiveAggressive().fit(X, y)
    assert model.decision_function(X).shape == (len(X),)
    assert model.fit(X4, codes).decision_function(X4).shape == (len(X4), 4)
    assert model.weights_.shape == (4, len(model.support_set_))
    # Classes that have not occurred yet.
    early = budgetrun.Projectron().partial_fit(X4[:1], codes[:1], classes=[7, *range(4)])
    assert early.decision_function(X4).shape == (len(X4), 5)
    with pytest.raises(ValueError, match=r"y has labels \[9\] that are not among the classes \[0, 1, 2, 3, 7\]"):
        early.partial_fit(X4[:1], [9])
    assert all(make(name).__sklearn_tags__().classifier_tags.multi_class for name in BY_NAME)


def test_bad_calls():
    X, y = random_stream()
    raises(TypeError, "Forgetron has no argument 'bugdet'; it takes variant, budget", budgetrun.Forgetron, bugdet=3)
    with pytest.raises(TypeError, match="Forgetron has no argument 'class_weight'; the rule of its paper gives every"):
        budgetrun.Forgetron(class_weight="balanced")
    for read in (lambda model: model.predict(X), lambda model: model.n_rounds_):
        message(read, budgetrun.CKS(), kind=NotFittedError)
    with pytest.raises(ValueError, match=r"y must have at least two classes, got one class, \[1.0\]; in partial_fit"):
        budgetrun.CKS().fit(X, np.ones(len(y)))
    sentence = "y must be class labels; for classes made from numbers, give for example y > numpy.median(y)"
    raises(ValueError, f"Unknown label type: continuous.*{re.escape(sentence)}", budgetrun.CKS().fit, X, X[:, 0])
    with pytest.raises(ValueError, match="CKS takes no sample_weight: its rule gives every example"):
        budgetrun.CKS().fit(X, y, sample_weight=np.ones(len(y)))
    raises(TypeError, r"CKS\.fit has no argument 'weights'", budgetrun.CKS().partial_fit, X, y, weights=1)
    with pytest.raises(ValueError, match=r"y has labels \[5\] that are not among the classes \[-1, 1\]"):
        budgetrun.CKS().partial_fit(X, y, classes=[-1, 1]).partial_fit(X, np.where(y > 0, 5, -1))
    raises(ValueError, "NaN", budgetrun.CKS(missing="refuse").fit, np.where(X > 0, np.nan, X), y)
    for dicts in ([{"a": 1.0}, {"a": 2.0}], {"a": 1.0}, np.array([{"a": 1.0}])):
        said = "budgetrun.CKS takes arrays, not dicts; for dicts use budgetrun.river.CKS"
        raises(ValueError, re.escape(said), budgetrun.CKS().fit, dicts, [0, 1])
    assert budgetrun.RBP(budget=20.0).fit(X, y)._member.learner.budget == 20
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = budgetrun.Nothing


def test_what_scikit_learn_takes_but_would_be_learned_wrongly_is_refused():
    X, y = random_stream()
    model = budgetrun.RBP(budget=9).fit(X, y)
    days = np.arange(len(y)).astype("datetime64[D]")
    wrong = sp.csr_array(X)
    wrong.indices[0] = 99
    for given, sentence in (
        (pd.DataFrame({0: days, "a": X[:, 0]}), r"^column 0 has dates or times: give numbers"),
        (days[:, None], r"^X has dates or times"),
        (np.ma.masked_array(X, X > 1), r"^the mask of a masked array would be lost: give X.filled\(numpy.nan\)$"),
        (pd.DataFrame({"a": X[:, 0], "kind": "red"}), r"^column 'kind' is text: encode it first, as OneHotEncoder"),
        ([[10**400, *x[1:]] for x in X.tolist()], r"^X has a number that is too large for float64"),
        (wrong, r"^indices must be < "),
    ):
        raises(ValueError, sentence, budgetrun.RBP().fit, given, y)
        if not isinstance(given, pd.DataFrame):
            raises(ValueError, sentence, model.partial_fit, given, y)
            raises(ValueError, sentence, model.predict, given)
    raises(ValueError, r"^a class is missing: \[", partial(budgetrun.RBP().partial_fit, classes=[-1, 1, np.nan]), X, y)
    fleet = budgetrun.Fleet("1MB", gamma=0.5, dtype="sparse")
    raises(ValueError, r"^indices must be < ", fleet.partial_fit, ["a"] * len(y), wrong, y)


def test_overflow_is_an_error_and_not_a_nan():
    X = np.full((4, 1), 1e200)
    with pytest.raises(FloatingPointError, match="kernel overflows float64 on this data"):
        budgetrun.Perceptron(kernel="polynomial", degree=3).fit(X, [0, 1, 0, 1])


# -- any form of rows, in any order --------------------------------------------------------------------------------

MIXED_T = 160
GRID = np.random.default_rng(11).integers(-3, 4, size=(MIXED_T, 6))
GRID = GRID * (np.random.default_rng(12).random((MIXED_T, 6)) < 0.4)
MIXED = {
    "integers": GRID.astype(float),
    "bits": (GRID > 0).astype(float),
    "floats": GRID + np.where(GRID, np.random.default_rng(13).normal(size=GRID.shape), 0.0),
    "bits, then floats": np.where(np.arange(MIXED_T)[:, None] < 60, GRID > 0, GRID / 3),
}
MIXED_Y = np.random.default_rng(14).integers(3, size=MIXED_T)
COLUMNS = [f"x{i}" for i in range(6)]
FORMS = {
    "dense": lambda X: X, "list": lambda X: X.tolist(), "csr": sp.csr_array, "csc": sp.csc_matrix, "coo": sp.coo_array,
    "pandas": lambda X: pd.DataFrame(X, columns=COLUMNS), "polars": lambda X: pl.DataFrame(X, schema=COLUMNS),
}  # fmt: skip


def facts(model, points):
    rows = model.support_set_
    rows = rows.toarray() if sp.issparse(rows) else rows
    scores = [model.decision_function(form(points)).tobytes() for form in (FORMS["dense"], FORMS["csr"])]
    return [model.n_rounds_, model.mistakes_, rows.tolist(), model.weights_.tolist(), *scores]


def mixed_calls(data, model, X, y, classes, path=None):
    """Play a stream in calls of any form and length, with predictions, copies and files in between."""
    at = 0
    while at < len(X):
        how = data.draw(st.sampled_from([*FORMS, "rows", "rows"]))
        end = min(len(X), at + data.draw(st.sampled_from([1, 2, 63, 64, 65, 100])))
        if how == "rows":
            for t in range(at, end):
                model.learn_one(X[t], y[t], classes=classes if at == 0 else None)
        else:
            model.partial_fit(FORMS[how](X[at:end]), y[at:end], classes=classes)
        if data.draw(st.booleans()):
            model.decision_function(FORMS[data.draw(st.sampled_from([*FORMS]))](X[:3]))
            model.predict_one(X[0])
        if path is not None and data.draw(st.booleans()):
            model.save(path)
            model = budgetrun.load(path)
        at = end
    return model


@pytest.mark.filterwarnings("ignore:X (does not have|has) .*feature names")
# Shrinking would take minutes.
@settings(max_examples=200 if EXHAUSTIVE else 14, deadline=None, phases=set(Phase) - {Phase.shrink})
@drawn(data=st.data())
def test_calls_of_any_form_are_one_dense_fit(data, tmp_path_factory):
    name = data.draw(st.sampled_from(sorted(BY_NAME)))
    several = name in SEVERAL and data.draw(st.booleans())
    X, y = MIXED[data.draw(st.sampled_from(sorted(MIXED)))], MIXED_Y if several else MIXED_Y > 0
    own = {"budget": 10} if "budget" in BY_NAME[name]().get_params() else {}
    classes = [0, 1, 2] if several else [False, True]
    whole = make(name, gamma=0.3, **own).fit(X, y)
    mixed = make(name, gamma=0.3, **own)
    mixed = mixed_calls(data, mixed, X, y, classes, tmp_path_factory.mktemp("mixed") / "model")
    one, other = facts(whole, X), facts(mixed, X)
    assert one[:3] == other[:3]
    if issubclass(learners.find(name).form, OF_PRODUCTS):
        np.testing.assert_allclose(mixed.weights_, whole.weights_, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(mixed.decision_function(X), whole.decision_function(X), rtol=1e-7, atol=1e-8)
    else:
        assert one == other


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("made", [
    *BY_NAME.values(),
    partial(budgetrun.Logistic, inputs="standardised", splines=True),
    partial(budgetrun.LeastSquares, inputs="standardised"),
    budgetrun.AutoRegressor,
], ids=lambda made: getattr(made, "__name__", "standardised"))  # fmt: skip
def test_rows_of_any_form_have_the_same_scores(made):
    X = MIXED["floats"][:100]
    own = {"budget": 10} if "budget" in made().get_params() else {}
    dense, sparse = (made(gamma=0.3, **own).fit(form(X), MIXED_Y[:100] > 0) for form in (np.asarray, sp.csr_array))
    score = "predict" if is_regressor(dense) else "decision_function"
    for form in FORMS.values():
        np.testing.assert_allclose(getattr(sparse, score)(form(X)), getattr(dense, score)(X), rtol=1e-7, atol=1e-8)


MODELS_WITH_PROBABILITIES = {
    "rbp": budgetrun.RBP(budget=10, gamma=1.0, probabilities=True),
    "float32": budgetrun.PassiveAggressive(dtype="float32", gamma=1.0, probabilities=True),
    "averaged": budgetrun.Perceptron(averaged=True, gamma=1.0, probabilities=True),
    "selecting": budgetrun.SelectingClassifier(budgetrun.RBP(budget=10), grid={"gamma": [0.1, 1]}, probabilities=True),
}


@pytest.mark.parametrize(
    ("name", "n_classes"),
    [*paired(MODELS_WITH_PROBABILITIES, [2, 3]), pytest.param("rbp", 2, marks=pytest.mark.compiled)],
)
def test_probabilities_are_fitted_to_the_scores_before_each_round(name, n_classes, reloaded):
    X, y = MIXED["floats"][:100], MIXED_Y[:100] % n_classes
    whole, loop, cut = (clone(MODELS_WITH_PROBABILITIES[name]) for _ in range(3))
    whole.partial_fit(X, y, classes=range(n_classes))
    loop.learn_one(X[0], y[0], classes=range(n_classes))
    calibration = copy.deepcopy(loop._calibration)
    for row, label in zip(X[1:], y[1:], strict=True):
        calibration.learn(np.float64(loop.decision_one(row)), label)
        loop.learn_one(row, label)
    for start, end in ((0, 7), (7, 8), (8, 80), (80, 100)):
        cut.partial_fit(X[start:end], y[start:end], classes=range(n_classes))
        cut = reloaded(cut)
    expected = np.array([calibration.of(score) for score in whole.decision_function(X).astype(float)])
    # In its rounds, the engine adds to scores and takes away from them; `decision_one` computes sums.
    np.testing.assert_allclose(whole.predict_proba(X), expected, rtol=1e-5 if name == "float32" else 1e-9)
    for model in (loop, cut):
        np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    assert expected.shape == (100, n_classes)
    np.testing.assert_allclose(expected.sum(axis=1), 1.0)


def test_probabilities_have_to_be_asked_for():
    X, y = random_stream()
    model = budgetrun.Perceptron().fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match=r"^Perceptron has no probabilities: create it with probabilities=True$"):
        model.predict_proba(X)
    model.probabilities = True
    raises(ValueError, "fitted with probabilities=False, now True: call fit to start again", model.predict_proba, X)
    # The scores that they are fitted to stay of one kind.
    model.fit(X, y).averaged = True
    for call in (model.predict_proba, lambda X: model.partial_fit(X, y), lambda X: model.learn_one(X[0], y[0])):
        raises(ValueError, "fitted with averaged=False, now True", call, X)
    message(budgetrun.Perceptron(probabilities=True).predict_proba, X, kind=NotFittedError)
    for one in (budgetrun.Perceptron, lambda **given: budgetrun.SelectingClassifier(budgetrun.RBP(), **given)):
        raises(ValueError, r"^probabilities must be one of False, True, got 'yes'$", one(probabilities="yes").fit, X, y)


# -- parameters in mid-stream --------------------------------------------------------------------------------------


def test_parameters_are_in_force_or_said_not_to_be():
    X, y = random_stream()
    model = budgetrun.Forgetron(budget=20, gamma=0.5).fit(X, y)
    before = model.decision_function(X)
    model.set_params(budget=5, gamma=1.0)
    note = "fitted with budget=20, now 5, gamma=0.5, now 1.0"
    assert repr(model) == f"Forgetron(budget=5, gamma=1.0)  # {note}"
    assert model._repr_mimebundle_() == {"text/plain": repr(model)}
    sentence = f"{note}: call fit to start again with the new value, or set the old one"
    for call in (model.partial_fit, lambda X, y: model.learn_one(X[0], y[0])):
        raises(ValueError, re.escape(sentence), call, X, y)
    np.testing.assert_array_equal(model.decision_function(X), before)
    model.set_params(budget=20, gamma=0.5)
    assert repr(model) == "Forgetron(budget=20, gamma=0.5)"
    model.partial_fit(X, y)
    model.budget = 5
    raises(ValueError, "fitted with budget=20, now 5: call fit", model.learn_one, X[0], y[0])
    assert len(model.fit(X, y).weights_) <= 5
    assert repr(model) == "Forgetron(budget=5, gamma=0.5)"
    assert repr(clone(model.set_params(budget=9))) == "Forgetron(budget=9, gamma=0.5)"


@pytest.mark.compiled
def test_a_change_is_seen_between_single_rounds():
    X, y = random_stream(T=200)
    model, other = budgetrun.RBP(budget=20), budgetrun.RBP(budget=20)
    for t in range(100):
        model.learn_one(X[t], y[t], classes=[-1, 1] if t == 0 else None)
        other.learn_one(X[t], y[t], classes=[-1, 1] if t == 0 else None)
    model.gamma = 3.0
    raises(ValueError, r"fitted with gamma='auto', now 3\.0: call fit", model.learn_one, X[100], y[100])
    model.gamma = "auto"
    for t in range(100, 200):
        model.learn_one(X[t], y[t])
        other.learn_one(X[t], y[t])
    assert model._labels
    assert facts(model, X) == facts(other, X)


def test_random_state_is_another_name_for_seed():
    X, y = random_stream()
    for name in ("RBP", "BOGDPlusPlus", "FOGD", "ModifiedRBP"):
        cls, given = CLASSIFIERS[name], {"budget": 10} if name != "FOGD" else {"features": 7}
        by_seed = cls(seed=7, **given).fit(X, y)
        by_state = cls(random_state=7, **given).fit(X, y)
        assert by_seed.seed_ == by_state.seed_ == 7
        assert by_seed.decision_function(X).tobytes() == by_state.decision_function(X).tobytes()
        drawn = cls(random_state=np.random.RandomState(1), **given).fit(X, y)
        again = cls(random_state=np.random.RandomState(1), **given).fit(X, y)
        assert drawn.seed_ == again.seed_ == np.random.RandomState(1).randint(2**31 - 1)
        assert drawn.partial_fit(X, y).seed_ != drawn.fit(X, y).seed_
        assert "random_state" in cls.__doc__
    for given, sentence in [
        ({"random_state": 1, "seed": 2}, "random_state is another name for seed: give one of them, got seed=2 as well"),
        ({"random_state": -1}, "random_state must be an integer >= 0, got -1"),
        ({"random_state": "a"}, "random_state must be None, an integer >= 0 or a numpy.random.RandomState, got 'a'"),
    ]:
        raises(ValueError, re.escape(sentence), budgetrun.RBP(**given).fit, X, y)
    assert "random_state" not in budgetrun.Forgetron().get_params()


# -- the rest ------------------------------------------------------------------------------------------------------


def test_linear_algebra_has_one_thread(monkeypatch):
    def threads():
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    seen = []

    def watch(owner, name):
        old = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *args, **given: (seen.append(threads()), old(*args, **given))[1])

    watch(base.Group, "feed")
    watch(base, "score")
    watch(SpannedFunction, "weights")
    X, y = random_stream()
    outside = threads()
    model = budgetrun.Projectron().fit(X, y)
    model.predict(X)
    model.learn_one(X[0], y[0])
    assert len(model.weights_) > 1
    assert seen == [{1}] * 5
    assert threads() == outside


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_pages_have_papers_and_examples_with_real_output(name):
    page = CLASSIFIERS[name].__doc__
    for section in ("Parameters", "Attributes", "References", "Examples"):
        assert f"\n{section}\n---" in page
    assert '"None"' not in page
    assert re.search(r"\((19|20)\d\d\)", page.partition("References\n")[2])
    listed = re.findall(r"^(\w+(?:, \w+)*) : ", page.partition("Attributes\n")[0], re.MULTILINE)
    assert set(listed) == set(CLASSIFIERS[name]().get_params())
    tests = doctest.DocTestParser().get_doctest(page, {}, name, None, None)
    made = CLASSIFIERS[name]._learners
    several = learners.registry("multiclass").get(next(iter(made.values())).name, {})
    assert sum("mistakes_" in example.source for example in tests.examples) == 1
    assert ("One-vs-rest: one such learner per class" in page) == (set(made) > set(several))
    assert ("Other variants:\n    One-vs-rest" in page) == (set(made) > set(several) > set())
    assert doctest.DocTestRunner().run(tests).failed == 0


def test_a_page_says_which_learners_have_a_parameter_or_a_paper_alone():
    perceptron, forgetron = budgetrun.Perceptron.__doc__, budgetrun.Forgetron.__doc__
    assert "\n    With two classes" not in perceptron
    assert "\n    With two classes only:\n    B, " not in budgetrun.Ahpatron.__doc__
    assert " only:\n    B, the most" not in budgetrun.RBP.__doc__
    assert "\ntwo classes:\nDekel" in perceptron
    assert "\nmore than two classes:\nCrammer" in perceptron
    assert 'With variant "basic", "greedy" or "self_tuned":\n    B, the most' in forgetron
    assert forgetron.count('\nvariant "basic":\nDekel') == 1
    # All of its learners have the same paper.
    assert "References\n----------\nLiao" in budgetrun.Ahpatron.__doc__


def test_saved_classifiers(tmp_path, reloaded):
    X, y = random_stream()
    frame, labels = pd.DataFrame(X, columns=["a", "b"]), np.array(["no", "yes"])[(y > 0).astype(int)]
    model = budgetrun.RBP(budget=10, random_state=np.random.RandomState(3)).fit(frame, labels)
    loaded = reloaded(model)
    assert type(loaded) is type(model)
    assert loaded.get_params().keys() == model.get_params().keys()
    assert list(loaded.classes_) == ["no", "yes"]
    assert list(loaded.feature_names_in_) == ["a", "b"]
    joblib.dump(model, tmp_path / "joblib")
    others = [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "joblib")]
    for again in ("partial_fit", "fit"):
        scores = [getattr(one, again)(frame, labels).decision_function(frame) for one in (model, loaded, *others)]
        # A copy draws from its own copy of the generator.
        assert len({score.tobytes() for score in scores}) == 1
    assert repr(reloaded(budgetrun.Forgetron(budget=7))) == "Forgetron(budget=7)"
    save_state(tmp_path / "other", [1])
    raises(InputError, "not a classifier or regressor that was saved, but a list", budgetrun.load, tmp_path / "other")


def test_a_second_thread_is_refused(monkeypatch):
    model = budgetrun.Perceptron(kernel="linear").fit([[0.0], [1.0]], [0, 1])
    before = model.decision_function([[1.0]])
    inside, go_on = threading.Event(), threading.Event()
    feed = model._group.feed

    def slowly(*given, **options):
        inside.set()
        go_on.wait(10)
        return feed(*given, **options)

    monkeypatch.setattr(model._group, "feed", slowly)
    first = threading.Thread(target=model.partial_fit, args=([[2.0], [3.0]], [0, 1]))
    first.start()
    assert inside.wait(10)
    calls = {"partial_fit": ([[1.0]], [1]), "learn_one": ([1.0], 1), "fit": ([[1.0]], [1]), "predict": ([[1.0]],)}
    for name, given in (calls | {"decision_one": ([1.0],), "save": ("unused",)}).items():
        with pytest.raises(RuntimeError, match="another thread uses this Perceptron: a model is used by one thread"):
            getattr(model, name)(*given)
    go_on.set()
    first.join()
    assert model.n_rounds_ == 4
    assert model.decision_function([[1.0]]) != before
