"""From runs to cells: what was measured for a dataset, a learner and a budget, and what the paper prints there."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from budgetrun.errors import InputError


class Budget(NamedTuple):
    """The budget as it was asked for.

    ``kind`` is ``fraction`` (value: share of another learner's mistakes), ``budget`` (value: B) or ``none``.
    """

    kind: str
    value: float

    def title(self) -> str:
        """Return the words over a block: ``B = p/4``, ``B = 100``, or nothing."""
        if self.kind == "none":
            return ""
        if self.kind == "budget":
            return f"B = {self.value:.12g}"
        share = Fraction(self.value).limit_denominator(16)
        if abs(float(share) - self.value) > 1e-9 or not share:
            return f"B = {self.value:.6g} p"
        top = "p" if share.numerator == 1 else f"{share.numerator}p"
        return f"B = {top}" + (f"/{share.denominator}" if share.denominator > 1 else "")


NO_BUDGET = Budget("none", 0.0)


@dataclass(frozen=True)
class Measured:
    """The runs of one cell, averaged; errors in percent.

    Attributes
    ----------
    error : float
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

    error: float
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


Measurements = dict[tuple[str, str, Budget], Measured]


def measure(runs: pd.DataFrame, failed: pd.DataFrame) -> Measurements:
    """Average the finished runs of every (dataset, label, budget)."""
    keyed = _with_keys(runs)
    lost = _with_keys(failed).groupby(["dataset", "label", "kind", "value"]).size().to_dict()
    cells: Measurements = {}
    for (dataset, label, kind, value), group in keyed.groupby(["dataset", "label", "kind", "value"], sort=False):
        key = (str(dataset), str(label), Budget(str(kind), float(value)))
        cells[key] = _average(group, int(lost.get((dataset, label, kind, value), 0)))
    return cells


def _with_keys(runs: pd.DataFrame) -> pd.DataFrame:
    fraction, budget = runs["budget_fraction"].to_numpy(), runs["budget"].to_numpy()
    kind = np.where(~np.isnan(fraction), "fraction", np.where(~np.isnan(budget), "budget", "none"))
    value = np.where(~np.isnan(fraction), fraction, np.where(~np.isnan(budget), budget, 0.0))
    return runs.assign(kind=kind, value=value)


def _average(group: pd.DataFrame, n_failed: int) -> Measured:
    error = 100.0 * group["online_error"].to_numpy()
    stream = group.groupby(["task", "repetition"], sort=False).ngroup().to_numpy()
    seed = pd.factorize(group["seed"])[0]
    seeds_of = np.bincount(stream)
    by_stream = np.bincount(stream, error) / seeds_of
    by_seed = np.bincount(seed, error) / np.bincount(seed)
    # n - 1 a stream, pooled: the spread between streams stays out of it.
    freedom = len(error) - len(seeds_of)
    within = np.sqrt(np.sum((error - by_stream[stream]) ** 2) / freedom) if freedom else np.nan
    return Measured(
        error=float(by_stream.mean()),
        sd=float(by_stream.std(ddof=1)) if len(by_stream) > 1 else float("nan"),
        sd_over_seeds=float(within),
        minimum=float(error.min()),
        maximum=float(error.max()),
        seed_low=float(by_seed.min()),
        seed_high=float(by_seed.max()),
        n_runs=len(error),
        n_streams=len(by_stream),
        n_seeds=len(by_seed),
        n_failed=n_failed,
        budget=float(group["budget"].mean()),
        support_size=float(group["support_size"].mean()),
    )


class Printed:
    """The printed numbers of one table, in percent, and where to look for a cell's.

    Parameters
    ----------
    rows : list of dict
        ``dataset``, ``label``, ``online_error_percent`` and, where the number belongs to one budget,
        ``budget_fraction`` or ``budget``.
    aliases : dict
        Label or dataset -> the one whose printed numbers it is compared with.
    where : str
        For messages: the place of the rows.
    """

    def __init__(self, rows: list[dict[str, Any]], aliases: dict[str, str], where: str) -> None:
        self._aliases = aliases
        self._numbers: dict[tuple[str, str], dict[Budget, float]] = {}
        for i, row in enumerate(rows):
            place = f"{where}[{i}]"
            missing = [key for key in ("dataset", "label", "online_error_percent") if key not in row]
            if missing:
                raise InputError(f"{place}: {', '.join(missing)} missing; repeat the sweep: budgetrun sweep CONFIG")
            fraction, budget, error = (
                _number(row.get(key), f"{place}.{key}") for key in ("budget_fraction", "budget", "online_error_percent")
            )
            if error is None:
                continue
            if fraction is not None:
                key = Budget("fraction", fraction)
            else:
                key = NO_BUDGET if budget is None else Budget("budget", budget)
            self._numbers.setdefault((str(row["dataset"]), str(row["label"])), {})[key] = error

    def source(self, dataset: str, label: str) -> tuple[str, str]:
        """Return the dataset and label whose printed numbers belong to these."""
        return self._aliases.get(dataset, dataset), self._aliases.get(label, label)

    def budgets(self, dataset: str, label: str) -> list[Budget]:
        """Return the budgets with a printed number."""
        return list(self._numbers.get(self.source(dataset, label), {}))

    def find(self, dataset: str, label: str, budget: Budget, has_budget: bool = True) -> float | None:
        """Return the printed number in percent, None where nothing is printed.

        A learner without a budget may stand in the print once, or once a block with the same number.
        """
        numbers = self._numbers.get(self.source(dataset, label), {})
        if budget in numbers:
            return numbers[budget]
        if has_budget:
            return None
        if NO_BUDGET in numbers:
            return numbers[NO_BUDGET]
        distinct = set(numbers.values())
        return distinct.pop() if len(distinct) == 1 else None


def _number(value: Any, where: str) -> float | None:
    if value is None or value == "" or value != value:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        message = f"{where}: must be a number or empty, got {value!r}; repeat the sweep: budgetrun sweep CONFIG"
        raise InputError(message) from None
