"""What new users type first: each attempt succeeds, or ends with one clear sentence and exit code 2."""

import gzip
import io
import json
import re

import click
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from sklearn.datasets import dump_svmlight_file

from budgetrun.cli import main
from budgetrun.results.report import Report

N = 240
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3)).round(3)
Y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
TABLE = pd.DataFrame({"height": X[:, 0], "width": X[:, 1], "depth": X[:, 2], "target": Y})
FAST = ["--budget", "20", "--algorithm", "rbp", "--seeds", "1"]


def text_of(frame=TABLE, **options):
    return frame.to_csv(index=False, **options).encode()


def with_cells(column, rows, value):
    frame = TABLE.astype({column: object})
    frame.loc[rows, column] = value
    return frame


def saved(save, *arrays, **named):
    sink = io.BytesIO()
    save(sink, *arrays, **named)
    return sink.getvalue()


def parquet():
    return saved(lambda sink: pa.parquet.write_table(pa.Table.from_pandas(TABLE), sink))


def feather():
    return saved(lambda sink: pa.feather.write_feather(pa.Table.from_pandas(TABLE), sink))


def arrow_stream():
    table, sink = pa.Table.from_pandas(TABLE), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def libsvm(zero_based):
    return saved(lambda sink: dump_svmlight_file(X, 2 * Y - 1, sink, zero_based=zero_based))


def lines_of_json():
    return "".join(json.dumps(row) + "\n" for row in TABLE.to_dict("records")).encode()


NAMED = TABLE.assign(target=np.where(Y == 1, "yes", "no"))
THREE = TABLE.assign(target=np.where(X[:, 0] > 0.5, "high", np.where(X[:, 0] < -0.5, "low", "middle")))
DATED = TABLE.assign(when=pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"))
COLORS = TABLE.assign(color=np.where(X[:, 1] > 0, "red", "blue"))
UNSCALED = TABLE.assign(height=TABLE["height"] * 1e5)
SORTED = pd.concat([TABLE] * 10).sort_values("target")

# Of each attempt that works: the file's name and content, further arguments, and what is said.
WORKS = {
    "a label in the last column, by its name": ("s.csv", text_of(), [], "target"),
    "the label in the first column": ("s.csv", text_of(TABLE[["target", "height", "width"]]), [], "target"),
    "the label named by the user": ("s.csv", text_of(TABLE.rename(columns={"target": "z"})), ["--label", "z"], ""),
    "the label by number": ("s.csv", text_of(header=False), ["--label", "4"], ""),
    "no header": ("s.csv", text_of(header=False), [], "column 4"),
    "labels that are words": ("s.csv", text_of(NAMED), [], "binary"),
    "three classes": ("s.csv", text_of(THREE), [], "multiclass"),
    "labels of True and False": ("s.csv", text_of(TABLE.assign(target=Y == 1)), [], "binary"),
    "tabs": ("s.tsv", text_of(sep="\t"), [], ""),
    "semicolons": ("s.csv", text_of(sep=";"), [], ""),
    "Windows line ends": ("s.csv", text_of(lineterminator="\r\n"), [], ""),
    "a byte order mark": ("s.csv", b"\xef\xbb\xbf" + text_of(), [], "target"),
    "blank lines": ("s.csv", text_of().replace(b"\n", b"\n\n", 3) + b"\n\n", [], ""),
    "an index column": ("s.csv", TABLE.to_csv().encode(), [], "left out"),
    "categories": ("s.csv", text_of(COLORS), [], "color"),
    "booleans": ("s.csv", text_of(TABLE.assign(flag=X[:, 0] > 0)), [], ""),
    "missing values, skipped": ("s.csv", text_of(with_cells("width", [3, 9], "")), ["--missing", "skip"], ""),
    "missing values as zeros": ("s.csv", text_of(with_cells("width", [3, 9], "NA")), ["--missing", "zero"], ""),
    "gzip": ("s.csv.gz", gzip.compress(text_of()), [], ""),
    "Parquet": ("s.parquet", parquet(), [], "target"),
    "Feather": ("s.feather", feather(), [], ""),
    "an Arrow file": ("s.arrow", feather(), [], ""),
    "JSON lines": ("s.jsonl", lines_of_json(), [], ""),
    "an array, label last": ("s.npy", saved(np.save, np.c_[X, Y]), ["--label", "last"], ""),
    "arrays X and y": ("s.npz", saved(np.savez, X=X, y=Y), [], ""),
    "LIBSVM from 1": ("s.libsvm", libsvm(False), [], ""),
    "LIBSVM from 0": ("s.svm", libsvm(True), [], ""),
    "standard input": ("-", text_of(), [], "target"),
    "Arrow on standard input": ("-", arrow_stream(), [], ""),
    "JSON lines on standard input": ("-", lines_of_json(), [], ""),
    "classes named in advance": ("-", text_of(), ["--classes", "0,1"], ""),
    "unscaled features": ("s.csv", text_of(UNSCALED), [], "running"),
    "unscaled features, as they are": ("s.csv", text_of(UNSCALED), ["--scale", "none", "--gamma", "1"], "exactly 0"),
    "several gammas": ("s.csv", text_of(), ["--gamma", "0.1,1,10"], ""),
    "a file sorted by label": ("s.csv", text_of(SORTED), [], "sorted by label"),
    "shuffled": ("s.csv", text_of(SORTED), ["--shuffle", "3"], ""),
    "a constant column": ("s.csv", text_of(TABLE.assign(one=1.0)), [], "never changed"),
    "a budget above the number of rows": ("s.csv", text_of(), ["--budget", "5000"], "No learner filled"),
    "an algorithm with a parameter": ("s.csv", text_of(), ["--algorithm", "ahpatron:epsilon=0.5"], ""),
    "several values": ("s.csv", text_of(), ["--algorithm", "ahpatron:epsilon=[0.5,0.7],budget=10"], "epsilon=0.7"),
    "a variant": ("s.csv", text_of(), ["--algorithm", "forgetron(greedy)"], ""),
}
# Of each attempt that cannot work: the same, and a part of the only sentence.
FAILS = {
    "no such file": (None, b"", ["nofile.csv"], "no such file"),
    "an empty file": ("s.csv", b"", [], "empty"),
    "a header alone": ("s.csv", b"a,b,target\n", [], "no rows"),
    "text where a number belongs": ("s.csv", text_of(with_cells("width", [200], "much")), [], "much"),
    "a row that is too short": ("s.csv", text_of() + b"1,2\n", [], "columns"),
    "missing values": ("s.csv", text_of(with_cells("width", [7], "")), [], "missing to skip"),
    "dates": ("s.csv", text_of(DATED), [], "date"),
    "no such label": ("s.csv", text_of(), ["--label", "goal"], "goal"),
    "a label that is measured": ("s.csv", text_of(), ["--label", "height"], "--label"),
    "one class only": ("s.csv", text_of(TABLE.assign(target=1)), [], "class"),
    "two classes asked of three": ("s.csv", text_of(THREE), ["--task", "binary"], "multiclass"),
    "an Excel file": ("s.xlsx", b"PK\x03\x04 whatever", [], "not supported"),
    "a picture": ("s.png", b"\x89PNG\r\n\x1a\n\x00\x00", [], "not supported"),
    "a torn Parquet file": ("s.parquet", parquet()[:200], [], "s.parquet"),
    "no such algorithm": ("s.csv", text_of(), ["--algorithm", "forgetton"], "forgetron"),
    "a parameter that does not exist": ("s.csv", text_of(), ["--algorithm", "rbp:size=3"], "size"),
    "a list without brackets": ("s.csv", text_of(), ["--algorithm", "raker:factors=4,1"], "KEY=[VALUE,VALUE] for a"),
    "a list without its end": ("s.csv", text_of(), ["--algorithm", "raker:factors=[4,1"], "KEY=[VALUE,VALUE] for a"),
    "a number for a list": ("s.csv", text_of(), ["--algorithm", "raker:factors=4"], "must be a list with at least one"),
    "a budget of words": ("s.csv", text_of(), ["--budget", "many"], "many"),
    "a negative gamma": ("s.csv", text_of(), ["--gamma", "-1"], "--gamma"),
    "a pipe that is shuffled": ("-", text_of(), ["--shuffle", "1"], "--shuffle"),
    "an unknown label later in a pipe": ("-", text_of() + b"1,2,3,7\n" * 3, ["--classes", "0,1"], "7"),
}


# For these, the whole report is written; for the others, its first table.
WITH_PAGE = ("three classes", "several gammas")


def attempt(tmp_path, monkeypatch, name, content, arguments):
    monkeypatch.chdir(tmp_path)
    stream = [name] if name else []
    if name and name != "-":
        (tmp_path / name).write_bytes(content)
    given = content if name == "-" else None
    options = arguments if "--algorithm" in arguments else [*FAST, *arguments]
    if "--task" in arguments or b"middle" in content:
        options = ["--budget", "20", *arguments]
    return CliRunner().invoke(main, ["run", *stream, *options], input=given)


@pytest.mark.parametrize("what", WORKS)
def test_works(what, tmp_path, monkeypatch):
    name, content, arguments, said = WORKS[what]
    if what not in WITH_PAGE:
        monkeypatch.setattr("budgetrun.cli._report", lambda folder: click.echo(Report(folder).summary()))
    result = attempt(tmp_path, monkeypatch, name, content, arguments)
    assert result.exit_code == 0, result.output
    assert "Traceback" not in result.output
    assert said.casefold() in result.output.casefold()
    assert re.search(r"^budget|B = ", result.stdout, re.MULTILINE)
    folder = tmp_path / "results" / ("stdin" if name == "-" else "s")
    assert (folder / "report.html").is_file() == (what in WITH_PAGE)
    assert (folder / "config.yaml").is_file()


def test_a_list_of_a_learner_without_a_budget(tmp_path, monkeypatch):
    arguments = ["--algorithm", "raker:factors=[4, 0.25],features=5", "--algorithm", "fogd:features=5,step=0.1"]
    result = attempt(tmp_path, monkeypatch, "s.csv", text_of(), [*arguments, "--seeds", "1"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "results" / "s" / "report.html").is_file()
    config = (tmp_path / "results" / "s" / "config.yaml").read_text()
    assert "  factors: [4, 0.25]\n  features: 5\n" in config
    assert "{name: fogd, features: 5, step: 0.1}" in config
    alone = attempt(tmp_path, monkeypatch, "s.csv", text_of(), [*arguments[:2], "--seeds", "1", "--force"])
    assert alone.exit_code == 0, alone.output


@pytest.mark.parametrize("what", FAILS)
def test_fails_with_a_sentence(what, tmp_path, monkeypatch):
    name, content, arguments, part = FAILS[what]
    result = attempt(tmp_path, monkeypatch, name, content, arguments)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert part in result.stderr
    assert "Traceback" not in result.output
    last = result.stderr.strip().splitlines()[-1]
    assert len(last) < 600
