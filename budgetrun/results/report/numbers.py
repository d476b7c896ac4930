"""The numbers of a report: averages of the runs of a dataset, label, budget and setting, and what is published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from budgetrun.base.limits import sized
from budgetrun.config.quantities import SECONDS_RATIO, Quantity, figures
from budgetrun.config.schema import Published, TableSpec
from budgetrun.results.store.optimum import problem_of
from budgetrun.results.store.read import NO_SETTING, Results, Setting, items_of

STREAM = ["task", "repetition"]


class Budget(NamedTuple):
    """The budget as the config asks for it.

    ``kind`` is ``fraction`` (value: share of another learner's final support size), ``budget`` (value: B), ``dataset``
    (value: the one B that the config gives this dataset, so that blocks do not differ in it), ``memory`` (value: the
    bytes that decide on B) or ``none``.
    """

    kind: str
    value: float

    @classmethod
    def asked(cls, fraction: float | None, budget: float | None) -> Budget:
        """Return the budget that is given as a fraction, as a number, or not at all."""
        if fraction is not None:
            return cls("fraction", fraction)
        return NO_BUDGET if budget is None else cls("budget", budget)

    def title(self) -> str:
        """Return the heading of a block: ``B = p/4``, ``B = 100``, or nothing."""
        if self.kind == "none":
            return ""
        if self.kind == "memory":
            return sized(self.value).replace(".0 ", " ")
        if self.kind in ("budget", "dataset"):
            return f"B = {self.value:.12g}"
        share = Fraction(self.value).limit_denominator(16)
        if abs(float(share) - self.value) > 1e-9 or not share:
            return f"B = {self.value:.6g} p"
        top = "p" if share.numerator == 1 else f"{share.numerator}p"
        return f"B = {top}" + (f"/{share.denominator}" if share.denominator > 1 else "")

    @property
    def is_everywhere(self) -> bool:
        """True if an algorithm with it is shown in the blocks of all budgets."""
        return self.kind in ("none", "dataset")


NO_BUDGET = Budget("none", 0.0)


class Place(NamedTuple):
    """A dataset, label, budget and setting, whose runs are averaged together."""

    dataset: str
    label: str
    budget: Budget
    setting: Setting = NO_SETTING


@dataclass(frozen=True)
class Measured:
    """The runs of one place, averaged; errors in percent."""

    mean: float  # mean over the streams (task x repetition) of the mean over seeds
    sd: float  # standard deviation over the streams after averaging over seeds, with n - 1; NaN with one stream
    # Standard deviation over the seeds within a stream, pooled over the streams; NaN where no stream has two seeds.
    sd_over_seeds: float
    # Over single runs.
    minimum: float
    maximum: float
    # Over the seeds, each averaged over the streams.
    seed_low: float
    seed_high: float
    n_runs: int
    n_streams: int
    n_seeds: int
    n_failed: int
    # Means over the runs; `budget` is NaN for an algorithm without one.
    budget: float
    support_size: float

    @property
    def spread(self) -> float:
        """The standard deviation over the streams; with one stream, that over its seeds. NaN with a single run."""
        return self.sd if self.n_streams > 1 else self.sd_over_seeds


Measurements = dict[Place, Measured]


def measure(results: Results, quantity: Quantity, divisor: str | None = None) -> Measurements:
    """Average the finished runs of each place that have a number of this quantity.

    ``divisor`` goes with ratios of seconds: the label of the algorithm whose seconds the others' are divided by.
    """
    runs = results.runs
    if quantity is SECONDS_RATIO:
        assert divisor is not None
        runs = with_ratios(runs, divisor)
    # Only these columns are copied: there may be millions of runs.
    needed = dict.fromkeys(["place", "stream", "seed", "budget", "support_size", quantity.column])
    runs = runs.loc[runs[quantity.column].notna(), list(needed)]
    runs = runs.assign(shown=quantity.factor * runs[quantity.column])
    place, stream = runs["place"], runs.groupby(["place", "stream"], sort=False).ngroup()
    by_stream = pd.Series(np.bincount(stream, runs["shown"]) / np.bincount(stream))
    of_place = by_stream.groupby(place.groupby(stream).first())
    by_seed = runs.groupby([place, runs["seed"]])["shown"].mean().groupby(level=0)
    own = runs.groupby(place)
    table = own[["budget", "support_size"]].mean()
    table = table.assign(minimum=own["shown"].min(), maximum=own["shown"].max(), n_runs=own.size())
    # Numpy's mean: that of pandas differs in the last bit, on which the rounding of 25.335 depends.
    table["mean"] = [by_stream.to_numpy()[streams].mean() for streams in of_place.indices.values()]
    table = table.assign(sd=of_place.std(), n_streams=of_place.size())
    # With a seed per repetition, a stream has one.
    table["n_seeds"] = runs.groupby([place, stream])["seed"].nunique().groupby(level=0).max()
    table = table.assign(seed_low=by_seed.min(), seed_high=by_seed.max())
    # Deviations from the stream's mean, pooled: the spread between streams does not count.
    squares = ((runs["shown"] - by_stream[stream].to_numpy()) ** 2).groupby(place).sum()
    freedom = table["n_runs"] - table["n_streams"]
    table["sd_over_seeds"] = np.sqrt(squares / freedom.where(freedom > 0))
    lost = Counter(results.failed["place"])
    places = places_of(results.runs)
    rows: Any = table.to_dict("index")
    return {places[number]: Measured(n_failed=lost[number], **row) for number, row in rows.items()}


def places_of(runs: pd.DataFrame) -> dict[Any, Place]:
    """Return the places of runs by their numbers."""
    found = runs.loc[~runs["place"].duplicated(), ["place", "dataset", "label", "kind", "value", "setting"]]
    keys = found.itertuples(index=False, name=None)
    return {number: Place(dataset, label, Budget(*own), setting) for number, dataset, label, *own, setting in keys}


def by_stream(runs: pd.DataFrame, quantity: Quantity) -> dict[Place, pd.Series[float]]:
    """Return the numbers of each place that has any: for each stream, the mean over its seeds."""
    runs = runs.assign(shown=quantity.factor * runs[quantity.column]).dropna(subset=["shown"])
    places = places_of(runs)
    return {places[at]: own.groupby(STREAM)["shown"].mean() for at, own in runs.groupby("place", sort=False)}


def p_in_words(p: float) -> str:
    """Return the p of a test with two digits, or that it is small; nothing for NaN."""
    return "" if np.isnan(p) else figures(p, 2) if p >= 0.001 else "< 0.001"


def with_ratios(runs: pd.DataFrame, divisor: str) -> pd.DataFrame:
    """Return runs with a column ``seconds_ratio``: their seconds over the mean of the divisor's on the same stream.

    The divisor's runs with the same kernel count and, of one that ran with several C, those with the same C, if there
    are any. The ratio is NaN where it has no finished run.
    """
    keyed = runs.assign(problem=runs["parameters"].map(problem_of))
    own = keyed[keyed["label"] == divisor]
    keys = ["dataset", *STREAM, "kernel"]
    of_problem, of_stream = (
        keyed.join(own.groupby(by)["seconds"].mean().rename("base"), on=by)["base"] for by in ([*keys, "problem"], keys)
    )
    return runs.assign(seconds_ratio=runs["seconds"] / of_problem.fillna(of_stream))


class PublishedNumbers:
    """The published numbers of one table, each with its budget and setting where the paper gives them.

    ``aliases`` leads from a label or dataset to the one whose published numbers it is compared with.
    """

    def __init__(self, rows: Iterable[Published], aliases: dict[str, str]) -> None:
        self._aliases = aliases
        self._rows: dict[tuple[str, str], dict[tuple[Budget, frozenset[str]], Published]] = {}
        for row in rows:
            key = Budget.asked(row.budget_fraction, row.budget), items_of(row.setting or "")
            self._rows.setdefault((row.dataset, row.label), {})[key] = row

    @classmethod
    def in_table(cls, spec: TableSpec, divisor: str | None = None) -> PublishedNumbers:
        """Return the published numbers that a table shows.

        ``divisor`` goes with ratios of seconds: the label by whose published seconds those on the dataset are divided.
        """
        rows = spec.published
        if divisor is not None:
            label = spec.aliases.get(divisor, divisor)
            base = {row.dataset: row.value for row in rows if row.label == label and row.value}
            rows = tuple(
                replace(row, value=row.value / base[row.dataset], sd=None) for row in rows if row.dataset in base
            )
        return cls(rows, spec.aliases)

    def source(self, dataset: str, label: str) -> tuple[str, str]:
        """Return the dataset and label whose published numbers belong to these."""
        return self._aliases.get(dataset, dataset), self._aliases.get(label, label)

    def of(self, dataset: str, label: str) -> dict[tuple[Budget, frozenset[str]], Published]:
        """Return the published numbers of a dataset and label by budget and items of the setting."""
        return self._rows.get(self.source(dataset, label), {})

    def find(self, place: Place, *, any_budget: bool = False, any_setting: bool = False) -> Published | None:
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
            for (budget, setting), number in self.of(place.dataset, place.label).items()
            if (any_budget or budget == place.budget) and (any_setting or setting == items)
        }
        for key in ((place.budget, items), (NO_BUDGET, items), (place.budget, none), (NO_BUDGET, none)):
            if key in eligible:
                return eligible[key]
        distinct = {(number.value, number.sd): number for number in eligible.values()}
        return next(iter(distinct.values())) if len(distinct) == 1 else None

    def of_measured(self, place: Place, block: Budget = NO_BUDGET) -> Published | None:
        """Return the published number of a place that has runs; one without a budget may be shown in any block."""
        shown = place._replace(budget=block) if place.budget == NO_BUDGET else place
        return self.find(shown, any_budget=place.budget == NO_BUDGET, any_setting=place.setting == NO_SETTING)
