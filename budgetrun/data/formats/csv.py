"""Tables of numbers as text: columns separated by commas, semicolons, tabs or blanks, with an optional header."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from budgetrun.data.formats import Content, Examples, LabelColumn, Layout, joined
from budgetrun.data.text import NUMERIC_BYTES, number_fault, parse_numbers, uniform
from budgetrun.errors import InputError

REVISION = 1
SUFFIXES = (".csv", ".tsv")

_SOLID, _PADDING, _SEPARATOR, _NEWLINE, _ALIEN = range(5)


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read tables with `parse_table`."""
    return joined([parse_table(*file, layout.label_column) for file in files])


def parse_table(
    content: bytes, where: str, label: LabelColumn = "first"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Parse a table of finite numbers, one example per row, with the label in the first (or last) column.

    The separator is the first of semicolon, tab, comma and blank that occurs in the second line (or in the only line).
    Blanks around a field are ignored; where blanks are the separator, several count as one. The first line is a header
    if its label field is text and its other fields either are not numbers or count the columns from 0 or 1.

    Parameters
    ----------
    content : bytes
        The decompressed text.
    where : str
        The file's name, for messages.
    label : 'first' or 'last'
        The column of the labels.

    Returns
    -------
    X : ndarray, shape (n, d), float64
    y : ndarray, shape (n,), float64

    Raises
    ------
    InputError
        Names the file, line and column (both from 1) of the first fault: NaN, an empty field or row, a row of
        another length, or text where a number belongs.
    """
    content = uniform(content)
    head = content.split(b"\n", 2)
    separator = _separator(head[1] or head[0])
    first = _header_fields(head[0].decode("utf-8", errors="replace"), separator)
    skipped = int(_is_header(first, label))
    body = content[len(head[0]) + 1 :] if skipped else content
    if not body:
        raise InputError(f"{where}: no rows below the header line")
    table = _parse(body, separator)
    if table is None or (skipped and table.shape[1] != len(first)):
        raise InputError(_first_fault(body, where, separator, skipped, len(first), label))
    if table.shape[1] < 2:
        raise InputError(f"{where}: only one column; a row is a label and at least one feature")
    at = 0 if label == "first" else -1
    return np.delete(table, at, axis=1), table[:, at].copy()


def _separator(line: bytes) -> str:
    return next((mark for mark in ";\t," if mark.encode() in line), " ")


def _fields(line: str, separator: str) -> list[str]:
    fields = [field.strip(" ") for field in line.split(separator)]
    return [field for field in fields if field] if separator == " " else fields


def _header_fields(line: str, separator: str) -> list[str]:
    """Return the fields of a line that may be a header; names in a header may be quoted, numbers may not."""
    if '"' in line:
        with contextlib.suppress(csv.Error):
            return next(csv.reader([line], delimiter=separator, skipinitialspace=True))
    return _fields(line, separator)


def _is_header(fields: list[str], label: LabelColumn) -> bool:
    if len(fields) < 2:
        return False
    at = 0 if label == "first" else len(fields) - 1
    fault = number_fault(fields[at])
    if not fields[at] or fault is None or not fault.endswith("is not a number"):
        return False
    others = fields[:at] + fields[at + 1 :]
    counted = [[str(start + k) for k in range(len(others))] for start in (0, 1)]
    return all(number_fault(field) for field in others) or others in counted


def _parse(body: bytes, separator: str) -> NDArray[np.float64] | None:
    """Return the table, shape (n, columns), or None if it has any fault."""
    kind_of = np.full(256, _ALIEN, dtype=np.uint8)
    kind_of[list(NUMERIC_BYTES)] = _SOLID
    kind_of[ord(" ")] = _PADDING
    kind_of[ord("\n")] = _NEWLINE
    if separator != " ":
        kind_of[ord(separator)] = _SEPARATOR
    kinds = kind_of[np.frombuffer(body, dtype=np.uint8)]
    if kinds.max() == _ALIEN:
        return None
    solid = kinds == _SOLID
    if separator == " ":
        opens = solid.copy()
        opens[1:] &= ~solid[:-1]
        ends = np.flatnonzero(opens | (kinds == _NEWLINE))
        # `ends` has one entry per field and per newline; a row's fields are those since the previous newline.
        widths = np.diff(np.flatnonzero(kinds[ends] == _NEWLINE), prepend=-1) - 1
    else:
        ends = np.flatnonzero(kinds >= _SEPARATOR)
        starts = np.concatenate([[0], ends[:-1] + 1])
        # No field is empty, so if the count of numbers below is right, each field holds exactly one number.
        if not np.logical_or.reduceat(solid, starts).all():
            return None
        widths = np.diff(np.flatnonzero(kinds[ends] == _NEWLINE), prepend=-1)
    if widths.min() != widths.max() or widths[0] == 0:
        return None
    numbers = parse_numbers(body if separator == " " else body.replace(separator.encode(), b" "), int(widths.sum()))
    return None if numbers is None else numbers.reshape(len(widths), int(widths[0]))


def _first_fault(body: bytes, where: str, separator: str, skipped: int, width: int, label: LabelColumn) -> str:
    for number, line in enumerate(body[:-1].split(b"\n"), start=1 + skipped):
        fields = _fields(line.decode("utf-8", errors="replace"), separator)
        if not any(fields):
            return f"{where}:{number}:1: empty row; every row is a label and its features"
        at = 0 if label == "first" else len(fields) - 1
        for column, field in enumerate(fields):
            if not field:
                return f"{where}:{number}:{column + 1}: empty field; every field is a finite number"
            if fault := number_fault(field):
                allowed = "a label is a number too" if column == at else "a feature is a finite number"
                return f"{where}:{number}:{column + 1}: {fault}; {allowed}"
        if len(fields) != width:
            source = "the header" if skipped else "the first row"
            column = min(len(fields), width) + 1
            rule = "all rows have the same length"
            return f"{where}:{number}:{column}: {len(fields)} columns where {source} has {width}; {rule}"
    raise AssertionError(f"{where}: the fast and the slow table reader disagree")
