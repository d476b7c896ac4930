"""Odd names of columns and files: `run` and `predict` give the numbers of plain names, or one sentence."""

import csv
import functools
import io
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sweeping
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet
from sentences import one_sentence

from budgetrun.cli import main
from budgetrun.data.content import is_text
from budgetrun.data.tables.columns import MISSING

pytestmark = pytest.mark.faults

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2)).round(3)
Y = np.where(X[:, 0] * X[:, 1] > 0, "p", "q")
FORMS = ("csv", "tsv", "jsonl", "parquet", "feather")
OPTIONS = ["--algorithm", "rbp", "--budget", "5", "--seeds", "1", "--gamma", "1"]
SIGNS = [
    "\n", "\r", "\x1b[31m", "\0", "\x7f", "\u202e", "\ufeff", "\u2028", "\ud800", "é", "日本", "🦆", "\\", "/", ":",
    "#", "'", '"', ",", "\t", ";", "|", "=", "{", "}", "[", "]", "%", "&", "*", "!", "- ", " ", "~", "$(x)", "`x`",
]  # fmt: skip
WORDS = [
    "", "label", "id", "first", "last", "-1", "1", "2", "0", "NA", "nan", "null", "true", "yes", "1e5", "a" * 300,
    "tie: positive", "x\ntie: positive", "__index_level_0__", "..", ".", "-", "--help", "=1+1", "2024-01-01", "b.c",
]  # fmt: skip
NAMES = st.sampled_from(WORDS) | st.lists(st.sampled_from(SIGNS + WORDS), min_size=1, max_size=3).map("".join)
NAMES |= st.text(st.characters(), min_size=1, max_size=6)


def content_of(form, names):
    """Return a table in a format; None if the format cannot hold the names."""
    columns = dict(zip(names, [X[:, 0], X[:, 1], Y], strict=True))
    sink = io.BytesIO()
    try:
        if form in ("csv", "tsv"):
            text = pd.DataFrame(columns).to_csv(index=False, sep="," if form == "csv" else "\t")
            return text.encode(errors="surrogatepass")
        if form == "jsonl":
            rows = [dict(zip(names, [*x, y], strict=True)) for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
            return "".join(json.dumps(row) + "\n" for row in rows).encode()
        table = pa.table(columns)
        parquet.write_table(table, sink) if form == "parquet" else feather.write_feather(table, sink)
    except (UnicodeEncodeError, pa.ArrowException, csv.Error, ValueError):
        return None
    return sink.getvalue()


@functools.cache
def plain():
    """Return the rows and predictions of a table with plain names."""
    return played("s.csv", content_of("csv", ("a", "b", "y")), ["--label", "y"])


def played(name, content, options):
    """Return the row of `run`, the predictions of `predict`, and the label in the config; None if refused."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setattr("budgetrun.cli._report", lambda folder: None)
        try:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(content)
        except (OSError, ValueError):
            return None
        if refused(CliRunner().invoke(main, ["run", *OPTIONS, *options, "--", name])):
            assert not list(Path("results").rglob("runs.csv"))
            return None
        (state,) = Path("results").rglob("stream.state")
        assert state.resolve().parent.parent == Path("results").resolve()
        first = sweeping.rows(state.parent)[0]
        config = yaml.safe_load((state.parent / "config.yaml").read_text())
        assert config.keys() <= {"name", "description", "seed", "datasets", "kernel", "algorithms", "report"}
        found = CliRunner().invoke(main, ["predict", str(state), "--", name])
        assert not refused(found)
        kept = ("mistakes", "updates", "support_size", "kernel")
        return {key: first[key] for key in kept}, found.stdout, config["datasets"][0].get("label_column")


def refused(result):
    """Return whether a command ended with one sentence; anything else but success is an error."""
    if result.exit_code == 0:
        return False
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2, result.output
    last = [line for line in result.stderr.splitlines() if not line.startswith(("Usage:", "Try", "The label"))]
    one_sentence("\n".join(line for line in last if line), most=1500, lines=3)
    return True


@given(names=st.lists(NAMES, min_size=3, max_size=3), form=st.sampled_from(FORMS), asked=st.booleans())
def test_columns_of_any_name(names, form, asked):
    content = content_of(form, names) if len({name.strip() for name in names}) == 3 else None
    if content is None:
        return
    # Nothing tells names that are all numbers or missing values from a row.
    words = [name for name in names if name.strip(" \t") not in MISSING and is_text(name.strip(" \t"))]
    if form in ("csv", "tsv") and not words:
        return
    # The label is named by its position, or found because it alone is text.
    found = played(f"s.{form}", content, ["--label", "3"] if asked and "3" not in names else [])
    if found is not None:
        rows, predictions, label = found
        # A usual name wins.
        if label in (names[2], names[2].strip(" "), 3) or label not in ("label",):
            assert (rows, predictions) == plain()[:2]


@given(name=NAMES | st.binary(min_size=1, max_size=6).map(os.fsdecode), form=st.sampled_from(FORMS), data=st.data())
def test_files_of_any_name(name, form, data):
    folder = data.draw(st.sampled_from(["", "", "d/", "d\n/", "é \x1b/"]))
    if "/" in name or name in (".", "..", "-"):
        return
    found = played(f"{folder}{name}.{form}", content_of(form, ("a", "b", "y")), ["--label", "y"])
    if found is not None:
        assert found == plain()
