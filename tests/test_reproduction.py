"""Numbers against numbers: references on real streams, and what was committed against what the code gives now."""

import csv
import os

import numpy as np
import pytest
from cases import all_cases
from reference import kernel_expansion

from budgetrun import config as config_module
from budgetrun import resources
from budgetrun.config import DatasetSpec, KernelSpec
from budgetrun.data import open_stream
from budgetrun.engine import Group
from budgetrun.learners import find
from budgetrun.plan import Job, code_version, make_plan, sources_first, with_budgets
from budgetrun.store import Store
from budgetrun.work import Settings, run_job

CASES = {case_id: rest for case_id, *rest in all_cases()}
TOP = resources.checkout()
RESULTS = TOP / "results" / "forgetron_table81" if TOP else None
real_data = pytest.mark.realdata


def need_data():
    if not os.environ.get("BUDGETRUN_DATA"):
        pytest.skip("set BUDGETRUN_DATA to the folder of the real data sets")


REAL = {
    "usps": {"name": "usps", "task": "equal_splits", "scale": "unit_norm", "gamma": 0.78},
    "a9a": {"name": "a9a", "gamma": 0.04},
    "census_income": {"name": "census_income", "balanced": True, "scale": "unit_norm", "gamma": 0.78},
    "cod_rna": {"name": "cod_rna", "parts": ("train",), "gamma": 0.5},
    "w8a": {"name": "w8a", "gamma": 0.125},
}


@real_data
@pytest.mark.parametrize("dataset", REAL)
def test_references_on_real_streams(dataset):
    """Duplicates (a9a), all-zero rows (w8a), kernel values that underflow (cod_rna)."""
    need_data()
    given = dict(REAL[dataset])
    kernel = KernelSpec(name="gaussian", parameters={"gamma": given.pop("gamma")})
    stream = open_stream(DatasetSpec(**given, kernel=kernel, n_examples=150), seed=0, repetition=0)
    dense = stream.X if isinstance(stream.X, np.ndarray) else stream.X.toarray()
    task, y = next(iter(stream.tasks.items()))
    assert task in ("-", "01234|56789")
    learners = [find(name, variant)(**parameters) for name, variant, parameters, _ in CASES.values()]
    group = Group(kernel.build(), learners)
    for start in range(0, len(y), 64):
        group.feed(stream.X[start : start + 64], y[None, start : start + 64])
    k = kernel_expansion.gaussian(kernel.parameters["gamma"])
    for member, (case_id, (*_, function)) in zip(group.members, CASES.items(), strict=True):
        trace = function(dense, y, k)
        assert member.count.mistakes == sum(trace.mistakes), case_id
        assert member.hypothesis.rounds.tolist() == trace.active[-1], case_id
        np.testing.assert_allclose(member.hypothesis.coef, trace.alpha[-1], rtol=1e-8, err_msg=case_id)


def committed():
    rows = Store(RESULTS).rows() if RESULTS is not None else {}
    if not rows:
        pytest.skip("no committed results here")
    return rows


@pytest.mark.parametrize("dataset", ["synthetic_10", pytest.param("usps", marks=real_data)])
def test_committed_runs_are_what_the_code_gives(dataset, tmp_path):
    rows = committed()
    if dataset == "usps":
        need_data()
    config = config_module.load(TOP / "configs" / "forgetron_table81.yaml")
    spec = next(d for d in config.datasets if d.label == dataset)
    plan = make_plan(config.model_copy(update={"datasets": (spec,), "tasks": 1}))
    runs = [run for run in plan.runs if run.repetition == 0]
    assert {run.run_id for run in runs} <= set(rows), "the committed results were made by other code or another config"
    first = sources_first(plan, runs)[0]
    ready = with_budgets(runs, {first.run_id: int(rows[first.run_id]["support_size"])})
    settings = Settings(config.seed, config.tie, config.dtype, None, tmp_path, os.getpid(), code_version())
    for row in run_job(Job("again", spec, 0, tuple(ready)), settings).rows:
        assert row["status"] == "done"
        for column in ("mistakes", "updates", "support_size", "max_support_size", "budget"):
            now = "" if row[column] is None else str(row[column])
            assert now == rows[row["run_id"]][column], (row["label"], column)


def test_committed_perceptron_is_within_5_percent_of_the_print():
    committed()
    with (RESULTS / "tables" / "table81.csv").open(newline="") as file:
        cells = [row for row in csv.DictReader(file) if row["label"] == "perceptron"]
    headline = {"mnist", "usps", "adult", "synthetic_5", "synthetic_10"}
    assert headline <= {cell["dataset"] for cell in cells}
    for cell in cells:
        if cell["dataset"] in headline:
            assert abs(float(cell["difference_percent"])) < 5, cell["dataset"]
