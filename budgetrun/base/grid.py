"""Tables of cells with words, and one printer per format: text, Markdown and CSV; pages and LaTeX have templates."""

import csv as csv_module
import io
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

# Texts that a spreadsheet would execute, unless they are numbers.
_FORMULA = re.compile(r"[=+\-@\t\r\n](?!$)")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|[+-]?(inf|nan)", re.IGNORECASE)


class Raw(str):
    """Text that is already in the format it is printed in, so that nothing in it is escaped."""

    def __html__(self) -> str:
        return self


class Cell(NamedTuple):
    """A cell whose page shows more than its text.

    ``value`` sorts it, ``below`` are smaller lines, ``hint`` is its tooltip, and ``mark`` its class in the style sheet.
    """

    text: str
    value: Any = None
    below: tuple[str, ...] = ()
    hint: str = ""
    mark: str = ""

    def __str__(self) -> str:
        return self.text


def _cell(given: str | Cell) -> Cell:
    return given if isinstance(given, Cell) else Cell(given)


@dataclass(frozen=True)
class Grid:
    """A table: a heading per column, and rows of texts or cells.

    ``words`` are the numbers of the columns that hold words, which are aligned to the left; the others hold numbers.
    """

    columns: Sequence[str | Cell]
    rows: Sequence[Sequence[str | Cell]]
    title: str = ""
    words: Collection[int] = (0,)

    def lines(self) -> Iterator[list[str]]:
        """Yield the headings, then each row, as texts."""
        yield [" ".join([cell.text, *(f"({line})" for line in cell.below)]) for cell in map(_cell, self.columns)]
        for row in self.rows:
            yield [_cell(cell).text for cell in row]


def text(grid: Grid, width: float = math.inf, narrowest: int = 0) -> str:
    """Return lines with aligned columns; those that do not fit into ``width`` follow below, after the first again.

    A heading may have several lines. Columns of numbers are at least ``narrowest`` wide.
    """
    head, *rows = grid.lines()
    height = max(name.count("\n") for name in head) + 1
    heads = [([""] * height + name.split("\n"))[-height:] for name in head]
    lines = [*map(list, zip(*heads, strict=True)), *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    widths = [own if i in grid.words else max(own, narrowest) for i, own in enumerate(widths)]
    chunks: list[list[int]] = [[0]]
    for i in range(1, len(widths)):
        if len(chunks[-1]) > 1 and sum(widths[j] + 2 for j in chunks[-1]) + widths[i] > width:
            chunks.append([0])
        chunks[-1].append(i)
    found = []
    for k, chunk in enumerate(chunks):
        found += ["", f"{grid.title} (continued)" if k else grid.title] if grid.title else [""] * (k > 0)
        for line in lines:
            shown = (line[i].ljust(widths[i]) if i in grid.words else line[i].rjust(widths[i]) for i in chunk)
            found.append("  ".join(shown).rstrip())
    return "\n".join(found)


def markdown(grid: Grid, level: str = "##") -> str:
    """Return a table in Markdown, after its title at this level of heading."""
    lines = [list(map(markdown_text, line)) for line in grid.lines()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = ["<" if i in grid.words else ">" for i in range(len(widths))]
    head, *rows = (
        "| " + " | ".join(f"{one:{side}{width}}" for one, side, width in zip(line, sides, widths, strict=True)) + " |"
        for line in lines
    )
    rule = "|".join(
        "-" * (width + 1) + ("-" if side == "<" else ":") for side, width in zip(sides, widths, strict=True)
    )
    title = [f"{level} {markdown_text(grid.title)}", ""] if grid.title else []
    return "\n".join([*title, head, f"|{rule}|", *rows])


def markdown_text(shown: str) -> str:
    """Return text that Markdown shows unchanged, within a table cell too."""
    if isinstance(shown, Raw):
        return shown
    shown = " ".join(shown.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", shown)


def csv(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as CSV: eight digits after the point at most, nothing for None and NaN, no cell that is executed."""
    found = io.StringIO()
    csv_module.writer(found, lineterminator="\n").writerows([map(_csv_cell, row) for row in rows])
    return found.getvalue()


def exact(value: Any) -> Any:
    """Return a value as CSV shows it."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.8f}".rstrip("0").rstrip(".")
    return "" if value is None else value


def cell(text: str) -> str:
    """Return the text of a cell of a table for people, with an apostrophe before what a spreadsheet would execute."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def _csv_cell(value: Any) -> Any:
    shown = exact(", ".join(value) if isinstance(value, tuple) else value)
    return cell(shown) if isinstance(shown, str) else shown


_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "—": "---",
    "†": r"\textsuperscript{\dag}",
} | {character: f"\\{character}" for character in "{}$&#_%"}


def latex_text(shown: str) -> str:
    """Return text that LaTeX sets unchanged, with a minus sign before a number."""
    escaped = "".join(_LATEX.get(character, character) for character in " ".join(shown.split()))
    return re.sub(r"(?<=[ (])-(?=\d)", "$-$", escaped)


def formula(shown: str, other: str = "{}") -> str:
    """Return text that may start with a budget such as ``B = p/2``, which is a formula; ``other`` frames other text."""
    budget = re.match(r"B = [\d.e+]*(?: ?p)?(?:/\d+)?(?=$|,| \()", shown)
    return f"${budget[0]}${latex_text(shown[budget.end() :])}" if budget else other.format(latex_text(shown))
