"""Which rows and blocks a table has, and what stands in its cells."""

from __future__ import annotations

from budgetrun.report.cells import NO_BUDGET, Budget, Measured, Measurements, Place, Printed
from budgetrun.report.layout import Block, Cell, Row
from budgetrun.store.read import NO_SETTING, Setting, in_order

# More blocks than this, one under another, hide the course over the budget: then one block a dataset.
MOST_BUDGET_BLOCKS = 6


class Grid:
    """Which rows a table has and what stands in them.

    A row is a dataset, a budget and a setting. A learner without a budget stands in the rows of every budget, and one
    with fewer swept parameters, or none, in every row whose setting has its own values.
    """

    def __init__(
        self,
        rows: list[str],
        columns: list[str],
        measurements: Measurements,
        ran: Measurements,
        printed: Printed,
        reference: str | None,
        chosen: dict[Place, str],
    ) -> None:
        self.rows = rows
        self.columns = columns
        self.reference = reference
        self._measurements = measurements
        self._printed = printed
        self._chosen = chosen
        self._ran = ran
        self._places: dict[tuple[str, str], list[Place]] = {}
        for place in ran:
            self._places.setdefault((place.dataset, place.label), []).append(place)

    def blocks(self) -> list[Block]:
        """Return a block for each budget, or for each dataset where that shows the course over the budgets better."""
        budgets = self._budgets()
        settings = {(row, budget): self._settings(row, budget) for row in self.rows for budget in budgets}
        if budgets and budgets != [NO_BUDGET]:
            left = {row: self._left_over(row, [s for b in budgets for s in settings[row, b]]) for row in self.rows}
            if any(left.values()):
                budgets = [*budgets, NO_BUDGET]
                settings |= {(row, NO_BUDGET): own for row, own in left.items()}
        lone = budgets == [NO_BUDGET]
        titles = {b: b.title() or ("" if lone else "no budget") for b in budgets}
        if len(budgets) > 1 and (len(self.rows) == 1 or len(budgets) > MOST_BUDGET_BLOCKS):
            return [
                Block(
                    row,
                    "budget",
                    False,
                    [self._row(titles[b], row, b, setting) for b in budgets for setting in settings[row, b]],
                )
                for row in self.rows
            ]
        return [
            Block(
                titles[b],
                "dataset",
                b != NO_BUDGET,
                [self._row(row, row, b, setting) for row in self.rows for setting in settings[row, b]],
            )
            for b in budgets
        ]

    def _of_row(self, row: str) -> list[Place]:
        return [place for column in self.columns for place in self._places.get((row, column), [])]

    def _budgets(self) -> list[Budget]:
        """Fractions first, then budgets, each rising; "no budget" only where there is nothing else."""
        found = {place.budget for row in self.rows for place in self._of_row(row)} or {
            budget for row in self.rows for column in self.columns for budget, _ in self._printed.places(row, column)
        }
        ranks = {"fraction": 0, "budget": 1}
        real = [budget for budget in found if budget.kind in ranks]
        return sorted(real, key=lambda budget: (ranks[budget.kind], budget.value)) or [NO_BUDGET] * bool(found)

    def _settings(self, row: str, budget: Budget) -> list[Setting]:
        """Return the settings of a dataset's rows with this budget; one without any is a row, too."""
        here = self._of_row(row)
        own = {place.setting for place in here if _block_of(place.budget) == budget}
        if not here:
            printed = [place for column in self.columns for place in self._printed.places(row, column)]
            own = {setting for b, setting in printed if b == budget}
        # What lies within another setting stands in its row.
        return in_order(s for s in own if not any(s != other and s.within(other) for other in own)) or [NO_SETTING]

    def _left_over(self, row: str, shown: list[Setting]) -> list[Setting]:
        """Return the settings of learners without a budget that no row of a budget has room for."""
        own = (s for s in self._settings(row, NO_BUDGET) if s.items)
        return [setting for setting in own if not any(setting.within(other) for other in shown)]

    def _row(self, header: str, row: str, budget: Budget, setting: Setting) -> Row:
        cells = [self._cell(row, column, budget, setting) for column in self.columns]
        places = (self._find(row, column, budget, setting) for column in self.columns)
        means = [self._ran[place].budget for place in places if place is not None and place.budget == budget]
        return Row(header, setting, _mean_budget(means) if budget.kind == "fraction" else "", cells)

    def _cell(self, row: str, column: str, budget: Budget, setting: Setting) -> Cell:
        place, measured, (number, sd) = self._pair(row, column, budget, setting)
        relative = None
        if self.reference is not None and measured is not None and number:
            _, base, (base_number, _) = self._pair(row, self.reference, budget, setting)
            if base is not None and base_number and base.mean:
                relative = (measured.mean / number) / (base.mean / base_number)
        source = self._printed.source(row, column)
        found = self._find(row, column, budget, setting)
        chosen = "" if found is None else self._chosen.get(found, "")
        return Cell(row, column, place.budget, place.setting, measured, number, source, relative, sd, chosen)

    def _find(self, row: str, column: str, budget: Budget, setting: Setting) -> Place | None:
        """Return whose runs stand in a cell."""
        fitting = [
            place
            for place in self._places.get((row, column), [])
            if (place.budget == budget or place.budget.is_everywhere) and place.setting.within(setting)
        ]
        return max(fitting, key=lambda p: (p.budget == budget, len(p.setting.items)), default=None)

    def _pair(
        self, row: str, column: str, budget: Budget, setting: Setting
    ) -> tuple[Place, Measured | None, tuple[float | None, float | None]]:
        """Return the place that a cell shows, what was measured there and what is printed, with its deviation.

        The budget is that of the block, where the learner has none.
        """
        place = self._find(row, column, budget, setting)
        if place is None:
            # What never ran may be printed without a setting.
            tried = [setting] if self._places.get((row, column)) else [setting, NO_SETTING]
            found = [self._printed.find_with_sd(row, column, budget, budget != NO_BUDGET, one) for one in tried]
            known = next((pair for pair in found if pair[0] is not None), (None, None))
            return Place(row, column, budget, setting), None, known
        has_budget = place.budget != NO_BUDGET
        shown = place._replace(budget=place.budget if has_budget else budget)
        has_setting = bool(place.setting.items)
        pair = self._printed.find_with_sd(row, column, shown.budget, has_budget, place.setting, has_setting)
        return shown, self._measurements.get(place), pair


def _block_of(budget: Budget) -> Budget:
    return NO_BUDGET if budget.is_everywhere else budget


def _mean_budget(means: list[float]) -> str:
    """Return ``mean B 793``, a range where the columns' budgets follow different learners, or nothing."""
    if not means:
        return ""
    if max(means) > 1.01 * min(means):
        return f"mean B {min(means):,.0f} to {max(means):,.0f}"
    return f"mean B {sum(means) / len(means):,.0f}"
