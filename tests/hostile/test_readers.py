"""Files that are no data, or far more data than they look: one sentence each, at once and within little memory."""

import contextlib
import gzip
import os
import re
import socket
import subprocess
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from cases import paired
from data import made_files
from faults import message
from pyarrow import csv, feather, parquet
from sentences import one_sentence
from sweeping import config, printed, run

from budgetrun.base.errors import InputError
from budgetrun.config.schema import DatasetSpec
from budgetrun.data import content as content_module
from budgetrun.data import dataset, open_stream, stream_info
from budgetrun.data.content import Stamp, pieces, read_content
from budgetrun.data.tables import open_table
from budgetrun.kernels.kinds import floats

pytestmark = pytest.mark.faults

COMPRESS = {suffix: compress for suffix, compress in made_files.COMPRESS.items() if suffix}


def own_file(path):
    return dataset.Source(DatasetSpec(name="own", path=path)).load()


@pytest.fixture
def own(tmp_path):
    """Return a function that writes a file and reads it as a user's own one."""

    def read(name, stored):
        path = tmp_path / name
        path.write_bytes(stored)
        return own_file(path)

    return read


def refused(call, *arguments, most=600):
    return one_sentence(message(call, *arguments), most)


# Compressed files


@pytest.mark.parametrize("suffix", COMPRESS)
def test_all_streams_are_read_and_a_damaged_one_is_refused(tmp_path, suffix):
    path = tmp_path / f"s.csv{suffix}"
    streams = [COMPRESS[suffix](b"1,2\n" * 100_000) for _ in range(3)]
    path.write_bytes(b"".join(streams))
    assert len(read_content(path)) == 1_200_000
    for at in (0, 1, len(streams[1]) // 2, len(streams[1]) - 5):
        second = bytearray(streams[1])
        second[at] ^= 4
        path.write_bytes(streams[0] + bytes(second) + streams[2])
        if at > 1:
            # A bit of a code that is never used means nothing.
            with contextlib.suppress(InputError):
                assert len(read_content(path)) == 1_200_000
        else:
            told = refused(read_content, path)
            assert told.startswith(f"{path}: truncated or corrupt {suffix} file (")
            assert told.endswith(", after 1 whole streams); replace it with a whole copy")


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("garbage", [b"x", b"garbage that is long enough for a header", b"\0", b"\0" * 3, b"\0" * 8])
def test_what_follows_the_last_stream_is_padding_or_refused(tmp_path, suffix, garbage):
    path = tmp_path / f"s.csv{suffix}"
    path.write_bytes(COMPRESS[suffix](b"1,2\n") + garbage)
    if suffix != ".bz2" and not garbage.strip(b"\0") and (suffix == ".gz" or len(garbage) % 4 == 0):
        assert read_content(path) == b"1,2\n"
    else:
        assert f"truncated or corrupt {suffix} file (" in refused(read_content, path)


def peak_of(call, *arguments):
    tracemalloc.start()
    try:
        return refused(call, *arguments), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_decompression_bomb_is_refused_before_it_fills_the_memory(own, monkeypatch, suffix):
    monkeypatch.setenv("BUDGETRUN_MEMORY", "10M")
    told, peak = peak_of(own, f"s.csv{suffix}", COMPRESS[suffix](bytes(40_000_000)))
    assert peak < 26e6
    need = r"its content would need 1\d\.\d MB of memory, and the limit is 10\.0 MB; if the file is as it"
    assert re.search(need, told)
    assert told.endswith("raise the limit with --memory SIZE (of a sweep) or $BUDGETRUN_MEMORY=SIZE")


# Archives of numpy


def npy(header, body=b""):
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


def archive(**members):
    stored = {
        f"{name}.npy": content if isinstance(content, bytes) else made_files.saved(np.save, content)
        for name, content in members.items()
    }
    return made_files.zip_of(stored, zipfile.ZIP_DEFLATED)


def test_an_archive_that_asks_for_terabytes_is_refused(own):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2000000000000, 1)}"
    told, peak = peak_of(own, "s.npz", archive(X=npy(header, bytes(16)), y=np.ones(2)))
    assert "not a complete .npz archive of plain arrays (an array of shape (2000000000000, 1)" in told
    assert peak < 2e6


def test_an_archive_that_decompresses_to_far_more_is_refused(own, monkeypatch):
    monkeypatch.setenv("BUDGETRUN_MEMORY", "5M")
    stored = archive(X=np.zeros((1000, 1000)), y=np.ones(1000))
    told, peak = peak_of(own, "s.npz", stored)
    assert "its 2 arrays would need 8.0 MB of memory, and the limit is 5.0 MB" in told
    assert peak < 2e6
    # Of one byte each, a million numbers take eight.
    stored = archive(X=np.zeros((1000, 1000), bool), y=np.ones(2))
    assert "its array X would need 9.0 MB" in refused(own, "s.npz", stored)
    # What is not needed is not even decompressed.
    assert own("s.npz", archive(X=np.ones((2, 1)), y=np.arange(2), more=np.zeros(10**6))).X.shape == (2, 1)


CSR = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "shape": np.array([2, 3])}


@pytest.mark.parametrize(("arrays", "told"), [
    ({"X": np.array([[None]], dtype=object)}, "an array of Python objects"),
    ({"X": npy("(" * 5000)}, "not a complete .npz archive of plain arrays ("),
    ({"X": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, -2)}", bytes(16))}, "plain arrays ("),
    ({"X": npy("{'descr': '\x1b[31m', 'fortran_order': False, 'shape': (1, 2)}", bytes(16))}, "plain arrays ("),
    ({"X": np.array([["a"]])}, "X holds <U1; real numbers are needed"),
    ({"X": np.array([[np.longdouble("1e4000")]])}, "X[0, 0] is inf; all numbers must be finite"),
    ({**CSR, "indices": np.array([0.0, 1.0])}, "indices holds float64; whole numbers are needed"),
    ({**CSR, "indptr": np.array([0, 2, 1])}, "do not form a CSR matrix ("),
    ({**CSR, "indices": np.array([0, 2**40])}, "do not form a CSR matrix ("),
    ({**CSR, "shape": np.array([2, 2**40])}, "vectors of 1,099,511,627,776 features would need 70.4 TB"),
    ({**CSR, "shape": np.array([2, 3, 4])}, "do not form a CSR matrix ("),
    ({**CSR, "format": np.array(["csr", "csr"])}, "a sparse matrix of format ['csr', 'csr']; convert it"),
])  # fmt: skip
def test_arrays_of_the_wrong_kind_are_refused(own, arrays, told):
    assert told in refused(own, "s.npz", archive(**arrays, y=np.ones(2)))


# Text


@pytest.mark.parametrize(("name", "content", "told"), [
    ("s.csv", b"\xef\xbb\xbf", ": no rows; all lines are blank"),
    ("s.csv", b"1,2\n1,\x00\n", ":2:2: '\\x00' is not a number"),
    ("s.csv", b"1,2\n1,\xff\xfe\n", "is not a number"),
    ("s.csv", b"1,2\r1,3\r", ":1: a carriage return without a line feed; save the file with \\n line ends"),
    ("s.csv", b'y,"a\n1,2\n1,3\n', ":1: a quotation mark opens a field and is never closed"),
    ("s.csv", b'1,2\n"1,3\n', ":2: a quotation mark opens a field and is never closed"),
    ("s.csv", b"1,2\n1," + b"9" * 10**6 + b"\n", "... is too large for a float64"),
    ("s.csv", b"1," * 400_000 + b"1\n2,3\n", ":2:3: 2 columns where the first row has 400001"),
    ("s.svm", b"1 1:" + b"1" * 10**6 + b"\n", "... is too large for a float64"),
    ("s.svm", b"1 " + b"1" * 10**6 + b":1\n", "...: indices go up to 2147483647"),
    ("s.svm", b"1 " + b"0" * 5000 + b"3:1 2:1\n", "feature 2 comes after 3; indices must ascend"),
    ("s.svm", b"1 2147483647:1\n-1 1:1\n", "vectors of 2,147,483,647 features would need 137.4 GB"),
])  # fmt: skip
def test_hostile_text_is_refused_at_once(own, name, content, told):
    began = time.process_time()
    assert told in refused(own, name, content)
    assert time.process_time() - began < 5


def test_labels_of_hundreds_of_digits_are_shortened_in_messages(tmp_path):
    (tmp_path / "s.csv").write_text("".join(f"{label}e300,1\n" for label in range(1, 30)))
    assert "found 29: 1" in refused(stream_info, DatasetSpec(name="own", path=tmp_path / "s.csv"))


def test_a_sparse_file_whose_dense_form_does_not_fit_is_refused(own, monkeypatch):
    monkeypatch.setenv("BUDGETRUN_MEMORY", "1M")
    assert "a dense matrix of 2,000 x 64 numbers would need 1.0 MB" in refused(own, "s.svm", b"1 64:1\n" * 2000)


def test_text_is_the_same_in_blocks_of_any_size(own, monkeypatch):
    table = b"y,a\r\n" + b"".join(b"%d,%d\r\n" % (i % 2, i) for i in range(500))
    sparse = b"".join(b"%d %d:%d\n" % (i % 2, i % 70 + 1, i) for i in range(500)) + b"1 80:1"
    for size in (1 << 22, 1, 100):
        monkeypatch.setattr(content_module, "BLOCK_BYTES", size)
        dataset._load_own.cache_clear()
        assert floats(own("s.csv", table).X).ravel().tolist() == list(range(500))
        found = own("s.svm", sparse)
        assert found.X.shape == (501, 80)
        assert floats(found.X).sum() == sum(range(500)) + 1
        assert ":501:2: 'x' is not a number" in refused(own, "s.csv", table[:-5] + b"x\r\n")


# Things that are no files


def test_things_that_are_no_files_are_refused_and_never_waited_for(tmp_path):
    os.mkfifo(tmp_path / "fifo.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "device.csv").symlink_to("/dev/zero")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "new\n\x1b[31mline.csv").write_bytes(b"")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(tmp_path / "socket.csv"))
        reasons = {
            "fifo.csv": "not a regular file; copy the data into a file first",
            "device.csv": "not a regular file; copy the data into a file first",
            "socket.csv": "cannot be read: ",
            "folder.csv": "folder.csv: a folder; it may hold Parquet files, and this one has none; give",
            "loop.csv": "path: no file",
            "x" * 5000: "path: no file",
            "null\0.csv": "path: no file",
            "new\n\x1b[31mline.csv": "new\\n\\x1b[31mline.csv: the file is empty",
        }
        for name, told in reasons.items():
            assert told in refused(own_file, tmp_path / name, most=6000)
    assert "cannot be read: " in refused(Stamp.of, tmp_path / "loop.csv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_says_so(own, tmp_path):
    (tmp_path / "s.csv").touch(mode=0o000)
    assert "cannot be read: Permission denied" in refused(own_file, tmp_path / "s.csv")


@pytest.mark.parametrize("change", [lambda file: file.truncate(9), lambda file: file.write(b"1,2\n")])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, change):
    path = tmp_path / "s.csv"
    path.write_bytes(b"1,2\n" * 1000)
    reading = pieces(path)
    next(reading)
    with path.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        change(file)
    assert "the file changed while it was read; wait until it is complete" in refused(list, reading)


def test_a_stamp_tells_a_file_replaced_by_one_of_the_same_size_and_time(tmp_path):
    old, new = tmp_path / "s", tmp_path / "t"
    for path in (old, new):
        path.write_bytes(b"1,2\n")
        os.utime(path, ns=(10**18, 10**18))
    before = Stamp.of(old)
    new.replace(old)
    assert Stamp.of(old) != before
    before = Stamp.of(old)
    os.utime(old, ns=(10**18, 10**18))
    assert Stamp.of(old).state[1] == before.state[1]
    assert Stamp.of(old) != before


def test_a_file_is_read_once_under_a_relative_and_an_absolute_path(own, tmp_path, monkeypatch):
    first = own("s.csv", b"1,2\n-1,3\n")
    monkeypatch.chdir(tmp_path)
    assert own_file(Path("s.csv")) is first


# On the command line


@pytest.mark.parametrize("by", ["option", "environment"])
def test_a_sweep_reads_within_its_memory(tmp_path, capsys, monkeypatch, by):
    (tmp_path / "own.csv").write_text("1,2\n-1,3\n" * 1000)
    given = {"datasets": [{"name": "own", "path": "own.csv"}], "algorithms": [{"name": "perceptron"}], "repetitions": 1}
    words = ["sweep", config(tmp_path, **given), "--dry-run", "--results", tmp_path / "results"]
    assert run(capsys, *words)[0] == 0
    dataset._load_own.cache_clear()
    if by == "environment":
        monkeypatch.setenv("BUDGETRUN_MEMORY", "5K")
    _, err = printed(2, run(capsys, *words, *(["--memory", "5K"] if by == "option" else [])))
    assert "own.csv: its content would need 9.0 KB of memory, and the limit is 5.0 KB; " in one_sentence(err.strip())


# What reading takes is known beforehand


def of_numbers(kind, X):
    if kind == "csv":
        return b"".join(b"%d," % (i % 2) + b",".join(b"%.3f" % v for v in x) + b"\n" for i, x in enumerate(X))
    if kind == "npz":
        return archive(X=X.astype(np.float32), y=np.arange(len(X)) % 2)
    at = 1 if kind == "svm" else 70
    pairs = [b" ".join(b"%d:%.3f" % (at * k + 1, v) for k, v in enumerate(x)) for x in X]
    return b"".join(b"%d %s\n" % (i % 2, line) for i, line in enumerate(pairs))


@pytest.mark.parametrize("kind", ["csv", "npz", "svm", "sparse.svm"])
def test_reading_takes_no_more_memory_than_the_plan_says(tmp_path, monkeypatch, kind):
    for name in ("BLOCK_BYTES", "HEAD_BYTES", "PIECE_BYTES", "HEAD_FIELDS"):
        monkeypatch.setattr(content_module, name, 1 << 12)
    path = tmp_path / f"s.{kind}"
    path.write_bytes(of_numbers(kind, np.random.default_rng(0).normal(size=(20_000, 10))))
    spec = DatasetSpec(name="own", path=path, n_examples=100)
    dataset._load_own.cache_clear()
    tracemalloc.start()
    try:
        info = stream_info(spec)
        open_stream(spec, 0, 0, sha256=info.sha256)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    told = info.data_bytes + info.content_bytes
    assert peak < told + 1e6 < 3 * peak


def test_an_npy_file_that_declares_more_than_it_holds_is_refused(tmp_path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000, 1)}"
    content = npy(header, bytes(16))
    for name, told in (
        ("a.npy.gz", "an array of shape (10000000000, 1) and type float64 in 145 bytes"),
        ("a.npy", "mmap length is greater than file size"),
    ):
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        found, peak = peak_of(open_table, path)
        assert found == f"{path}: not a complete .npy array of numbers ({told})"
        assert peak < 2e6
        path.write_bytes(path.read_bytes()[:-4])
        assert refused(open_table, path).startswith(f"{path}: ")
    path.write_bytes(npy(header.replace("10000000000", "9" * 30), bytes(16)))
    assert refused(open_table, path).startswith(f"{path}: not a complete .npy array of numbers (")


@pytest.mark.parametrize("name", ["s.csv", "s.jsonl", "s.txt", "s.svm"])
def test_a_line_of_64_megabytes_is_refused_early(tmp_path, name):
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(1 << 31)
        file.write(b"1 " * 1000)
    told = refused(open_table, path)
    if name == "s.svm":
        assert told == f"{path}:1: a row of more than 64 MB; is a quotation mark not closed?"
    elif name != "s.txt":
        assert told == f"{path}: no line ends in its first 64 MB; this is not text in rows"


def test_more_columns_than_the_memory_holds_are_refused(tmp_path):
    """Reading 60 rows of 100,000 columns takes 1.3 GB, most of it in pyarrow."""
    (tmp_path / "s.csv").write_bytes(b"1," * 500_000 + b"1\n")
    told, peak = peak_of(open_table, tmp_path / "s.csv")
    assert "s.csv: a table of 500,001 columns would need 8.2 GB of memory, and the limit is 8.0 GB; " in told
    assert peak < 1e8


def test_a_header_that_fills_the_first_megabyte_has_rows_below_it(tmp_path, monkeypatch):
    monkeypatch.setattr(content_module, "HEAD_BYTES", 64)
    rows = "".join(f"{i % 2},{i}.123456789012345678901234567890,5\n" for i in range(9))
    (tmp_path / "s.csv").write_text(f"y,{'a' * 50},b\n{rows}")
    assert open_table(tmp_path / "s.csv").features == ["a" * 50, "b"]


CUT = """
import os, sys
from pathlib import Path
from budgetrun.base.errors import InputError
from budgetrun.data.tables import open_table
path = Path(sys.argv[1])
table = open_table(path, label="label" if path.suffix == ".feather" else 1, classes=())
chunks = table.chunks(100)
if sys.argv[2] == "while":
    kept = [next(chunks) for _ in range(3)]
os.truncate(path, 500)
try:
    for chunk in chunks:
        chunk.X.sum(), chunk.y.sum()
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("name", "when"), [*paired(["s.npy", "s.feather", "s.parquet", "s.csv"], ["before", "while"]), ("s.npy", "while")]
)
def test_a_file_that_is_cut_never_ends_the_process(tmp_path, name, when):
    path, X = tmp_path / name, np.random.default_rng(0).random((400_000, 4))
    frame = pa.table({"label": X[:, 0], "a": X[:, 1], "b": X[:, 2]})
    if name == "s.npy":
        np.save(path, np.asfortranarray(X))
    elif name == "s.feather":
        feather.write_feather(frame, str(path), compression="uncompressed")
    else:
        (parquet.write_table if name == "s.parquet" else csv.write_csv)(frame, path)
    found = subprocess.run([sys.executable, "-c", CUT, path, when], capture_output=True, text=True, check=True)
    assert found.stdout == f"{path}: the file changed while it was read; wait until it is complete\n"


@pytest.mark.parametrize(("stem", "folder"), [("x" * 250, f"{'x' * 70}-"), (".", "data"), ("x" * 80, "x" * 80)])
def test_the_folder_of_a_file_of_any_name_is_short_and_not_hidden(tmp_path, capsys, stem, folder):
    path = tmp_path / f"{stem}.csv"
    path.write_text("y,a\n" + "".join(f"{i % 2},{i % 7}\n" for i in range(60)))
    options = ["--algorithm", "rbp", "--budget", "5", "--gamma", "1", "--seeds", "1"]
    assert run(capsys, "run", path, "--label", "y", "--results", tmp_path / "results", *options)[0] == 0
    found = [one.name for one in (tmp_path / "results").iterdir()]
    assert len(found) == 1
    assert found[0].startswith(folder)
    assert len(found[0]) <= 80
