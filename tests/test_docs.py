"""What the pages show works: Python runs, configs are valid, commands and links exist; the website and the tutorial."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
import tutorial
import yaml
from sweeping import TOP

import budgetrun
from budgetrun import config
from budgetrun.cli import main

PAGES = [TOP / name for name in ("README.md", "CONTRIBUTING.md")] + sorted((TOP / "docs").glob("*.md"))
MAKEFILE = (TOP / "Makefile").read_text()


def blocks(page, language):
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [text for of, text in found if of == language]


# The whole tutorial is run by test_tutorial.py.
WITHOUT_TUTORIAL = [page for page in PAGES if page.stem != "tutorial"]
of_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@pytest.mark.parametrize("page", WITHOUT_TUTORIAL, ids=lambda page: page.stem)
def test_python_runs(page, here):
    if page.stem == "river":
        pytest.importorskip("river", reason="river is not installed: pip install 'budgetrun[river]'")
    names = {"__name__": "example"}
    for text in blocks(page, "python"):
        exec(compile(text, str(page), "exec"), names)


@pytest.mark.parametrize("page", WITHOUT_TUTORIAL, ids=lambda page: page.stem)
def test_configs_are_valid(page, here):
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.choice([-1, 1], 60), rng.normal(size=(60, 2))])
    for text in blocks(page, "yaml"):
        assert yaml.safe_load(text)
        if text.startswith("name:"):
            for name in re.findall(r"path: ([\w.]+)", text):
                np.savetxt(name, table, delimiter=",", fmt="%.3f")
            Path("example.yaml").write_text(text)
            config.load(Path("example.yaml"))


@of_page
def test_commands_exist(page):
    for line in "".join(blocks(page, "")).splitlines():
        words = line.split("#")[0].split()
        if words[:1] == ["budgetrun"] and not set(words[1:]) & {"...", "CONFIG..."}:
            command = main.commands[words[1]]
            while isinstance(command, click.Group):
                command = command.commands[words.pop(2)]
            command.make_parser(click.Context(command)).parse_args(words[2:])
    for target in re.findall(r"(?:^|`)make ([a-z]+(?:-[a-z]+)*)", page.read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), f"make {target}"


@of_page
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#\s]*)", text):
        assert (page.parent / target).exists(), target
    for name in re.findall(
        r"`((?:budgetrun|tests|scripts|docs|configs|datasets)/[\w./]+\.\w+|(?:budgetrun|tests)/[\w/]+/)`", text
    ):
        assert (TOP / name).exists(), name


def templates():
    """Return the literal pieces of every text in the package, between what it formats into them."""
    for path in (TOP / "budgetrun").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield [part.value for part in node.values if isinstance(part, ast.Constant)]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield [node.value]


def test_quoted_messages_exist():
    known = [pieces for pieces in templates() if sum(map(len, pieces)) >= 25]
    page = (TOP / "docs" / "faq.md").read_text(encoding="utf-8")
    quotes = re.findall(r"^```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(quotes) > 10
    for quote in quotes:
        near = [pieces for pieces in known if all(piece in quote for piece in pieces)]
        found = [pieces for pieces in near if re.search(".*".join(map(re.escape, pieces)), quote, re.DOTALL)]
        # Most of a message is one text of the package; the rest is the place, or what was typed.
        assert max((sum(map(len, pieces)) for pieces in found), default=0) > len(quote) / 5, quote


def test_the_site_builds(tmp_path):
    for package in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(package)
    command = [sys.executable, "-m", "sphinx", "-qW", "--keep-going", "-d", tmp_path / "doctrees"]
    environment = {**os.environ, "PYTHONPATH": str(TOP)}
    command += [TOP / "docs", tmp_path / "site"]
    built = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (built.returncode, built.stderr) == (0, "")
    assert (tmp_path / "site" / "reference" / "Forgetron.html").is_file()
    assert (tmp_path / "site" / "results" / "index.html").is_file()


@pytest.mark.committed
@pytest.mark.parametrize("page", tutorial.PAGES, ids=lambda page: page.stem)
def test_pages_show_what_their_commands_print(page, here, monkeypatch):
    if "run" not in main.commands or not hasattr(budgetrun, "load"):
        pytest.skip("needs `budgetrun run` and `budgetrun.load`")
    monkeypatch.setenv("COLUMNS", "100")
    text = page.read_text(encoding="utf-8")
    assert tutorial.played(text) == text, "type: python scripts/pages/tutorial.py"
