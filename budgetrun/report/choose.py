"""Choosing among an algorithm's settings for a table: in hindsight, by a prefix of each stream, or by the print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from budgetrun.errors import InputError
from budgetrun.report.cells import NO_BUDGET, Budget, Place, Printed, average, with_keys
from budgetrun.report.quantities import ONLINE_ERROR, PREFIX_MISTAKES, QUANTITIES, Quantity
from budgetrun.store.read import NO_SETTING, Results, Setting

_STREAM = ["task", "repetition"]
# Means of the same numbers in another order may differ by so much.
_DIGITS = 9


@dataclass(frozen=True)
class Candidate:
    """A setting among which was chosen: the mean and the standard deviation of the quantity that decided.

    ``printed`` is the number that the mean is to be near to, None for none; ``n_streams`` says how many streams chose
    the setting, and ``chosen`` whether any did, or all.
    """

    place: Place
    quantity: Quantity
    mean: float
    sd: float
    printed: float | None
    chosen: bool
    n_streams: int


@dataclass(frozen=True)
class Choice:
    """The runs of the chosen settings, as if nothing had been swept.

    Attributes
    ----------
    runs, failed : DataFrame
        As in `Results`, without settings; ``rest_error`` is the online error after the first tenth.
    texts : dict of Place to str
        What was chosen for each place that has settings.
    candidates : list of Candidate
    by_prefix : bool
    notes : list of str
        How it was chosen, in a sentence, and where otherwise.
    """

    runs: pd.DataFrame
    failed: pd.DataFrame
    texts: dict[Place, str]
    candidates: list[Candidate]
    by_prefix: bool
    notes: list[str]


def choose(results: Results, spec: dict[str, Any], datasets: Iterable[str], labels: Iterable[str]) -> Choice:
    """Choose among the settings of some labels on some datasets, as a table's ``choose`` asks.

    Raises
    ------
    InputError
        The runs say nothing of the first tenth of their streams, and the choice is by that.
    """
    how = spec["choose"]
    by = str(how["by"])
    datasets, labels = list(datasets), list(labels)
    runs = _of(with_keys(results.runs), datasets, labels)
    failed = _of(with_keys(results.failed), datasets, labels)
    if by == "prefix":
        _check_prefixes(results, runs, str(spec["name"]))
        rest = runs["n_examples"] - runs["prefix_examples"]
        left = (runs["mistakes"] - runs["prefix_mistakes"]) / rest.where(rest > 0)
        runs = runs.assign(rest_error=left)
    quantity = QUANTITIES[str(how["quantity"])] if by == "printed" else ONLINE_ERROR
    rows = (results.manifest.get("choose_expected") or {}).get(spec["name"]) or []
    where = f"{results.folder / 'manifest.json'}: choose_expected.{spec['name']}"
    printed = Printed(rows, spec.get("aliases") or {}, where, quantity)

    kept: list[pd.DataFrame] = []
    lost: list[pd.DataFrame] = []
    texts: dict[Place, str] = {}
    candidates: list[Candidate] = []
    without: list[Place] = []
    keys = ["dataset", "label", "kind", "value"]
    groups = {Place(str(d), str(a), Budget(str(k), float(v))): g for (d, a, k, v), g in runs.groupby(keys, sort=False)}
    for place in sorted(groups, key=lambda p: (datasets.index(p.dataset), labels.index(p.label), p.budget)):
        group = groups[place]
        settings = sorted(set(group["setting"]), key=lambda setting: (setting.position, setting.rank))
        of_setting = {setting: group[group["setting"] == setting] for setting in settings}
        mine = (failed[keys] == [place.dataset, place.label, *place.budget]).all(axis=1)
        if len(settings) == 1:
            kept.append(group)
            lost.append(failed[mine])
            texts[place] = settings[0].text
            continue
        if by == "prefix":
            chosen = _by_prefix(of_setting)
            candidates += _candidates(place, of_setting, PREFIX_MISTAKES, None, chosen)
            kept += [_on_streams(of_setting[setting], streams) for setting, streams in chosen.items()]
            # Nobody knows what a run that failed would have been chosen for.
            lost.append(failed[mine])
            texts[place] = _counted(chosen)
            continue
        wanted = _printed(printed, place)
        if by == "printed" and wanted is None:
            without.append(place)
        one = _nearest(of_setting, quantity, wanted) if wanted is not None else _lowest(of_setting)
        decided = ONLINE_ERROR if wanted is None else quantity
        candidates += _candidates(place, of_setting, decided, wanted, {one: _streams(of_setting[one])})
        kept.append(of_setting[one])
        lost.append(failed[mine & (failed["setting"] == one)])
        texts[place] = one.text
    return Choice(
        _plain(pd.concat(kept)) if kept else runs,
        _plain(pd.concat(lost)) if lost else failed,
        {place: text for place, text in texts.items() if text},
        candidates,
        by == "prefix",
        _notes(by, quantity, _named(without, groups), spec.get("quantity") in (None, ONLINE_ERROR.name)),
    )


def _of(runs: pd.DataFrame, datasets: list[str], labels: list[str]) -> pd.DataFrame:
    return runs[runs["dataset"].isin(datasets) & runs["label"].isin(labels)]


def _plain(runs: pd.DataFrame) -> pd.DataFrame:
    return runs.assign(setting=pd.Series([NO_SETTING] * len(runs), index=runs.index, dtype=object))


def _printed(printed: Printed, place: Place) -> float | None:
    """Return the printed number of a place, or else the one that is printed without a budget."""
    asked = ((place.budget, place.budget != NO_BUDGET), (NO_BUDGET, True))
    found = (printed.find(place.dataset, place.label, b, has, NO_SETTING, has_setting=False) for b, has in asked)
    return next((number for number in found if number is not None), None)


def _check_prefixes(results: Results, runs: pd.DataFrame, name: str) -> None:
    bare = runs[runs["prefix_examples"].isna() | runs["prefix_mistakes"].isna()]
    if len(bare):
        raise InputError(
            f"{results.runs_path}: table {name!r} chooses by: prefix, and run {bare['run_id'].iloc[0]} has no "
            "prefix_mistakes; make the runs again: budgetrun sweep CONFIG --force"
        )


def _streams(runs: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(runs[_STREAM].drop_duplicates().itertuples(index=False, name=None))


def _on_streams(runs: pd.DataFrame, streams: list[tuple[Any, ...]]) -> pd.DataFrame:
    wanted = set(streams)
    return runs[[key in wanted for key in zip(*(runs[column] for column in _STREAM), strict=True)]]


def _lowest(of_setting: dict[Setting, pd.DataFrame]) -> Setting:
    """Return the setting of the lowest mean online error, the first of several."""
    return min(of_setting, key=lambda setting: round(average(of_setting[setting], ONLINE_ERROR).mean, _DIGITS))


def _nearest(of_setting: dict[Setting, pd.DataFrame], quantity: Quantity, wanted: float) -> Setting:
    """Return the setting whose mean is nearest to a printed number, the first of several."""
    return min(of_setting, key=lambda s: round(abs(average(of_setting[s], quantity).mean - wanted), _DIGITS))


def _by_prefix(of_setting: dict[Setting, pd.DataFrame]) -> dict[Setting, list[tuple[Any, ...]]]:
    """Return the streams that chose each setting, which has the fewest mistakes early there, the first of several."""
    means = {setting: runs.groupby(_STREAM)["prefix_mistakes"].mean() for setting, runs in of_setting.items()}
    chosen: dict[Setting, list[tuple[Any, ...]]] = {}
    for stream in dict.fromkeys(stream for runs in of_setting.values() for stream in _streams(runs)):
        there = [setting for setting in of_setting if stream in means[setting].index]
        best = min(there, key=lambda setting: round(float(means[setting][stream]), _DIGITS))
        chosen.setdefault(best, []).append(stream)
    return {setting: chosen[setting] for setting in of_setting if setting in chosen}


def _counted(chosen: dict[Setting, list[tuple[Any, ...]]]) -> str:
    """Return ``eta=0.1``, or ``eta=0.1 on 7 of 10 streams`` where not all streams chose the same."""
    counts = Counter({setting: len(streams) for setting, streams in chosen.items()})
    ((most, n),) = counts.most_common(1)
    return most.text if len(counts) == 1 else f"{most.text} on {n} of {counts.total()} streams"


def _candidates(
    place: Place,
    of_setting: dict[Setting, pd.DataFrame],
    quantity: Quantity,
    printed: float | None,
    chosen: dict[Setting, list[tuple[Any, ...]]],
) -> list[Candidate]:
    found = []
    for setting, runs in of_setting.items():
        m = average(runs, quantity)
        n_streams = len(chosen.get(setting, []))
        found.append(
            Candidate(place._replace(setting=setting), quantity, m.mean, m.sd, printed, n_streams > 0, n_streams)
        )
    return found


def _named(places: list[Place], every: Iterable[Place]) -> list[str]:
    """Return ``nogd`` for a label whose places are all there, else ``nogd on ijcnn1``."""
    whole = {place.label for place in places} - {place.label for place in every if place not in places}
    return list(dict.fromkeys(p.label if p.label in whole else f"{p.label} on {p.dataset}" for p in places))


def _notes(by: str, quantity: Quantity, without: list[str], of_errors: bool) -> list[str]:
    if by == "prefix":
        scored = "; all columns show the online error of the remaining rounds" if of_errors else ""
        first = "the one with the fewest mistakes in its first tenth"
        return [f"Of an algorithm's settings, each stream takes {first}{scored}."]
    hindsight = "the one with the lowest mean online error there: a choice in hindsight"
    if by == "online_error":
        return [f"Of an algorithm's settings, a cell shows for its data set {hindsight}."]
    calibrated = f"the one whose mean {quantity.noun} is nearest to the printed one: it is calibrated on the print"
    notes = [f"Of an algorithm's settings, a cell shows for its data set {calibrated}."]
    if without:
        notes.append(f"Where that is not printed, {hindsight} ({', '.join(without)}).")
    return notes
