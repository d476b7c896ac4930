"""Streams: the rounds that learners see, in order, with the labels of every task."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.errors import DataMissingError, InputError, clipped, counted, listed
from budgetrun.base.problem import problem_of
from budgetrun.config.schema import DatasetSpec, Label
from budgetrun.data import files
from budgetrun.data.dataset import Facts, Source, canonical, check_test, fitted, sources_of
from budgetrun.data.scaling import scaled
from budgetrun.data.tables import open_table
from budgetrun.data.tables.columns import check_exact
from budgetrun.kernels.kinds import DENSE_FEATURES, IntegerRows, Rows, stored
from budgetrun.kernels.width import median_gamma

# Raised whenever the rounds of a stream change: their order, labels, scaling or cap. Part of every run id.
STREAM_REVISION = 1
# The purposes of random numbers; each has its own generator.
SUBSET, PERMUTATION, NOISE, POINTS = range(4)
MAX_SPLIT_LABELS = 12  # 462 splits; 14 labels would give 1,716
MAX_CLASSES = 1000
_MOST_LISTED = 20  # classes that are named


@dataclass(frozen=True)
class Stream:
    """The rounds of one repetition, or a test set.

    A test set has its examples in file order, dense or sparse like the stream's and scaled by the stream's statistics,
    and the stream's tasks, never with noise.
    """

    # Shape (T, d), in the order of the rounds, the caller's own copy: C-contiguous, or CSR with sorted int32 indices,
    # float64; IntegerRows if the data are one constant times small whole numbers, as they are or scaled to unit norm.
    X: Rows
    # By name, shape (T,): int8, -1 or +1; for several classes int16, positions in ``classes``; for regression float64.
    tasks: dict[str, NDArray[Any]]
    classes: list[Label] = field(default_factory=list)  # all labels of the data, ascending; empty for regression
    test: Stream | None = None  # the examples on which hypotheses are tested after the last round

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
    """Properties of a stream that are known before it is opened."""

    n_examples: int  # T, after balancing and the cap
    n_features: int  # d
    nnz_per_row: float | None  # mean over all the data read; None if the stream is dense
    task_names: list[str]
    sha256: str  # as in `Facts`; with a test set, of both together
    files: dict[str, str] = field(default_factory=dict)  # the sha256 of each file's decompressed content
    notes: list[str] = field(default_factory=list)  # of the card, and one for each unverified file
    classes: list[Label] = field(default_factory=list)  # all labels of the data, ascending
    n_classes: int = 2  # of a task; 2 for signs, and for regression
    n_test: int = 0  # examples in the test set
    readers: list[str] = field(default_factory=list)  # formats, each with its revision, such as ``libsvm 1``
    data_bytes: int = 0  # memory of all the data in file order; 0 if unknown, in manifests of earlier versions
    content_bytes: int = field(default=0, compare=False)  # memory of reading them in addition, as in `Facts`
    kind: str = field(default="", compare=False)  # a key of `budgetrun.kernels.kinds.KINDS`; empty in old manifests
    median_gamma: float | None = field(default=None, compare=False)  # of `auto_gamma`, if a kernel asks

    @property
    def values_per_example(self) -> float:
        """The stored values of an example: all features of a dense stream."""
        return self.n_features if self.nnz_per_row is None else self.nnz_per_row

    @property
    def held_as(self) -> str:
        """How kernels hold the examples, a key of `KINDS`, also where an earlier version did not record it."""
        wide = self.nnz_per_row is not None and self.n_features > DENSE_FEATURES
        return self.kind or ("sparse" if wide else "floats")


def open_stream(
    spec: DatasetSpec,
    seed: int,
    repetition: int,
    data_dir: Path | None = None,
    tasks: Sequence[str] | None = None,
    sha256: str | None = None,
) -> Stream:
    """Return the stream of one repetition with its test set, with some of its tasks; None for all.

    Examples are balanced, permuted, their labels flipped, then capped and scaled, in this order.

    All randomness depends only on the seed, the dataset's name (not its label) and the repetition. Entries of one
    dataset that differ in scaling, noise or cap therefore see the same permutation, and the labels flipped at a smaller
    noise are among those flipped at a larger one. A flipped round is flipped in every task.

    ``seed``, at least 0, is the config's, ``data_dir`` the folder in which files are looked for first, and ``sha256``
    the checksum of the data, as in `StreamInfo`, if it is known.

    Raises InputError: the spec does not fit the data, a file has a fault, or the data have another checksum.
    Raises DataMissingError: a file is neither on this machine nor can it be downloaded.
    """
    source, test_source = sources_of(spec)
    where = source.where
    rng = _generators(spec.name, seed, repetition)
    dataset = source.load(data_dir, rng(POINTS))
    tested = None if test_source is None else test_source.load(data_dir, rng(POINTS))
    found = dataset.sha256 if tested is None else _with_test(dataset.sha256, tested.sha256)
    if sha256 not in (None, found):
        names = " or ".join(dataset.files | (tested.files if tested else {}))
        raise InputError(
            f"{where}: {names} changed after the runs were planned: sha256 {found[:12]}, planned {str(sha256)[:12]}; "
            "put the planned data back, or start again with these"
        )
    signs = _signs(spec, source, dataset.classes)
    wanted = list(signs if tasks is None else tasks)
    for name in wanted:
        if name not in signs:
            raise InputError(f"{where}: no task '{name}'; tasks are named like '{next(iter(signs))}'")

    rows = np.arange(len(dataset.codes))
    if spec.balanced:
        # The smaller class, and as many random examples of the larger one.
        y = _binary(signs, where)[dataset.codes]
        small, large = sorted((np.flatnonzero(y > 0), np.flatnonzero(y < 0)), key=len)
        rows = np.sort(np.concatenate([small, rng(SUBSET).choice(large, size=len(small), replace=False)]))
    if spec.order == "permuted":
        rows = rows[permutation_of(spec.name, seed, repetition, len(rows))]
    flip = np.where(rng(NOISE).random(len(rows)) < spec.noise, np.int8(-1), np.int8(1))
    rows, flip = rows[: spec.n_examples], flip[: spec.n_examples]

    codes, classes = dataset.codes[rows], list(dataset.classes) if problem_of(spec.task).of_classes else []
    test_X, test_codes = (None, codes) if tested is None else fitted(where, tested, dataset)
    X, test_X = scaled(_take(dataset.X, rows), spec.scale, where, test_X)
    of_test = {name: signs[name][test_codes] for name in wanted}
    test = None if test_X is None else Stream(test_X, of_test, classes)
    return Stream(X, {name: signs[name][codes] * flip for name in wanted}, classes, test)


def permutation_of(name: str, seed: int, repetition: int, n_rows: int) -> NDArray[np.intp]:
    """Return the order of a permuted stream: the row that is seen in each round, shape (n_rows,)."""
    return _generators(name, seed, repetition)(PERMUTATION).permutation(n_rows)


def stream_info(
    spec: DatasetSpec, data_dir: Path | None = None, download: bool = True, *, verify: bool = True
) -> StreamInfo:
    """Return a stream's size, tasks and checksums, as `Source.facts` does; errors are those of `open_stream`."""
    source, test_source = sources_of(spec)
    where = source.where
    facts = source.facts(data_dir, download, verify)
    labels, problem = list(facts.counts), problem_of(spec.task)
    signs = _signs(spec, source, labels)
    if problem.of_classes:
        check_exact(labels, where)
    n_examples = facts.n_examples
    if spec.balanced:
        sides = _binary(signs, where)
        sizes = np.array(list(facts.counts.values()))
        n_examples = 2 * int(min(sizes[sides > 0].sum(), sizes[sides < 0].sum()))
    if spec.n_examples is not None:
        n_examples = min(n_examples, spec.n_examples)

    read, sha256 = [facts], facts.sha256
    if test_source is not None:
        read.append(test_source.facts(data_dir, download, verify))
        check_test(where, *read)
        sha256 = _with_test(sha256, read[1].sha256)
    hashes: dict[str, str] = {}
    for one in read:
        hashes |= {f"{name} (test)" if name in hashes else name: found for name, found in one.files.items()}
    return StreamInfo(
        n_examples=n_examples,
        n_features=facts.n_features,
        nnz_per_row=None if facts.nnz is None else facts.nnz / facts.n_examples,
        task_names=list(signs),
        sha256=sha256,
        files=hashes,
        notes=list(dict.fromkeys(note for one in read for note in one.notes)),
        classes=labels if problem.of_classes else [],
        n_classes=problem.n_classes(len(labels)) or 2,
        n_test=sum(one.n_examples for one in read[1:]),
        readers=list(dict.fromkeys(one.reader for one in read)),
        data_bytes=sum(one.data_bytes for one in read),
        content_bytes=max(one.content_bytes for one in read),
        kind=_kind(facts, spec.scale),
    )


def _kind(facts: Facts, scale: str) -> str:
    if facts.nnz is not None and facts.n_features > DENSE_FEATURES:
        return "sparse"
    keeps = scale in ("none", "unit_norm") or (scale == "minmax" and facts.values == "bits")
    return facts.values if keeps else "floats"


def _with_test(stream: str, test: str) -> str:
    return hashlib.sha256(f"stream {stream}\ntest {test}".encode()).hexdigest()


def _signs(spec: DatasetSpec, source: Source, classes: Sequence[Label]) -> dict[str, NDArray[Any]]:
    default_positive = None if source.card is None else source.card.positive
    return task_signs(classes, spec.task, spec.positive, default_positive, source.where)


def _generators(name: str, seed: int, repetition: int) -> Callable[[int], np.random.Generator]:
    crc = zlib.crc32(name.encode())
    return lambda purpose: np.random.default_rng([seed, crc, repetition, purpose])


def _binary(signs: dict[str, NDArray[Any]], where: str) -> NDArray[Any]:
    if list(signs) != ["-"]:
        raise InputError(f"{where}: 'balanced' goes with 'task: binary'; remove it or the 'task: equal_splits'")
    return signs["-"]


def _take(X: Rows, rows: NDArray[np.intp]) -> Rows:
    taken = X[rows]
    if not isinstance(stored(taken), np.ndarray):
        canonical(stored(taken))
    return taken if isinstance(taken, IntegerRows) else taken.astype(np.float64, copy=False)


def task_signs(
    classes: Sequence[Label], task: str, positive: Any, default_positive: Sequence[Label] | None, where: str
) -> dict[str, NDArray[Any]]:
    """Return the sign of every label in each task, or its code, by the names of the tasks.

    ``binary``: one task, ``-``; the labels that are ``positive``, by default the card's choice, else the larger of two
    labels, become +1, all others -1 (int8). ``equal_splits``: one task for every way to divide the labels into two
    halves, named like ``01234|56789``, in lexicographic order; the half with the first label comes first and is +1.
    ``multiclass``: one task, ``-``, in which each of 2 to `MAX_CLASSES` labels is its own class, 0 to k - 1 (int16).
    ``regression``: one task, ``-``, in which labels are numbers (float64).

    ``classes`` are the labels found in the data, ascending. An InputError says why they, or ``positive``, do not fit.
    """
    if task != "binary":
        if positive is not None:
            raise InputError(f"{where}: 'positive' belongs to 'task: binary'; remove it or the 'task: {task}'")
        return {"equal_splits": _equal_splits, "multiclass": _codes, "regression": _numbers}[task](classes, where)
    chosen = default_positive if positive is None else positive
    if chosen is not None:
        return {"-": _chosen(classes, chosen if isinstance(chosen, list | tuple) else [chosen], where)}
    if (n := len(classes)) == 2:
        return {"-": np.array([-1, 1], dtype=np.int8)}
    advice = "nothing can be learned from a single label"
    if n > 1:
        splits = ", or use 'task: equal_splits'" if n % 2 == 0 else ""
        advice = f"name those that become +1, e.g. 'positive: {listed(classes[-1:])}'{splits}"
    raise InputError(f"{where}: 'task: binary' needs exactly two labels, found {n}: {listed(classes)}; {advice}")


def _chosen(classes: Sequence[Label], positive: Sequence[Any], where: str) -> NDArray[np.int8]:
    signs = np.full(len(classes), -1, dtype=np.int8)
    for label in positive:
        matches = [k for k, known in enumerate(classes) if _same(label, known)]
        if not matches:
            raise InputError(f"{where}: positive: no example is labelled {label!r}; the labels are: {listed(classes)}")
        signs[matches] = 1
    if (signs == 1).all():
        raise InputError(f"{where}: positive: leaves no label for -1; the labels are: {listed(classes)}")
    return signs


def _same(label: Any, known: Label) -> bool:
    if isinstance(known, str):
        return str(label).strip() == known
    try:
        return float(label) == known
    except (TypeError, ValueError):
        return False


def _codes(classes: Sequence[Label], where: str) -> dict[str, NDArray[Any]]:
    k = len(classes)
    if not 2 <= k <= MAX_CLASSES:
        advice = "nothing can be learned from a single label" if k < 2 else "is the label a measured number?"
        found = f"found {k:,}: {listed(classes)}; {advice}"
        raise InputError(f"{where}: 'task: multiclass' needs 2 to {MAX_CLASSES:,} labels, {found}")
    return {"-": np.arange(k, dtype=np.int16)}


def _numbers(labels: Sequence[Label], where: str) -> dict[str, NDArray[Any]]:
    text = next((label for label in labels if isinstance(label, str)), None)
    if text is not None:
        raise InputError(
            f"{where}: 'task: regression' needs numbers as labels, found '{clipped(text, 20)}'; name the column of the "
            "numbers with 'label_column', or use 'task: multiclass' for classes"
        )
    return {"-": np.array(labels, dtype=np.float64)}


def _equal_splits(classes: Sequence[Label], where: str) -> dict[str, NDArray[Any]]:
    k = len(classes)
    if k % 2 or not 2 <= k <= MAX_SPLIT_LABELS:
        raise InputError(
            f"{where}: 'task: equal_splits' needs an even number of labels, 2 to {MAX_SPLIT_LABELS}, "
            f"found {k}: {listed(classes)}; use 'task: binary' with 'positive'"
        )
    names = [str(label) for label in classes]
    joint = "" if all(len(name) == 1 for name in names) else ","
    tasks = {}
    for rest in combinations(range(1, k), k // 2 - 1):
        signs = np.full(k, -1, dtype=np.int8)
        signs[[0, *rest]] = 1
        halves = (joint.join(names[i] for i in range(k) if signs[i] == side) for side in (1, -1))
        tasks["|".join(halves)] = signs
    return tasks


def inspect(dataset: DatasetSpec) -> tuple[list[str], list[str]]:
    """Return sentences on the size and the classes of a dataset, and on its faults. Nothing is downloaded.

    A user's own files are read. A card's files are only looked for; a missing one is a note, not a problem.
    """
    about, faults, numbers = list[str](), list[str](), not problem_of(dataset.task).of_classes
    try:
        for source, name in zip(sources_of(dataset), (dataset.label, f"{dataset.label} (test)"), strict=True):
            if source is None:
                continue
            if source.card is None:
                classes = () if numbers else None
                table = open_table(source.path, label=dataset.label_column, missing=dataset.missing, classes=classes)
                scan = table.scan()
                told = _size(scan.n_rows, len(table.features), None if numbers else scan.counts)
                about += [f"{name}: {one}" for one in (told, table.label_found) if one] + scan.notes
                faults += scan.problems
            else:
                facts = source.facts(None, download=False, verify=False)
                told = _size(facts.n_examples, facts.n_features, None if numbers else facts.counts)
                about.append(f"{name}: {told}")
                if source.card.format != "generated":
                    files.locate(source.card, source.parts, download=False)
        if not faults:
            # Settings that do not go together, such as three classes and a task of two.
            stream_info(dataset, download=False, verify=False)
    except DataMissingError as error:
        about.append(f"note: {error}")
    except InputError as error:
        faults.append(str(error))
    return about, faults


def _size(n_rows: int, n_features: int, counts: Mapping[Any, int] | None) -> str:
    size = f"{counted(n_rows, 'row')} x {counted(n_features, 'feature')}"
    if counts is None:
        return f"{size}; the labels are numbers"
    shown = [f"{clipped(str(label), 20)} ({count:,})" for label, count in list(counts.items())[:_MOST_LISTED]]
    more = [f"and {len(counts) - _MOST_LISTED:,} more"] if len(counts) > _MOST_LISTED else []
    n_classes = "1 class" if len(counts) == 1 else f"{len(counts):,} classes"
    return f"{size}; {n_classes}: {', '.join([*shown, *more])}"


def auto_gamma(dataset: DatasetSpec, seed: int, data_dir: Path | None, sha256: str) -> float:
    """Return the gamma of a dataset: that of the stream of its first repetition, whatever the repetition.

    An InputError says that there is none, or that the data cannot be read or have another checksum.
    """
    stream = open_stream(dataset, seed, 0, data_dir, sha256=sha256)
    try:
        return median_gamma(stream.X)
    except ValueError as error:
        raise InputError(f"dataset '{dataset.label}': kernel: gamma: auto: {error}") from None
