"""From runs to averages: what was measured for a dataset, a label, a budget and a setting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from budgetrun.config.quantities import SECONDS_RATIO, Quantity
from budgetrun.results.store.optimum import problem_of
from budgetrun.results.store.read import NO_SETTING, Results, Setting

STREAM = ["task", "repetition"]
# The columns that make up a `Place`.
PLACE = ["dataset", "label", "kind", "value", "setting"]
# Those that a place is made of.
_OF_PLACE = ["dataset", "label", "setting", "own_budget", "budget", "budget_fraction"]


class Budget(NamedTuple):
    """The budget as the config asks for it.

    ``kind`` is ``fraction`` (value: share of another learner's final support size), ``budget`` (value: B), ``dataset``
    (value: the one B that the config gives this dataset, so that blocks do not differ in it) or ``none``.
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

    # Mean over the streams (task x repetition) of the mean over seeds.
    mean: float
    # Standard deviation over the streams after averaging over seeds, with n - 1; NaN with one stream.
    sd: float
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
    needed = dict.fromkeys([*_OF_PLACE, *STREAM, "seed", "support_size", quantity.column])
    runs = with_budgets(runs.loc[runs[quantity.column].notna(), list(needed)])
    runs = runs.assign(shown=quantity.factor * runs[quantity.column])
    place, stream = _groups(runs)
    by_stream = pd.Series(np.bincount(stream, runs["shown"]) / np.bincount(stream))
    of_place = by_stream.groupby(place.groupby(stream).first())
    by_seed = runs.groupby([place, runs["seed"]])["shown"].mean().groupby(level=0)
    own = runs.groupby(place)
    table = pd.DataFrame({"minimum": own["shown"].min(), "maximum": own["shown"].max(), "n_runs": own.size()})
    table = table.assign(budget=own["budget"].mean(), support_size=own["support_size"].mean())
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
    lost = Counter(_places(with_budgets(results.failed)))
    places = _places(runs.loc[~place.duplicated()])
    rows: Any = table.to_dict("records")
    return {one: Measured(n_failed=lost[one], **row) for one, row in zip(places, rows, strict=True)}


def _groups(runs: pd.DataFrame) -> tuple[pd.Series[int], pd.Series[int]]:
    """Return the number of each run's place, and of its stream within the place, in the order of the runs."""
    # A few objects stand for all settings; comparing these is slow.
    settings = pd.Series(pd.factorize(runs["setting"].map(id))[0], index=runs.index)
    place = runs.groupby([*(runs[name] for name in PLACE[:-1]), settings], sort=False).ngroup().rename("place")
    return place, runs.groupby([place, *(runs[name] for name in STREAM)], sort=False).ngroup()


def _places(runs: pd.DataFrame) -> Iterator[Place]:
    return map(place_of, runs[PLACE].itertuples(index=False, name=None))


def place_of(key: Any) -> Place:
    """Return the place for the values of the columns `PLACE`; without a setting where the key has none."""
    dataset, label, kind, value, *setting = key
    return Place(str(dataset), str(label), Budget(str(kind), float(value)), *setting)


def with_budgets(runs: pd.DataFrame) -> pd.DataFrame:
    """Return runs with the columns ``kind`` and ``value`` of their `Budget`."""
    fraction, budget = runs["budget_fraction"], runs["budget"]
    asked = np.where(runs["own_budget"], "dataset", "budget")
    kind = np.where(fraction.notna(), "fraction", np.where(budget.notna(), asked, "none"))
    return runs.assign(kind=kind, value=fraction.fillna(budget).fillna(0.0))


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
