"""What all tests need."""

import gc
import signal

import pytest

from budgetrun import compiling

# A shell without job control starts what runs in its background deaf to interrupts, and so is all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# nohup makes them deaf to hangups.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_finish():
    """Do not search the thousands of collected tests for garbage again and again."""
    gc.freeze()


@pytest.fixture(autouse=True)
def compiled_before(monkeypatch):
    """What a sweep says does not depend on whether its learners were compiled before."""
    monkeypatch.setattr(compiling, "begins", lambda: False)


@pytest.fixture
def interpreted(monkeypatch):
    """Nothing is compiled; the tests in tests/engine show that this changes no result."""
    monkeypatch.setattr(compiling, "on", lambda: False)
