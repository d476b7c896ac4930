"""A table as one matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetrun.data import limits
from budgetrun.data.tables.table import Table
from budgetrun.kernels.rows import Matrix


def whole(table: Table, most_rows: int | None, content_bytes: int = 0) -> tuple[Matrix, NDArray[Any]]:
    """Return all examples and labels of a table.

    Parameters
    ----------
    table : Table
    most_rows : int or None
        No table of this content has more rows; None if that is not known.
    content_bytes : int
        What is in memory already.
    """
    d, n = len(table.features), 0
    X: NDArray[np.float64] | None = None
    sparse: list[Matrix] = []
    labels = []
    for chunk in table.chunks():
        labels.append(chunk.y)
        end = n + chunk.X.shape[0]
        if isinstance(chunk.X, np.ndarray):
            if X is None:
                n_bytes = content_bytes + 8 * (most_rows or end) * d
                limits.check(n_bytes, table.where, f"a table of {most_rows or end:,} x {d:,} numbers")
                X = np.empty((most_rows or end, d))
            elif end > len(X):
                limits.check(content_bytes + 24 * end * d, table.where, f"a table of more than {end:,} x {d:,} numbers")
                X = np.concatenate([X[:n], np.empty((end, d))])
            X[n:end] = chunk.X
        else:
            sparse.append(chunk.X)
        n = end
    if X is not None:
        return X[:n], np.concatenate(labels)
    from scipy.sparse import vstack

    return vstack(sparse, format="csr"), np.concatenate(labels)
