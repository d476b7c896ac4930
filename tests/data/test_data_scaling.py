"""Scaling."""

import numpy as np
import pytest
import scipy.sparse
from faults import message

from budgetrun.data.scaling import scale_in_place

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


def test_dense_minmax_and_standard():
    X = np.column_stack([DRAWN, np.full(50, 0.1)])
    small = scaled(X, "minmax")
    assert small[:, :4].min(axis=0).tolist() == [0] * 4
    assert small[:, :4].max(axis=0).tolist() == [1] * 4
    assert not small[:, 4].any()
    standard = scaled(X, "standard")
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(standard.std(axis=0), [1, 1, 1, 1, 0])


def test_sparse_minmax_is_the_dense_one_where_zeros_stay():
    X = np.abs(DRAWN)
    X[:, 3] = np.linspace(-2, 5, 50) + 0.01  # no zeros in it: it may be negative
    np.testing.assert_allclose(scaled(X, "minmax", sparse=True), scaled(X, "minmax"), rtol=1e-15)


def test_sparse_standard_divides_without_centring():
    expected = DRAWN / DRAWN.std(axis=0)
    np.testing.assert_allclose(scaled(DRAWN, "standard", sparse=True), expected)
    assert scaled(np.full((3, 1), 2.0), "standard", sparse=True).ravel().tolist() == [2, 2, 2]


def test_scale_none_changes_nothing():
    assert scaled(DRAWN, "none").tobytes() == DRAWN.tobytes()


ZEROS = "'minmax' would make zeros of feature 2 non-zero, because"
ADVICE = "use 'standard' or 'unit_norm', or give the data as a dense table (.csv, .npz)"
LARGE = "the values are too large for '{}' in float64; use 'scale: none'"


@pytest.mark.parametrize(
    ("X", "scale", "sparse", "fault"),
    [
        ([[1.0, -1], [1, 0]], "minmax", True, f"{ZEROS} it has negative values; {ADVICE}"),
        ([[1e200, 1]], "unit_norm", False, LARGE.format("unit_norm")),
        ([[1e308], [-1e308]], "minmax", False, LARGE.format("minmax")),
        (DRAWN, "log", False, "unknown 'log'; allowed: none unit_norm minmax standard running"),
    ],
)
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


@pytest.mark.parametrize(
    ("sparse", "X", "test", "minmax", "standard"),
    [
        (
            False, [[1.0, 5, 2], [3, 5, 4]], [[5.0, 6, 0], [2, 5, 3]],
            [[2.0, 0, -1], [0.5, 0, 0.5]], [[3.0, 0, -3], [0, 0, 0]],
        ),
        (
            True, [[0.0, 2, 0], [4, 6, 0]], [[8.0, 4, 7], [0, 10, 0]],
            [[2.0, 0.5, 0], [0, 2, 0]], [[4.0, 2, 7], [0, 5, 0]],
        ),
    ],
)  # fmt: skip
def test_a_test_set_is_scaled_by_the_statistics_of_its_stream(sparse, X, test, minmax, standard):
    assert scaled_with(X, test, "minmax", sparse)[1].tolist() == minmax
    assert scaled_with(X, test, "standard", sparse)[1].tolist() == standard
    np.testing.assert_allclose(np.linalg.norm(scaled_with(X, test, "unit_norm", sparse)[1], axis=1), 1)
