"""Tables in words: cells, differences and whole tables as text, the same for every format."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from budgetrun.base.errors import counted
from budgetrun.config.quantities import Quantity
from budgetrun.results.report.layout import Cell, Listing, Outside, Table
from budgetrun.results.report.published import Number

NONE = "—"
NO_EXPLANATION = "no explanation recorded"
EXPLANATIONS = "What was found"
READINGS = "All readings side by side"


class Lines(NamedTuple):
    """A block of a table as text; the first ``n_text`` columns are words."""

    title: str
    header: list[str]
    rows: list[list[str]]
    n_text: int = 1


def listing_lines(listing: Listing) -> Lines:
    """Return a listing as text."""

    def shown(row: list[Any]) -> list[str]:
        labels = (value if isinstance(value, tuple) else (value,) for value in row[: listing.n_text])
        return [*("; ".join(map(listing.called, one)) for one in labels), *map(number, row[listing.n_text :])]

    header = [listing.called(name).replace("_seconds", " seconds") for name in listing.header]
    return Lines("", header, list(map(shown, listing.rows)), listing.n_text)


def blocks(table: Table) -> list[Lines]:
    """Return the blocks of a table as text."""
    return _blocks(table, lambda cell: cell_text(cell, table))


def ratio_blocks(table: Table) -> list[Lines]:
    """Return the same blocks with the ratios relative to the reference column."""
    return _blocks(table, ratio_text)


def _blocks(table: Table, show: Callable[[Cell], str]) -> list[Lines]:
    columns = [table.called(column) for column in table.columns]
    return [
        Lines(block.title, [block.corner, *columns], [[row.full_label, *map(show, row.cells)] for row in block.rows])
        for block in table.blocks
    ]


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


def candidate_rows(
    table: Table, show: Callable[[float, Quantity], Any], called: Callable[[str], str]
) -> list[list[Any]]:
    """Return the header and a row for each setting that a table chooses from.

    ``show`` writes its numbers, ``called`` returns what labels are called.
    """
    by_budget = any(not candidate.place.budget.is_everywhere for candidate in table.candidates)
    published = any(candidate.published is not None for candidate in table.candidates)
    header = ["dataset", "algorithm", *(["budget"] if by_budget else []), "setting", "chosen", "streams that chose it"]
    rows: list[list[Any]] = [[*header, "decided by", "mean", "sd", *(["published"] if published else [])]]
    for candidate in table.candidates:
        place, quantity, measured = candidate.place, candidate.quantity, candidate.measured
        budget = [place.budget.title()] if by_budget else []
        chosen = "yes" if candidate.n_streams else "no"
        numbers = [measured.mean, measured.sd, *([candidate.published] if published else [])]
        rows.append(
            [
                *(called(place.dataset), called(place.label), *budget, place.setting.text, chosen, candidate.n_streams),
                quantity.in_words,
                *("" if n is None or math.isnan(n) else show(n, quantity) for n in numbers),
            ]
        )
    return rows
