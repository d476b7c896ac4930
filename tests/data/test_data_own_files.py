"""A user's own files: their formats, and how they are held in memory."""

import bz2
import gzip
import lzma

import numpy as np
import pytest
import scipy.sparse
from faults import message
from made_files import npz

from budgetrun.data.content import Stamp, content_sha256
from budgetrun.data.dataset import load_own
from budgetrun.kernels.rows import floats

COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


OWN = {
    "s.csv": b"1,2\n-1,3\n",
    "s.tsv": b"1\t2\n-1\t3\n",
    "s.txt": b"1 2\n-1 3\n",
    "s": b"1 1:2\n-1 1:3\n",
    "s.t": b"1 1:2\n-1 1:3\n",
    "s.libsvm": b"1 1:2\n-1 1:3\n",
    "s.svm": b"1 1:2\n-1 1:3\n",
    "s.npz": npz(X=np.array([[2], [3]]), y=np.array([1, -1])),
}


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("name", OWN)
def test_own_file_by_name_or_by_its_looks(tmp_path, name, suffix):
    path = tmp_path / (name + suffix)
    path.write_bytes(COMPRESS[suffix](OWN[name]))
    dataset = load_own(path, "dataset 'mine'")
    assert floats(dataset.X).tolist() == [[2], [3]]
    assert dataset.classes == (-1, 1)
    assert dataset.codes.tolist() == [1, 0]
    assert dataset.sha256s == {path.name: content_sha256(Stamp.of(path))}


def test_own_file_stays_sparse_where_that_is_cheaper(tmp_path):
    path = tmp_path / "s.libsvm"
    path.write_bytes(b"1 1:2 65:1\n-1 3:3\n")
    assert scipy.sparse.issparse(floats(load_own(path, "").X))
    path.write_bytes(b"1 1:2 64:1\n-1 3:3\n")
    assert isinstance(floats(load_own(path, "").X), np.ndarray)
    path.write_bytes(b"1 " + b" ".join(b"%d:1" % i for i in range(1, 81)) + b"\n")
    assert isinstance(floats(load_own(path, "").X), np.ndarray)


def test_own_file_missing(tmp_path):
    told = message(load_own, tmp_path / "no.csv", "dataset 'mine'")
    assert told == (
        f"dataset 'mine': path: no file {tmp_path / 'no.csv'}; give a path from the config's folder, or an absolute one"
    )
