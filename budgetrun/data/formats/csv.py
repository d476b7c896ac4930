"""Tables of numbers as text: columns separated by commas, semicolons, tabs, bars or blanks, with an optional header."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.errors import InputError
from budgetrun.data.formats import Content, Examples, LabelColumn, Layout, joined
from budgetrun.data.tables.delimited import Delimited
from budgetrun.data.tables.source import Held
from budgetrun.data.tables.table import Table

REVISION = 1
SUFFIXES = (".csv", ".tsv")


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read tables with `parse_table`."""
    return joined([parse_table(*file, layout.label_column) for file in files], files[0].where)


def parse_table(
    content: bytes, where: str, label: LabelColumn = "first"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the examples and labels of a table of numbers, as float64; one example per row.

    Raises
    ------
    InputError
        Names the file, line and column (both from 1) of the first fault.
    """
    table = Table(Delimited(Held(content, where)), label)
    for column in table.columns:
        if column.kind not in ("number", "constant") and not (column.kind == "label" and column.numeric):
            raise InputError(f"{where}: {column} does not hold numbers")
    X, y = table.whole(len(content))
    return np.asarray(X), y
