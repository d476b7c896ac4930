""".npz archives."""

import io

import numpy as np
import pytest
import scipy.sparse
from faults import message
from made_files import npz

from budgetrun.data.formats.npz import parse_npz


def test_npz_dense_and_sparse():
    X = np.array([[0.0, 1.5], [2, 0]])
    y = np.array([0, 1])
    dense, labels = parse_npz(npz(X=X.astype(np.float32), y=y), "f")
    assert dense.dtype == labels.dtype == np.float64
    assert dense.tolist() == X.tolist()
    csr = scipy.sparse.csr_array(X)
    pieces = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr, "shape": csr.shape}
    for extra in ({}, {"format": np.array(b"csr")}):
        sparse, labels = parse_npz(npz(**pieces, **extra, y=y), "f")
        assert sparse.toarray().tolist() == X.tolist()
        assert labels.tolist() == [0, 1]


SOME = np.ones((2, 3))
CSR = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "shape": np.array([2, 3])}


@pytest.mark.parametrize(
    ("arrays", "fault"),
    [
        ({"X": SOME}, "arrays X and y are needed, or data, indices, indptr, shape and y; found X"),
        ({"y": np.ones(2)}, "arrays X and y are needed, or data, indices, indptr, shape and y; found y"),
        ({"X": SOME, "y": np.ones(3)}, "X has 2 rows and y has 3; the numbers must be equal"),
        ({"X": SOME[0], "y": np.ones(3)}, "X has shape (3,); 2 dimension(s) are needed"),
        ({"X": SOME, "y": np.array(["a", "b"])}, "y holds <U1; real numbers are needed"),
        ({"X": np.array([[1, np.nan]]), "y": np.ones(1)}, "X[0, 1] is nan; all numbers must be finite"),
        ({"X": SOME, "y": np.array([1, -np.inf])}, "y[1] is -inf; all numbers must be finite"),
        ({"X": SOME[:, :0], "y": np.ones(2)}, "X has shape (2, 0); at least one example and one feature are needed"),
        (
            {**CSR, "y": np.ones(2), "format": np.array(b"csc")},
            "a sparse matrix of format b'csc'; convert it with .tocsr() before saving it",
        ),
        (
            {**CSR, "indices": np.array([1, 1]), "indptr": np.array([0, 2, 2]), "y": np.ones(2)},
            "the sparse matrix has an entry twice; call .sum_duplicates() before saving it",
        ),
    ],
)
def test_npz_faults(arrays, fault):
    assert message(parse_npz, npz(**arrays), "f") == f"f: {fault}"


def test_npz_torn_pickled_or_inconsistent():
    whole = npz(X=SOME, y=np.ones(2))
    for content in (whole[:-40], b"PK\3\4nothing", b"\x93NUMPY", npz(X=SOME, y=np.array([None, {}]))):
        assert message(parse_npz, content, "f").startswith("f: not a complete .npz archive of plain arrays (")
    single = io.BytesIO()
    np.save(single, SOME)
    assert message(parse_npz, single.getvalue(), "f").startswith("f: not a complete .npz archive of plain arrays (")
    wrong = npz(**{**CSR, "indices": np.array([0, 9])}, y=np.ones(2))
    assert message(parse_npz, wrong, "f").startswith("f: data, indices, indptr and shape do not form a CSR matrix (")
