"""BSGD with merging: what its references do not cover."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EXHAUSTIVE
from faults import raises

from budgetrun import kernels
from budgetrun.base.errors import InputError
from budgetrun.engine import Group
from budgetrun.engine.hypotheses import merging
from budgetrun.kernels.kinds import IntegerRows
from budgetrun.learners import find

KERNEL = kernels.Gaussian(gamma=0.05)


def whole_stream(T=150, d=70):
    rng = np.random.default_rng(3)
    return rng.integers(0, 2, (T, d)).astype(float), rng.choice([-1, 1], T)


def fed(X, y, learner=None, block=64, kernel=KERNEL):
    group = Group(kernel, [learner or find("bsgd", "merging")(budget=15, regulariser=0.01)])
    scores = [group.feed(X[s : s + block], y[None, s : s + block])[0] for s in range(0, len(y), block)]
    return group.members[0].hypothesis, np.concatenate(scores)


@pytest.mark.parametrize("block", [1, 7, 100, 150] if EXHAUSTIVE else [7])
def test_bits_integers_floats_and_sparse_rows_give_the_same_bits(block):
    X, y = whole_stream()
    f, scores = fed(X, y)
    for rows in (X, sp.csr_array(X), IntegerRows(X.astype(np.int8), np.ones(len(X)))):
        other, same = fed(rows, y, block=block)
        np.testing.assert_array_equal(same, scores)
        np.testing.assert_array_equal(other.support_set, f.support_set)
        np.testing.assert_array_equal(other.coef, f.coef)


def test_points_are_no_examples_and_survive_a_file(reloaded):
    X, y = whole_stream()
    whole, scores = fed(X, y)
    assert ((whole.support_set % 1) != 0).any()
    group = Group(KERNEL, [find("bsgd", "merging")(budget=15, regulariser=0.01)])
    group.feed(X[:85], y[None, :85])
    again = reloaded(group)
    np.testing.assert_array_equal(again.feed(X[85:], y[None, 85:])[0], scores[85:])
    others = np.random.default_rng(0).normal(size=(9, X.shape[1]))
    f = again.members[0].hypothesis
    np.testing.assert_array_equal(f.score(others), whole.score(others))
    np.testing.assert_allclose(f.score(others), f.coef @ KERNEL.between(f.support_set, others), rtol=1e-12)


def test_merging_one_pair_by_hand():
    """Two equal weights at distance 2 (k = e^-1) merge in the middle, with weight 2 k^(1/4)."""
    learner = find("bsgd", "merging")(budget=2, regulariser=1.0)
    X, y = np.array([[0.0], [2.0], [40.0]]), np.array([1, 1, -1])
    f, _ = fed(X, y, learner, kernel=kernels.Gaussian(gamma=0.25))
    np.testing.assert_allclose(f.support_set[:, 0], [1.0, 40.0], atol=2e-4)
    np.testing.assert_allclose(f.coef, [2 * np.exp(-1 / 4), -1], rtol=1e-7)
    assert f.rounds.tolist() == [0, 2]


@pytest.mark.parametrize("variant", ["merging", "lookup_h", "lookup_wd"])
def test_only_the_gaussian_kernel(variant):
    sentence = (
        r"^bsgd: merging is for the gaussian kernel, got linear: use the gaussian kernel, or variant removal or p"
    )
    raises(InputError, sentence, Group, kernels.Linear(), [find("bsgd", variant)(budget=5)])
    if variant == "merging":
        with pytest.raises(InputError, match=sentence):
            Group(kernels.Linear(), [find("bsgd", variant, "multiclass")(budget=5)], n_classes=3)


def test_points_of_very_many_features_are_refused():
    rows = sp.csr_array((np.ones(2), ([0, 1], [5, 3_000_000])), shape=(2, 3_000_001))
    sentence = "points that are not examples are stored densely, and .* take more than 1 GB: use a smaller budget"
    raises(InputError, sentence, fed, sp.vstack([rows] * 40, format="csr"), np.array([1, -1] * 40))


def test_tables_hold_what_a_search_finds():
    places, losses = merging.tables()
    rng = np.random.default_rng(0)
    m, k = rng.uniform(0, 0.5, 500), rng.uniform(0.4, 1, 500)
    h = merging.best_places(np.log(k), m, 1 - m, 1e-10)
    np.testing.assert_allclose(merging.looked_up(places, m, k), h, atol=1e-4)
    u = merging.merged_weight(np.log(k), m, 1 - m, h)
    lost = m * m + (1 - m) ** 2 + 2 * k * m * (1 - m) - u * u
    np.testing.assert_allclose(merging.looked_up(losses, m, k), lost, atol=1e-5)
    x = rng.uniform(1e-3, 1, 1000)
    np.testing.assert_allclose(merging.log(x), np.log(x), rtol=1e-14)


def test_an_equal_point_has_a_kernel_value_of_1_to_8_digits_and_the_last_of_the_first_class_counts():
    one = np.ones((1, 3))
    for row, found in (([0.5, 1 - 4e-9, 1 - 6e-9], 1), ([1, 1, 0.5], 1), ([1 - 6e-9] * 3, -1)):
        assert merging.last_equal(np.array(row), one) == found
    # Point 2 is of class 0, point 1 of class 1, which comes later; point 0 is of neither.
    assert merging.last_equal(np.ones(3), np.array([[0.0, 0.0, 1.0], [0.0, -1.0, 2.0]])) == 1


def test_tables_at_equal_and_at_far_points():
    """Equal points merge without a loss; of far ones the heavier stays, and the other's weight is lost."""
    h, lost = merging.tables()
    m = np.linspace(0, 1, merging.GRID)
    np.testing.assert_allclose(lost[:, -1], 0, atol=1e-15)
    np.testing.assert_allclose(lost[:, 0], np.minimum(m, 1 - m) ** 2, atol=1e-15)
    assert ((h[:, 0] == 0) | (h[:, 0] == 1)).all()
    np.testing.assert_allclose(h[:, -1], m, rtol=1e-15)
