"""Which labels become +1, and what scaling does."""

import numpy as np
import pytest
import scipy.sparse

from budgetrun.data.scaling import scale_in_place
from budgetrun.data.tasks import task_signs
from budgetrun.errors import InputError

WHERE = "dataset 'd'"


def binary(classes, positive=None, default=None):
    return task_signs(classes, "binary", positive, default, WHERE)


def codes(classes):
    return task_signs(classes, "multiclass", None, None, WHERE)


def splits(classes):
    return task_signs(classes, "equal_splits", None, None, WHERE)


def test_ten_labels_have_126_complementary_splits():
    tasks = splits(range(10))
    assert len(tasks) == len({signs.tobytes() for signs in tasks.values()}) == 126
    assert list(tasks) == sorted(tasks)
    assert next(iter(tasks)) == "01234|56789"
    assert list(tasks)[-1] == "06789|12345"
    for name, signs in tasks.items():
        first, second = name.split("|")
        assert signs.dtype == np.int8
        assert signs[0] == 1
        assert sorted(first + second) == list("0123456789")
        assert [int(digit) for digit in first] == np.flatnonzero(signs == 1).tolist()
        assert [int(digit) for digit in second] == np.flatnonzero(signs == -1).tolist()


def test_splits_of_longer_labels_are_separated():
    assert list(splits([1, 2, 10, 11])) == ["1,2|10,11", "1,10|2,11", "1,11|2,10"]


@pytest.mark.parametrize("classes", [(0, 1), (1, 2), (-1, 1), (-3, 0.5)])
def test_of_two_labels_the_larger_is_positive(classes):
    assert {name: signs.tolist() for name, signs in binary(classes).items()} == {"-": [-1, 1]}


@pytest.mark.parametrize("classes", [(0, 1), ("aa", "b", "sil"), range(1000)])
def test_every_label_is_a_class_of_its_own(classes):
    tasks = codes(classes)
    assert list(tasks) == ["-"]
    assert tasks["-"].dtype == np.int16
    assert tasks["-"].tolist() == list(range(len(classes)))
    # A card's choice of positive labels is for binary tasks.
    assert (task_signs(classes, "multiclass", None, [1], WHERE)["-"] == tasks["-"]).all()


@pytest.mark.parametrize("positive", [2, [2], (2,), "2", 2.0])
def test_positive_names_the_labels_that_become_plus_one(positive):
    assert binary((1, 2, 3), positive)["-"].tolist() == [-1, 1, -1]
    assert binary((1, 2, 3), None, [2])["-"].tolist() == [-1, 1, -1]
    assert binary((1, 2, 3), [1, 3], [2])["-"].tolist() == [1, -1, 1]


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (
            lambda: binary((1, 2, 3)),
            "'task: binary' needs exactly two labels, found 3: 1 2 3; name those that become +1, e.g. 'positive: 3'",
        ),
        (
            lambda: binary(range(10)),
            "'task: binary' needs exactly two labels, found 10: 0 1 2 3 4 5 6 7 8 9; "
            "name those that become +1, e.g. 'positive: 9', or use 'task: equal_splits'",
        ),
        (
            lambda: binary((1,)),
            "'task: binary' needs exactly two labels, found 1: 1; nothing can be learned from a single label",
        ),
        (lambda: binary((1, 2), 3), "positive: no example is labelled 3; the labels are: 1 2"),
        (lambda: binary((1, 2), "x"), "positive: no example is labelled 'x'; the labels are: 1 2"),
        (lambda: binary(("a", "b"), 3), "positive: no example is labelled 3; the labels are: a b"),
        (lambda: binary((1, 2), [1, 2]), "positive: leaves no label for -1; the labels are: 1 2"),
        (
            lambda: splits(range(3)),
            "'task: equal_splits' needs an even number of labels, 2 to 12, found 3: 0 1 2; "
            "use 'task: binary' with 'positive'",
        ),
        (
            lambda: splits(range(30)),
            "'task: equal_splits' needs an even number of labels, 2 to 12, found 30: "
            "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 ...; use 'task: binary' with 'positive'",
        ),
        (
            lambda: task_signs((1, 2), "equal_splits", 1, None, WHERE),
            "'positive' belongs to 'task: binary'; remove it or the 'task: equal_splits'",
        ),
        (
            lambda: task_signs((1, 2), "multiclass", [1], None, WHERE),
            "'positive' belongs to 'task: binary'; remove it or the 'task: multiclass'",
        ),
        (
            lambda: codes(("a",)),
            "'task: multiclass' needs 2 to 1,000 labels, found 1: a; nothing can be learned from a single label",
        ),
        (
            lambda: codes(np.arange(1001) / 2),
            "'task: multiclass' needs 2 to 1,000 labels, found 1,001: 0.0 0.5 1.0 1.5 2.0 2.5 3.0 3.5 4.0 4.5 5.0 5.5 "
            "6.0 6.5 7.0 7.5 8.0 8.5 9.0 9.5 ...; is the label a measured number?",
        ),
    ],
)
def test_task_faults(call, fault):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == f"{WHERE}: {fault}"


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


@pytest.mark.parametrize(
    ("X", "scale", "sparse", "fault"),
    [
        (
            np.array([[1.0, -1], [1, 0]]),
            "minmax",
            True,
            "'minmax' would turn the zeros of feature 2 into non-zeros, since it has negative values; "
            "use 'standard' or 'unit_norm', or give the data as a dense table (.csv, .npz)",
        ),
        (
            np.array([[1e200, 1]]),
            "unit_norm",
            False,
            "the values are too large for 'unit_norm' in float64; use 'scale: none'",
        ),
        (
            np.array([[1e308], [-1e308]]),
            "minmax",
            False,
            "the values are too large for 'minmax' in float64; use 'scale: none'",
        ),
        (DRAWN, "log", False, "unknown 'log'; allowed: none unit_norm minmax standard"),
    ],
)
def test_scaling_faults(X, scale, sparse, fault):
    with pytest.raises(InputError) as caught:
        scaled(X, scale, sparse)
    assert str(caught.value) == f"{WHERE}: scale: {fault}"


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


def test_dense_test_sets():
    X = np.array([[1.0, 5.0, 2.0], [3.0, 5.0, 4.0]])
    test = np.array([[5.0, 6.0, 0.0], [2.0, 5.0, 3.0]])
    assert scaled_with(X, test, "minmax", False)[1].tolist() == [[2.0, 0.0, -1.0], [0.5, 0.0, 0.5]]
    assert scaled_with(X, test, "standard", False)[1].tolist() == [[3.0, 0.0, -3.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(np.linalg.norm(scaled_with(X, test, "unit_norm", False)[1], axis=1), 1)


def test_sparse_test_sets():
    X = np.array([[0.0, 2.0, 0.0], [4.0, 6.0, 0.0]])
    test = np.array([[8.0, 4.0, 7.0], [0.0, 10.0, 0.0]])
    assert scaled_with(X, test, "minmax", True)[1].tolist() == [[2.0, 0.5, 0.0], [0.0, 2.0, 0.0]]
    assert scaled_with(X, test, "standard", True)[1].tolist() == [[4.0, 2.0, 7.0], [0.0, 5.0, 0.0]]


@pytest.mark.parametrize(
    ("test", "scale", "told"),
    [
        (
            [[1.0, 0.0]],
            "minmax",
            "dataset 'd': test set: scale: 'minmax' would turn the zeros of feature 2 into non-zeros, since it has "
            "none in the stream; use 'standard' or 'unit_norm', or give the data as a dense table (.csv, .npz)",
        ),
        (
            [[1e308, 3.0]],
            "minmax",
            "dataset 'd': test set: scale: the values are too large for 'minmax' in float64; use 'scale: none'",
        ),
    ],
)
def test_test_set_faults(test, scale, told):
    X = scipy.sparse.csr_array([[0.0, 2.0], [0.01, 6.0]])
    with pytest.raises(InputError) as caught:
        scale_in_place(X, scale, WHERE, scipy.sparse.csr_array(test))
    assert str(caught.value) == told
