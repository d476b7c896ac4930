"""Tables of numbers as text: columns separated by commas, semicolons, tabs or blanks, with an optional header."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from budgetrun.data import limits
from budgetrun.data.formats import Content, Examples, LabelColumn, Layout, joined
from budgetrun.data.text import NUMERIC_BYTES, blocks, count_lines, number_fault, parse_numbers
from budgetrun.errors import InputError

REVISION = 1
SUFFIXES = (".csv", ".tsv")

_SOLID, _PADDING, _SEPARATOR, _NEWLINE, _ALIEN = range(5)


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read tables with `parse_table`."""
    return joined([parse_table(*file, layout.label_column) for file in files], files[0].where)


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
    X, y, n = np.empty((0, 0)), np.empty(0), 0
    head: _Head | None = None
    for number, block in blocks(content, where):
        if head is None:
            head = _head(block, label)
            if head.line:
                block = block[len(head.line) + 1 :]
                number += 1
            n_rows = count_lines(content) - (number - 1)
            if not n_rows:
                raise InputError(f"{where}: no rows below the header line")
            # A field takes two bytes with its separator: of more rows than this, some are shorter than the first.
            n_rows = min(n_rows, len(content) // (2 * max(head.width, 1)) + 1)
            n_bytes = len(content) + 8 * n_rows * head.width
            limits.check(n_bytes, where, f"a table of {n_rows:,} x {head.width:,} numbers")
            X, y = np.empty((n_rows, max(head.width - 1, 0))), np.empty(n_rows)
        if not block:
            continue
        table = _parse(block, head.separator)
        if table is None or table.shape[1] != head.width:
            raise InputError(_first_fault(block, where, head, number, label))
        if head.width < 2:
            raise InputError(f"{where}: only one column; a row is a label and at least one feature")
        end = n + len(table)
        X[n:end], y[n:end] = (table[:, 1:], table[:, 0]) if label == "first" else (table[:, :-1], table[:, -1])
        n = end
    return X, y


class _Head(NamedTuple):
    """What the first two lines say of a table; ``line`` is the header, empty if the first line is a row."""

    separator: str
    width: int
    line: bytes


def _head(block: bytes, label: LabelColumn) -> _Head:
    line, second, *_ = block.split(b"\n", 2)
    separator = _separator(second or line)
    fields = _header_fields(line.decode("utf-8", errors="replace"), separator)
    return _Head(separator, len(fields), line if _is_header(fields, label) else b"")


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


def _first_fault(block: bytes, where: str, head: _Head, first: int, label: LabelColumn) -> str:
    for number, line in enumerate(block[:-1].split(b"\n"), start=first):
        fields = _fields(line.decode("utf-8", errors="replace"), head.separator)
        if not any(fields):
            return f"{where}:{number}:1: empty row; every row is a label and its features"
        at = 0 if label == "first" else len(fields) - 1
        for column, field in enumerate(fields):
            if not field:
                return f"{where}:{number}:{column + 1}: empty field; every field is a finite number"
            if fault := number_fault(field):
                allowed = "a label is a number too" if column == at else "a feature is a finite number"
                return f"{where}:{number}:{column + 1}: {fault}; {allowed}"
        if len(fields) != head.width:
            source = "the header" if head.line else "the first row"
            column = min(len(fields), head.width) + 1
            rule = "all rows have the same length"
            return f"{where}:{number}:{column}: {len(fields)} columns where {source} has {head.width}; {rule}"
    raise AssertionError(f"{where}: the fast and the slow table reader disagree")
