"""Every type of Arrow as a feature and as the label: the right numbers, or a sentence that names column and type."""

import io
import json
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from faults import message
from pyarrow import ipc, parquet

from budgetrun.data.dataset import load_own
from budgetrun.data.tables import open_table


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
    ([pa.month_day_nano_interval()], [(1, 2, 3), (1, 2, 4)]),
]
NESTED = [
    ([pa.binary(), pa.large_binary(), pa.binary(1), pa.binary_view()], [b"a", b"b"]),
    ([pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.list_(pa.int64(), 1)], [[1], [2]]),
    ([pa.list_(pa.string())], [["a"], ["b"]]),
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
            advice = "turn them into numbers first (days since some date, hour of the day), or leave the column out"
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
    for source, where, _ in sources(tmp_path, array, [0.5, 7]):
        assert message(lambda of=source: open_table(of, label="c").classes) == (
            f"{where}: column 1 (c): label {shown}: {LARGE}"
        )
        assert [chunk.y.tolist() for chunk in open_table(source, label="c", classes=()).chunks()] == [
            [float(value) for value in array.to_pylist()]
        ]
        assert [chunk.X.ravel().tolist() for chunk in open_table(source, label="other").chunks()] == [
            [float(value) for value in array.to_pylist()]
        ]


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
    told = message(open_table, path, label=label, classes=[0, 2**53])
    assert told == f"{path}: label 9.0072e+15: {LARGE}"


def test_text_with_a_nul_character_is_refused(tmp_path):
    for role in ("label", "feature"):
        for source, where, _ in sources(tmp_path, pa.array(["a", "a\0"]), [0.5, 7]):
            table = open_table(source, label="c" if role == "label" else "other")
            told = f"{where}: row 2, column 1: 'a\\x00' has a NUL character; remove it"
            assert message(lambda of=table: list(of.chunks())) == told
            assert table.scan().problems[0] == (
                f"{where}: 1 of 2 rows have a NUL character in column 1 (c); the first: {told}"
            )
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
    assert load_own(tmp_path / "s.csv", "dataset 'own'").n_examples == 1001


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
    assert message(open_table, path, encoding=read.encoding) == f"{path}: {told}"
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
