"""The results folder: stored runs are never lost, and files that are torn, edited or of another folder are noticed."""

import csv
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from faults import FULL, message, raises, raising
from results.report.fake_results import row
from sweeping import config, edited, printed, rows, run, swept_folder

from budgetrun.base.errors import AlteredError
from budgetrun.results.report import Report, figures
from budgetrun.results.store import files
from budgetrun.results.store.files import COLUMNS as SCHEMA
from budgetrun.results.store.read import load
from budgetrun.results.store.write import Store, record

COLUMNS = tuple(column.name for column in SCHEMA)
CONTRACT = (
    "run_id, dataset, task, repetition, seed, algorithm, parameters, kernel, budget, n_examples, mistakes, "
    "online_error, updates, margin_updates, support_size, max_support_size, seconds, peak_memory_mb, status, error, "
    "label, budget_fraction, test_error, last_test_error, objective, lower_bound, gap, steps, unlearning_steps, "
    "epochs, compile_seconds, prefix_examples, prefix_mistakes, facts, setting, zero_scores, "
    "sliding_error, fading_error, f1, kappa, auc, brier, log_loss, prefix_log_loss, confusion, "
    "mae, rmse, r2, prefix_rmse, learner_memory, kept_bytes"
)
CONFIG = {"name": "n", "seed": 0}


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
    raises(ValueError, r"unknown columns: \['errors'\]", record, **known, errors=7)
    raises(ValueError, r"must not be empty: \['run_id'\]", record, **known | {"run_id": None})


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
    store.write_table()
    assert {r["status"] for r in without_parts(store).rows().values()} == {"done"}


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
    monkeypatch.setattr("os.fsync", raising(FULL))
    raises(OSError, "No space left", store.save, "a", [row(1)])
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


N = 16
ADVICE = (
    "restore the file from a copy, or repeat the sweep: budgetrun sweep CONFIG --force; to accept it as it is, delete "
)


@pytest.fixture(scope="module")
def swept(small_once, tmp_path_factory):
    """A finished sweep: its config, its results folder and another of the same runs with other seeds."""
    top = shutil.copytree(small_once, tmp_path_factory.mktemp("swept"), dirs_exist_ok=True)
    swept_folder(config(top, "other", seed=1), top / "results", jobs=1)
    return top


@pytest.fixture
def folder(swept, here, monkeypatch):
    """A copy of the results folder, without parts."""
    shutil.copytree(swept, here, dirs_exist_ok=True)
    shutil.rmtree("results/small/parts")
    monkeypatch.setattr(figures, "draw", lambda _: [])
    return here / "results" / "small"


def truncate(folder):
    path = folder / "runs.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[: 1 + N // 2]))


def edit(folder):
    path = folder / "runs.csv"
    lines = path.read_text().splitlines(keepends=True)
    fields = lines[3].split(",")
    # Consistent in itself, so that nothing but the checksum tells.
    header = lines[0].split(",")
    at = {name: header.index(name) - len(header) for name in ("mistakes", "online_error", "n_examples")}
    n, mistakes = int(fields[at["n_examples"]]), int(fields[at["mistakes"]]) - 5
    fields[at["mistakes"]], fields[at["online_error"]] = str(mistakes), repr(mistakes / n)
    lines[3] = ",".join(fields)
    path.write_text("".join(lines))


def swap(folder):
    shutil.copy(folder.with_name("other") / "runs.csv", folder / "runs.csv")


EDITED = "is not as the sweep wrote it (its sha256 is not that in runs.csv.sha256), so numbers in it may be wrong"
ALTERATIONS = {
    truncate: f"runs.csv: has only {N // 2} of the {N} runs that the sweep wrote; ",
    edit: f"runs.csv: {EDITED}; ",
    swap: f"runs.csv: {EDITED}; ",
}


def pack(folder):
    path = folder / "runs.csv"
    path.with_name("runs.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


@pytest.mark.parametrize(("alter", "packed"), [(truncate, True), (edit, False), (swap, False)])
def test_reports_and_figures_refuse_an_altered_table_and_status_says_so(folder, capsys, alter, packed):
    alter(folder)
    if packed:
        pack(folder)
    words = ALTERATIONS[alter].replace("runs.csv:", "runs.csv.gz:") if packed else ALTERATIONS[alter]
    for verb in ("report", "plot", "bounds"):
        code, _, err = run(capsys, verb, "results/small")
        assert (code, err) == (1, f"results/small/{words}{ADVICE}results/small/runs.csv.sha256\n")
    assert not (folder / "report.html").exists()
    code, out, err = run(capsys, "status", "results/small")
    assert (code, out) == (1, "")
    assert err.startswith("results/small: ")
    assert f"; but results/small/{words}" in err


@pytest.mark.parametrize("alter", ALTERATIONS)
def test_a_sweep_does_not_count_the_runs_of_an_altered_table(folder, capsys, alter):
    alter(folder)
    before = (folder / "runs.csv").read_bytes()
    for arguments in ([], ["--dry-run"]):
        code, _, err = run(capsys, "sweep", "small.yaml", "--jobs", "1", *arguments)
        assert (code, err) == (2, f"results/small/{ALTERATIONS[alter]}{ADVICE}results/small/runs.csv.sha256\n")
    assert (folder / "runs.csv").read_bytes() == before


@pytest.mark.parametrize("alter", ALTERATIONS)
def test_parts_that_have_all_runs_replace_an_altered_table(folder, swept, capsys, alter):
    shutil.copytree(swept / "results" / "small" / "parts", folder / "parts")
    before = (folder / "runs.csv").read_bytes()
    alter(folder)
    _, err = printed(0, run(capsys, "sweep", "small.yaml", "--jobs", "1"))
    assert "its runs are taken from results/small/parts instead" in err
    assert f"0 runs to do, {N} finished" in err
    assert (folder / "runs.csv").read_bytes() == before
    alter(folder)
    _, err = printed(0, run(capsys, "plot", "results/small"))
    assert "; it has been rebuilt from results/small/parts\n" in err
    assert (folder / "runs.csv").read_bytes() == before


def test_without_a_sum_the_plan_tells_what_is_missing(folder, capsys):
    (folder / "runs.csv.sha256").unlink()
    truncate(folder)
    # In the middle of a row, within quotes.
    path = folder / "runs.csv"
    path.write_bytes(path.read_bytes()[:-3])
    out, err = printed(1, run(capsys, "report", "results/small"))
    n = N // 2 - 1
    said = f"only {n} of {N} planned runs are here"
    told = f"results/small/runs.csv: {said}; to complete them, see: budgetrun status results/small"
    assert err.splitlines()[-1] == told
    assert f"These results are incomplete: {said}." in (folder / "report.html").read_text()
    assert f"These results are incomplete: {said}." in out
    assert run(capsys, "plot", "results/small")[0] == 1


def test_runs_of_another_plan_are_told_without_a_sum(folder, capsys):
    swap(folder)
    shutil.copy(folder.with_name("other") / "runs.csv.sha256", folder / "runs.csv.sha256")
    _, err = printed(1, run(capsys, "report", "results/small"))
    assert f"the {N} runs here are not the {N} planned ones" in err


def test_the_other_folders_are_reported_all_the_same(folder, capsys):
    edit(folder)
    (folder.with_name("other") / "report.html").unlink(missing_ok=True)
    _, err = printed(1, run(capsys, "report", "results"))
    assert (folder.with_name("other") / "report.html").exists()
    assert "small/runs.csv: is not as the sweep wrote it" in err.splitlines()[-1]


@pytest.mark.parametrize("text", ["", "garbage", "# 3 runs\n"])
def test_the_sum_is_that_of_sha256sum_and_a_damaged_one_does_not_fit(folder, text):
    sum_of = hashlib.sha256((folder / "runs.csv").read_bytes()).hexdigest()
    assert (folder / "runs.csv.sha256").read_text() == f"# {N} runs\n{sum_of}  runs.csv\n"
    (folder / "runs.csv.sha256").write_text(text)
    message(load, folder, kind=AlteredError)
    (folder / "runs.csv.sha256").unlink()
    (folder / "runs.csv.sha256").mkdir()
    message(load, folder, kind=AlteredError)


@pytest.mark.parametrize("call", range(9))
def test_a_kill_at_any_step_of_replacing_the_table_leaves_a_valid_one(folder, swept, monkeypatch, call):
    """Every second step is a rename; what follows the kill never happens."""

    class Killed(BaseException):
        pass

    store = Store(folder)
    before = store.rows()
    shutil.copytree(swept / "results" / "small" / "parts", folder / "parts")
    store.save("extra", [dict(next(iter(before.values()))) | {"run_id": "f" * 16}])
    n = 0

    def counted(real):
        def step(*arguments, **keywords):
            nonlocal n
            n += 1
            if n > call:
                raise Killed
            return real(*arguments, **keywords)

        return step

    for name in ("replace", "fsync", "unlink"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    try:
        store.write_table()
    except Killed:
        pass
    else:
        assert n <= call
    monkeypatch.undo()
    assert load(folder).runs["run_id"].nunique() in (N, N + 1)
    shutil.rmtree(folder / "parts")
    Store(folder).check()


def test_a_report_of_a_folder_without_plan_or_sum_is_silent(folder):
    (folder / "runs.csv.sha256").unlink()
    with edited(folder) as manifest:
        del manifest["plan"]
    truncate(folder)
    assert Report(folder).incomplete == ""
    assert files.read_table(folder).sums is None
    assert len(rows(folder)) == N // 2


def test_a_key_of_a_manifest_is_quoted_on_one_line(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"expected": {"a\n\tb": 1}}))
    said = message(files.read_manifest, tmp_path / "manifest.json")
    assert said.startswith(f"{tmp_path / 'manifest.json'}: expected.'a\\n\\tb': ")
    assert "\n" not in said
