"""The numbers that decide claims, computed from the runs of results folders, and from their bounds.csv."""

import json
import re
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from budgetrun.base.errors import InputError
from budgetrun.base.params import Formula
from budgetrun.config.quantities import QUANTITIES, Quantity, figures
from budgetrun.config.report import IN_BRACES
from budgetrun.config.schema import Label, NumberSpec
from budgetrun.results.report import numbers
from budgetrun.results.report.numbers import Budget, Measured, Place, PublishedNumbers, by_stream, measure
from budgetrun.results.report.selection import choose
from budgetrun.results.statistics import minus, paired
from budgetrun.results.store.files import first_of
from budgetrun.results.store.read import NO_SETTING, Results, items_of, load

_JSON = ("facts", "parameters")
_OF_BOUNDS = ("dataset", "label", "theorem", "mistakes", "lower", "bound", "ratio", "applies", "n_examples", "setting")
# Rounding of the numbers in bounds.csv.
_ROUNDING = 1e-6


class Number(NamedTuple):
    """A number, as the page shows it; ``n`` is the number of streams it is a mean over, 0 for no mean."""

    value: float
    text: str
    n: int = 0


class _Missing(Exception):
    """What a number needs is not there."""


class Evidence:
    """The results folders in a folder, each read when it is first asked for; ``own`` is one that was read already."""

    def __init__(self, folder: Path, own: Results | None = None) -> None:
        self.folder = folder
        self._own = own
        self.results = cache(self._load)
        self._measured = cache(self._measure)
        self._chosen = cache(self._choose)
        self._bounds = cache(self._read_bounds)

    def number(self, spec: NumberSpec, case: dict[str, Label], known: dict[str, Number], where: str) -> Number:
        """Return a number in one case of a claim, or for a text.

        ``case`` has the selectors that the number does not give itself, ``known`` the numbers that a formula may use,
        by name, and ``where`` is the claim and the name of the number, for messages.

        Raises InputError: no results folder or no run is selected, or several averages are.
        """
        try:
            number = self._number(spec, case, known)
        except _Missing as error:
            raise InputError(f"{where}: {error}") from None
        if spec.digits is None:
            return number
        unit = spec.unit or re.sub(r"^[-+\d.,e]*", "", number.text)
        return number._replace(text=figures(number.value, spec.digits) + unit)

    def _number(self, spec: NumberSpec, case: dict[str, Label], known: dict[str, Number]) -> Number:
        """Return a number; a `_Missing` says what is not there."""
        if spec.formula is not None:
            values = {name: number.value for name, number in known.items()}
            try:
                value = float(Formula(spec.formula, tuple(values))(**values))
            except (ArithmeticError, ValueError, TypeError):
                raise _Missing(f"{spec.formula!r} is not a real number for {values}") from None
            return Number(value, figures(value, 4) + spec.unit)
        if spec.csv is not None:
            return self._cell(spec)
        spec = spec.model_copy(update={key: value for key, value in case.items() if getattr(spec, key) is None})
        if spec.results is None:
            raise _Missing("neither the claim, nor a case, nor the number names a results folder")
        if spec.theorem is not None:
            return self._of_theorem(spec)
        if spec.errs_less_than is not None:
            return self._share(spec)
        # A quantity of tables, or a column of the runs as one.
        column = Quantity(spec.quantity, spec.quantity, spec.quantity, "{:,.6g}".format)
        quantity = QUANTITIES.get(spec.quantity, column)
        place, measured = self._find(spec, quantity)
        if spec.paired_with is not None:
            other, _ = self._find(spec.model_copy(update={"label": spec.paired_with}), quantity)
            return self._paired(spec, quantity, (place, other))
        if spec.published is not None:
            return self._published(spec, place)
        value = float(getattr(measured, spec.statistic))
        if spec.statistic == "n_streams":
            return Number(value, f"{value:,.0f}")
        n = measured.n_streams if spec.statistic == "mean" else 0
        return Number(value, quantity.write(value) + quantity.unit, n)

    def _load(self, name: str) -> Results:
        return self._own if self._own is not None and name == self._own.folder.name else load(self.folder / name)

    def _measure(self, name: str, quantity: Quantity, relative_to: str | None) -> numbers.Measurements:
        results = self.results(name)
        column, _, key = quantity.column.partition(".")
        if column in _JSON:
            runs = results.runs
            values = [json.loads(text or "{}").get(key) for text in runs[column]]
            known = runs.assign(**{quantity.column: pd.to_numeric(pd.Series(values, runs.index), errors="coerce")})
            results = replace(results, runs=known)
        elif quantity.name != "seconds_ratio" and column not in results.runs:
            raise InputError(f"{results.runs_path}: no column {column!r}")
        return measure(results, quantity, relative_to)

    def _find(self, spec: NumberSpec, quantity: Quantity) -> tuple[Place, Measured]:
        """Return the one average that a number selects; what has no budget or setting is selected by any."""
        measured = self._measured(str(spec.results), quantity, spec.relative_to)
        found = {p: m for p, m in measured.items() if p.dataset == spec.dataset and p.label == spec.label}
        if any(place.budget.kind in ("fraction", "budget") for place in found):
            asked = Budget.asked(spec.budget_fraction, spec.budget)
            found = {p: m for p, m in found.items() if asked.kind == "none" or p.budget == asked}
        if any(place.setting.items for place in found):
            items = items_of(self._setting(spec))
            found = {p: m for p, m in found.items() if items <= set(p.setting.items)}
        if len(found) != 1:
            what = ", ".join(
                f"{key} {value}"
                for key in ("dataset", "label", "budget", "budget_fraction", "setting", "chosen_in", "quantity")
                if (value := getattr(spec, key)) is not None
            )
            folder = self.folder / str(spec.results)
            several = f"{len(found)} averages in {folder} have" if found else f"no run in {folder} has"
            raise _Missing(f"{several} {what}")
        return next(iter(found.items()))

    def _setting(self, spec: NumberSpec) -> str:
        """Return the setting that a number names, or that a table chooses for it; empty for any."""
        if spec.chosen_in is None:
            return spec.setting or ""
        folder, _, table = spec.chosen_in.rpartition("/")
        return self._chosen(folder or str(spec.results), table).get((str(spec.dataset), str(spec.label)), "")

    def _choose(self, name: str, table: str) -> dict[tuple[str, str], str]:
        """Return the setting that a table of results chooses for each dataset and label."""
        results = self.results(name)
        spec = next((one for one in results.tables if one.name == table), None)
        if spec is None or spec.choose is None:
            raise InputError(f"{results.folder}: no table {table!r} that chooses a setting")
        return {(place.dataset, place.label): text for place, text in choose(results, spec).texts.items()}

    def _published(self, spec: NumberSpec, place: Place) -> Number:
        results, number = self.results(str(spec.results)), None
        for table in results.tables:
            if table.name == spec.published:
                published, quantity = PublishedNumbers.in_table(table, spec.relative_to), QUANTITIES[table.quantity]
                # A number is published for the setting that was chosen, which it does not name.
                number = published.of_measured(place) or published.of_measured(place._replace(setting=NO_SETTING))
                if number and spec.statistic == "tolerance" and table.tolerance is not None:
                    return Number(table.tolerance, f"{100 * table.tolerance:g}%")
                value = getattr(number, "value" if spec.statistic == "mean" else "sd", None)
                if value is not None:
                    return Number(value, quantity.write_published(value) + quantity.unit)
        noun = "deviation" if number else "number"
        raise _Missing(f"table {spec.published!r} of {results.folder} has no published {noun} for it")

    def _paired(self, spec: NumberSpec, quantity: Quantity, places: tuple[Place, Place]) -> Number:
        """Return the p of the paired t-test over the streams between the runs of two places."""
        runs = self.results(str(spec.results)).runs
        values = by_stream(runs[runs["label"].isin([place.label for place in places])], quantity)
        both = pd.concat([values[place] for place in places], axis=1, join="inner")
        if len(both) < 2 or both.iloc[:, 0].equals(both.iloc[:, 1]):
            raise _Missing(f"no two different runs on several streams to compare in {self.folder / str(spec.results)}")
        p = paired(minus(both.iloc[:, 0], both.iloc[:, 1]).to_numpy()).p
        return Number(p, numbers.p_in_words(p))

    def _share(self, spec: NumberSpec) -> Number:
        """Return how often single runs of a label err less than those of another, where both have a full budget."""
        runs = self.results(str(spec.results)).runs
        full = runs[(runs["dataset"] == spec.dataset) & (runs["max_support_size"] >= runs["budget"])]
        keys = ["budget", *numbers.STREAM, "kernel"]
        errors = full[[*keys, "label", "online_error"]]
        pairs = errors[errors["label"] == spec.label].merge(errors[errors["label"] == spec.errs_less_than], on=keys)
        if pairs.empty:
            raise _Missing(f"no two runs with a full budget to compare in {self.folder / str(spec.results)}")
        value = 100.0 * float((pairs["online_error_x"] < pairs["online_error_y"]).mean())
        return Number(value, f"{value:.0f}% of {len(pairs):,}")

    def _cell(self, spec: NumberSpec) -> Number:
        """Return a cell of a CSV file; it must be in one row."""
        path = self.folder / str(spec.csv)
        try:
            frame = pd.read_csv(path)
            for key, value in spec.where.items():
                frame = frame[frame[key] == value]
            value = float(frame[spec.column].item())
        except (OSError, ValueError, KeyError) as error:
            why = " ".join(str(error).split())
            raise _Missing(f"{path} has no single number {spec.column} of {spec.where} ({why})") from None
        return Number(value, figures(value, 4) + spec.unit)

    def _read_bounds(self, name: str) -> pd.DataFrame:
        folder = self.folder / name
        if not folder.is_dir():
            self.results(name)
        path = first_of(folder, "bounds.csv") or folder / "bounds.csv"
        again = f"make it again: budgetrun bounds {folder}"
        try:
            frame = pd.read_csv(path, keep_default_na=False, dtype=str)
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: not readable ({' '.join(str(error).split())}); {again}") from None
        if missing := [column for column in _OF_BOUNDS if column not in frame]:
            raise InputError(f"{path}: no column {', '.join(missing)}; {again}")
        for column in ("mistakes", "lower", "bound", "ratio", "n_examples"):
            frame[column] = pd.to_numeric(frame[column], errors="coerce")
        return frame

    def _of_theorem(self, spec: NumberSpec) -> Number:
        """Return what the checks of a theorem came to, over the runs that meet its conditions."""
        frame = self._bounds(str(spec.results))
        for key in ("theorem", "dataset", "label"):
            if (wanted := getattr(spec, key)) is not None:
                frame = frame[frame[key] == wanted]
        if text := self._setting(spec):
            frame = frame[[items_of(text) <= items_of(own) for own in frame["setting"]]]
        applies = frame["applies"] == "yes"
        if spec.statistic == "bound" and len(frame):
            value = float(frame["bound"].where(applies, frame["n_examples"]).mean())
            return Number(value, f"{value:,.0f}")
        if spec.statistic == "void" and len(frame):
            return Number(int((~applies).sum()), f"{(~applies).sum():,}")
        frame = frame[applies]
        if frame.empty:
            raise _Missing(f"no run in {self.folder / str(spec.results)} meets the conditions of {spec.theorem}")
        ratios = {"largest_ratio": frame["ratio"].max(), "smallest_ratio": frame["ratio"].min()}
        if spec.statistic in ratios:
            value = float(ratios[spec.statistic])
            return Number(value, figures(value, 2))
        least = frame["lower"].fillna(frame["mistakes"])
        broken = least > frame["bound"] + _ROUNDING * (1 + frame["bound"].abs())
        below_t = frame["bound"] < frame["n_examples"]
        value = int({"violated": broken, "below_t": below_t}.get(spec.statistic, ~broken).sum())
        return Number(value, f"{value:,}")


def with_numbers(results: Results) -> Results:
    """Return results whose choices and findings say the numbers that they name in braces."""
    report, known = results.report, dict[str, Number]()
    evidence = Evidence(results.folder.parent, results)
    for name, spec in report.numbers.items():
        # Runs of a part of the config may lack it.
        with suppress(InputError):
            known[name] = evidence.number(spec, {"results": results.folder.name}, known, f"report.numbers.{name}")

    def filled(text: str) -> str:
        return re.sub(IN_BRACES, lambda found: known[found[1]].text if found[1] in known else "(not measured)", text)

    said = {
        "finding": report.finding and filled(report.finding),
        "choices": tuple(map(filled, report.choices)),
        "findings": tuple(one.model_copy(update={"text": filled(one.text)}) for one in report.findings),
    }
    return replace(results, config=results.config.model_copy(update={"report": report.model_copy(update=said)}))
