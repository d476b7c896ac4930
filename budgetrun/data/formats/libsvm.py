"""LIBSVM text: ``label index:value index:value ...``, one example per line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from budgetrun.data import limits
from budgetrun.data.formats import Content, Examples, Layout, joined, matrix_bytes
from budgetrun.data.tables.encode import is_sparse
from budgetrun.data.tables.libsvm import parse_libsvm

if TYPE_CHECKING:
    from scipy.sparse import csr_array

REVISION = 1
SUFFIXES = (".libsvm", ".svm")
_INDEX_0 = re.compile(rb"[ \t]0+:")


def read(files: Sequence[Content], layout: Layout) -> Examples:
    """Read LIBSVM text; without a card, the number of features follows from the largest index found."""
    first_index = layout.first_index
    if first_index is None:
        first_index = int(not any(_INDEX_0.search(file.content) for file in files))
    examples = joined([parse_libsvm(*file, layout.n_features, first_index) for file in files], files[0].where)
    examples = examples._replace(first_index=first_index)
    X = cast("csr_array", examples.X)
    n, d = X.shape
    open_ended = layout.n_features is None
    if is_sparse(d, X.nnz, n):
        return examples._replace(open_ended=open_ended)
    limits.check(12 * X.nnz + 8 * n * d, files[0].where, f"a dense matrix of {n:,} x {d:,} numbers")
    return Examples(X.toarray(), examples.y, open_ended, matrix_bytes(X), examples.first_index)


def sniff(head: bytes) -> bool:
    """Tell LIBSVM text from a table by its colons."""
    return b":" in head
