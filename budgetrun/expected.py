"""A paper's printed numbers: long CSV files, one number a row."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

from budgetrun.fields import unknown_key

REQUIRED = ("dataset", "label", "online_error_percent")
OPTIONAL = ("budget", "budget_fraction")


def read_expected(path: Path, shown: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Read a file of printed numbers.

    Parameters
    ----------
    path : Path
        A CSV file with the columns ``dataset``, ``label``, ``online_error_percent`` and, where it matters, ``budget``
        or ``budget_fraction``, which may be empty.
    shown : str
        The path for messages.

    Returns
    -------
    rows : list of dict
        ``dataset``, ``label`` (str), ``budget`` (int or None), ``budget_fraction`` (float or None),
        ``online_error_percent`` (float).
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
    allowed = [*REQUIRED, *OPTIONAL]
    missing = [key for key in REQUIRED if key not in header]
    problems = [f"{shown}:1: column {key!r} is missing  (needed: {', '.join(REQUIRED)})" for key in missing]
    problems += [f"{shown}:1: column {key!r}: {unknown_key(key, allowed)}" for key in header if key not in allowed]
    if problems:
        return [], problems
    rows: list[dict[str, Any]] = []
    first: dict[tuple[Any, ...], int] = {}
    for cells in filter(None, reader):
        where = f"{shown}:{reader.line_num}"
        if len(cells) != len(header):
            problems.append(f"{where}: must have {len(header)} cells, like the first line, got {len(cells)}")
            continue
        row: dict[str, Any] = dict.fromkeys(OPTIONAL)
        row.update(zip(header, (cell.strip() for cell in cells), strict=True))
        for key in ("budget", "budget_fraction", "online_error_percent"):
            row[key], wrong = _number(row[key], key)
            problems += [f"{where}: {key}: {wrong}"] if wrong else []
        cell_of = tuple(row[key] for key in ("dataset", "label", *OPTIONAL))
        if first.setdefault(cell_of, reader.line_num) != reader.line_num:
            problems.append(f"{where}: the same dataset, label and budget as in line {first[cell_of]}")
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
    else:
        good, wanted = 0 <= number <= 100, "a number from 0 to 100"
    if not good:
        return None, f"must be {wanted}{' or empty' if column in OPTIONAL else ''}, got {cell!r}"
    return (int(number) if column == "budget" else number), ""
