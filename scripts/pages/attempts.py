"""Write docs/attempts.md: what `budgetrun run` says to each attempt of a new user.

tests/runner/live/test_new_user.py has and plays the attempts, and compares the rows of the page with what is said.

Usage: python scripts/pages/attempts.py
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from benchmarks.pages import markdown_table

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP)]
PAGE = TOP / "docs" / "attempts.md"
HEADER = """# What happens if ...

These are first attempts with files and options as people have them: a table that `budgetrun run` can play, or one
sentence that says what is wrong and what to type. The test suite plays each, and `python scripts/pages/attempts.py`
writes this page. The file is `s.csv` with three measured columns and a label, unless the attempt says otherwise; *said*
leaves out what is said of every table.

"""
# What is said of every table, or depends on the speed of the machine.
USUAL = re.compile(
    r"^(The label is column 4 \(target\), by its name\.|Task: .*|Scale: running.*|gamma: .*|.* rows/s, .*"
    r"|results/.* files of .*)$"
)


def row(what: str, arguments: list[str], result: Any) -> list[str]:
    """Return the row of the page for an attempt: its name, its options, what was said, and the error if it played."""
    options = " ".join(f"'{one}'" if re.search(r"[\s\[(]", one) else one for one in arguments)
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    said = " ".join(line for line in lines if not USUAL.match(line)) if not result.exit_code else lines[-1]
    found = re.search(r"^(?:B = \d+|\S+) +(\d[\d.]*)", result.stdout, re.MULTILINE)
    error = found[1] if found and not result.exit_code else ""
    return [what, f"`{options}`" if options else "", said.replace("|", r"\|").replace("<", "&lt;"), error]


def table(rows: list[list[str]], works: bool) -> str:
    """Return the table of the attempts that work, or of those that cannot."""
    columns = ["attempt", "options", "said", "error of RBP, %"]
    return markdown_table(columns[: 3 + works], [one[: 3 + works] for one in rows])


def main() -> None:
    sys.path[:0] = [str(TOP / "tests"), str(TOP / "tests" / "runner" / "live")]
    import test_new_user as attempts

    parts = []
    for works, every in ((True, attempts.WORKS), (False, attempts.FAILS)):
        rows = []
        for what, (name, content, arguments, _) in every.items():
            with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
                patch.setenv("BUDGETRUN_COMPILED", "0")
                rows.append(row(what, arguments, attempts.attempt(Path(folder), patch, name, content, arguments)))
        parts.append(f"## What {'works' if works else 'cannot work'}\n\n{table(rows, works)}\n")
    PAGE.write_text(HEADER + "\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
