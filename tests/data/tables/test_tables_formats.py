"""One small table in every format and from every library gives the same examples and labels."""

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from faults import message
from pyarrow import feather, ipc, parquet

from budgetrun.data.tables import open_table
from budgetrun.kernels import Gaussian, Polynomial

Y = ["spam", "ham", "spam", "eggs"]
CITIES = ["Rome", "Paris, F", "Rome", "Oslo"]
FRAME = pd.DataFrame({"age": [31.0, 25.0, 44.5, 19.0], "city": CITIES, "ok": [True, False, True, True], "label": Y})
FEATURES = ["age", "city=Oslo", "city=Paris, F", "city=Rome", "ok"]
X = [[31, 0, 0, 1, 1], [25, 0, 1, 0, 0], [44.5, 0, 0, 1, 1], [19, 1, 0, 0, 1]]
CSV = FRAME.to_csv(index=False)
JSON = "".join(json.dumps(row) + "\n" for row in FRAME.to_dict("records"))


def stream_of(table, file):
    with ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def write(path):
    """Write the table in the format of a suffix."""
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    kind = path.name.split(".", 1)[1]
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=2)
    elif kind == "feather":
        feather.write_feather(table, str(path), compression="zstd")
    elif kind == "arrow":
        with path.open("wb") as file:
            stream_of(table, file)
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
        compress = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}.get(kind.rpartition(".")[2], bytes)
        path.write_bytes(compress(text))
    return path


KINDS = [
    "csv", "tsv", "semi.csv", "crlf.csv", "quoted.csv", "index.csv", "csv.gz", "csv.bz2", "csv.xz", "jsonl", "jsonl.gz",
    "parquet", "feather", "arrow",
]  # fmt: skip


def read(table, n_rows=4096):
    chunks = list(table.chunks(n_rows))
    assert [chunk.first_row for chunk in chunks] == np.cumsum([0, *(c.X.shape[0] for c in chunks)])[:-1].tolist()
    for chunk in chunks:
        assert chunk.X.shape[0] <= n_rows
        assert scipy.sparse.issparse(chunk.X) or (chunk.X.flags.c_contiguous and chunk.X.dtype == np.float64)
    dense = [chunk.X.toarray() if scipy.sparse.issparse(chunk.X) else chunk.X for chunk in chunks]
    return np.vstack(dense).tolist(), np.concatenate([chunk.y for chunk in chunks]).tolist()


@pytest.mark.parametrize("kind", KINDS)
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


@pytest.mark.parametrize("kind", [*KINDS[:10], "arrow"])
def test_a_pipe_gives_the_same_table_but_for_what_is_known_in_advance(tmp_path, kind):
    content = write(tmp_path / f"t.{kind}").read_bytes()
    if kind.endswith((".gz", ".bz2", ".xz")):
        assert "format not supported" in message(open_table, io.BytesIO(content))
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
    assert read(open_table((FRAME[["age", "ok"]], np.array([1, 0, 1, 0])))) == (
        [[31, 1], [25, 0], [44.5, 1], [19, 1]],
        [1, 0, 1, 0],
    )
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
    ("a.xlsx", b"PK\3\4", "a.xlsx: format not supported (.xlsx); supported are CSV and TSV, Parquet, "),
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
