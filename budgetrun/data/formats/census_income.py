"""Census-Income (KDD): 42 columns of numbers, codes and words, turned into numbers."""

import contextlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from budgetrun.base.errors import InputError
from budgetrun.data.content import Held, line_blocks
from budgetrun.data.formats import Content, Examples, Layout, matrix_bytes

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
NUMERIC = (
    "age", "wage per hour", "capital gains", "capital losses", "dividends from stocks",
    "num persons worked for employer", "weeks worked in year",
)  # fmt: skip


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read all files together with `parse_census`, so that they share categories and ranges."""
    text = b"".join(lines.text for file in files for lines in line_blocks(Held(*file)) if lines)
    if _has_all_columns(text):
        # pandas raises a ValueError for text where numbers belong, and reads words such as inf as numbers.
        with contextlib.suppress(ValueError), np.errstate(over="ignore", invalid="ignore"):
            X, y = parse_census(text)
            if np.isfinite(X.data).all():
                return Examples(X, y, reading_bytes=2 * matrix_bytes(X))
    raise InputError(
        f"{files[0].where}: not Census-Income text: {len(COLUMNS)} columns, {len(NUMERIC)} of them finite numbers"
    )


def _has_all_columns(text: bytes) -> bool:
    signs = np.frombuffer(text, dtype=np.uint8)
    if ((signs < ord(" ")) & (signs != ord("\n"))).any() or not text.isascii():
        return False
    at_end = signs[(signs == ord(",")) | (signs == ord("\n"))] == ord("\n")
    n_columns = len(COLUMNS)
    return len(at_end) == n_columns * at_end.sum() and bool(at_end[n_columns - 1 :: n_columns].all())


def parse_census(content: bytes) -> tuple[csr_array, NDArray[np.str_]]:
    """Turn Census-Income text into features, a CSR matrix of float64, and labels, ``- 50000.`` or ``50000+.``.

    The 7 columns of `NUMERIC` are scaled to [0, 1] by the smallest and the largest value in ``content``. Each of the
    other 33 columns, coded numbers included, becomes one 0/1 feature per category, with categories sorted as text;
    ``?`` is a category like any other. The instance weight is left out, as the dataset's description requires.
    Features are in the order of the columns; the training file has 510.
    """
    import pandas as pd

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
            found = pd.Categorical(frame[name])
            indices[:, at] = n_features + found.codes.astype(np.int32)
            n_features += len(found.categories)
    indptr = np.arange(0, indices.size + 1, len(features), dtype=np.int32)
    X = csr_array((data.ravel(), indices.ravel(), indptr), shape=(len(frame), n_features))
    X.eliminate_zeros()
    return X, frame["label"].to_numpy(dtype=np.str_)
