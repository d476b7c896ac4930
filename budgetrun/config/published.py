"""A paper's published numbers: read from CSV files, written to manifests and read back from them."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from budgetrun.base.errors import InputError
from budgetrun.config.problems import unknown_key
from budgetrun.config.quantities import QUANTITIES
from budgetrun.config.schema import Published, ReportSpec, setting_text
from budgetrun.config.yaml import read_text

_REQUIRED = ("dataset", "label")
_OPTIONAL = ("budget", "budget_fraction", "setting")
_REPEAT = "repeat the sweep: budgetrun sweep CONFIG"


def value_column(quantity: str) -> str:
    """Return the column with a quantity's published numbers. Errors are in percent; ratios are of seconds."""
    return "seconds" if quantity == "seconds_ratio" else QUANTITIES[quantity].csv_column


def sd_column(quantity: str) -> str:
    """Return the column with the published standard deviations of a quantity."""
    return f"{value_column(quantity)}_sd"


_VALUES = tuple(dict.fromkeys(map(value_column, QUANTITIES)))


def read_published(path: Path, shown: str, quantity: str) -> tuple[tuple[Published, ...], list[str]]:
    """Read the published numbers of one quantity.

    Parameters
    ----------
    path : Path
        A CSV file with the columns ``dataset``, ``label`` and `value_column`. The columns ``budget``,
        ``budget_fraction``, ``setting`` and `sd_column` are optional, and their cells may be empty. If the file has
        other quantities too, any number may be missing.
    shown : str
        The path for messages.
    quantity : str
        As in a table's ``quantity``.

    Returns
    -------
    rows : tuple of Published
    problems : list of str
        One sentence per problem.
    """
    if not os.path.exists(path):
        return (), [f"no such file: {path}"]
    try:
        reader = csv.reader(read_text(path).splitlines())
        lines = [(reader.line_num, cells) for cells in reader if cells or reader.line_num == 1]
    except InputError as error:
        return (), [str(error)]
    except csv.Error as error:
        return (), [f"{shown}: not CSV ({error})"]
    _, header = lines.pop(0) if lines else (1, [])
    value, sd = value_column(quantity), sd_column(quantity)
    needed = [*_REQUIRED, value]
    allowed = list(dict.fromkeys([*needed, *_OPTIONAL, *_VALUES, *(f"{name}_sd" for name in _VALUES)]))
    problems = [
        f"{shown}:1: column {key!r} is missing  (needed: {', '.join(needed)})" for key in needed if key not in header
    ]
    problems += [f"{shown}:1: column {key!r}: {unknown_key(key, allowed)}" for key in header if key not in allowed]
    if problems:
        return (), problems
    may_be_missing = len(set(header) & set(_VALUES)) > 1
    rows: list[Published] = []
    first: dict[tuple[Any, ...], int] = {}
    for line, cells in lines:
        where = f"{shown}:{line}"
        if len(cells) != len(header):
            problems.append(f"{where}: must have {len(header)} cells, like the first line, got {len(cells)}")
            continue
        typed = dict(zip(header, (cell.strip() for cell in cells), strict=True))
        if may_be_missing and not typed[value]:
            continue
        found: dict[str, Any] = {}
        for key in (*_OPTIONAL, value, *([sd] if quantity != "seconds_ratio" else [])):
            if key == value or typed.get(key):
                found[key], wanted = _setting(typed[key]) if key == "setting" else _number(typed[key], key)
                problems += [f"{where}: {key}: must be {wanted}, got {typed[key]!r}"] if found[key] is None else []
        row = Published(typed["dataset"], typed["label"], found.pop(value), sd=found.pop(sd, None), **found)
        cell_of = (row.dataset, row.label, row.budget, row.budget_fraction, row.setting)
        if first.setdefault(cell_of, line) != line:
            problems.append(f"{where}: the same dataset, label, budget and setting as in line {first[cell_of]}")
        rows.append(row)
    return tuple(rows), problems


def _plain(text: str) -> float | str:
    """Return the number in a text; the text itself if it is not a number."""
    try:
        return float(text)
    except ValueError:
        return text


def _number(cell: str, column: str) -> tuple[float | int | None, str]:
    """Return the number in a cell, None if it is wrong, and a description of good ones."""
    number = found if isinstance(found := _plain(cell), float) else math.nan
    if column == "budget":
        good, wanted = number >= 1 and number.is_integer(), "an integer >= 1 or empty"
    elif column == "budget_fraction":
        good, wanted = 0 < number < math.inf, "a number > 0 or empty"
    elif column.endswith("_percent"):
        good, wanted = 0 <= number <= 100, "a number from 0 to 100"
    else:
        good, wanted = 0 <= number < math.inf, "a number >= 0"
    return (None if not good else int(number) if column == "budget" else number), wanted


def _setting(cell: str) -> tuple[str | None, str]:
    """Return a setting with its numbers as tables show them, None if it is wrong, and a description of good ones."""
    # A comma separates two values only before a name; a list has commas, too.
    pairs = [tuple(map(str.strip, part.partition("="))) for part in re.split(r",\s*(?=\w+\s*=)", cell)]
    good = all(name.isidentifier() and value for name, _, value in pairs)
    text = setting_text({name: _plain(value) for name, _, value in pairs}) if good else None
    return text, "like eta=0.1, or eta=0.1, C=2, or empty"


def manifest_entries(report: ReportSpec) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the entries of a manifest with the published numbers of a report, as `report_of` reads them."""
    return {
        "expected": {table.name: [asdict(row) for row in table.published] for table in report.tables},
        "choose_expected": {t.name: [asdict(row) for row in t.choose.published] for t in report.tables if t.choose},
    }


def report_of(manifest: Mapping[str, Any], path: Path) -> ReportSpec:
    """Return the report section of a manifest, with the published numbers of its tables.

    Parameters
    ----------
    manifest : dict
        Of a results folder, also of earlier versions; without a report section, the report is empty.
    path : Path
        The manifest's file, for messages.

    Raises
    ------
    InputError
        The report section or a published number is damaged.
    """
    try:
        report = ReportSpec.model_validate((manifest.get("config") or {}).get("report") or {})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, ("config", "report", *first["loc"])))
        raise InputError(f"{path}: {where}: {first['msg']}; {_REPEAT}") from None

    def rows(key: str, name: str, quantity: str | None) -> tuple[Published, ...]:
        given = (manifest.get(key) or {}).get(name) or []
        column = value_column(quantity or "online_error")
        read = (_from_manifest(row, column, f"{path}: {key}.{name}[{i}]") for i, row in enumerate(given))
        return tuple(row for row in read if row is not None)

    tables = []
    for table in report.tables:
        if choose := table.choose:
            choose = choose.model_copy(update={"published": rows("choose_expected", table.name, choose.quantity)})
        published = rows("expected", table.name, table.quantity)
        tables.append(table.model_copy(update={"choose": choose, "published": published}))
    return report.model_copy(update={"tables": tuple(tables)})


def _from_manifest(row: Mapping[str, Any], column: str, where: str) -> Published | None:
    """Return a published number; None if it is empty. Earlier manifests have it under the quantity's column."""
    column = "value" if "value" in row else column
    missing = [key for key in (*_REQUIRED, column) if key not in row]
    if missing:
        raise InputError(f"{where}: {', '.join(missing)} missing; {_REPEAT}")
    numbers: dict[str, Any] = {}
    for key in (column, "budget", "budget_fraction", "sd"):
        given = row.get(key)
        try:
            number = math.nan if given in (None, "") else float(given)
        except (TypeError, ValueError):
            raise InputError(f"{where}.{key}: must be a number or empty, got {given!r:.80}; {_REPEAT}") from None
        numbers[key] = None if math.isnan(number) else int(number) if key == "budget" else number
    value = numbers.pop(column)
    if value is None:
        return None
    setting = str(row.get("setting") or "") or None
    return Published(str(row["dataset"]), str(row["label"]), value, setting=setting, **numbers)
