"""What a table of a report is made of: cells, rows and blocks, and how far a cell may be from the print."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from budgetrun.plotting import slug
from budgetrun.report.cells import Budget, Measured, Printed
from budgetrun.report.choose import Candidate
from budgetrun.report.quantities import Quantity
from budgetrun.store.read import Setting

DEFAULT_TOLERANCE = 0.05


class Tolerance(NamedTuple):
    """How far from the print a cell may be: relative to the print, or in printed standard deviations; either counts.

    ``relative`` is None where standard deviations are asked for alone; a cell whose print has none is then held to
    `DEFAULT_TOLERANCE`.
    """

    relative: float | None
    sds: float | None = None

    @property
    def text(self) -> str:
        """In words: ``5%``, ``3 printed sd`` or ``5% or 3 printed sd``."""
        relative = None if self.relative is None else f"{100 * self.relative:g}%"
        sds = None if self.sds is None else f"{self.sds:g} printed sd"
        return " or ".join(filter(None, (relative, sds)))

    @property
    def twice(self) -> Tolerance:
        """Twice as far."""
        relative, sds = (None if limit is None else 2 * limit for limit in self)
        return Tolerance(relative, sds)


@dataclass(frozen=True)
class Cell:
    """One dataset, learner, setting and budget: ours, the print's, and how far apart.

    ``measured`` or ``printed`` (in the table's unit) is None where there is none; ``setting`` is the learner's own;
    ``relative`` is (ours / printed) divided by the same ratio of the table's reference column. ``printed_sd`` is the
    printed standard deviation, None or 0 for none; ``chosen`` is the setting that was chosen for the cell.
    """

    dataset: str
    label: str
    budget: Budget
    setting: Setting
    measured: Measured | None
    printed: float | None
    source: tuple[str, str]
    relative: float | None
    printed_sd: float | None = None
    chosen: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus printed, in the table's unit (percentage points for errors)."""
        return None if self.measured is None or self.printed is None else self.measured.mean - self.printed

    @property
    def percent(self) -> float | None:
        """Ours minus printed, in percent of the printed number; None where that is 0."""
        return None if self.difference is None or not self.printed else 100.0 * self.difference / self.printed

    @property
    def in_sds(self) -> float | None:
        """Ours minus printed, in printed standard deviations; None without one."""
        return None if self.difference is None or not self.printed_sd else self.difference / self.printed_sd

    def is_outside(self, tolerance: Tolerance) -> bool:
        """Whether ours is further from the print than it may be, as far as rounding tells."""
        by_sds = tolerance.sds is not None and self.in_sds is not None
        if by_sds and abs(self.in_sds or 0.0) > (tolerance.sds or 0.0) + 1e-9:
            return True
        relative = tolerance.relative
        if relative is None and not by_sds:
            relative = DEFAULT_TOLERANCE
        return relative is not None and self.percent is not None and abs(self.percent) > 100.0 * relative + 1e-9


class Row(NamedTuple):
    """A line of a block.

    ``header`` is a dataset or a budget's title; ``mean_budget`` says what a budget that follows another learner came
    to, empty where the header already says it.
    """

    header: str
    setting: Setting
    mean_budget: str
    cells: list[Cell]

    @property
    def label(self) -> str:
        """The header and the setting."""
        return ", ".join(part for part in (self.header, self.setting.text) if part)

    @property
    def full_label(self) -> str:
        """The label and, where the settings' budgets differ, the mean budget."""
        return f"{self.label} ({self.mean_budget})" if self.mean_budget and self.setting.items else self.label


class Block(NamedTuple):
    """A part of a table under one title (empty for none); ``by_budget`` tells whether the title is a budget."""

    title: str
    corner: str
    by_budget: bool
    rows: list[Row]


class Outside(NamedTuple):
    """A cell outside the tolerance and the texts of the findings that explain it."""

    cell: Cell
    findings: list[str]

    @property
    def place(self) -> str:
        """Dataset, learner and, for a learner with them, its setting and budget."""
        budget = self.cell.budget.title() if has_budget(self.cell) else ""
        parts = (self.cell.dataset, self.cell.label, self.cell.setting.text or self.cell.chosen, budget)
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True)
class Table:
    """One table of the report, ready to be written in any format."""

    name: str
    caption: str
    quantity: Quantity
    notes: list[str]
    columns: list[str]
    blocks: list[Block]
    tolerance: Tolerance
    relative_to: str | None
    printed: Printed
    outside: list[Outside]
    candidates: list[Candidate]

    @property
    def file_name(self) -> str:
        """The name without what a file name cannot hold."""
        return slug(self.name)

    @property
    def cells(self) -> list[Cell]:
        """All cells, block by block."""
        return [cell for block in self.blocks for row in block.rows for cell in row.cells]

    @property
    def has_printed(self) -> bool:
        """Whether any cell has a printed number."""
        return any(cell.printed is not None for cell in self.cells)

    @property
    def has_sds(self) -> bool:
        """Whether any cell can be compared in printed standard deviations."""
        return any(cell.in_sds is not None for cell in self.cells)

    @property
    def has_chosen(self) -> bool:
        """Whether any cell shows a setting that was chosen."""
        return any(cell.chosen for cell in self.cells)

    @property
    def explanations(self) -> list[str]:
        """The findings on the cells outside, each once, in the order of these."""
        return list(dict.fromkeys(text for item in self.outside for text in item.findings))

    @property
    def has_relative(self) -> bool:
        """Whether any cell can be compared relative to the reference column."""
        return any(cell.relative is not None for cell in self.cells)


@dataclass(frozen=True)
class Listing:
    """A simple table: the first ``n_text`` columns are words, the others numbers (None for none)."""

    name: str
    caption: str
    header: list[str]
    rows: list[list[Any]]
    n_text: int


def has_budget(cell: Cell) -> bool:
    """Whether the cell's learner has a budget of its own (a learner without one stands in every block)."""
    return cell.budget.kind != "none" and (cell.measured is None or not math.isnan(cell.measured.budget))
