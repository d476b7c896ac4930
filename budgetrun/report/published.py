"""The published numbers of a table, and which of them belongs to a cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from budgetrun.errors import InputError
from budgetrun.report.aggregate import NO_BUDGET, Budget, Place
from budgetrun.store.columns import SECONDS_RATIO, Quantity
from budgetrun.store.read import AGAIN, NO_SETTING, Results, Setting, items_of


class Number(NamedTuple):
    """A published number in the unit of its table, and its standard deviation, None where that is not published."""

    value: float
    sd: float | None = None


@dataclass(frozen=True)
class Row:
    """One published number and what it is the number of; no budget or setting where the paper gives none."""

    dataset: str
    label: str
    budget: Budget
    setting: frozenset[str]
    number: Number


class Published:
    """The published numbers of one table.

    Parameters
    ----------
    rows : iterable of Row
    aliases : dict
        Label or dataset -> the one whose published numbers it is compared with.
    """

    def __init__(self, rows: list[Row], aliases: dict[str, str]) -> None:
        self._aliases = aliases
        self._rows: dict[tuple[str, str], dict[tuple[Budget, frozenset[str]], Number]] = {}
        for row in rows:
            self._rows.setdefault((row.dataset, row.label), {})[row.budget, row.setting] = row.number

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


def read(
    results: Results,
    table: str,
    quantity: Quantity,
    aliases: dict[str, str],
    *,
    section: str = "expected",
    divisor: str | None = None,
) -> Published:
    """Return the published numbers of a table.

    Parameters
    ----------
    results : Results
    table : str
        Its name.
    quantity : Quantity
    aliases : dict
        As in `Published`.
    section : {"expected", "choose_expected"}
        Of the manifest: the numbers that are shown, or those that settings are chosen by.
    divisor : str or None
        With ratios of seconds: the label by whose published seconds those on the same dataset are divided.
    """
    given = (results.manifest.get(section) or {}).get(table) or []
    where = f"{results.folder / 'manifest.json'}: {section}.{table}"
    rows = [row for i, one in enumerate(given) if (row := _row(one, quantity, f"{where}[{i}]")) is not None]
    if quantity is SECONDS_RATIO and divisor is not None:
        label = aliases.get(divisor, divisor)
        base = {row.dataset: row.number.value for row in rows if row.label == label and row.number.value}
        rows = [
            Row(row.dataset, row.label, row.budget, row.setting, Number(row.number.value / base[row.dataset]))
            for row in rows
            if row.dataset in base
        ]
    return Published(rows, aliases)


def _row(given: dict[str, Any], quantity: Quantity, where: str) -> Row | None:
    """Return the row of a manifest; None where it has no number."""
    column = "value" if "value" in given else quantity.csv_column
    missing = [key for key in ("dataset", "label", column) if key not in given]
    if missing:
        raise InputError(f"{where}: {', '.join(missing)} missing; {AGAIN}")
    fraction, budget, value, sd = (
        _number(given.get(key), f"{where}.{key}") for key in ("budget_fraction", "budget", column, "sd")
    )
    if value is None:
        return None
    asked = Budget("budget", budget) if budget is not None else NO_BUDGET
    if fraction is not None:
        asked = Budget("fraction", fraction)
    setting = items_of(str(given.get("setting") or ""))
    return Row(str(given["dataset"]), str(given["label"]), asked, setting, Number(value, sd))


def _number(value: Any, where: str) -> float | None:
    if value is None or value == "" or value != value:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{where}: must be a number or empty, got {value!r}; {AGAIN}") from None
