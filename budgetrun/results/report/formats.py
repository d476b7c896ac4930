"""Writing tables: one writer per suffix, one for the page and one for a terminal."""

from __future__ import annotations

import csv as csv_module
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from budgetrun.base import files
from budgetrun.config.quantities import Quantity
from budgetrun.results.report import words
from budgetrun.results.report.aggregate import NO_BUDGET, Place
from budgetrun.results.report.layout import Cell, Listing, Table
from budgetrun.results.report.words import NONE, Lines


def csv(table: Table | Listing) -> str:
    """Return the table as CSV: of a report's table one row per cell, in its unit; empty where there is no number."""
    return csv_text([table.header, *table.rows] if isinstance(table, Listing) else long_form(table))


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as CSV: eight digits after the point at most, nothing for None and NaN."""
    text = io.StringIO()
    csv_module.writer(text, lineterminator="\n").writerows([map(_shown, row) for row in rows])
    return text.getvalue()


def _shown(value: Any) -> Any:
    exact = _exact(", ".join(value) if isinstance(value, tuple) else value)
    return files.cell(exact) if isinstance(exact, str) else exact


def _exact(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.8f}".rstrip("0").rstrip(".")
    return "" if value is None else value


def long_form(table: Table) -> list[list[Any]]:
    """Return the header and a row for each cell, as in the CSV file."""
    nothing = Cell(Place("", "", NO_BUDGET), None, None, ("", ""), None)
    records = [_record(cell, table) for cell in table.cells if cell.measured or cell.published]
    # An algorithm without settings is shown in the row of each setting, with the same numbers.
    rows = dict.fromkeys(tuple(map(_exact, record.values())) for record in records)
    return [list(_record(nothing, table)), *map(list, rows)]


def _record(cell: Cell, table: Table) -> dict[str, Any]:
    """Return a cell by column, with percent in the columns' names where that is the unit."""
    quantity, measured, published, budget = table.quantity, cell.measured, cell.published, cell.place.budget
    percent, points = ("_percent", "_points") if quantity.is_percent else ("", "")
    outside = "yes" if cell.is_outside(table.tolerance) else "no"

    def shown(name: str) -> Any:
        value = getattr(measured, name, None)
        return f"{value:.6g}" if quantity.is_tiny and value is not None and not math.isnan(value) else value

    return {
        "dataset": cell.place.dataset,
        "label": cell.place.label,
        **({"setting": cell.place.setting.text} if table.has_settings else {}),
        **({"chosen": cell.chosen} if table.has_chosen else {}),
        "budget_fraction": budget.value if budget.kind == "fraction" else None,
        "budget": budget.value if budget.kind in ("budget", "dataset") else None,
        "budget_mean": measured and measured.budget,
        **{name: getattr(measured, name, None) for name in ("n_runs", "n_streams", "n_seeds", "n_failed")},
        quantity.csv_column: shown("mean"),
        f"sd{percent}": shown("sd"),
        "sd_over_seeds": shown("sd_over_seeds"),
        "min": shown("minimum"),
        "max": shown("maximum"),
        "support_size_mean": measured and measured.support_size,
        f"published{percent}": published and published.value,
        **({f"published_sd{percent}": published and published.sd} if table.has_sds else {}),
        "published_dataset": cell.source[0] if published else None,
        "published_label": cell.source[1] if published else None,
        f"difference{points}": cell.difference,
        "difference_percent": cell.percent,
        **({"difference_in_sd": cell.in_sds} if table.has_sds else {}),
        "relative_to_reference": cell.relative,
        "outside_tolerance": None if cell.percent is None else outside,
    }


def md(table: Table | Listing) -> str:
    """Return the table in Markdown."""
    lines = [f"# {_md(table.title)}", "", *([_md(table.remark), ""] if table.remark else [])]
    if isinstance(table, Listing):
        return "\n".join([*lines, *_md_block(words.listing_lines(table), "")])
    if table.verdict:
        lines += [f"**{_md(table.verdict.text)}.** {_md(table.verdict.remark)}".rstrip(), ""]
    for block in words.blocks(table.main):
        lines += _md_block(block, "##")
    lines += [*(f"- {_md(note)}" for note in table.notes), ""]
    if table.main is not table:
        lines += [f"## {words.READINGS}", ""]
        for block in words.blocks(table):
            lines += _md_block(block, "###")
    if table.has_relative:
        lines += [f"## Relative to {_md(table.reference)}", "", _md(words.relative_caption(table)), ""]
        for block in words.ratio_blocks(table):
            lines += _md_block(block, "###")
    if table.has_published:
        unexplained = f"*{words.NO_EXPLANATION}*"
        items = [f"- {_md(text)}. {see or unexplained}" for text, see in words.outside(table)]
        lines += [f"## {words.outside_title(table)}", "", *(items or ["None."]), ""]
    if table.explanations:
        lines += [f"{words.EXPLANATIONS}:", ""]
        lines += [*(f"{i}. {_md(text)}" for i, text in enumerate(table.explanations, start=1)), ""]
    return "\n".join(lines)


def _md_block(block: Lines, level: str) -> list[str]:
    texts = [[_md(text) for text in row] for row in (block.header, *block.rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    sides = ["<" if i < block.n_text else ">" for i in range(len(widths))]
    head, *rows = (
        "| " + " | ".join(f"{text:{side}{width}}" for text, side, width in zip(row, sides, widths, strict=True)) + " |"
        for row in texts
    )
    ends = {"<": "-", ">": ":"}
    rule = "|" + "|".join("-" * (width + 1) + ends[side] for side, width in zip(sides, widths, strict=True)) + "|"
    return [*([f"{level} {_md(block.title)}", ""] if block.title else []), head, rule, *rows, ""]


def _md(text: str) -> str:
    """Return text that Markdown shows unchanged, within a table cell too."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", text)


def tex(table: Table | Listing) -> str:
    """Return the table in LaTeX for ``\\usepackage{booktabs,graphicx}``."""
    lines = [r"% needs \usepackage{booktabs,graphicx}"]
    if isinstance(table, Listing):
        return "\n".join([*lines, *_tex_blocks([words.listing_lines(table)], table.caption, table.name), ""])
    verdict = [f"{table.verdict.text}.", table.verdict.remark] if table.verdict else []
    lines += _tex_blocks(words.blocks(table), " ".join([table.caption, *verdict, *table.notes]), table.name)
    if table.has_relative:
        ratios = words.ratio_blocks(table)
        lines += ["", *_tex_blocks(ratios, words.relative_caption(table), f"{table.name}-relative")]
    if table.outside:
        unexplained = rf"\emph{{{words.NO_EXPLANATION}}}"
        items = [f"{_tex(text)}. {see or unexplained}" for text, see in words.outside(table)]
        lines += ["", rf"\paragraph{{{_tex(words.outside_title(table))}}}", *_tex_list("itemize", items)]
    if table.explanations:
        lines += ["", f"{words.EXPLANATIONS}:", *_tex_list("enumerate", map(_tex, table.explanations))]
    return "\n".join([*lines, ""])


def _tex_list(kind: str, items: Iterable[str]) -> list[str]:
    return [rf"\begin{{{kind}}}", *(rf"  \item {item}" for item in items), rf"\end{{{kind}}}"]


def _tex_blocks(blocks: list[Lines], caption: str, label: str) -> list[str]:
    """Return blocks as one floating table."""
    header, n_text = (blocks[0].header, blocks[0].n_text) if blocks else ([""], 1)
    body: list[str] = []
    for block in blocks:
        title = _tex_formula(block.title, r"\emph{{{}}}")
        body += [r"\midrule", *([rf"\multicolumn{{{len(header)}}}{{l}}{{{title}}} \\"] if block.title else [])]
        body += [" & ".join([_tex_formula(row[0]), *map(_tex, row[1:])]) + r" \\" for row in block.rows]
    return [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_tex(caption)}}}",
        rf"\label{{tab:{label}}}",
        # Scaled down to the text's width, never up.
        r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{'l' * n_text}{'r' * (len(header) - n_text)}}}",
        r"\toprule",
        " & ".join(map(_tex, header)) + r" \\",
        *body,
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table}",
    ]


_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "^": r"\textasciicircum{}",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "%": r"\%",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "—": "---",
    "†": r"\textsuperscript{\dag}",
}


def _tex(text: str) -> str:
    """Return text that LaTeX sets unchanged, with a minus sign before a number."""
    escaped = "".join(_LATEX.get(character, character) for character in " ".join(text.split()))
    return re.sub(r"(?<=[ (])-(?=\d)", "$-$", escaped)


def _tex_formula(text: str, other: str = "{}") -> str:
    """Return text that may start with a budget such as ``B = p/2``, which is a formula; ``other`` frames other text."""
    budget = re.match(r"B = [\d.e+]*(?: ?p)?(?:/\d+)?(?=$|,| \()", text)
    return f"${budget[0]}${_tex(text[budget.end() :])}" if budget else other.format(_tex(text))


def html(table: Table | Listing) -> Markup:
    """Return the part of a page that shows the table, without its title."""
    name = "listing.html.jinja" if isinstance(table, Listing) else "table.html.jinja"
    return Markup(environment().get_template(name).render(table=table, words=words, write=_written))


def _written(value: float, quantity: Quantity) -> str:
    return quantity.write(value)


@cache
def environment() -> Environment:
    """Return what the templates of this folder share."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(breakable=_breakable, minus=lambda text: text.replace("-", "−"), html=html)
    return made


def _breakable(label: str) -> Markup:
    """Return a column's label, escaped, with leave to break the line before a bracket."""
    return escape(label).replace("(", Markup("<wbr>(")).replace("[", Markup("<wbr>["))


# One writer for each kind of file in the folder tables/.
WRITERS: dict[str, Callable[[Table | Listing], str]] = {"csv": csv, "md": md, "tex": tex}


def plain(table: Table, width: int) -> str:
    """Return the table for a terminal of so many columns, with published numbers and differences below the measured."""
    lines = [table.caption]
    named = table.has_published or table.has_chosen
    for block in table.blocks:
        names = max(len(text) for text in (block.corner, *(row.full_label for row in block.rows)))
        start = names + (13 if named else 1)
        heads = [_two_lines(table.called(label)) for label in table.columns]
        widths = [
            max(8, *map(len, head), *(len(row.cells[i].chosen) for row in block.rows)) for i, head in enumerate(heads)
        ]
        for k, columns in enumerate(_chunks(widths, width - start)):
            lines += ["", f"{block.title}{' (continued)' if k and block.title else ''}"]
            for corner, line in zip(("", block.corner), zip(*(heads[i] for i in columns), strict=True), strict=True):
                lines.append(corner.ljust(start) + _right(line, columns, widths))
            for row in block.rows:
                first = row.full_label
                for kind, texts in _plain_lines([row.cells[i] for i in columns], table):
                    lines.append(
                        f"{first:<{names}}{f' {kind}' if named else ''}".ljust(start) + _right(texts, columns, widths)
                    )
                    first = ""
    # The first note explains the cells of the other formats.
    verdict = [f"{table.verdict.text}."] if table.verdict else []
    text = "\n".join([*(line.rstrip() for line in lines), "", *table.notes[1:], *verdict])
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def _plain_lines(cells: list[Cell], table: Table) -> Iterator[tuple[str, list[str]]]:
    """Yield what is shown of some cells of a row, line by line."""
    quantity = table.quantity
    yield "measured", [words.mean_text(cell, quantity, with_sd=False) for cell in cells]
    if any(cell.chosen for cell in cells):
        yield "setting", [cell.chosen or NONE for cell in cells]
    if any(cell.published for cell in cells):
        yield "published", [words.published_text(cell.published, quantity) for cell in cells]
        yield "difference", [words.signed(cell.percent, quantity) for cell in cells]
    if any(cell.in_sds is not None for cell in cells):
        yield "in sd", [words.in_sds(cell.in_sds).removesuffix(" sd") for cell in cells]


def _right(texts: Iterable[str], columns: list[int], widths: list[int]) -> str:
    return "  ".join(text.rjust(widths[i]) for text, i in zip(texts, columns, strict=True))


def _two_lines(label: str) -> tuple[str, str]:
    """Break a long label before its bracket."""
    at = next((i for i, character in enumerate(label) if character in "([" and i), None)
    return ("", label) if at is None else (label[:at].rstrip(), label[at:])


def _chunks(widths: list[int], width: int) -> list[list[int]]:
    """Return which columns stand beside one another."""
    chunks: list[list[int]] = [[]]
    used = 0
    for i, own in enumerate(widths):
        if chunks[-1] and used + own > width:
            chunks.append([])
            used = 0
        chunks[-1].append(i)
        used += own + 2
    return chunks
