"""A paper's printed numbers: long CSV files, one number a row and quantity."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import Any, get_args

from budgetrun.config.problems import unknown_key
from budgetrun.config.schema import Quantity, setting_text

REQUIRED = ("dataset", "label")
OPTIONAL = ("budget", "budget_fraction", "setting")


def value_column(quantity: str) -> str:
    """Return the column that has a quantity's printed numbers: its name, errors in percent; ratios are of seconds."""
    if quantity == "seconds_ratio":
        return "seconds"
    return f"{quantity}_percent" if quantity.endswith("error") else quantity


def sd_column(quantity: str) -> str:
    """Return the column that has the standard deviations of a quantity's printed numbers, where they are printed."""
    return f"{value_column(quantity)}_sd"


VALUES = tuple(dict.fromkeys(map(value_column, get_args(Quantity))))


def read_expected(path: Path, shown: str, quantity: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Read the printed numbers of one quantity.

    Parameters
    ----------
    path : Path
        A CSV file with the columns ``dataset``, ``label``, that of the quantity (`value_column`) and, where it matters,
        ``budget``, ``budget_fraction`` or ``setting``, which may be empty. There may be columns of other quantities;
        then a number may be missing. A column `sd_column`, which may be empty, has printed standard deviations.
    shown : str
        The path for messages.
    quantity : str
        As in a table's ``quantity``.

    Returns
    -------
    rows : list of dict
        ``dataset``, ``label`` (str), ``budget`` (int or None), ``budget_fraction`` (float or None), ``setting`` (str,
        as `setting_text` writes it, or None), ``value`` (float); online errors under ``online_error_percent``, too;
        ``sd`` (float) where it is printed, but for ratios.
    problems : list of str
        A sentence for each thing that is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return [], [f"no such file: {path}"]
    except (OSError, ValueError) as error:
        return [], [f"{shown}: cannot be read as UTF-8 text ({error})"]
    reader = csv.reader(text.splitlines())
    header = next(reader, [])
    column = value_column(quantity)
    needed = [*REQUIRED, column]
    allowed = [*needed, *OPTIONAL, *(name for name in VALUES if name != column), *(f"{name}_sd" for name in VALUES)]
    missing = [key for key in needed if key not in header]
    problems = [f"{shown}:1: column {key!r} is missing  (needed: {', '.join(needed)})" for key in missing]
    problems += [f"{shown}:1: column {key!r}: {unknown_key(key, allowed)}" for key in header if key not in allowed]
    if problems:
        return [], problems
    may_be_missing = len(set(header) & set(VALUES)) > 1
    rows: list[dict[str, Any]] = []
    first: dict[tuple[Any, ...], int] = {}
    for cells in filter(None, reader):
        where = f"{shown}:{reader.line_num}"
        if len(cells) != len(header):
            problems.append(f"{where}: must have {len(header)} cells, like the first line, got {len(cells)}")
            continue
        typed = dict(zip(header, (cell.strip() for cell in cells), strict=True))
        if may_be_missing and not typed[column]:
            continue
        row: dict[str, Any] = {key: typed[key] for key in REQUIRED}
        for key in (*OPTIONAL, column):
            row[key], wrong = _setting(typed.get(key)) if key == "setting" else _number(typed.get(key), key)
            problems += [f"{where}: {key}: {wrong}"] if wrong else []
        row["value"] = row[column] if column == "online_error_percent" else row.pop(column)
        if typed.get(sd_column(quantity)) and quantity != "seconds_ratio":
            row["sd"], wrong = _number(typed[sd_column(quantity)], sd_column(quantity))
            problems += [f"{where}: {sd_column(quantity)}: {wrong}"] if wrong else []
        cell_of = tuple(row[key] for key in (*REQUIRED, *OPTIONAL))
        if first.setdefault(cell_of, reader.line_num) != reader.line_num:
            problems.append(f"{where}: the same dataset, label, budget and setting as in line {first[cell_of]}")
        rows.append(row)
    return rows, problems


def _number(cell: str | None, column: str) -> tuple[float | int | None, str]:
    if not cell and column in OPTIONAL:
        return None, ""
    try:
        number = float(cell or "")
    except ValueError:
        number = math.nan
    if column == "budget":
        good, wanted = number >= 1 and number.is_integer(), "an integer >= 1"
    elif column == "budget_fraction":
        good, wanted = 0 < number < math.inf, "a number > 0"
    elif column.endswith("_percent"):
        good, wanted = 0 <= number <= 100, "a number from 0 to 100"
    else:
        good, wanted = 0 <= number < math.inf, "a number >= 0"
    if not good:
        return None, f"must be {wanted}{' or empty' if column in OPTIONAL else ''}, got {cell!r}"
    return (int(number) if column == "budget" else number), ""


def _setting(cell: str | None) -> tuple[str | None, str]:
    """Return a setting with its numbers as tables show them."""
    if not cell:
        return None, ""
    # A list's own commas do not stand before a name.
    pairs = [part.partition("=") for part in re.split(r",\s*(?=\w+\s*=)", cell)]
    if not all(name.strip().isidentifier() and value.strip() for name, _, value in pairs):
        return None, f"must be like eta=0.1, or eta=0.1, C=2, or empty, got {cell!r}"
    return setting_text({name.strip(): _plain(value.strip()) for name, _, value in pairs}), ""


def _plain(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
