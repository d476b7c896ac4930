"""A few of the attacks of ``make torture``: kills at random moments lose, double or change no run."""

import re
from pathlib import Path

import fuzz
import pytest
import sweeping
import torture
from cases import EXHAUSTIVE

pytestmark = pytest.mark.faults


@pytest.mark.skipif(not EXHAUSTIVE, reason="tests/runner kills sweeps, too")
def test_a_few_attacks():
    said = []
    counts = torture.torture(2, seed=2, say=said.append)
    assert counts["attacks"] == 2
    assert not any(counts[problem] for problem in torture.PROBLEMS), "\n".join(said)


def test_the_counts_of_contributing_are_those_of_the_last_attacks():
    text = (Path(torture.TOP) / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert len(torture.summary()) == 4
    assert all(f"\n  {line}\n" in text for line in torture.summary())


def test_the_counts_of_fuzzing_are_of_properties_that_exist_and_did_not_fail():
    text = (Path(torture.TOP) / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert all(f"\n{line}\n" in text for line in fuzz.summary())
    found = sweeping.rows(fuzz.TABLE.parent, fuzz.TABLE.name)
    properties = {
        f"{path.name}::{name}"
        for path in Path(__file__).parent.glob("test_fuzz_*.py")
        for name in re.findall(
            r"^@given\(.*?^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
    }
    assert {row["property"] for row in found} <= properties
    assert {row["failed"] for row in found} == {"0"}
