"""The benchmarks: both sides learn the same, and everything is written. No test depends on measured times."""

import csv
import dataclasses
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import yaml
from cases import EXHAUSTIVE, STREAMS, paired
from click.testing import CliRunner
from reference import (
    ahpatron,
    aogd_ald,
    aomd_ogs,
    aons_ogs,
    avm,
    avp,
    bogd,
    bogd_uniform,
    bpa,
    bsgd,
    bsgd_merging,
    dualsgd,
    fogd,
    forgetron,
    mavp_ogs,
    nogd,
    norma,
    ogs,
    oks,
    perceptron,
    pomdr,
    projectron_2024,
    projectron_pp,
    pros_n_kons,
    raker,
    skegd,
    stoptron,
    tighter,
)
from reference.kernel_expansion import gaussian

from budgetrun.base.errors import DataMissingError
from budgetrun.bench import (
    chart,
    check,
    comparisons,
    field,
    growth,
    loops,
    projections,
    records,
    run,
    sizes,
    solver_growth,
    solvers,
    timing,
)
from budgetrun.cli import main
from budgetrun.data import Stream
from budgetrun.kernels import Gaussian
from budgetrun.kernels.kinds import held
from budgetrun.learners.forgetron import SelfTunedForgetron
from budgetrun.learners.perceptron import Perceptron
from budgetrun.learners.projectron_pp import ProjectronPlusPlus

GAMMA = 0.7
COMMITTED = Path(__file__).resolve().parents[2] / "results" / "bench" / "ratios.yaml"
TINY = dataclasses.replace(
    sizes.QUICK,
    rounds=200,
    turns=1,
    growth_rounds=(60, 120, 240),
    growth_budgets=(5, 10),
    growth_features=(2, 4),
    growth_learners=(1, 2),
    growth_etas=(0.8, 0.4),
    perceptron_rounds=120,
    base_rounds=120,
    base_budget=10,
    base_features=4,
    solver_examples=(60, 120),
    solver_deltas=(1e-1, 1e-2),
    solver_base=100,
    solver_steps=3000,
)
FILES = {"bench.md", "bench.csv", "ratios.yaml", "growth.csv", "growth.png", "growth.svg", "solvers.md", "solvers.csv"}
FILES |= {f"solvers_growth.{ending}" for ending in ("csv", "png", "svg")}


def made_stream(spec, seed, repetition, data_dir):
    """Return a small stream in the shape of the real one that is asked for."""
    rng = np.random.default_rng(seed)
    if spec.name == "usps":
        X = rng.random((spec.n_examples, 8))
        return Stream(X, {str(i): np.where(X[:, i] > 0.5, 1, -1).astype(np.int8) for i in range(6)})
    if spec.name == "ijcnn1":
        X = rng.random((spec.n_examples, 12))
        return Stream(X, {"-": np.where(X[:, 0] > 0.5, 1, -1).astype(np.int8)})
    X = sp.csr_array((rng.random((spec.n_examples, 12)) < 0.3).astype(float))
    return Stream(X, {"-": np.where(X.toarray()[:, :6].sum(axis=1) > 1.5, 1, -1).astype(np.int8)})


# Learners of the field, with and without a floor.
FEW = {"avp_ogs", "bsgd_lookup_wd", "fogd", "nogd", "bpa", "avm", "bpa_projecting"}


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(run, "QUICK", TINY)
    monkeypatch.setattr(check, "ROUNDS", 100)
    monkeypatch.setitem(sys.modules, "river", None)
    for name in set() if EXHAUSTIVE else field.CASES.keys() - FEW:
        monkeypatch.delitem(field.CASES, name)
        monkeypatch.delitem(run.COMPARISONS, f"a9a_{name}")
    for module in (comparisons, solvers):
        monkeypatch.setattr(module, "open_stream", made_stream)


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("stream", ["random", "far"])
def test_plain_loops_are_the_papers_algorithms(stream):
    X, y = STREAMS[stream]()
    rounds = np.arange(len(y))
    expected = perceptron.perceptron(X, y, gaussian(GAMMA))
    assert loops.perceptron(X, y, GAMMA) == rounds[expected.mistakes].tolist()
    assert loops.perceptron_by_index(X, y, GAMMA) == rounds[expected.mistakes].tolist()
    for budget in (1, 7, 1000):
        expected = forgetron.self_tuned(X, y, gaussian(GAMMA), budget)
        assert loops.self_tuned_forgetron(X, y, GAMMA, budget) == rounds[expected.mistakes].tolist()
        assert loops.self_tuned_forgetron_by_index(X, y, GAMMA, budget) == rounds[expected.mistakes].tolist()


@pytest.mark.parametrize("stream", ["random", "far"])
@pytest.mark.parametrize("eta", [0.02, 0.5])
def test_plain_projections_are_the_papers(stream, eta):
    X, y = STREAMS[stream]()
    expected = projectron_pp.projectron_pp(X, y, gaussian(GAMMA), eta, threshold="squared_distance")
    mistakes, held = loops.projectron_pp(X, y, GAMMA, eta)
    assert mistakes == np.flatnonzero(expected.mistakes).tolist()
    assert held == list(expected.active[-1])
    assert loops.projectron_pp_by_index(X, y, GAMMA, eta) == mistakes


@pytest.mark.parametrize("stream", ["random", "far"])
@pytest.mark.parametrize("eta", [0.1, 0.5])
def test_plain_projections_of_the_comparison_of_2024(stream, eta):
    X, y = STREAMS[stream]()
    expected = projectron_2024.projectron_2024(X, y, gaussian(GAMMA), eta)
    mistakes, held = loops.always_adding_projectron(X, y, GAMMA, eta)
    assert mistakes == np.flatnonzero(expected.mistakes).tolist()
    assert held == list(expected.active[-1])
    assert loops.always_adding_projectron_by_index(X, y, GAMMA, eta) == mistakes


SKETCH = {"budget": 30, "step": 0.5, "columns": 12, "sampled": 6, "rank": 4, "cycle": 3}
# By name: the reference, and parameters for a short stream.
FIELD = {
    "bpa": (partial(bpa.bpa, nearest=False), {"budget": 9, "C": 0.1}),
    "bsgd": (partial(bsgd.bsgd, projects=False), {"budget": 9, "regulariser": 0.01}),
    "norma": (norma.norma, {"budget": 9, "step": 0.1, "regulariser": 0.1}),
    "bogd": (bogd_uniform.bogd, {"budget": 9, "step": 0.1, "regulariser": 0.1}),
    "dualsgd": (
        lambda X, y, kernel, *, k, **given: dualsgd.dualsgd(X, y, kernel, merged=k, **given),
        {"budget": 9, "k": 4, "features": 6, "regulariser": 0.05},
    ),
    "avm": (avm.avm, {"delta": 0.5, "max_size": 20, "regulariser": 0.05}),
    "stoptron": (stoptron.stoptron, {"budget": 9}),
    "bpa_nearest": (partial(bpa.bpa, nearest=True), {"budget": 9, "C": 0.3}),
    "bpa_projecting": (bpa.projecting, {"budget": 9, "C": 0.3, "ridge": 0.01}),
    "bsgd_lookup_wd": (
        partial(bsgd_merging.binary, partners="same_sign", lookup="wd"),
        {"budget": 9, "regulariser": 0.02},
    ),
    "avp_ogs": (ogs.avp_ogs, {"alpha": 0.3, "epsilon": 0.6, "U": 1.5, "c": 0.5}),
    "mavp_ogs": (mavp_ogs.of_two_classes, {"alpha": 0.05, "epsilon": 0.3, "U": 0.7, "c": 0.4}),
    "aomd_ogs": (aomd_ogs.hinge, {"alpha": 0.05, "U": 2.0, "c": 0.5, "M": 4}),
    "aogd_ald": (aogd_ald.aogd_ald, {"alpha": 0.05, "U": 2.0, "c": 1.0}),
    "aons_ogs": (aons_ogs.aons_ogs, {"alpha": 0.05, "C": 0.4, "mu": 0.2}),
    "fogd": (fogd.fogd, {"features": 20, "step": 0.5}),
    "nogd": (nogd.nogd, {"budget": 20, "step": 0.3, "rank": 5}),
    "raker": (raker.of_classes, {"features": 5, "step": 0.5, "regulariser": 0.01}),
    "skegd": (skegd.skegd, SKETCH),
    "forks": (partial(skegd.skegd, second_order=True), SKETCH | {"alpha": 0.3, "curvature": 0.05}),
    "pros_n_kons": (partial(pros_n_kons.kons, restarts=True), {"g": 2.0}),
    "con_kons": (partial(pros_n_kons.kons, restarts=False), {"g": 2.0}),
    "oks": (oks.oks, {"horizon": 220}),
    "ioks": (oks.ioks, {"horizon": 220, "U": 1.5}),
    "bogd_plus_plus": (bogd.bogd, {"budget": 9, "step": 0.4, "regulariser": 0.05}),
    "pomdr": (pomdr.pomdr, {"budget": 20, "first_budget": 8, "eta": 0.3, "U": 3.0}),
    "avp": (avp.avp, {"epsilon": 0.6, "U": 1.5}),
    "ahpatron": (ahpatron.ahpatron, {"budget": 20, "epsilon": 0.5, "eta": 0.0005}),
    "tighter": (tighter.tighter, {"budget": 9, "beta": 0.1}),
}


@pytest.mark.parametrize(("name", "stream"), paired(field.CASES, ["random", "tied"]))
def test_plain_loops_of_the_field_are_the_references(name, stream):
    reference, given = FIELD[name]
    X, y = STREAMS[stream]()
    trace = reference(X, y, gaussian(GAMMA), **given)
    assert field.CASES[name].loop(X, y, GAMMA, **given) == np.flatnonzero(trace.mistakes).tolist()


@pytest.mark.parametrize("block_size", [16, 64])
def test_engine_projects_on_the_same_rounds(block_size):
    X, (y,) = growth.made_stream(1000, 10, 1)

    def make():
        return ProjectronPlusPlus(eta=0.1, threshold="squared_distance")

    mistakes, held = loops.projectron_pp(X, y, GAMMA, 0.1)
    # The plain loop's room has grown.
    assert len(held) > 64
    assert timing.engine_rounds(Gaussian(gamma=GAMMA), make, X, y, block_size=block_size) == (mistakes, held)


@pytest.mark.parametrize("block_size", [16, 64])
def test_engine_makes_the_same_mistakes(block_size):
    X, Y = growth.made_stream(600, 5, 3)
    kernel = Gaussian(gamma=GAMMA)
    plain = [len(loops.perceptron(X, y, GAMMA)) for y in Y]
    assert timing.engine_mistakes(kernel, Perceptron, X, Y, block_size=block_size) == plain
    assert plain[0] != plain[1]

    def make():
        return SelfTunedForgetron(budget=30)

    assert all(loops.agreed_rounds(X, y, GAMMA, 30) == 600 for y in Y)
    plain = [len(loops.self_tuned_forgetron(X, y, GAMMA, 30)) for y in Y]
    assert timing.engine_mistakes(kernel, make, X, Y, block_size=block_size) == plain


def test_rounding_matters_eventually():
    X, Y = growth.made_stream(8000, 20, 1)
    n_agreed = loops.agreed_rounds(X, Y[0], growth.GAMMA, 30)
    assert 1000 < n_agreed < 8000
    assert loops.agreed_rounds(X[:n_agreed], Y[0, :n_agreed], growth.GAMMA, 30) == n_agreed


def test_different_mistakes_are_an_error():
    timing.check_equal("here", [3, 4], [3, 4])
    with pytest.raises(
        timing.DifferentMistakes, match=r"^here: mistakes of the engine \[3\], of the plain loop \[4\]$"
    ):
        timing.check_equal("here", [3], [4])


def test_different_rounds_are_an_error():
    timing.check_rounds("here", ([3, 4], [4]), ([3, 4], [4]))
    with pytest.raises(
        timing.DifferentMistakes, match=r"^here: mistakes of the engine and of the plain loop differ in round 4$"
    ):
        timing.check_rounds("here", ([3, 4, 8], [3]), ([3, 5, 8], [3]))
    with pytest.raises(
        timing.DifferentMistakes, match="support sets of the engine and of the plain loop differ in round 3"
    ):
        timing.check_rounds("here", ([3, 4], [3, 4]), ([3, 4], [4]))


def test_a_wrong_engine_is_noticed(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(comparisons, "engine_mistakes", lambda _, make, X, Y, **__: [0] * len(Y))
    with pytest.raises(timing.DifferentMistakes):
        run.run_benchmarks(True, None, tmp_path)


def test_a_wrong_projection_is_noticed(tiny, monkeypatch):
    monkeypatch.setattr(projections, "engine_rounds", lambda *_, **__: ([], []))
    with pytest.raises(timing.DifferentMistakes, match=r"^ijcnn1_projectron_pp: mistakes of "):
        projections.ijcnn1_projectron_pp(TINY, None)


def test_everything_is_written(tiny, tmp_path):
    outcome = CliRunner().invoke(main, ["bench", "--quick", "--results", str(tmp_path)])
    assert outcome.exit_code == 0, outcome.output
    folder = tmp_path / "quick"
    assert {path.name for path in folder.iterdir()} == FILES
    rows = rows_of(folder / "bench.csv")
    sklearn = "scikit-learn: Nystroem(200) + SGDClassifier"
    assert [(row["benchmark"], row["side"], row["input"]) for row in rows] == [
        ("usps_perceptrons", "plain loop", "dense"),
        ("usps_perceptrons", "engine", "dense"),
        *(
            (name, *side)
            for name in ("a9a_SelfTunedForgetron", "a9a_Perceptron")
            for side in (("plain loop", "dense"), ("engine", "dense"), ("engine", "csr"), (sklearn, "dense"))
        ),
        *(("ijcnn1_SelfTunedForgetron", side, "dense") for side in ("plain loop", "engine", sklearn)),
        *(
            (name, side, "dense")
            for name in (
                "ijcnn1_projectron_pp",
                "a9a_projectron_pp",
                "a9a_projectron_pp_large",
                "cod_rna_projectron_2024",
            )
            for side in ("plain loop", "engine")
        ),
        *((f"a9a_{name}", *side) for name in field.CASES for side in (("plain loop", "dense"), ("engine", "dense"))),
    ]
    assert all(0 < float(row["error_rate"]) < 1 for row in rows)
    assert all(float(row["seconds"]) > 0 for row in rows)
    floors = [row for row in rows if row["side"] == "engine" and row["input"] == "dense"]
    without = {row["benchmark"] for row in floors if not row["floor_seconds"]}
    assert without >= {"a9a_projectron_pp", "a9a_avp_ogs", "a9a_bsgd_lookup_wd", "a9a_fogd", "a9a_nogd"}
    assert not without & {"usps_perceptrons", "a9a_Perceptron", "a9a_bpa", "a9a_avm", "a9a_bpa_projecting"}
    assert all(float(row["floor_seconds"]) > 0 for row in floors if row["benchmark"] not in without)
    page = (folder / "bench.md").read_text()
    assert "scaled from 2 learners" in page
    assert "with examples stored as bits: " in page
    assert "river: RBFSampler(200) + LogisticRegression: not installed" in page
    assert "- commit: " in page
    assert "- engine revision: " in page
    assert "numpy: " in page
    assert "blas: " in page
    assert "times faster" in outcome.output
    points = rows_of(folder / "growth.csv")
    assert {row["panel"] for row in points} == set(chart.AXES)
    # Three lengths for the Forgetron, two for the Perceptron, two points in each other panel; both sides. And two
    # budgets of three learners that only the engine runs, and two numbers of features with products by BLAS.
    assert len(points) == 2 * (3 + 2 + 2 + 2 + 2 + 2) + 3 * 2 + 2
    assert all((row["support_size"] != "") == (row["panel"] == "support_size") for row in points)


def test_what_needs_missing_data_is_left_out(tiny, tmp_path, monkeypatch):
    def missing(*_):
        raise DataMissingError("put a9a.xz there")

    for module in (comparisons, solvers):
        monkeypatch.setattr(module, "open_stream", missing)
    # Drawing the charts takes most of the time.
    monkeypatch.setattr(chart, "save", lambda figure, *paths: [path.touch() for path in paths])
    outcome = CliRunner().invoke(main, ["bench", "--quick", "--results", str(tmp_path)])
    assert outcome.exit_code == 0, outcome.output
    assert "a9a_forgetron: left out. put a9a.xz there" in outcome.stdout
    folder = tmp_path / "quick"
    assert {path.name for path in folder.iterdir()} == FILES - {"bench.csv", "solvers.csv"}
    assert "usps_perceptrons: left out. put a9a.xz there" in (folder / "bench.md").read_text()
    assert "a9a: left out. put a9a.xz there" in (folder / "solvers.md").read_text()


def test_mpu_and_liblinear_come_to_the_same_objective(tiny):
    missing = []
    races = list(solvers.measure_races(TINY, None, missing))
    assert [race.dataset for race in races] == [spec.label for spec, _ in solvers.DATASETS]
    assert not missing
    for race in races:
        assert race.examples == 200
        assert race.gap <= 1e-4
        assert race.objective / (1 + race.gap) <= race.liblinear_objective <= race.objective
        assert race.ratio == pytest.approx(race.seconds / race.liblinear_seconds)
        assert len(race.cells) == len(solvers.HEADINGS)
    race = dataclasses.replace(races[0], ratio=2.6, goal=2.5)
    assert race.cells[-1] == "2.5: missed"
    assert dataclasses.replace(race, ratio=2.5).cells[-1] == "2.5: met"


def test_a_larger_delta_takes_no_longer():
    points = list(solver_growth.measure_solver_growth(TINY))
    assert {(point.panel, point.solver) for point in points} == {
        (panel, name) for panel in solver_growth.AXES for name in solver_growth.SOLVERS
    }
    own = {point.solver for point in points if point.kind == solver_growth.KNOWN}
    assert own == {"mpu", "svm_perf"}
    lines = {}
    for point in points:
        lines.setdefault((point.panel, point.solver, point.kind), []).append(point)
    for (panel, name, kind), line in lines.items():
        assert [p.x for p in line] == sorted(p.x for p in line)
        if panel == "accuracy" and name != "dcd":
            # Points of one trace; those of LIBLINEAR are runs of their own.
            assert [p.seconds for p in line] == sorted(p.seconds for p in line)
        if kind == solver_growth.KNOWN:
            for known, reached in zip(line, lines[panel, name, solver_growth.REACHED], strict=True):
                # A bound tells no sooner than it is so.
                assert known.seconds >= reached.seconds


def test_slope_is_the_exponent_of_growth():
    line = [growth.Point("rounds", "a", "engine", n, 9, 2, 1, 0, n, 3e-6 * n**1.5) for n in (10, 20, 40, 80)]
    assert chart.slope(line) == pytest.approx(1.5)


def write_ratio(folder, name, ratio):
    (folder / "ratios.yaml").write_text(f'"{name}": {ratio}\n')


def test_a_ratio_may_fall_a_little(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "measured", lambda names: dict.fromkeys(names, 7.1))
    write_ratio(tmp_path, "Perceptron, on bits", 10.0)
    outcome = CliRunner().invoke(main, ["bench", "--check", "--results", str(tmp_path)])
    assert outcome.exit_code == 0, outcome.output
    assert outcome.output == "Perceptron, on bits: 7.1 times faster than the plain loop (committed: 10.0)\n"


def test_a_ratio_that_falls_below_0_7_of_the_committed_one_fails(tmp_path, monkeypatch):
    found = iter([6.0, 6.9, 6.5])
    monkeypatch.setattr(check, "measured", lambda names: {name: next(found) for name in names})
    write_ratio(tmp_path, "Perceptron, on bits", 10.0)
    outcome = CliRunner().invoke(main, ["bench", "--check", "--results", str(tmp_path)])
    assert outcome.exit_code == 1
    assert outcome.output.splitlines()[-1] == (
        "Perceptron, on bits: the engine is 6.9 times faster than the plain loop; expected at least 7.0, 0.7 times the "
        "committed 10.0"
    )


def test_a_check_needs_committed_ratios(tmp_path):
    outcome = CliRunner().invoke(main, ["bench", "--check", "--results", str(tmp_path)])
    assert outcome.exit_code == 2
    assert "ratios.yaml: not found; `budgetrun bench` writes it" in outcome.output


def test_the_check_measures_what_is_committed(monkeypatch):
    monkeypatch.setattr(check, "ROUNDS", 60)
    names = set(yaml.safe_load(COMMITTED.read_text()))
    assert set(check.measured()) == names
    only = "Perceptron, on bits"
    assert set(check.measured([only])) == {only}
    kinds = {name: held(X).name for name, (X, _, _) in check._streams().items()}
    assert kinds == {name: name for name in kinds}


def test_goal_is_met_or_missed():
    record = records.Record("b", "engine", "dense", 100, 3, 1, 1, 100, 12, 0, 0.12, 2.0, 4.0, 5.0)
    assert "5: missed" in records.cells(record)
    record.times_faster = 5.0
    assert "5: met" in records.cells(record)
