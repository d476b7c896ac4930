"""The tutorial shows what its commands print."""

import pytest
import tutorial

import budgetrun
from budgetrun.cli import main


def test_tutorial_shows_what_its_commands_print(tmp_path, monkeypatch):
    if "run" not in main.commands or not hasattr(budgetrun, "load"):
        pytest.skip("needs `budgetrun run` and `budgetrun.load`")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    page = tutorial.PAGE.read_text(encoding="utf-8")
    assert tutorial.played(page) == page, "type: python scripts/pages/tutorial.py"
