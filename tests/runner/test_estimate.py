"""Estimates: they grow with sizes and budgets, and memory is not underestimated."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from cases import EXHAUSTIVE
from sweeping import COMMAND, TOP, config, rows

from budgetrun import config as config_module
from budgetrun.config.schema import KernelSpec
from budgetrun.data import StreamInfo
from budgetrun.engine.pool import Pool
from budgetrun.kernels import Gaussian
from budgetrun.kernels.kinds import KINDS
from budgetrun.learners import find
from budgetrun.runner.estimate import CALLS, VALUE_SECONDS, compile_seconds, job_bytes, job_seconds
from budgetrun.runner.plan import make_plan, sources, with_budgets

DENSE = StreamInfo(20_000, 500, None, ["-"], "")
SPARSE = StreamInfo(20_000, 500, 12.0, ["-"], "", kind="bits")


@pytest.fixture
def of(tmp_path):
    """Return a function that estimates the cost of algorithms on a stream."""

    def cost_of(cost, *algorithms, n_rounds=20_000, d=500, nnz=None, dtype="float64", kernel=None, **info):
        kernel = {"kernel": {"name": "linear"}} if kernel == "linear" else {}
        stream = StreamInfo(n_rounds, d, nnz, ["-"], "", **info)
        runs = make_plan(config_module.load(config(tmp_path, algorithms=[*algorithms], repetitions=1, **kernel))).runs
        return cost(runs, stream, dtype) if cost is job_bytes else cost(runs, stream)

    return cost_of


def runs_of(tmp_path, *algorithms):
    return make_plan(config_module.load(config(tmp_path, algorithms=list(algorithms), repetitions=1))).runs


RBP, PERCEPTRON = {"name": "rbp", "budget": 100, "seeds": 2}, {"name": "perceptron"}
SPARSELY = {"nnz": 12.0, "kind": "bits"}
BOTH = (job_bytes, job_seconds)
# Costs, algorithms and the stream of what costs more, and of what costs less.
MORE = {
    "budget": (BOTH, [RBP | {"budget": 1000}], {}, [RBP], {}),
    "seeds": (BOTH, [RBP | {"seeds": 20}], {}, [RBP], {}),
    "dense": (BOTH, [RBP], {}, [RBP], SPARSELY),
    "pairs": (BOTH, [{"name": "cks", "budget": 2000}], {}, [{"name": "remove_oldest", "budget": 100}], {}),
    "rounds": (BOTH, [RBP], {}, [RBP], {"n_rounds": 10_000}),
    "dense, solvers": (BOTH, [{"name": "mpu"}], {"kernel": "linear"}, [{"name": "mpu"}],
     SPARSELY | {"kernel": "linear"}),
    "float32": (BOTH[:1], [{"name": "cks", "budget": 3000}], {}, [{"name": "cks", "budget": 3000}],
     {"dtype": "float32"}),
    "margin": (BOTH, [{"name": "passive_aggressive"}], {}, [PERCEPTRON], {}),
    "margin, ALMA": (BOTH, [{"name": "alma"}], {}, [PERCEPTRON], {}),
    "projections": (BOTH, [{"name": "projectron", "eta": 0.1}], {}, [{"name": "rbp", "budget": 2000}], {}),
    "test set": (BOTH, [PERCEPTRON], {"n_test": 20_000}, [PERCEPTRON], {}),
    "features": (BOTH, [{"name": "raker", "features": 3000}], {"d": 20}, [{"name": "raker", "features": 50}],
     {"d": 20}),
}  # fmt: skip


@pytest.mark.parametrize("what", MORE)
def test_more_costs_more(of, what):
    costs, algorithms, stream, fewer, shorter = MORE[what]
    for cost in costs:
        assert of(cost, *algorithms, **stream) > of(cost, *fewer, **shorter) > 0


def test_a_gram_matrix_of_a_solver_counts(tmp_path):
    path = config(tmp_path, kernel={"name": "linear"}, repetitions=1, algorithms=[{"name": "mpu"}])
    runs = make_plan(config_module.load(path)).runs
    nonlinear = [replace(run, spec=replace(run.spec, kernel=KernelSpec(name="gaussian"))) for run in runs]
    assert job_bytes(nonlinear, SPARSE) - job_bytes(runs, SPARSE) == 8 * SPARSE.n_examples**2


def test_a_solver_costs_no_more_than_its_limit_allows(of):
    def seconds(**given):
        return of(job_seconds, {"name": "pegasos", **given}, kernel="linear")

    assert seconds(iterations=1000) == pytest.approx(seconds(iterations=2000) / 2)
    assert seconds(iterations=1000) < seconds() == seconds(iterations=10**12)
    assert seconds(accuracy=1e-3) == pytest.approx(seconds() / 10)


@pytest.mark.parametrize("label", ["perceptron", "unbounded"])
def test_mistakes_are_known_once_budgets_are(tmp_path, label):
    fractions = {"name": "forgetron", "budget": {"of": label, "fractions": [0.5]}}
    runs = runs_of(tmp_path, {"name": "perceptron", "label": label}, fractions)
    (first,) = sources(runs)
    few, many = (job_seconds(with_budgets(runs, {first.run_id: p})[1:], DENSE) for p in (500, 5000))
    assert many > 2 * few


@pytest.mark.parametrize("cost", BOTH)
def test_support_sizes_are_guessed(of, cost):
    # An unknown support size is taken to be about the Perceptron's mistakes; for memory, more.
    budgets = 2400, {"of": "perceptron"}, 6002
    low, guessed, high = (of(cost, PERCEPTRON, {"name": "rbp", "budget": budget}) for budget in budgets)
    assert low < guessed < high


def test_learners_that_are_interpreted_cost_what_they_declare(of):
    for name, calls in (("raker", 30), ("adaraker", 90), ("oks", 30), ("ioks", 50)):
        assert of(job_seconds, {"name": name}, d=20) > 20_000 * calls / CALLS > 0.05
    # It holds the examples of all rounds.
    more = of(job_bytes, {"name": "oks"}, d=20) - of(job_bytes, {"name": "oks"}, d=20, n_rounds=10_000)
    assert more > 10_000 * 8 * (256 + 20)


def test_a_factor_of_the_kernel_matrix_takes_memory_up_to_a_bound(tmp_path):
    runs = runs_of(tmp_path, {"name": "projectron", "eta": 0.1})
    sizes = [job_bytes(runs, StreamInfo(T, 1, None, ["-"], "")) for T in (10_000, 60_000, 600_000)]
    assert sizes[0] > 8 * 3000**2 / 2
    assert sizes[1] > 8 * 6000**2 / 2
    assert sizes[2] < 8 * sizes[1]
    # The coordinates of the examples of a block.
    form = find("projectron")(eta=0.1).start(Pool(Gaussian(gamma=1.0), np.float64))
    assert form.memory(1000, 256) - form.memory(1000, 0) >= 24 * 1000 * 256


def test_inverses_and_programs_of_others_take_memory(of):
    # The most that AONS-OGS held on streams of this length were 4,300 examples, with two tables of their squares.
    streams = {"n_rounds": 5000, "d": 123}
    alone = of(job_bytes, PERCEPTRON, **streams)
    assert of(job_bytes, PERCEPTRON, {"name": "aons_ogs"}, **streams) - alone > 8 * 1500**2
    assert of(job_bytes, PERCEPTRON, {"name": "vowpal_wabbit"}, **streams) - alone >= 100e6


def test_the_learners_under_a_rule_are_compiled(tmp_path, monkeypatch):
    rules = {"algorithms": [{"name": "rbp", "budget": [2, 3]}], "select": [{"rule": "hedge", "of": "rbp"}]}
    runs = make_plan(config_module.load(config(tmp_path, **rules))).runs
    assert any(len(run.played) > 1 for run in runs)
    assert compile_seconds(runs) == 0
    monkeypatch.setattr("budgetrun.kernels.compiling.begins", lambda: True)
    assert compile_seconds(runs) == 7


def test_the_time_of_a_kernel_value_depends_on_how_examples_are_held():
    assert list(VALUE_SECONDS) == [kind.name for kind in KINDS]
    bits, integers, floats, sparse = (once + 512 * per_number for once, per_number in VALUE_SECONDS.values())
    assert bits < integers < floats < sparse < 1e-6


SHAPES = {
    "dense": (300, [{"name": "perceptron"}, {"name": "rbp", "budget": 200, "seeds": 2}]),
    "sparse": (None, [{"name": "perceptron"}, {"name": "remove_oldest", "budget": 200}]),
    "pairs": (20, [{"name": "cks", "budget": [1000, 1500]}]),
}


@pytest.mark.parametrize("shape", SHAPES if EXHAUSTIVE else ["dense"])
def test_a_worker_needs_no_more_memory_than_estimated(tmp_path, shape):
    d, algorithms = SHAPES[shape]
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 8000)
    own = tmp_path / ("own.npz" if d else "own.libsvm")
    if d:
        np.savez(own, X=rng.normal(size=(8000, d)) + y[:, None] * 0.3, y=y)
    else:
        lines = [f"{label} {at}:1 {at + 9}:1\n" for label, at in zip(y, rng.integers(1, 200, 8000), strict=True)]
        own.write_text("".join(lines))
    kernel, data = {"name": "gaussian", "gamma": 1 / (d or 2)}, [{"name": "own", "path": str(own)}]
    path = config(tmp_path, datasets=data, algorithms=algorithms, kernel=kernel, repetitions=1)
    env = {**os.environ, "PYTHONPATH": str(TOP)}
    # A process starts with the peak of the one that forked it: here a shell, not the process of the tests.
    command = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", COMMAND, "sweep", path, "--jobs", "1"]
    subprocess.run(command, cwd=tmp_path, env=env, check=True)
    plan = make_plan(config_module.load(path))
    estimated = job_bytes(plan.runs, plan.infos["own"]) / 1e6
    taken = max(float(row["peak_memory_mb"]) for row in rows(tmp_path / "results" / "small")) * 1.048576
    assert taken < estimated < 4 * taken


def test_reading_a_table_takes_memory_of_its_own(tmp_path):
    runs = runs_of(tmp_path, {"name": "rbp", "budget": 10})
    (tmp_path / "own.csv").write_text("a,y\n" + "0.5,1\n1.5,2\n" * 20)
    np.savez(tmp_path / "own.npz", X=np.array([[0.5], [1.5]] * 20), y=np.array([1, 2] * 20))
    needed = []
    for name in ("own.csv", "own.npz"):
        own = {"name": "own", "path": str(tmp_path / name)} | ({"label_column": "y"} if name == "own.csv" else {})
        info = make_plan(config_module.load(config(tmp_path, datasets=[own], repetitions=1))).infos["own"]
        needed.append(job_bytes(runs, info))
    # Measured for CSV, JSON lines and Parquet: 85 to 120 MB more than for the same numbers in an .npz.
    assert 80e6 < needed[0] - needed[1] < 130e6
