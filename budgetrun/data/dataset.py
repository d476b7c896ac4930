"""A dataset in memory, before any order or task: read once and kept while the process works on it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.errors import InputError
from budgetrun.base.files import is_file
from budgetrun.data import files, formats
from budgetrun.data.cards import Card, Label
from budgetrun.data.cards import card as card_named
from budgetrun.data.content import Stamp, read_content, shown
from budgetrun.data.formats import Content, Examples, Layout, matrix_bytes
from budgetrun.data.tables.columns import to_json
from budgetrun.data.tables.encode import Missing
from budgetrun.data.tables.opening import READERS, format_of
from budgetrun.data.tables.source import File, Held, Origin
from budgetrun.data.tables.table import Table
from budgetrun.data.tasks import listed
from budgetrun.kernels.rows import IntegerRows, Rows, as_whole

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Dataset:
    """Examples and labels in file order.

    Attributes
    ----------
    X : IntegerRows, if all values are one constant times small whole numbers; otherwise ndarray or csr_array, float64
        Shape (n, d). Shared between callers: never change it.
    codes : ndarray, shape (n,), int32
        Each example's position in ``classes``.
    classes : tuple of labels, ascending
        The labels found; whole numbers as int.
    sha256s : dict of file name to str
        The sha256 of each file's decompressed content.
    reader : str
        The format with its revision, such as ``libsvm 1``, or a generator with its version.
    open_ended, first_index
        As in `Examples`.
    content_bytes : int
        The size of all files, decompressed, and of what else the reader had in memory at its peak except X.
    notes : tuple of str
        Notes on how the columns of a user's own file were read.
    encoding : dict or None
        `Table.encoding` of a table of columns, for reading a test file into the same features.
    """

    X: Rows
    codes: NDArray[np.int32]
    classes: tuple[Label, ...]
    sha256s: dict[str, str]
    reader: str
    open_ended: bool = False
    content_bytes: int = 0
    notes: tuple[str, ...] = ()
    encoding: dict[str, Any] | None = None
    first_index: int = 1

    @classmethod
    def of(cls, examples: Examples, sha256s: dict[str, str], reader: str, content_bytes: int = 0) -> Dataset:
        """Return a dataset from examples and labels as read from files with ``content_bytes`` of content."""
        found, codes = np.unique(examples.y, return_inverse=True)
        classes = tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in found.tolist())
        reading = content_bytes + examples.reading_bytes
        X = examples.X if isinstance(examples.X, IntegerRows) else as_whole(examples.X)
        if X is not examples.X:
            reading += matrix_bytes(examples.X)
        first = examples.first_index
        return cls(X, codes.astype(np.int32), classes, sha256s, reader, examples.open_ended, reading, first_index=first)

    @property
    def counts(self) -> dict[Label, int]:
        """The number of examples with each label, labels ascending."""
        return dict(zip(self.classes, np.bincount(self.codes).tolist(), strict=True))


def canonical(X: csr_array) -> csr_array:
    """Return a sparse matrix, changed in place, with sorted int32 indices."""
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def load_card(card: Card, parts: tuple[str, ...], data_dir: Path | None = None, download: bool = True) -> Dataset:
    """Return some parts of a card's dataset, one after the other, from files found or downloaded.

    All content is compared with the card: with its checksums, or where they are not known with its counts.
    """
    stamps = tuple(Stamp.of(path) for path in files.locate(card, parts, data_dir, download))
    return _load_card(card.name, parts, stamps)


@dataclass(frozen=True)
class Own:
    """Settings for a user's own table: its ``label`` (first, last, a name, or a number from 1) and ``missing``."""

    label: str | int = "first"
    missing: Missing = "refuse"


def load_own(path: Path, where: str, key: str = "path", own: Own | None = None, like: Path | None = None) -> Dataset:
    """Return a user's own file in any format of `budgetrun.data.tables`.

    A test file has the columns and categories of ``like``, the file of its stream.
    """
    if str(path) == "-":
        raise InputError(f"{where}: {key}: standard input can be read only once; type: budgetrun run -")
    if not is_file(path):
        raise InputError(
            f"{where}: {key}: no file {shown(path)}; give a path from the config's folder, or an absolute one"
        )
    return _load_own(Stamp.of(path), own or Own(), None if like is None else Stamp.of(like))


@lru_cache(maxsize=2)
def _load_card(name: str, parts: tuple[str, ...], stamps: tuple[Stamp, ...]) -> Dataset:
    card = card_named(name)
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
    if dataset.X.shape[1] != card.n_features:
        raise InputError(
            f"{' and '.join(shown(stamp.path) for stamp in stamps)}: {dataset.X.shape[1]:,} features where the card of "
            f"dataset '{card.name}' says {card.n_features:,}; this is another file: replace it with the original"
        )
    if not card.has_checksums(parts):
        _check_counts(card, parts, dataset, " and ".join(shown(stamp.path) for stamp in stamps))
    return dataset


@lru_cache(maxsize=2)
def _load_own(stamp: Stamp, own: Own, like: Stamp | None) -> Dataset:
    path = stamp.path
    other = None if like is None else _load_own(like, own, None)
    origin: Origin = File(path)
    name = format_of(origin)
    as_table = name in READERS and name != "libsvm"
    if not as_table or name in ("csv", "jsonl"):
        # The very bytes that are hashed here are parsed below.
        origin = Held(read_content(path), shown(path))
    n_bytes = len(origin.content) if isinstance(origin, Held) else 0
    if not as_table:
        assert isinstance(origin, Held)
        layout = Layout(first_index=None if other is None else other.first_index)
        examples = formats.all_formats()[name].read([Content(origin.content, origin.name)], layout)
        sha256 = hashlib.sha256(origin.content).hexdigest()
        return Dataset.of(examples, {path.name: sha256}, formats.revision(name), n_bytes)
    source, encoding = READERS[name](origin), None if other is None else other.encoding
    if encoding is not None and not source.named and not any(column["categories"] for column in encoding["columns"]):
        encoding = None  # columns of numbers without names
    table = Table(source, own.label, own.missing, encoding=encoding)
    if table.label_column is None:
        raise InputError(f"{table.where}: no column of labels, such as the stream's file has")
    X, y = table.whole(n_bytes)
    assert table.sha256 is not None
    dataset = Dataset.of(Examples(X, y), {path.name: table.sha256}, table.reader, n_bytes)
    encoding = {"columns": to_json(table.columns), "classes": None}
    return replace(dataset, notes=tuple(table.notes()), encoding=encoding)


def _check_counts(card: Card, parts: tuple[str, ...], dataset: Dataset, where: str) -> None:
    """Refuse unverified files whose content differs from what their card says."""
    n_examples = sum(card.n_examples[part] for part in parts)
    if len(dataset.codes) != n_examples:
        found, expected = f"{len(dataset.codes):,} examples", f"{n_examples:,}"
    elif set(parts) <= set(card.labels) and dataset.counts != card.label_counts(parts):
        found, expected = f"labels {_shown(dataset.counts)}", _shown(card.label_counts(parts))
    else:
        return
    raise InputError(
        f"{where}: {found} where the card of dataset '{card.name}' says {expected}; this is another file, or an "
        "incomplete one: replace it with the original"
    )


def _shown(counts: dict[Label, int]) -> str:
    return listed([f"{label}:{count:,}" for label, count in counts.items()])
