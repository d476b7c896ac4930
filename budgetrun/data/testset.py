"""Test sets: parts of a card, or a user's own file, on which hypotheses are tested after the last round."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from budgetrun.data.cards import Card
from budgetrun.data.dataset import Dataset, load_card, load_own
from budgetrun.data.sources import Facts, card_facts, where_of
from budgetrun.data.tasks import listed
from budgetrun.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from budgetrun.config.schema import DatasetSpec


@dataclass(frozen=True)
class TestSet:
    """Examples that a hypothesis is tested on after the last round: all that there are, in file order.

    Attributes
    ----------
    X : ndarray or csr_array, shape (n, d), float64
        Dense or sparse like the stream's, and scaled by the stream's statistics. The caller's own copy.
    tasks : dict of task name to ndarray, shape (n,), int8 or int16
        The same tasks as the stream's; never with noise.
    """

    __test__ = False  # pytest takes a name like this for a class of tests

    X: np.ndarray | csr_array
    tasks: dict[str, np.ndarray]

    @property
    def n_examples(self) -> int:
        """n, the number of examples."""
        return int(self.X.shape[0])


def load_test(
    spec: DatasetSpec, known: Card | None, data_dir: Path | None, stream: Dataset
) -> tuple[np.ndarray | csr_array, np.ndarray]:
    """Return a test set that goes with the data of its stream.

    Returns
    -------
    X : ndarray or csr_array, shape (n, d), float64
        Not yet scaled; d and kind like the stream's. The caller's own copy.
    codes : ndarray, shape (n,), int
        Each example's position in the classes of the stream.

    Raises
    ------
    InputError
        The test set does not go with the stream, or a file is at fault.
    DataMissingError
        A file is neither here nor to be had.
    """
    test = _own(spec) if known is None else load_card(known, known.chosen_parts(spec.test, "test"), data_dir)
    check_test(where_of(spec), Facts.of(stream), Facts.of(test))
    positions = np.array([stream.classes.index(label) for label in test.classes])
    return _like(test.X, stream.X), positions[test.codes]


def facts_of_test(spec: DatasetSpec, known: Card | None, data_dir: Path | None, download: bool) -> Facts:
    """Return what is known of a test set."""
    if known is None:
        return Facts.of(_own(spec))
    return card_facts(known, known.chosen_parts(spec.test, "test"), data_dir, download)


def check_test(where: str, stream: Facts, test: Facts) -> None:
    """Refuse a test set that does not go with its stream.

    Raises
    ------
    InputError
        It is the stream's own data, has other features, or labels that the stream has not.
    """
    if stream.sha256 == test.sha256:
        raise InputError(
            f"{where}: test_path: the stream's own data once more; a test set has examples that are not learned"
        )
    n, d = test.n_features, stream.n_features
    if n > d or (n < d and not test.open_ended):
        raise InputError(
            f"{where}: the test set has {n:,} features and the stream {d:,}; they must be as many, but a LIBSVM test "
            "file may lack the last ones (where the stream's file lacks them, write its last feature once with value 0)"
        )
    unknown = [label for label in test.counts if label not in stream.counts]
    if unknown:
        raise InputError(
            f"{where}: the test set has labels that the stream has not: {listed(unknown)}; the stream's labels are: "
            f"{listed(list(stream.counts))}"
        )


def _own(spec: DatasetSpec) -> Dataset:
    assert spec.test_path is not None
    return load_own(Path(spec.test_path), where_of(spec), "test_path")


def _like(X: np.ndarray | csr_array, other: np.ndarray | csr_array) -> np.ndarray | csr_array:
    """Return a copy of a matrix, dense or sparse as another one is, with zeros for the last features that it lacks."""
    if isinstance(other, np.ndarray):
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        return np.pad(dense.astype(np.float64), ((0, 0), (0, other.shape[1] - dense.shape[1])))

    from scipy.sparse import csr_array

    sparse = csr_array(X, dtype=np.float64, copy=True)
    sparse.resize((sparse.shape[0], other.shape[1]))
    sparse.sort_indices()
    sparse.indices, sparse.indptr = sparse.indices.astype(np.int32), sparse.indptr.astype(np.int32)
    return sparse
