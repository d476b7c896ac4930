import pytest


@pytest.fixture(autouse=True)
def all_interpreted(interpreted):
    """Compiling a learner takes longer than these tests."""
