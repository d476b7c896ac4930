"""Tables in words: cells, differences and whole tables as text, the same for every format."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

from budgetrun.base import grid
from budgetrun.base.errors import counted
from budgetrun.base.grid import Grid
from budgetrun.config.quantities import Quantity
from budgetrun.results.report.layout import Block, Cell, Listing, Outside, Row, Table
from budgetrun.results.report.published import Number

NONE = "—"
NO_EXPLANATION = "no explanation recorded"
EXPLANATIONS = "What was found"
READINGS = "All readings side by side"


def listing_grid(listing: Listing) -> Grid:
    """Return a listing in words."""

    def named(value: Any) -> str:
        return "; ".join(map(listing.called, value if isinstance(value, tuple) else (value,)))

    n, header = listing.n_text, [listing.called(name).replace("_seconds", " seconds") for name in listing.header]
    rows = [[*map(named, row[:n]), *map(number, row[n:])] for row in listing.rows]
    return Grid(header, rows, words=range(listing.n_text))


def grids(table: Table, show: Callable[[Cell], str] | None = None) -> list[Grid]:
    """Return the blocks of a table in words; ``show`` writes a cell, by default as `cell_text`."""
    show = show or partial(cell_text, table=table)
    return _grids(table, lambda block, row: [row.full_label, *map(show, row.cells)])


def page_grids(table: Table) -> list[Grid]:
    """Return the blocks of a table as a page shows them: below a number, its setting and what is published."""
    return _grids(table, partial(_page_row, table))


def _grids(table: Table, words_of: Callable[[Block, Row], Sequence[str | grid.Cell]]) -> list[Grid]:
    columns = [table.called(column) for column in table.columns]
    return [
        Grid([block.corner, *columns], [words_of(block, row) for row in block.rows], block.title)
        for block in table.blocks
    ]


def _page_row(table: Table, block: Block, row: Row) -> list[grid.Cell]:
    budget = row.cells[0].place.budget.value if block.corner == "budget" else None
    head = grid.Cell(row.label, budget, (row.mean_budget,) if row.mean_budget else ())
    best = are_best(row.cells, table.quantity)
    return [head, *(_page_cell(cell, is_best, table) for cell, is_best in zip(row.cells, best, strict=True))]


def _page_cell(cell: Cell, is_best: bool, table: Table) -> grid.Cell:
    quantity, below = table.quantity, [cell.chosen] if cell.chosen else []
    if cell.published:
        published = f"published {published_text(cell.published, quantity)}"
        if cell.percent is not None:
            near, far = not cell.is_outside(table.tolerance), cell.is_outside(table.tolerance.twice)
            badge = Markup('{} <span class="difference {}">{}</span>')
            apart = ", ".join(differences(cell, table)).replace("-", "−")
            published = badge.format(published, "near" if near else "far" if far else "off", apart)
        below.append(published)
    mean = cell.measured and cell.measured.mean
    mark = " ".join([*(["chosen"] if cell.chosen else []), *(["best"] if is_best else [])])
    return grid.Cell(mean_text(cell, quantity), mean, tuple(below), hover(cell, quantity), mark)


def published_text(number: Number | None, quantity: Quantity) -> str:
    """Return a published number, an em dash for None."""
    return NONE if number is None else quantity.write_published(number.value)


def signed(value: float | None, quantity: Quantity) -> str:
    """Return a difference in percent with its sign, an em dash for None; what rounds to zero is ``+0.0%``."""
    digits = quantity.percent_digits
    return NONE if value is None else f"{round(value, digits) + 0.0:+.{digits}f}%"


def in_sds(value: float | None) -> str:
    """Return a difference in published standard deviations with its sign, an em dash for None."""
    return NONE if value is None else f"{round(value, 1) + 0.0:+.1f} sd"


def mean_text(cell: Cell, quantity: Quantity, *, with_sd: bool = True) -> str:
    """Return ``11.31 ± 0.25``, with a dagger where runs failed, an em dash where nothing was measured."""
    m = cell.measured
    if m is None:
        return NONE
    spread = f" ± {quantity.write(m.spread)}" if with_sd and not math.isnan(m.spread) else ""
    return quantity.write(m.mean) + spread + ("†" if m.n_failed else "")


def differences(cell: Cell, table: Table) -> list[str]:
    """Return the difference from the published number in percent and, where known, in standard deviations."""
    percent = [] if cell.percent is None else [signed(cell.percent, table.quantity)]
    return percent + ([] if cell.in_sds is None else [in_sds(cell.in_sds)])


def cell_text(cell: Cell, table: Table) -> str:
    """Return ``11.31 ± 0.25 (11.25, +0.5%)``; an em dash stands for a missing number.

    The setting that was chosen, and the difference in published standard deviations, are given, too.
    """
    text = mean_text(cell, table.quantity)
    beside = [cell.chosen] if cell.chosen else []
    if cell.place.label in table.published_columns and (cell.measured or cell.published):
        beside.append(", ".join([published_text(cell.published, table.quantity), *differences(cell, table)]))
    return f"{text} ({'; '.join(beside)})" if beside else text


def hover(cell: Cell, quantity: Quantity) -> str:
    """Return what is behind a cell: the numbers of streams, seeds and runs, and the range of these."""
    m = cell.measured
    if m is None:
        return ""
    if m.n_runs == 1:
        return "a single run"
    low, high = quantity.write(m.minimum), quantity.write(m.maximum)
    seeds = f", {m.n_seeds:,} seeds" if m.n_seeds > 1 else ""
    return f"n = {counted(m.n_streams, 'stream')}{seeds}; {m.n_runs:,} runs from {low} to {high}"


def are_best(cells: list[Cell], quantity: Quantity) -> list[bool]:
    """Return which cells of a row show its smallest number; none where that is no merit, or where all are equal."""
    means = [cell.measured.mean for cell in cells if cell.measured]
    if not quantity.lower_is_better or len(set(map(quantity.write, means))) < 2:
        return [False] * len(cells)
    smallest = quantity.write(min(means))
    return [cell.measured is not None and quantity.write(cell.measured.mean) == smallest for cell in cells]


def leaders(table: Table) -> str:
    """Return in a sentence which columns have the smallest number in how many rows; empty where that is no merit."""
    found: Counter[str] = Counter()
    rows = [row for block in table.main.blocks for row in block.rows]
    for row in rows:
        best = are_best(row.cells, table.quantity)
        found.update(table.called(cell.place.label) for cell, is_best in zip(row.cells, best, strict=True) if is_best)
    if not found:
        return ""
    parts = (f"{name}{f' in {n} of {len(rows)} rows' if len(rows) > 1 else ''}" for name, n in found.most_common(3))
    return f"Smallest {table.quantity.noun}: {'; '.join(parts)}."


def ratio_text(cell: Cell) -> str:
    """Return the ratio relative to the reference column, an em dash for none."""
    return NONE if cell.relative is None else f"{cell.relative:.3f}"


def relative_caption(table: Table) -> str:
    """Return the words above the ratios."""
    return f"Measured / published, divided by the same ratio of {table.reference} on the same dataset."


def outside_title(table: Table) -> str:
    """Return the heading of the list of cells outside the tolerance."""
    return f"Cells that differ from the published value by more than {table.tolerance.text}"


def outside(table: Table) -> list[tuple[str, str]]:
    """Return place and numbers of each cell outside the tolerance, and ``See 1, 3.``, the findings on it."""
    return [(_outside_text(item, table), _see(item, table)) for item in table.outside]


def _outside_text(item: Outside, table: Table) -> str:
    cell, quantity = item.cell, table.quantity
    assert cell.measured is not None
    assert cell.difference is not None
    text = (
        f"{item.text}: measured {quantity.write(cell.measured.mean)}, published "
        f"{published_text(cell.published, quantity)}, {quantity.difference(cell.difference)} "
        f"({', '.join(differences(cell, table))})"
    )
    return text if cell.relative is None else f"{text}, relative to {table.reference} {cell.relative:.3f}"


def _see(item: Outside, table: Table) -> str:
    numbers = sorted(table.explanations.index(text) + 1 for text in item.findings)
    return f"See {', '.join(map(str, numbers))}{'; it stays open' if item.is_open else ''}." if numbers else ""


def number(value: Any) -> str:
    """Return a listing's number: counts whole, seconds with one to three digits, an em dash for none."""
    if value is None:
        return NONE
    if isinstance(value, int):
        return f"{value:,}"
    digits = 3 if abs(value) < 1 else 2 if abs(value) < 10 else 1
    return f"{value:,.{digits}f}"


def candidate_rows(table: Table) -> list[list[Any]]:
    """Return the header and a row for each setting that a table chooses from, as in the CSV file."""
    by_budget = any(not candidate.place.budget.is_everywhere for candidate in table.candidates)
    published = any(candidate.published is not None for candidate in table.candidates)
    header = ["dataset", "algorithm", *(["budget"] if by_budget else []), "setting", "chosen", "streams that chose it"]
    rows: list[list[Any]] = [[*header, "decided by", "mean", "sd", *(["published"] if published else [])]]
    for candidate in table.candidates:
        place, quantity, measured = candidate.place, candidate.quantity, candidate.measured
        budget = [place.budget.title()] if by_budget else []
        chosen = ["yes" if candidate.n_streams else "no", candidate.n_streams, quantity.in_words]
        numbers = [measured.mean, measured.sd, *([candidate.published] if published else [])]
        rows.append([place.dataset, place.label, *budget, place.setting.text, *chosen, *numbers])
    return rows


def candidate_grid(table: Table) -> Grid:
    """Return the settings that a table chooses from, in words."""
    header, *rows = candidate_rows(table)
    n = header.index("decided by") + 1
    shown = []
    for candidate, row in zip(table.candidates, rows, strict=True):
        numbers = ("" if value is None or math.isnan(value) else candidate.quantity.write(value) for value in row[n:])
        shown.append([*map(table.called, row[:2]), *map(str, row[2:n]), *numbers])
    return Grid(header, shown, words={i for i in range(n) if header[i] != "streams that chose it"})
