"""A few of the attacks of ``make torture``: kills at random moments lose, double or change no run."""

import importlib.util
from pathlib import Path

import pytest
from cases import EXHAUSTIVE

SCRIPT = Path(__file__).parents[2] / "scripts" / "torture.py"


@pytest.mark.skipif(not EXHAUSTIVE, reason="tests/runner kills sweeps, too")
def test_a_few_attacks():
    spec = importlib.util.spec_from_file_location("torture", SCRIPT)
    torture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(torture)
    said = []
    counts = torture.torture(2, seed=2, say=said.append)
    assert counts["attacks"] == 2
    assert not any(counts[problem] for problem in torture.PROBLEMS), "\n".join(said)
