"""Data that are a constant times small whole numbers stay whole, and have the same kernel values as floats."""

import numpy as np
import pytest
import scipy.sparse
from made_files import npz

from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream, stream_info
from budgetrun.data.formats import Content, Layout, zip_digits
from budgetrun.data.scaling import scale_in_place, scaled
from budgetrun.engine import Group
from budgetrun.kernels import Gaussian, Polynomial
from budgetrun.kernels.kinds import DENSE_FEATURES, IntegerRows, as_whole, floats, kind_of, squares
from budgetrun.learners.perceptron import Perceptron

DRAWN = np.random.default_rng(0).integers(-300, 300, (40, 70))
BITS, COUNTS = (DRAWN > 150).astype(float), np.where(DRAWN > 0, DRAWN, 0).astype(float)
COUNTS[7] = BITS[7] = 0


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize(("X", "dtype", "unit"), [
    (BITS, np.int8, 1.0),
    (BITS * 0.18257, np.int8, 0.18257),
    (DRAWN, np.int16, 1.0),
    (COUNTS * 0.25, np.int16, 0.25),
    (np.zeros((3, 2)), np.int8, 1.0),
    (np.full((3, 2), 32767.0), np.int16, 1.0),
])  # fmt: skip
def test_whole_numbers_are_found_with_their_unit(form, X, dtype, unit):
    given = form(X.astype(float))
    found = as_whole(given)
    assert isinstance(found, IntegerRows)
    assert found.integers.dtype == dtype
    assert (found.factors == (unit if X.any() else 1.0)).all()
    assert scipy.sparse.issparse(found.integers) == scipy.sparse.issparse(given)
    if scipy.sparse.issparse(given):
        assert found.integers.indices.dtype == given.indices.dtype
    assert dense(found).tobytes() == (X + 0.0).tobytes()


# 3 * 0.1 is not 0.3, and the sum of the squares of 32767 is beyond 2^31.
OTHERS = [[0.5, 1.2], [0.1, 0.2, 0.3], [1, 32768], [-32769, 1], [32767] * 3, [1e-300, 0], [1e200, 0], [5e-324, 1e300]]


@pytest.mark.parametrize("row", OTHERS)
def test_other_numbers_stay_as_they_are(row):
    assert as_whole(given := np.array([row], dtype=float)) is given


def dense(X):
    X = floats(X)
    return X.toarray() if scipy.sparse.issparse(X) else X


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("X", [BITS, COUNTS, BITS * 0.18257])
def test_unit_norm_keeps_the_integers(form, X):
    whole, expected = as_whole(form(X)), X.copy()
    found, of_test = scaled(whole, "unit_norm", "", as_whole(form(X[:5])))
    scale_in_place(expected, "unit_norm", "")
    assert found.integers is whole.integers
    np.testing.assert_allclose(dense(found), expected, rtol=1e-15)
    np.testing.assert_allclose(dense(of_test), expected[:5], rtol=1e-15)
    assert not dense(found)[7].any()
    np.testing.assert_allclose(squares(found), (X.any(axis=1)).astype(float), rtol=1e-15)
    for kernel in (Gaussian(gamma=0.7), Polynomial(degree=3)):
        np.testing.assert_allclose(kernel.between(found, found), kernel.between(expected, expected), rtol=1e-12)


@pytest.mark.parametrize("scale", ["minmax", "standard"])
def test_other_scalings_are_those_of_floats(scale):
    whole, expected = as_whole(COUNTS), COUNTS.copy()
    found, _ = scaled(whole, scale, "")
    scale_in_place(expected, scale, "")
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("X", "kinds"), [(BITS, "bits bits bits floats"), (COUNTS, "integers integers floats floats")])
def test_the_kind_of_scaled_rows_is_known_before(tmp_path, X, kinds):
    scales = ("none", "unit_norm", "minmax", "standard")
    assert [own_stream(tmp_path / "own.npz", X, scale=scale)[1].kind for scale in scales] == kinds.split()


def own_stream(path, X, test=None, **fields):
    path.write_bytes(npz(X=X, y=np.arange(len(X)) % 2))
    if test is not None:
        fields["test_path"] = path.with_name("test.npz")
        fields["test_path"].write_bytes(npz(X=test, y=np.arange(len(test)) % 2))
    spec = DatasetSpec(name="own", path=path, **fields)
    return open_stream(spec, 0, 0), stream_info(spec)


@pytest.mark.parametrize(
    "fields", [{}, {"scale": "unit_norm"}, {"noise": 0.3, "n_examples": 11}, {"balanced": True, "order": "file"}]
)
def test_a_stream_of_whole_numbers_has_the_rounds_of_one_of_floats(tmp_path, fields):
    whole, info = own_stream(tmp_path / "own.npz", COUNTS, COUNTS[:9], **fields)
    # One more feature, the same in all rows and very small, makes it one of floats.
    rows = np.hstack([COUNTS, np.full((40, 1), 1e-30)])
    other, of_floats = own_stream(tmp_path / "own.npz", rows, rows[:9], **fields)
    assert (info.kind, of_floats.kind) == ("integers", "floats")
    assert info.data_bytes < of_floats.data_bytes / 2
    assert isinstance(whole.X, IntegerRows)
    assert isinstance(other.X, np.ndarray)
    if "scale" not in fields:
        assert (floats(whole.X) == other.X[:, :-1]).all()
    np.testing.assert_allclose(floats(whole.X), other.X[:, :-1], rtol=1e-15)
    np.testing.assert_allclose(floats(whole.test.X), other.test.X[:, :-1], rtol=1e-15)
    assert (whole.tasks["-"] == other.tasks["-"]).all()


def test_a_test_set_may_be_of_other_numbers_than_its_stream(tmp_path):
    stream, _ = own_stream(tmp_path / "own.npz", BITS, BITS[:4] + 0.3, scale="unit_norm")
    assert isinstance(stream.X, IntegerRows)
    assert isinstance(stream.test.X, np.ndarray)
    np.testing.assert_allclose(np.linalg.norm(stream.test.X, axis=1), 1)
    kernel = Gaussian(gamma=0.5)
    expected = kernel.between(floats(stream.X), stream.test.X)
    np.testing.assert_allclose(kernel.between(stream.X, stream.test.X), expected, rtol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scale", ["none", "unit_norm"])
def test_kernels_hold_more_when_they_must(sparse, scale):
    """Rows of bits, then of integers, then of floats: the kind widens, and values and mistakes are those of floats."""
    X = np.vstack([BITS, COUNTS, np.hstack([COUNTS[:, :-1], np.full((40, 1), 0.123)])])
    parts = [as_whole(part if not sparse else scipy.sparse.csr_array(part)) for part in (X[:40], X[40:80], X[80:])]
    parts = [scaled(part, scale, "")[0] for part in parts]
    everything = np.vstack([dense(part) for part in parts])
    y = np.where(np.arange(120) % 3 > 0, 1, -1)[None]
    whole, plain = (Group(Gaussian(gamma=0.01), [Perceptron()], [0], tie="mistake") for _ in range(2))
    kinds = []
    for i, part in enumerate(parts):
        rounds = slice(40 * i, 40 * i + 40)
        scores = whole.feed(part, y[:, rounds])
        kinds.append(whole.pool.kind.name)
        np.testing.assert_allclose(scores, plain.feed(everything[rounds], y[:, rounds]), rtol=1e-9, atol=1e-12)
    assert kinds == ["bits", "integers", "floats"]
    slots = whole.members[0].hypothesis.slots
    np.testing.assert_allclose(whole.pool.examples(slots), everything[whole.pool.rounds[slots]], rtol=1e-15)


def test_very_wide_sparse_rows_stay_sparse():
    X = scipy.sparse.random_array((20, DENSE_FEATURES + 1), density=0.001, rng=np.random.default_rng(0)).tocsr()
    X.data[:] = 1
    assert kind_of(as_whole(scipy.sparse.csr_array(X)))[0].name == "sparse"


def test_grey_values_of_digits_are_steps_of_a_2000th():
    layout = Layout()
    read = zip_digits.read([Content(b"6 -1 0.251 1\n5 -0.998 0.5 0\n", "digits")], layout).X
    assert read.integers.tolist() == [[0, 1251, 2000], [2, 1500, 1000]]
    assert (read.factors == 1 / 2000).all()
    other = zip_digits.read([Content(b"6 -1 0.2512 1\n", "digits")], layout).X
    np.testing.assert_allclose(other, [[0, 0.6256, 1]])
    assert zip_digits.read([Content(b"6 -1 50 1\n", "digits")], layout).X.tolist() == [[0, 25.5, 1]]
