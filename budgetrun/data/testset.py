"""Test sets: examples on which hypotheses are tested after the last round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.errors import InputError
from budgetrun.data.dataset import Dataset, canonical
from budgetrun.data.sources import Facts
from budgetrun.data.tasks import listed
from budgetrun.kernels.rows import IntegerRows, Matrix, Rows, stored


@dataclass(frozen=True)
class TestSet:
    """Examples on which a hypothesis is tested after the last round: the whole test set, in file order.

    Attributes
    ----------
    X : ndarray or csr_array, float64, or IntegerRows, shape (n, d)
        Dense or sparse like the stream's, and scaled by the stream's statistics. The caller's own copy.
    tasks : dict of task name to ndarray, shape (n,), int8 or int16
        The same tasks as the stream's; never with noise.
    """

    __test__ = False  # pytest would collect a class with this name

    X: Rows
    tasks: dict[str, NDArray[Any]]

    @property
    def n_examples(self) -> int:
        """n, the number of examples."""
        return int(self.X.shape[0])


def check_test(where: str, stream: Facts, test: Facts) -> None:
    """Raise an InputError if a test set is the stream's own data, or has other features or unknown labels."""
    if stream.sha256 == test.sha256:
        raise InputError(
            f"{where}: test_path: the same data as the stream's; a test set has examples that are not learned"
        )
    n, d = test.n_features, stream.n_features
    if n > d or (n < d and not test.open_ended):
        raise InputError(
            f"{where}: the test set has {n:,} features and the stream {d:,}; the numbers must be equal, except that a "
            "LIBSVM test file may lack the last features (if the stream's file lacks them, write its last feature once "
            "with value 0)"
        )
    unknown = [label for label in test.counts if label not in stream.counts]
    if unknown:
        raise InputError(
            f"{where}: the test set has labels that the stream does not have: {listed(unknown)}; the stream's labels "
            f"are: {listed(list(stream.counts))}"
        )


def fitted(where: str, test: Dataset, stream: Dataset) -> tuple[Rows, NDArray[np.int64]]:
    """Return a test set in the form of its stream.

    Returns
    -------
    X : ndarray or csr_array, float64, or IntegerRows, shape (n, d)
        Not yet scaled; dense or sparse like the stream's, with zeros for last features that the test set lacks. The
        caller's own copy.
    codes : ndarray, shape (n,), int
        Each example's position in the classes of the stream.
    """
    check_test(where, Facts.of(stream), Facts.of(test))
    positions = np.array([stream.classes.index(label) for label in test.classes])
    return _like(test.X, stream.X), positions[test.codes]


def _like(X: Rows, other: Rows) -> Rows:
    """Return a copy of examples, dense or sparse as other ones are, and padded with zeros to their width."""
    dense, width = isinstance(stored(other), np.ndarray), other.shape[1]
    if isinstance(X, IntegerRows):
        return IntegerRows(_copied(X.integers, dense, width), X.factors.copy())
    return _copied(X, dense, width).astype(np.float64, copy=False)


def _copied(X: Matrix, dense: bool, width: int) -> Matrix:
    if dense:
        found = X if isinstance(X, np.ndarray) else X.toarray()
        return np.pad(found, ((0, 0), (0, width - found.shape[1])))

    from scipy.sparse import csr_array

    sparse = csr_array(X, copy=True)
    sparse.resize((sparse.shape[0], width))
    return canonical(sparse)
