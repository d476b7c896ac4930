"""Learners that share a start have the bits that each of them has alone."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from cases import EXHAUSTIVE, STREAMS, all_cases, fed
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import scale

from budgetrun.engine import Group
from budgetrun.kernels import Gaussian
from budgetrun.learners import find

BUDGET = 24
T = 400 if EXHAUSTIVE else 130


def makers():
    """Return functions of a budget, one per learner that shares its start, with each set of parameters."""
    found = {}
    for _, name, variant, given, _ in all_cases():
        cls, chosen = find(name, variant), {key: value for key, value in given.items() if key != "budget"}
        if cls.alike_until_full is not None:

            def make(budget, cls=cls, chosen=chosen, given=given):
                return cls(**chosen, **({"budget": budget} if "budget" in given else {}))

            found[f"{name}({variant})-{chosen}"] = make
    return found


MAKERS = makers()


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[:T], 2 * y[:T] - 1


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:T], np.where(y[:T] % 2, 1, -1)


def two_classes():
    rng = np.random.default_rng(5)
    y = rng.choice([-1, 1], T)
    return rng.normal(size=(T, 7)) + 0.2 * y[:, None], y


DATA = {"breast cancer": (breast_cancer, 0.03), "digits": (digits, 0.001), "two classes": (two_classes, 0.1)}
DATA |= {name: (make, 0.5) for name, make in STREAMS.items()}


def play(learners, X, y, gamma, **options):
    """Return all scores, and what each hypothesis has at the end."""
    group = Group(Gaussian(gamma=gamma), learners, **options)
    scores = fed(group, X, y[None], 100)
    ends = [(m.hypothesis, m.learner) for m in group.members]
    return [
        [all_scores, f.coef, f.rounds, f.self_scores, f.norm_sq, sorted(learner.facts(f).items())]
        for all_scores, (f, learner) in zip(scores, ends, strict=True)
    ]


def assert_same_bits(learners, X, y, gamma, **options):
    together = play([make(budget) for make, budget in learners], X, y, gamma, **options)
    for (make, budget), found in zip(learners, together, strict=True):
        (alone,) = play([make(budget)], X, y, gamma, **options)
        for part, same in zip(found, alone, strict=True):
            np.testing.assert_array_equal(part, same)


@pytest.mark.parametrize("data", DATA if EXHAUSTIVE else ["digits", "random", "tied"])
def test_every_pair_has_the_bits_of_each_alone(data):
    stream, gamma = DATA[data]
    X, y = stream()
    for one, other in combinations_with_replacement(MAKERS.values(), 2):
        assert_same_bits([(one, BUDGET), (other, BUDGET + 7)], X, y, gamma)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_all_together_have_the_bits_of_each_alone(dtype):
    X, y = two_classes()
    given = [(make, budget) for make in MAKERS.values() for budget in (1, BUDGET, BUDGET, 90)]
    assert_same_bits(given, X, y, 0.1, dtype=dtype)


@pytest.mark.compiled
def test_compiled_learners_have_the_bits_of_each_alone():
    X, y = two_classes()
    for name in ("self_tuned", "greedy"):
        make = find("forgetron", name)
        assert_same_bits([(lambda b, make=make: make(budget=b), budget) for budget in (BUDGET, 90)], X, y, 0.1)
