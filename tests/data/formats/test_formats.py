"""Every format of catalogued datasets: good files, a sentence for each fault, and adding one is adding a file."""

import gzip
import sys

import numpy as np
import pytest
from faults import message
from made_files import idx, npz, saved

from budgetrun.config.schema import DatasetSpec
from budgetrun.data import card, formats, open_stream, stream_info
from budgetrun.data.dataset import Source
from budgetrun.data.formats.census_income import COLUMNS, NUMERIC, parse_census
from budgetrun.data.formats.csv import parse_table
from budgetrun.data.formats.idx import parse_idx
from budgetrun.data.formats.libsvm import parse_libsvm
from budgetrun.data.formats.npz import parse_npz
from budgetrun.kernels.kinds import floats

PAIRS = '''
import numpy as np

from budgetrun.data.formats import Examples

REVISION = 3
SUFFIXES = (".pairs",)


def read(files, layout):
    """Read lines such as ``7=2``, the label last."""
    values = np.array([line.split(b"=") for file in files for line in file.content.split()], dtype=float)
    return Examples(values[:, :1], values[:, 1])


def sniff(head):
    return b"=" in head
'''


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    """A format that is nothing but a new file in the folder of formats."""
    folder = tmp_path / "formats"
    folder.mkdir()
    (folder / "pairs.py").write_text(PAIRS)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(folder)])
    yield
    sys.modules.pop("budgetrun.data.formats.pairs", None)


@pytest.mark.usefixtures("pairs")
@pytest.mark.parametrize("name", ["own.pairs", "own.pairs.gz", "own", "own.txt"])
def test_a_new_file_reads_users_own_files(tmp_path, name):
    path = tmp_path / name
    path.write_bytes((gzip.compress if name.endswith(".gz") else bytes)(b"7=2\n9=1\n"))
    dataset = Source(DatasetSpec(name="own", path=path)).load()
    assert floats(dataset.X).tolist() == [[7], [9]]
    assert dataset.classes == (1, 2)
    assert stream_info(DatasetSpec(name="own", path=path)).readers == ["pairs 3"]


@pytest.mark.usefixtures("pairs")
def test_a_new_file_reads_the_files_of_cards(made):
    contents = {"train": {"a": b"7=2\n", "b": b"9=1\n"}}
    made.place(made.add("new", contents, {"train": {1: 1, 2: 1}}, format="pairs", n_features=1))
    stream = open_stream(DatasetSpec(name="new", order="file"), 0, 0, made.data)
    assert floats(stream.X).tolist() == [[7], [9]]
    assert stream.tasks["-"].tolist() == [1, -1]
    assert stream_info(DatasetSpec(name="new"), made.data).readers == ["pairs 3"]


def test_a_card_in_an_unknown_format(made):
    made.add("new", {"train": {"a": b"7=2\n"}}, {"train": {2: 1}}, format="pairs", n_features=1)
    assert message(card, "new") == (
        f"{made.cards / 'new.yaml'}: not a dataset card: format: unknown 'pairs'; "
        "known: census_income csv idx libsvm npz zip_digit_pairs zip_digits generated"
    )


def test_no_two_formats_claim_one_suffix():
    claimed = [suffix for module in formats.all_formats().values() for suffix in module.SUFFIXES]
    assert sorted(claimed) == [".csv", ".libsvm", ".npz", ".svm", ".tsv"]


def test_pairs_of_digits_are_tasks():
    files = [formats.Content(b"6 -1 0.5\n5 0.25 1\n0 1 1\n", "digits")]
    read = formats.all_formats()["zip_digit_pairs"].read(files, formats.Layout(n_features=3))
    assert read.X.tolist() == [[0, 0.75, 3], [0.625, 1, 2], [1, 1, 0]]
    assert read.y.tolist() == [0, 1, 0]


# LIBSVM text


LIBSVM_SHAPE = "a line is 'label index:value ...'"


def test_libsvm_takes_the_number_of_features_from_the_card_and_windows_line_ends():
    X, _ = parse_libsvm(b"\xef\xbb\xbf1 1:1 2:0\r\n0 2:1\r\n", "f", 9)
    assert (X.shape, X.nnz, X.indices.dtype, X.indptr.dtype) == ((2, 9), 2, np.int32, np.int32)
    for line, rows in ((1, b"1 5:1\n"), (2, b"1 1:1\n1 1:1 5:1\n")):
        assert message(parse_libsvm, rows, "f", 4) == f"f:{line}: feature 5: indices go up to 4"


def test_libsvm_of_labels_alone_has_one_feature():
    X, _ = parse_libsvm(b"1\n-1\n", "f")
    assert (X.shape, X.nnz) == ((2, 1), 0)


@pytest.mark.parametrize(("text", "fault"), [
    ("1 1:2\n\n1 1:2\n", f"2: empty line; {LIBSVM_SHAPE[:-1]}', and an all-zero example is its label alone"),
    (" 1 1:2\n", f"1: the line starts with a blank; {LIBSVM_SHAPE}"),
    ("1 1:2\nspam 1:2\n", f"2: label: 'spam' is not a number; {LIBSVM_SHAPE} with a number as label"),
    ("nan 2:3\n", f"1: label: nan is not a finite number; {LIBSVM_SHAPE} with a number as label"),
    ("1 1:NaN\n", "1: feature 1: NaN is not a finite number"),
    ("1 1:1e999\n", "1: feature 1: 1e999 is too large for a float64"),
    ("1 1:x\n", "1: feature 1: 'x' is not a number"),
    ("1 1:\n", "1: feature 1: the value is missing"),
    ("1 1:2:3\n", "1: feature 1: '2:3' is not a number"),
    ("1 :3\n", "1: ':3' is not index:value with a whole number as index"),
    ("1 qid:3\n", "1: 'qid:3' is not index:value with a whole number as index"),
    ("1 7\n", "1: '7' is not index:value with a whole number as index"),
    ("1 0:3\n", "1: feature 0: indices start at 1"),
    ("1 2:3 2:4\n", "1: feature 2 appears twice; each index may appear once per line"),
    ("1 1:1\n1 3:3 2:4\n", "2: feature 2 comes after 3; indices must ascend"),
    ("1 3000000000:1\n", "1: feature 3000000000: indices go up to 2147483647"),
    ("1 " + "x" * 50 + "\n", f"1: '{'x' * 37}...' is not index:value with a whole number as index"),
])  # fmt: skip
def test_libsvm_faults_name_file_and_line(text, fault):
    assert message(parse_libsvm, text.encode(), "s.libsvm") == f"s.libsvm:{fault}"


# Tables as text


@pytest.mark.parametrize("separator", [",", ";", "\t", " ", ", ", "   "])
@pytest.mark.parametrize("header", ["", "label,a,b\n", '"label","a, b","c"\n', "y,0,1\n", "y,1,2\n"])
def test_table_detects_separator_and_header(separator, header):
    if '"' in header and separator.strip() not in (",", ";", "\t"):
        header = "label,a,b\n"
    head = header.replace('","', f'"{separator}"') if '"' in header else header.replace(",", separator)
    rows = separator.join(["1", "0.5", "-2"]) + "\n" + separator.join(["-1", "1e-3", ".5"])
    X, y = parse_table((head + rows).encode(), "s.csv")
    assert X.tolist() == [[0.5, -2], [0.001, 0.5]]
    assert y.tolist() == [1, -1]
    assert X.flags.c_contiguous


FEATURE = "; a feature is a finite number"
MISSING = "; fill such gaps (--missing fill), leave the rows out (--missing skip), or read 0 (--missing zero)"


@pytest.mark.parametrize(("text", "fault"), [
    ("1,2\n1,-Infinity\n", f"2:2: -Infinity is not a finite number{FEATURE}"),
    ("1,2\n1,1e400\n", f"2:2: 1e400 is too large for a float64{FEATURE}"),
    ("nan,2\n1,3\n", "1:1: the label is missing; leave such rows out (--missing skip)"),
    ("1,2\nspam,3\n", "2:1: 'spam' is not a number; a label is a number too"),
    ("spam,2.5\nham,3.5\n", " column 1 does not hold numbers"),
    ("y,a\n1,2\n1,0x1\n", f"3:2: '0x1' is not a number{FEATURE}"),
    ('1,2\n1,"3x"\n', f"2:2: '3x' is not a number{FEATURE}"),
    ("1;2\n1;0,5x\n", f"2:2: '0,5x' is not a number{FEATURE}"),
    ("1,2,3\n1,2 3,4\n", f"2:2: '2 3' is not a number{FEATURE}"),
    ("1 2\n1\t2\n", " column 1 does not hold numbers"),
    ("1 2\n1 3\n1\t2\n", "3:2: 1 columns where the first row has 2; all rows have the same length"),
    ("1,2\n1,\n", f"2:2: missing value in column 2{MISSING}"),
    ("1,2,3\n1,  ,4 5\n", f"2:2: missing value in column 2{MISSING}"),
    ("1,2,3\n1,2\n", "2:3: 2 columns where the first row has 3; all rows have the same length"),
    ("1,2\n1,2,3\n", "2:3: 3 columns where the first row has 2; all rows have the same length"),
    ("y,a,b\n1,2\n1,2\n", "2:3: 2 columns where the header has 3; all rows have the same length"),
])  # fmt: skip
def test_table_faults_name_file_line_and_column(text, fault):
    assert message(parse_table, text.encode(), "s.csv") == f"s.csv:{fault}"


@pytest.mark.parametrize(
    "text", ["1,2\n\n-1,3\n", "1,2\n-1,3\n\n", "1 2\n\n-1 3\n", "\n1,2\n-1,3\n", '"1",2\n-1,"3"\n']
)
def test_blank_lines_and_quotes(text):
    X, y = parse_table(text.encode(), "f")
    assert (X.tolist(), y.tolist()) == ([[2], [3]], [1, -1])


def test_table_without_rows_or_features():
    assert message(parse_table, b"label,a\n", "f") == "f: no rows below the header line"
    assert message(parse_table, b"1\n2\n", "f") == "f: only one column; a row is a label and at least one feature"


# .npz archives


SOME = np.ones((2, 3))
CSR = {"data": np.ones(2), "indptr": np.array([0, 2, 2]), "shape": np.array([2, 3]), "y": np.ones(2)}
TWICE = CSR | {"indices": np.array([1, 1])}


@pytest.mark.parametrize(("arrays", "fault"), [
    ({"X": SOME}, "arrays X and y are needed, or data, indices, indptr, shape and y; found X"),
    ({"X": SOME, "y": np.ones(3)}, "X has 2 rows and y has 3; the numbers must be equal"),
    ({"X": SOME[0], "y": np.ones(3)}, "X has shape (3,); 2 dimension(s) are needed"),
    ({"X": np.array([[1, np.nan]]), "y": np.ones(1)}, "X[0, 1] is nan; all numbers must be finite"),
    ({"X": SOME, "y": np.array([1, -np.inf])}, "y[1] is -inf; all numbers must be finite"),
    ({"X": SOME[:, :0], "y": np.ones(2)}, "X has shape (2, 0); at least one example and one feature are needed"),
    (TWICE | {"format": np.array("csc")}, "a sparse matrix of format 'csc'; convert it with .tocsr() before saving it"),
    (TWICE, "the sparse matrix has an entry twice; call .sum_duplicates() before saving it"),
])  # fmt: skip
def test_npz_faults(arrays, fault):
    assert message(parse_npz, npz(**arrays), "f") == f"f: {fault}"


def test_npz_torn_or_pickled():
    whole = npz(X=SOME, y=np.ones(2))
    for content in (whole[:-40], b"PK\3\4nothing", saved(np.save, SOME), npz(X=SOME, y=np.array([None, {}]))):
        assert message(parse_npz, content, "f").startswith("f: not a complete .npz archive of plain arrays (")


# IDX files


@pytest.mark.parametrize(("content", "fault"), [
    (b"P5 3 4", "not an IDX file (it must start with two zero bytes, a type and a dimension)"),
    (b"\0\0\x0d\1\0\0\0\1....", "IDX type 0x0d; only unsigned bytes (0x08) are read"),
    (b"\0\0\x08\3\0\0\0\1", "truncated IDX file: 8 bytes, the header alone has 16"),
    (idx(np.ones((3, 4), np.uint8))[:-1], "truncated IDX file: 23 bytes, shape (3, 4) needs 24"),
    (idx(np.ones((3, 4), np.uint8)) + b"x", "malformed IDX file: 25 bytes, shape (3, 4) needs 24"),
])  # fmt: skip
def test_idx_faults(content, fault):
    assert message(parse_idx, content, "f") == f"f: {fault}"


# Census-Income


def census_row(**fields):
    return ", ".join(str(fields.get(name, "0" if name in NUMERIC else "a")) for name in COLUMNS)


def test_census_scales_numbers_and_makes_every_other_column_indicators():
    rows = [
        census_row(age=20, race="?", year=94, label=" - 50000.", **{"instance weight": 1700.09}),
        census_row(age=70, race="White", year=95, label=" 50000+.", **{"instance weight": 3.5}),
        census_row(age=45, race="?", year=94, label=" - 50000.", **{"instance weight": 7}),
    ]
    X, y = parse_census("\n".join(rows).encode())
    assert len(COLUMNS) == 42
    # 7 numbers, 31 columns of one category, race and year of two.
    assert X.shape == (3, 7 + 31 + 4)
    assert X.dtype == np.float64
    assert X[:, [0]].toarray().ravel().tolist() == [0, 1, 0.5]
    assert X[:, [-2, -1]].toarray().tolist() == [[1, 0], [0, 1], [1, 0]]
    assert np.diff(X.indptr).tolist() == [33, 34, 34]
    assert y.tolist() == ["- 50000.", "50000+.", "- 50000."]
