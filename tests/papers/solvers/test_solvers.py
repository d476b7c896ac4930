"""Requirements on every solver."""

import math
import subprocess
import sys
from types import SimpleNamespace

import faults
import numpy as np
import pytest
import scipy.sparse as sp
from papers.solvers.conftest import blobs, grid

from budgetrun.config import kinds
from budgetrun.config.problems import ValueType
from budgetrun.data.streams import StreamInfo
from budgetrun.kernels import Gaussian, Linear
from budgetrun.papers.solvers import find, parameters, registry
from budgetrun.papers.solvers.base import Clock, checkpoints, objective, too_long
from budgetrun.papers.solvers.dcd import DualCoordinateDescent as DCD
from budgetrun.papers.solvers.mpu import MarginPerceptronWithUnlearning as MPU
from budgetrun.papers.solvers.pegasos import Pegasos
from budgetrun.papers.solvers.svm_perf import _Planes, _simplex_maximum, _within

# How far above the minimum each ends with an accuracy of 1e-3, relatively.
EXPECTED = {"dcd": 2e-3, "mpu": 1e-3, "svm_perf": 1e-3, "pegasos": 5e-2}
# Steps of Pegasos are as many as the accuracy asks for, whatever the data.
FEW = {"pegasos": {"accuracy": 0.01}}


def test_all_are_known():
    assert set(registry()) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_minimum_is_reached(name, problem):
    X, y = problem
    best = MPU(accuracy=1e-8, C=0.5).solve(X, y, Linear())
    told = []
    found = find(name)(C=0.5, accuracy=1e-3).solve(X, y, Linear(), told.append)
    assert found.converged
    assert found.note == ""
    assert best.lower_bound <= found.objective <= best.objective * (1 + EXPECTED[name])
    losses = np.maximum(1 - y * (X @ found.weights), 0)
    assert found.objective == pytest.approx(found.weights @ found.weights / 2 + 0.5 * losses.sum(), rel=1e-12)
    assert told[-1].objective == pytest.approx(found.objective, rel=1e-9)
    assert (told[-1].steps, told[-1].epochs) == (found.steps, found.epochs)
    assert found.seconds >= 0
    assert name == "mpu" or found.unlearning_steps == 0
    assert found.bias == 0
    assert found.compile_seconds == 0 or name in ("mpu", "pegasos")
    assert found.margin is None
    if not math.isnan(found.lower_bound):
        assert found.lower_bound <= best.objective
        assert found.gap == pytest.approx(found.objective / found.lower_bound - 1, abs=1e-15)
        assert all(p.objective / best.objective - 1 <= p.gap + 1e-9 for p in told)
    else:
        assert math.isnan(found.gap)


@pytest.mark.parametrize("name", EXPECTED)
def test_dense_and_sparse_agree(name):
    X, y = grid()
    wide = sp.csr_array(X)
    # What users bring: 64-bit indices.
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    solver = find(name)(**FEW.get(name, {}))
    found = [solver.solve(form, y, Linear()) for form in (X, wide, X.astype(np.float32), X.astype(np.int8))]
    for other in found[1:]:
        assert other.objective == pytest.approx(found[0].objective, rel=1e-6)


@pytest.mark.parametrize("name", EXPECTED)
def test_inputs_are_left_alone_and_seeds_repeat(name, problem):
    X, y = problem
    arrays = [y] + ([X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr])
    before = [a.copy() for a in arrays]
    for a in arrays:
        a.setflags(write=False)
    # Watching changes nothing either.
    watches = None, lambda progress: None
    first, second = (find(name)(**FEW.get(name, {})).solve(X, y, Linear(), watch) for watch in watches)
    assert first.weights.tolist() == second.weights.tolist()
    assert first.steps == second.steps
    assert all((a == b).all() for a, b in zip(arrays, before, strict=True))
    flipped = find(name)(**FEW.get(name, {})).solve(X, -y, Linear())
    assert flipped.objective == pytest.approx(first.objective, rel=3e-3)


@pytest.mark.parametrize("name", EXPECTED)
def test_parameters_have_words(name):
    for parameter in parameters(find(name)).values():
        assert ValueType(parameter.annotation).wanted
        assert parameter.default is not parameter.empty
    assert {"C", "accuracy"} <= set(parameters(find(name)))
    assert ("seed" in parameters(find(name))) == find(name).draws


BAD = {
    "labels must be -1 or +1, got 2": ([[1.0], [2.0]], [1, 2]),
    "{name} needs examples of both classes, but all are +1": ([[1.0], [2.0]], [1, 1]),
    "{name} needs examples of both classes, but there are no examples": (np.empty((0, 2)), []),
    "{name} has nothing to learn from: every example is a row of zeros": ([[0.0], [0.0]], [1, -1]),
    "the examples must be finite numbers, but a nan or an infinity is among them": ([[1.0], [math.nan]], [1, -1]),
    "the largest value of the examples is 1e+200, and a sum of squares of such numbers is beyond float64: scale the "
    "examples": ([[1e200], [-1.0]], [1, -1]),
    "the largest value of the examples is 1e-200, and a sum of squares of such numbers is beyond float64: scale the "
    "examples": ([[1e-200], [0.0]], [1, -1]),
    "the labels must be one for each example, got (3,) for examples of (2, 1)": ([[1.0], [2.0]], [1, -1, 1]),
}


@pytest.mark.parametrize("message", BAD)
@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_bad_data_are_refused(name, message, form):
    X, y = BAD[message]
    assert faults.message(find(name)().solve, form(np.asarray(X)), np.array(y), Linear()) == message.format(name=name)


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - {"mpu"}))
def test_kernels_it_does_not_know_are_refused(name):
    X, y = blobs()
    error = faults.message(find(name)().solve, X, y, Gaussian(gamma=1.0))
    assert error == f"{name} supports only the kernel linear, got gaussian"


def test_numba_waits_until_it_is_needed():
    code = "import sys, budgetrun, budgetrun.papers.solvers as s; s.registry(); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_memory_has_room_for_both_sets_and_a_copy_with_their_labels():
    spec, info = SimpleNamespace(kernel=Linear()), StreamInfo(10, 1, None, ["-"], "", n_test=1000)
    assert kinds.find("solver").memory(spec, info) >= 2 * 1010 * (8 + 8)


def test_dcd_lowers_its_tolerance_to_a_target():
    X, y = blobs()
    best = MPU(accuracy=1e-7).solve(X, y, Linear()).objective
    loose = DCD(tolerance=1.0).solve(X, y, Linear())
    found = DCD(target=best * (1 + 1e-6)).solve(X, y, Linear())
    assert found.converged
    assert found.objective <= best * (1 + 1e-6) < loose.objective
    assert found.epochs > loose.epochs
    out_of_reach = DCD(target=best / 2, max_iterations=500).solve(X, y, Linear())
    assert (out_of_reach.converged, out_of_reach.note) == (False, "stopped at its limit of 500 passes")


def test_dcd_does_not_stop_because_a_lower_tolerance_made_no_more_passes(monkeypatch):
    X, y = blobs()
    runs = iter([(5, 0.1), (5, 0.05), (7, 0.025), (9, 0.0125)])

    def run(self, X, y, tolerance, limit):
        passes, wanted = next(runs)
        assert tolerance == pytest.approx(wanted)
        return np.full(X.shape[1], 0.1), passes, 0.0

    monkeypatch.setattr(DCD, "_run", run)
    found = DCD().solve(X, y, Linear())
    assert (found.epochs, found.converged) == (7, True)


@pytest.mark.parametrize("at_once", [1, 4096])
@pytest.mark.parametrize("length", [1, 20, 1e5])
@pytest.mark.parametrize("form", ["dense", "sparse", "binary"])
def test_pegasos_is_its_definition(form, length, at_once, monkeypatch):
    """Long examples are projected; with very long ones the product of all factors would underflow."""
    monkeypatch.setattr("budgetrun.papers.solvers.pegasos._AT_ONCE", at_once)
    X, y = blobs(T=40, d=3)
    if form == "binary":
        X = (X > 0).astype(float)
    X = X * length
    k, C, steps = 4, 2.0, 400 if length == 1e5 else 60
    rate = 1 / (C * len(y))
    rng = np.random.default_rng(5)
    w = np.zeros(X.shape[1])
    drawn = []
    for point in checkpoints(steps):
        while len(drawn) < point:
            drawn += list(rng.integers(len(y), size=(min(point - len(drawn), at_once), k), dtype=np.uint32))
    for end, batch in enumerate(drawn, 1):
        wrong = batch[y[batch] * (X[batch] @ w) < 1]
        w = (1 - 1 / end) * w + (y[wrong, None] * X[wrong]).sum(axis=0) / (rate * end * k)
        w *= min(1, 1 / math.sqrt(rate) / max(np.linalg.norm(w), 1e-300))
    examples = X if form == "dense" else sp.csr_array(X)
    found = Pegasos(C=C, k=k, iterations=steps, seed=5).solve(examples, y, Linear())
    assert found.steps == steps
    assert found.weights == pytest.approx(w, rel=1e-9)


def test_traces_have_three_points_per_octave():
    assert checkpoints(1) == [1]
    assert checkpoints(21) == [1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 21]
    X, y = blobs()
    for name, given in [("dcd", {"tolerance": 1e-5}), ("pegasos", {"iterations": 21})]:
        told = []
        found = find(name)(**given).solve(X, y, Linear(), told.append)
        wanted = checkpoints(found.epochs if name == "dcd" else 21)
        assert len(wanted) > 5
        assert [p.epochs if name == "dcd" else p.steps for p in told] == wanted
        # The k examples of a step of Pegasos; 300 are a pass.
        passes = wanted if name == "dcd" else [n * 30 // 300 for n in wanted]
        assert [p.epochs for p in told] == passes
        assert all(p.steps == p.epochs * 300 for p in told if name == "dcd")


DEFAULTS = {
    # Section 5 of the paper on MPU; the rest is what docs/solvers.md and the class say.
    "mpu": {"delta": 1e-5, "delta_b": 3.0, "c_bar": 1.01, "first_level": 3, "second_level": 10}
    | {"hard_margin": False, "rho": None, "max_epochs": 1000, "seed": 0},
    "pegasos": {"k": 30, "target": None, "iterations": None, "seed": 0},
    "dcd": {"tolerance": None, "target": None, "max_iterations": 10_000, "seed": 0},
    "svm_perf": {"max_planes": 5000},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_defaults(name):
    """Configs leave most of these out."""
    assert vars(find(name)()) == DEFAULTS[name] | {"C": 1.0, "accuracy": 1e-4}


def test_pegasos_stops_at_its_target_or_says_that_it_did_not():
    X, y = blobs()
    best = MPU(accuracy=1e-7).solve(X, y, Linear()).objective
    found = Pegasos(target=1.01 * best).solve(X, y, Linear())
    assert found.converged
    assert found.objective <= 1.01 * best
    missed = Pegasos(target=best / 2, iterations=50).solve(X, y, Linear())
    assert (missed.converged, missed.steps) == (False, 50)
    assert missed.note == f"stopped at its limit of 50 steps, above {best / 2:g}"


def test_pegasos_says_that_it_took_fewer_steps_than_its_accuracy_asks_for():
    X, y = blobs()
    found = Pegasos(accuracy=1e-2, iterations=1000).solve(X, y, Linear())
    assert (found.converged, found.steps) == (False, 1000)
    assert found.note == "stopped at its limit of 1,000 steps, of the 3,000 that its accuracy asks for"
    enough = Pegasos(accuracy=1e-2, iterations=10_000).solve(X, y, Linear())
    assert (enough.converged, enough.note, enough.steps) == (True, "", 3000)


@pytest.mark.parametrize(("name", "given", "stopped"), [
    ("mpu", {"max_epochs": 3}, "stopped at its limit of 3 epochs"),
    ("dcd", {"max_iterations": 5}, "stopped at its limit of 5 passes"),
    ("svm_perf", {"max_planes": 2}, "stopped at its limit of 2 planes"),
    ("pegasos", {"iterations": 9}, "stopped at its limit of 9 steps, of the 300,000 that its accuracy asks for"),
    ("pegasos", {"accuracy": 0.1}, "took the 300 steps that its accuracy asks for"),
])  # fmt: skip
def test_long_examples_are_told(name, given, stopped):
    X, y = blobs()
    X *= 1000 / np.sqrt((X**2).sum(axis=1).max())
    found = find(name)(**given).solve(X, y, Linear())
    assert not found.converged
    assert math.isfinite(found.objective)
    assert found.note == (
        f"{stopped}; examples of norms up to 1e+03 are too long for C = 1: scale them (in a config, give the dataset "
        "scale: minmax or scale: unit_norm), or take a smaller C"
    )
    assert "too long" not in find(name)(C=1e-7, **given).solve(X, y, Linear()).note


@pytest.mark.parametrize("size", [1.0, 1e-14])
@pytest.mark.parametrize("rank", [2, 6, 40])
def test_program_over_planes_is_solved(rank, size):
    rng = np.random.default_rng(rank)
    for n in (2, 5, 20):
        G = rng.normal(size=(n, rank)) * rng.choice([1, 100], n)[:, None]
        G[-1] = G[0]  # planes that depend on each other
        H, b = G @ G.T * size, rng.random(n) * 100 * size
        start = np.zeros(n)
        start[0] = 3.0
        x = _simplex_maximum(H, b, 3.0, start)
        assert (x >= 0).all()
        assert x.sum() == pytest.approx(3)
        # Its conditions: equal gradients where x > 0, none larger anywhere.
        gradient = b - H @ x
        scale = abs(b).max() + abs(H).max()
        assert gradient[x > 1e-9].min() == pytest.approx(gradient.max(), abs=1e-7 * scale)


def test_program_over_some_planes_never_gets_worse():
    for seed in range(400):
        rng = np.random.default_rng(seed)
        n, rank = int(rng.integers(3, 15)), int(rng.integers(2, 10))
        G = rng.normal(size=(n, rank))
        H, b = G @ G.T, rng.random(n) * rng.choice([1, 10])
        H, b = H / H.diagonal().max(), b / 10
        x = rng.dirichlet(np.ones(n))
        found, _ = _within(H, b, x, x > 0)
        assert found.sum() == pytest.approx(1)
        assert b @ found - found @ H @ found / 2 >= b @ x - x @ H @ x / 2 - 1e-12


def test_idle_planes_are_dropped():
    planes = _Planes(d=1, C=1.0)
    for offset in range(1, 101):
        # Each is above all before it.
        planes.add(np.ones(1), offset)
        weights, value = planes.minimum()
        assert weights == pytest.approx(1.0)
        assert value == pytest.approx(offset - 0.5)
    # The plane 0, the last one, and those out of use for at most 50 rounds, which the next one drops.
    assert planes.found == 100
    assert planes.offsets.tolist() == [0, *range(50, 101)]
    assert planes.idle.tolist()[1:] == [*range(50, -1, -1)]


def test_dcd_compares_relative_changes(monkeypatch):
    X, y = blobs()
    for changed, epochs in [(100.0049, 2), (100.0051, 3)]:
        runs, objectives = iter((1, 2, 3)), iter((100.0, changed, changed))
        monkeypatch.setattr(DCD, "_run", lambda self, *given, runs=runs: (np.zeros(X.shape[1]), next(runs), 0.0))
        monkeypatch.setattr("budgetrun.papers.solvers.base.objective", lambda *given, left=objectives: next(left))
        assert DCD(accuracy=1e-4).solve(X, y, Linear()).epochs == epochs


def test_long_is_told_from_a_thousand_on():
    assert too_long(999.0, 1.0) == too_long(9.99, 100.0) == ""
    assert too_long(1000.0, 1.0).startswith("; examples of norms up to 31.6 are too long for C = 1: ")


def test_objective_loses_no_small_terms():
    X = np.array([[1e8], *[[0.0]] * 1000])
    assert objective(X, np.array([1, *[-1] * 1000]), np.array([1e8]), 1e-9) == 5e15 + 1e-6


def test_a_clock_leaves_out_what_its_blocks_take(monkeypatch):
    times = iter([1.0, 6.0, 8.0, 11.0])
    monkeypatch.setattr("budgetrun.papers.solvers.base.time", SimpleNamespace(process_time=lambda: next(times)))
    clock = Clock()
    with clock:
        assert clock.seconds == 5
    assert clock.seconds == 8


def test_a_solver_whose_passes_grow_with_accuracy_is_expected_to_take_longer():
    info = SimpleNamespace(n_examples=1000, values_per_example=10)
    seconds = kinds.find("solver").seconds

    def of(name, accuracy):
        return seconds(SimpleNamespace(name=name, parameters={"accuracy": accuracy, "iterations": None}), info)

    assert of("pegasos", 1e-5) == pytest.approx(10 * of("pegasos", 1e-4))
    assert of("dcd", 1e-5) == of("dcd", 1e-4)
