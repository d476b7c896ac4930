"""The blocks and rows of a table, and the contents of its cells."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from budgetrun.results.report.aggregate import NO_BUDGET, Budget, Measurements, Place
from budgetrun.results.report.layout import Block, Cell, Row
from budgetrun.results.report.published import Number, Published
from budgetrun.results.store.read import NO_SETTING, Setting, in_order

# More blocks than this hide how numbers change with the budget: then there is one block per dataset.
MOST_BUDGET_BLOCKS = 6


@dataclass(frozen=True)
class Rows:
    """The rows of a table.

    A row is a dataset, a budget and a setting. A label without a budget is shown in the rows of every budget, and one
    with fewer swept parameters, or none, in every row whose setting includes its own values.
    """

    # Labels of datasets and of algorithms.
    rows: list[str]
    columns: list[str]
    measured: Measurements
    # All that ran, which decides the layout: some of it may have no number to show.
    ran: Measurements
    published: Published
    # The column that ratios are relative to.
    reference: str | None
    # The settings that were chosen.
    chosen: dict[Place, str]
    # Returns a dataset's title.
    title: Callable[[str], str]
    # The labels of the datasets that are the user's own.
    own: Container[str] = ()

    def blocks(self) -> list[Block]:
        """Return a block for each budget, or for each dataset where that shows the effect of the budget better."""
        budgets = self._budgets()
        settings = {(row, budget): self._settings(row, budget) for row in self.rows for budget in budgets}
        if budgets and budgets != [NO_BUDGET]:
            left = {row: self._left_over(row, [s for b in budgets for s in settings[row, b]]) for row in self.rows}
            if any(left.values()):
                budgets = [*budgets, NO_BUDGET]
                settings |= {(row, NO_BUDGET): own for row, own in left.items()}
        titles = {b: b.title() or ("no budget" if len(budgets) > 1 else "") for b in budgets}
        if len(budgets) > 1 and (len(self.rows) == 1 or len(budgets) > MOST_BUDGET_BLOCKS):
            return [
                Block(
                    self.title(row),
                    "budget",
                    _merged([self._row(titles[b], row, b, s) for b in budgets for s in settings[row, b]]),
                )
                for row in self.rows
            ]
        return [
            Block(titles[b], "dataset", [self._row(self.title(r), r, b, s) for r in self.rows for s in settings[r, b]])
            for b in budgets
        ]

    @cached_property
    def _places(self) -> dict[tuple[str, str], list[Place]]:
        places: dict[tuple[str, str], list[Place]] = {}
        for place in self.ran:
            places.setdefault((place.dataset, place.label), []).append(place)
        return places

    def _of_row(self, row: str) -> list[Place]:
        return [place for column in self.columns for place in self._places.get((row, column), [])]

    def _of_published(self, row: str) -> list[tuple[Budget, Setting]]:
        return [place for column in self.columns for place in self.published.places(row, column)]

    def _budgets(self) -> list[Budget]:
        """Return fractions first, then budgets, each rising; "no budget" only where there is nothing else."""
        found = {place.budget for row in self.rows for place in self._of_row(row)}
        found = found or {budget for row in self.rows for budget, _ in self._of_published(row)}
        ranks = {"fraction": 0, "budget": 1}
        real = [budget for budget in found if budget.kind in ranks]
        return sorted(real, key=lambda budget: (ranks[budget.kind], budget.value)) or [NO_BUDGET] * bool(found)

    def _settings(self, row: str, budget: Budget) -> list[Setting]:
        """Return the settings of a dataset's rows with this budget; one without any is a row, too."""
        here = self._of_row(row)
        own = {p.setting for p in here if (NO_BUDGET if p.budget.is_everywhere else p.budget) == budget}
        if not here:
            own = {setting for b, setting in self._of_published(row) if b == budget}
        # A setting within another one is shown in its row.
        return in_order(s for s in own if not any(s != other and s.within(other) for other in own)) or [NO_SETTING]

    def _left_over(self, row: str, shown: list[Setting]) -> list[Setting]:
        """Return the settings of labels without a budget that fit into no row of a budget."""
        own = (s for s in self._settings(row, NO_BUDGET) if s.items)
        return [setting for setting in own if not any(setting.within(other) for other in shown)]

    def _row(self, header: str, row: str, budget: Budget, setting: Setting) -> Row:
        cells = [self._cell(Place(row, column, budget, setting)) for column in self.columns]
        places = [self._find(Place(row, column, budget, setting)) for column in self.columns]
        ran = [self.ran[place] for place in places if place is not None and place.budget == budget]
        means = {one.budget for one in ran}
        mean_budget, number = _mean_budget([one.budget for one in ran]), None
        if row in self.own and budget != NO_BUDGET and len(means) == 1 and all(one.n_streams == 1 for one in ran):
            number = int(means.pop())
            mean_budget = f"B {number:,}"
        return Row(header, setting, mean_budget if budget.kind == "fraction" else "", cells, number)

    def _cell(self, at: Place) -> Cell:
        """Return the cell of a column in a row; its place has the budget of the block where the label has none."""
        found, relative = self._find(at), None
        measured, number = self.measured.get(found) if found else None, self._published(at, found)
        if self.reference is not None and measured and number and number.value:
            other = at._replace(label=self.reference)
            ran = self._find(other)
            base, base_number = self.measured.get(ran) if ran else None, self._published(other, ran)
            if base and base.mean and base_number and base_number.value:
                relative = (measured.mean / number.value) / (base.mean / base_number.value)
        place = found or at
        if place.budget == NO_BUDGET:
            place = place._replace(budget=at.budget)
        source = self.published.source(at.dataset, at.label)
        printed = self.published.find(at, any_setting=place.setting == NO_SETTING) is not None
        return Cell(place, measured, number, source, relative, self.chosen.get(found, "") if found else "", printed)

    def _find(self, at: Place) -> Place | None:
        """Return whose runs a cell shows."""
        fitting = [
            place
            for place in self._places.get((at.dataset, at.label), [])
            if (place.budget == at.budget or place.budget.is_everywhere) and place.setting.within(at.setting)
        ]
        return max(fitting, key=lambda p: (p.budget == at.budget, len(p.setting.items)), default=None)

    def _published(self, at: Place, found: Place | None) -> Number | None:
        if found is not None:
            return self.published.of_measured(found, at.budget)
        number = self.published.find(at, any_budget=at.budget == NO_BUDGET)
        # An algorithm that never ran may be published without a setting.
        if number is None and not self._places.get((at.dataset, at.label)):
            number = self.published.find(at._replace(setting=NO_SETTING), any_budget=at.budget == NO_BUDGET)
        return number


def _merged(rows: list[Row]) -> list[Row]:
    """Return the rows of a dataset's budgets, with those of the same number as one."""
    groups: dict[Any, list[Row]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(i if row.number is None else (row.setting, row.number), []).append(row)
    found = []
    for first, *others in groups.values():
        if first.number is not None:
            number = f"B = {first.number}"
            titles = [row.header for row in (first, *others) if row.header != number]
            header = " = ".join([*dict.fromkeys(titles), number]).replace(" = B", "")
            cells = [
                next((cell for cell in same if cell.measured), same[0])
                for same in zip(first.cells, *(row.cells for row in others), strict=True)
            ]
            shown = {id(cell) for cell in cells}
            same = [cell for row in (first, *others) for cell in row.cells if id(cell) not in shown]
            first = first._replace(header=header, mean_budget="", cells=cells, same=tuple(same))
        found.append(first)
    return found


def _mean_budget(means: list[float]) -> str:
    """Return ``mean B 793``, a range where the columns' budgets follow different algorithms, or nothing."""
    if not means:
        return ""
    if max(means) > 1.01 * min(means):
        return f"mean B {min(means):,.0f} to {max(means):,.0f}"
    return f"mean B {sum(means) / len(means):,.0f}"
