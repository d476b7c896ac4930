"""The committed tables of bounds are about the committed runs, and no bound is violated."""

import csv

import pytest

from budgetrun.base.files import checkout
from budgetrun.results.store.write import Store

TOP = checkout()
# No bound is known for the learners of these.
WITHOUT = {"bsgd_table3", "field_classes", "many_kernels", "many_kernels_regression"}
WITHOUT |= {"regression", "regression_budgets", "regression_ogs"}
TABLES = sorted((TOP / "results").glob("*/bounds.csv")) if TOP else []


@pytest.mark.committed
@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.parent.name)
def test_committed_bounds_hold(path):
    mistakes = {row["run_id"]: row["mistakes"] or row["steps"] for row in Store(path.parent).rows().values()}
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert any(row["applies"] == "yes" for row in rows) == (path.parent.name not in WITHOUT)
    for row in rows:
        ids = row["run_id"].split()
        assert all(run_id in mistakes for run_id in ids)
        if len(ids) == 1 and row["counts"] in ("mistakes", "updates"):
            assert float(row["mistakes"]) == pytest.approx(float(mistakes[ids[0]]), rel=1e-9)
        if row["applies"] == "yes":
            assert float(row["lower"] or row["mistakes"]) <= float(row["bound"]) * (1 + 1e-6) + 1e-6
