import pytest
from fake_results import EXPECTED, REPORT, build, paper_rows


@pytest.fixture
def paper(tmp_path):
    """A results folder with published numbers, findings and one figure."""
    return build(tmp_path / "fake", paper_rows(), report=REPORT, expected={"table1": EXPECTED})
