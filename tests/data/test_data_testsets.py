"""A user's own files, several classes, and test sets."""

import hashlib

import numpy as np
import pytest
import scipy.sparse
from faults import message
from made_files import COMPRESS, npz

from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream, stream_info
from budgetrun.data.content import Stamp, hashed
from budgetrun.data.dataset import Source
from budgetrun.kernels.kinds import floats, stored


def spec(name, **fields):
    return DatasetSpec(name=name, **fields)


@pytest.fixture
def own(tmp_path):
    """Return a function that writes a file and gives its path."""

    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


# Several classes


def test_codes_are_positions_among_the_labels(own):
    path = own("s.csv", "".join(f"{label},{i}\n" for i, label in enumerate([7, 2, 10.5, 2, 7])))
    stream = open_stream(spec("s", path=path, task="multiclass"), 0, 0)
    assert stream.classes == [2, 7, 10.5]
    assert list(stream.tasks) == ["-"]
    assert stream.tasks["-"].dtype == np.int16
    by_row = dict(zip(floats(stream.X)[:, 0].astype(int).tolist(), stream.tasks["-"].tolist(), strict=True))
    assert [by_row[i] for i in range(5)] == [1, 0, 2, 0, 1]
    info = stream_info(spec("s", path=path, task="multiclass"))
    assert (info.classes, info.n_classes, info.task_names, info.n_test) == ([2, 7, 10.5], 3, ["-"], 0)
    assert info.sha256 == sha256(path)


def test_several_classes_see_the_same_stream_as_signs(digits):
    kinds = {task: open_stream(spec("digits", task=task), 0, 3, digits.data) for task in ("multiclass", "equal_splits")}
    assert (floats(kinds["multiclass"].X) == floats(kinds["equal_splits"].X)).all()
    digit = kinds["multiclass"].tasks["-"]
    assert (kinds["equal_splits"].tasks["01234|56789"] == np.where(digit < 5, 1, -1)).all()
    info = stream_info(spec("digits", task="equal_splits"), digits.data)
    assert (info.n_classes, info.classes) == (2, list(range(10)))
    assert stream_info(spec("digits", task="multiclass"), digits.data).n_classes == 10


def test_a_cap_keeps_all_classes(digits):
    stream = open_stream(spec("digits", task="multiclass", order="file", n_examples=2), 0, 0, digits.data)
    assert stream.classes == list(range(10))
    assert stream.tasks["-"].tolist() == [0, 1]


# Test parts of a card


def test_a_test_part_stays_in_order_and_clean(pair):
    tested = spec("pair", test=("test",), scale="unit_norm", noise=0.4, n_examples=1)
    stream = open_stream(tested, 0, 0, pair.data)
    assert stream.n_examples == 1
    assert stream.test.n_examples == 2
    assert stream.test.tasks["-"].tolist() == [1, -1]
    assert stream.test.tasks["-"].dtype == np.int8
    X = floats(stream.test.X)
    assert scipy.sparse.issparse(X)
    assert X.shape == (2, 100)
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.toarray()[:, 2].tolist() == [1, 0]
    plain = open_stream(tested.model_copy(update={"test": None}), 0, 0, pair.data)
    assert plain.test is None
    assert (floats(plain.X) != floats(stream.X)).nnz == 0
    info = stream_info(tested, pair.data)
    assert (info.n_examples, info.n_test) == (1, 2)


def test_the_hash_of_a_stream_changes_with_its_test_set_alone(pair):
    plain, tested = (stream_info(spec("pair", test=test), pair.data) for test in (None, ("test",)))
    both = stream_info(spec("pair", parts=("train", "test")), pair.data)
    learned, found = tested.files.values()
    assert list(tested.files) == ["p/pair", "p/pair.t"]
    assert plain.sha256 == learned
    assert tested.sha256 == hashlib.sha256(f"stream {learned}\ntest {found}".encode()).hexdigest()
    assert tested.sha256 != both.sha256
    assert tested.nnz_per_row == plain.nnz_per_row


def test_every_split_is_tested(made, digits):
    images = np.arange(60, dtype=np.uint8).reshape(10, 2, 3)
    from made_files import idx

    of = {part: {f"d/{part}-x": idx(images), f"d/{part}-y": idx(np.arange(10, dtype=np.uint8)[::step])}
          for part, step in (("train", 1), ("test", -1))}  # fmt: skip
    counts = dict.fromkeys(range(10), 1)
    made.place(made.add("two", of, {"train": counts, "test": counts}, format="idx", n_features=6))
    both = spec("two", parts=("train",), test=("test",), task="equal_splits", scale="minmax", order="file")
    stream = open_stream(both, 0, 0, made.data)
    assert len(stream.test.tasks) == 126
    for name, signs in stream.test.tasks.items():
        assert signs.tolist() == stream.tasks[name][::-1].tolist()
    assert (floats(stream.test.X) == floats(stream.X)).all()
    some = open_stream(both, 0, 0, made.data, tasks=["02468|13579"])
    assert list(some.test.tasks) == ["02468|13579"]
    stored(stream.test.X)[:] = 0
    assert (floats(open_stream(both, 0, 0, made.data).test.X) == floats(some.X)).all()


# A test file of one's own


def test_an_own_test_file(own):
    stream = spec("s", path=own("s.csv", "1,0,2\n2,4,2\n2,8,2\n"), test_path=own("t.csv", "2,2,9\n"), scale="minmax")
    opened = open_stream(stream, 0, 0)
    assert floats(opened.test.X).tolist() == [[0.25, 0]]
    assert opened.test.tasks["-"].tolist() == [1]
    info = stream_info(stream)
    assert info.files == {"s.csv": sha256(stream.path), "t.csv": sha256(stream.test_path)}
    assert info.n_test == 1
    assert info.sha256 != stream_info(stream.model_copy(update={"test_path": None})).sha256


def test_files_of_the_same_name_are_told_apart(own, tmp_path):
    (tmp_path / "t").mkdir()
    stream = spec("s", path=own("s.csv", "1,0\n2,4\n"), test_path=own("t/s.csv", "2,2\n"))
    assert stream_info(stream).files == {"s.csv": sha256(stream.path), "s.csv (test)": sha256(stream.test_path)}


WIDE = "".join(f"{i % 2} {i + 1}:1 90:{i}\n" for i in range(9))


@pytest.mark.parametrize(
    ("learned", "tested"),
    [("1 1:1 2:1 5:2\n0 1:3 4:1\n", "1 2:7\n0\n"), (WIDE, "1 2:7\n0\n"), (WIDE, "1 1:1 2:7\n0 1:1 2:1\n")],
    ids=["dense", "sparse", "sparse and dense"],
)
def test_libsvm_text_may_lack_the_last_features(own, learned, tested):
    stream = spec("s", path=own("s.svm", learned), test_path=own("t.svm", tested), order="file")
    opened = open_stream(stream, 0, 0)
    X = floats(opened.test.X)
    assert scipy.sparse.issparse(X) == scipy.sparse.issparse(floats(opened.X))
    assert X.shape == (2, opened.n_features)
    assert (X.toarray() if scipy.sparse.issparse(X) else X)[0, 1] == 7
    assert X.sum() == (7 if tested.startswith("1 2") else 10)
    assert opened.test.tasks["-"].tolist() == [1, -1]


def test_a_sparse_test_file_beside_a_dense_stream(own):
    table = own("s.csv", "".join(f"{i % 2},{','.join(str(i + k) for k in range(90))}\n" for i in range(4)))
    opened = open_stream(spec("s", path=table, test_path=own("t.svm", "1 90:3\n")), 0, 0)
    assert isinstance(floats(opened.test.X), np.ndarray)
    assert floats(opened.test.X)[0, 89] == 3


def features(test, stream):
    return (
        f"dataset 's': the test set has {test} features and the stream {stream}; the numbers must be equal, except "
        "that a LIBSVM test file may lack the last features (if the stream's file lacks them, write its last feature "
        "once with value 0)"
    )


ROWS = "1,2,3\n2,3,4\n"
NEW_LABELS = "the test set has labels that the stream does not have: 3 4; the stream's labels are: 1 2"
SAME_DATA = "test_path: the same data as the stream's; a test set has examples that are not learned"


@pytest.mark.parametrize(("learned", "tested", "told"), [
    ("1 1:1 2:1\n0 1:3\n", "1 3:1\n", features(3, 2)),
    (ROWS, "1,2\n", features(1, 2)),
    (ROWS, "1,2,3,4\n", features(3, 2)),
    (ROWS, "1,2,3\n4,2,3\n3,1,1\n", f"dataset 's': {NEW_LABELS}"),
    (ROWS, ROWS, f"dataset 's': {SAME_DATA}"),
])  # fmt: skip
def test_test_files_that_do_not_fit(own, learned, tested, told):
    wrong = spec("s", path=own("s", learned), test_path=own("t", tested))
    assert message(stream_info, wrong) == told
    assert message(open_stream, wrong, 0, 0) == told


def test_a_feature_named_with_value_zero_widens_a_stream(own):
    stream = spec("s", path=own("s.svm", "1 1:1 3:0\n0 1:3\n"), test_path=own("t.svm", "1 3:1\n"))
    assert floats(open_stream(stream, 0, 0).test.X).tolist() == [[0, 0, 1]]


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


def read_own(path, **given):
    return Source(DatasetSpec(name="own", path=path, **given)).load()


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("name", OWN)
def test_own_file_by_name_or_by_its_looks(tmp_path, name, suffix):
    path = tmp_path / (name + suffix)
    path.write_bytes(COMPRESS[suffix](OWN[name]))
    dataset = read_own(path)
    assert floats(dataset.X).tolist() == [[2], [3]]
    assert dataset.classes == (-1, 1)
    assert dataset.codes.tolist() == [1, 0]
    assert dataset.files == {path.name: hashed(Stamp.of(path))[0]}


def test_own_file_stays_sparse_where_that_is_cheaper(tmp_path):
    path = tmp_path / "s.libsvm"
    path.write_bytes(b"1 1:2 65:1\n-1 3:3\n")
    assert scipy.sparse.issparse(floats(read_own(path).X))
    path.write_bytes(b"1 1:2 64:1\n-1 3:3\n")
    assert isinstance(floats(read_own(path).X), np.ndarray)
    path.write_bytes(b"1 " + b" ".join(b"%d:1" % i for i in range(1, 81)) + b"\n")
    assert isinstance(floats(read_own(path).X), np.ndarray)


@pytest.mark.parametrize("key", ["path", "test_path"])
def test_own_file_missing(tmp_path, key):
    (tmp_path / "s.csv").write_text("1,0\n2,4\n")
    paths = {"path": tmp_path / "s.csv", key: tmp_path / "no.csv"}
    told = f"{key}: no file {tmp_path / 'no.csv'}; give a path from the config's folder, or an absolute one"
    assert message(stream_info, DatasetSpec(name="mine", **paths)) == f"dataset 'mine': {told}"


def test_an_own_table_with_text_labels_categories_and_missing_values(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("id,age,city,label\n0,3,Rome,spam\n1,,Oslo,ham\n2,4,Oslo,ham\n")
    dataset = read_own(path, label_column="label", missing="skip")
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
    told = message(stream_info, DatasetSpec(name="own", path=path, label_column=4))
    assert f"{path}:3:2: missing value in column 2 (age)" in told


def test_a_test_file_has_the_columns_and_categories_of_its_stream(tmp_path):
    (tmp_path / "s.csv").write_text("age,city,label\n3,Rome,1\n2,Oslo,0\n4,Bonn,0\n")
    (tmp_path / "t.csv").write_text("label,city,age\n0,Rome,7\n")
    keys = {"label_column": "label", "order": "file"}
    stream = open_stream(DatasetSpec(name="s", path=tmp_path / "s.csv", test_path=tmp_path / "t.csv", **keys), 0, 0)
    assert floats(stream.test.X).tolist() == [[7, 0, 0, 1]]
    assert stream.test.tasks["-"].tolist() == [-1]
