"""Every reader on made files: what it reads, and every message it gives."""

import bz2
import gzip
import io
import lzma
import random
import re
import struct

import numpy as np
import pytest
import scipy.sparse

from budgetrun.data.content import Stamp, content_sha256, read_content
from budgetrun.data.dataset import load_own
from budgetrun.data.formats.census_income import COLUMNS, NUMERIC, parse_census
from budgetrun.data.formats.csv import parse_table
from budgetrun.data.formats.idx import parse_idx
from budgetrun.data.formats.libsvm import parse_libsvm
from budgetrun.data.formats.npz import parse_npz
from budgetrun.errors import InputError

COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
LIBSVM_SHAPE = "a line is 'label index:value ...'"


def message(call, *args, **kwargs):
    with pytest.raises(InputError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


# Compressed files


@pytest.mark.parametrize("suffix", COMPRESS)
def test_content_is_the_same_through_every_compression(tmp_path, suffix):
    path = tmp_path / f"s.csv{suffix}"
    path.write_bytes(COMPRESS[suffix](b"1,2\n"))
    assert read_content(path) == b"1,2\n"


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("damage", ["truncated", "corrupt", "not compressed"])
def test_a_broken_compressed_file_is_one_clear_error(tmp_path, suffix, damage):
    stored = COMPRESS[suffix](bytes(random.Random(0).randbytes(2000)))
    path = tmp_path / f"s.csv{suffix}"
    path.write_bytes(
        {
            "truncated": stored[: len(stored) // 2],
            "corrupt": stored[:500] + bytes(200) + stored[700:],
            "not compressed": b"1,2\n" * 9,
        }[damage]
    )
    told = message(read_content, path)
    assert told.startswith(f"{path}: truncated or corrupt {suffix} file (")
    assert told.endswith("; replace it by a whole copy")


@pytest.mark.parametrize("suffix", COMPRESS)
def test_an_empty_file_says_so(tmp_path, suffix):
    path = tmp_path / f"s.csv{suffix}"
    path.write_bytes(COMPRESS[suffix](b""))
    assert message(read_content, path) == f"{path}: the file is empty"


def test_a_changed_file_gets_a_new_hash(tmp_path):
    path = tmp_path / "s"
    path.write_bytes(b"one")
    first = content_sha256(Stamp.of(path))
    path.write_bytes(b"three")
    assert content_sha256(Stamp.of(path)) != first


# LIBSVM text


def test_libsvm_reads_labels_indices_values_and_all_zero_rows():
    X, y = parse_libsvm(b"+1 1:0.5 3:-2e-1 \n-1\n1.0\t2:.25  3:0\n-1 4:7.", "f")
    assert X.toarray().tolist() == [[0.5, 0, -0.2, 0], [0] * 4, [0, 0.25, 0, 0], [0, 0, 0, 7]]
    assert y.tolist() == [1, -1, 1, -1]
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.has_sorted_indices
    assert X.nnz == 4  # the value written as 0 is not stored


def test_libsvm_takes_the_number_of_features_from_the_card_and_windows_line_ends():
    X, _ = parse_libsvm(b"\xef\xbb\xbf1 1:1\r\n0 2:1\r\n", "f", 9)
    assert X.shape == (2, 9)


def test_libsvm_of_labels_alone_has_one_feature():
    X, _ = parse_libsvm(b"1\n-1\n", "f")
    assert X.shape == (2, 1)
    assert X.nnz == 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1 1:2\n\n1 1:2\n", f"2: empty line; {LIBSVM_SHAPE[:-1]}', and an all-zero example is its label alone"),
        ("\n", f"1: empty line; {LIBSVM_SHAPE[:-1]}', and an all-zero example is its label alone"),
        (" 1 1:2\n", f"1: the line starts with a blank; {LIBSVM_SHAPE}"),
        ("1 1:2\nspam 1:2\n", f"2: label: 'spam' is not a number; {LIBSVM_SHAPE} with a number as label"),
        ("1:2 2:3\n", f"1: label: '1:2' is not a number; {LIBSVM_SHAPE} with a number as label"),
        ("nan 2:3\n", f"1: label: nan is not a finite number; {LIBSVM_SHAPE} with a number as label"),
        ("1 1:NaN\n", "1: feature 1: NaN is not a finite number"),
        ("1 1:-inf\n", "1: feature 1: -inf is not a finite number"),
        ("1 1:1e999\n", "1: feature 1: 1e999 is too large for a float64"),
        ("1 1:x\n", "1: feature 1: 'x' is not a number"),
        ("1 1:1-2\n", "1: feature 1: '1-2' is not a number"),
        ("1 1:\n", "1: feature 1: the value is missing"),
        ("1 1:2:3\n", "1: feature 1: '2:3' is not a number"),
        ("1 :3\n", "1: ':3' is not index:value with a whole number as index"),
        ("1 1.0:3\n", "1: '1.0:3' is not index:value with a whole number as index"),
        ("1 +1:3\n", "1: '+1:3' is not index:value with a whole number as index"),
        ("1 qid:3\n", "1: 'qid:3' is not index:value with a whole number as index"),
        ("1 7\n", "1: '7' is not index:value with a whole number as index"),
        ("1 1:2 # note\n", "1: '#' is not index:value with a whole number as index"),
        ("1 0:3\n", "1: feature 0: indices start at 1"),
        ("1 2:3 2:4\n", "1: feature 2 stands twice; every index may stand once a line"),
        ("1 1:1\n1 3:3 2:4\n", "2: feature 2 stands after 3; indices must ascend"),
        ("1 3000000000:1\n", "1: feature 3000000000: indices go up to 2147483647"),
        ("1 " + "x" * 50 + "\n", f"1: '{'x' * 37}...' is not index:value with a whole number as index"),
    ],
)
def test_libsvm_faults_name_file_and_line(text, fault):
    assert message(parse_libsvm, text.encode(), "s.libsvm") == f"s.libsvm:{fault}"


def test_libsvm_refuses_an_index_beyond_the_card():
    assert message(parse_libsvm, b"1 5:1\n", "f", 4) == "f:1: feature 5: indices go up to 4"


# Tables


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


def test_table_label_last():
    X, y = parse_table(b"a,b,class\n1,2,3\n4,5,6\n", "f", "last")
    assert X.tolist() == [[1, 2], [4, 5]]
    assert y.tolist() == [3, 6]


FEATURE = "; a feature is a finite number"
LABEL = "; a label is a number too"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1,2\n1,nan\n", f"2:2: nan is not a finite number{FEATURE}"),
        ("1,2\n1,-Infinity\n", f"2:2: -Infinity is not a finite number{FEATURE}"),
        ("1,2\n1,1e400\n", f"2:2: 1e400 is too large for a float64{FEATURE}"),
        ("nan,2\n1,3\n", f"1:1: nan is not a finite number{LABEL}"),
        ("1,2\n1,?\n", f"2:2: '?' is not a number{FEATURE}"),
        ("1,2\nspam,3\n", f"2:1: 'spam' is not a number{LABEL}"),
        ("spam,2.5\nham,3.5\n", f"1:1: 'spam' is not a number{LABEL}"),
        ("y,a\n1,2\n1,0x1\n", f"3:2: '0x1' is not a number{FEATURE}"),
        ('1,2\n1,"3"\n', f"2:2: '\"3\"' is not a number{FEATURE}"),
        ("1;2\n1;0,5\n", f"2:2: '0,5' is not a number{FEATURE}"),
        ("1,2,3\n1,2 3,4\n", f"2:2: '2 3' is not a number{FEATURE}"),
        ("1 2\n1\t2\n", f"1:1: '1 2' is not a number{LABEL}"),
        ("1 2\n1 3\n1\t2\n", f"3:1: '1\\t2' is not a number{LABEL}"),
        ("1,,2\n", "1:2: empty field; every field is a finite number"),
        ("1,2\n1,\n", "2:2: empty field; every field is a finite number"),
        ("1,2,3\n1,  ,4 5\n", "2:2: empty field; every field is a finite number"),
        ("1,2\n\n1,2\n", "2:1: empty row; every row is a label and its features"),
        ("1,2\n1,2\n\n", "3:1: empty row; every row is a label and its features"),
        ("1 2\n\n1 2\n", "2:1: empty row; every row is a label and its features"),
        ("\n1,2\n", "1:1: empty row; every row is a label and its features"),
        ("1,2\n , \n", "2:1: empty row; every row is a label and its features"),
        ("1,2,3\n1,2\n", "2:3: 2 columns where the first row has 3; all rows are as long"),
        ("1,2\n1,2,3\n", "2:3: 3 columns where the first row has 2; all rows are as long"),
        ("1 2\n1 2 3\n", "2:3: 3 columns where the first row has 2; all rows are as long"),
        ("y,a,b\n1,2\n1,2\n", "2:3: 2 columns where the header has 3; all rows are as long"),
    ],
)
def test_table_faults_name_file_line_and_column(text, fault):
    assert message(parse_table, text.encode(), "s.csv") == f"s.csv:{fault}"


def test_table_without_rows_or_features():
    assert message(parse_table, b"label,a\n", "f") == "f: no rows below the header line"
    assert message(parse_table, b"1\n2\n", "f") == "f: one column only; a row is a label and at least one feature"


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_libsvm, b"1 1:0.5 3:-2e-1\n-1\n1.0\t2:.25  3:0\n-1 4:7.\n"),
        (parse_table, b"y,a,b\n1,0.5,-2\n-1,1e-3,.5\n1,7.,+3\n"),
        (parse_table, b"1 0.5 -2\n-1  1e-3 .5 \n1 7. +3\n"),
    ],
)
def test_a_mutated_file_is_read_or_refused_never_a_crash(parse, text):
    draw = random.Random(0)
    alphabet = b'0123456789+-.eE:,; \t\n\rx"#n\xff\x00'
    for _ in range(3000):
        mutant = bytearray(text)
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(mutant))
            mutant[at : at + draw.randint(0, 2)] = bytes(draw.choices(alphabet, k=draw.randint(0, 2)))
        try:
            X, y = parse(bytes(mutant), "f")
        except InputError:
            continue
        lines = mutant.decode(errors="replace").removeprefix("\ufeff").removesuffix("\n").split("\n")
        assert len(y) in ((len(lines),) if parse is parse_libsvm else (len(lines), len(lines) - 1))
        for line, x, label in zip(lines[-len(y) :], X, y, strict=True):
            assert plainly(line, parse is parse_libsvm) == [label, *stated(x, line, parse is parse_libsvm)]


def plainly(line, libsvm):
    """Read a line that is known to be good in the simplest way: the label, then the features that it states."""
    label, *rest = (float(token) for token in re.split(r"[\s,;:]+", line.strip()))
    return [label, *(rest[1::2] if libsvm else rest)]


def stated(x, line, libsvm):
    if not libsvm:
        return x.tolist()
    dense = x.toarray().ravel()
    return [dense[int(index) - 1] for index in re.findall(r"(\d+):", line)]


# IDX


def idx(array):
    return struct.pack(f">BBBB{array.ndim}i", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def test_idx_reads_images_and_labels():
    images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    assert (parse_idx(idx(images), "f") == images).all()
    assert parse_idx(idx(images[0, 0]), "f").shape == (4,)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"P5 3 4", "not an IDX file (it must start with two zero bytes, a type and a dimension)"),
        (b"\0\0", "not an IDX file (it must start with two zero bytes, a type and a dimension)"),
        (b"\0\0\x0d\1\0\0\0\1....", "IDX type 0x0d; only unsigned bytes (0x08) are read"),
        (b"\0\0\x08\3\0\0\0\1", "truncated IDX file: 8 bytes, the header alone has 16"),
        (idx(np.ones((3, 4), np.uint8))[:-1], "truncated IDX file: 23 bytes, shape (3, 4) needs 24"),
        (idx(np.ones((3, 4), np.uint8)) + b"x", "malformed IDX file: 25 bytes, shape (3, 4) needs 24"),
    ],
)
def test_idx_faults(content, fault):
    assert message(parse_idx, content, "f") == f"f: {fault}"


# .npz


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


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
        ({"X": SOME, "y": np.ones(3)}, "X has 2 rows and y has 3; they must be as many"),
        ({"X": SOME[0], "y": np.ones(3)}, "X has shape (3,); 2 dimension(s) are needed"),
        ({"X": SOME, "y": np.array(["a", "b"])}, "y holds <U1; real numbers are needed"),
        ({"X": np.array([[1, np.nan]]), "y": np.ones(1)}, "X[0, 1] is nan; all numbers must be finite"),
        ({"X": SOME, "y": np.array([1, -np.inf])}, "y[1] is -inf; all numbers must be finite"),
        ({"X": SOME[:, :0], "y": np.ones(2)}, "X has shape (2, 0); at least one example and one feature are needed"),
        (
            {**CSR, "y": np.ones(2), "format": np.array(b"csc")},
            "a sparse matrix of format b'csc'; save it with .tocsr()",
        ),
        (
            {**CSR, "indices": np.array([1, 1]), "indptr": np.array([0, 2, 2]), "y": np.ones(2)},
            "the sparse matrix names an entry twice; save it after .sum_duplicates()",
        ),
    ],
)
def test_npz_faults(arrays, fault):
    assert message(parse_npz, npz(**arrays), "f") == f"f: {fault}"


def test_npz_torn_pickled_or_inconsistent():
    whole = npz(X=SOME, y=np.ones(2))
    for content in (whole[:-40], b"PK\3\4nothing", b"\x93NUMPY", npz(X=SOME, y=np.array([None, {}]))):
        assert message(parse_npz, content, "f").startswith("f: not a whole .npz archive of plain arrays (")
    single = io.BytesIO()
    np.save(single, SOME)
    assert message(parse_npz, single.getvalue(), "f").startswith("f: not a whole .npz archive of plain arrays (")
    wrong = npz(**{**CSR, "indices": np.array([0, 9])}, y=np.ones(2))
    assert message(parse_npz, wrong, "f").startswith("f: data, indices, indptr and shape make no CSR matrix (")


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


# A user's own file


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
    assert dataset.X.tolist() == [[2], [3]]
    assert dataset.classes == (-1, 1)
    assert dataset.codes.tolist() == [1, 0]
    assert dataset.sha256s == {path.name: content_sha256(Stamp.of(path))}


def test_own_file_stays_sparse_where_that_is_cheaper(tmp_path):
    path = tmp_path / "s.libsvm"
    path.write_bytes(b"1 1:2 65:1\n-1 3:3\n")
    assert scipy.sparse.issparse(load_own(path, "").X)
    path.write_bytes(b"1 1:2 64:1\n-1 3:3\n")
    assert isinstance(load_own(path, "").X, np.ndarray)
    path.write_bytes(b"1 " + b" ".join(b"%d:1" % i for i in range(1, 81)) + b"\n")
    assert isinstance(load_own(path, "").X, np.ndarray)


def test_own_file_missing(tmp_path):
    told = message(load_own, tmp_path / "no.csv", "dataset 'mine'")
    assert told == (
        f"dataset 'mine': path: no file {tmp_path / 'no.csv'}; give a path from the config's folder, or an absolute one"
    )
