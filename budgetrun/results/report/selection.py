"""Choosing among the settings of an algorithm: in hindsight, by a prefix of each stream, or by published numbers."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pandas as pd

from budgetrun.base.errors import InputError
from budgetrun.config.quantities import (
    EARLY_LOG_LOSS,
    ONLINE_ERROR,
    PREFIX_MISTAKES,
    PREFIX_RMSE,
    QUANTITIES,
    RMSE,
    Quantity,
)
from budgetrun.config.schema import ChooseSpec, TableSpec
from budgetrun.results.report.numbers import (
    NO_BUDGET,
    PLACE,
    STREAM,
    Measured,
    Place,
    PublishedNumbers,
    measure,
    with_budgets,
)
from budgetrun.results.store.read import NO_SETTING, Results, Setting

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
    """The runs of the chosen settings."""

    # With the chosen runs alone, without settings; ``rest_error`` is the online error after the first tenth.
    results: Results
    # The text of the chosen setting, for each place that has settings.
    texts: dict[Place, str]
    candidates: list[Candidate]
    notes: list[str]  # sentences on the way of choosing, and on the places where it was another


def choose(results: Results, spec: TableSpec, how: ChooseSpec, datasets: list[str], labels: list[str]) -> Choice:
    """Choose among the settings of some labels on some datasets, as a table's ``choose`` asks.

    Raises InputError: the choice is by the first tenth of the streams, and the runs have no mistakes in it.
    """
    error = QUANTITIES[results.config.problem.error]
    early = {RMSE: PREFIX_RMSE, ONLINE_ERROR: PREFIX_MISTAKES}[error]
    if EARLY_LOG_LOSS.name in results.config.metrics:
        early = EARLY_LOG_LOSS
    runs, failed = (_of(frame, datasets, labels) for frame in (results.runs, results.failed))
    if how.by == "prefix":
        runs = _with_rest(results, runs, spec.name, early.column)
    quantity = QUANTITIES[how.quantity] if how.quantity else error
    numbers = PublishedNumbers(how.published, spec.aliases)
    # Each is only measured if a choice needs it.
    measured = cache(partial(measure, replace(results, runs=runs, failed=failed)))

    # The indices of the runs that are shown, and of the failed ones.
    kept, lost = list[int](), list[int]()
    texts: dict[Place, str] = {}
    candidates, without = list[Candidate](), list[Place]()
    # Copying all columns for each place is slow, and so is comparing settings for each run.
    codes, known = pd.factorize(runs["setting"])
    needed = runs[[*PLACE[:-1], "stream", *([early.column] if how.by == "prefix" else [])]].assign(code=codes)
    groups = {Place.of(key): group for key, group in needed.groupby(PLACE[:-1], sort=False)}
    for place in sorted(groups, key=lambda p: (datasets.index(p.dataset), labels.index(p.label), p.budget)):
        group = groups[place]
        code_of = {known[code]: code for code in group["code"].unique()}
        settings = sorted(code_of, key=lambda setting: (setting.position, setting.rank))
        mine = pd.Series(data=False, index=failed.index)
        if len(failed):
            mine = (failed[PLACE[:-1]] == [place.dataset, place.label, *place.budget]).all(axis=1)
        decided, number = error, None
        if how.by == "prefix" and len(settings) > 1:
            decided = early
            streams = _by_prefix(group, [code_of[one] for one in settings], early.column)
            chosen = {known[code]: own for code, own in streams.items()}
        elif len(settings) == 1:
            chosen = {settings[0]: set(group["stream"])}
        else:
            if how.by == "printed":
                found = numbers.find(place, any_budget=place.budget == NO_BUDGET, any_setting=True)
                found = found or numbers.find(place._replace(budget=NO_BUDGET), any_setting=True)
                number, decided = (None, error) if found is None else (found.value, quantity)
                without += [place] if found is None else []
            means = {one: measured(decided)[place._replace(setting=one)].mean for one in settings}
            best = min(settings, key=lambda one: round(abs(means[one] - (number or 0.0)), _DIGITS))
            chosen = {best: set(group.loc[group["code"] == code_of[best], "stream"])}
            mine &= failed["setting"] == best
        shown = [(group["code"] == code_of[one]) & group["stream"].isin(own) for one, own in chosen.items()]
        kept += group.index[np.logical_or.reduce(shown)].tolist()
        lost += failed.index[mine].tolist()
        texts[place] = _text(chosen)
        if len(settings) > 1:
            candidates += [
                Candidate(at, decided, measured(decided)[at], number, len(chosen.get(at.setting, ())))
                for at in (place._replace(setting=one) for one in settings)
            ]
    if groups:
        runs, failed = runs.loc[kept], failed.loc[lost]
    return Choice(
        replace(results, runs=_without_settings(runs), failed=_without_settings(failed)),
        {place: text for place, text in texts.items() if text},
        candidates,
        _notes(how.by, quantity, _named(without, groups), error, early, spec.quantity == error.name),
    )


def _of(runs: pd.DataFrame, datasets: list[str], labels: list[str]) -> pd.DataFrame:
    runs = with_budgets(runs[runs["dataset"].isin(datasets) & runs["label"].isin(labels)])
    return runs.assign(stream=runs.groupby(["dataset", *STREAM]).ngroup())


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


def _without_settings(runs: pd.DataFrame) -> pd.DataFrame:
    return runs.assign(setting=pd.Series([NO_SETTING] * len(runs), index=runs.index, dtype=object))


def _by_prefix(runs: pd.DataFrame, codes: list[int], column: str) -> dict[int, set[int]]:
    """Return the streams that chose each setting: those with the least early error, of which a cell has the mean."""
    means = runs.groupby(["stream", "code"])[column].mean().unstack()[codes].round(_DIGITS)
    best = means.eq(means.min(axis=1), axis=0)
    return {int(code): set(best.index[best[code]]) for code in best.columns[best.any()]}


def _text(chosen: dict[Setting, set[int]]) -> str:
    """Return ``eta=0.1``, or ``eta=0.1 on 7 of 10 streams`` where not all streams chose the same."""
    most = max(chosen, key=lambda setting: len(chosen[setting]))
    n = len(set().union(*chosen.values()))
    return most.text if len(chosen) == 1 else f"{most.text} on {len(chosen[most])} of {n} streams"


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
