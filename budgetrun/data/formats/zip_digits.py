"""The zip-code digits (USPS) of The Elements of Statistical Learning: a table of grey values from -1 to 1."""

from __future__ import annotations

from collections.abc import Sequence

from budgetrun.data.formats import Content, Examples, Layout, csv

REVISION = 1
SUFFIXES = ()


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read tables whose first column is the digit; the grey values are mapped to [0, 1]."""
    examples = csv.read(files, layout)
    return Examples((examples.X + 1.0) / 2.0, examples.y, reading_bytes=examples.X.nbytes)
