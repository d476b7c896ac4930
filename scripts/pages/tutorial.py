"""Run the tutorial, compare.md, arena.md and README.md; write the output of their commands, and a figure, into them.

A block of the language ``console`` is a command and its output; ``text`` after ``python`` is what the code printed; a
``yaml`` block with a name is a file of that name.

Usage: python scripts/pages/tutorial.py            (the tests fail if a page is not as this would write it)
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from budgetrun.cli import main

TOP = Path(__file__).resolve().parents[2]
PAGES = tuple(TOP / name for name in ("docs/tutorial.md", "docs/compare.md", "docs/arena.md", "README.md"))
# What the start page shows, of the run that is shown there.
FIGURE = "cancer_error.png"
BLOCK = re.compile(r"^```(console|python|text|yaml)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What differs from machine to machine: progress, and the last digits of scores.
VARYING = {r"^\d+/\d+ runs.*\n": "", r"(\.\d{4})\d{6,}": r"\1..."}


def played(page: str) -> str:
    """Return the page with what its blocks print when they run in the current folder, one after the other."""
    names: dict[str, Any] = {"__name__": "tutorial"}
    printed = ""

    def play(block: re.Match[str]) -> str:
        nonlocal printed
        language, text = block.groups()
        if language == "console":
            command = text.partition("\n")[0].removeprefix("$ ")
            output = CliRunner().invoke(main, shlex.split(command)[1:], prog_name="budgetrun").output
            for pattern, shown in VARYING.items():
                output = re.sub(pattern, shown, output, flags=re.MULTILINE)
            text = f"$ {command}\n{output.rstrip()}\n"
        elif language == "yaml":
            Path(f"{yaml.safe_load(text)['name']}.yaml").write_text(text, encoding="utf-8")
        elif language == "text":
            text = printed
        else:
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(text, "page", "exec"), names)
            printed = output.getvalue()
        return f"```{language}\n{text}```"

    return BLOCK.sub(play, page)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    os.environ["BUDGETRUN_COMPILED"] = "0"
    os.environ["COLUMNS"] = "100"
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            text = played(page.read_text(encoding="utf-8"))
            figure = Path("results/cancer/figures") / FIGURE
            if figure.exists():
                shutil.copy(figure, TOP / "docs" / FIGURE)
        page.write_text(text, encoding="utf-8")
