"""Scaling by the rows before."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from faults import message
from test_data_scaling import WHERE

from budgetrun.base.errors import OutOfRangeError
from budgetrun.data import scaling
from budgetrun.data.scaling import Running, scale_in_place

rng = np.random.default_rng(5)
# Two columns begin with equal values, and one stays so.
DENSE = rng.normal(3, 2, (120, 5)) * (rng.random((120, 5)) < 0.7)
DENSE[:10, 3] = 0.1
DENSE[:, 4] = 1e8 + 0.1
DENSE[:6, 2] = 0.0
SPARSE = sp.csr_array(DENSE)
BOTH = pytest.mark.parametrize("X", [DENSE, SPARSE], ids=["dense", "sparse"])


def plain(X):
    return X if isinstance(X, np.ndarray) else X.toarray()


def in_chunks(X, cuts):
    scaler, bounds = Running(X.shape[1]), [0, *sorted(cuts), X.shape[0]]
    return [scaler.scaled(X[a:b]) for a, b in pairwise(bounds)], scaler


@BOTH
def test_each_row_is_scaled_by_those_before_it(X):
    before, found = plain(X).copy(), plain(Running(5).scaled(X))
    assert plain(X).tobytes() == before.tobytes()
    assert not found[0].any()
    for t in range(1, len(before)):
        past = before[:t]
        center = past.mean(axis=0) if isinstance(X, np.ndarray) else 0.0
        constant = past.max(axis=0) == past.min(axis=0)
        expected = np.where(constant, 0.0, (before[t] - center) / np.where(constant, 1.0, past.std(axis=0)))
        np.testing.assert_allclose(found[t], expected, rtol=1e-9, atol=1e-12)
        assert not found[t][constant].any()


@BOTH
def test_results_are_the_same_bits_for_any_chunks(X):
    whole, one = in_chunks(X, [])
    for cuts in (range(1, 120), [0, 0, 7, 120], [64], rng.integers(0, 121, 6).tolist()):
        parts, other = in_chunks(X, cuts)
        assert np.vstack([plain(part) for part in parts]).tobytes() == plain(whole[0]).tobytes()
        assert vars(one).keys() == vars(other).keys()
        assert all(np.array_equal(value, vars(other)[name]) for name, value in vars(one).items())


@pytest.mark.compiled
@BOTH
def test_compiled_or_not_the_bits_are_the_same(X, monkeypatch):
    expected = [plain(Running(5).scaled(X)).tobytes()]
    monkeypatch.setattr(scaling, "_compiled", lambda loop: loop)
    assert [plain(Running(5).scaled(X)).tobytes()] == expected


def test_its_state_is_plain_numbers_and_arrays_that_can_be_kept():
    one = Running(5)
    one.scaled(DENSE[:50])
    assert {type(value) for value in vars(one).values()} == {int, np.ndarray}
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other.scaled(DENSE[50:]).tobytes() == Running(5).scaled(DENSE)[50:].tobytes()


@BOTH
def test_a_test_set_is_scaled_by_the_statistics_after_the_last_round(X):
    stream, test, every = X[:100].copy(), X[100:].copy(), plain(X)
    scale_in_place(stream, "running", WHERE, test)
    assert plain(stream).tobytes() == plain(Running(5).scaled(X[:100])).tobytes()
    past = every[:100, :4]
    center = past.mean(axis=0) if isinstance(X, np.ndarray) else 0.0
    np.testing.assert_allclose(plain(test)[:, :4], (every[100:, :4] - center) / past.std(axis=0), rtol=1e-12)
    assert not plain(test)[:, 4].any()


@BOTH
def test_values_that_are_too_large_are_refused(X):
    said = "scale: the values are too large for 'running' in float64; use 'scale: none'"
    with pytest.raises(OutOfRangeError, match="too large"):
        Running(5).scaled(1e200 * X)
    assert message(scale_in_place, 1e200 * X, "running", WHERE) == f"{WHERE}: {said}"
    assert message(scale_in_place, 1e-12 * X, "running", WHERE, 1e298 * X) == f"{WHERE}: test set: {said}"
