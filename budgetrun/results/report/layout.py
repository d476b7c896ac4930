"""The parts of a report's table, and their words: cells, rows, blocks, and the verdict on published numbers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

from markupsafe import Markup

from budgetrun.base import grid
from budgetrun.base.errors import counted
from budgetrun.base.grid import Grid
from budgetrun.config.quantities import Quantity
from budgetrun.config.schema import Published
from budgetrun.results.report.numbers import NO_BUDGET, Measured, Place
from budgetrun.results.report.selection import Candidate
from budgetrun.results.store.read import Setting

DEFAULT_TOLERANCE = 0.05
NONE = "—"


class Tolerance(NamedTuple):
    """The largest difference from a published number: relative to it, or in published standard deviations.

    Where both are given, either of them counts. ``relative`` is None where standard deviations are asked for alone; a
    cell without a published one is then held to `DEFAULT_TOLERANCE`.
    """

    relative: float | None = DEFAULT_TOLERANCE
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
        return Tolerance(*(None if limit is None else 2 * limit for limit in self))


@dataclass(frozen=True)
class Cell:
    """The measured and the published number of a dataset, label, setting and budget, and their difference.

    ``measured`` and ``published`` (in the table's unit) are None where there is none. ``source`` is the dataset and
    the label that the number is published for; ``relative`` is measured / published, divided by the same ratio of the
    table's reference column; ``chosen`` is the setting that was chosen for the cell. ``is_printed`` says
    whether the number is published for its very budget; else a number without one is repeated in each block. ``mark``
    is what a comparison says of it within its row.
    """

    place: Place
    measured: Measured | None
    published: Published | None
    source: tuple[str, str]
    relative: float | None
    chosen: str = ""
    is_printed: bool = False
    mark: str = ""

    @property
    def has_budget(self) -> bool:
        """True if the algorithm has a budget of its own (one without is shown in every block)."""
        return self.place.budget != NO_BUDGET and (self.measured is None or not math.isnan(self.measured.budget))

    @property
    def key(self) -> Place:
        """The place that identifies it: a cell without a budget is shown in every block, but is one."""
        return self.place if self.has_budget else self.place._replace(budget=NO_BUDGET)

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
    """A cell outside the tolerance, its name, and the texts of the findings on it; open where none explains it."""

    cell: Cell
    text: str
    findings: list[str]
    is_open: bool


@dataclass(frozen=True)
class Verdict:
    """Distinct published cells and their states: within the tolerance, outside but explained, open, or not measured.

    ``cells`` has, for each, the quantity and what is published, and ``within``, ``explained``, ``open`` or ``missing``.
    ``first`` is the number within the tolerance if every column and row has its first reading, ``written`` if it has
    the one that follows the text where the first does not; both are None where no other reading fits better.
    ``fitted`` says that published numbers chose the settings.
    """

    cells: Sequence[tuple[tuple[str, Published], str]]
    tolerance: Tolerance
    fitted: bool = False
    first: int | None = None
    written: int | None = None

    @cached_property
    def counts(self) -> Counter[str]:
        """The number of cells in each state."""
        return Counter(state for _, state in self.cells)

    @property
    def n_measured(self) -> int:
        """The number of cells that were measured."""
        return self.counts.total() - self.counts["missing"]

    @property
    def text(self) -> str:
        """In words: ``58 of 75 published cells within 5%, 9 explained, 8 open``."""
        counts = self.counts
        if not self.n_measured:
            return f"none of {counted(counts['missing'], 'published cell')} measured"
        limits = self.tolerance.text.replace(" or ", " and ")
        text = f"{counts['within']} of {counted(self.n_measured, 'published cell')} within {limits}"
        others = {"explained": "explained", "open": "open", "missing": "not measured"}
        fitted = ["with settings that published numbers chose"] if self.fitted else []
        return ", ".join([text, *(f"{counts[key]} {what}" for key, what in others.items() if counts[key]), *fitted])

    @property
    def remark(self) -> str:
        """A remark on the readings; empty where there is one of each."""
        if self.first is None:
            return ""
        return (
            "Where the paper can be read in several ways, this counts the reading that fits best; "
            f"with the first reading of each, {self.first} are within"
            + ("." if self.written is None else f", and with what the text says of each, {self.written}.")
        )


@dataclass(frozen=True)
class Captioned:
    """A name for files, a title for headings, and a remark that completes the caption (may be empty)."""

    name: str
    title: str
    remark: str
    titles: dict[str, str]  # label -> title

    def called(self, label: str) -> str:
        """Return the title of a dataset or an algorithm."""
        return self.titles.get(label, label)

    @property
    def caption(self) -> str:
        """Title and remark."""
        return f"{self.title}. {self.remark}".rstrip()


@dataclass(frozen=True)
class Listing(Captioned):
    """A simple table: the first ``n_text`` columns are labels or tuples of them, the others numbers or None."""

    header: list[str]
    rows: list[list[Any]]
    n_text: int

    @property
    def csv_rows(self) -> list[list[Any]]:
        """The header and the rows, as in the CSV file."""
        return [self.header, *self.rows]

    @property
    def grid(self) -> Grid:
        """The listing in words."""

        def named(value: Any) -> str:
            return "; ".join(map(self.called, value if isinstance(value, tuple) else (value,)))

        n, header = self.n_text, [self.called(name).replace("_seconds", " seconds") for name in self.header]
        return Grid(header, [[*map(named, row[:n]), *map(_number, row[n:])] for row in self.rows], words=range(n))


def _number(value: Any) -> str:
    """Return a listing's number: counts whole, seconds with one to three digits, an em dash for none."""
    if value is None:
        return NONE
    if isinstance(value, int):
        return f"{value:,}"
    digits = 3 if abs(value) < 1 else 2 if abs(value) < 10 else 1
    return f"{value:,.{digits}f}"


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
    best: tuple[list[str], list[str]] = ([], [])  # the columns and the datasets that fit best, of several readings
    # None without published numbers.
    verdict: Verdict | None = None
    notes: list[str] = field(default_factory=list)
    # For a comparison: differences of cells from the best of their rows, by the keys of both.
    paired: dict[tuple[Place, Place], Any] = field(default_factory=dict)

    @cached_property
    def main(self) -> Table:
        """The table with the readings that fit best alone; itself where there are no others."""
        columns, datasets = self.best
        blocks = []
        for block in self.blocks:
            rows = [row for row in block.rows if row.cells[0].place.dataset in datasets]
            rows = [row._replace(cells=[cell for cell in row.cells if cell.place.label in columns]) for row in rows]
            blocks += [block._replace(rows=rows)] if rows else []
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
        found |= {"memory" for cell in self.cells if cell.place.budget.kind == "memory"}
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

    # Words; an em dash stands for what is missing.

    def mean(self, cell: Cell, *, with_sd: bool = True) -> str:
        """Return ``11.31 ± 0.25``, with a dagger where runs failed."""
        m = cell.measured
        if m is None:
            return NONE
        spread = f" ± {self.quantity.write(m.spread)}" if with_sd and not math.isnan(m.spread) else ""
        return self.quantity.write(m.mean) + spread + ("†" if m.n_failed else "") + cell.mark

    def published(self, cell: Cell) -> str:
        """Return the published number of a cell."""
        return NONE if cell.published is None else self.quantity.write_published(cell.published.value)

    def percent(self, cell: Cell) -> str:
        """Return the difference in percent with its sign; what rounds to zero is ``+0.0%``."""
        digits = self.quantity.percent_digits
        return NONE if cell.percent is None else f"{round(cell.percent, digits) + 0.0:+.{digits}f}%"

    def in_sds(self, cell: Cell) -> str:
        """Return the difference in published standard deviations with its sign."""
        return NONE if cell.in_sds is None else f"{round(cell.in_sds, 1) + 0.0:+.1f}"

    def differences(self, cell: Cell) -> str:
        """Return the difference from the published number in percent and, where known, in standard deviations."""
        percent = "" if cell.percent is None else self.percent(cell)
        return ", ".join(filter(None, (percent, "" if cell.in_sds is None else f"{self.in_sds(cell)} sd")))

    def words(self, cell: Cell) -> str:
        """Return ``11.31 ± 0.25 (11.25, +0.5%)``, with the setting that was chosen."""
        beside = [cell.chosen] if cell.chosen else []
        if cell.place.label in self.published_columns and (cell.measured or cell.published):
            beside.append(", ".join(filter(None, (self.published(cell), self.differences(cell)))))
        return f"{self.mean(cell)} ({'; '.join(beside)})" if beside else self.mean(cell)

    def ratio(self, cell: Cell) -> str:
        """Return the ratio relative to the reference column."""
        return NONE if cell.relative is None else f"{cell.relative:.3f}"

    def hover(self, cell: Cell) -> str:
        """Return what is behind a cell: the numbers of streams, seeds and runs, and the range of these."""
        m = cell.measured
        if m is None:
            return ""
        if m.n_runs == 1:
            return "a single run"
        low, high = self.quantity.write(m.minimum), self.quantity.write(m.maximum)
        seeds = f", {m.n_seeds:,} seeds" if m.n_seeds > 1 else ""
        return f"n = {counted(m.n_streams, 'stream')}{seeds}; {m.n_runs:,} runs from {low} to {high}"

    def are_best(self, cells: list[Cell]) -> list[bool]:
        """Return which cells of a row show its smallest number; none where that is no merit, or all are equal."""
        means = [cell.measured.mean for cell in cells if cell.measured]
        if not self.quantity.lower_is_better or len(set(map(self.quantity.write, means))) < 2:
            return [False] * len(cells)
        smallest = self.quantity.write(min(means))
        return [cell.measured is not None and self.quantity.write(cell.measured.mean) == smallest for cell in cells]

    @property
    def leaders(self) -> str:
        """A sentence on which columns have the smallest number in how many rows; empty where that is no merit."""
        rows = [row.cells for block in self.main.blocks for row in block.rows]
        keys = [cell.key for cells in rows for cell in cells]
        if len(set(keys)) == len(keys):
            found = self._leaders(rows, "in", "rows")
            return f"Smallest {self.quantity.noun}: {found}." if found else ""
        # A learner without a budget has one number, which stands in the rows of all budgets.
        limited = [[cell for cell in cells if cell.has_budget and cell.measured] for cells in rows]
        of_datasets: dict[str, dict[Place, Cell]] = defaultdict(dict)
        for cell in (cell for cells in rows for cell in cells):
            of_datasets[cell.place.dataset][cell.key] = cell
        of_rows = self._leaders([row for row in limited if len(row) > 1], "in", "rows")
        of_all = self._leaders([list(cells.values()) for cells in of_datasets.values()], "on", "data sets")
        if of_rows and of_all:
            return f"Smallest {self.quantity.noun} among learners with a budget: {of_rows}. Smallest of all: {of_all}."
        return f"Smallest {self.quantity.noun}: {of_rows or of_all}." if of_rows or of_all else ""

    def _leaders(self, rows: list[list[Cell]], where: str, noun: str) -> str:
        found: Counter[str] = Counter()
        for cells in rows:
            bests = self.are_best(cells)
            found.update({self.called(cell.place.label) for cell, best in zip(cells, bests, strict=True) if best})
        # Those with equal counts, in the order of the columns.
        names = [name for name in dict.fromkeys(map(self.called, self.columns)) if found[name]]
        ordered = sorted(names, key=lambda name: -found[name])
        order, others = ordered[:3], [name for name in ordered[3:] if found[name] == found[ordered[2]]]
        text = "; ".join(f"{name}{f' {where} {found[name]} of {len(rows)} {noun}' * (len(rows) > 1)}" for name in order)
        text += f"; {len(others)} more{' as often' * (len(rows) > 1)}" if others else ""
        return f"{text} (those that tie as printed count for each)" if found.total() > len(rows) > 1 else text

    @property
    def relative_caption(self) -> str:
        """The words above the ratios."""
        return f"Measured / published, divided by the same ratio of {self.reference} on the same dataset."

    @property
    def outside_title(self) -> str:
        """The heading of the list of cells outside the tolerance."""
        return f"Cells that differ from the published value by more than {self.tolerance.text}"

    def outside_words(self) -> list[tuple[str, str]]:
        """Return place and numbers of each cell outside the tolerance, and ``See 1, 3.``, the findings on it."""
        found = []
        for item in self.outside:
            cell = item.cell
            assert cell.measured is not None
            assert cell.difference is not None
            text = (
                f"{item.text}: measured {self.quantity.write(cell.measured.mean)}, published {self.published(cell)}, "
                f"{self.quantity.difference(cell.difference)} ({self.differences(cell)})"
            )
            if cell.relative is not None:
                text += f", relative to {self.reference} {cell.relative:.3f}"
            numbers = sorted(self.explanations.index(text) + 1 for text in item.findings)
            see = f"See {', '.join(map(str, numbers))}{'; it stays open' if item.is_open else ''}."
            found.append((text, see if numbers else ""))
        return found

    def grids(self, show: Callable[[Cell], str] | None = None) -> list[Grid]:
        """Return the blocks in words; ``show`` writes a cell, by default as `words`."""
        return self._grids(lambda _, row: [row.full_label, *map(show or self.words, row.cells)])

    def page_grids(self) -> list[Grid]:
        """Return the blocks as a page shows them: below a number, its setting and what is published."""
        return self._grids(self._page_row)

    def _grids(self, row_of: Callable[[Block, Row], list[Any]]) -> list[Grid]:
        columns = list(map(self.called, self.columns))
        return [Grid([one.corner, *columns], [row_of(one, row) for row in one.rows], one.title) for one in self.blocks]

    def _page_row(self, block: Block, row: Row) -> list[grid.Cell]:
        budget = row.cells[0].place.budget.value if block.corner == "budget" else None
        shown = [grid.Cell(row.label, budget, (row.mean_budget,) if row.mean_budget else ())]
        for cell, is_best in zip(row.cells, self.are_best(row.cells), strict=True):
            below = [cell.chosen] if cell.chosen else []
            if cell.published:
                below.append(f"published {self.published(cell)}")
                if cell.percent is not None:
                    near, far = not cell.is_outside(self.tolerance), cell.is_outside(self.tolerance.twice)
                    badge = Markup('{} <span class="difference {}">{}</span>')
                    apart = self.differences(cell).replace("-", "−")
                    below[-1] = badge.format(below[-1], "near" if near else "far" if far else "off", apart)
            marks = " ".join([*(["chosen"] if cell.chosen else []), *(["best"] if is_best and not self.paired else [])])
            mean = cell.measured and cell.measured.mean
            shown.append(grid.Cell(self.mean(cell), mean, tuple(below), self.hover(cell), marks))
        return shown

    @property
    def csv_rows(self) -> list[list[Any]]:
        """The header and a row for each cell of the CSV file: in the table's unit, empty where there is no number."""
        nothing = Cell(Place("", "", NO_BUDGET), None, None, ("", ""), None)
        records = [self._record(cell) for cell in self.cells if cell.measured or cell.published]
        # An algorithm without settings is shown in the row of each setting, with the same numbers.
        rows = dict.fromkeys(tuple(map(grid.exact, record.values())) for record in records)
        return [list(self._record(nothing)), *map(list, rows)]

    def _record(self, cell: Cell) -> dict[str, Any]:
        """Return a cell by column, with percent in the columns' names where that is the unit."""
        quantity, measured, published, budget = self.quantity, cell.measured, cell.published, cell.place.budget
        percent, points = ("_percent", "_points") if quantity.is_percent else ("", "")
        own = partial(getattr, measured)
        numbers = {name: own(name, None) for name in ("mean", "sd", "sd_over_seeds", "minimum", "maximum")}
        if quantity.is_tiny and measured:
            numbers = {name: value if math.isnan(value) else f"{value:.6g}" for name, value in numbers.items()}
        outside = "yes" if cell.is_outside(self.tolerance) else "no"
        return {
            "dataset": cell.place.dataset,
            "label": cell.place.label,
            **({"setting": cell.place.setting.text} if "setting" in self.shows else {}),
            **({"chosen": cell.chosen} if "chosen" in self.shows else {}),
            "budget_fraction": budget.value if budget.kind == "fraction" else None,
            "budget": budget.value if budget.kind in ("budget", "dataset") else None,
            **({"learner_memory": budget.value if budget.kind == "memory" else None} if "memory" in self.shows else {}),
            "budget_mean": own("budget", None),
            **{name: own(name, None) for name in ("n_runs", "n_streams", "n_seeds", "n_failed")},
            quantity.csv_column: numbers["mean"],
            f"sd{percent}": numbers["sd"],
            "sd_over_seeds": numbers["sd_over_seeds"],
            "min": numbers["minimum"],
            "max": numbers["maximum"],
            "support_size_mean": own("support_size", None),
            f"published{percent}": published and published.value,
            **({f"published_sd{percent}": published and published.sd} if "in_sds" in self.shows else {}),
            "published_dataset": cell.source[0] if published else None,
            "published_label": cell.source[1] if published else None,
            f"difference{points}": cell.difference,
            "difference_percent": cell.percent,
            **({"difference_in_sd": cell.in_sds} if "in_sds" in self.shows else {}),
            "relative_to_reference": cell.relative,
            "outside_tolerance": None if cell.percent is None else outside,
        }

    def candidate_rows(self) -> list[list[Any]]:
        """Return the header and a row for each setting that the table chooses from, as in the CSV file."""
        by_budget = any(not candidate.place.budget.is_everywhere for candidate in self.candidates)
        published = any(candidate.published is not None for candidate in self.candidates)
        header = ["dataset", "algorithm", *["budget"] * by_budget, "setting", "chosen", "streams that chose it"]
        rows: list[list[Any]] = [[*header, "decided by", "mean", "sd", *["published"] * published]]
        for one in self.candidates:
            place, measured = one.place, one.measured
            budget = [place.budget.title()] if by_budget else []
            chosen = ["yes" if one.n_streams else "no", one.n_streams, one.quantity.in_words]
            numbers = [measured.mean, measured.sd, *([one.published] if published else [])]
            rows.append([place.dataset, place.label, *budget, place.setting.text, *chosen, *numbers])
        return rows

    def candidate_grid(self) -> Grid:
        """Return the settings that the table chooses from, in words."""
        header, *rows = self.candidate_rows()
        n = header.index("decided by") + 1
        shown = []
        for candidate, row in zip(self.candidates, rows, strict=True):
            numbers = ("" if one is None or math.isnan(one) else candidate.quantity.write(one) for one in row[n:])
            shown.append([*map(self.called, row[:2]), *map(str, row[2:n]), *numbers])
        return Grid(header, shown, words={i for i in range(n) if header[i] != "streams that chose it"})
