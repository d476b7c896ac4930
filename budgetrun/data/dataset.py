"""Datasets in memory, read once, and their sources: a card, a user's own file, or a generator."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from budgetrun.base.errors import InputError, listed
from budgetrun.base.files import is_url
from budgetrun.base.problem import problem_of
from budgetrun.config.schema import DatasetSpec, Label
from budgetrun.data import cards, files, formats
from budgetrun.data.cards import Card, Values, combined_sha256
from budgetrun.data.content import Held, Origin, Stamp, hashed, read_content, shown_path
from budgetrun.data.formats import Content, Examples, Layout, matrix_bytes
from budgetrun.data.generators import GENERATORS, completed
from budgetrun.data.tables import format_of, is_table, origin_of, reader_of, stamp_of
from budgetrun.data.tables.encode import Missing
from budgetrun.data.tables.table import Table
from budgetrun.kernels.kinds import BYTES, IntegerRows, Matrix, Rows, as_whole, dense, stored


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Properties of a source, known without its examples."""

    counts: dict[Label, int]  # examples with each label, labels ascending; whole numbers as int
    n_features: int
    nnz: int | None  # non-zero values; None if the data are dense
    files: dict[str, str]  # the sha256 of each file's decompressed content, by its name
    sha256: str  # of all files together, or of a generator's name, version and options
    reader: str  # the format with its revision, such as ``libsvm 1``, or a generator with its version
    notes: list[str] = field(default_factory=list)  # of the card, or on how columns were read
    open_ended: bool = False  # as in `Examples`
    content_bytes: int = 0  # of files looked for, decompressed, and what else reading takes except the examples
    values: Values = "floats"

    @property
    def n_examples(self) -> int:
        """The number of examples."""
        return sum(self.counts.values())

    @property
    def data_bytes(self) -> int:
        """The memory of the examples in file order, with their labels and order."""
        values, size = (self.n_examples * self.n_features, 0) if self.nnz is None else (self.nnz, 4)
        return self.n_examples * 72 + values * (size + BYTES[self.values])


@dataclass(frozen=True, kw_only=True)
class Dataset(Facts):
    """Examples and labels in file order, with the facts about them.

    X, shape (n, d), is shared between callers: never change it. It is `IntegerRows`, if all values are one constant
    times small whole numbers; otherwise an ndarray or csr_array, float64.
    """

    X: Rows
    codes: NDArray[np.int32]  # each example's position in ``classes``, shape (n,)
    encoding: dict[str, Any] | None = None  # `Table.encoding`, for reading a test file into the same features
    first_index: int = 1  # as in `Examples`

    @classmethod
    def of(
        cls, examples: Examples, files: dict[str, str], reader: str, n_bytes: int = 0, sha256: str = "", **known: Any
    ) -> Dataset:
        """Return a dataset from examples and labels as read from files with ``n_bytes`` of content."""
        found, codes, sizes = np.unique(examples.y, return_inverse=True, return_counts=True)
        classes = [int(v) if isinstance(v, float) and v.is_integer() else v for v in found.tolist()]
        X = examples.X if isinstance(examples.X, IntegerRows) else as_whole(examples.X)
        of_X = stored(X)
        values: Values = "floats"
        if isinstance(X, IntegerRows):
            whole = of_X if isinstance(of_X, np.ndarray) else of_X.data
            values = "bits" if whole.min(initial=0) >= 0 and whole.max(initial=0) <= 1 else "integers"
        return cls(
            X=X,
            codes=codes.astype(np.int32),
            counts=dict(zip(classes, sizes.tolist(), strict=True)),
            n_features=int(X.shape[1]),
            nnz=None if isinstance(of_X, np.ndarray) else int(of_X.nnz),
            files=files,
            sha256=combined_sha256(files.values()) if files else sha256,
            reader=reader,
            open_ended=examples.open_ended,
            content_bytes=n_bytes + examples.reading_bytes + (0 if X is examples.X else matrix_bytes(examples.X)),
            values=values,
            first_index=examples.first_index,
            **known,
        )

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels found, ascending."""
        return tuple(self.counts)


def canonical(X: csr_array) -> csr_array:
    """Return a sparse matrix, changed in place, with sorted int32 indices."""
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


# The datasets read last, the newest at the end, for the jobs and configs that follow. Together they take up to this
# memory; a larger one is kept alone.
KEPT_BYTES = 150e6
_kept: dict[tuple[str, tuple[str, ...], tuple[Stamp, ...]], Dataset] = {}


def _load_card(name: str, parts: tuple[str, ...], stamps: tuple[Stamp, ...]) -> Dataset:
    """Return files one after the other; all content is compared with the card, by checksums or else by counts."""
    card = cards.card(name)
    where = " and ".join(shown_path(stamp.path) for stamp in stamps)
    contents: list[Content] = []
    sha256s: dict[str, str] = {}
    for file, stamp in zip(card.files_of(parts), stamps, strict=True):
        # The very bytes that are hashed here are parsed below.
        content = read_content(stamp.path)
        sha256s[file.file] = hashlib.sha256(content).hexdigest()
        files.check_sha256(card, file, stamp.path, sha256s[file.file])
        contents.append(Content(content, file.file))
    examples = formats.all_formats()[card.format].read(contents, Layout(card.n_features, card.label_column, 1))
    dataset = Dataset.of(examples, sha256s, card.reader, sum(len(file.content) for file in contents))
    if dataset.n_features != card.n_features:
        raise InputError(
            f"{where}: {dataset.n_features:,} features where the card of dataset '{card.name}' says "
            f"{card.n_features:,}; this is another file: replace it with the original"
        )
    if card.has_checksums(parts):
        return dataset
    n_examples, wrong = sum(card.n_examples[part] for part in parts), None
    if dataset.n_examples != n_examples:
        wrong = f"{dataset.n_examples:,} examples", f"{n_examples:,}"
    elif set(parts) <= set(card.labels) and dataset.counts != card.label_counts(parts):
        wrong = f"labels {_shown(dataset.counts)}", _shown(card.label_counts(parts))
    if wrong:
        raise InputError(
            f"{where}: {wrong[0]} where the card of dataset '{card.name}' says {wrong[1]}; this is another file, or an "
            "incomplete one: replace it with the original"
        )
    return dataset


@lru_cache(maxsize=2)
def _load_own(stamp: Stamp, label: str | int, missing: Missing, like: Stamp | None) -> Dataset:
    """Return a user's own file; a test file has the columns and categories of ``like``, the file of its stream."""
    path = stamp.path
    other = None if like is None else _load_own(like, label, missing, None)
    origin: Origin = origin_of(path)
    name = format_of(origin)
    reader = None if name == "libsvm" else reader_of(name)
    n_bytes = 0
    if reader is None or name in ("csv", "jsonl"):
        # The very bytes that are hashed here are parsed below.
        content = read_content(path)
        origin, n_bytes = Held(content, shown_path(path)), len(content)
    if reader is None:
        layout = Layout(first_index=None if other is None else other.first_index)
        examples = formats.all_formats()[name].read([Content(content, origin.name)], layout)
        return Dataset.of(examples, {path.name: hashlib.sha256(content).hexdigest()}, formats.revision(name), n_bytes)
    source, encoding = reader(origin), None if other is None else other.encoding
    if encoding is not None and not source.named and not any(column["categories"] for column in encoding["columns"]):
        encoding = None  # columns of numbers without names
    # Without classes: labels may be measured numbers.
    table = Table(source, label, missing, classes=(), encoding=encoding)
    if table.label_column is None:
        raise InputError(f"{table.where}: no column of labels, such as the stream's file has")
    X, y = table.whole(n_bytes)
    assert table.sha256 is not None
    learned = {"columns": list(map(asdict, table.columns)), "classes": None, **table.means}
    known: dict[str, Any] = {"notes": table.notes(), "encoding": learned}
    return Dataset.of(Examples(X, y), {path.name: table.sha256}, table.reader, n_bytes, **known)


def _shown(counts: dict[Label, int]) -> str:
    return listed([f"{label}:{count:,}" for label, count in counts.items()])


@dataclass(frozen=True)
class Source:
    """A dataset's stream or test set: some parts of a card, a generator with its options, or a user's own file."""

    spec: DatasetSpec
    card: Card | None = None  # None for a user's own file
    parts: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    key: str = "path"  # the config's key for the user's file, or 'test_path'

    @property
    def where(self) -> str:
        """The dataset's name in messages."""
        return f"dataset '{self.spec.label}'"

    @property
    def path(self) -> Path:
        """The user's file."""
        found: Path = getattr(self.spec, self.key)
        return found

    def load(
        self, data_dir: Path | None = None, rng: np.random.Generator | None = None, download: bool = True
    ) -> Dataset:
        """Return the examples, in file order; ``rng`` draws generated ones."""
        if (card := self.card) is None:
            return self._load_own()
        if card.format == "generated":
            examples = Examples(*GENERATORS[card.name].draw(rng, **self.options))
            return Dataset.of(examples, {}, card.reader, sha256=self._sha256_of_generated(card))
        stamps = tuple(Stamp.of(path) for path in files.locate(card, self.parts, data_dir, download))
        key = card.name, self.parts, stamps
        dataset = _kept[key] = _kept.pop(key) if key in _kept else _load_card(*key)
        while len(_kept) > 1 and sum(kept.data_bytes for kept in _kept.values()) > KEPT_BYTES:
            del _kept[next(iter(_kept))]
        return dataset

    def _load_own(self) -> Dataset:
        where, path, spec = f"{self.where}: {self.key}", self.path, self.spec
        if str(path) == "-":
            raise InputError(f"{where}: standard input can be read only once; type: budgetrun run -")
        if is_url(str(path)):
            raise InputError(f"{where}: URLs are read by budgetrun run; download the file, and give its path")
        if not is_table(path):
            advice = "give a path from the config's folder, or an absolute one"
            raise InputError(f"{where}: no file {shown_path(path)}; {advice}")
        like = stamp_of(spec.path) if self.key == "test_path" and spec.path else None
        return _load_own(stamp_of(path), spec.label_column, spec.missing, like)

    def _sha256_of_generated(self, card: Card) -> str:
        options = " ".join(f"{name}={self.options[name]}" for name in sorted(self.options))
        return hashlib.sha256(f"{card.name} version={card.version} {options}".encode()).hexdigest()

    def facts(self, data_dir: Path | None, download: bool, verify: bool) -> Facts:
        """Return the facts about the examples.

        Files whose checksums the card knows are found or fetched and verified, but not parsed; without ``verify`` they
        are not even looked for. Other files are read.
        """
        known, parts = self.card, self.parts
        if known is None:
            return self.load(data_dir)
        generated = known.format == "generated"
        if not known.has_checksums(parts):
            dataset = self.load(data_dir, download=download)
            names = [file.file for file in known.files_of(parts) if file.sha256 is None]
            told = "Unverified: the checksum of {} is not known; that of the one used is {}."
            return replace(dataset, notes=known.notes + [told.format(name, dataset.files[name]) for name in names])
        paths = files.fetch(known, data_dir, parts, download) if verify else []
        hashes = {file.file: file.sha256 for file in known.files_of(parts) if file.sha256 is not None}
        return Facts(
            counts=GENERATORS[known.name].counts(**self.options) if generated else known.label_counts(parts),
            n_features=known.n_features,
            nnz=sum(known.nnz[part] for part in parts) if known.nnz else None,
            files=hashes,
            sha256=self._sha256_of_generated(known) if generated else combined_sha256(hashes.values()),
            reader=known.reader,
            notes=known.notes,
            content_bytes=sum(hashed(Stamp.of(path))[1] for path in paths),
            values=known.values,
        )


def sources_of(spec: DatasetSpec) -> tuple[Source, Source | None]:
    """Return where the stream of a spec and its test set, if any, come from; refuse keys that do not go together."""
    known = cards.card(spec.name) if spec.path is None else None
    where = f"dataset '{spec.label}'"
    is_generated = known is not None and known.format == "generated"
    # The reader of configs refuses the others.
    if spec.parts is not None and known is None:
        raise InputError(f"{where}: 'parts' belongs to a dataset with a card, not to one with 'path'; remove it")
    if spec.parts is not None and is_generated:
        raise InputError(f"{where}: a generated dataset has no parts; remove 'parts'")
    if spec.options and not is_generated:
        raise InputError(f"{where}: 'options' belongs to a generated dataset such as noisy_gaussians; remove it")
    if known is not None and known.numbers and problem_of(spec.task).of_signs:
        raise InputError(f"{where}: its labels are measured numbers, not classes; use 'task: regression'")
    if known is None:
        return Source(spec), None if spec.test_path is None else Source(spec, key="test_path")
    if is_generated:
        return Source(spec, known, options=completed(known, spec.options, where)), None
    stream = Source(spec, known, known.chosen_parts(spec.parts))
    if spec.test is None:
        return stream, None
    test = Source(spec, known, known.chosen_parts(spec.test, "test"))
    if learned := sorted(set(stream.parts) & set(test.parts)):
        raise InputError(
            f"{where}: test: part '{learned[0]}' is also in the stream; a test set has examples that are not learned: "
            "name another part, or fewer 'parts'"
        )
    return stream, test


def check_test(where: str, stream: Facts, test: Facts) -> None:
    """Raise an InputError if a test set is the stream's own data, or has other features or unknown labels."""
    if stream.sha256 == test.sha256:
        told = "the same data as the stream's; a test set has examples that are not learned"
        raise InputError(f"{where}: test_path: {told}")
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
    """Return the examples of a test set, and each one's position in the classes of its stream.

    The examples are not yet scaled; dense or sparse like the stream's, with zeros for last features that the test set
    lacks; the caller's own copy.
    """
    check_test(where, stream, test)
    positions = np.array([stream.classes.index(label) for label in test.classes])
    return _like(test.X, stream.X), positions[test.codes]


def _like(X: Rows, other: Rows) -> Rows:
    """Return a copy of examples, dense or sparse as other ones are, and padded with zeros to their width."""

    def copied(found: Matrix) -> Matrix:
        if isinstance(stored(other), np.ndarray):
            return np.pad(dense(found), ((0, 0), (0, other.shape[1] - X.shape[1])))
        sparse = csr_array(found, copy=True)
        sparse.resize((sparse.shape[0], other.shape[1]))
        return canonical(sparse)

    if isinstance(X, IntegerRows):
        return IntegerRows(copied(X.integers), X.factors.copy())
    return copied(X).astype(np.float64, copy=False)
