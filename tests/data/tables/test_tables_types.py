"""One small table in every format and from every library, and every type of Arrow as a feature and as the label."""

import hashlib
import io
import json
import os
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from faults import message
from made_files import COMPRESS, arrow_stream, read
from pyarrow import feather, ipc, parquet

from budgetrun.config.schema import DatasetSpec
from budgetrun.data import content
from budgetrun.data.dataset import Source
from budgetrun.data.formats import csv
from budgetrun.data.tables import open_table
from budgetrun.kernels import Gaussian, Polynomial


class Extension(pa.ExtensionType):
    def __init__(self):
        super().__init__(pa.int64(), "made")

    def __arrow_ext_serialize__(self):
        return b""


DAYS, TIMES = [date(2020, 1, 1), date(2020, 1, 2)], [datetime(2020, 1, 1), datetime(2020, 1, 2)]
NUMBERS = [pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()]
READ = [
    (NUMBERS, [1, 0]),
    ([pa.float16()], [np.float16(1.5), np.float16(0)]),
    ([pa.decimal32(5, 2), pa.decimal64(5, 2), pa.decimal128(5, 2), pa.decimal256(70, 2)], [Decimal("1.5"), Decimal(2)]),
    ([pa.string(), pa.large_string(), pa.string_view()], ["a", "b"]),
]
DATES = [
    ([pa.date32(), pa.date64()], DAYS),
    ([pa.timestamp("us"), pa.timestamp("ns", "Europe/Rome")], TIMES),
    ([pa.time32("s"), pa.time64("us"), pa.duration("s")], [1, 2]),
    ([pa.duration("ms")], [5, 3]),
]
# In days, for the arrays above.
IN_DAYS = {"date": [18262, 18263], "timestamp": [18262, 18263], "time32": [1 / 86400, 2 / 86400]}
IN_DAYS |= {"time64": [1e-6 / 86400, 2e-6 / 86400], "duration[s]": [1 / 86400, 2 / 86400]}
IN_DAYS |= {"duration[ms]": [5e-3 / 86400, 3e-3 / 86400]}
NESTED = [
    ([pa.binary(), pa.large_binary(), pa.binary(1), pa.binary_view()], [b"a", b"b"]),
    ([pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.list_(pa.int64(), 1)], [[1], [2]]),
    ([pa.list_(pa.string())], [["a"], ["b"]]),
    ([pa.month_day_nano_interval()], [(1, 2, 3), (1, 2, 4)]),
    ([pa.struct([("x", pa.int64()), ("y", pa.string())])], [{"x": 1, "y": "s"}, {"x": 2, "y": "t"}]),
    ([pa.map_(pa.string(), pa.int64())], [[("a", 1)], [("b", 2)]]),
]
KINDS = (("read", READ), ("dates", DATES), ("nested", NESTED))
ARRAYS = [(pa.array(values, of), kind) for kind, found in KINDS for types, values in found for of in types]
ARRAYS += [
    (pa.ExtensionArray.from_storage(Extension(), pa.array([1, 0])), "nested"),
    (pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]), "nested"),
]


def sources(folder, array, other):
    """Yield the table of a column and another one as a data frame, as Parquet and as Arrow, if these can hold it."""
    table = pa.table({"c": array, "other": other})
    yield table, "the data", array.type
    path = folder / "t.arrow"
    with ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    if "extension" not in str(array.type):  # of another process, it is what it is stored as
        yield path, str(path), array.type
    path = folder / "t.parquet"
    try:
        parquet.write_table(table, path)
    except (pa.ArrowException, NotImplementedError):
        return
    kept = parquet.read_schema(path).field("c").type
    if kept == array.type:
        yield path, str(path), kept


@pytest.mark.parametrize("dictionary", [False, True], ids=["plain", "dictionary"])
@pytest.mark.parametrize(("array", "kind"), ARRAYS, ids=[str(array.type) for array, *_ in ARRAYS])
def test_every_type_is_read_or_refused_by_name(tmp_path, array, kind, dictionary):
    given = array.to_pylist() if kind == "read" else []
    if dictionary:
        array = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), array)
    for source, where, stored in sources(tmp_path, array, [0.5, 7]):
        name = str(stored.value_type if dictionary else stored)
        holds = f"it holds values of type {name if len(name) <= 40 else name[:37] + '...'}"
        if kind == "read":
            text = "string" in name
            values = given if text else [float(value) for value in given]
            as_feature, as_label = open_table(source, label="other"), open_table(source, label="c")
            assert [chunk.y.tolist() for chunk in as_label.chunks()] == [values]
            assert as_label.classes == tuple(sorted(values))
            X = np.eye(2) if text else np.array(values)[:, None]
            assert [chunk.X.tolist() for chunk in as_feature.chunks()] == [X.tolist()]
            continue
        advice = "only numbers, booleans and text are read; flatten the column, or leave it out"
        if kind == "dates":
            table, days = open_table(source, label="other"), next(v for k, v in IN_DAYS.items() if name.startswith(k))
            assert [chunk.X.tolist() for chunk in table.chunks()] == [np.array(days)[:, None].tolist()]
            assert table.notes()[0].startswith(f"{where}: column 1 (c) is read as days (dates: since 1970-01-01) (it")
        else:
            assert message(open_table(source, label="other").chunks) == f"{where}: column 1 (c): {holds}; {advice}"
        told = f"{where}: column 1 (c) cannot be the label: {holds}; labels are numbers, booleans or text"
        assert message(open_table, source, label="c") == told


LARGE = (
    "numbers of 2^53 and more cannot all be told apart; write them as text with a letter in it, or number "
    "the classes from 0"
)


@pytest.mark.parametrize(("array", "shown"), [
    (pa.array([2**53, 2**53 + 1]), "9.0072e+15"),
    (pa.array([-1, -(2**60)]), "-1.15292e+18"),
    (pa.array([1, 2**63 + 1], pa.uint64()), "9.22337e+18"),
    (pa.array([Decimal(10**60), Decimal(1)], pa.decimal256(76, 0)), "1e+60"),
], ids=lambda value: str(getattr(value, "type", "")))  # fmt: skip
def test_whole_numbers_that_float64_merges_are_no_classes(tmp_path, array, shown):
    values = [float(value) for value in array.to_pylist()]
    for source, where, _ in sources(tmp_path, array, [0.5, 7]):
        said = f"{where}: column 1 (c): label {shown}: {LARGE}"
        assert message(lambda of=source: open_table(of, label="c").classes) == said
        assert [chunk.y.tolist() for chunk in open_table(source, label="c", classes=()).chunks()] == [values]
        assert [chunk.X.ravel().tolist() for chunk in open_table(source, label="other").chunks()] == [values]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "svm", "npz", "pipe"])
def test_whole_numbers_that_float64_merges_are_no_classes_of_text_and_arrays(tmp_path, kind):
    rows = [(1, 0), (2, 2**53 + 1)]
    path = tmp_path / f"t.{kind}"
    if kind == "npz":
        np.savez(path, X=[[1.0], [2.0]], y=[0, 2**53 + 1])
    else:
        text = {"csv": "y,x\n{},{}\n{},{}\n", "svm": "{} 1:{}\n{} 1:{}\n"}
        line = "".join(json.dumps({"y": y, "x": x}) + "\n" for x, y in rows)
        path.write_text(text.get(kind, "").format(*(value for x, y in rows for value in (y, x))) or line)
    source = io.BytesIO(path.read_bytes()) if kind == "pipe" else path
    where = "the data" if kind == "pipe" else path
    column = "column 0 (label)" if kind in ("svm", "npz") else "column 1 (y)"
    label = None if kind in ("svm", "npz") else "y"
    assert message(lambda: open_table(source, label=label).classes) == f"{where}: {column}: label 9.0072e+15: {LARGE}"
    assert message(open_table, path, label=label, classes=[0, 2**53]) == f"{path}: label 9.0072e+15: {LARGE}"


def test_text_with_a_nul_character_is_refused(tmp_path):
    for role in ("label", "feature"):
        for source, where, _ in sources(tmp_path, pa.array(["a", "a\0"]), [0.5, 7]):
            table = open_table(source, label="c" if role == "label" else "other")
            told = f"{where}: row 2, column 1: 'a\\x00' has a NUL character; remove it"
            assert message(lambda of=table: list(of.chunks())) == told
            said = f"{where}: 1 of 2 rows have a NUL character in column 1 (c); the first: {told}"
            assert table.scan().problems[0] == said
    content = b'{"x": 1, "y": "a"}\n{"x": 2, "y": "a\\u0000"}\n'
    table = open_table(io.BytesIO(content), label="y", classes=["a", "b"])
    assert message(lambda: list(table.chunks())) == "the data:2: 'a\\x00' has a NUL character; remove it"
    for y in (["a", "a\0"], np.array(["a", "a\0"], dtype=object)):
        told = "the data: label 'a\\x00' has a NUL character; remove it"
        assert message(open_table, (np.eye(2), y)) == told


DIGITS = "9" * 400


@pytest.mark.parametrize(("line", "told"), [
    ('{"x": 1, "y": "\\ud800"}',
     """'{"x": 1, "y": "\\\\ud800"}' has half a character, such as \\ud800, in its text"""),
    ('{"\\udc00": 1}', """'{"\\\\udc00": 1}' has half a character, such as \\ud800, in its text"""),
    ('{"x": 1, "y": "\\ud83d\\ude00"}', None),
    ('{"x": 1, "x": 2}', """'{"x": 1, "x": 2}' has the key 'x' twice"""),
    (f'{{"x": {DIGITS}, "y": "b"}}', "Infinity is not a finite number; a feature is a finite number"),
    (f'{{"x": -{DIGITS * 12}, "y": "b"}}', "-Infinity is not a finite number; a feature is a finite number"),
])  # fmt: skip
def test_json_lines_that_no_column_holds_are_refused(line, told):
    for at in (1, 2):
        lines = ['{"x": 1, "y": "a"}'] * 3
        lines[at - 1] = line
        table = open_table(io.BytesIO("\n".join([*lines, ""]).encode()), label="y", classes=["a", "\U0001f600", "b"])
        if told is None:
            assert "\U0001f600" in next(table.chunks()).y
        else:
            assert message(lambda of=table: list(of.chunks())) == f"the data:{at}: {told}"


def test_measured_numbers_beside_categories_may_be_many(tmp_path):
    (tmp_path / "s.csv").write_text("y,c\n" + "".join(f"{i}.5,{'uvw'[i % 3]}\n" for i in range(1001)))
    assert Source(DatasetSpec(name="own", path=tmp_path / "s.csv")).load().n_examples == 1001


def test_a_header_that_is_longer_than_all_rows_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("y,,a,b\n1,0.5,-2\n-1,1e-3,.5\n")
    told = "3 columns where the header has 4; all rows have the same length"
    assert message(lambda: list(open_table(path).chunks())) == f"{path}:2:4: {told}"


def test_a_column_with_a_tab_in_its_name_is_named_in_one_line():
    told = message(csv.parse_table, b"y;a\tb\n1;u\n-1;x\n", "the data")
    assert told == r"the data: column 2 (a\tb) does not hold numbers"


def test_two_columns_of_one_name_are_refused_where_names_find_them(tmp_path):
    array = pa.array([1.0, 2.0])
    table = pa.Table.from_arrays([array, array, pa.array(["a", "b"])], names=["x", "x", "y"])
    parquet.write_table(table, tmp_path / "t.parquet")
    path = tmp_path / "t.csv"
    path.write_text("x,x,y\n1,2,a\n3,4,b\n")
    told = "two columns are called 'x'; rename one of them"
    assert message(open_table, tmp_path / "t.parquet") == f"{tmp_path}/t.parquet: {told}"
    for frame in (table, table.to_pandas()):
        assert message(open_table, frame) == (
            "the data: two columns have the same name (Expected unique column names, got: - 'x' 2 times); rename one "
            "of them"
        )
    read = open_table(path)
    assert [chunk.X.tolist() for chunk in read.chunks()] == [[[1, 2], [3, 4]]]
    # The first x is the first x, but of three, or of one, which is which would be a guess.
    again = open_table(path, encoding=read.encoding)
    assert [chunk.X.tolist() for chunk in again.chunks()] == [[[1, 2], [3, 4]]]
    path.write_text("x,x,x,y\n1,2,3,a\n")
    assert message(open_table, path, encoding=read.encoding) == f"{path}: {told}"
    path.write_text("x,y\n1,a\n")
    gone = "column 'x' of the table that was learned is missing"
    assert message(open_table, path, encoding=read.encoding) == f"{path}: {gone}"
    told = "the data: no rows; the first line has the key 'x' twice; JSON lines has one object per line, such as "
    assert message(open_table, io.BytesIO(b'{"x": 1, "x": 2}\n{"x": 1')) == told + '{"x": 1, "y": 0}'


def test_complex_numbers_are_refused():
    X = np.array([[1j, 2], [2, 3]])
    told = "the data: an array of shape (2, 2) and type complex128; rows of numbers or text are needed"
    for source in (X, (X, [0, 1]), (scipy.sparse.csr_array(X), [0, 1])):
        assert message(open_table, source) == told
    assert message(open_table, pd.DataFrame(X)) == (
        "the data: not columns of numbers, booleans and text (('Unsupported numpy type 15', 'Conversion failed for "
        "column 0 with type complex128'))"
    )


@pytest.mark.parametrize("text", ["time:utc,b,y\n1,2,a\n3,4,b\n", "time:utc b y\n1 2 a\n3 4 b\n"])
def test_a_colon_in_a_header_is_not_libsvm_text(tmp_path, text):
    (tmp_path / "t.txt").write_text(text)
    assert open_table(tmp_path / "t.txt").features == ["time:utc", "b"]
    (tmp_path / "t.txt").write_text("1\n0 2:3\n")
    assert open_table(tmp_path / "t.txt").features == ["1", "2"]


Y = ["spam", "ham", "spam", "eggs"]
CITIES = ["Rome", "Paris, F", "Rome", "Oslo"]
FRAME = pd.DataFrame({"age": [31.0, 25.0, 44.5, 19.0], "city": CITIES, "ok": [True, False, True, True], "label": Y})
FEATURES = ["age", "city=Oslo", "city=Paris, F", "city=Rome", "ok"]
X = [[31, 0, 0, 1, 1], [25, 0, 1, 0, 0], [44.5, 0, 0, 1, 1], [19, 1, 0, 0, 1]]
CSV = FRAME.to_csv(index=False)
JSON = "".join(json.dumps(row) + "\n" for row in FRAME.to_dict("records"))


def write(path):
    """Write the table in the format of a suffix."""
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    kind = path.name.split(".", 1)[1]
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=2)
    elif kind == "feather":
        feather.write_feather(table, str(path), compression="zstd")
    elif kind == "arrow":
        path.write_bytes(arrow_stream(table))
    else:
        text = {
            "csv": CSV,
            "tsv": CSV.replace('"Paris, F"', "Paris; F").replace(",", "\t").replace(";", ","),
            "semi.csv": "\ufeff" + CSV.replace('"Paris, F"', "Paris# F").replace(",", ";").replace("#", ","),
            "crlf.csv": CSV.replace("\n", "\r\n") + "\r\n",
            "quoted.csv": FRAME.to_csv(index=False, quoting=1),
            "index.csv": FRAME.to_csv(),
            "jsonl": JSON,
        }[kind.removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")].encode()
        path.write_bytes(COMPRESS.get(path.suffix, bytes)(text))
    return path


SUFFIXES = [
    "csv", "tsv", "semi.csv", "crlf.csv", "quoted.csv", "index.csv", "csv.gz", "csv.bz2", "csv.xz", "jsonl", "jsonl.gz",
    "parquet", "feather", "arrow",
]  # fmt: skip


@pytest.mark.parametrize("kind", SUFFIXES)
def test_every_format_gives_the_same_table(tmp_path, kind):
    table = open_table(write(tmp_path / f"t.{kind}"))
    assert table.features == FEATURES
    assert table.label_column.name == "label"
    assert table.label_found.endswith("(label), by its name")
    assert table.classes == ("eggs", "ham", "spam")
    for n_rows in (1, 7, 4096):
        assert read(table, n_rows) == (X, Y)
    plain = write(tmp_path / f"t.{kind.removesuffix('.gz').removesuffix('.bz2').removesuffix('.xz')}")
    assert table.sha256 == hashlib.sha256(plain.read_bytes()).hexdigest()


@pytest.mark.parametrize("kind", [*SUFFIXES[:10], "arrow"])
def test_a_pipe_gives_the_same_table_but_for_what_is_known_in_advance(tmp_path, kind):
    content = write(tmp_path / f"t.{kind}").read_bytes()
    if kind.endswith((".gz", ".bz2", ".xz")):
        assert "or pipe it through" in message(open_table, io.BytesIO(content))
        return
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        table = open_table(file, name="standard input")
        assert (table.n_rows, table.again, table.classes) == (None, False, ("eggs", "ham", "spam"))
        assert read(table) == (X, Y)
    kept = open_table(tmp_path / f"t.{kind}")
    read(kept)
    assert table.sha256 == kept.sha256


def test_json_lines_with_values_of_several_types(monkeypatch):
    text = b'{"a": 1, "c": "\\u003fx", "y": "u"}\n\n{"a": 1234567890123456789012, "c": false, "y": "v"}\n'
    table = open_table(io.BytesIO(text), label="y", name="s.jsonl")
    assert read(table) == ([[1, 1, 0], [1234567890123456789012.0, 0, 1]], ["u", "v"])
    monkeypatch.setattr("budgetrun.data.tables.jsonlines.HEAD_ROWS", 2)
    table = open_table(io.BytesIO(text + b'{"a": true, "c": "k", "y": "v"}\n'), label="y", name="s.jsonl")
    told = "s.jsonl:4: 'true' is not a number; a feature is a finite number"
    assert message(lambda: list(table.chunks())) == told


@pytest.mark.parametrize(
    "frame",
    [FRAME, pl.from_pandas(FRAME), pl.from_pandas(FRAME).lazy(), pa.Table.from_pandas(FRAME, preserve_index=False)],
    ids=["pandas", "polars", "lazy", "arrow"],
)
def test_data_frames_need_no_file(frame):
    sums = set()
    for n_rows in (4096, 3, 1):
        table = open_table(frame)
        assert read(table, n_rows) == (X, Y)
        sums.add(table.sha256)
    assert table.features == FEATURES
    assert len(sums) == 1


def test_pairs_of_examples_and_labels():
    numbers = np.arange(12.0).reshape(4, 3)
    for form in (np.asarray, np.asfortranarray, scipy.sparse.csc_array, scipy.sparse.coo_matrix):
        for n_rows in (1, 3, 9):
            table = open_table((form(numbers), Y))
            assert read(table, n_rows) == (numbers.tolist(), Y)
            assert table.classes == ("eggs", "ham", "spam")
    table = open_table((FRAME[["age", "ok"]], np.array([1, 0, 1, 0])))
    assert read(table) == ([[31, 1], [25, 0], [44.5, 1], [19, 1]], [1, 0, 1, 0])
    assert message(open_table, (numbers, Y[:3])) == "the data: X has 4 rows and y has 3; the numbers must be equal"
    assert "set is not a table; pass a path, a data frame" in message(open_table, {1})


def test_arrays_of_numpy(tmp_path):
    numbers = np.array([[0.5, 1, 2], [1.5, 0, 2], [2.5, 1, 3]])
    np.save(tmp_path / "a.npy", numbers)
    np.savez(tmp_path / "a.npz", X=numbers[:, 1:], y=[0, 1, 1])
    for source in (numbers, tmp_path / "a.npy"):
        assert read(open_table(source, label=-2)) == (numbers[:, [0, 2]].tolist(), [1, 0, 1])
    assert read(open_table(tmp_path / "a.npz")) == (numbers[:, 1:].tolist(), [0, 1, 1])


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("width", [3, 90])
def test_libsvm_text_with_indices_from_0_or_1(tmp_path, first, width):
    path = tmp_path / "s.svm"
    path.write_text(f"1 {first}:2 {first + 1}:3\n-1\n+1 {first + width - 1}:5\n" * 5)
    expected = np.zeros((15, width))
    expected[0::3, :2], expected[2::3, -1] = (2, 3), 5
    for n_rows in (1, 7, 99):
        table = open_table(path)
        assert (table.n_rows, table.classes) == (15, (-1, 1))
        assert scipy.sparse.issparse(next(table.chunks()).X) == (width == 90)
        assert read(table, n_rows) == (expected.tolist(), [1, -1, 1] * 5)


def test_many_categories_become_sparse_rows_and_few_dense_ones(tmp_path):
    path = tmp_path / "s.csv"
    for n, sparse in ((64, False), (65, True)):
        path.write_text("y,word\n" + "".join(f"{i % 2},w{i % n:02}\n" for i in range(200)))
        table = open_table(path, label="y")
        assert scipy.sparse.issparse(next(table.chunks()).X) == sparse
        assert read(table, 7)[0] == (np.arange(200)[:, None] % n == np.arange(n)).tolist()
        assert table.scan().problems == []


@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.1), Polynomial(degree=3, gamma=0.5, coef0=1.0)], ids=str)
@pytest.mark.parametrize("whole", [True, False])
def test_kernel_values_do_not_depend_on_dense_or_sparse_rows(kernel, whole):
    rng = np.random.default_rng(0)
    dense = rng.integers(-3, 4, (40, 300)) * (rng.random((40, 300)) < 0.1) * (1.0 if whole else 0.1)
    tables = [open_table((X, np.zeros(40))) for X in (dense, scipy.sparse.csr_array(dense))]
    rows = [next(table.chunks()).X for table in tables]
    assert [scipy.sparse.issparse(X) for X in rows] == [False, True]
    assert kernel.between(rows[0], rows[0]).tobytes() == kernel.between(rows[1], rows[1]).tobytes()


@pytest.mark.parametrize(("name", "content", "told"), [
    ("a.xls", b"PK\3\4", "a.xls: format not supported (.xls); supported are CSV and TSV, Parquet, "),
    ("a.xlsx", b"PK\3\4", "a.xlsx: not a readable Excel file (File is not a zip file); save the sheet as CSV"),
    ("a.zip", b"PK\3\4", "a.zip: cannot be unpacked (File is not a zip file); unpack it, and give that file"),
    ("a.json", b"[1]", "a.json: format not supported (.json); "),
    ("a", b"SQLite format 3\0", "a: format not supported (SQLite); "),
    ("a", b"\1\0\2\0", "a: format not supported (not text); "),
    ("a.parquet", b"PAR1nothing", "a.parquet: damaged, or not what its name says ("),
    ("a.feather", b"ARROW1nothing", "a.feather: damaged, or not what its name says ("),
    ("a.npy", b"\x93NUMPY", "a.npy: not a complete .npy array of numbers ("),
    ("a.csv", b"\xff\xfea\0", "a.csv: UTF-16 text; save the file as UTF-8"),
    ("a.csv", b"", "a.csv: the file is empty"),
    ("a.jsonl", b"[1, 2]\n",
     "a.jsonl: no rows; the first line is not a JSON object; JSON lines has one object per line"),
])  # fmt: skip
def test_what_is_not_supported_is_said(tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)
    assert told in message(open_table, tmp_path / name)
    if content and name == "a":
        assert "format not supported" in message(open_table, io.BytesIO(content))
    elif content == b"PK\3\4" and name == "a.zip":
        assert "not npz, Excel or zip; give the path of the file" in message(open_table, io.BytesIO(content))


@pytest.mark.parametrize(("learned", "told"), [({"n_features": 4}, "4"), ({"columns": []}, "a table of columns")])
def test_vectors_of_another_form_than_was_learned(learned, told):
    said = message(open_table, (np.zeros((2, 3)), [0, 1]), encoding={"classes": ["0", "1"], **learned})
    assert said == f"the data: 3 features; {told} were learned"


@pytest.mark.parametrize("kind", ["dates.csv", "money.csv", "dates.parquet"])
def test_keys_are_texts_also_where_these_stand_for_numbers(tmp_path, kind):
    keys = ["1,000.5", "2,000.5"] if "money" in kind else ["2024-01-02", "2024-01-03"]
    frame = pd.DataFrame({"key": 10 * keys, "x": range(5, 25), "label": 10 * [0, 1]})
    if kind.endswith(".parquet"):
        frame["key"] = list(map(date.fromisoformat, frame["key"]))
        frame.to_parquet(tmp_path / kind)
    else:
        frame.to_csv(tmp_path / kind, index=False)
    table = open_table(tmp_path / kind, key="key", label="label")
    assert [chunk.keys for chunk in table.chunks()] == [10 * keys]
    assert [note for note in table.notes() if "read as" in note] == []


def test_a_value_of_another_form_is_one_problem(tmp_path, monkeypatch):
    monkeypatch.setattr(content, "HEAD_ROWS", 4)
    (tmp_path / "a.csv").write_text("day,label\n" + "2024-01-02,0\n2024-01-03,1\n" * 4 + "soon,1\n")
    assert open_table(tmp_path / "a.csv", label="label").scan().problems == [
        f"{tmp_path}/a.csv: 1 of 9 rows have text in column 1 (day), which holds numbers; the first: "
        f"{tmp_path}/a.csv:10:1: 'soon' is not as this column was so far: "
        "days since 1970-01-01, from year, month and day"
    ]


@pytest.mark.parametrize(("labels", "classes"), [(["1,5", "2,5"], (1.5, 2.5)), (["1.000,0", "0,0"], (0, 1000))])
def test_classes_of_a_pipe_are_numbers_in_the_form_of_the_file(labels, classes):
    text = "x;label\n" + "".join(f"{k},5;{labels[k % 2]}\n" for k in range(10))
    assert open_table(io.BytesIO(text.encode()), label="label").classes == classes
