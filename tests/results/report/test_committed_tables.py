"""Committed runs are the planned ones, and committed tables and pages are those of the runs."""

import re

import pytest

from budgetrun.base.files import checkout
from budgetrun.results.report import Report, listings, tables
from budgetrun.results.store.read import load

TOP = checkout()
FOUND = {path.parent.name for path in (TOP / "results").glob("*/runs.csv*")} if TOP else set()
# The demo's results are not committed.
FOLDERS = sorted(FOUND - {"quickstart"})


def without_figures(page):
    """Return a page without its figures, which need curves, and without line ends."""
    return "".join(
        re.sub('<section id="figures">.*?</section>|<li><a href="#figures">.*?</li>', "", page, flags=re.S).split("\n")
    )


@pytest.mark.committed
@pytest.mark.parametrize("name", FOLDERS)
def test_tables_and_the_page_are_those_of_the_runs(name, tmp_path):
    folder = TOP / "results" / name
    report = Report(folder)
    assert not report.incomplete
    selections = listings.selections(report.results)
    page = report._page(selections, listings.costs(report.results), [])
    assert without_figures(page) == without_figures((folder / "report.html").read_text(encoding="utf-8"))
    written = tables.write(tmp_path, report.tables, selections)
    # LaTeX is written, but not committed.
    written = [path for path in written if path.suffix != ".tex"]
    stale = [path.name for path in written if path.read_bytes() != (folder / "tables" / path.name).read_bytes()]
    assert not stale, f"type: budgetrun report results/{name}"


@pytest.mark.committed
@pytest.mark.parametrize("name", FOLDERS)
def test_the_index_leads_to_every_report_and_has_its_runs(name):
    index = (TOP / "results" / "index.html").read_text(encoding="utf-8")
    assert index.count(f'href="{name}/report.html"') == 1, "type: budgetrun report results"
    n_done = (load(TOP / "results" / name).runs["status"] == "done").sum()
    assert f">{name}: {n_done:,} finished run" in index, "type: budgetrun report results"
