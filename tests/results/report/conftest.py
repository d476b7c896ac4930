"""What the tests of reports need."""

import pytest
from fake_results import EXPECTED, REPORT, build, paper_rows

from budgetrun.results.report import figures


@pytest.fixture
def drawn():
    """A test that asks for it gets real pictures."""


@pytest.fixture(autouse=True)
def no_pictures(request, monkeypatch):
    """Saving pictures takes most of the time of a report; most tests look at what is around them."""
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr(figures, "save", lambda figure, *paths: [path.touch() for path in paths])


@pytest.fixture
def paper(tmp_path):
    """A results folder with published numbers, findings and one figure."""
    return build(tmp_path / "fake", paper_rows(), report=REPORT, expected={"table1": EXPECTED})
