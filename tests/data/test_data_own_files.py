"""A user's own files: their formats, and how they are held in memory."""

import numpy as np
import pytest
import scipy.sparse
from faults import message
from made_files import COMPRESS, npz

from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream, stream_info
from budgetrun.data.content import Stamp, hashed
from budgetrun.data.dataset import Own, load_own
from budgetrun.kernels.kinds import floats

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
    assert dataset.files == {path.name: hashed(Stamp.of(path))[0]}


def test_own_file_stays_sparse_where_that_is_cheaper(tmp_path):
    path = tmp_path / "s.libsvm"
    path.write_bytes(b"1 1:2 65:1\n-1 3:3\n")
    assert scipy.sparse.issparse(floats(load_own(path, "").X))
    path.write_bytes(b"1 1:2 64:1\n-1 3:3\n")
    assert isinstance(floats(load_own(path, "").X), np.ndarray)
    path.write_bytes(b"1 " + b" ".join(b"%d:1" % i for i in range(1, 81)) + b"\n")
    assert isinstance(floats(load_own(path, "").X), np.ndarray)


@pytest.mark.parametrize("key", ["path", "test_path"])
def test_own_file_missing(tmp_path, key):
    (tmp_path / "s.csv").write_text("1,0\n2,4\n")
    paths = {"path": tmp_path / "s.csv", key: tmp_path / "no.csv"}
    told = f"{key}: no file {tmp_path / 'no.csv'}; give a path from the config's folder, or an absolute one"
    assert message(stream_info, DatasetSpec(name="mine", **paths)) == f"dataset 'mine': {told}"


def test_an_own_table_with_text_labels_categories_and_missing_values(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("id,age,city,label\n0,3,Rome,spam\n1,,Oslo,ham\n2,4,Oslo,ham\n")
    dataset = load_own(path, "", own=Own("label", "skip"))
    assert floats(dataset.X).tolist() == [[3, 0, 1], [4, 1, 0]]
    assert dataset.classes == ("ham", "spam")
    assert [note.removeprefix(f"{path}: ") for note in dataset.notes] == [
        "column 1 (id) is left out: it counts the rows.",
        "column 3 (city) became 2 features, one for each category.",
        "1 row left out because a value is missing.",
    ]
    spec = DatasetSpec(name="own", path=path, label_column="label", missing="zero")
    assert stream_info(spec).n_examples == 3
    assert stream_info(spec).readers == ["table 1"]
    assert f"{path}:3:2: missing value in column 2 (age)" in message(
        stream_info, DatasetSpec(name="own", path=path, label_column=4)
    )


def test_a_test_file_has_the_columns_and_categories_of_its_stream(tmp_path):
    (tmp_path / "s.csv").write_text("age,city,label\n3,Rome,1\n2,Oslo,0\n4,Bonn,0\n")
    (tmp_path / "t.csv").write_text("label,city,age\n0,Rome,7\n")
    keys = {"label_column": "label", "order": "file"}
    stream = open_stream(DatasetSpec(name="s", path=tmp_path / "s.csv", test_path=tmp_path / "t.csv", **keys), 0, 0)
    assert floats(stream.test.X).tolist() == [[7, 0, 0, 1]]
    assert stream.test.tasks["-"].tolist() == [-1]
