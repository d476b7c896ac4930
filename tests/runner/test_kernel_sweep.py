"""Kernels with several values of a parameter, and a gamma that the data decide on."""

import json
import shutil

import numpy as np
import pytest
from faults import raises
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist
from sweeping import config, outcomes, rows, run

from budgetrun import cli
from budgetrun import config as config_module
from budgetrun.base.errors import InputError
from budgetrun.base.registry import parameters
from budgetrun.data import open_stream
from budgetrun.kernels import Gaussian, registry
from budgetrun.kernels.kinds import as_whole
from budgetrun.kernels.width import ROUNDS, median_gamma
from budgetrun.learners import BASES
from budgetrun.learners import registry as learners
from budgetrun.papers import solvers
from budgetrun.papers.bounds.report import write_bounds
from budgetrun.results.report import Report
from budgetrun.runner.plan import make_jobs, make_plan, select

SWEPT = {"name": "gaussian", "gamma": [0.1, 1, 10]}
CHOSEN = {"tables": [{"name": "chosen", "choose": {"by": "online_error"}}]}


def planned(path):
    return make_plan(config_module.load(path)).runs


def bare(folder, setting=None):
    """Return the outcomes of a results folder, or those of a setting, without what names the setting."""
    found = [row for row in outcomes(folder) if setting in (None, row["setting"])]
    left_out = ("run_id", "setting")
    return sorted(json.dumps({key: value for key, value in row.items() if key not in left_out}) for row in found)


def test_each_value_gives_the_runs_of_a_config_with_it_alone(tmp_path):
    runs = planned(config(tmp_path, kernel=SWEPT))
    assert len({run.run_id for run in runs}) == len(runs) == 3 * 16
    for gamma in SWEPT["gamma"]:
        alone = planned(config(tmp_path, kernel={"name": "gaussian", "gamma": gamma}))
        own = [run for run in runs if run.spec.setting == {"gamma": gamma}]
        assert [run.run_id for run in own] == [run.run_id for run in alone]
        assert {run.spec.kernel.build() for run in own} == {Gaussian(gamma=gamma)}
        # A budget follows the run with the same kernel.
        assert {one.source.spec.kernel.build() for one in own if one.source} == {Gaussian(gamma=gamma)}
        # A list of one value is that value.
        assert planned(config(tmp_path, kernel={"name": "gaussian", "gamma": [gamma]})) == alone


def test_values_of_several_parameters_and_of_a_datasets_own_kernel(tmp_path):
    dataset = {"name": "noisy_gaussians", "options": {"n_per_class": 150}}
    own = dataset | {"label": "own", "kernel": {"name": "polynomial", "degree": [2, 3], "coef0": [0, 1]}}
    loaded = config_module.load(config(tmp_path, datasets=[dataset, own], repetitions=1))
    runs = make_plan(loaded).runs
    assert [loaded.count(label) for label in ("noisy_gaussians", "own")] == [8, 32]
    assert len(runs) == 40
    settings = list(dict.fromkeys(json.dumps(run.spec.setting) for run in runs))
    assert list(map(json.loads, settings)) == [{}, *({"degree": d, "coef0": c} for d in (2, 3) for c in (0, 1))]
    assert loaded.from_resolved(json.loads(json.dumps(loaded.resolved()))).resolved() == loaded.resolved()


def test_learners_with_the_same_stream_and_kernel_share_a_job(tmp_path):
    loaded = config_module.load(config(tmp_path, kernel=SWEPT))
    jobs = make_jobs(loaded, make_plan(loaded).runs, lambda *_: True)
    assert [len(job.runs) for job in jobs] == [8] * 6
    assert all(len({run.spec.kernel.text for run in job.runs}) == 1 for job in jobs)


def test_only_takes_a_setting(tmp_path):
    runs = planned(config(tmp_path, kernel=SWEPT))
    assert {run.spec.kernel.parameters["gamma"] for run in select(runs, {"setting": ["gamma=1"]})} == {1}
    assert len(select(runs, {"setting": ["gamma=1", "gamma=10"], "algorithm": ["perceptron"]})) == 4
    raises(InputError, r"--only setting=gamma=2: no such setting", select, runs, {"setting": ["gamma=2"]})


def test_no_algorithm_has_a_parameter_of_a_kernel():
    """So that a setting never has two values under one name."""
    of_kernels = {name for kernel in registry().values() for name in parameters(kernel)}
    classes = [cls for kind in BASES for every in learners(kind).values() for cls in every.values()]
    for cls in [*classes, *solvers.registry().values()]:
        assert not of_kernels & parameters(cls).keys()


def test_two_gammas_that_are_nearly_equal_are_two_runs(tmp_path):
    kernel = {"name": "gaussian", "gamma": [0.12345678, 0.12345679]}
    assert len({run.run_id for run in planned(config(tmp_path, kernel=kernel))}) == 32
    texts = [str(Gaussian(gamma=gamma)) for gamma in (0.12345678, 0.78, 1e-5, 2.0)]
    assert texts == [f"gaussian(gamma={gamma})" for gamma in ("0.12345678", "0.78", "1e-05", "2")]


def test_a_sweep_over_gamma_from_plan_to_page(here, capsys, monkeypatch):
    path = config(".", kernel={"name": "gaussian", "gamma": [0.01, "auto"]}, report=CHOSEN)
    assert run(capsys, "check", path)[1].startswith("small.yaml: valid; 16 settings of 4 algorithms on 1 dataset\n")
    assert run(capsys, "sweep", path, "--dry-run")[1].startswith("small: 32 runs, 0 finished, 32 to do\n")
    assert run(capsys, "sweep", path, "--jobs", 1)[0] == 0
    folder = here / "results" / "small"
    gamma = json.loads((folder / "manifest.json").read_text())["datasets"]["noisy_gaussians"]["median_gamma"]
    found = rows(folder)
    kernels = {'{"gamma": 0.01}': "gaussian(gamma=0.01)", '{"gamma": "auto"}': f"gaussian(gamma={gamma})"}
    assert {(row["setting"], row["kernel"]) for row in found} == set(kernels.items())
    # Each run is that of a sweep with its number alone, whatever ran beside it.
    monkeypatch.setattr(cli, "_report", print)
    for setting, number in (('{"gamma": 0.01}', 0.01), ('{"gamma": "auto"}', gamma)):
        alone = config(".", "alone", kernel={"name": "gaussian", "gamma": number})
        run(capsys, "sweep", alone, "--jobs", 1, "--force")
        assert bare(here / "results/alone") == bare(folder, setting)
    (table,) = Report(folder).tables
    assert {cell.chosen for cell in table.cells if cell.measured} <= {"gamma=0.01", "gamma=auto"}
    heuristic = "the median heuristic on the first 300 rounds of the first repetition"
    assert f"noisy_gaussians: gamma auto: {gamma:g}, {heuristic}." in table.notes
    assert any("gamma=auto" in path.read_text() for path in (folder / "figures").glob("*.svg"))
    assert not write_bounds(folder, None, None).violated
    assert {row["setting"] for row in rows(folder, "bounds.csv")} == {"gamma=0.01", "gamma=auto"}
    # Nothing is computed from the data again.
    monkeypatch.setattr("budgetrun.data.streams.auto_gamma", lambda *_: 1 / 0)
    assert run(capsys, "status", "results/small")[1] == "results/small: 32 of 32 runs finished\n"


def test_bounds_take_the_kernel_of_each_run(here, capsys, unreported):
    """A polynomial kernel of another degree has other values k(x, x), on which bounds depend."""
    algorithms = [{"name": "perceptron"}]
    for name, degree in (("both", [1, 2]), ("one", 1), ("two", 2)):
        kernel = {"name": "polynomial", "degree": degree}
        run(capsys, "sweep", config(".", name, kernel=kernel, algorithms=algorithms), "--jobs", 1)
        write_bounds(here / "results" / name, None, None)

    def bounds(name):
        lines = (here / "results" / name / "bounds.csv").read_text().splitlines()[1:]
        return sorted(line.split(",")[9:] for line in lines)

    assert len(bounds("both")) == 2 * len(bounds("one")) > 0
    assert bounds("both") == sorted(bounds("one") + bounds("two"))
    # Also where only one of the kernels has run.
    shutil.rmtree(here / "results" / "both")
    kernel = {"name": "polynomial", "degree": [1, 2]}
    path = config(".", "both", kernel=kernel, algorithms=algorithms)
    run(capsys, "sweep", path, "--jobs", 1, "--only", "setting=degree=2")
    write_bounds(here / "results" / "both", None, None)
    assert bounds("both") == bounds("two")


def test_seconds_are_divided_by_those_with_the_same_kernel(here, capsys):
    report = {"tables": [{"name": "ratio", "quantity": "seconds_ratio", "relative_to": "perceptron"}]}
    algorithms = [{"name": "perceptron"}, {"name": "remove_oldest", "budget": 5}]
    path = config(".", kernel=SWEPT, algorithms=algorithms, report=report, repetitions=1)
    run(capsys, "sweep", path, "--jobs", 1)
    seconds = {(row["label"], row["kernel"]): float(row["seconds"]) for row in rows(here / "results" / "small")}
    cells = Report(here / "results/small").tables[0].cells
    ratios = {(cell.place.label, cell.place.setting.text): cell.measured.mean for cell in cells}
    for gamma in ("0.1", "1", "10"):
        kernel = f"gaussian(gamma={gamma})"
        expected = seconds["remove_oldest", kernel] / seconds["perceptron", kernel]
        assert ratios["remove_oldest", f"gamma={gamma}"] == pytest.approx(expected)


# -- gamma: auto -------------------------------------------------------------------------------------------------------

DRAWN = np.random.default_rng(3).normal(size=(90, 4))


def test_the_median_heuristic_is_that_of_all_pairs_of_few_examples():
    for n in (2, 3, 10, 89, 90):
        assert median_gamma(DRAWN[:n]) == float(f"{1 / np.median(pdist(DRAWN[:n], 'sqeuclidean')):.3g}")


def test_the_median_heuristic_of_many_examples_is_close_to_that_of_all_pairs():
    X = np.random.default_rng(4).normal(size=(ROUNDS, 6))
    assert median_gamma(X) == pytest.approx(1 / np.median(pdist(X, "sqeuclidean")), rel=0.02)
    # Later examples do not matter, and neither does the way in which examples are held.
    assert median_gamma(np.vstack([X, 100 * X])) == median_gamma(X)
    whole = np.rint(3 * X)
    assert median_gamma(as_whole(whole)) == median_gamma(whole) == median_gamma(csr_array(whole))


def test_equal_examples_do_not_count_unless_all_are_equal():
    X = np.repeat(DRAWN[:5], 10, axis=0)
    every = pdist(X, "sqeuclidean")
    assert median_gamma(X) == float(f"{1 / np.median(every[every > 0]):.3g}")
    for X, said in (
        (np.ones((7, 2)), "the first 7 examples are all equal, so they have no distances; give gamma as a number"),
        (np.ones((1, 2)), "there is only one example, so they have no distances; give gamma as a number"),
        (1e80 * DRAWN, "scale the examples, or give gamma as a number"),
        (1e300 * DRAWN, "the median of ||a - b||^2 is inf; scale the examples, or give gamma as a number"),
    ):
        with pytest.raises(ValueError, match="gamma as a number") as raised:
            median_gamma(X)
        assert str(raised.value).endswith(said)


def test_auto_is_that_of_the_first_repetition_as_learners_see_it(tmp_path, monkeypatch):
    own = tmp_path / "own.csv"
    own.write_text("".join(f"{i % 2},{i % 7},{100 * (i % 5)}\n" for i in range(60)))
    datasets = [{"name": "own", "path": str(own), "scale": "standard", "order": "permuted", "n_examples": 40}]
    loaded = config_module.load(config(tmp_path, datasets=datasets, kernel={"name": "gaussian", "gamma": "auto"}))
    plan = make_plan(loaded)
    expected = median_gamma(open_stream(loaded.datasets[0], 0, 0).X)
    assert {run.spec.kernel.build() for run in plan.runs} == {Gaussian(gamma=expected)}
    # A single value is no setting, but another run than one with the number as typed.
    assert all(run.spec.setting == {} for run in plan.runs)
    typed = planned(config(tmp_path, datasets=datasets, kernel={"name": "gaussian", "gamma": expected}))
    assert not {run.run_id for run in plan.runs} & {run.run_id for run in typed}
