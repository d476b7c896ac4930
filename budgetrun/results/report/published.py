"""The published numbers of a table, and which of them belongs to a cell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from budgetrun.config import schema
from budgetrun.config.schema import TableSpec
from budgetrun.results.report.aggregate import NO_BUDGET, Budget, Place
from budgetrun.results.store.read import NO_SETTING, Setting, items_of


class Number(NamedTuple):
    """A published number in the unit of its table, and its standard deviation, None where that is not published."""

    value: float
    sd: float | None = None


class Published:
    """The published numbers of one table, each with its budget and setting where the paper gives them.

    Parameters
    ----------
    rows : iterable of schema.Published
    aliases : dict
        Label or dataset -> the one whose published numbers it is compared with.
    """

    def __init__(self, rows: Iterable[schema.Published], aliases: dict[str, str]) -> None:
        self._aliases = aliases
        self._rows: dict[tuple[str, str], dict[tuple[Budget, frozenset[str]], Number]] = {}
        for row in rows:
            key = Budget.asked(row.budget_fraction, row.budget), items_of(row.setting or "")
            self._rows.setdefault((row.dataset, row.label), {})[key] = Number(row.value, row.sd)

    def source(self, dataset: str, label: str) -> tuple[str, str]:
        """Return the dataset and label whose published numbers belong to these."""
        return self._aliases.get(dataset, dataset), self._aliases.get(label, label)

    def places(self, dataset: str, label: str) -> list[tuple[Budget, Setting]]:
        """Return the budgets and settings with a published number."""
        return [(budget, Setting(tuple(sorted(items)))) for budget, items in self._of(dataset, label)]

    def find(self, place: Place, *, any_budget: bool = False, any_setting: bool = False) -> Number | None:
        """Return the published number of a place, None where there is none.

        An algorithm without a budget may be published once, or once per block with the same number (``any_budget``);
        so may one without settings (``any_setting``). A dataset's own budget may be published or not.
        """
        if place.budget.kind == "dataset":
            asked = (place._replace(budget=budget) for budget in (Budget("budget", place.budget.value), NO_BUDGET))
            return next(filter(None, (self.find(one, any_setting=any_setting) for one in asked)), None)
        items, none = frozenset(place.setting.items), frozenset[str]()
        eligible = {
            (budget, setting): number
            for (budget, setting), number in self._of(place.dataset, place.label).items()
            if (any_budget or budget == place.budget) and (any_setting or setting == items)
        }
        for key in ((place.budget, items), (NO_BUDGET, items), (place.budget, none), (NO_BUDGET, none)):
            if key in eligible:
                return eligible[key]
        distinct = set(eligible.values())
        return distinct.pop() if len(distinct) == 1 else None

    def of_measured(self, place: Place, block: Budget = NO_BUDGET) -> Number | None:
        """Return the published number of a place that has runs; one without a budget may be shown in any block."""
        shown = place._replace(budget=block) if place.budget == NO_BUDGET else place
        return self.find(shown, any_budget=place.budget == NO_BUDGET, any_setting=place.setting == NO_SETTING)

    def _of(self, dataset: str, label: str) -> dict[tuple[Budget, frozenset[str]], Number]:
        return self._rows.get(self.source(dataset, label), {})


def shown(spec: TableSpec, divisor: str | None = None) -> Published:
    """Return the published numbers that a table shows.

    ``divisor`` goes with ratios of seconds: the label by whose published seconds those on the same dataset are divided.
    """
    rows = spec.published
    if divisor is not None:
        label = spec.aliases.get(divisor, divisor)
        base = {row.dataset: row.value for row in rows if row.label == label and row.value}
        rows = tuple(replace(row, value=row.value / base[row.dataset], sd=None) for row in rows if row.dataset in base)
    return Published(rows, spec.aliases)
