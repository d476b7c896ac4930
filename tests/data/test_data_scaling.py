"""Scaling of a stream by all of its rows, and by the rows before."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse as sp
from faults import message, raises

from budgetrun.base.errors import OutOfRangeError
from budgetrun.data.scaling import Means, Running, scale_in_place
from budgetrun.engine import standardised
from budgetrun.engine.standardised import Guarded, Standardised
from budgetrun.kernels import compiling

WHERE = "dataset 'd'"


def scaled(X, scale, sparse=False):
    X = scipy.sparse.csr_array(X) if sparse else X.copy()
    scale_in_place(X, scale, WHERE)
    return X.toarray() if sparse else X


DRAWN = np.random.default_rng(0).normal(2, 3, (50, 4)) * (np.random.default_rng(1).random((50, 4)) < 0.6)


@pytest.mark.parametrize("sparse", [False, True])
def test_unit_norm_leaves_zero_rows(sparse):
    X = np.vstack([DRAWN, np.zeros(4)])
    norms = np.linalg.norm(scaled(X, "unit_norm", sparse), axis=1)
    np.testing.assert_allclose(norms, (np.linalg.norm(X, axis=1) > 0).astype(float), atol=1e-15)
    assert scaled(np.array([[3.0, 4.0]]), "unit_norm", sparse).tolist() == [[0.6, 0.8]]


def test_sparse_minmax_is_the_dense_one_where_zeros_stay():
    X = np.abs(DRAWN)
    X[:, 3] = np.linspace(-2, 5, 50) + 0.01  # no zeros in it: it may be negative
    np.testing.assert_allclose(scaled(X, "minmax", sparse=True), scaled(X, "minmax"), rtol=1e-15)


ZEROS = "'minmax' would make zeros of feature 2 non-zero, because"
ADVICE = "use 'standard' or 'unit_norm', or give the data as a dense table (.csv, .npz)"
LARGE = "the values are too large for '{}' in float64; use 'scale: none'"


@pytest.mark.parametrize(("X", "scale", "sparse", "fault"), [
    ([[1.0, -1], [1, 0]], "minmax", True, f"{ZEROS} it has negative values; {ADVICE}"),
    ([[1e200, 1]], "unit_norm", False, LARGE.format("unit_norm")),
    ([[1e308], [-1e308]], "minmax", False, LARGE.format("minmax")),
    (DRAWN, "log", False, "unknown 'log'; allowed: none unit_norm minmax standard running"),
])  # fmt: skip
def test_scaling_faults(X, scale, sparse, fault):
    assert message(scaled, np.array(X), scale, sparse) == f"{WHERE}: scale: {fault}"


# The test set, by the statistics of the stream


def scaled_with(X, test, scale, sparse):
    kind = scipy.sparse.csr_array if sparse else np.array
    X, test = kind(X), kind(test)
    scale_in_place(X, scale, WHERE, test)
    return (X.toarray(), test.toarray()) if sparse else (X, test)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scale", ["none", "unit_norm", "minmax", "standard"])
def test_a_stream_is_scaled_as_it_would_be_without_its_test_set(scale, sparse):
    found, test = scaled_with(abs(DRAWN), abs(DRAWN[:7]), scale, sparse)
    assert (found == scaled(abs(DRAWN), scale, sparse)).all()
    # These rows are the stream's own.
    np.testing.assert_allclose(test, found[:7], rtol=1e-15)


@pytest.mark.parametrize(
    ("test", "told"),
    [([[1.0, 0.0]], f"{ZEROS} it has none in the stream; {ADVICE}"), ([[1e308, 3.0]], LARGE.format("minmax"))],
)
def test_test_set_faults(test, told):
    X = scipy.sparse.csr_array([[0.0, 2.0], [0.01, 6.0]])
    fault = message(scale_in_place, X, "minmax", WHERE, scipy.sparse.csr_array(test))
    assert fault == f"{WHERE}: test set: scale: {told}"


@pytest.mark.parametrize(("sparse", "X", "test", "minmax", "standard"), [
    (
        False, [[1.0, 5, 2], [3, 5, 4]], [[5.0, 6, 0], [2, 5, 3]],
        [[2.0, 0, -1], [0.5, 0, 0.5]], [[3.0, 0, -3], [0, 0, 0]],
    ),
    (
        True, [[0.0, 2, 0], [4, 6, 0]], [[8.0, 4, 7], [0, 10, 0]],
        [[2.0, 0.5, 0], [0, 2, 0]], [[4.0, 2, 7], [0, 5, 0]],
    ),
])  # fmt: skip
def test_a_test_set_is_scaled_by_the_statistics_of_its_stream(sparse, X, test, minmax, standard):
    assert scaled_with(X, test, "minmax", sparse)[1].tolist() == minmax
    assert scaled_with(X, test, "standard", sparse)[1].tolist() == standard
    np.testing.assert_allclose(np.linalg.norm(scaled_with(X, test, "unit_norm", sparse)[1], axis=1), 1)


rng = np.random.default_rng(5)
# Two columns begin with equal values, and one stays so.
DENSE = rng.normal(3, 2, (120, 5)) * (rng.random((120, 5)) < 0.7)
DENSE[:10, 3] = 0.1
DENSE[:, 4] = 1e8 + 0.1
DENSE[:6, 2] = 0.0
BOTH = pytest.mark.parametrize("X", [DENSE, sp.csr_array(DENSE)], ids=["dense", "sparse"])


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


# Rows that are numbers, bits, bits until row 60, and bits of two numbers.
BITS = (DENSE != 0) * np.array([1.0, 2.0, -1.0, 1e-3, 5.0])
UNTIL = np.where(np.arange(120)[:, None] < 60, BITS, DENSE)


def states_and_rows(scaler, X, later):
    """Return the bits of rows and state after three parts: learned, not learned, learned."""
    if later:
        scaler.n_rows = 7
    scaled = [scaler.scaled(part, learn).data for part, learn in ((X[:70], True), (X[20:90], False), (X[70:], True))]
    return [np.asarray(value).tobytes() for value in (*scaled, *vars(scaler).values())]


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("X", [DENSE, BITS, UNTIL, 2 * BITS - 1])
@pytest.mark.parametrize("form", [np.array, sp.csr_array])
@pytest.mark.parametrize("of", [Running, Standardised, Guarded])
def test_whole_rows_and_single_values_have_the_same_bits(of, form, X, later, monkeypatch):
    monkeypatch.setattr(Guarded, "_farthest", 1.0)
    monkeypatch.setattr(standardised, "DECIDED", 40)
    expected = states_and_rows(of(5), form(X), later)
    monkeypatch.setattr(compiling, "call", lambda loop, *arguments, **_: loop(*arguments))
    assert states_and_rows(of(5), form(X), later) == expected


@pytest.mark.compiled
@BOTH
def test_compiled_or_not_the_bits_are_the_same(X, monkeypatch):
    monkeypatch.setattr(Guarded, "_farthest", 1.0)
    long = (sp.vstack if sp.issparse(X) else np.vstack)([X] * 10)
    with compiling.first():
        expected = [plain(of(5).scaled(long)).tobytes() for of in (Running, Guarded)]
    monkeypatch.setattr(compiling, "on", lambda: False)
    assert [plain(of(5).scaled(long)).tobytes() for of in (Running, Guarded)] == expected


def test_its_state_is_plain_numbers_and_arrays_that_can_be_kept():
    one = Running(5)
    one.scaled(DENSE[:50])
    assert {type(value) for value in vars(one).values()} == {int, np.ndarray}
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other.scaled(DENSE[50:]).tobytes() == Running(5).scaled(DENSE)[50:].tobytes()


@BOTH
def test_states_of_version_0_2_0_go_on(X):
    one, old = Running(5), Running(5)
    one.scaled(X[:50])
    kept = {name: getattr(one, name) for name in ("n_rows", "stored", "mean", "squares")}
    if isinstance(X, np.ndarray):
        kept["stored"] = np.zeros(5, dtype=np.int64)
    old.__setstate__(copy.deepcopy(kept))
    assert plain(old.scaled(X[50:])).tobytes() == plain(Running(5).scaled(X)[50:]).tobytes()


def test_rows_in_any_order_are_scaled_in_place():
    X = np.asfortranarray(DENSE)
    Running(5).scale(X)
    assert X.flags.f_contiguous
    assert X.tobytes() == Running(5).scaled(DENSE).tobytes()


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
    said = "scale: a value of feature 3 is too large for 'running' in float64; correct it, leave its row out, or use"
    raises(OutOfRangeError, "too large", Running(5).scaled, 1e200 * X)
    factors = np.where(np.arange(5) == 2, 1e200, 1)
    large = X * factors if isinstance(X, np.ndarray) else X @ scipy.sparse.diags_array(factors, format="csr")
    assert message(scale_in_place, large, "running", WHERE).startswith(f"{WHERE}: {said}")
    told = message(scale_in_place, 1e-12 * X, "running", WHERE, 1e298 * X)
    assert told.startswith(f"{WHERE}: test set: scale: a value is too large for 'running'")


def test_means_of_what_is_known_and_their_deviations():
    X = np.where(np.random.default_rng(2).random((9, 2)) < 0.3, np.nan, DRAWN[:9, :2])
    X[:2] = [[1.0, np.nan], [2.0, np.nan]]
    means = Means(2, spread=True)
    means.fill(X[:2].copy())
    assert means.typical() is None
    means.fill(X[2:].copy())
    np.testing.assert_allclose(means.typical(), [np.nanmean(X, axis=0), np.nanstd(X, axis=0)])
    assert Means(2).typical() is None
