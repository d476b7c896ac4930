"""Streams: the rounds that learners see, in order, with the labels of every task."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.data.cards import Card, Label
from budgetrun.data.dataset import Dataset, generated
from budgetrun.data.generators import generator
from budgetrun.data.scaling import scale_in_place
from budgetrun.data.sources import card_of, facts_of, load, where_of
from budgetrun.data.tasks import task_signs
from budgetrun.data.testset import TestSet, check_test, facts_of_test, load_test
from budgetrun.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from budgetrun.config.schema import DatasetSpec

# Raised whenever the rounds of a stream change: their order, labels, scaling or cap; part of every run id.
STREAM_REVISION = 1
# What a random draw is for; each purpose has a stream of random numbers of its own.
SUBSET, PERMUTATION, NOISE, POINTS = range(4)


@dataclass(frozen=True)
class Stream:
    """The rounds of one repetition.

    Attributes
    ----------
    X : ndarray or csr_array, shape (T, d), float64
        The examples in the order of the rounds; C-contiguous, or CSR with int32 indices, sorted. The caller's own copy.
    tasks : dict of task name to ndarray, shape (T,)
        int8, -1 or +1; or, for several classes, int16, each label's position in ``classes``.
    classes : list of labels, ascending
        All labels of the data; for every task the same.
    test : TestSet or None
    """

    X: np.ndarray | csr_array
    tasks: dict[str, np.ndarray]
    classes: list[Label] = field(default_factory=list)
    test: TestSet | None = None

    @property
    def n_examples(self) -> int:
        """T, the number of rounds."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """d, the number of features."""
        return int(self.X.shape[1])


@dataclass(frozen=True)
class StreamInfo:
    """What is known of a stream without drawing it.

    Attributes
    ----------
    n_examples : int
        T, after balancing and the cap.
    n_features : int
        d.
    nnz_per_row : float or None
        Mean number of non-zero values an example, over all the data read; None if the stream is dense.
    task_names : list of str
    sha256 : str
        Of the data: the file's content, several files' hashes together, or a generator's name, version and options;
        with a test set, of both together.
    files : dict of file name to str
        The sha256 of each file's decompressed content; empty for generated data.
    notes : list of str
        The card's notes, and one for each file that is used unverified.
    classes : list of labels, ascending
        All labels of the data; for every task the same.
    n_classes : int
        How many values a task's labels have: 2 for signs.
    n_test : int
        How many examples the test set has; 0 without one.
    readers : list of str
        The formats that the data are read in, each with its reader's revision, such as ``libsvm 1``.
    """

    n_examples: int
    n_features: int
    nnz_per_row: float | None
    task_names: list[str]
    sha256: str
    files: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    classes: list[Label] = field(default_factory=list)
    n_classes: int = 2
    n_test: int = 0
    readers: list[str] = field(default_factory=list)


def open_stream(
    spec: DatasetSpec,
    seed: int,
    repetition: int,
    data_dir: Path | None = None,
    tasks: Sequence[str] | None = None,
) -> Stream:
    """Return the stream of one repetition: balanced, permuted, labels flipped, capped, then scaled; and its test set.

    Everything random depends on the seed, the dataset's name (not its label) and the repetition alone; labels of one
    dataset that differ in scaling, noise or cap see the same permutation, and the flips at a smaller noise are among
    those at a larger one. A flipped round is flipped in every task.

    Parameters
    ----------
    spec : DatasetSpec
    seed : int, >= 0
        The config's.
    repetition : int, >= 0
    data_dir : Path or None
        The folder to look for files in first.
    tasks : sequence of str or None
        Names of the tasks wanted; None takes all.

    Raises
    ------
    InputError
        The spec does not fit the data, or a file is at fault.
    DataMissingError
        A file is neither here nor to be had.
    """
    where = where_of(spec)
    known = card_of(spec)
    rng = _randomness(spec.name, seed, repetition)
    dataset: Dataset
    if known is not None and known.format == "generated":
        source = generator(known.name)
        options = source.check(spec.options, known.options, where)
        dataset = Dataset.of(*source.draw(rng(POINTS), **options), {}, generated(known))
    else:
        dataset = load(spec, known, data_dir)
    signs = _signs(spec, known, dataset.classes)
    wanted = list(signs) if tasks is None else list(tasks)
    for name in wanted:
        if name not in signs:
            raise InputError(f"{where}: no task '{name}'; tasks are named like '{next(iter(signs))}'")

    rows = np.arange(len(dataset.codes))
    if spec.balanced:
        rows = _balanced(rng(SUBSET), _binary(signs, where)[dataset.codes])
    if spec.order == "permuted":
        rows = rng(PERMUTATION).permutation(rows)
    flip = np.where(rng(NOISE).random(len(rows)) < spec.noise, np.int8(-1), np.int8(1))
    rows, flip = rows[: spec.n_examples], flip[: spec.n_examples]

    X = _take(dataset.X, rows)
    codes = dataset.codes[rows]
    test = None
    if spec.has_test:
        test_X, test_codes = load_test(spec, known, data_dir, dataset)
        test = TestSet(test_X, {name: signs[name][test_codes] for name in wanted})
    scale_in_place(X, spec.scale, where, None if test is None else test.X)
    return Stream(X, {name: signs[name][codes] * flip for name in wanted}, list(dataset.classes), test)


def stream_info(spec: DatasetSpec, data_dir: Path | None = None, download: bool = True) -> StreamInfo:
    """Return a stream's size, tasks and checksums; its files are found or fetched and verified.

    A card's files are hashed but not parsed; files of a user's own, and those whose checksums a card does not know, are
    read. Without ``download``, a file that is not on this machine is missing.

    Raises
    ------
    InputError
        The spec does not fit the data, or a file is at fault.
    DataMissingError
        A file is neither here nor to be had.
    """
    where = where_of(spec)
    known = card_of(spec)
    facts = facts_of(spec, known, data_dir, download)
    signs = _signs(spec, known, list(facts.counts))
    n_read = sum(facts.counts.values())
    n_examples = n_read
    if spec.balanced:
        sides = _binary(signs, where)
        sizes = np.array(list(facts.counts.values()))
        n_examples = 2 * int(min(sizes[sides > 0].sum(), sizes[sides < 0].sum()))
    if spec.n_examples is not None:
        n_examples = min(n_examples, spec.n_examples)

    sha256, n_test = facts.sha256, 0
    hashes, notes, readers = dict(facts.files), list(facts.notes), [facts.reader]
    if spec.has_test:
        test = facts_of_test(spec, known, data_dir, download)
        check_test(where, facts, test)
        n_test = sum(test.counts.values())
        sha256 = hashlib.sha256(f"stream {sha256}\ntest {test.sha256}".encode()).hexdigest()
        hashes |= {f"{name} (test)" if name in hashes else name: found for name, found in test.files.items()}
        readers.append(test.reader)
        notes += [note for note in test.notes if note not in notes]
    return StreamInfo(
        n_examples=n_examples,
        n_features=facts.n_features,
        nnz_per_row=None if facts.nnz is None else facts.nnz / n_read,
        task_names=list(signs),
        sha256=sha256,
        files=hashes,
        notes=notes,
        classes=list(facts.counts),
        n_classes=len(facts.counts) if spec.task == "multiclass" else 2,
        n_test=n_test,
        readers=list(dict.fromkeys(readers)),
    )


def _signs(spec: DatasetSpec, known: Card | None, classes: Sequence[Label]) -> dict[str, np.ndarray]:
    return task_signs(classes, spec.task, spec.positive, known.positive if known else None, where_of(spec))


def _randomness(name: str, seed: int, repetition: int) -> Any:
    crc = zlib.crc32(name.encode())
    return lambda purpose: np.random.default_rng([seed, crc, repetition, purpose])


def _binary(signs: dict[str, np.ndarray], where: str) -> np.ndarray:
    """Return the signs of the one task that balancing goes by."""
    if list(signs) != ["-"]:
        raise InputError(f"{where}: 'balanced' goes with 'task: binary'; remove it or the 'task: equal_splits'")
    return signs["-"]


def _balanced(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Return the rows of the smaller class and as many random ones of the larger, in file order."""
    small, large = sorted((np.flatnonzero(y > 0), np.flatnonzero(y < 0)), key=len)
    return np.sort(np.concatenate([small, rng.choice(large, size=len(small), replace=False)]))


def _take(X: np.ndarray | csr_array, rows: np.ndarray) -> np.ndarray | csr_array:
    if isinstance(X, np.ndarray):
        return X[rows].astype(np.float64, order="C", copy=False)
    taken = X[rows]
    taken.sort_indices()
    taken.indices, taken.indptr = taken.indices.astype(np.int32), taken.indptr.astype(np.int32)
    return taken
