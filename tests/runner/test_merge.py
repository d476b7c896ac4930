"""Shards of a sweep, and folders put together: the same runs.csv as one sweep gives, or a sentence."""

import os
import re
import shutil
import signal
from types import SimpleNamespace

import pytest
import sweeping
from faults import FULL
from sweeping import edited, ended, outcomes, parts, printed, run, start, wait_for
from test_backends import cluster  # noqa: F401  (a fixture)

from budgetrun import config as config_module
from budgetrun.base.errors import InputError
from budgetrun.results.store import write as store_module
from budgetrun.results.store.read import load
from budgetrun.results.store.write import Store
from budgetrun.runner import merge as merging
from budgetrun.runner import verbs
from budgetrun.runner.plan import Shard, make_plan
from budgetrun.runner.shards import _divided, of_shard

pytestmark = pytest.mark.faults

N = 3
SHARDS = [f"results/small.{part}-of-{N}" for part in range(1, N + 1)]
SAID = "; each dataset is divided by estimated time, in the same way on every machine\n"


def config(folder, **changes):
    """Write a config of two datasets: 2 x 2 x 8 runs, some of which have budgets that follow others."""
    data = {"name": "noisy_gaussians", "options": {"n_per_class": 150}}
    datasets = [data | {"noise": 0.1}, data | {"label": "other", "noise": 0.2}]
    return sweeping.config(folder, **({"datasets": datasets} | changes))


@pytest.fixture(scope="session")
def whole_once(tmp_path_factory):
    """A folder with the config, its results, and those of three shards in ``results``."""
    folder = tmp_path_factory.mktemp("shards")
    path = config(folder)
    sweeping.swept_folder(path, folder / "whole")
    for part in range(1, N + 1):
        sweeping.swept_folder(path, folder / "results", shard=Shard(part, N))
    return folder


@pytest.fixture
def whole(whole_once, here, unreported):
    """A copy of that folder, as the working directory."""
    shutil.copytree(whole_once, here, dirs_exist_ok=True)
    return here


def edit_run(folder, run_id, **changes):
    """Change the row of a run in all of its files, as code that gives another outcome would."""
    store = Store(folder)
    store.save("changed", [store.rows()[run_id] | changes])
    assert store.rows()[run_id].items() >= changes.items()
    store.write_table()


def doubled(top):
    """Return a finished run that two shards have, and these folders."""
    found = {}
    for folder in SHARDS:
        for run_id in Store(top / folder).rows():
            if run_id in found:
                return run_id, found[run_id], folder
            found[run_id] = folder
    raise AssertionError("no run is in two shards")


# -- the division ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 7, 40])
def test_shards_divide_each_dataset_alike_wherever_they_are_planned(tmp_path, n):
    loaded = config_module.load(config(tmp_path))
    plan = make_plan(loaded)
    divided = [of_shard(plan, Shard(part, n)).runs for part in range(1, n + 1)]
    ids = [run.run_id for runs in divided for run in runs]
    assert set(ids) == {run.run_id for run in plan.runs}
    followed = {run.source.run_id for run in plan.runs if run.source}
    assert {one for one in ids if ids.count(one) > 1} <= followed
    # A machine that lacks the other dataset gives each shard the same runs of this one.
    alone = make_plan(loaded, only=["other"])
    for part, runs in enumerate(divided, 1):
        assert of_shard(alone, Shard(part, n)).runs == [run for run in runs if run.dataset == "other"]


@pytest.mark.parametrize("cost", [1e-4, 1e4])
def test_streams_are_divided_only_where_that_is_needed(cost):
    spec = object()
    streams = [[SimpleNamespace(spec=spec, stream=stream) for _ in range(6)] for stream in range(4)]
    for n, several in ((2, False), (4, False), (3, True)):
        parts = _divided(streams, {id(spec): cost}, n)
        assert sum(map(len, parts)) == 24
        assert max(map(len, parts)) <= 1.1 * 24 / n
        shared = sum(len({run.stream for run in part}) for part in parts)
        assert (shared > 4) == several


def test_a_shard_says_what_it_is_and_resumes(whole, capsys):
    n = len(Store(whole / SHARDS[1]).rows())
    before = parts(whole / SHARDS[1])
    _, err = printed(0, run(capsys, "sweep", "small.yaml", "--shard", "2/3"))
    assert err == f"small: shard 2 of 3, {n} of 32 runs{SAID}small: 0 runs to do, {n} finished, in {SHARDS[1]}\n"
    assert parts(whole / SHARDS[1]) == before
    assert run(capsys, "status", SHARDS[1])[1] == f"{SHARDS[1]}: {n} of {n} runs finished\n"
    first = next((whole / SHARDS[1] / "parts").iterdir())
    lost = len(first.read_text().splitlines())
    first.unlink()
    for path in (whole / SHARDS[1]).glob("runs.csv*"):
        path.unlink()
    out = run(capsys, "status", SHARDS[1])[1]
    again = "budgetrun sweep small.yaml --shard 2/3"
    assert out == f"{SHARDS[1]}: {n - lost} of {n} runs finished; to complete it: {again}\n"
    out = run(capsys, "sweep", "small.yaml", "--shard", "2/3", "--dry-run")[1]
    assert out.startswith(f"small, shard 2/3: {n} runs, {n - lost} finished, {lost} to do\n")


def test_a_shard_without_a_run(here, capsys):
    config(here, repetitions=1, algorithms=[{"name": "perceptron"}])
    codes = [run(capsys, "sweep", "small.yaml", "--shard", f"{part}/3") for part in (1, 2, 3)]
    assert {code for code, _, _ in codes} == {0}
    empty = [err for _, _, err in codes if "0 of 2 runs" in err]
    assert empty
    assert all(err.endswith("small: this shard has no run\n") for err in empty)


@pytest.mark.parametrize("text", ["3", "0/3", "4/3", "1/0", "a/b", "1/3/5", "-1/3", "1/10001", "١/٣"])
def test_what_is_not_a_shard(tmp_path, capsys, text):
    wanted = "must be PART/OF, such as 3/20, with 1 <= PART <= OF <= 10,000"
    code, _, err = run(capsys, "sweep", config(tmp_path), f"--shard={text}")
    assert (code, err) == (2, f"--shard {text}: {wanted}\n")


def test_shard_and_only(tmp_path, capsys):
    code, _, err = run(capsys, "sweep", config(tmp_path), "--shard", "1/2", "--only", "dataset=other")
    assert (code, err) == (2, "--shard: is a part of all runs of a config; remove it, or --only\n")


# -- put together ------------------------------------------------------------------------------------------------------


def same_bytes(folder, other):
    """Assert that two folders have the same runs.csv, byte for byte but for measured times and memory."""
    texts = []
    for one in (folder, other):
        store = Store(one)
        assert (one / "runs.csv").read_bytes()
        store._rows = {key: row | dict.fromkeys(store_module.MEASURED, "1") for key, row in store.rows().items()}
        store.folder = one.with_name("untimed")
        store.folder.mkdir()
        store.write_table()
        texts.append((store.folder / "runs.csv").read_bytes())
        shutil.rmtree(store.folder)
    assert texts[0] == texts[1]
    assert outcomes(folder) == outcomes(other)


def test_merged_shards_are_the_whole_sweep(whole, capsys):
    code, out, err = run(capsys, "merge", *SHARDS, "--into", "results/small")
    assert (code, out, err) == (0, "results/small: 32 of 32 runs finished\n", "")
    same_bytes(whole / "results" / "small", whole / "whole" / "small")
    one, other = (Store(whole / name / "small") for name in ("results", "whole"))
    a, b = one.manifest(), other.manifest()
    assert {key for key in a.keys() | b.keys() if a.get(key) != b.get(key)} <= {
        "start", "end", "seconds", "jobs", "parts", "merged"
    }  # fmt: skip
    assert a["seconds"] == pytest.approx(sum(Store(whole / folder).manifest()["seconds"] for folder in SHARDS), abs=0.2)
    assert [entry["shard"] for entry in a["merged"]] == ["1/3", "2/3", "3/3"]
    curves = {path.name for folder in SHARDS for path in (whole / folder / "curves").iterdir()}
    assert {path.name for path in one.curves.iterdir()} == curves
    # The sweep of all has nothing left to do, and merging again changes nothing.
    files = {path: path.read_bytes() for path in one.folder.rglob("*") if path.is_file()}
    for folders in (SHARDS, ["results/small"], [*reversed(SHARDS), "results/../results/small", SHARDS[0]]):
        code, out, _ = run(capsys, "merge", *folders, "--into", "results/small")
        assert (code, out) == (0, "results/small: 32 of 32 runs finished\n")
        assert {path: path.read_bytes() for path in one.folder.rglob("*") if path.is_file()} == files
    assert "small: 0 runs to do, 32 finished" in run(capsys, "sweep", "small.yaml")[2]
    assert one.manifest()["merged"] == a["merged"]


def test_a_missing_shard_is_named_and_may_come_later(whole, capsys):
    out, err = printed(0, run(capsys, "merge", SHARDS[0], SHARDS[2], "--into", "put/together"))
    rows_of = [Store(whole / folder).rows() for folder in SHARDS]
    lost = rows_of[1].keys() - rows_of[0].keys() - rows_of[2].keys()
    assert out.startswith(f"put/together: {32 - len(lost)} of 32 runs finished; to complete it, move it to put/small, ")
    assert re.search(r" and type: budgetrun sweep /\S+/small.yaml --results put\n$", out)
    lines = err.splitlines()
    assert lines[0] == "of 3 shards, these are missing: 2"
    assert len(lines) == 1 + len(lost) <= 11
    assert all(line.startswith(("missing: noisy_gaussians - rep", "missing: other - rep")) for line in lines[1:])
    code, out, err = run(capsys, "merge", SHARDS[1], "--into", "put/together")
    assert (code, out, err) == (0, "put/together: 32 of 32 runs finished\n", "")
    same_bytes(whole / "put" / "together", whole / "whole" / "small")


def test_many_missing_runs(whole, capsys):
    _, _, err = run(capsys, "merge", SHARDS[0], "--into", "x")
    lost = 32 - len(Store(whole / SHARDS[0]).rows())
    lines = err.splitlines()
    assert lines[0] == "of 3 shards, these are missing: 2, 3"
    assert lines[-1] == f"missing: {lost - 10} runs more than these"
    assert len(lines) == 12


def test_three_shards_killed_and_repeated_give_the_same_table(here, capsys, unreported):
    path = sweeping.slow_config(here)
    assert ended(start(here, "sweep", path, "--results", "whole"))[0] == 0
    shards = [here / "results" / f"slow.{part}-of-3" for part in (1, 2, 3)]
    for part, folder in enumerate(shards, 1):
        process = start(here, "sweep", path, "--shard", f"{part}/3", "--jobs", 2)
        wait_for(lambda folder=folder: list((folder / "parts").glob("*")))
        os.killpg(process.pid, signal.SIGKILL)
        ended(process)
    left = sum(len(Store(folder).rows()) for folder in shards)
    assert left < 12
    code, out, _ = run(capsys, "merge", *shards, "--into", "half")
    assert (code, out[: out.index(" of")]) == (0, f"half: {left}")
    for part in (1, 2, 3):
        assert ended(start(here, "sweep", path, "--shard", f"{part}/3", "--jobs", 1))[0] == 0
    assert run(capsys, "merge", *shards, "--into", "results/slow")[:2] == (0, "results/slow: 12 of 12 runs finished\n")
    same_bytes(here / "results" / "slow", here / "whole" / "slow")


def test_shards_as_jobs_of_dask(whole, capsys, cluster):  # noqa: F811
    address, _ = cluster
    given = ["--results", "far", "--backend", "dask", "--scheduler", address]
    # Two machines may send their shards to one cluster, and write below one folder.
    both = [start(whole, "sweep", "small.yaml", "--shard", f"{part}/2", *given) for part in (1, 2)]
    assert [ended(process)[0] for process in both] == [0, 0]
    folders = [f"far/small.{part}-of-2" for part in (1, 2)]
    assert run(capsys, "merge", *folders, "--into", "far/small")[:2] == (0, "far/small: 32 of 32 runs finished\n")
    same_bytes(whole / "far" / "small", whole / "whole" / "small")


def test_failed_runs_are_repeated_by_other_folders(whole, capsys):
    run_id = next(iter(Store(whole / SHARDS[0]).rows()))
    for name in ("failed", "good"):
        shutil.copytree(whole / "whole" / "small", whole / name)
    shutil.rmtree(Store(whole / "failed").parts)
    (whole / "failed" / "runs.csv.sha256").unlink()
    text = (whole / "failed" / "runs.csv").read_text().splitlines(keepends=True)
    text = [line.replace(",done,", ",failed,") if run_id in line else line for line in text]
    (whole / "failed" / "runs.csv").write_text("".join(text))
    code, out, _ = run(capsys, "merge", "failed", "--into", "x")
    assert (code, out.split(";")[0]) == (0, "x: 31 of 32 runs finished, 1 failed")
    assert Store(whole / "x").manifest()["failures"] == [run_id]
    for order in (["failed", "good"], ["good", "failed"]):
        assert run(capsys, "merge", *order, "--into", "x")[1] == "x: 32 of 32 runs finished\n"
        assert Store(whole / "x").manifest()["failures"] == []


# -- refused -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def refused(capsys):
    """Return a function that returns why folders are not merged."""

    def merge(*folders, into="x"):
        _, err = printed(2, run(capsys, "merge", *folders, "--into", into))
        return err

    return merge


ONLY = "; only parts of one sweep can be merged\n"
DIFFERENT = {
    "config": (lambda m: m["config"].update(seed=7), "config (seed)"),
    "version": (lambda m: m["versions"].update(budgetrun="0.1"), "version of budgetrun (version {version}, 0.1)"),
    "code": (lambda m: m.update(revisions=[*m["revisions"][1:], "perceptron 9"]), "code (perceptron 1, 9)"),
    "profile": (lambda m: m.update(profile="ci"), "profile (profile full, ci)"),
    "data": (lambda m: m["datasets"]["other"].update(sha256="9"), "data (other {sha256}, 9)"),
}  # fmt: skip


@pytest.mark.parametrize("what", DIFFERENT)
def test_shards_of_something_else(whole, refused, what):
    change, words = DIFFERENT[what]
    before = Store(whole / SHARDS[0]).manifest()
    with edited(whole / SHARDS[1]) as manifest:
        change(manifest)
    said = words.format(version=before["versions"]["budgetrun"], sha256=before["datasets"]["other"]["sha256"])
    assert refused(*SHARDS) == f"{SHARDS[1]}: differs from {SHARDS[0]} in its {said}{ONLY}"
    assert not (whole / "x").exists()


def test_a_shard_whose_code_this_version_does_not_have(whole, refused):
    run_id = next(iter(Store(whole / SHARDS[1]).rows()))
    store = Store(whole / SHARDS[1])
    store.save("other", [store.rows()[run_id] | {"run_id": "f" * 16}])
    store.write_table()
    assert refused(*SHARDS) == (
        f"{SHARDS[1]}: its runs are of other code or data than this version plans; merge with the version that made "
        "them, or repeat: budgetrun sweep\n"
    )


def test_a_run_with_two_outcomes(whole, refused):
    run_id, one, other = doubled(whole)
    mistakes = int(Store(whole / other).rows()[run_id]["mistakes"])
    edit_run(whole / other, run_id, mistakes=str(mistakes + 1), online_error=repr((mistakes + 1) / 300))
    assert refused(*SHARDS) == (
        f"{other}: run {run_id} is also in {one}, with another mistakes ({mistakes} and {mistakes + 1}); one of the "
        "two is wrong: repeat both with --force\n"
    )


def test_rounding_is_not_another_outcome(whole, refused):
    run_id, _, other = doubled(whole)
    edit_run(whole / other, run_id, facts='{"U": 1.5}', seconds="9.5")
    assert refused(*SHARDS)
    for text, close in [
        ('{"U": 0.6005612043932249}', True),
        ('{"U": 0.6005612143932249}', False),
        ('{"V": 0.6005612043932248}', False),
        ('{"U": 1}', False),
        ('{"U": 6.005612043932248e-1}', True),
        ("", False),
    ]:
        assert merging._close('{"U": 0.6005612043932248}', text) is close
    assert not merging._close("12", "13")


def test_folders_that_cannot_be_merged(whole, refused):
    assert refused(SHARDS[0], "nowhere") == (
        "nowhere/manifest.json: no such file, so this is not a results folder; make one first: budgetrun sweep CONFIG\n"
    )
    shard = "is a shard, which its next sweep would continue; give another folder"
    assert refused(*SHARDS, into=SHARDS[0]) == f"--into {SHARDS[0]}: {shard}\n"
    other = "holds other files than results; give a new folder, or one with results"
    assert refused(*SHARDS, into="results") == f"--into results: {other}\n"
    with edited(whole / SHARDS[0]) as manifest:
        del manifest["versions"]
    lacking = "has no versions, so it is not that of a sweep"
    assert refused(*SHARDS) == f"{SHARDS[0]}/manifest.json: {lacking}\n"
    with edited(whole / SHARDS[0]) as manifest:
        manifest["config"] = {}
    assert refused(SHARDS[0])
    table = whole / SHARDS[1] / "runs.csv"
    table.write_text(table.read_text().replace(",done,", ",done,x", 1))
    shutil.rmtree(whole / SHARDS[1] / "parts")
    assert f"{SHARDS[1]}/runs.csv: is not as the sweep wrote it" in refused(SHARDS[1])
    assert not (whole / "x").exists()


# -- ends of any kind --------------------------------------------------------------------------------------------------


class Killed(BaseException):
    pass


@pytest.mark.parametrize("error", [Killed(), FULL], ids=["kill", "full"])
def test_a_merge_that_ends_at_any_write_goes_on(whole, capsys, monkeypatch, error):
    real, calls = os.replace, []

    def replace(*arguments):
        if len(calls) == limit:
            raise error
        calls.append(arguments)
        real(*arguments)

    limit, finished = 0, False
    while not finished:
        shutil.rmtree(whole / "x", ignore_errors=True)
        calls.clear()
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", replace)
            try:
                merging.merge([whole / folder for folder in SHARDS], whole / "x")
                finished = True
            except (Killed, InputError) as stopped:
                said = str(stopped)
        assert finished or ("(No space left on device)" in said) is isinstance(error, OSError)
        if list((whole / "x").glob("parts/*.jsonl")):
            # As a report does first, which then finds all runs that were put together.
            verbs._complete(whole / "x")
            assert len(load(whole / "x").runs) == 32
        assert run(capsys, "merge", *SHARDS, "--into", "x")[:2] == (0, "x: 32 of 32 runs finished\n")
        same_bytes(whole / "x", whole / "whole" / "small")
        limit += 1
    assert limit > 8
