"""`budgetrun run` and a sweep of its config give the same runs, wherever the table comes from."""

import gc
import gzip
import http.server
import re
import tempfile
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sweeping
from faults import raises

from budgetrun.base.errors import InputError
from budgetrun.config import load
from budgetrun.data.tables import open_table
from budgetrun.runner.live.request import Request
from budgetrun.runner.live.run import run

# What is played does not matter.
FAST = {"algorithms": ("rbp",), "budgets": (10,)}
COLUMNS = "parameters", "kernel", "budget", "n_examples", "mistakes", "updates", "support_size"


@pytest.fixture(autouse=True)
def frame(here):
    """Write a table as CSV; return it."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(700, 3)).round(3), columns=list("abc"))
    frame["label"] = np.where(frame["a"] * frame["b"] > 0, "yes", "no")
    frame.to_csv("s.csv", index=False)
    return frame


def rows(folder):
    return [[row[name] for name in COLUMNS] for row in sweeping.rows(folder)]


def parts(frame):
    """Write three files, of which the first has fewer rows than the median heuristic takes."""
    Path("parts/later").mkdir(parents=True)
    for name, start, end in (("1.parquet", 0, 50), ("2.pq", 50, 400), ("later/3.parquet", 400, 700)):
        frame[start:end].to_parquet(Path("parts") / name)
    return "parts"


def excel(frame):
    pytest.importorskip("openpyxl")
    frame.to_excel("s.xlsx", index=False)
    return "s.xlsx"


def url(_):
    pytest.importorskip("fsspec")
    return Path("s.csv").absolute().as_uri()


def zipped(frame):
    frame.to_csv("s.zip", index=False, compression={"method": "zip", "archive_name": "t.csv"})
    return "s.zip"


def test_excel_columns_that_mix_words_and_numbers_are_as_in_a_csv_file():
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"code": ["A1", "B", 17, None] * 9, "x": range(36), "y": ["yes", "no"] * 18})
    frame.to_csv("s.csv", index=False)
    text, typed = (open_table(path, missing="fill") for path in ("s.csv", excel(frame)))
    assert typed.features == text.features == ["code=17", "code=A1", "code=B", "code is missing", "x"]
    for one, other in zip(text.chunks(), typed.chunks(), strict=True):
        np.testing.assert_array_equal(one.X, other.X)
    frame["x"] = [*range(7), "unknown", *range(8, 36)]
    told = "s.xlsx: row 8, column 2: 'unknown' is not a number; a feature is a finite number"
    raises(InputError, re.escape(told), list, open_table(excel(frame), label="y", missing="zero").chunks())


def test_of_several_sheets_the_first_is_read(frame, capsys):
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter("s.xlsx") as book:
        frame.to_excel(book, sheet_name="one", index=False)
        frame.to_excel(book, sheet_name="two", index=False)
    open_table("s.xlsx")
    assert capsys.readouterr().err == "s.xlsx: only the first of its 2 sheets is read, one\n"


@pytest.mark.parametrize("written", [parts, excel, zipped, url])
def test_a_table_from_elsewhere_is_the_one_in_a_file(frame, written):
    run(Request("s.csv", name="file", **FAST))
    source = written(frame)
    for _ in range(2):
        assert run(Request(source, name="other", **FAST)) == 0
    assert rows("results/other") == rows("results/file")
    config = "results/other/config.yaml"
    if written is url:
        with pytest.raises(InputError, match=r"other': path: URLs are read by budgetrun run; download the file, and"):
            sweeping.swept_folder(config, "swept")
    else:
        assert rows(sweeping.swept_folder(config, "swept")) == rows("results/file")


def test_a_changed_part_is_noticed(frame):
    source = parts(frame)
    run(Request(source, **FAST))
    # Its own folder of results has a folder of this name, too.
    assert load("results/parts/config.yaml").datasets[0].path == Path("parts")
    frame[:60].to_parquet("parts/2.pq")
    raises(InputError, "parts: the file has changed since 700 of its rows were played", run, Request(source, **FAST))


class Server(http.server.SimpleHTTPRequestHandler):
    """Files of this folder; what is in half/ ends half-way."""

    def do_GET(self):
        self.path, _, half = self.path.partition("?")[0].partition("/half")
        if not half:
            super().do_GET()
            return
        content = Path(half[1:]).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2])

    def log_message(self, *_):
        pass


@pytest.fixture
def address(tmp_path, monkeypatch):
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_table_on_a_server_is_the_one_in_a_file(frame, address):
    frame.to_parquet("s.parquet")
    Path("s.csv.gz").write_bytes(gzip.compress(Path("s.csv").read_bytes()))
    run(Request("s.csv", **FAST))
    for k, name in enumerate(["s.csv", "s.parquet", "s.csv.gz", "s.csv.gz?from=a/*.b"], 2):
        assert run(Request(f"{address}/{name}", **FAST)) == 0
        assert rows(f"results/s-{k}") == rows("results/s")
    gc.collect()
    assert list(Path("temporary").iterdir()) == []


def test_a_stream_goes_on_on_a_server(frame, address):
    frame[:300].to_csv("a.csv", index=False)
    frame[300:].to_csv("b.csv", index=False)
    for name, place in (("file", ""), ("url", f"{address}/")):
        run(Request(f"{place}a.csv", name=name, **FAST))
        assert run(Request(f"{place}b.csv", continues=Path("results", name))) == 0
    assert rows("results/url") == rows("results/file")


def test_files_of_the_same_name_are_different(frame, address):
    Path("other").mkdir()
    frame[:50].to_csv("other/s.csv", index=False)
    tables = [open_table(f"{address}/{name}") for name in ("s.csv", "other/s.csv")]
    assert [sum(len(y) for _, y, *_ in table.chunks()) for table in tables] == [700, 50]


@pytest.mark.parametrize(("place", "message"), [
    ("none.csv", "{}: no such file"),
    ("half/s.csv", "{}: cannot be read (ClientPayloadError: Response payload is not completed"),
    ("", "{}: a web page; give the address of the file itself"),
])  # fmt: skip
def test_what_a_server_does_not_have_is_one_sentence(address, place, message):
    raises(InputError, re.escape(message.format(f"{address}/{place}")), run, Request(f"{address}/{place}", **FAST))
    assert not Path("results").exists()


def test_a_server_that_is_not_there_is_one_sentence(address):
    told = r": cannot be read \(ClientConnectorError: Cannot connect to host 127.0.0.1:1 .*\); download the file first"
    raises(InputError, told, run, Request("http://127.0.0.1:1/s.csv", **FAST))
