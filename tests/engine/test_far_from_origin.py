"""The Gaussian kernel on examples far from the origin, whose products lose the digits of their differences."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import fed

from budgetrun.engine import Group
from budgetrun.kernels import Gaussian, Kernel
from budgetrun.learners import find

RNG = np.random.default_rng(5)
LABELS = RNG.choice([-1, 1], 700)
# Multiples of 1/1024, so that adding an offset loses no digits.
NEAR = np.rint(1024 * (RNG.normal(size=(700, 3)) + 0.7 * LABELS[:, None])) / 1024
KERNEL = Gaussian(gamma=0.5)
LEARNERS = [
    ("perceptron", None, {}), ("forgetron", "self_tuned", {"budget": 40}), ("forgetron", "greedy", {"budget": 40}),
    ("projectron", None, {"eta": 0.1}), ("ahpatron", None, {"budget": 40, "epsilon": 0.5}),
]  # fmt: skip


def play(X, name="perceptron", variant=None, *, block=256, dtype="float64", kernel: Kernel = KERNEL, **parameters):
    group = Group(kernel, [find(name, variant)(**parameters)], dtype=dtype)
    return group, fed(group, X, LABELS[None], block)[0]


def exact_perceptron(X, gamma=0.5):
    """The scores of a Perceptron whose distances are sums of squared differences."""
    held, scores = [], []
    for t, (x, y) in enumerate(zip(X, LABELS, strict=True)):
        distances = np.square(X[held] - x).sum(axis=1)
        scores.append(float(LABELS[held] @ np.exp(-gamma * distances)))
        if y * scores[-1] <= 0:
            held.append(t)
    return np.array(scores)


@pytest.mark.parametrize("offset", [1e4, 1e8, 1e12])
@pytest.mark.parametrize(("name", "variant", "parameters"), LEARNERS, ids=lambda v: v if isinstance(v, str) else "")
def test_an_offset_changes_nothing(name, variant, parameters, offset):
    group_near, near = play(NEAR, name, variant, **parameters)
    for far in (NEAR + offset, sp.csr_array(NEAR + offset)):
        for block in (7, 256):
            group, scores = play(far, name, variant, block=block, **parameters)
            np.testing.assert_allclose(scores, near, rtol=0, atol=1e-8)
            assert group.pool.block.max() <= 1.0
    f, g = (one.members[0].hypothesis for one in (group, group_near))
    np.testing.assert_allclose(f.score(far[:3]), g.score(NEAR[:3]), atol=1e-8)


def test_a_column_of_times_is_compared_by_differences_and_the_others_as_always():
    X = np.column_stack([NEAR, 1.7e9 + np.cumsum(RNG.exponential(1.0, len(NEAR)))])
    _, scores = play(X)
    np.testing.assert_allclose(scores, exact_perceptron(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_the_stream_may_move_away_later(make):
    X = NEAR.copy()
    X[300:] += 1e8
    X[500:, 1] *= 1e200
    _, scores = play(make(X))
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(scores, exact_perceptron(X), rtol=0, atol=1e-9)


def test_float32_rounds_kernel_values_not_examples():
    _, near = play(NEAR)
    _, scores = play(NEAR + 1e8, dtype="float32")
    np.testing.assert_allclose(scores, near, rtol=0, atol=1e-4)


def test_kernel_values_never_exceed_those_of_an_example_with_itself():
    X = np.concatenate([NEAR, NEAR]) * 1e3
    for rows in (X, sp.csr_array(X), X + 1e8):
        assert KERNEL.between(rows, rows).max() <= 1.0
