"""What a table of a report consists of: cells, rows and blocks, and how far a cell may be from its published number."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from budgetrun.config.quantities import Quantity
from budgetrun.report.aggregate import NO_BUDGET, Measured, Place
from budgetrun.report.published import Number
from budgetrun.report.selection import Candidate
from budgetrun.store.read import Setting

DEFAULT_TOLERANCE = 0.05


class Tolerance(NamedTuple):
    """How far from the published number a cell may be: relative to it, or in published standard deviations.

    Where both are given, either of them counts. ``relative`` is None where standard deviations are asked for alone; a
    cell without a published one is then held to `DEFAULT_TOLERANCE`.
    """

    relative: float | None
    sds: float | None = None

    @property
    def text(self) -> str:
        """In words: ``5%``, ``3 published sd`` or ``5% or 3 published sd``."""
        relative = None if self.relative is None else f"{100 * self.relative:g}%"
        sds = None if self.sds is None else f"{self.sds:g} published sd"
        return " or ".join(filter(None, (relative, sds)))

    @property
    def twice(self) -> Tolerance:
        """Twice as far."""
        relative, sds = (None if limit is None else 2 * limit for limit in self)
        return Tolerance(relative, sds)


@dataclass(frozen=True)
class Cell:
    """One dataset, label, setting and budget: what was measured, what is published, and how far apart they are.

    ``measured`` and ``published`` (in the table's unit) are None where there is none. ``source`` is the dataset and
    the label that the number is published for; ``relative`` is measured / published, divided by the same ratio of the
    table's reference column; ``chosen`` is the setting that was chosen for the cell.
    """

    place: Place
    measured: Measured | None
    published: Number | None
    source: tuple[str, str]
    relative: float | None
    chosen: str = ""

    @property
    def has_budget(self) -> bool:
        """Whether the algorithm has a budget of its own (one without is shown in every block)."""
        return self.place.budget != NO_BUDGET and (self.measured is None or not math.isnan(self.measured.budget))

    @property
    def difference(self) -> float | None:
        """Measured minus published, in the table's unit (percentage points for errors)."""
        return self.measured.mean - self.published.value if self.measured and self.published else None

    @property
    def percent(self) -> float | None:
        """The difference in percent of the published number; None where that is 0."""
        if self.published is None or self.difference is None or not self.published.value:
            return None
        return 100.0 * self.difference / self.published.value

    @property
    def in_sds(self) -> float | None:
        """The difference in published standard deviations; None without one."""
        if self.published is None or self.difference is None or not self.published.sd:
            return None
        return self.difference / self.published.sd

    def is_outside(self, tolerance: Tolerance) -> bool:
        """Whether it is further from the published number than it may be, rounding aside."""
        relative, sds, in_sds = *tolerance, self.in_sds
        if sds is not None and in_sds is not None and abs(in_sds) > sds + 1e-9:
            return True
        if relative is None and (sds is None or in_sds is None):
            relative = DEFAULT_TOLERANCE
        return relative is not None and self.percent is not None and abs(self.percent) > 100.0 * relative + 1e-9


class Row(NamedTuple):
    """A row of a block.

    ``header`` is a dataset or a budget's title; ``mean_budget`` says what a budget that follows another algorithm came
    to, empty where the header already says it.
    """

    header: str
    setting: Setting
    mean_budget: str
    cells: list[Cell]

    @property
    def label(self) -> str:
        """The header and the setting."""
        return ", ".join(filter(None, (self.header, self.setting.text)))

    @property
    def full_label(self) -> str:
        """The label and, where the settings' budgets differ, the mean budget."""
        return f"{self.label} ({self.mean_budget})" if self.mean_budget and self.setting.items else self.label


class Block(NamedTuple):
    """The rows of a table under one title (empty for none); ``corner`` says what the row headers are."""

    title: str
    corner: str
    rows: list[Row]


class Outside(NamedTuple):
    """A cell outside the tolerance and the texts of the findings that explain it."""

    cell: Cell
    findings: list[str]

    @property
    def text(self) -> str:
        """Dataset and label, and setting and budget for an algorithm with them."""
        place, budget = self.cell.place, self.cell.place.budget.title() if self.cell.has_budget else ""
        return ", ".join(filter(None, (place.dataset, place.label, place.setting.text or self.cell.chosen, budget)))


@dataclass(frozen=True)
class Captioned:
    """A name for files, a title for headings, and a remark that completes the caption (may be empty)."""

    name: str
    title: str
    remark: str

    @property
    def caption(self) -> str:
        """Title and remark."""
        return f"{self.title}. {self.remark}".rstrip()


@dataclass(frozen=True)
class Table(Captioned):
    """One table of the report, ready to be written in any format."""

    quantity: Quantity
    columns: list[str]
    blocks: list[Block]
    tolerance: Tolerance
    relative_to: str | None
    outside: list[Outside]
    candidates: list[Candidate]
    notes: list[str] = field(default_factory=list)

    @cached_property
    def cells(self) -> list[Cell]:
        """All cells, block by block."""
        return [cell for block in self.blocks for row in block.rows for cell in row.cells]

    @cached_property
    def has_published(self) -> bool:
        """Whether any cell has a published number."""
        return any(cell.published for cell in self.cells)

    @cached_property
    def has_sds(self) -> bool:
        """Whether any cell can be compared in published standard deviations."""
        return any(cell.in_sds is not None for cell in self.cells)

    @cached_property
    def has_settings(self) -> bool:
        """Whether any row is of a setting."""
        return any(row.setting.items for block in self.blocks for row in block.rows)

    @cached_property
    def has_chosen(self) -> bool:
        """Whether any cell shows a setting that was chosen."""
        return any(cell.chosen for cell in self.cells)

    @cached_property
    def has_relative(self) -> bool:
        """Whether any cell can be compared relative to the reference column."""
        return any(cell.relative is not None for cell in self.cells)

    @property
    def explanations(self) -> list[str]:
        """The findings on the cells outside, each once, in the order of these."""
        return list(dict.fromkeys(text for item in self.outside for text in item.findings))


@dataclass(frozen=True)
class Listing(Captioned):
    """A simple table: the first ``n_text`` columns are words, the others numbers (None for none)."""

    header: list[str]
    rows: list[list[Any]]
    n_text: int
