"""Sweeps of solvers: their rows and traces, run one at a time and isolated from one another."""

import contextlib
import io
import json
import shutil

import numpy as np
import pytest
from sweeping import changed_labels, config, labels_by_id, outcomes, parts, printed, rows, swept_folder
from threadpoolctl import threadpool_info

from budgetrun import config as config_module
from budgetrun.base.errors import InputError
from budgetrun.kernels import make
from budgetrun.papers import solvers
from budgetrun.papers.solvers import Progress
from budgetrun.papers.solvers.dcd import DualCoordinateDescent
from budgetrun.results.store.files import COLUMNS
from budgetrun.runner import job
from budgetrun.runner.plan import Options
from budgetrun.runner.status import describe
from budgetrun.runner.sweep import sweep

# The columns that only solvers fill.
FINDINGS = {column.name for column in COLUMNS if column.filled_by == "batch"} | {"lower_bound", "gap"}


def solver_config(folder, name="solved", **changes):
    """Write a config of 2 x 4 runs of solvers, and return its file."""
    given = {
        "datasets": [{"name": "noisy_gaussians", "noise": 0.1, "options": {"n_per_class": 50}}],
        "kernel": {"name": "linear"},
        "algorithms": [{"name": "dcd", "C": [0.5, 1]}, {"name": "mpu", "seeds": 2}],
    }
    return config(folder, name, **given | changes)


@pytest.fixture(scope="module")
def solved_once(tmp_path_factory):
    """A finished sweep of `solver_config`: the folder that holds its config and its results, and its stderr."""
    folder = tmp_path_factory.mktemp("solved")
    with contextlib.redirect_stderr(io.StringIO()) as err:
        swept_folder(solver_config(folder), folder / "results")
    return folder, err.getvalue()


def test_a_job_has_one_blas_thread(tmp_path, monkeypatch):
    found, measured = set(), job.measure

    def watched(*given):
        found.update(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return measured(*given)

    monkeypatch.setattr(job, "measure", watched)
    swept_folder(config(tmp_path, algorithms=[{"name": "perceptron"}]), tmp_path / "results", jobs=1)
    assert found == {1}


@pytest.fixture
def solved(solved_once, tmp_path):
    """A copy of that sweep: its config and its results folder."""
    shutil.copytree(solved_once[0], tmp_path, dirs_exist_ok=True)
    return tmp_path / "solved.yaml", tmp_path / "results" / "solved"


def test_rows_of_solvers(solved_once):
    folder, err = solved_once
    folder = folder / "results" / "solved"
    assert err.splitlines()[0] == f"solved: 8 runs to do, 0 finished, in {folder}"
    found = rows(folder)
    assert [row["label"] for row in found] == [*["dcd"] * 2, *["mpu"] * 2] * 2
    for row in found:
        assert row["status"] == "done"
        assert (row["mistakes"], row["online_error"], row["budget"], row["margin_updates"]) == ("", "", "", "")
        assert row["updates"] == row["steps"]
        assert float(row["objective"]) > 0
        assert float(row["seconds"]) >= 0
        assert int(row["epochs"]) > 0
    mpu = [row for row in found if row["label"] == "mpu"]
    assert [row["seed"] for row in mpu] == ["0", "1"] * 2
    for row in mpu:
        assert 0 < int(row["support_size"]) <= 100
        assert float(row["lower_bound"]) <= float(row["objective"])
        assert float(row["gap"]) == pytest.approx(float(row["objective"]) / float(row["lower_bound"]) - 1, abs=1e-12)
        assert 0 <= float(row["gap"]) <= 1e-4
        assert int(row["unlearning_steps"]) < int(row["steps"])
    dcd = [row for row in found if row["label"] == "dcd"]
    assert all(row["lower_bound"] == row["gap"] == row["support_size"] == "" for row in dcd)
    # Two solvers, one problem.
    assert float(dcd[1]["objective"]) == pytest.approx(float(mpu[0]["objective"]), rel=2e-4)


def test_traces_end_with_the_objective_of_the_row(solved):
    _, folder = solved
    by_id = {row["run_id"]: row for row in rows(folder)}
    files = list((folder / "curves").glob("*.npz"))
    assert len(files) == len(by_id)
    for file in files:
        with np.load(file) as trace:
            (run_id,) = trace["run_id"]
            row = by_id[run_id]
            assert trace["seconds"].shape == trace["objective"].shape == trace["gap"].shape
            assert trace["objective"][0, -1] == pytest.approx(float(row["objective"]), rel=1e-6)
            assert np.isnan(trace["gap"]).all() == (row["label"] == "dcd")


def test_same_sweep_same_outcomes_and_finished_runs_stay(tmp_path, solved, run_sweep):
    path, folder = solved
    before, kept = without_seconds(folder), parts(folder)
    assert len(kept) == 8
    assert run_sweep(path)[1].startswith("solved: 0 runs to do, 8 finished")
    assert parts(folder) == kept
    for name in list(kept)[:3]:
        (folder / "parts" / name).unlink()
    (folder / "runs.csv").unlink()
    assert run_sweep(path)[1].startswith("solved: 3 runs to do, 5 finished")
    assert without_seconds(folder) == before
    assert without_seconds(swept_folder(path, tmp_path / "two", jobs=2)) == before


def without_seconds(folder):
    return [{key: value for key, value in row.items() if key != "compile_seconds"} for row in outcomes(folder)]


def test_one_at_a_time_unless_asked(tmp_path, capsys):
    path = solver_config(tmp_path)
    results = tmp_path / "results"
    loaded = config_module.load(path)
    assert "with --jobs 1," in describe(loaded, Options(results, jobs=None))
    assert "with --jobs 3," in describe(loaded, Options(results, jobs=3))
    sweep(loaded, Options(results, jobs=None, only={"algorithm": ["dcd"]}))
    first = capsys.readouterr().err.splitlines()[0]
    assert first.endswith(", one at a time, so that run times can be compared (--jobs N runs N at once)")
    assert json.loads((results / "solved" / "manifest.json").read_text())["jobs"] == 1
    sweep(config_module.load(config(tmp_path)), Options(results, jobs=None, only={"algorithm": ["perceptron"]}))
    assert "one at a time" not in capsys.readouterr().err


def test_a_solver_that_fails_stands_alone(tmp_path, run_sweep, monkeypatch):
    def fails(self, X, y, kernel, watch=None):
        if self.C == 1:
            watch(Progress(0.1, 3.0, 0.5, 1, 0, 1))
            raise InputError("no")
        raise ZeroDivisionError("never")

    monkeypatch.setattr(DualCoordinateDescent, "solve", fails)
    (err,) = printed(1, run_sweep(solver_config(tmp_path)))
    found = rows(tmp_path / "results" / "solved")
    assert [row["status"] for row in found] == ["failed", "failed", "done", "done"] * 2
    assert [row["error"] for row in found[:2]] == ["ZeroDivisionError: never", "InputError: no"]
    assert all(row[column] == "" for row in found[:2] for column in FINDINGS)
    assert "4 runs failed" in err
    traces = {}
    for file in (tmp_path / "results" / "solved" / "curves").glob("*.npz"):
        with np.load(file) as trace:
            traces[trace["run_id"].item()] = {name: trace[name].tolist() for name in ("seconds", "objective", "gap")}
    assert traces[found[0]["run_id"]] == {"seconds": [[]], "objective": [[]], "gap": [[]]}
    assert traces[found[1]["run_id"]] == {"seconds": [[0.1]], "objective": [[3.0]], "gap": [[0.5]]}


@pytest.mark.parametrize("kernel", [{"name": "linear"}, {"name": "gaussian", "gamma": 4.0}], ids=lambda k: k["name"])
def test_solutions_are_tested_with_their_bias(tmp_path, run_sweep, kernel):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.where(rng.random(200) < 0.8, 1, -1)
    X[:, 0] += 0.5 * y + 3
    Z, z = 2 * rng.normal(size=(300, 2)), rng.choice([-1, 1], 300)
    for name, rows_of_file in (("a", np.column_stack([y, X])), ("b", np.column_stack([z, Z]))):
        np.savetxt(tmp_path / f"{name}.csv", rows_of_file, delimiter=",", fmt="%.17g")
    given = {"name": "own", "path": "a.csv", "test_path": "b.csv", "order": "file"}
    algorithms = [{"name": "mpu", "rho": 2.0}]
    path = solver_config(tmp_path, datasets=[given], kernel=kernel, repetitions=1, algorithms=algorithms)
    assert run_sweep(path)[0] == 0
    (row,) = rows(tmp_path / "results" / "solved")
    solved = solvers.find("mpu")(rho=2.0).solve(X, y, make(**kernel))
    scores = make(**kernel).between(Z, X) @ (solved.dual * y)
    assert float(row["last_test_error"]) == np.mean(z * (scores + solved.bias) <= 0)
    assert float(row["last_test_error"]) != np.mean(z * scores <= 0)
    assert row["test_error"] == ""


def test_run_ids_follow_the_solvers_own_revision(tmp_path, monkeypatch):
    path = solver_config(tmp_path)
    before = labels_by_id(path)
    monkeypatch.setattr(solvers.find("dcd"), "revision", 2)
    assert changed_labels(path, before) == {"dcd"}
