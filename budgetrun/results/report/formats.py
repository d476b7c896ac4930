"""Writing tables: one writer per suffix and one for a terminal; the templates of pages."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from budgetrun.base import grid
from budgetrun.base.grid import Grid
from budgetrun.results.report.layout import NONE, Cell, Listing, Table

NO_EXPLANATION = "no explanation recorded"


def in_words(value: Any) -> str:
    """Return a value of the manifest in words: counts with commas, lists and dicts item by item."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {in_words(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(in_words, value))
    if isinstance(value, int):
        return f"{value:,}"
    return NONE if value is None else str(value)


def moment(value: Any) -> str:
    """Return a time, given as ISO text, without fractions of a second."""
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return in_words(value)
    return f"{at:%Y-%m-%d %H:%M:%S}" + (f" {at:%Z}" if at.tzinfo else "")


def duration(seconds: Any) -> str:
    """Return ``12.3 s``, ``3 min 20 s`` or ``1 h 5 min``."""
    if not isinstance(seconds, int | float):
        return NONE
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, of_hour = divmod(minutes, 60)
    return f"{hours} h {of_hour} min" if hours else f"{minutes} min {rest} s"


# The templates of pages.
_PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PAGES.filters.update(markdown=grid.markdown, escaped=grid.markdown_text, latex=grid.latex_text, formula=grid.formula)
_PAGES.filters.update(when=moment, duration=duration, words=in_words)
_PAGES.globals.update(Cell=grid.Cell, no_explanation=NO_EXPLANATION)
template = _PAGES.get_template
# Braces and the percent sign are LaTeX's own.
_LATEX = _PAGES.overlay("<%", "%>", "<<", ">>", "<#", "#>", autoescape=False)
# One writer for each kind of file in the folder tables/.
WRITERS: dict[str, Callable[[Table | Listing], str]] = {
    "csv": lambda table: grid.csv(table.csv_rows),
    "md": lambda table: template("table.md.jinja").render(table=table),
    "tex": lambda table: _LATEX.get_template("table.tex.jinja").render(table=table),
}


def plain(table: Table, width: int) -> str:
    """Return the table for a terminal of so many columns, with published numbers and differences below the measured."""
    named = "published" in table.shows or "chosen" in table.shows
    # A long label is broken before its bracket.
    names = (re.sub(r"(?<=.)\s*(?=[(\[])", "\n", table.called(column), count=1) for column in table.columns)
    heads = [name if "\n" in name else f"\n{name}" for name in names]
    parts = [table.caption]
    for block in table.blocks:
        wide = max(len(text) for text in (block.corner, *(row.full_label for row in block.rows)))
        lines = []
        for row in block.rows:
            for i, (kind, texts) in enumerate(_plain_lines(row.cells, table)):
                first = "" if i else row.full_label
                lines.append([f"{first:<{wide}}{f' {kind:<10}' if named else ''}", *texts])
        parts.append(grid.text(Grid([block.corner, *heads], lines, block.title), width, narrowest=8))
    # The first note explains the cells of the other formats.
    verdict = [f"{table.verdict.text}."] if table.verdict else []
    text = "\n".join(["\n\n".join(parts), "", *table.notes[1:], *verdict])
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def _plain_lines(cells: list[Cell], table: Table) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield what is shown of some cells of a row, line by line."""
    yield "measured", (table.mean(cell, with_sd=False) for cell in cells)
    if any(cell.chosen for cell in cells):
        yield "setting", (cell.chosen or NONE for cell in cells)
    if any(cell.published for cell in cells):
        yield "published", map(table.published, cells)
        yield "difference", map(table.percent, cells)
    if any(cell.in_sds is not None for cell in cells):
        yield "in sd", map(table.in_sds, cells)
