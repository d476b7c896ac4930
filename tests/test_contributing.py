"""CONTRIBUTING.md and SECURITY.md name files, tests and commands that exist; the map and the counts are current."""

import ast
import os
import re
import runpy
import sys

import pytest
import walks
from sweeping import TOP

PACKAGE = TOP / "budgetrun"
PAGES = [TOP / "CONTRIBUTING.md", TOP / "SECURITY.md"]
CONTRIBUTING = PAGES[0].read_text(encoding="utf-8")
# Names in backticks that look like paths; <name> stands for any name.
PATH = re.compile(r"`([\w.<>+-]*/[\w./<>+-]*|[\w.<>+-]+\.(?:py|md|yaml|toml|lock|csv|json))`")
# Files of a results folder.
OF_RESULTS = {"curves/", "parts/", "tables/", "runs.csv", "bounds.csv"}
COMMANDS = re.findall(r"(?:^|`)(?:\.venv/bin/)?((?:python|pytest|pre-commit) [^#\n`]+)", CONTRIBUTING, re.MULTILINE)


def package_map():
    """Return the map of the package: the first lines of the docstrings of its packages and top modules."""
    lines = []
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE)
        is_package = path.name == "__init__.py" and 1 < len(inside.parts) < 4
        if is_package or (len(inside.parts) == 1 and path.name != "__init__.py"):
            folder = inside.parent.as_posix() + "/"
            name = "  " * (folder.count("/") - 1) + folder.rpartition("/")[0].rpartition("/")[2] + "/"
            words = first_line(path).rstrip(".")
            lines.append(f"  {name if is_package else path.name:<16} {words.replace('``', '`')}\n")
    return "".join(lines)


def test_the_map_is_that_of_the_packages():
    assert re.search(r"^budgetrun/\n(.*?)^\S", CONTRIBUTING, re.DOTALL | re.MULTILINE)[1] == package_map()


def first_line(path):
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).splitlines()[0]


def test_every_script_is_listed():
    readme = (TOP / "scripts" / "README.md").read_text(encoding="utf-8")
    scripts = sorted((TOP / "scripts").glob("*/*.py"))
    assert re.findall("^- .*$", readme, re.MULTILINE) == [f"- `{path.name}`: {first_line(path)}" for path in scripts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_path_exists(page):
    for name in PATH.findall(page.read_text(encoding="utf-8")):
        pattern = re.sub(r"<[\w-]+>", "*", name).rstrip("/")
        places = [*TOP.glob(pattern), *PACKAGE.glob(pattern)] if not name.startswith("/") else [name]
        assert places or name in OF_RESULTS, name


@pytest.mark.parametrize("page", [*PAGES, TOP / "docs" / "bounds.md"], ids=lambda page: page.stem)
def test_every_test_exists(page):
    tests = "".join(path.read_text(encoding="utf-8") for path in (TOP / "tests").rglob("test_*.py"))
    for name in re.findall(r"`(test_\w+)`", page.read_text(encoding="utf-8")):
        assert f"def {name}(" in tests, name


def test_each_promise_of_run_names_its_test():
    text = PAGES[1].read_text(encoding="utf-8")
    for section in ("`budgetrun run`", "Saved models", "Models in Python", "Data files"):
        promises = text.partition(f"## {section}\n")[2].partition("\n## ")[0].split("\n- ")[1:]
        assert promises
        assert [one for one in promises if not re.search(r"`(test_\w+|tests/[\w/]+\.py)`", one)] == []


def test_pytest_is_called_with_paths_that_exist():
    assert COMMANDS
    for command in COMMANDS:
        program, *words = command.split()
        assert program != "pytest" or all((TOP / word).exists() for word in words), command


@pytest.mark.parametrize("command", sorted({c.split()[1] for c in COMMANDS if c.startswith("python ")}))
def test_every_script_starts(command, monkeypatch, capsys):
    """A script says how it is used, before it does anything."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr(sys, "argv", [command, "--help"])
    monkeypatch.syspath_prepend((TOP / command).parent)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(TOP / command), run_name="__main__")
    assert ended.value.code == 0
    assert "usage" in capsys.readouterr().out.lower()


@pytest.mark.committed
def test_walks_reach_their_ends():
    assert walks.table(walks.recorded()) in CONTRIBUTING
    n_files, moves, calls = walks.counts(walks.take("row to update"))
    assert 10 < n_files < moves < calls
