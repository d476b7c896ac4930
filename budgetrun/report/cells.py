"""From runs to cells: what was measured for a dataset, a learner, a setting and a budget, and what the paper prints."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from budgetrun.errors import InputError
from budgetrun.report.quantities import ONLINE_ERROR, Quantity
from budgetrun.store.read import NO_SETTING, Setting, items_of


class Budget(NamedTuple):
    """The budget as it was asked for.

    ``kind`` is ``fraction`` (value: share of another learner's final support size), ``budget`` (value: B), ``dataset``
    (value: the one B that the config gives this dataset, so that it tells no blocks apart) or ``none``.
    """

    kind: str
    value: float

    def title(self) -> str:
        """Return the words over a block: ``B = p/4``, ``B = 100``, or nothing."""
        if self.kind == "none":
            return ""
        if self.kind in ("budget", "dataset"):
            return f"B = {self.value:.12g}"
        share = Fraction(self.value).limit_denominator(16)
        if abs(float(share) - self.value) > 1e-9 or not share:
            return f"B = {self.value:.6g} p"
        top = "p" if share.numerator == 1 else f"{share.numerator}p"
        return f"B = {top}" + (f"/{share.denominator}" if share.denominator > 1 else "")

    @property
    def is_everywhere(self) -> bool:
        """Whether a learner with it stands in the blocks of all budgets."""
        return self.kind in ("none", "dataset")


NO_BUDGET = Budget("none", 0.0)


class Place(NamedTuple):
    """Whose runs are averaged together."""

    dataset: str
    label: str
    budget: Budget
    setting: Setting = NO_SETTING


@dataclass(frozen=True)
class Measured:
    """The runs of one place, averaged; errors in percent.

    Attributes
    ----------
    mean : float
        Mean over the streams (task x repetition) of the mean over seeds.
    sd : float
        Standard deviation over the streams after averaging over seeds, n - 1 below; NaN with one stream.
    sd_over_seeds : float
        Standard deviation over the seeds within a stream, pooled over the streams; NaN where no stream has two seeds.
    minimum, maximum : float
        Over single runs.
    seed_low, seed_high : float
        Over the seeds, each averaged over the streams.
    n_runs, n_streams, n_seeds, n_failed : int
    budget, support_size : float
        Means over the runs; `budget` is NaN for a learner without one.
    """

    mean: float
    sd: float
    sd_over_seeds: float
    minimum: float
    maximum: float
    seed_low: float
    seed_high: float
    n_runs: int
    n_streams: int
    n_seeds: int
    n_failed: int
    budget: float
    support_size: float


Measurements = dict[Place, Measured]


def measure(runs: pd.DataFrame, failed: pd.DataFrame, quantity: Quantity = ONLINE_ERROR) -> Measurements:
    """Average the finished runs of every place; one without a number of this quantity is left out."""
    by = ["dataset", "label", "kind", "value", "setting"]
    # A run that finished may have no test error.
    keyed = with_keys(runs[runs[quantity.frame].notna()])
    lost = with_keys(failed).groupby(by).size().to_dict() if len(failed) else {}
    cells: Measurements = {}
    for key, group in keyed.groupby(by, sort=False):
        dataset, label, kind, value, setting = key
        place = Place(str(dataset), str(label), Budget(str(kind), float(value)), setting)
        cells[place] = average(group, quantity, int(lost.get(key, 0)))
    return cells


def with_keys(runs: pd.DataFrame) -> pd.DataFrame:
    """Return runs with the columns ``kind`` and ``value`` of their `Budget`."""
    fraction, budget = runs["budget_fraction"].to_numpy(), runs["budget"].to_numpy()
    asked = np.where(runs["own_budget"], "dataset", "budget")
    kind = np.where(~np.isnan(fraction), "fraction", np.where(~np.isnan(budget), asked, "none"))
    value = np.where(~np.isnan(fraction), fraction, np.where(~np.isnan(budget), budget, 0.0))
    return runs.assign(kind=kind, value=value)


def average(group: pd.DataFrame, quantity: Quantity, n_failed: int = 0) -> Measured:
    """Return the averages over the finished runs of one place."""
    values = quantity.factor * group[quantity.frame].to_numpy()
    stream = group.groupby(["task", "repetition"], sort=False).ngroup().to_numpy()
    seed = pd.factorize(group["seed"])[0]
    seeds_of = np.bincount(stream)
    by_stream = np.bincount(stream, values) / seeds_of
    by_seed = np.bincount(seed, values) / np.bincount(seed)
    # n - 1 a stream, pooled: the spread between streams stays out of it.
    freedom = len(values) - len(seeds_of)
    within = np.sqrt(np.sum((values - by_stream[stream]) ** 2) / freedom) if freedom else np.nan
    return Measured(
        mean=float(by_stream.mean()),
        sd=float(by_stream.std(ddof=1)) if len(by_stream) > 1 else float("nan"),
        sd_over_seeds=float(within),
        minimum=float(values.min()),
        maximum=float(values.max()),
        seed_low=float(by_seed.min()),
        seed_high=float(by_seed.max()),
        n_runs=len(values),
        n_streams=len(by_stream),
        n_seeds=len(by_seed),
        n_failed=n_failed,
        budget=float(group["budget"].mean()),
        support_size=float(group["support_size"].mean()),
    )


class Printed:
    """The printed numbers of one table, in the unit that it shows, and where to look for a cell's.

    Parameters
    ----------
    rows : list of dict
        ``dataset``, ``label``, the number under ``value`` or its quantity's column (``online_error_percent``) and,
        where it belongs to one budget or setting, ``budget_fraction`` or ``budget``, and ``setting``; ``sd`` where its
        standard deviation is printed.
    aliases : dict
        Label or dataset -> the one whose printed numbers it is compared with.
    where : str
        For messages: the place of the rows.
    quantity : Quantity
    """

    def __init__(
        self, rows: list[dict[str, Any]], aliases: dict[str, str], where: str, quantity: Quantity = ONLINE_ERROR
    ) -> None:
        self.quantity = quantity
        self._aliases = aliases
        self._numbers: dict[tuple[str, str], dict[tuple[Budget, frozenset[str]], tuple[float, float | None]]] = {}
        for i, row in enumerate(rows):
            place = f"{where}[{i}]"
            column = "value" if "value" in row else quantity.column
            missing = [key for key in ("dataset", "label", column) if key not in row]
            if missing:
                raise InputError(f"{place}: {', '.join(missing)} missing; repeat the sweep: budgetrun sweep CONFIG")
            fraction, budget, number, sd = (
                _number(row.get(key), f"{place}.{key}") for key in ("budget_fraction", "budget", column, "sd")
            )
            if number is None:
                continue
            if fraction is not None:
                key = Budget("fraction", fraction)
            else:
                key = NO_BUDGET if budget is None else Budget("budget", budget)
            numbers = self._numbers.setdefault((str(row["dataset"]), str(row["label"])), {})
            numbers[key, items_of(str(row.get("setting") or ""))] = number, sd

    def source(self, dataset: str, label: str) -> tuple[str, str]:
        """Return the dataset and label whose printed numbers belong to these."""
        return self._aliases.get(dataset, dataset), self._aliases.get(label, label)

    def places(self, dataset: str, label: str) -> list[tuple[Budget, Setting]]:
        """Return the budgets and settings with a printed number."""
        return [(b, Setting(tuple(sorted(s)))) for b, s in self._numbers.get(self.source(dataset, label), {})]

    def find(
        self,
        dataset: str,
        label: str,
        budget: Budget,
        has_budget: bool = True,
        setting: Setting = NO_SETTING,
        has_setting: bool = True,
    ) -> float | None:
        """Return the printed number, None where nothing is printed."""
        return self.find_with_sd(dataset, label, budget, has_budget, setting, has_setting)[0]

    def find_with_sd(
        self,
        dataset: str,
        label: str,
        budget: Budget,
        has_budget: bool = True,
        setting: Setting = NO_SETTING,
        has_setting: bool = True,
    ) -> tuple[float | None, float | None]:
        """Return the printed number and its printed standard deviation, None where nothing is printed.

        A learner without a budget may stand in the print once, or once a block with the same number; so may one
        without settings. A dataset's own budget may be there or not.
        """
        if budget.kind == "dataset":
            for one in (Budget("budget", budget.value), NO_BUDGET):
                found = self.find_with_sd(dataset, label, one, True, setting, has_setting)
                if found[0] is not None:
                    return found
            return None, None
        items, none = frozenset(setting.items), frozenset[str]()
        eligible = {
            (b, s): number
            for (b, s), number in self._numbers.get(self.source(dataset, label), {}).items()
            if (b == budget or not has_budget) and (s == items or not has_setting)
        }
        for key in ((budget, items), (NO_BUDGET, items), (budget, none), (NO_BUDGET, none)):
            if key in eligible:
                return eligible[key]
        distinct = set(eligible.values())
        return distinct.pop() if len(distinct) == 1 else (None, None)


def _number(value: Any, where: str) -> float | None:
    if value is None or value == "" or value != value:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        message = f"{where}: must be a number or empty, got {value!r}; repeat the sweep: budgetrun sweep CONFIG"
        raise InputError(message) from None
