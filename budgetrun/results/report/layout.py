"""The parts of a report's table: cells, rows and blocks, and the tolerance around published numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from budgetrun.config.quantities import Quantity
from budgetrun.results.report.aggregate import NO_BUDGET, Measured, Place
from budgetrun.results.report.published import Number
from budgetrun.results.report.selection import Candidate
from budgetrun.results.store.read import Setting

DEFAULT_TOLERANCE = 0.05


class Tolerance(NamedTuple):
    """The largest difference from a published number: relative to it, or in published standard deviations.

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
    """The measured and the published number of a dataset, label, setting and budget, and their difference.

    ``measured`` and ``published`` (in the table's unit) are None where there is none. ``source`` is the dataset and
    the label that the number is published for; ``relative`` is measured / published, divided by the same ratio of the
    table's reference column; ``chosen`` is the setting that was chosen for the cell. ``is_printed`` says
    whether the number is published for its very budget; else a number without one is repeated in each block.
    """

    place: Place
    measured: Measured | None
    published: Number | None
    source: tuple[str, str]
    relative: float | None
    chosen: str = ""
    is_printed: bool = False

    @property
    def has_budget(self) -> bool:
        """True if the algorithm has a budget of its own (one without is shown in every block)."""
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
        """Return True if it is further from the published number than it may be, rounding aside."""
        relative, sds, in_sds = *tolerance, self.in_sds
        if sds is not None and in_sds is not None and abs(in_sds) > sds + 1e-9:
            return True
        if relative is None and (sds is None or in_sds is None):
            relative = DEFAULT_TOLERANCE
        return relative is not None and self.percent is not None and abs(self.percent) > 100.0 * relative + 1e-9


class Row(NamedTuple):
    """A row of a block.

    ``header`` is a dataset or a budget's title; ``mean_budget`` says what a budget that follows another algorithm came
    to, empty where the header already says it. ``number`` is the budget of a single stream of the user's; ``same`` has
    the cells of rows with the same number, which are not shown.
    """

    header: str
    setting: Setting
    mean_budget: str
    cells: list[Cell]
    number: int | None = None
    same: tuple[Cell, ...] = ()

    @property
    def label(self) -> str:
        """The header and the setting."""
        return ", ".join(filter(None, (self.header, self.setting.text)))

    @property
    def full_label(self) -> str:
        """The label and, on a user's own stream and where the settings' budgets differ, the mean budget."""
        shown = self.mean_budget and (self.setting.items or self.number is not None)
        return f"{self.label} ({self.mean_budget})" if shown else self.label


class Block(NamedTuple):
    """The rows of a table under one title (empty for none); ``corner`` says what the row headers are."""

    title: str
    corner: str
    rows: list[Row]


class Outside(NamedTuple):
    """A cell outside the tolerance, its name, and the texts of the findings on it.

    It is open where none of these explains it.
    """

    cell: Cell
    text: str
    findings: list[str]
    is_open: bool

    @property
    def key(self) -> Place:
        """A place that no other cell has."""
        return self.key_of(self.cell)

    @staticmethod
    def key_of(cell: Cell) -> Place:
        """Return the place that identifies a cell: one without a budget is shown in every block, but is one."""
        return cell.place if cell.has_budget else cell.place._replace(budget=NO_BUDGET)


@dataclass(frozen=True)
class Verdict:
    """Counts of published cells: within the tolerance, outside but explained, and open.

    ``missing`` counts the published cells that were not measured. ``first`` is the number within the tolerance if every
    column and row has its first reading, None where no other reading fits better.
    """

    within: int
    explained: int
    open: int
    missing: int
    tolerance: Tolerance
    first: int | None = None

    @property
    def text(self) -> str:
        """In words: ``58 of 75 published cells within 5%, 9 explained, 8 open``."""
        n = self.within + self.explained + self.open
        if not n:
            return f"none of {self.missing} published cell{'' if self.missing == 1 else 's'} measured"
        cells = f"published cell{'' if n == 1 else 's'}"
        text = f"{self.within} of {n} {cells} within {self.tolerance.text.replace(' or ', ' and ')}"
        others = {"explained": self.explained, "open": self.open, "not measured": self.missing}
        return ", ".join([text, *(f"{count} {what}" for what, count in others.items() if count)])

    @property
    def remark(self) -> str:
        """A remark on the readings; empty where there is one of each."""
        if self.first is None:
            return ""
        return (
            "Where the paper can be read in several ways, this counts the reading that fits best; "
            f"with the first reading of each, {self.first} are within."
        )


@dataclass(frozen=True)
class Captioned:
    """A name for files, a title for headings, and a remark that completes the caption (may be empty)."""

    name: str
    title: str
    remark: str
    # Label -> title.
    titles: dict[str, str]

    def called(self, label: str) -> str:
        """Return the title of a dataset or an algorithm."""
        return self.titles.get(label, label)

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
    candidates: list[Candidate]
    outside: list[Outside] = field(default_factory=list)
    # The columns and the datasets that fit best, of several readings.
    best: tuple[list[str], list[str]] = ([], [])
    # None without published numbers.
    verdict: Verdict | None = None
    notes: list[str] = field(default_factory=list)

    @cached_property
    def main(self) -> Table:
        """The table with the readings that fit best alone; itself where there are no others."""
        columns, datasets = self.best
        at = [i for i, column in enumerate(self.columns) if column in columns]
        blocks = []
        for block in self.blocks:
            rows = [row for row in block.rows if row.cells[0].place.dataset in datasets]
            if rows:
                blocks.append(block._replace(rows=[row._replace(cells=[row.cells[i] for i in at]) for row in rows]))
        main = replace(self, columns=columns, blocks=blocks)
        return self if len(main.cells) == len(self.cells) else main

    @cached_property
    def cells(self) -> list[Cell]:
        """All cells, block by block."""
        return [cell for block in self.blocks for row in block.rows for cell in (*row.cells, *row.same)]

    @cached_property
    def shows(self) -> set[str]:
        """Those of ``published``, ``in_sds``, ``chosen``, ``relative`` and ``setting`` that any cell or row has."""
        names = ("published", "in_sds", "chosen", "relative")
        found = {name for name in names if any(getattr(cell, name) not in (None, "") for cell in self.cells)}
        return found | {"setting" for block in self.blocks for row in block.rows if row.setting.items}

    @cached_property
    def published_columns(self) -> set[str]:
        """The columns with a published number."""
        return {cell.place.label for cell in self.cells if cell.published}

    @property
    def reference(self) -> str:
        """The title of the reference column."""
        return self.called(str(self.relative_to))

    @property
    def explanations(self) -> list[str]:
        """The findings on the cells outside, each once, in the order of these."""
        return list(dict.fromkeys(text for item in self.outside for text in item.findings))


@dataclass(frozen=True)
class Listing(Captioned):
    """A simple table: the first ``n_text`` columns are labels or tuples of them, the others numbers or None."""

    header: list[str]
    rows: list[list[Any]]
    n_text: int
