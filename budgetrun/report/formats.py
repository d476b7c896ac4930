"""A table in Markdown, in LaTeX (booktabs) and in plain text for a terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from budgetrun.report.cells import Measured
from budgetrun.report.layout import Block, Cell, Listing, Outside, Row, Table
from budgetrun.report.quantities import Quantity

NONE = "—"
NO_EXPLANATION = "no explanation recorded"
EXPLANATIONS = "What was found"


def printed_text(value: float | None, quantity: Quantity) -> str:
    """Return a printed number, an em dash for None."""
    return NONE if value is None else quantity.printed_text(value)


def signed(value: float | None, quantity: Quantity) -> str:
    """Return a difference in percent with its sign, an em dash for None; what rounds to zero is ``+0.0%``."""
    digits = quantity.percent_digits
    return NONE if value is None else f"{round(value, digits) + 0.0:+.{digits}f}%"


def mean_and_sd(measured: Measured | None, quantity: Quantity) -> str:
    """Return ``11.31 ± 0.25``, with a dagger where runs failed, an em dash where nothing was measured."""
    if measured is None:
        return NONE
    spread = "" if math.isnan(measured.sd) else f" ± {quantity.text(measured.sd)}"
    return quantity.text(measured.mean) + spread + ("†" if measured.n_failed else "")


def in_sds(value: float | None) -> str:
    """Return a difference in printed standard deviations with its sign, an em dash for None."""
    return NONE if value is None else f"{round(value, 1) + 0.0:+.1f} sd"


def cell_text(cell: Cell, table: Table) -> str:
    """Return ``11.31 ± 0.25 (11.25, +0.5%)``; an em dash stands for a number that is not there.

    The setting that was chosen, and the difference in printed standard deviations, stand there, too.
    """
    text = mean_and_sd(cell.measured, table.quantity)
    beside = [cell.chosen] if cell.chosen else []
    if table.has_printed and (cell.measured is not None or cell.printed is not None):
        beside.append(", ".join([printed_text(cell.printed, table.quantity), *differences(cell, table)]))
    return f"{text} ({'; '.join(beside)})" if beside else text


def differences(cell: Cell, table: Table) -> list[str]:
    """Return the difference from the print in percent and, where it can be told, in printed standard deviations."""
    percent = [] if cell.percent is None else [signed(cell.percent, table.quantity)]
    return percent + ([] if cell.in_sds is None else [in_sds(cell.in_sds)])


def ratio_text(cell: Cell) -> str:
    """Return the ratio relative to the reference column, an em dash for none."""
    return NONE if cell.relative is None else f"{cell.relative:.3f}"


def relative_caption(table: Table) -> str:
    """Return the words over the ratios."""
    return f"Measured / printed, divided by the same ratio of {table.relative_to} on the same dataset."


def outside_title(table: Table) -> str:
    """Return the words over the list of cells outside the tolerance."""
    return f"Cells more than {table.tolerance.text} from the print"


def outside_text(item: Outside, table: Table) -> str:
    """Return place and numbers of a cell outside the tolerance, without its findings."""
    cell = item.cell
    assert cell.measured is not None
    assert cell.printed is not None
    assert cell.difference is not None
    quantity = table.quantity
    text = (
        f"{item.place}: measured {quantity.text(cell.measured.mean)}, printed {quantity.printed_text(cell.printed)}, "
        f"{quantity.difference(cell.difference)} ({', '.join(differences(cell, table))})"
    )
    return text if cell.relative is None else f"{text}, relative to {table.relative_to} {cell.relative:.3f}"


def see(item: Outside, table: Table, none: str = "") -> str:
    """Return ``See 1, 3.``, which of the table's explanations speak of the cell; ``none`` where none does."""
    numbers = sorted(table.explanations.index(text) + 1 for text in item.findings)
    return f"See {', '.join(map(str, numbers))}." if numbers else none


def number(value: Any) -> str:
    """Return a listing's number: counts whole, seconds with one to three digits, an em dash for none."""
    if value is None:
        return NONE
    if isinstance(value, int):
        return f"{value:,}"
    digits = 3 if abs(value) < 1 else 2 if abs(value) < 10 else 1
    return f"{value:,.{digits}f}"


def candidate_rows(table: Table, show: Callable[[float, Quantity], Any]) -> list[list[Any]]:
    """Return the header and a row for each setting among which a table chooses; ``show`` gives its numbers a form."""
    by_budget = any(not candidate.place.budget.is_everywhere for candidate in table.candidates)
    printed = any(candidate.printed is not None for candidate in table.candidates)
    header = ["dataset", "algorithm", *(["budget"] if by_budget else []), "setting", "chosen", "streams that chose it"]
    rows: list[list[Any]] = [[*header, "decided by", "mean", "sd", *(["printed"] if printed else [])]]
    for candidate in table.candidates:
        place, quantity = candidate.place, candidate.quantity
        budget = [place.budget.title()] if by_budget else []
        chosen = "yes" if candidate.chosen else "no"
        numbers = [candidate.mean, candidate.sd, *([candidate.printed] if printed else [])]
        rows.append(
            [
                *(place.dataset, place.label, *budget, place.setting.text, chosen, candidate.n_streams),
                quantity.in_words,
                *("" if n is None or math.isnan(n) else show(n, quantity) for n in numbers),
            ]
        )
    return rows


def escape_markdown(text: str) -> str:
    """Return text that Markdown shows as it is, within a table cell too."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", text)


LATEX = {
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


def escape_latex(text: str) -> str:
    """Return text that LaTeX sets as it is."""
    return "".join(LATEX.get(character, character) for character in " ".join(text.split()))


def _latex_cell(text: str) -> str:
    return re.sub(r"(?<=[ (])-(?=\d)", "$-$", escape_latex(text))


def markdown(table: Table) -> str:
    """Return the table in Markdown: a block for each budget (or dataset), then the cells outside the tolerance."""
    lines = [f"# {escape_markdown(table.name)}", "", escape_markdown(table.caption), ""]
    lines += [f"- {escape_markdown(note)}" for note in table.notes]
    lines.append("")
    lines += _markdown_blocks(table, "##", lambda cell: cell_text(cell, table))
    if table.has_relative:
        title = f"## Relative to {escape_markdown(str(table.relative_to))}"
        lines += [title, "", escape_markdown(relative_caption(table)), ""]
        lines += _markdown_blocks(table, "###", ratio_text)
    if table.has_printed:
        lines += [f"## {outside_title(table)}", ""]
        lines += [
            f"- {escape_markdown(outside_text(item, table))}. {see(item, table, f'*{NO_EXPLANATION}*')}"
            for item in table.outside
        ] or ["None."]
        lines.append("")
    if table.explanations:
        lines += [f"{EXPLANATIONS}:", ""]
        lines += [f"{i}. {escape_markdown(text)}" for i, text in enumerate(table.explanations, start=1)]
        lines.append("")
    return "\n".join(lines)


def _markdown_blocks(table: Table, level: str, show: Callable[[Cell], str]) -> list[str]:
    lines = []
    for block in table.blocks:
        if block.title:
            lines += [f"{level} {escape_markdown(block.title)}", ""]
        header = [block.corner, *table.columns]
        rows = [[row.full_label, *(show(cell) for cell in row.cells)] for row in block.rows]
        lines += [*_markdown_grid(header, rows, 1), ""]
    return lines


def _markdown_grid(header: list[str], rows: list[list[str]], n_text: int) -> list[str]:
    texts = [[escape_markdown(text) for text in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(header))]
    aligned = [
        f"| {' | '.join(row[i].ljust(w) if i < n_text else row[i].rjust(w) for i, w in enumerate(widths))} |"
        for row in texts
    ]
    rule = "|" + "|".join("-" * (w + 2) if i < n_text else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|"
    return [aligned[0], rule, *aligned[1:]]


def markdown_listing(listing: Listing) -> str:
    """Return a simple table in Markdown."""
    grid = _markdown_grid(listing.header, _listing_texts(listing), listing.n_text)
    return "\n".join([f"# {listing.name}", "", escape_markdown(listing.caption), "", *grid, ""])


def _listing_texts(listing: Listing) -> list[list[str]]:
    return [[*row[: listing.n_text], *(number(value) for value in row[listing.n_text :])] for row in listing.rows]


def latex(table: Table) -> str:
    """Return the table in LaTeX for ``\\usepackage{booktabs,graphicx}``."""
    caption = " ".join([table.caption, *table.notes])
    lines = _latex_table(table, caption, table.file_name, lambda cell: cell_text(cell, table))
    if table.has_relative:
        lines += ["", *_latex_table(table, relative_caption(table), f"{table.file_name}-relative", ratio_text)]
    if table.outside:
        lines += ["", rf"\paragraph{{{escape_latex(outside_title(table))}}}", r"\begin{itemize}"]
        lines += [
            rf"  \item {_latex_cell(outside_text(item, table))}. " + see(item, table, rf"\emph{{{NO_EXPLANATION}}}")
            for item in table.outside
        ]
        lines.append(r"\end{itemize}")
    if table.explanations:
        items = [rf"  \item {escape_latex(text)}" for text in table.explanations]
        lines += ["", f"{EXPLANATIONS}:", r"\begin{enumerate}", *items, r"\end{enumerate}"]
    return "\n".join([r"% needs \usepackage{booktabs,graphicx}", *lines, ""])


def _latex_table(table: Table, caption: str, label: str, show: Callable[[Cell], str]) -> list[str]:
    body: list[str] = []
    for block in table.blocks:
        body.append(r"\midrule")
        if block.title:
            body.append(rf"\multicolumn{{{len(table.columns) + 1}}}{{l}}{{{_latex_title(block)}}} \\")
        for row in block.rows:
            body.append(
                " & ".join([_latex_label(block, row), *(_latex_cell(show(cell)) for cell in row.cells)]) + r" \\"
            )
    return _latex_frame(["", *table.columns], body, caption, label, 1)


def _latex_label(block: Block, row: Row) -> str:
    # A budget's title is a formula; "no budget" and a dataset are not.
    if block.corner != "budget" or not row.header.startswith("B"):
        return escape_latex(row.full_label)
    return f"${row.header}$" + escape_latex(row.full_label[len(row.header) :])


def _latex_title(block: Block) -> str:
    return f"${block.title}$" if block.by_budget else rf"\emph{{{escape_latex(block.title)}}}"


def _latex_frame(header: list[str], body: list[str], caption: str, label: str, n_text: int) -> list[str]:
    return [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape_latex(caption)}}}",
        rf"\label{{tab:{label}}}",
        # Scaled down to the text's width, never up.
        r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{'l' * n_text}{'r' * (len(header) - n_text)}}}",
        r"\toprule",
        " & ".join(escape_latex(text) for text in header) + r" \\",
        *body,
        r"\bottomrule",
        r"\end{tabular}}",
        r"\end{table}",
    ]


def latex_listing(listing: Listing) -> str:
    """Return a simple table in LaTeX for ``\\usepackage{booktabs,graphicx}``."""
    body = [" & ".join(_latex_cell(text) for text in row) + r" \\" for row in _listing_texts(listing)]
    frame = _latex_frame(listing.header, [r"\midrule", *body], listing.caption, listing.name, listing.n_text)
    return "\n".join([r"% needs \usepackage{booktabs,graphicx}", *frame, ""])


def plain(table: Table, width: int) -> str:
    """Return the table for a terminal of so many columns: measured, printed and difference under one another."""
    lines = [table.caption]
    for block in table.blocks:
        names = max(len(text) for text in (block.corner, *(row.full_label for row in block.rows)))
        named = table.has_printed or table.has_chosen
        start = names + (13 if named else 1)
        chosen = [max(len(row.cells[i].chosen) for row in block.rows) for i in range(len(table.columns))]
        for k, columns in enumerate(_chunks(table.columns, width - start, chosen)):
            lines += ["", f"{block.title}{' (continued)' if k and block.title else ''}"]
            heads = [_two_lines(table.columns[i]) for i in columns]
            widths = [max(8, chosen[i], *map(len, head)) for i, head in zip(columns, heads, strict=True)]
            for corner, head in zip(("", block.corner), zip(*heads, strict=True), strict=True):
                lines.append(corner.ljust(start) + _right(head, widths))
            for row in block.rows:
                cells = [row.cells[i] for i in columns]
                kinds = {"measured": [_plain_mean(cell, table.quantity) for cell in cells]}
                if any(cell.chosen for cell in cells):
                    kinds["setting"] = [cell.chosen or NONE for cell in cells]
                if any(cell.printed is not None for cell in cells):
                    kinds["printed"] = [printed_text(cell.printed, table.quantity) for cell in cells]
                    kinds["difference"] = [signed(cell.percent, table.quantity) for cell in cells]
                if any(cell.in_sds is not None for cell in cells):
                    kinds["in sd"] = [in_sds(cell.in_sds).removesuffix(" sd") for cell in cells]
                for j, (kind, texts) in enumerate(kinds.items()):
                    said = f" {kind}" if named else ""
                    lines.append(f"{'' if j else row.full_label:<{names}}{said}".ljust(start) + _right(texts, widths))
    # The first note explains the cells of the other formats.
    text = "\n".join([*(line.rstrip() for line in lines), "", *table.notes[1:]])
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def _plain_mean(cell: Cell, quantity: Quantity) -> str:
    if cell.measured is None:
        return NONE
    return quantity.text(cell.measured.mean) + ("†" if cell.measured.n_failed else "")


def _right(texts: Iterable[str], widths: list[int]) -> str:
    return "  ".join(text.rjust(width) for text, width in zip(texts, widths, strict=True))


def _two_lines(label: str) -> tuple[str, str]:
    """Break a long label before its bracket."""
    at = next((i for i, character in enumerate(label) if character in "([" and i), None)
    return ("", label) if at is None else (label[:at].rstrip(), label[at:])


def _chunks(labels: list[str], width: int, least: list[int]) -> list[list[int]]:
    chunks: list[list[int]] = [[]]
    used = 0
    for i, label in enumerate(labels):
        need = max(8, least[i], *map(len, _two_lines(label))) + 2
        if chunks[-1] and used + need > width + 2:
            chunks.append([])
            used = 0
        chunks[-1].append(i)
        used += need
    return chunks
