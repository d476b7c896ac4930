"""Blocks of kernel values: what they hold, and rows of bits."""

import numpy as np
import pytest
import scipy.sparse
from faults import raises

from budgetrun.engine import Group
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Gaussian, Polynomial, compiling
from budgetrun.kernels.arithmetic import TILE
from budgetrun.kernels.kinds import Bits, Floats, IntegerRows, kind_of
from budgetrun.learners import find

RNG = np.random.default_rng(0)
WHOLE = RNG.integers(-9, 10, (400, 5)).astype(float)
ROWS = {
    "bits": (RNG.random((400, 130)) < 0.3).astype(float),
    "scaled bits": IntegerRows((RNG.random((400, 5)) < 0.5).astype(np.int8), RNG.random(400) + 0.5),
    "integers": WHOLE,
    "floats": (WHOLE + 0.5) / 7,
}
of_each_kernel = pytest.mark.parametrize(
    "kernel", [Gaussian(gamma=0.1), Polynomial(degree=2, gamma=0.1)], ids=["distances", "products"]
)


@pytest.mark.parametrize("way", ["numpy", pytest.param("compiled", marks=pytest.mark.compiled)])
@of_each_kernel
@pytest.mark.parametrize("name", ROWS)
def test_a_tile_has_the_values_that_its_rounds_can_read(name, kernel, way, monkeypatch):
    X = ROWS[name]
    pool = Pool(kernel, np.float64)
    kept = np.arange(0, 144, 7)
    # 144 rounds, of which some are held, so that the next block fills the gaps.
    for start, end in ((0, 128), (128, 143), (143, 144), (144, 400)):
        pool.admit(X[start:end])
        seen = pool.rounds[: pool.used]
        for tile, values in enumerate(pool.tiles):
            rounds = start + TILE * tile + np.arange(values.shape[1])
            slots = np.flatnonzero((seen <= rounds[-1]) & ((seen >= start) | np.isin(seen, kept)))
            assert set(seen[slots]) >= set(rounds)
            with monkeypatch.context() as patch:
                patch.setattr(compiling, "on", lambda: False)
                expected = kernel.between(X[seen[slots]], X[rounds])
            np.testing.assert_array_equal(values[slots], expected)
            assert np.isfinite(values).all()
        pool.release(np.flatnonzero(np.isin(pool.rounds[: pool.used], kept)))


@pytest.mark.parametrize("way", ["numpy", pytest.param("compiled", marks=pytest.mark.compiled)])
@of_each_kernel
@pytest.mark.parametrize("name", ROWS)
def test_values_of_examples_with_themselves_are_those_with_others(name, kernel, way):
    pool = Pool(kernel, np.float64)
    pool.admit(ROWS[name][:320])
    for n in (1, 63, 64, 65, 128, 300):
        slots = RNG.permutation(pool.used)[:n]
        np.testing.assert_array_equal(pool.between(slots, slots), pool.between(slots, slots.copy()))


@of_each_kernel
def test_wide_sparse_rows_have_the_values_of_the_columns_they_use(kernel):
    X, columns = WHOLE[:100] / 7, [0, 7, 4000, 8998, 8999]
    wide = scipy.sparse.lil_array((100, 9000))
    wide[:, columns] = X
    pool = Pool(kernel, np.float64)
    for rows in (slice(0, 64), slice(64, 100)):
        pool.admit(wide.tocsr()[rows])
        values = pool.tiles[0]
        np.testing.assert_allclose(values, kernel.between(X[: pool.used], X[rows]), rtol=1e-12, atol=1e-12)
    assert pool.kind.name == "sparse"
    np.testing.assert_allclose(kernel.between(wide.tocsr(), wide.tocsr()), kernel.between(X, X), rtol=1e-12, atol=1e-12)


def test_sparse_distances_that_would_be_rounding_errors_are_refused():
    """The norms that decide are those of both sides."""
    small, large = (scipy.sparse.csr_array(([size], ([0], [8999])), shape=(1, 9000)) for size in (1.0, 1e9))
    for pair in ((small, large), (large, small)):
        raises(FloatingPointError, "give them as a dense table", Gaussian(gamma=1.0).between, *pair)


def test_features_need_no_kernel_values():
    X, y = WHOLE / 20, np.where(WHOLE[:, 0] > 0, 1, -1)
    for names, slots in ((["fogd"], 0), (["fogd", "perceptron"], 256)):
        learners = [find(name)(**({"features": 4, "step": 0.5} if name == "fogd" else {})) for name in names]
        group = Group(Gaussian(gamma=1.0), learners)
        group.feed(X[:256], y[None, :256])
        assert group.pool.tiles.shape == (4, slots, 64)


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, bool])
@pytest.mark.parametrize("d", [1, 63, 64, 65, 130])
def test_compiled_code_packs_bits_as_numpy_does(d, dtype, monkeypatch):
    X = (RNG.random((70, d)) < 0.3).astype(dtype)
    packed = Bits(d).encode(X)
    strided = Bits(d).encode(np.asfortranarray(X))
    others = [] if dtype is bool else [2, -1] if dtype is np.int8 else [2, -1, np.nan, 1e-30]
    for other in others:
        for place in (0, -1):
            wrong = X.copy()
            wrong[place, place] = other
            assert Bits(d).encode(wrong) is None
    monkeypatch.setattr(compiling, "on", lambda: False)
    for found in (packed, strided):
        for one, expected in zip(found, Bits(d).encode(X), strict=True):
            np.testing.assert_array_equal(one, expected)


@pytest.mark.compiled
def test_compiled_code_packs_sparse_bits_as_numpy_does(monkeypatch):
    X = scipy.sparse.csr_array((RNG.random((70, 130)) < 0.3).astype(np.float64))
    packed, wrong = Bits(130).encode(X), X.copy()
    wrong.data[-1] = 2.0
    assert Bits(130).encode(wrong) is None
    monkeypatch.setattr(compiling, "on", lambda: False)
    for one, expected in zip(packed, Bits(130).encode(X), strict=True):
        np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize("dtype", [np.int16, np.int64, np.float64])
def test_the_least_number_of_16_bits_is_held_as_a_float(dtype):
    (kind, _) = kind_of(np.array([[-32768, 3], [5, 7]], dtype=dtype))
    assert type(kind) is Floats
