"""Large folders, whose table is Parquet: here from a few runs on. The same rows, reports and survival as with CSV."""

import os
import shutil
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from faults import message, raises
from hostile.test_store_faults import CONFIG
from results.report.fake_results import build, paper_rows, row
from sweeping import COMMAND, TOP, config, ended, kill_started, printed, rows, run, slow_config, start, wait_for

from budgetrun.base.errors import AlteredError, InputError
from budgetrun.results.store import files, large
from budgetrun.results.store.large import LargeRows
from budgetrun.results.store.read import load
from budgetrun.results.store.write import MEASURED, Store

pytestmark = pytest.mark.faults

N = 12
SMALL_IS_LARGE = f"from budgetrun.results.store import files; files.LARGE = {N}; "


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(files, "LARGE", N)
    monkeypatch.setattr(large, "_FOLDED", 5)
    monkeypatch.setattr(large, "_BLOCK", 3)
    yield
    kill_started()


def opened(folder):
    store = Store(folder)
    store.open({"config": CONFIG, "end": None})
    return store


def filled(folder, n=N, job="job"):
    """Return a store with n runs, two to a job, whose table has been written."""
    store = opened(folder)
    for i in range(0, n, 2):
        store.save(f"{job}{i}", [row(i), row(i + 1)])
    store.write_table()
    return store


def as_texts(found):
    return {key: dict(found[key]) for key in found}


def test_the_table_becomes_parquet_with_the_same_rows(tmp_path, monkeypatch):
    store = filled(tmp_path / "large")
    assert not (tmp_path / "large" / "runs.csv").exists()
    assert not list(store.parts.iterdir())
    monkeypatch.setattr(files, "LARGE", 1000)
    small = filled(tmp_path / "small")
    assert as_texts(Store(tmp_path / "large").rows()) == as_texts(store.rows()) == as_texts(small.rows())
    assert list(store.rows().values()) == list(Store(tmp_path / "large").rows().values())
    columns = pq.read_table(tmp_path / "large" / "runs.parquet")
    text = rows(tmp_path / "small")
    assert columns.column_names == list(text[0])
    assert columns["mistakes"].type == pa.int64()
    assert columns["run_id"].to_pylist() == [one["run_id"] for one in text]
    # A table that was large stays Parquet.
    store.prune(lambda old: old["repetition"] == "3")
    store.write_table()
    assert [one["repetition"] for one in Store(tmp_path / "large").rows().values()] == ["3"]
    assert not (tmp_path / "large" / "runs.csv").exists()


def test_rows_are_in_the_order_of_a_text(tmp_path, monkeypatch):
    some = [
        row(i) | {"repetition": i % 3, "budget": budget, "label": label, "seed": i, "budget_fraction": fraction}
        for i, (budget, label, fraction) in enumerate(product((None, 9, 10), ("é", "z", "rbp"), (None, 2.5)))
    ]
    for name, n in (("large", N), ("small", 1000)):
        monkeypatch.setattr(files, "LARGE", n)
        store = opened(tmp_path / name)
        store.save("all", some[::-1])
        store.write_table()
    ids = pq.read_table(tmp_path / "large" / "runs.parquet")["run_id"].to_pylist()
    assert ids == [one["run_id"] for one in rows(tmp_path / "small")]
    assert len(ids) == 18


def test_two_sweeps_of_a_large_folder_lose_nothing(tmp_path):
    a = filled(tmp_path / "r")
    b = opened(tmp_path / "r")
    assert len(b.rows()) == N
    a.save("of a", [row(100), row(101)])
    a.write_table()
    assert not list(a.parts.iterdir())
    b.save("of b", [row(200), row(3)])
    b.write_table()
    for store in (a, b, Store(tmp_path / "r")):
        assert len(store.rows()) == N + 3
        store.write_table()
    before = (tmp_path / "r" / "runs.parquet").stat().st_mtime_ns
    a.write_table()
    assert (tmp_path / "r" / "runs.parquet").stat().st_mtime_ns == before


def test_a_failed_run_is_replaced(tmp_path):
    store = filled(tmp_path / "r")
    failed = row(3) | {"status": "failed", "error": "no", "online_error": None, "mistakes": None, "seconds": None}
    store.save("x", [failed | {"run_id": "a" * 16}])
    store.write_table()
    assert Store(tmp_path / "r").rows()["a" * 16]["error"] == "no"
    store.save("y", [row(3) | {"run_id": "a" * 16}])
    store.save("z", [failed])
    store.write_table()
    found = Store(tmp_path / "r").rows()
    assert {found[key]["status"] for key in found} == {"done"}
    assert (len(found), "b" * 16 in found) == (N + 1, False)


def test_a_part_that_was_written_again_stays(tmp_path):
    store = filled(tmp_path / "r", N - 2)
    store.save("more", [row(50), row(51)])
    store.rows()
    os.utime(store.parts / "more.jsonl", ns=(1, 1))
    store._add_parts = lambda rows: None
    store.write_table()
    assert [path.name for path in store.parts.iterdir()] == ["more.jsonl"]


def test_a_table_that_was_altered_or_torn(tmp_path):
    store = filled(tmp_path / "r")
    table = tmp_path / "r" / "runs.parquet"
    data = table.read_bytes()
    sums = tmp_path / "r" / "runs.parquet.sha256"
    for changed in (data[:-7], data[: len(data) // 2] + b"x" + data[len(data) // 2 + 1 :], b""):
        table.write_bytes(changed)
        what = (
            f"{table}: is not as the sweep wrote it (its sha256 is not that in {sums.name}), so numbers in it may be "
        )
        what += "wrong; restore the file from a copy, or repeat the sweep: budgetrun sweep CONFIG --force; "
        for refuses in (lambda: load(tmp_path / "r"), Store(tmp_path / "r").check, Store(tmp_path / "r").write_table):
            assert message(refuses, kind=AlteredError) == f"{what}to accept it as it is, delete {sums}"
        assert table.read_bytes() == changed
    sums.unlink()
    table.write_bytes(data[:-7])
    raises(AlteredError, r"runs.parquet: not readable as Parquet \(.*\); restore", Store(tmp_path / "r").check)
    raises(InputError, r"runs.parquet: not readable as Parquet \(.*\); repeat the sweep", load, tmp_path / "r")
    found = pq.read_table(pa.BufferReader(data))
    for table_, why in [
        (found.drop_columns(["status"]), "column status missing"),
        (found.set_column(0, "run_id", pa.array(range(N))), "column run_id has the type int64"),
    ]:
        pq.write_table(table_, table)
        raises(AlteredError, why, Store(tmp_path / "r").check)
    # Columns that came later may be missing.
    pq.write_table(found.drop_columns(["zero_scores", "objective"]), table)
    assert as_texts(Store(tmp_path / "r").rows()) == as_texts(store.rows())


def test_reports_do_not_depend_on_the_format(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("budgetrun.results.report.figures.draw", lambda _: [])
    build(tmp_path / "a" / "fake", paper_rows())
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    store = Store(tmp_path / "b" / "fake")
    store.parts.mkdir()
    store.write_table()
    assert (tmp_path / "b" / "fake" / "runs.parquet").exists()
    a, b = load(tmp_path / "a" / "fake"), load(tmp_path / "b" / "fake")
    order = a.runs.sort_values("run_id"), b.runs.sort_values("run_id")
    for name in a.runs.columns.drop("place"):  # numbered as they come
        one, other = (frame[name].to_numpy(dtype=object) for frame in order)
        assert all(x == y or (x != x and y != y) for x, y in zip(one, other, strict=True)), name
    told = []
    for name in ("a", "b"):
        monkeypatch.chdir(tmp_path / name)
        told.append(run(capsys, "report", "fake")[1].replace("parquet", "csv"))
    assert told[0] == told[1]
    for path in (tmp_path / "a" / "fake" / "tables").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / "fake" / "tables" / path.name).read_bytes(), path.name


def untimed(folder):
    return pq.read_table(folder / "runs.parquet").drop_columns([*MEASURED])


def test_shards_become_the_large_table_of_the_whole(here, unreported, capsys):
    config(here)
    assert run(capsys, "sweep", "small.yaml", "--results", "whole")[0] == 0
    shards = [f"results/small.{part}-of-3" for part in (1, 2, 3)]
    for part in (1, 2, 3):
        assert run(capsys, "sweep", "small.yaml", "--shard", f"{part}/3")[0] == 0
    # Two folders of text, and the large one into which they go.
    assert run(capsys, "merge", *shards[:2], "--into", "results/small")[0] == 0
    for _ in range(2):
        told = run(capsys, "merge", *shards, "whole/small", "--into", "results/small")
        assert told[:2] == (0, "results/small: 16 of 16 runs finished\n")
        assert untimed(here / "results" / "small").equals(untimed(here / "whole" / "small"))
    before = (here / "whole" / "small" / "runs.parquet").stat().st_mtime_ns
    assert "0 runs to do, 16 finished" in run(capsys, "sweep", "small.yaml", "--results", "whole")[2]
    assert (here / "whole" / "small" / "runs.parquet").stat().st_mtime_ns == before
    assert run(capsys, "status", "whole/small")[1] == "whole/small: 16 of 16 runs finished\n"


def test_a_large_sweep_that_is_killed_resumes(tmp_path):
    """Killed after its table has become large, so that some runs are in the table and some in parts."""
    command = SMALL_IS_LARGE.replace(f"= {N}", "= 3") + COMMAND
    path, folder = slow_config(tmp_path), tmp_path / "results" / "slow"
    process = start(tmp_path, "sweep", path, "--jobs", 2, command=command)
    wait_for(lambda: (folder / "runs.parquet").exists())
    process.kill()
    ended(process)
    seen = as_texts(Store(folder).rows())
    assert len(seen) >= 3
    process = start(tmp_path, "sweep", path, "--jobs", 2, command=command)
    printed(0, ended(process))
    found = as_texts(Store(folder).rows())
    assert len(found) == 12
    assert all(found[key] == old for key, old in seen.items())
    assert not list((folder / "parts").glob("*.jsonl"))


def test_the_page_says_from_when_on(monkeypatch):
    monkeypatch.undo()
    assert f"once a folder has had {files.LARGE:,} runs" in (TOP / "docs" / "configs.md").read_text()


def test_values_that_texts_have(tmp_path):
    values = {"gap": 1e-300, "objective": 0.1 + 0.2, "lower_bound": np.float64(-3), "steps": 2**60, "updates": 0}
    store = opened(tmp_path / "r")
    store.save("a", [row(1) | values, row(2) | {"error": 'a "quoted"\nline, é\r'}])
    small = as_texts(store.rows())
    rows_ = LargeRows()
    for run_id, one in small.items():
        rows_[run_id] = one
    again = LargeRows(rows_.packed())
    assert as_texts(again) == small
    assert not again.changed
    assert as_texts(again.only([f"{2:016x}"])) == {f"{2:016x}": small[f"{2:016x}"]}
