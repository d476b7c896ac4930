"""The results folder: stored runs are never lost, and torn files are noticed."""

import csv
import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from faults import message

from budgetrun.results.store.files import COLUMNS as SCHEMA
from budgetrun.results.store.write import Store, record

COLUMNS = tuple(column.name for column in SCHEMA)
CONTRACT = (
    "run_id, dataset, task, repetition, seed, algorithm, parameters, kernel, budget, n_examples, mistakes, "
    "online_error, updates, margin_updates, support_size, max_support_size, seconds, peak_memory_mb, status, error, "
    "label, budget_fraction, test_error, last_test_error, objective, lower_bound, gap, steps, unlearning_steps, "
    "epochs, compile_seconds, prefix_examples, prefix_mistakes, facts, setting, zero_scores, "
    "sliding_error, fading_error, f1, kappa, auc, brier, log_loss, confusion, "
    "mae, rmse, r2, prefix_rmse"
)
CONFIG = {"name": "n", "seed": 0}


def row(i, status="done", **changes):
    done = status == "done"
    given = dict.fromkeys(COLUMNS) | {
        "run_id": f"{i:016x}", "dataset": "d", "task": "-", "repetition": i, "seed": 0, "algorithm": "rbp",
        "parameters": "{}", "kernel": "linear()", "budget": 10, "n_examples": 30, "seconds": 0.1, "peak_memory_mb": 1.0,
        "status": status, "error": "" if done else "ValueError: no", "label": "rbp",
    }  # fmt: skip
    if done:
        given |= {"mistakes": 7, "online_error": 7 / 30, "updates": 7, "margin_updates": 0}
        given |= {"support_size": 5, "max_support_size": 6}
    return given | changes


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "r")
    store.open({"config": CONFIG})
    return store


def again(store):
    """Return the store as another process sees it."""
    return Store(store.folder)


def without_parts(store):
    for part in store.parts.iterdir():
        part.unlink()
    return again(store)


def test_columns_are_those_of_the_contract():
    assert ", ".join(COLUMNS) == CONTRACT


def test_a_record_has_all_columns_and_no_others():
    known = {column.name: 0 for column in SCHEMA if column.filled_by == "every"}
    found = record(**known, mistakes=7)
    assert tuple(found) == COLUMNS
    assert {name for name, value in found.items() if value is not None} == {*known, "mistakes"}
    with pytest.raises(ValueError, match=r"unknown columns: \['errors'\]"):
        record(**known, errors=7)
    with pytest.raises(ValueError, match=r"must not be empty: \['run_id'\]"):
        record(**known | {"run_id": None})


def test_rows_of_solvers_have_no_mistakes(store):
    # Numbers of numpy are kept as others.
    solved = {"mistakes": None, "online_error": None, "objective": np.float64(12.5), "lower_bound": 12.4, "steps": 3}
    store.save("a", [row(1), row(2, **solved), row(3, **solved | {"objective": float("inf")})])
    kept = again(store)
    kept.write_table()
    for found in (kept.rows(), without_parts(store).rows()):
        assert list(found) == [f"{1:016x}", f"{2:016x}"]
        assert found[f"{1:016x}"]["objective"] == found[f"{1:016x}"]["epochs"] == ""
        assert [found[f"{2:016x}"][key] for key in ("objective", "lower_bound", "steps")] == ["12.5", "12.4", "3"]


def test_table_is_sorted_by_stream_learner_and_number(store):
    store.save("a", [row(3), row(10), row(2, seed=1), row(2, run_id="f" * 16), row(2, budget=9, run_id="e" * 16)])
    store.save("b", [row(2, dataset="c", run_id="d" * 16), row(2, label="perceptron", budget=None, run_id="c" * 16)])
    store.write_table()
    with (store.folder / "runs.csv").open(newline="") as file:
        header, *lines = csv.reader(file)
    assert tuple(header) == COLUMNS
    keys = [tuple(dict(zip(header, line, strict=True))[c] for c in ("dataset", "label", "budget")) for line in lines]
    assert keys == [("c", "rbp", "10"), ("d", "perceptron", ""), ("d", "rbp", "9"), *[("d", "rbp", "10")] * 4]
    assert [line[3] for line in lines] == ["2", "2", "2", "2", "2", "3", "10"]
    assert [line[4] for line in lines[3:5]] == ["0", "1"]


def test_rows_come_back_from_parts_and_from_the_table(store):
    store.save("a", [row(1), row(2, "failed")])
    assert set(again(store).rows()) == {f"{1:016x}", f"{2:016x}"}
    store.write_table()
    found = without_parts(store).rows()
    assert found[f"{1:016x}"]["online_error"] == repr(7 / 30)
    assert found[f"{2:016x}"]["error"] == "ValueError: no"


def test_a_finished_run_replaces_a_failed_one_and_never_the_other_way(store):
    store.save("a", [row(1, "failed"), row(2)])
    store.write_table()
    store.save("b", [row(1), row(2, "failed")])
    for one in (store, again(store)):
        assert {r["status"] for r in one.rows().values()} == {"done"}


def test_a_torn_line_of_a_part_is_an_unfinished_run(store):
    store.save("a", [row(1), row(2), row(3)])
    path = store.parts / "a.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert len(again(store).rows()) == 2
    path.write_bytes(whole.replace(b'"mistakes": "7"', b'"mistakes": "1"', 1))
    assert len(again(store).rows()) == 2


@pytest.mark.parametrize("cut", [1, 2, 3, 40])
def test_a_torn_table_loses_its_last_run_only(store, cut):
    store.save("a", [row(1), row(2), row(3, budget_fraction=0.0625)])
    store.write_table()
    path = store.folder / "runs.csv"
    whole = path.read_bytes()
    path.write_bytes(b'\xff\x00\n"')
    # What the table lost is still in the parts.
    again(store).write_table()
    assert path.read_bytes() == whole
    path.write_bytes(whole[:-cut])
    assert sorted(without_parts(store).rows()) == [f"{1:016x}", f"{2:016x}"]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [(",7,", ",9,"), (",done,", ",maybe,"), (",30,", ",x,"), (",30,", ",0,"), (",rbp,", ',"rbp,'), (",-,", ",\xff,-,")],
)
def test_a_damaged_row_of_the_table_is_an_unfinished_run(store, right, wrong):
    store.save("a", [row(1), row(2)])
    store.write_table()
    path = store.folder / "runs.csv"
    first, second = path.read_text().splitlines()[1:]
    path.write_text("\n".join([",".join(COLUMNS), first, second.replace(right, wrong, 1), ""]), encoding="latin-1")
    assert list(without_parts(store).rows()) == [f"{1:016x}"]


def test_a_compressed_table_is_read(store):
    store.save("a", [row(1)])
    store.write_table()
    path = store.folder / "runs.csv"
    packed = path.with_name("runs.csv.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert len(without_parts(store).rows()) == 1
    packed.write_bytes(packed.read_bytes()[:-9])
    assert not again(store).rows()


def test_pruned_runs_do_not_come_back(store):
    store.save("old", [row(1), row(2)])
    store.save("mixed", [row(3), row(4)])
    (store.curves / "old.npz").touch()
    store.write_table()
    store.prune(lambda r: r["run_id"] == f"{4:016x}")
    store.write_table()
    for one in (store, again(store), without_parts(store)):
        assert list(one.rows()) == [f"{4:016x}"]
    assert not (store.curves / "old.npz").exists()


def test_two_stores_of_one_folder_lose_nothing(store):
    other = again(store)
    for i in range(6):
        one = (store, other)[i % 2]
        one.save(f"job{i}", [row(i)])
        one.write_table()
    assert len(without_parts(store).rows()) == 6


def test_another_config_is_refused_and_only_what_is_shown_may_change(store):
    store.open({"config": CONFIG | {"description": "d", "source": "s", "report": {}}})
    assert message(store.open, {"config": CONFIG | {"seed": 1, "tie": "positive"}}) == (
        f"{store.folder}: these results are those of another config (it differs in: seed, tie); "
        "rename the config, choose another folder with --results DIR, or move these results aside with --force"
    )


def test_force_moves_the_old_folder_aside(store):
    store.save("a", [row(1)])
    new = again(store)
    new.open({"config": CONFIG | {"seed": 1}}, force=True)
    assert not new.rows()
    (aside,) = store.folder.parent.glob("r.old-*")
    assert len(Store(aside).rows()) == 1
    assert new.manifest() == {"config": CONFIG | {"seed": 1}}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"config": 3}', '{"config": {'])
def test_an_unreadable_manifest_is_none(store, text):
    (store.folder / "manifest.json").write_text(text)
    assert store.manifest() is None
    store.open({"config": CONFIG})
    assert json.loads((store.folder / "manifest.json").read_text()) == {"config": CONFIG}


def test_no_temporary_file_stays_when_writing_fails(store, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        store.save("a", [row(1)])
    assert not list(store.parts.iterdir())


def test_unfinished_writes_of_dead_processes_go(tmp_path):
    store = Store(tmp_path / "r")
    store.parts.mkdir(parents=True)
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    dead, alive = (store.parts / f".a.jsonl.{pid}.tmp" for pid in (process.pid, os.getpid()))
    dead.touch()
    alive.touch()
    store.drop_unfinished_writes()
    assert [dead.exists(), alive.exists()] == [False, True]
