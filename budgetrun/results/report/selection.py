"""Choosing among the settings of an algorithm: in hindsight, by a prefix of each stream, or by published numbers."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np
import pandas as pd

from budgetrun.base.errors import InputError
from budgetrun.config import quantities
from budgetrun.config.quantities import ONLINE_ERROR, PREFIX_MISTAKES, QUANTITIES, RMSE, Quantity
from budgetrun.config.schema import TableSpec
from budgetrun.results.report.numbers import NO_BUDGET, Measured, Place, PublishedNumbers, measure, places_of
from budgetrun.results.store.read import NO_SETTING, Results, Setting, listed

# What is shown of the remaining rounds after a choice by the first tenth.
LATER = {ONLINE_ERROR: quantities.REST_ERROR, RMSE: quantities.REST_RMSE}
# Means of the same numbers in another order may differ by rounding.
_DIGITS = 9


@dataclass(frozen=True)
class Candidate:
    """One of the settings that were chosen from, with the mean of the quantity that decided and its deviation.

    ``published`` is the number that the mean should be near to, None for none; ``n_streams`` says how many streams
    chose the setting.
    """

    place: Place
    quantity: Quantity
    measured: Measured
    published: float | None
    n_streams: int


@dataclass(frozen=True)
class Choice:
    """The runs of the chosen settings; all runs where nothing was chosen."""

    # With the chosen runs alone, without settings; ``rest_error`` is the online error after the first tenth.
    results: Results
    # The text of the chosen setting, for each place that has settings.
    texts: dict[Place, str] = field(default_factory=dict)
    candidates: list[Candidate] = field(default_factory=list)
    # Sentences on the way of choosing, and on the places where it was another.
    notes: list[str] = field(default_factory=list)


def choose(results: Results, spec: TableSpec) -> Choice:
    """Choose among the settings of a table's labels on its datasets, as its ``choose`` asks.

    Raises InputError: the choice is by the first tenth of the streams, and the runs have no mistakes in it.
    """
    if (how := spec.choose) is None:
        return Choice(results)
    datasets, labels = list(spec.rows or results.datasets), list(spec.columns or results.labels)
    labels += [spec.relative_to] if spec.relative_to is not None else []
    error = QUANTITIES[results.config.problem.error]
    early = {RMSE: quantities.PREFIX_RMSE, ONLINE_ERROR: PREFIX_MISTAKES}[error]
    if quantities.EARLY_LOG_LOSS.name in results.config.metrics:
        early = quantities.EARLY_LOG_LOSS
    runs, failed = (_of(frame, datasets, labels) for frame in (results.runs, results.failed))
    if how.by == "prefix":
        runs = _with_rest(results, runs, spec.name, early.column)
    quantity = QUANTITIES[how.quantity] if how.quantity else error
    numbers = PublishedNumbers(how.published, spec.aliases)
    # Each is only measured if a choice needs it.
    measured = cache(partial(measure, replace(results, runs=runs, failed=failed)))

    # The settings of each place, by the numbers of their runs, in the order of the config's values.
    settings: dict[Place, dict[int, Place]] = {}
    numbered = sorted(places_of(runs).items(), key=lambda item: (item[1].setting.position, item[1].setting.rank))
    for at, one in numbered:
        settings.setdefault(one._replace(setting=NO_SETTING), {})[at] = one
    order = sorted(settings, key=lambda p: (datasets.index(p.dataset), labels.index(p.label), p.budget))
    # What decides, and near to which number, None for none; and the setting that all streams choose.
    decided = dict[Place, tuple[Quantity, float | None]]()
    best = {place: next(iter(own)) for place, own in settings.items() if len(own) == 1}
    for place in (place for place in order if place not in best):
        by, near = (early if how.by == "prefix" else error), None
        if how.by == "printed":
            found = numbers.find(place, any_budget=place.budget == NO_BUDGET, any_setting=True)
            found = found or numbers.find(place._replace(budget=NO_BUDGET), any_setting=True)
            by, near = (quantity, found.value) if found else (error, None)
        decided[place] = by, near
        if how.by != "prefix":
            means = {at: round(abs(measured(by)[p].mean - (near or 0.0)), _DIGITS) for at, p in settings[place].items()}
            best[place] = min(means, key=means.__getitem__)

    row = runs["place"].map({at: i for i, place in enumerate(order) for at in settings[place]}).rename("row")
    streams = runs.groupby([row, "place", "stream"])
    taken = pd.Series(data=False, index=streams.size().index)
    if how.by == "prefix":
        # A cell has the mean of the settings with the least early error.
        early_means = streams[early.column].mean().round(_DIGITS)
        taken |= early_means == early_means.groupby(level=["row", "stream"]).transform("min")
    taken |= taken.index.get_level_values("place").isin(best.values())
    n_streams = taken.groupby(level="place").sum()
    n_all = taken[taken].groupby(level=["row", "stream"]).size().groupby(level="row").size()
    texts, candidates = dict[Place, str](), list[Candidate]()
    for i, place in enumerate(order):
        chosen = {one.setting: int(n_streams[at]) for at, one in settings[place].items() if n_streams[at]}
        if text := _text(chosen, n_all[i]):
            texts[place] = text
        if place in decided:
            by, near = decided[place]
            candidates += [
                Candidate(one, by, measured(by)[one], near, int(n_streams[at])) for at, one in settings[place].items()
            ]
    kept = taken.to_numpy()[streams.ngroup()]
    # In the order of the table.
    runs = runs[kept].iloc[np.argsort(row[kept], kind="stable")]
    lost = {at: one._replace(setting=NO_SETTING) for at, one in places_of(failed).items()}
    failed = failed[failed["place"].isin([at for at, p in lost.items() if p in settings and best.get(p, at) == at])]
    without = [place for place, (_, near) in decided.items() if near is None]
    return Choice(
        replace(results, runs=_without_settings(runs, order), failed=_without_settings(failed, order)),
        texts,
        candidates,
        _notes(how.by, quantity, _named(without, settings), error, early, spec.quantity == error.name)
        + (_longer(results, runs) if how.by == "prefix" else []),
    )


def _of(runs: pd.DataFrame, datasets: list[str], labels: list[str]) -> pd.DataFrame:
    found = runs["dataset"].isin(datasets) & runs["label"].isin(labels)
    # Without a copy of what may be a million runs.
    return runs if found.all() else runs[found]


def _with_rest(results: Results, runs: pd.DataFrame, table: str, column: str) -> pd.DataFrame:
    # Selections have no scores, so no losses, and nothing to choose from.
    chosen = ~runs["label"].isin([rule.label for rule in results.config.select])
    bare = runs[runs["prefix_examples"].isna() | (runs[column].isna() & chosen)]
    if len(bare):
        raise InputError(
            f"{results.runs_path}: table {table!r} chooses by: prefix, and run {bare['run_id'].iloc[0]} has no "
            f"{column}; repeat the sweep: budgetrun sweep CONFIG --force"
        )
    rest = runs["n_examples"] - runs["prefix_examples"]
    rest = rest.where(rest > 0)
    squares = runs["n_examples"] * runs["rmse"] ** 2 - runs["prefix_examples"] * runs["prefix_rmse"] ** 2
    return runs.assign(
        rest_error=(runs["mistakes"] - runs["prefix_mistakes"]) / rest, rest_rmse=np.sqrt(squares.clip(lower=0) / rest)
    )


def _without_settings(runs: pd.DataFrame, order: list[Place]) -> pd.DataFrame:
    """Return runs without settings; their places are numbered in this order."""
    row = {place: i for i, place in enumerate(order)}
    rows = {at: row[place._replace(setting=NO_SETTING)] for at, place in places_of(runs).items()}
    none = pd.Series([NO_SETTING] * len(runs), index=runs.index, dtype=object)
    return runs.assign(setting=none, place=runs["place"].map(rows))


def _longer(results: Results, runs: pd.DataFrame) -> list[str]:
    """Return a note on prefixes of more than a tenth."""
    longer = runs[runs["prefix_examples"] > runs["n_examples"] / 10 + 1]
    shares = (longer["prefix_examples"] / longer["n_examples"]).groupby(longer["dataset"], sort=False).max()
    told = listed(f"up to {share:.0%} on {results.title(str(name))}" for name, share in shares.items())
    return [f"A tenth with fewer than 50 examples of a class is not enough: the first part is {told}."] if told else []


def _text(chosen: dict[Setting, int], n_streams: int) -> str:
    """Return ``eta=0.1``, or ``eta=0.1 on 7 of 10 streams`` where not all streams chose the same."""
    most = max(chosen, key=chosen.__getitem__)
    return most.text if len(chosen) == 1 else f"{most.text} on {chosen[most]} of {n_streams} streams"


def _named(places: list[Place], every: Iterable[Place]) -> list[str]:
    """Return ``nogd`` for a label all of whose places are given, else ``nogd on ijcnn1``."""
    partly = {place.label for place in every if place not in places}
    return list(dict.fromkeys(f"{p.label} on {p.dataset}" if p.label in partly else p.label for p in places))


def _notes(
    by: str, quantity: Quantity, without: list[str], error: Quantity, early: Quantity, of_errors: bool
) -> list[str]:
    if by == "prefix":
        scored = f"; all columns show the {error.noun} of the remaining rounds" if of_errors else ""
        least = "fewest mistakes" if early is PREFIX_MISTAKES else f"lowest {early.noun.partition(' in ')[0]}"
        tied = "Of several that are equal there, it shows the mean."
        return [f"Each stream uses the setting with the {least} in its first tenth{scored}. {tied}"]
    hindsight = f"the setting with the lowest mean {error.noun} on its dataset, which is a choice in hindsight"
    if by == error.name:
        return [f"A cell shows {hindsight}."]
    notes = [
        f"A cell shows the setting whose mean {quantity.noun} is nearest to the published one, so it is calibrated on "
        "the published numbers."
    ]
    if without:
        notes.append(f"Where none is published, it shows {hindsight} ({', '.join(without)}).")
    return notes
