"""The classifier that chooses among candidates."""

import re

import numpy as np
import pytest
from cases import EXHAUSTIVE, random_stream
from estimating import failed_checks, in_pieces, pickled
from faults import raises
from sklearn.base import clone

from budgetrun import NORMA, RBP, Ahpatron, Perceptron, SelectingClassifier
from budgetrun.play.selection import registry

GRID = {"gamma": [0.01, 0.5, 20.0]}


def made(rule="hedge", **given):
    return SelectingClassifier([RBP(budget=10), Ahpatron(budget=20)], grid=GRID, rule=rule, **given)


# They differ in the rule alone.
@pytest.mark.parametrize("rule", registry() if EXHAUSTIVE else ["racing"])
def test_check_estimator(rule):
    assert failed_checks(SelectingClassifier(Perceptron(), grid={"gamma": [0.5, 1, 2]}, rule=rule)) == []


@pytest.mark.parametrize("rule", registry())
def test_calls_do_not_matter_nor_do_pauses(rule, reloaded):
    X, y = random_stream(150)
    whole = made(rule).fit(X, y)
    pieces = in_pieces(clone(made(rule)), X, y, lambda model: reloaded(pickled(model)), classes=[-1, 1])
    pieces.learn_one(X[0], y[0])
    whole.partial_fit(X[:1], y[:1])
    for name in ("mistakes_", "n_rounds_", "support_size_", "online_error_"):
        assert getattr(whole, name) == getattr(pieces, name)
    for name in ("candidate_weights_", "candidate_mistakes_"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(pieces, name))
    np.testing.assert_array_equal(whole.decision_function(X), pieces.decision_function(X))
    assert whole.predict_one(X[3]) == whole.predict(X[3:4])[0]


def test_it_predicts_with_the_votes_of_its_candidates():
    X, y = random_stream(400)
    model = made().fit(X[:300], y[:300])
    alone = [one.fit(X[:300], y[:300]) for one in model.candidates_]
    assert model.candidate_mistakes_.tolist() == [one.mistakes_ for one in alone]
    votes = np.array([np.sign(one.decision_function(X[300:])) for one in alone])
    np.testing.assert_allclose(model.decision_function(X[300:]), model.candidate_weights_ @ votes, atol=1e-12)
    assert len(model.candidates_) == 6
    assert not hasattr(model, "weights_")


def test_its_online_error_is_that_of_predictions_before_the_labels():
    X, y = random_stream(70)
    model, wrong = made(), 0
    for t in range(70):
        # Before the first round there is nothing to predict with: it is a mistake.
        tied = t == 0 or abs(model.decision_function(X[t : t + 1])[0]) <= 1e-9
        wrong += tied or model.predict(X[t : t + 1])[0] != y[t]
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[-1, 1])
    assert model.mistakes_ == wrong


@pytest.mark.parametrize(("model", "message"), [
    (made("best"), "rule must be one of fixed_share, hedge, omkc, omkc_sd, racing, got 'best'"),
    (made(rule_parameters={"share": 0.1}), "rule_parameters: hedge has no parameter 'share'; it has none"),
    (made("fixed_share", rule_parameters={"share": 1}), "share must be a number > 0 and < 1, got 1"),
    (SelectingClassifier([]), "estimators must have at least one classifier, got an empty list"),
    (SelectingClassifier("rbp"), "estimators must be a classifier of budgetrun, or a list of them, got 'r'"),
    (SelectingClassifier(RBP(), grid=[{}, {}]), "grid must be a dict, or a list of 1, one per estimator, got 2"),
    (SelectingClassifier(RBP(), grid={"gama": [1]}), "Invalid parameter 'gama'"),
    (SelectingClassifier(RBP(), grid={"gamma": ["auto", "scale"]}), "gamma must be 'auto' or 'scale' for all"),
    (SelectingClassifier(RBP(), grid={"tie": ["mistake", "positive"]}), "tie must be the same for all candidates"),
])  # fmt: skip
def test_what_is_wrong_is_one_sentence(model, message):
    raises(ValueError, re.escape(message), model.fit, *random_stream(20))


def test_several_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=150)
    X = rng.normal(size=(150, 3)) + 2 * np.eye(3)[y]
    model = SelectingClassifier([RBP(budget=30), Perceptron()], grid=GRID).fit(X, y)
    assert model.decision_function(X).shape == (150, 3)
    assert (model.predict(X) == y).mean() > 0.8
    # NORMA has one learner per class.
    mixed = SelectingClassifier([RBP(), NORMA()]).fit(X, y)
    assert mixed.candidate_mistakes_.shape == (2,)
    assert mixed.mistakes_ <= 2 * mixed.candidate_mistakes_.max()
