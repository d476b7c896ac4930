"""How `make docs` builds the site. The pages are Markdown, and can be read without it."""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path
from typing import Any

import click

import budgetrun
from budgetrun import cli

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results"
MADE = HERE / "reference"
REPOSITORY = "https://github.com/budgetrun/budgetrun"

project = "budgetrun"
copyright = "the budgetrun developers"
version = release = budgetrun.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["numbers.yaml"]
html_theme = "furo"
html_title = "budgetrun"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
myst_heading_anchors = 3
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
# As text: `:ivar:` loses the underscore at the end of a name.
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_rtype = False
# A word in single backticks is code, as in Markdown.
default_role = "literal"

# What `budgetrun` itself may offer besides the classifiers.
_FUNCTIONS = ("sweep", "load_results", "load", "save")
_LINK = re.compile(r"\[([^\]]+)\]\(\.\./([^)]+)\)")


def write_reference(app: Any) -> None:
    """Write a page for every classifier, and one for the command line."""
    from budgetrun.estimators import CLASSIFIERS

    shutil.rmtree(MADE, ignore_errors=True)
    MADE.mkdir()
    for name in CLASSIFIERS:
        # The page of each has its own parameters and attributes; the methods are those of BudgetClassifier.
        (MADE / f"{name}.rst").write_text(f"{name}\n{'=' * len(name)}\n\n.. autoclass:: budgetrun.{name}\n")
    offered = [name for name in _FUNCTIONS if callable(getattr(budgetrun, name, None))]
    (MADE / "functions.inc").write_text("\n".join(f".. autofunction:: budgetrun.{name}" for name in offered))
    (MADE / "commands.md").write_text(
        "\n".join(["# Command line", *_verbs(cli.main, cli.main.make_context("budgetrun", [], resilient_parsing=True))])
    )


def _verbs(group: click.Group, parent: click.Context) -> list[str]:
    """Return a section with the help of each verb."""
    lines = [inspect.cleandoc(group.help or ""), ""]
    for name in group.list_commands(parent):
        verb = group.commands[name]
        context = verb.make_context(name, [], parent, resilient_parsing=True, terminal_width=88)
        if isinstance(verb, click.Group):
            lines += _verbs(verb, context)
        else:
            lines += [f"## {context.command_path}", "", "```none", verb.get_help(context), "```", ""]
    return lines


def link_outside(app: Any, name: str, source: list[str]) -> None:
    """Lead links to the rest of the repository: to copies of the results' pages, and to the repository itself."""

    def target(found: re.Match[str]) -> str:
        text, path = found.groups()
        if path.startswith("results/") and path.endswith(".html"):
            return f'<a href="{path}">{text}</a>'
        return f"[{text}]({REPOSITORY}/blob/main/{path})"

    # Images have the same form, after an exclamation mark.
    source[0] = re.sub(rf"(?<!!){_LINK.pattern}", target, source[0])
    source[0] = re.sub(r"\[([^\]]+)\]\((arena/[^)]+)\)", r'<a href="\2">\1</a>', source[0])


def as_typed(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep what docstrings mean as text: |x|, a * b, and names that end with an underscore."""
    in_example = False
    for i, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        # napoleon itself does so for the names of parameters.
        if not in_example and not re.match(r"[\w, ]+ : ", line):
            parts = re.split(r"(`+.*?`+)", line)
            lines[i] = "".join(re.sub(r"[|*]|_(?!\w)", r"\\\g<0>", part) if part[:1] != "`" else part for part in parts)


def copy_results(app: Any, error: Exception | None) -> None:
    """Copy the site of the arena, and the pages of the results, each of which is one file."""
    if error is None:
        shutil.copytree(HERE / "arena", Path(app.outdir) / "arena", dirs_exist_ok=True)
        for page in [RESULTS / "index.html", *RESULTS.glob("*/*.html")]:
            copy = Path(app.outdir) / "results" / page.relative_to(RESULTS)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, copy)


def setup(app: Any) -> None:
    app.connect("builder-inited", write_reference)
    app.connect("source-read", link_outside)
    app.connect("autodoc-process-docstring", as_typed, priority=400)
    app.connect("build-finished", copy_results)
