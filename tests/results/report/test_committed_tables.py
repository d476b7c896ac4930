"""Committed runs are the planned ones, and committed tables are those of the runs."""

import pytest

from budgetrun.base.files import checkout
from budgetrun.results.report import Report, listings, tables

TOP = checkout()
FOLDERS = sorted((TOP / "results").glob("*/runs.csv*")) if TOP else []


@pytest.mark.committed
@pytest.mark.parametrize("name", sorted({path.parent.name for path in FOLDERS}))
def test_tables_are_those_of_the_runs(name, tmp_path):
    folder = TOP / "results" / name
    report = Report(folder)
    assert not report.incomplete
    written = tables.write(tmp_path, report.tables, listings.selections(report.results))
    # LaTeX is written, but not committed.
    written = [path for path in written if path.suffix != ".tex"]
    stale = [path.name for path in written if path.read_bytes() != (folder / "tables" / path.name).read_bytes()]
    assert not stale, f"type: budgetrun report results/{name}"


@pytest.mark.committed
@pytest.mark.parametrize("name", sorted({path.parent.name for path in FOLDERS}))
def test_the_index_leads_to_every_report(name):
    index = (TOP / "results" / "index.html").read_text(encoding="utf-8")
    assert index.count(f'href="{name}/report.html"') == 1, "type: budgetrun report results"
