"""Census-Income (KDD): 42 columns of numbers, codes and words, turned into numbers."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.errors import InputError
from budgetrun.data.formats import Content, Examples, Layout, matrix_bytes
from budgetrun.data.tables.source import Held, line_blocks
from budgetrun.data.text import number_fault, shown

if TYPE_CHECKING:
    from scipy.sparse import csr_array

REVISION = 1
SUFFIXES = ()
# The columns of the file in order, named as in the dataset's own description.
COLUMNS = (
    "age", "class of worker", "industry code", "occupation code", "education", "wage per hour",
    "enrolled in edu inst last wk", "marital status", "major industry code", "major occupation code", "race",
    "hispanic origin", "sex", "member of a labor union", "reason for unemployment",
    "full or part time employment stat", "capital gains", "capital losses", "dividends from stocks",
    "tax filer status", "region of previous residence", "state of previous residence",
    "detailed household and family stat", "detailed household summary in household", "instance weight",
    "migration code-change in msa", "migration code-change in reg", "migration code-move within reg",
    "live in this house 1 year ago", "migration prev res in sunbelt", "num persons worked for employer",
    "family members under 18", "country of birth father", "country of birth mother", "country of birth self",
    "citizenship", "own business or self employed", "fill inc questionnaire for veteran's admin",
    "veterans benefits", "weeks worked in year", "year", "label",
)  # fmt: skip
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
NUMERIC = (
    "age", "wage per hour", "capital gains", "capital losses", "dividends from stocks",
    "num persons worked for employer", "weeks worked in year",
)  # fmt: skip


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read all files together with `parse_census`, so that they share categories and ranges."""
    texts = [b"".join(lines.text for lines in line_blocks(Held(*file)) if lines) for file in files]
    if all(map(_has_all_columns, texts)):
        # pandas raises a ValueError for text where numbers belong, and reads words such as inf as numbers.
        with contextlib.suppress(ValueError), np.errstate(over="ignore", invalid="ignore"):
            X, y = parse_census(b"".join(texts))
            if np.isfinite(X.data).all():
                return Examples(X, y, reading_bytes=2 * matrix_bytes(X))
    faults = (f"{file.where}:{fault}" for file, text in zip(files, texts, strict=True) if (fault := _first_fault(text)))
    raise InputError(next(faults, f"{files[0].where}: its numbers are too large for a float64"))


def _has_all_columns(text: bytes) -> bool:
    signs = np.frombuffer(text, dtype=np.uint8)
    if ((signs < ord(" ")) & (signs != ord("\n"))).any() or text.startswith(_BYTE_ORDER_MARK):
        return False
    at_end = signs[(signs == ord(",")) | (signs == ord("\n"))] == ord("\n")
    n_columns = len(COLUMNS)
    return len(at_end) == n_columns * at_end.sum() and bool(at_end[n_columns - 1 :: n_columns].all())


def _first_fault(text: bytes) -> str | None:
    """Return the line of the first fault, from 1, and what it is."""
    for number, line in enumerate(text[:-1].split(b"\n"), start=1):
        fields = line.decode("utf-8", errors="replace").split(",")
        if len(fields) != len(COLUMNS):
            return f"{number}: {len(fields):,} columns; every row has {len(COLUMNS)}"
        for name, field in zip(COLUMNS, fields, strict=True):
            if not field.isprintable() or "\ufffd" in field:
                return f"{number}: {name}: {shown(field)} is not text"
            if name in NUMERIC and (fault := number_fault(field.strip(" "))):
                return f"{number}: {name}: {fault}"
    return None


def parse_census(content: bytes) -> tuple[csr_array, NDArray[np.str_]]:
    """Turn Census-Income text into features, a CSR matrix of float64, and labels, ``- 50000.`` or ``50000+.``.

    The 7 columns of `NUMERIC` are scaled to [0, 1] by the smallest and the largest value in ``content``. Each of the
    other 33 columns, coded numbers included, becomes one 0/1 feature per category, with categories sorted as text;
    ``?`` is a category like any other. The instance weight is left out, as the dataset's description requires.
    Features are in the order of the columns; the training file has 510.
    """
    import pandas as pd
    from scipy.sparse import csr_array

    # As text first: pandas makes one category of the codes 0 and 00.
    types: dict[str, Any] = {name: "float64" if name in NUMERIC else "str" for name in COLUMNS}
    used = [name for name in COLUMNS if name != "instance weight"]
    frame = pd.read_csv(
        io.BytesIO(content), header=None, names=list(COLUMNS), usecols=used, dtype=types,
        skipinitialspace=True, keep_default_na=False, na_filter=False, quoting=3,
    )  # fmt: skip
    features = used[:-1]
    indices = np.empty((len(frame), len(features)), dtype=np.int32)
    data = np.ones((len(frame), len(features)))
    n_features = 0
    for at, name in enumerate(features):
        if name in NUMERIC:
            column = frame[name].to_numpy()
            span = column.max() - column.min()
            indices[:, at] = n_features
            data[:, at] = (column - column.min()) / (span or 1.0)
            n_features += 1
        else:
            codes, categories = _sorted_codes(frame[name])
            indices[:, at] = n_features + codes
            n_features += len(categories)
    indptr = np.arange(0, indices.size + 1, len(features), dtype=np.int32)
    X = csr_array((data.ravel(), indices.ravel(), indptr), shape=(len(frame), n_features))
    X.eliminate_zeros()
    codes, categories = _sorted_codes(frame["label"])
    return X, categories[codes]


def _sorted_codes(column: Any) -> tuple[NDArray[np.int32], NDArray[np.str_]]:
    """Return the category number of each row, and the categories sorted as text."""
    codes, categories = column.factorize()
    found = np.asarray(categories, dtype=np.str_)
    order = np.argsort(found)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank[codes], found[order]
