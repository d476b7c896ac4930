"""What users import can be read: by editors and mypy, which see a stub, and by `help`."""

import inspect
import subprocess
import sys

import pytest
import write_stub

import budgetrun
from budgetrun.base.files import checkout

PROGRAM = """
from budgetrun import Forgetron, load, sweep
import budgetrun

budgetrun.Forgetron(budget=10, variant="greedy").fit([[0.0], [1.0]], [0, 1]).predict([[0.5]])
reveal_type(Forgetron().mistakes_)
Forgetron(budget="x")
Forgetron(variant="bold")
budgetrun.Forgetro()
"""
SAID = """
6: note: Revealed type is "int"
7: error: Argument "budget" to "Forgetron" has incompatible type "str"; expected "int"
8: error: Argument "variant" to "Forgetron" has incompatible type "Literal['bold']"; expected
9: error: Module has no attribute "Forgetro"
"""


def test_the_stub_is_current():
    pytest.importorskip("ruff")
    assert write_stub.STUB.read_text() == write_stub.stub(), "type: python scripts/pages/write_stub.py"


def test_mypy_sees_the_estimators(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    # The project's own settings and cache.
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-codes", str(tmp_path / "program.py")]
    found = subprocess.run(command, cwd=checkout(), capture_output=True, text=True).stdout
    said = [line.partition("program.py:")[2] for line in found.splitlines()]
    for line, expected in zip(said, SAID.strip().splitlines(), strict=True):
        assert line.startswith(expected), found


@pytest.mark.parametrize("name", ["Forgetron", "KRLS", "SelectingClassifier"])
def test_signatures_are_those_of_the_stub(name):
    made = getattr(budgetrun, name)
    assert made.__doc__.splitlines()[0]
    assert all(parameter.name != "given" for parameter in inspect.signature(made).parameters.values())
