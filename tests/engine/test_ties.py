"""What is equal on paper is a tie, whatever the rounding; what differs by more than rounding is none."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from papers.theory.playing import play

from budgetrun import kernels
from budgetrun.engine import Group
from budgetrun.engine.hypotheses.multiclass import rival_among
from budgetrun.engine.hypotheses.pairs import first_smallest
from budgetrun.kernels import Gaussian, Linear
from budgetrun.learners import bpa, find

BLOCKS = 1, 2, 7, 64, 256


def test_values_are_equal_up_to_the_larger_of_their_own_errors():
    assert first_smallest(np.array([2.0, 1.0 + 1e-12, 1.0]), 1e-9 * np.ones(3)) == 1
    # The error of the first value decides, and that of the last does not.
    assert first_smallest(np.array([1e-10, 1e-12, 5.0]), np.array([1e-9, 1e-20, 1.0])) == 0
    assert first_smallest(np.array([1e-10, 1e-12, 5.0]), np.array([1e-20, 1e-20, 1.0])) == 1
    # That of the smallest one counts, too.
    assert first_smallest(np.array([1e-10, 1e-12]), np.array([1e-20, 1e-9])) == 0


def test_a_large_weight_does_not_make_small_ones_equal():
    f = SimpleNamespace(coef=np.array([1.0, 1e-5, 1e-5]), squares=np.ones(3), rounding=1e-9)
    assert bpa.cheapest(f, np.array([0.5, 0.9, 0.5]))[0] == 2
    assert bpa.cheapest(f, np.array([0.5, 0.9, 0.9 * (1 - 1e-12)]))[0] == 1


def test_a_large_weight_does_not_make_small_ones_equal_with_several_classes():
    X, codes = 10.0 * np.eye(5), np.array([0, 1, 2, 0, 1])
    group = Group(Gaussian(gamma=1), [find("bpa", "simple", "multiclass")(budget=4)], n_classes=3)
    group.feed(X[:4], codes[None, :4])
    f = group.members[0].hypothesis
    f._weights[f.slots] *= np.array([[1.0], [9e-6], [5e-6], [1.0]])
    group.feed(X[4:], codes[None, 4:])
    assert f.rounds.tolist() == [0, 1, 3, 4]


def test_a_class_with_large_terms_does_not_make_others_equal():
    scores, none = np.array([3e-12, 1e-12, -1.0, 2e-12]), np.zeros(4)
    own = 1e-9 * np.array([3e-12, 1e-12, 1.0, 2e-12])
    assert rival_among(scores, 1, none, own) == (0, pytest.approx(-2e-12))
    assert rival_among(scores, 0, none, own) == (3, pytest.approx(1e-12))
    # Between equal classes, the lowest is the rival, and the lead is 0.
    scores[3] = 3e-12 * (1 + 1e-13)
    assert rival_among(scores, 1, none, own)[0] == 0
    assert rival_among(scores, 3, none, own) == (0, 0.0)
    # A handicap is a term, too.
    assert rival_among(np.array([1.0, 0.0]), 0, np.array([0.0, 1 + 1e-12]), np.array([0.0, 0.0])) == (1, 0.0)


def test_a_large_score_does_not_make_others_equal_one_vs_rest():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(400, 6)), rng.integers(6, size=400)
    group = Group(Gaussian(gamma=20), [find("perceptron", "one_vs_rest", "multiclass")()], n_classes=6)
    scores, at = group.feed(X, codes[None])[0], np.arange(400)
    own, others = scores[codes, at], scores.copy()
    others[codes, at] = -np.inf
    best = others.max(axis=0)
    sizes = np.maximum(abs(own), abs(best)), abs(scores).max(axis=0)
    ties = [(abs(own - best) <= 1e-9 * size).sum() for size in sizes]
    assert ties[0] == 1 < ties[1]
    assert group.members[0].count.mistakes == (own <= best).sum()


def test_a_large_label_does_not_make_small_errors_equal():
    X, y = 10.0 * np.eye(5)[:4], np.array([1e6, 3e-5, 1e-5, 2.0])
    f = play(find("fb_krls", task="regression")(budget=3), Gaussian(gamma=1), X, y).hypothesis
    assert f.rounds.tolist() == [0, 1, 3]


# Equal distances whose sums are rounded differently: the same coordinates in other orders.
ORDERS = np.array(list(itertools.permutations((0.9, 1.1, 0.37, 1.3))))
UNEQUAL = [0, 9, 4, 1, 10, 5]


def test_those_distances_are_not_equal_as_they_are_computed():
    values = Gaussian(gamma=0.06).between(ORDERS[UNEQUAL], np.zeros((1, 4)))[:, 0]
    assert values[0] < values[2]
    assert values[0] < values[5] <= values[0] + 1e-15


both_ways = pytest.mark.parametrize("step", [1, -1])
of_each_size = pytest.mark.parametrize("block", BLOCKS)


@of_each_size
@both_ways
@pytest.mark.parametrize("learner", [
    ("bpa", "simple", {"C": 0.1}),
    ("bpa", "nearest", {"C": 0.1}),
    ("cks", None, {}),
    ("cks_2003", "fixed", {}),
    ("forgetron", "greedy", {}),
], ids=str)  # fmt: skip
def test_of_examples_at_equal_distances_the_oldest_leaves(learner, step, block):
    # Each is as far from all others, and as far from the example that comes last.
    X = np.zeros((7, 24))
    for i in range(6):
        X[i, 4 * i : 4 * i + 4] = ORDERS[UNEQUAL[i]]
    X[:6] = X[:6][::step]
    name, variant, given = learner
    y = np.array([1, -1] * 3 + [1])
    f = play(find(name, variant)(budget=6, **given), Gaussian(gamma=0.06), X, y, block_size=block).hypothesis
    assert f.rounds.tolist() == [1, 2, 3, 4, 5, 6]


@of_each_size
@both_ways
@pytest.mark.parametrize("variant", ["hypersphere", "hypercell"])
def test_of_cores_at_equal_distances_the_oldest_takes_the_step(variant, step, block):
    X = np.array([ORDERS[0], -ORDERS[4]])[::step]
    X = np.concatenate([X, np.zeros((1, 4))])
    learner, y = find("avm", variant)(delta=2.2, regulariser=0.1), np.array([1, 1, -1])
    assert play(learner, Gaussian(gamma=0.5), X, y, block_size=block).hypothesis.coef.tolist() == [0, 1]


def learners_that_choose():
    yield find("bpa", "simple")(budget=8)
    yield find("bpa", "nearest")(budget=8, C=0.3, keep=True)
    yield find("bpa", "projecting")(budget=8)
    yield find("cks")(budget=8)
    yield find("cks_2003", "fixed")(budget=8)
    yield find("cks_2003", "variable")(beta=0.3)
    yield find("forgetron", "greedy")(budget=8)
    yield find("tighter")(budget=8)
    yield find("pomdr")(budget=8, eta=0.3)
    yield find("bsgd", "projection")(budget=8, regulariser=0.05)
    yield find("avm")(delta=1.0, regulariser=0.05)


@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.5), Linear(), kernels.Polynomial(degree=2)], ids=str)
@pytest.mark.parametrize("at", range(len(list(learners_that_choose()))))
def test_duplicates_are_ties_for_every_block_size(at, kernel):
    rng = np.random.default_rng(at)
    X = ORDERS[rng.integers(len(ORDERS), size=140)] - 0.5
    y = rng.choice([-1, 1], 140)
    found = []
    # In another order of the features, sums are rounded differently.
    for block, order in zip([*BLOCKS, 7], 2 * [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]], strict=True):
        member = play(list(learners_that_choose())[at], kernel, X[:, order], y, block_size=block)
        found.append((member.count.mistakes, member.hypothesis.rounds.tolist()))
    assert all(one == found[0] for one in found)


# With beta, margins have a unit: not much smaller than examples of size 1.
@pytest.mark.parametrize(("name", "power"), [("cks", -20), ("cks", 20), ("tighter", 20)])
def test_the_unit_of_the_examples_does_not_matter(name, power):
    """A power of two scales all numbers exactly."""
    rng = np.random.default_rng(1)
    y = rng.choice([-1, 1], 200)
    X = rng.normal(size=(200, 4)) + 0.3 * y[:, None]
    runs = [play(find(name)(budget=9), Linear(), X * 2.0**p, y, block_size=64) for p in (0, power)]
    assert runs[0].count.mistakes == runs[1].count.mistakes
    assert runs[0].hypothesis.rounds.tolist() == runs[1].hypothesis.rounds.tolist()
