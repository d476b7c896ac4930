"""The log loss of the first rounds, by which settings are chosen, and how many rounds these are."""

import numpy as np
import pytest

from budgetrun.kernels import Gaussian
from budgetrun.learners import find
from budgetrun.play.metrics import Tally
from budgetrun.play.selection import Selection, registry
from budgetrun.play.session import Session

T = 1000
PREFIX = "prefix_examples", "prefix_mistakes", "mistakes"


def stream(n_rare):
    """Return a stream whose rarer class comes evenly."""
    X = np.random.default_rng(0).normal(size=(T, 3))
    y = np.full(T, -1)
    y[T // n_rare // 2 :: T // n_rare] = 1
    return X + 0.5 * y[:, None], y


def played(X, y, metrics=("prefix_log_loss",), pieces=1, n_classes=2):
    learners = [(Gaussian(gamma=0.5), find(name)()) for name in ("perceptron", "majority")]
    options = {"task": "binary", "n_classes": n_classes, "tie": "positive", "dtype": "float64", "labels": y[None]}
    session = Session(learners, metrics=metrics, **options)
    step = -(-T // pieces)
    session.run([(X[i : i + step], y[None, i : i + step]) for i in range(0, T, step)])
    return [session.columns(i) for i in range(2)]


@pytest.mark.parametrize(("n_rare", "prefix"), [(500, 100), (200, 300), (125, 400), (50, 500)])
def test_the_prefix_has_fifty_examples_of_each_class_or_half_of_the_rounds(n_rare, prefix):
    X, y = stream(n_rare)
    found = played(X, y)
    assert {one["prefix_examples"] for one in found} == {prefix}
    assert [one["prefix_examples"] for one in played(X, y, ())] == [100, 100]
    # Two labels made of ten classes, as of digits.
    assert {one["prefix_examples"] for one in played(X, y, n_classes=10)} == {prefix}
    assert prefix == 500 or (y[:prefix] > 0).sum() >= 50 > (y[: prefix - 100] > 0).sum()
    if prefix == 300:
        pairs = zip(played(X, y, pieces=7), found, strict=True)
        assert found == [one | {"seconds": two["seconds"]} for one, two in pairs]


def test_it_is_the_log_loss_of_the_online_probabilities_so_far():
    X, y = stream(200)
    whole = played(X[:], y, ("prefix_log_loss", "log_loss"))
    assert whole[0]["log_loss"] != whole[0]["prefix_log_loss"]
    scores = [float((y[:t] > 0).sum() - (y[:t] < 0).sum()) for t in range(300)]
    tally = Tally(["log_loss"], None, "positive")
    tally.add(np.array(scores), y[:300])
    assert whole[1]["prefix_log_loss"] == tally.columns()["log_loss"]
    assert whole[1]["prefix_mistakes"] == sum((s >= 0) != (label > 0) for s, label in zip(scores, y, strict=False))
    assert "prefix_log_loss" not in played(X, y, ())[0]


def test_each_stream_of_labels_has_a_prefix_of_its_own_and_rules_have_that_of_their_candidates():
    (X, rare), (_, often) = stream(50), stream(200)
    options = {"task": "binary", "n_classes": 2, "tie": "positive", "dtype": "float64", "metrics": ("prefix_log_loss",)}
    learners = [(Gaussian(gamma=0.5), find("perceptron")()) for _ in range(2)]
    for Y, rows in (np.array([rare, often]), [0, 1]), (np.array([often, rare]), [1, 0]):
        session = Session(learners, rows=rows, labels=Y, **options)
        session.run([(X, Y)])
        own = [session.columns(i) for i in range(2)]
        assert [one["prefix_examples"] for one in own] == [500, 300]
        for y, found in (rare, own[0]), (often, own[1]):
            alone = Session(learners[:1], labels=y[None], **options)
            alone.run([(X, y[None])])
            assert found == alone.columns(0) | {"seconds": found["seconds"]}
            named = {name: options[name] for name in ("n_classes", "tie", "dtype")}
            rule = Session([], [Selection(registry()["hedge"](), learners[:1], **named)], labels=y[None], **options)
            rule.run([(X, y[None])])
            assert {name: rule.columns(0)[name] for name in PREFIX} == {name: found[name] for name in PREFIX}
