"""What new users type first: each attempt succeeds, or ends with one clear sentence and exit code 2."""

import gzip
import json
import re

import attempts
import click
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from data.made_files import arrow_stream, saved, zip_of
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


def parquet(frame=TABLE):
    return saved(lambda sink: pa.parquet.write_table(pa.Table.from_pandas(frame), sink))


def feather():
    return saved(lambda sink: pa.feather.write_feather(pa.Table.from_pandas(TABLE), sink))


def libsvm(zero_based):
    return saved(lambda sink: dump_svmlight_file(X, 2 * Y - 1, sink, zero_based=zero_based))


def lines_of_json(frame=TABLE):
    return "".join(json.dumps(row) + "\n" for row in frame.to_dict("records")).encode()


NAMED = TABLE.assign(target=np.where(Y == 1, "yes", "no"))
THREE = TABLE.assign(target=np.where(X[:, 0] > 0.5, "high", np.where(X[:, 0] < -0.5, "low", "middle")))
DATED = TABLE.assign(when=pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"))
COLORS = TABLE.assign(color=np.where(X[:, 1] > 0, "red", "blue"))
UNSCALED = TABLE.assign(height=TABLE["height"] * 1e5)
SORTED = pd.concat([TABLE] * 10).sort_values("target")

GAPPED = with_cells("width", [3, 9], "")
MANY = TABLE.assign(color=COLORS["color"], shape=np.where(X[:, 2] > 0, "round", "square"))
APPROVED = COLORS.drop(columns="target").assign(approved=Y)
EUROPEAN = TABLE.map(lambda value: f"{value:.3f}".replace(".", ",")).assign(target=NAMED["target"])
COUNTED = TABLE.set_axis(range(4), axis=1)


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
    "Arrow on standard input": ("-", arrow_stream(pa.Table.from_pandas(TABLE)), [], ""),
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
    "missing numbers": ("s.csv", text_of(GAPPED), [], "2 missing values became the mean"),
    "missing numbers on standard input": ("-", text_of(GAPPED), [], "target"),
    "missing text": ("s.csv", text_of(COLORS.assign(color=COLORS["color"].where(X[:, 0] > 0))), [], "of their own"),
    "missing labels": ("s.csv", text_of(with_cells("target", [3, 9], "?")), [], "2 rows left out because the label"),
    "missing values of many spellings": ("s.csv", text_of(with_cells("width", [1, 2], "NaN")), [], "missing values"),
    "missing values in Parquet": ("s.parquet", parquet(TABLE.assign(width=TABLE["width"].where(Y > 0))), [], "became"),
    "null in JSON lines": ("s.jsonl", lines_of_json(with_cells("width", [3, 9], None)), [], "became"),
    "an empty column": ("s.csv", text_of(TABLE.assign(empty="")), [], "missing values became"),
    "dates": ("s.csv", text_of(DATED), [], "days since 1970-01-01"),
    "dates and times": ("s.csv", text_of(DATED.assign(when=DATED["when"] + "T12:30:00Z")), [], "days since 1970-01-01"),
    "American dates": ("s.csv", text_of(DATED.assign(when="3/25/2024")), [], "month, day and year"),
    "European dates": ("s.csv", text_of(DATED.assign(when="25.3.2024")), [], "day, month and year"),
    "times of the day": ("s.csv", text_of(DATED.assign(when="12:30")), [], "days since midnight"),
    "dates in Parquet": ("s.parquet", parquet(DATED.assign(when=pd.to_datetime(DATED["when"]))), [], "as days"),
    "decimal commas": ("s.csv", text_of(EUROPEAN, sep=";"), [], "decimal comma"),
    "commas between thousands": ("s.csv", text_of(TABLE.assign(price="1,234")), [], "commas between thousands"),
    "an id that counts": ("s.csv", text_of(TABLE.assign(id=range(1000, 1000 + N))), [], "left out: it counts"),
    "comments at the top": ("s.csv", b"# from a paper\n# 2024\n" + text_of(), [], "target"),
    "a zip archive": ("s.csv.zip", zip_of(dict.fromkeys(("s.csv", "__MACOSX/._s.csv"), text_of())), [], "target"),
    "an Excel sheet": ("s.xlsx", saved(lambda sink: TABLE.to_excel(sink, index=False)), [], "target"),
    "a header of numbers": ("s.csv", text_of(COUNTED), [], "column 4 (3)"),
    "a header of numbers and an index": ("s.csv", COUNTED.to_csv().encode(), [], "column 5 (3)"),
    "a column named by a number": ("s.csv", text_of(COUNTED), ["--label", "3"], "column 4 (3), as asked"),
    "labels of yes and no": ("s.csv", text_of(NAMED.rename(columns={"target": "ok"})), [], "only one with text"),
    "labels of True and False, unnamed": ("s.csv", text_of(TABLE.rename(columns={"target": "ok"}).assign(ok=Y == 1)),
     [], "only one with text"),
    "text in several columns, the label last": ("s.csv",
     text_of(MANY[["height", "color", "shape", "target"]].rename(columns={"target": "bought"})), [],
     "column 4 (bought), which has few different values"),
    "the label of a name, in the middle": ("s.csv", text_of(MANY), [], "by its name"),
    "a label with blanks in its name": ("s.csv", text_of(TABLE.rename(columns={"target": "a b"})), ["--label", "a b"],
     ""),
    "features that are bits": ("s.csv", text_of((TABLE > 0).astype(int)), [], "is 0 or 1"),
    "features that are bits times a factor": ("s.csv", text_of(5 * (TABLE > 0).astype(int)), [], "is 0 or 5"),
    "features between -1 and 1": ("s.csv", text_of(TABLE.assign(height=TABLE["height"] / 9)), [], "Scale: running"),
    "a learner by its class": ("s.csv", text_of(), ["--algorithm", "Forgetron"], ""),
    "a learner without its parameters": ("s.csv", text_of(), ["--algorithm", "ahpatron"], ""),
    "numbers to be predicted": ("s.csv", text_of(),
     ["--task", "regression", "--label", "height", "--algorithm", "klms"], "root mean squared"),
    "a seed, a name and a metric": ("s.csv", text_of(), ["--shuffle", "1", "--name", "s", "--metrics", "f1"], "binary"),
    "refused gaps where there are none": ("s.csv", text_of(), ["--missing", "refuse"], ""),
    "labels of two words": ("s.csv", text_of(NAMED.assign(target=NAMED["target"] + " sir")), [], "binary"),
    "accents": ("s.csv", text_of(COLORS.replace("red", "rosé")), [], "color"),
}  # fmt: skip
# Of each attempt that cannot work: the same, and a part of the only sentence.
FAILS = {
    "no such file": (None, b"", ["nofile.csv"], "no such file"),
    "an empty file": ("s.csv", b"", [], "empty"),
    "a header alone": ("s.csv", b"a,b,target\n", [], "no rows"),
    "text where a number belongs": ("s.csv", text_of(with_cells("width", [200], "much")), [], "much"),
    "a row that is too short": ("s.csv", text_of() + b"1,2\n", [], "columns"),
    "missing values": ("s.csv", text_of(with_cells("width", [7], "")), ["--missing", "refuse"], "--missing skip"),
    "an unknown label by its name": ("s.csv", text_of(), ["--label", "tagret"], "target"),
    "two columns of text": ("s.csv", text_of(MANY[["color", "height", "shape"]]), [], "--label color or --label shape"),
    "a colour and a decision": ("s.csv", text_of(APPROVED[["height", "color", "approved"]]), [], "--label approved"),
    "numbers alone": ("s.csv", text_of(TABLE.drop(columns="target")), [], "--task regression"),
    "an archive of two files": ("s.zip", zip_of(dict.fromkeys(("a.csv", "b.csv"), text_of())), [], "unpack it"),
    "a URL": (None, b"", ["http://localhost:1/s.csv"], "pip install 'budgetrun[remote]'"),
    "a folder": (None, b"", ["."], "a folder"),
    "free text": ("s.csv", text_of(TABLE.assign(note=[f"note {i}" for i in range(N)])), [], "free text"),
    "numbers for classes": ("s.csv", text_of(), ["--task", "regression", "--metrics", "f1"], "--metrics"),
    "a scale that does not exist": ("s.csv", text_of(), ["--scale", "minmax"], "minmax"),
    "no such label": ("s.csv", text_of(), ["--label", "goal"], "goal"),
    "a label that is measured": ("s.csv", text_of(), ["--label", "height"], "--label"),
    "one class only": ("s.csv", text_of(TABLE.assign(target=1)), [], "class"),
    "two classes asked of three": ("s.csv", text_of(THREE), ["--task", "binary"], "multiclass"),
    "a torn Excel file": ("s.xlsx", b"PK\x03\x04 whatever", [], "not a readable Excel file"),
    "an old Excel file": ("s.xls", b"\xd0\xcf\x11\xe0", [], "not supported"),
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
}  # fmt: skip


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


def is_on_the_page(what, arguments, result):
    """Whether docs/attempts.md has what was said; to write it again: python scripts/pages/attempts.py."""
    row = attempts.row(what, arguments, result)
    return attempts.table([row], what in WORKS).splitlines()[-1] in attempts.PAGE.read_text().splitlines()


@pytest.mark.parametrize("what", WORKS)
def test_works(what, tmp_path, monkeypatch):
    name, content, arguments, said = WORKS[what]
    if what not in WITH_PAGE:
        monkeypatch.setattr("budgetrun.cli._report", lambda folder: click.echo(Report(folder).summary()))
    result = attempt(tmp_path, monkeypatch, name, content, arguments)
    assert result.exit_code == 0, result.output
    assert "Traceback" not in result.output
    assert is_on_the_page(what, arguments, result)
    assert said.casefold() in result.output.casefold()
    assert re.search(r"^budget|B = ", result.stdout, re.MULTILINE)
    folder = tmp_path / "results" / ("stdin" if name == "-" else "s")
    assert (folder / "report.html").is_file() == (what in WITH_PAGE)
    assert (folder / "config.yaml").is_file()


def test_a_list_of_a_learner_without_a_budget(tmp_path, monkeypatch, no_pictures):
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
    assert is_on_the_page(what, arguments, result)
    assert len(result.stderr.strip().splitlines()[-1]) < 600
