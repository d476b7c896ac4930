"""Streams: the rounds that learners see, in order, with the labels of every task."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.data import files, gaussians
from budgetrun.data.cards import Card, Label, card, combined_sha256
from budgetrun.data.dataset import Dataset, load_card, load_own
from budgetrun.data.scaling import scale_in_place
from budgetrun.data.tasks import task_signs
from budgetrun.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from budgetrun.config import DatasetSpec

# What a random draw is for; each purpose has a stream of random numbers of its own.
SUBSET, PERMUTATION, NOISE, POINTS = range(4)


@dataclass(frozen=True)
class Stream:
    """The rounds of one repetition.

    Attributes
    ----------
    X : ndarray or csr_array, shape (T, d), float64
        The examples in the order of the rounds; C-contiguous, or CSR with int32 indices, sorted. The caller's own copy.
    tasks : dict of task name to ndarray, shape (T,), int8, -1 or +1
    """

    X: np.ndarray | csr_array
    tasks: dict[str, np.ndarray]

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
        Of the data: the file's content, several files' hashes together, or a generator's name, version and options.
    files : dict of file name to str
        The sha256 of each file's decompressed content; empty for generated data.
    notes : list of str
        The card's notes.
    """

    n_examples: int
    n_features: int
    nnz_per_row: float | None
    task_names: list[str]
    sha256: str
    files: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def open_stream(
    spec: DatasetSpec,
    seed: int,
    repetition: int,
    data_dir: Path | None = None,
    tasks: Sequence[str] | None = None,
) -> Stream:
    """Return the stream of one repetition: balanced, permuted, labels flipped, capped, then scaled.

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
    where = _where(spec)
    known = _card(spec)
    rng = _randomness(spec.name, seed, repetition)
    dataset: Dataset
    if known is not None and known.format == "generated":
        options = gaussians.check_options(spec.options, known.options, where)
        dataset = Dataset.of(*gaussians.noisy_gaussians(rng(POINTS), **options), {})
    else:
        dataset = _load(spec, known, data_dir)
    signs = task_signs(dataset.classes, spec.task, spec.positive, known.positive if known else None, where)
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
    scale_in_place(X, spec.scale, where)
    codes = dataset.codes[rows]
    return Stream(X, {name: signs[name][codes] * flip for name in wanted})


def stream_info(spec: DatasetSpec, data_dir: Path | None = None, download: bool = True) -> StreamInfo:
    """Return a stream's size, tasks and checksums; its files are found or fetched and verified.

    A card's files are hashed but not parsed; a user's own file is read. Without ``download``, a file that is not on
    this machine is missing.

    Raises
    ------
    InputError
        The spec does not fit the data, or a file is at fault.
    DataMissingError
        A file is neither here nor to be had.
    """
    where = _where(spec)
    known = _card(spec)
    hashes: dict[str, str] = {}
    nnz: int | None = None
    if known is None:
        dataset = _load(spec, known, data_dir)
        counts = dict(zip(dataset.classes, np.bincount(dataset.codes).tolist(), strict=True))
        n_features = int(dataset.X.shape[1])
        nnz = None if isinstance(dataset.X, np.ndarray) else int(dataset.X.nnz)
        hashes = dataset.sha256s
        sha256 = combined_sha256(list(hashes.values()))
    elif known.format == "generated":
        options = gaussians.check_options(spec.options, known.options, where)
        counts = {-1: options["n_per_class"], 1: options["n_per_class"]}
        n_features = known.n_features
        sha256 = _generator_sha256(known, options)
    else:
        parts = known.chosen_parts(spec.parts)
        files.fetch(known, data_dir, parts, download)
        counts = _label_counts(known, parts)
        n_features = known.n_features
        nnz = sum(known.nnz[part] for part in parts) if known.nnz else None
        hashes = {file.file: file.sha256 for file in known.files_of(parts)}
        sha256 = combined_sha256(list(hashes.values()))

    signs = task_signs(list(counts), spec.task, spec.positive, known.positive if known else None, where)
    n_read = sum(counts.values())
    n_examples = n_read
    if spec.balanced:
        sides = _binary(signs, where)
        sizes = np.array(list(counts.values()))
        n_examples = 2 * int(min(sizes[sides > 0].sum(), sizes[sides < 0].sum()))
    if spec.n_examples is not None:
        n_examples = min(n_examples, spec.n_examples)
    return StreamInfo(
        n_examples=n_examples,
        n_features=n_features,
        nnz_per_row=None if nnz is None else nnz / n_read,
        task_names=list(signs),
        sha256=sha256,
        files=hashes,
        notes=list(known.notes) if known else [],
    )


def _where(spec: DatasetSpec) -> str:
    return f"dataset '{spec.label}'"


def _card(spec: DatasetSpec) -> Card | None:
    """Return the card a spec names, or None for a user's own file; refuse what does not go together."""
    known = card(spec.name) if spec.path is None else None
    if known is None and spec.parts is not None:
        raise InputError(f"{_where(spec)}: 'parts' belongs to a dataset with a card, not to one with 'path'; remove it")
    if spec.options and (known is None or known.format != "generated"):
        raise InputError(f"{_where(spec)}: 'options' belongs to a generated dataset such as noisy_gaussians; remove it")
    if spec.parts is not None and known is not None and known.format == "generated":
        raise InputError(f"{_where(spec)}: a generated dataset has no parts; remove 'parts'")
    return known


def _load(spec: DatasetSpec, known: Card | None, data_dir: Path | None) -> Dataset:
    if known is None:
        assert spec.path is not None
        return load_own(Path(spec.path), _where(spec))
    return load_card(known, known.chosen_parts(spec.parts), data_dir)


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


def _label_counts(known: Card, parts: tuple[str, ...]) -> dict[Label, int]:
    labels = sorted({label for part in parts for label in known.labels[part]}, key=lambda v: (isinstance(v, str), v))
    return {label: sum(known.labels[part].get(label, 0) for part in parts) for label in labels}


def _generator_sha256(known: Card, options: dict[str, Any]) -> str:
    text = f"{known.name} version={known.version} " + " ".join(f"{name}={options[name]}" for name in sorted(options))
    return hashlib.sha256(text.encode()).hexdigest()
