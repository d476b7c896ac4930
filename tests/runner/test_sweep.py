"""Sweeps and what may happen to them: no finished run is lost, and the next sweep runs the others only."""

import json
import os
import pty
import shutil
import signal
import time
import zlib
from concurrent.futures.process import BrokenProcessPool

import psutil
import pytest
from cases import EXHAUSTIVE
from faults import FULL, message, raises, raising
from sweeping import (
    COMMAND,
    VARYING,
    config,
    copied_package,
    csv_text,
    edited,
    ended,
    outcomes,
    parts,
    printed,
    rows,
    run,
    slow_config,
    start,
    untimed,
    wait_for,
    workers,
)

from budgetrun import config as config_module
from budgetrun.base.errors import InputError
from budgetrun.data import StreamInfo
from budgetrun.kernels import compiling
from budgetrun.learners.remove_oldest import RemoveOldest
from budgetrun.results.store import write as store_module
from budgetrun.runner.backends import Workers
from budgetrun.runner.estimate import jobs_within_memory
from budgetrun.runner.plan import Options, Plan, Run
from budgetrun.runner.progress import Progress
from budgetrun.runner.status import describe

pytestmark = pytest.mark.faults


def finished(folder, status="done"):
    return [row for row in rows(folder) if row["status"] == status]


def begun(tmp_path, path, folder, jobs=2, *arguments, **options):
    """Start a sweep in a process of its own, and return it when it has some parts and runs others."""
    process = start(tmp_path, "sweep", path, "--jobs", jobs, *arguments, **options)
    wait_for(lambda: parts(folder) and list((folder / "parts").glob("*.running")))
    return process


# -- what a sweep runs -------------------------------------------------------------------------------------------------


def test_every_run_is_run_once_and_its_row_adds_up(tmp_path, run_sweep, folder):
    path = config(tmp_path)
    assert run_sweep(path) == (0, f"small: 16 runs to do, 0 finished, in {tmp_path}/results/small\n16/16 runs, _ s\n")
    found = rows(folder)
    assert len({row["run_id"] for row in found}) == 16
    for row in found:
        assert row["status"] == "done"
        assert row["n_examples"] == "300"
        assert float(row["online_error"]) == int(row["mistakes"]) / 300
        assert int(row["support_size"]) <= int(row["max_support_size"]) <= int(row["budget"] or 300)
    keys = [(r["dataset"], r["task"], int(r["repetition"]), r["label"], int(r["budget"] or -1)) for r in found]
    assert keys == sorted(keys)
    perceptron = {row["repetition"]: int(row["mistakes"]) for row in found if row["algorithm"] == "perceptron"}
    for row in found:
        if row["budget_fraction"]:
            fraction, p = float(row["budget_fraction"]), perceptron[row["repetition"]]
            assert row["budget"] == str(max(1, int(fraction * p + 0.5)))
            assert json.loads(row["parameters"])["budget"] == {"of": "perceptron", "fraction": fraction}
    before = parts(folder)
    assert run_sweep(path) == (0, f"small: 0 runs to do, 16 finished, in {tmp_path}/results/small\n")
    assert parts(folder) == before
    assert outcomes(folder) == [{k: row[k] for k in row if k not in VARYING} for row in found]


def test_a_first_sweep_says_that_it_compiles(tmp_path, run_sweep, monkeypatch):
    monkeypatch.setattr(compiling, "begins", lambda: True)
    said = "; each learner is compiled once for this version, which takes some seconds"
    first = f"small: 1 run to do, 0 finished, in {tmp_path}/results/small{said}\n"
    path = config(tmp_path, algorithms=[{"name": "perceptron"}], repetitions=1)
    assert run_sweep(path) == (0, f"{first}1/1 runs, _ s\n")


SIZED = [
    {"name": "remove_oldest", "budget": {"of": "source", "fractions": [0.5, 1]}},
    {"name": "rbp", "label": "source", "budget": [5, 20], "seeds": 2},
]


def test_a_budget_is_a_fraction_of_the_support_size_of_each_setting(tmp_path, run_sweep, folder):
    assert run_sweep(config(tmp_path, algorithms=SIZED))[1].splitlines()[-1] == "16/16 runs, _ s"
    found = rows(folder)
    firsts = [row for row in found if row["label"] == "source" and row["seed"] == "0"]
    sizes = {(row["repetition"], int(row["budget"])): int(row["support_size"]) for row in firsts}
    asked = []
    for row in found:
        if row["label"] == "remove_oldest":
            origin = json.loads(row["parameters"])["budget"]
            budget, fraction = origin["setting"]["budget"], origin["fraction"]
            assert origin == {"of": "source", "fraction": fraction, "setting": {"budget": budget}}
            assert row["budget_fraction"] == str(fraction)
            assert row["budget"] == str(int(fraction * sizes[row["repetition"], budget] + 0.5))
            asked.append((budget, fraction))
    assert sorted(asked) == sorted([(b, f) for b in (5, 20) for f in (0.5, 1.0)] * 2)


def test_only_some_runs_bring_the_perceptrons_they_need(tmp_path, run_sweep, folder):
    path = config(tmp_path)
    options = {"only": {"algorithm": ["forgetron"], "budget": ["0.25"], "repetition": ["1"]}}
    said = describe(config_module.load(path), Options(results=tmp_path / "results", **options))
    assert said.startswith("small: 1 run, 0 finished, 2 to do\n")
    code, err = run_sweep(path, **options)
    assert (code, err.splitlines()[-1]) == (0, "2/2 runs, _ s")
    assert [row["label"] for row in rows(folder)] == ["forgetron(self_tuned)", "perceptron"]
    before = parts(folder)
    assert run_sweep(path)[1].startswith("small: 14 runs to do, 2 finished")
    assert parts(folder).items() >= before.items()


def test_datasets_that_only_leaves_out_are_not_looked_at_and_keep_their_runs(tmp_path, run_sweep, monkeypatch, folder):
    looked_at = []
    monkeypatch.setattr("budgetrun.data.files.find", lambda file, _: looked_at.append(file.file))
    monkeypatch.setattr("budgetrun.data.files._download", lambda card, file: looked_at.append(file.file))
    own = tmp_path / "own.csv"
    own.write_text("".join(f"{i % 2},{i % 7}\n" for i in range(40)))
    datasets = [{"name": "usps"}, {"name": "noisy_gaussians", "options": {"n_per_class": 20}}, {"name": "own"}]
    datasets[2] |= {"path": str(own), "order": "permuted"}
    path = config(tmp_path, datasets=datasets)
    assert run_sweep(path, only={"dataset": ["own"]})[0] == 0
    assert run_sweep(path, only={"dataset": ["noisy_gaussians"]})[0] == 0
    assert not looked_at
    assert len(rows(folder)) == 32
    assert set(json.loads((folder / "manifest.json").read_text())["datasets"]) == {"own", "noisy_gaussians"}


def test_a_dry_run_writes_and_downloads_nothing(here, tmp_path, monkeypatch):
    unwanted = raising(AssertionError("a dry run must not download"))
    monkeypatch.setattr("budgetrun.data.files._download", unwanted)
    monkeypatch.setattr("budgetrun.data.files.find", lambda *_: None)
    datasets = [{"name": "usps"}, {"name": "noisy_gaussians", "options": {"n_per_class": 20}}]
    path = config(tmp_path, datasets=datasets)
    lines = untimed(describe(config_module.load(path), Options(results=tmp_path / "results"))).splitlines()
    assert lines[0] == "small: 16 runs, 0 finished, 16 to do"
    assert lines[1].startswith("  noisy_gaussians: 40 rounds x 2 features, 16 runs, 16 to do, about _ s on one core, ")
    assert lines[2].startswith("  usps: its runs are not counted. dataset 'usps': 2 of 2 files are missing")
    assert lines[-1].startswith("  estimate: about _ s with --jobs 1, at most 0.")
    assert os.listdir(tmp_path) == ["small.yaml"]
    monkeypatch.setattr("budgetrun.kernels.compiling.begins", lambda: True)
    estimate = describe(config_module.load(path), Options(results=tmp_path / "results")).splitlines()[-1]
    # For the loops, and four learners.
    assert ", 13 s of it to compile learners, only this time, at most 0." in estimate


# -- failures ----------------------------------------------------------------------------------------------------------


def test_a_learner_that_raises_fails_alone_and_is_repeated_alone(tmp_path, run_sweep, monkeypatch, folder):
    path = config(tmp_path)
    update, calls = RemoveOldest.update, []

    def raising(self, f, y, score):
        calls.append(self.budget)
        if self.budget == 5 and len(calls) > 10:
            raise ValueError("the tenth update\nis one too many")
        update(self, f, y, score)

    with monkeypatch.context() as patched:
        patched.setattr(RemoveOldest, "update", raising)
        (err,) = printed(1, run_sweep(path))
    failed = finished(folder, "failed")
    assert [(row["label"], row["budget"]) for row in failed] == [("remove_oldest", "5")] * 2
    assert failed[0]["error"].startswith("ValueError: the tenth update")
    assert (failed[0]["mistakes"], failed[0]["online_error"]) == ("", "")
    assert len(finished(folder)) == 14
    assert json.loads((folder / "manifest.json").read_text())["failures"] == sorted(row["run_id"] for row in failed)
    assert "failed: noisy_gaussians - repetition 0, remove_oldest B=5 seed 0: ValueError: the tenth update" in err
    again = f"budgetrun sweep {path} --results {tmp_path}/results"
    assert err.splitlines()[-1] == f"2 runs failed; to repeat them: {again}"
    before = {row["run_id"]: row["seconds"] for row in finished(folder)}
    with edited(folder) as manifest:
        manifest["start"] = "earlier"
    assert run_sweep(path)[1].startswith("small: 2 runs to do, 14 finished")
    assert {row["run_id"]: row["seconds"] for row in finished(folder)}.items() > before.items()
    assert len(finished(folder)) == 16
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["start"], manifest["failures"]) == ("earlier", [])


def test_a_failed_setting_fails_those_whose_budget_it_gives_and_no_others(tmp_path, run_sweep, monkeypatch, folder):
    path = config(tmp_path, algorithms=SIZED, repetitions=1)

    def raising(self, f, y, score):
        if self.budget == 5:
            raise ValueError("no")
        f.add(y) if f.size < self.budget else None

    with monkeypatch.context() as patched:
        patched.setattr("budgetrun.learners.rbp.RBP.update", raising)
        (err,) = printed(1, run_sweep(path))
    assert "8/8 runs" in err
    said = "failed: noisy_gaussians - repetition 0, remove_oldest B=0.5 of source (budget=5) seed 0: RuntimeError"
    assert said in err
    failed = finished(folder, "failed")
    whose = [(row["label"], row["budget_fraction"]) for row in failed]
    assert whose == [("remove_oldest", "0.5"), ("remove_oldest", "1.0"), *[("source", "")] * 2]
    why = "RuntimeError: its budget is a fraction of the support size of a source run (budget=5) that failed"
    assert {row["error"] for row in failed[:2]} == {why}


def test_missing_data_are_reported_and_the_others_are_run(tmp_path, run_sweep, no_data):
    path = config(tmp_path, datasets=[{"name": "usps"}, {"name": "noisy_gaussians", "options": {"n_per_class": 20}}])
    for n_todo in (16, 0):
        (err,) = printed(1, run_sweep(path))
        assert err.splitlines()[:5] == [
            "dataset 'usps': 2 of 2 files are missing, and the download failed",
            f"  put usps/zip.train.gz at {tmp_path}/cache/usps/zip.train.gz",
            f"  put usps/zip.test.gz at {tmp_path}/cache/usps/zip.test.gz",
            "  or name a folder that has them with --data or $BUDGETRUN_DATA",
            f"small: {n_todo} runs to do, {16 - n_todo} finished, in {tmp_path}/results/small",
        ]
    assert len(finished(tmp_path / "results" / "small")) == 16


def test_runs_of_other_code_are_repeated_and_do_not_come_back(small, run_sweep, monkeypatch):
    path, folder = small
    old = {row["run_id"] for row in rows(folder)}
    monkeypatch.setattr("budgetrun.runner.identity.JOB_REVISION", 0)
    _, err = run_sweep(path)
    assert err.startswith(f"16 runs in {folder} are of earlier code or data; they are run again\nsmall: 16 runs to do")
    store_module.Store(folder).write_table()
    assert len(rows(folder)) == 16
    assert not old & {row["run_id"] for row in rows(folder)}
    assert run_sweep(path)[1].startswith("small: 0 runs to do, 16 finished")


def test_torn_files_cost_the_torn_runs_alone(small, run_sweep):
    path, folder = small
    table = folder / "runs.csv"
    whole = table.read_bytes()
    part = max((folder / "parts").glob("*.jsonl"), key=lambda p: p.stat().st_size)
    part.write_bytes(part.read_bytes()[:-30])
    assert run_sweep(path)[1].startswith("small: 0 runs to do, 16 finished")
    table.unlink()
    assert run_sweep(path)[1].startswith("small: 1 run to do, 15 finished")
    for one in (folder / "parts").iterdir():
        one.unlink()
    table.write_bytes(whole[:-30])
    raises(InputError, "has only 15 of the 16 runs that the sweep wrote", run_sweep, path)
    # Accepted as it is.
    (folder / "runs.csv.sha256").unlink()
    assert run_sweep(path)[1].startswith("small: 1 run to do, 15 finished")
    assert len(finished(folder)) == 16


def test_results_of_earlier_versions_are_continued(small, run_sweep):
    """Their rows have no test errors, and their configs no keys for test sets."""
    path, folder = small
    before = rows(folder)
    later = ("test_error", "last_test_error")
    (folder / "runs.csv").write_text(csv_text(before, [column for column in before[0] if column not in later]))
    for part in (folder / "parts").glob("*.jsonl"):
        lines = [json.loads(line.partition(" ")[2]) for line in part.read_text().splitlines()]
        if len(lines) > 2:
            part.unlink()
            continue
        texts = [json.dumps({k: v for k, v in row.items() if k not in later}) for row in lines]
        part.write_text("".join(f"{zlib.crc32(text.encode()):08x} {text}\n" for text in texts))
    with edited(folder) as manifest:
        for dataset in manifest["config"]["datasets"]:
            del dataset["test"], dataset["test_path"]
    (folder / "runs.csv.sha256").unlink()
    assert run_sweep(path)[1].startswith("small: 0 runs to do, 16 finished")
    assert rows(folder) == before
    assert [before[0][column] for column in later] == ["", ""]


def test_memory_makes_smaller_jobs(tmp_path):
    cks = [{"name": "cks", "budget": [100, 500]}]
    path = config(tmp_path, datasets=[{"name": "usps", "task": "equal_splits"}], algorithms=cks)
    loaded = config_module.load(path)
    tasks = [str(i) for i in range(126)]
    runs = [Run(f"{t}{i}", spec, "usps", t, 0) for t in tasks for i, spec in enumerate(loaded.expand())]
    plan = Plan(runs, {"usps": StreamInfo(9298, 256, None, tasks, "")})
    sizes = []
    for memory in (8e9, 1e9):
        jobs = jobs_within_memory(loaded, plan, runs, Options(results=tmp_path, jobs=2, memory=memory))
        assert [run for job in jobs for run in job.runs] == runs
        sizes.append(max(len(job.runs) for job in jobs))
    assert sizes[1] < 0.7 * sizes[0]


def test_a_full_disk_is_reported_in_one_sentence(tmp_path, run_sweep, monkeypatch):
    real = os.replace
    path = config(tmp_path)

    def full(path, target):
        if target.suffix == ".jsonl":
            raise FULL
        real(path, target)

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", full)
        said = message(run_sweep, path)
    why = "results cannot be written any more (No space left on device); finished runs are kept"
    assert said == f"{tmp_path}/results/small: {why}; make sure that it can be written, then repeat the command"
    assert run_sweep(path)[0] == 0


# -- interrupts, kills and two sweeps ----------------------------------------------------------------------------------


def resumed(run_sweep, path, folder):
    """Sweep again to the end, and check that finished runs were kept."""
    before, seconds = parts(folder), {row["run_id"]: row["seconds"] for row in finished(folder)}
    (err,) = printed(0, run_sweep(path))
    assert f"{12 - len(seconds)} runs to do, {len(seconds)} finished" in err
    assert len(finished(folder)) == 12
    assert parts(folder).items() >= before.items()
    assert {row["run_id"]: row["seconds"] for row in finished(folder)}.items() >= seconds.items()


@pytest.mark.parametrize(
    "how", ["everyone, twice", "one process", *(["interrupt", "interrupt twice", "terminate"] if EXHAUSTIVE else [])]
)
def test_an_interrupted_sweep_leaves_everything_in_order(tmp_path, run_sweep, how):
    path, folder = slow_config(tmp_path), tmp_path / "results" / "slow"
    process = begun(tmp_path, path, folder, 1 if how == "one process" else 2)
    running = workers(process)
    if how.startswith("everyone"):
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGTERM if how == "terminate" else signal.SIGINT)
    if how.endswith("twice"):
        process.send_signal(signal.SIGINT)
    _, err = printed(130, ended(process))
    kept = "interrupted; every finished run is kept in results/slow; to run the remaining ones: "
    assert err.splitlines()[-1] == f"{kept}budgetrun sweep {path}"
    assert not any(word in err for word in ("Traceback", "Warning"))
    assert not psutil.wait_procs(running, timeout=60)[1]
    assert sum(map(len, [finished(folder)])) in range(2, 12)
    assert sorted(p.suffix for p in (folder / "parts").iterdir()) == [".jsonl"] * len(parts(folder))
    if how == "one process":
        resumed(run_sweep, path, folder)


@pytest.mark.parametrize(("backend", "words"), [("local", "budgetrun.runner.job"), ("loky", "popen_loky_posix")])
def test_a_killed_worker_costs_no_run(tmp_path, backend, words):
    path, folder = slow_config(tmp_path), tmp_path / "results" / "slow"
    process = begun(tmp_path, path, folder, 2, "--backend", backend)
    before = parts(folder)
    # One of them is in the middle of a run.
    for worker in workers(process, words):
        worker.kill()
    _, err = printed(0, ended(process))
    assert "a worker process died (killed, or out of memory); the jobs that were running are retried" in err
    assert "Traceback" not in err
    assert len(finished(folder)) == 12
    assert parts(folder).items() >= before.items()


def test_a_worker_that_loads_edited_code_gives_no_rows(tmp_path, run_sweep):
    """A file is edited during a sweep, and a worker that starts later imports it; a learner only imports that file."""
    data = [{"name": "noisy_gaussians", "noise": 0.2, "options": {"n_per_class": 1000}}]
    avp = [{"name": "avp", "epsilon": 0.75, "U": 2.0}]
    path = config(tmp_path, "edited", datasets=data, repetitions=10, algorithms=avp)
    folder = tmp_path / "results" / "edited"
    assert run_sweep(path, jobs=1)[0] == 0
    right = {row["run_id"]: row["mistakes"] for row in rows(folder)}
    shutil.rmtree(folder)
    copy, command = copied_package(tmp_path)
    process = begun(tmp_path, path, folder, command=command)
    steps = copy / "learners" / "steps.py"
    steps.write_text(steps.read_text().replace("f.scale(radius /", "f.scale(0.5 * radius /"))
    workers(process)[0].kill()
    code, _, err = ended(process)
    assert code == 1, err
    assert {row["run_id"]: row["mistakes"] for row in finished(folder)}.items() < right.items()
    failed = {row["error"] for row in finished(folder, "failed")}
    assert failed == {"RuntimeError: the code has changed since the sweep began; start the sweep again"}


def test_a_killed_sweep_is_continued(tmp_path, run_sweep, capsys, monkeypatch):
    path, folder = slow_config(tmp_path), tmp_path / "results" / "slow"
    process = begun(tmp_path, path, folder)
    running = workers(process)
    process.kill()
    ended(process)
    assert not psutil.wait_procs(running, timeout=60)[1]
    n_done = 2 * len(parts(folder))
    assert 2 <= n_done < 12
    monkeypatch.chdir(tmp_path)
    said = f"results/slow: {n_done} of 12 runs finished; to complete it: budgetrun sweep {path}\n"
    assert run(capsys, "status", "results/slow") == (0, said, "")
    # A report of what there is says what is missing.
    _, said = printed(1, run(capsys, "report", "results/slow"))
    assert f"{n_done} of 12" in said
    assert len(rows(folder)) == n_done
    resumed(run_sweep, path, folder)


def test_a_finished_table_takes_no_parts_of_earlier_code(small, capsys):
    _, folder = small
    before = rows(folder)
    store_module.Store(folder).save("earlier", [row | {"run_id": f"{i:016x}"} for i, row in enumerate(before)])
    assert run(capsys, "report", folder)[0] == 0
    assert rows(folder) == before


def test_two_sweeps_in_one_folder(tmp_path, small):
    path, folder = small
    both = [start(tmp_path, "sweep", path, "--jobs", 1, "--results", "again") for _ in range(2)]
    for process in both:
        printed(0, ended(process))
    assert outcomes(tmp_path / "again" / "small") == outcomes(folder)


def test_only_the_job_that_kills_its_worker_fails(tmp_path, run_sweep, monkeypatch, folder):
    """Two jobs are running when one of them kills its worker, twice; the outcome of a third is never received.

    The runs of the job to blame are then tried one by one.
    """
    path = config(tmp_path, repetitions=4, algorithms=[{"name": "rbp", "budget": 10, "seeds": 2}])
    real, tried = Workers.outcomes, []

    def outcomes_until_death(self, jobs, settings, *partly):
        tried.append([job.repetition for job in jobs])
        fatal = [job for job in jobs if job.repetition == 1]
        if not fatal:
            yield from real(self, jobs, settings, *partly)
            return
        list(real(self, [job for job in jobs if job.repetition == 0], settings))
        for job in jobs:
            if job.repetition in (1, 2):
                (settings.folder / "parts" / f"{job.job_id}.running").touch()
        raise BrokenProcessPool

    with monkeypatch.context() as patched:
        patched.setattr(Workers, "outcomes", outcomes_until_death)
        (err,) = printed(1, run_sweep(path, jobs=1))
    assert sorted(tried[0]) == [0, 1, 2, 3]
    assert tried[1:] == [[3], [1], [2], [1], [1]]
    failed = finished(folder, "failed")
    assert [row["repetition"] for row in failed] == ["1", "1"]
    assert failed[0]["error"] == "RuntimeError: its worker process died twice (killed, or out of memory)"
    assert "8/8 runs" in err
    assert run_sweep(path)[0] == 0
    assert len(finished(folder)) == 8


# -- progress ----------------------------------------------------------------------------------------------------------


def test_the_table_is_not_rewritten_after_every_job(tmp_path, run_sweep, monkeypatch):
    """Otherwise the time of a sweep grows with the square of its jobs."""
    real, written_at = store_module.Store.write_table, []

    def slow(self):
        written_at.append(len(parts(self.folder)))
        time.sleep(0.02)
        real(self)

    monkeypatch.setattr(store_module.Store, "write_table", slow)
    assert run_sweep(config(tmp_path, repetitions=30, algorithms=[{"name": "perceptron"}]), jobs=1)[0] == 0
    assert (written_at[0], written_at[-1]) == (1, 30)
    assert len(written_at) < 6
    assert len(finished(tmp_path / "results" / "small")) == 30


# Runs, estimated seconds and workers; how often what is told after so many seconds; the last line.
TOLD = {
    # Tiny jobs take much longer than estimated, because most of their time is spent between them.
    "tiny jobs": ((1000, 1.0, 2), 100, 0.5, (1, 0.001, 0.004, "d"), "82/1,000 runs, 41 s, about 7 min left (d)"),
    # Eight jobs of a hundred run at once, each as long as estimated: when the first ends, 92 remain.
    "jobs at once": ((100, 6000.0, 8), 1, 60, (1, 60.0, 60.0, "d"), "1/100 runs, 60 s, about 12 min left (d)"),
    # One job was estimated at 4 s; after 21 s it has done a quarter.
    # Five minutes, most of them to compile, and hardly begun: not 11 days.
    "a beginning": ((10, 40.0, 1), 1, 300, (0.01, 1), "0/10 runs, 5 min, about 4 h 06 min left (1 job running)"),
    "a running job": ((10, 4.0, 2), 1, 21, (1.0, 1), "0/10 runs, 21 s, about 51 s left (1 job running)"),
}


@pytest.mark.parametrize("what", TOLD)
def test_the_time_left(what, capsys, monkeypatch):
    given, n, seconds, told, line = TOLD[what]
    clock = [100.0]
    monkeypatch.setattr("budgetrun.runner.progress.time.monotonic", lambda: clock[0])
    progress = Progress(*given)
    for _ in range(n):
        clock[0] += seconds
        (progress.partly if len(told) == 2 else progress.advance)(*told)
    progress.close()
    assert capsys.readouterr().err.splitlines()[-1] == line


def test_jobs_tell_how_much_they_have_done(tmp_path, run_sweep, monkeypatch):
    told = []
    monkeypatch.setattr(Progress, "partly", lambda self, estimated, running: told.append((estimated, running)))
    monkeypatch.setattr("budgetrun.runner.job._TOLD_SECONDS", 0.0)
    assert run_sweep(config(tmp_path, algorithms=[{"name": "perceptron"}]), jobs=1)[0] == 0
    assert told
    assert all(estimated >= 0 and running == 1 for estimated, running in told)


def test_a_bar_on_a_terminal_counts_finished_runs(tmp_path):
    master, slave = pty.openpty()
    process = start(tmp_path, "sweep", config(tmp_path), "--jobs", 1, stderr=slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            shown += os.read(master, 4096)
        except OSError:
            break
    os.close(master)
    process.communicate(timeout=120)
    assert process.returncode == 0
    bars = [piece for piece in shown.decode().replace("\r", "\n").split("\n") if "%|" in piece]
    assert bars[0].startswith("  0%|")
    assert "0/16 runs [00:00, about _ s left]" in untimed(bars[0])
    assert bars[-1].startswith("100%|")
    assert "16/16 runs" in bars[-1]
    counts = [int(bar.split("|")[-1].split("/")[0]) for bar in bars]
    assert counts == sorted(counts)


# -- dask --------------------------------------------------------------------------------------------------------------


def test_a_missing_dask_scheduler_is_reported(tmp_path):
    pytest.importorskip("distributed", reason="dask is not installed")
    address = ("--backend", "dask", "--scheduler", "tcp://127.0.0.1:9")
    impatient = f"from budgetrun.runner import cluster; cluster.DASK_TIMEOUT = '0.2s'; {COMMAND}"
    _, err = printed(2, ended(start(tmp_path, "sweep", config(tmp_path), *address, command=impatient)))
    assert err.startswith("--scheduler tcp://127.0.0.1:9: no dask scheduler answers")
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "results").exists()


# -- values of each dataset, numbers of each length, and a job for each run --------------------------------------------


VARIED = {
    "datasets": [{"name": "noisy_gaussians", "label": label, "options": {"n_per_class": n}} for label, n in (("short",
     50), ("long", 200))],
    "algorithms": [{"name": "rbp", "budget": {"by_dataset": {"short": 5, "long": [10, 20]}}, "seeds": "by_repetition"},
     {"name": "bogd++", "budget": 10, "step": ["1 / sqrt(T)", "10 / sqrt(T)"]}],
}  # fmt: skip


def test_a_run_of_its_own_has_the_same_outcome(tmp_path, run_sweep):
    together, alone = (config(tmp_path, name=name, **VARIED, alone=name == "alone") for name in ("together", "alone"))
    run_sweep(together)
    _, err = run_sweep(alone, jobs=None)
    assert err.splitlines()[0].endswith(", one at a time, so that run times can be compared (--jobs N runs N at once)")
    folders = [tmp_path / "results" / name for name in ("together", "alone")]
    assert outcomes(folders[0]) == outcomes(folders[1])
    assert [len(parts(folder)) for folder in folders] == [4, 14]
    # Run times measured in both ways must not be mixed.
    raises(InputError, r"another config \(it differs in: alone\)", run_sweep, config(tmp_path, name="alone", **VARIED))


def test_numbers_to_choose_by_are_in_the_manifest(tmp_path, run_sweep, folder):
    (tmp_path / "printed.csv").write_text("dataset,label,support_size\nnoisy_gaussians,rbp,9\n")
    choose = {"by": "printed", "quantity": "support_size", "expected": "printed.csv"}
    tables = [{"name": "one", "choose": choose}, {"name": "two"}]
    run_sweep(config(tmp_path, repetitions=1, report={"tables": tables}))
    manifest = json.loads((folder / "manifest.json").read_text())
    assert {name: [row["value"] for row in rows] for name, rows in manifest["choose_expected"].items()} == {"one": [9]}
