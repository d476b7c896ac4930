"""`budgetrun run` and a sweep of its config give the same runs, wherever the table comes from."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from budgetrun.base.errors import InputError
from budgetrun.config import load
from budgetrun.runner.live.request import Request
from budgetrun.runner.live.run import run
from budgetrun.runner.plan import Options
from budgetrun.runner.sweep import sweep

# What is played does not matter.
FAST = {"algorithms": ("rbp",), "budgets": (10,)}
COLUMNS = "parameters", "kernel", "budget", "n_examples", "mistakes", "updates", "support_size"


@pytest.fixture(autouse=True)
def frame(tmp_path, monkeypatch):
    """Write a table as CSV; return it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(700, 3)).round(3), columns=list("abc"))
    frame["label"] = np.where(frame["a"] * frame["b"] > 0, "yes", "no")
    frame.to_csv("s.csv", index=False)
    return frame


def rows(folder):
    with (Path(folder) / "runs.csv").open(newline="") as file:
        return [tuple(row[name] for name in COLUMNS) for row in csv.DictReader(file)]


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


@pytest.mark.parametrize("written", [parts, excel, zipped, url])
def test_a_table_from_elsewhere_is_the_one_in_a_file(frame, written):
    run(Request("s.csv", name="file", **FAST))
    source = written(frame)
    for _ in range(2):
        assert run(Request(source, name="other", **FAST)) == 0
    assert rows("results/other") == rows("results/file")
    config = load("results/other/config.yaml")
    if written is url:
        with pytest.raises(InputError, match=r"other': path: URLs are read by budgetrun run; download the file, and"):
            sweep(config, Options(Path("swept")))
    else:
        assert sweep(config, Options(Path("swept"))) == 0
        assert rows("swept/other") == rows("results/file")


def test_a_changed_part_is_noticed(frame):
    source = parts(frame)
    run(Request(source, **FAST))
    # Its own folder of results has a folder of this name, too.
    assert load("results/parts/config.yaml").datasets[0].path == Path("parts")
    frame[:60].to_parquet("parts/2.pq")
    with pytest.raises(InputError, match="parts: the file has changed since 700 of its rows were played"):
        run(Request(source, **FAST))
