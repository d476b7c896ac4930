"""Competitors found in hindsight: their norms, losses and shifts are what they are said to be."""

import numpy as np
import pytest
from cases import random_stream
from playing import competitors
from sklearn.svm import LinearSVC

from budgetrun import kernels
from budgetrun.papers.theory.competitors import SEGMENTS, Competitor, descend, machines

GAUSSIAN = kernels.Gaussian(gamma=0.5)


def noisy(T=300, seed=0):
    X, y = random_stream(T=T, seed=seed)
    return X, np.where(np.random.default_rng(seed).random(T) < 0.05, -y, y)


@pytest.mark.parametrize("normalised", [False, True])
def test_losses_at_every_norm(normalised):
    rng = np.random.default_rng(0)
    margins, lengths = rng.normal(0.5, 1, 200), rng.uniform(0.5, 2, 200)
    given = Competitor("some", margins, 3.0, lengths, shift=1.5)
    one = given.normalised if normalised else given
    norms = np.array([0.01, 0.3, 1.0, 3.0, 40.0])
    own = margins / lengths if normalised else margins
    direct = [np.maximum(0, 1 - norm / 3 * own).sum() for norm in norms]
    np.testing.assert_allclose(one.losses(norms), direct, rtol=1e-12)
    rounds = np.array([1, 7, 200])
    for norm in norms:
        so_far = [np.maximum(0, 1 - norm / 3 * own[:t]).sum() for t in rounds]
        np.testing.assert_allclose(one.losses_so_far(norm, rounds), so_far, rtol=1e-12)
    np.testing.assert_allclose(one.shift_at(norms), norms / 2)


@pytest.mark.parametrize("largest", [0.001, 2.0, 1e9])
def test_norms_to_try_are_allowed(largest):
    grid = Competitor("some", np.ones(3), 5.0, np.ones(3)).grid(largest)
    assert (np.diff(grid) > 0).all()
    assert grid[[0, -1]] == pytest.approx([min(largest, 5) / 100, min(largest, 500)])
    assert grid[-1] <= min(largest, 500)


def test_zero_is_always_among_them():
    X, y = noisy()
    zero, *others = competitors(GAUSSIAN, X, y).fixed
    assert (zero.norm, zero.shift) == (0, 0)
    assert zero.losses(zero.grid(3.0)).tolist() == [300]
    assert zero.losses_so_far(0.0, np.array([10, 300])).tolist() == [10, 300]
    assert len(others) >= 5


def by_definition(kernel, X, duals, signs, rows):
    """Norm and values on X of the function with these weights."""
    K, w = kernel.between(X[rows], X[rows]), duals * signs
    return np.sqrt(w @ K @ w), kernel.between(X, X[rows]) @ w


@pytest.mark.parametrize("kernel", [GAUSSIAN, kernels.Linear(), kernels.Polynomial(degree=2)], ids=str)
@pytest.mark.parametrize("sample", [80, 2000])
def test_norms_and_margins_by_definition(kernel, sample):
    X, y = noisy()
    found = competitors(kernel, X, y, sample=sample)
    rows = np.sort(np.random.default_rng(0).choice(300, size=min(sample, 300), replace=False))
    S = kernel.between(X[rows], X[rows])
    duals = dict(zip((0.001, 0.01, 0.1), machines(S, y[None, rows] * 1.0, (0.001, 0.01, 0.1)), strict=True))
    for C, dual in duals.items():
        (one,) = [c for c in found.fixed if c.name == f"C = {C:g}"]
        norm, values = by_definition(kernel, X, dual[0], y[rows], rows)
        assert one.norm == pytest.approx(norm)
        np.testing.assert_allclose(one.margins, y * values, rtol=1e-9, atol=1e-12)
    assert found.largest_square == pytest.approx(kernel.between(X, X).diagonal().max())
    np.testing.assert_allclose(found.fixed[1].lengths, np.sqrt(kernel.between(X, X).diagonal()))


def test_machines_are_those_of_liblinear():
    X, y = noisy()
    for C, dual in zip((0.1, 1.0), machines(X @ X.T, y[None] * 1.0, (0.1, 1.0), passes=2000), strict=True):
        w = (dual[0] * y) @ X
        theirs = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-8, max_iter=10**6, random_state=0).fit(X, y)
        objectives = [v @ v / 2 + C * np.maximum(0, 1 - y * (X @ v)).sum() for v in (w, theirs.coef_[0])]
        assert objectives[0] == pytest.approx(objectives[1], rel=1e-4)
        assert dual.min() >= 0
        assert dual.max() <= C


def test_several_classes():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=200)
    X = np.stack([np.cos(2 * codes), np.sin(2 * codes)], axis=1) + 0.3 * rng.normal(size=(200, 2))
    found = competitors(GAUSSIAN, X, codes, 3)
    K = GAUSSIAN.between(X, X)
    signs = np.where(np.arange(3)[:, None] == codes, 1.0, -1.0)
    weights = machines(K, signs, (0.001, 0.01, 0.1, 1.0))[-1] * signs
    (one,) = [c for c in found.fixed if c.name == "C = 1"]
    assert one.norm == pytest.approx(np.sqrt(sum(w @ K @ w for w in weights)))
    values = weights @ K
    own = values[codes, np.arange(200)]
    values[codes, np.arange(200)] = -np.inf
    np.testing.assert_allclose(one.margins, own - values.max(axis=0), rtol=1e-9, atol=1e-12)
    # Most examples are on the right side.
    assert (one.margins > 0).mean() > 0.9


def test_segments_have_functions_of_their_own():
    X, y = noisy(T=400)
    y = np.where(np.arange(400) < 200, y, -y)
    found = competitors(GAUSSIAN, X, y, shifting=True)
    assert {int(c.name.split()[0]) for c in found.shifting} == set(SEGMENTS)
    assert not competitors(GAUSSIAN, X, y).shifting
    two = next(c for c in found.shifting if c.name.startswith("2 segments, C = 1"))
    fixed = next(c for c in found.fixed if c.name == "C = 1")
    assert two.losses(np.array([two.norm]))[0] < 0.5 * fixed.losses(np.array([fixed.norm]))[0]
    # From g to about -g: twice the norm.
    assert 1.5 * two.norm < two.shift < 2.0 * two.norm + 1e-9
    K = GAUSSIAN.between(X, X)
    halves = [np.zeros(400), np.zeros(400)]
    for w, part in zip(halves, (slice(0, 200), slice(200, 400)), strict=True):
        w[part] = machines(K[part, part], y[None, part] * 1.0, (0.1, 1.0))[1][0] * y[part]
    first, second = halves
    norms = [np.sqrt(w @ K @ w) for w in (first, second, second - first)]
    assert two.norm == pytest.approx(max(norms[:2]))
    assert two.shift == pytest.approx(norms[2])
    values = np.concatenate([K[:200] @ first, K[200:] @ second])
    np.testing.assert_allclose(two.margins, y * values, rtol=1e-9, atol=1e-12)


def test_same_stream_same_competitors():
    X, y = noisy()
    one, other = (competitors(GAUSSIAN, X, y, shifting=True, sample=100) for _ in range(2))
    for a, b in zip(one.all, other.all, strict=True):
        assert (a.name, a.norm, a.shift) == (b.name, b.norm, b.shift)
        np.testing.assert_array_equal(a.margins, b.margins)


def test_a_pass_sets_each_dual_variable_to_its_optimum():
    K = np.array([[1.0, 0.5, 0.0], [0.5, 4.0, 0.0], [0.0, 0.0, 0.0]])
    signs, alpha, values = np.array([1.0, -1.0, 1.0]), np.zeros(3), np.zeros(3)
    order = np.array([0, 1, 2])
    # 1 up to C = 0.75; then (1 + 0.5 * 0.75) / 4; a row of zeros counts in full.
    assert descend(K, signs, 0.75, order, alpha, values) == pytest.approx(0.75)
    assert alpha == pytest.approx([0.75, 0.34375, 0.75])
    assert values == pytest.approx(K @ (alpha * signs))
    # Nothing changes any more: the first stays at C, as its optimum is 1 + 0.5 * 0.34375.
    before = alpha.tolist()
    assert descend(K, signs, 0.75, order, alpha, values) == 0
    assert alpha.tolist() == before
