"""A dataset in memory, before any order or task: read once and kept while the process works on it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from budgetrun.data import files, formats
from budgetrun.data.cards import Card, Label
from budgetrun.data.cards import card as card_named
from budgetrun.data.content import Stamp, bare_name, read_content, shown
from budgetrun.data.formats import Content, Examples, Layout, matrix_bytes
from budgetrun.data.tasks import listed
from budgetrun.errors import InputError
from budgetrun.files import is_file
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
    open_ended : bool
        Whether further features may exist that are zero in every example.
    content_bytes : int
        The size of all files, decompressed, and of what else the reader had in memory at its peak except X.
    """

    X: Rows
    codes: NDArray[np.int32]
    classes: tuple[Label, ...]
    sha256s: dict[str, str]
    reader: str
    open_ended: bool = False
    content_bytes: int = 0

    @classmethod
    def of(cls, examples: Examples, sha256s: dict[str, str], reader: str, content_bytes: int = 0) -> Dataset:
        """Return a dataset from examples and labels as read from files with so many bytes of content."""
        found, codes = np.unique(examples.y, return_inverse=True)
        classes = tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in found.tolist())
        reading = content_bytes + examples.reading_bytes
        X = examples.X if isinstance(examples.X, IntegerRows) else as_whole(examples.X)
        if X is not examples.X:
            reading += matrix_bytes(examples.X)
        return cls(X, codes.astype(np.int32), classes, sha256s, reader, examples.open_ended, reading)

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


def load_own(path: Path, where: str, key: str = "path") -> Dataset:
    """Return a user's own file, which may be compressed (.gz, .bz2, .xz).

    A suffix that a format claims decides the format, otherwise the content does: text with a colon in its first 64 KB
    is read as LIBSVM text, other text as a table.
    """
    if not is_file(path):
        raise InputError(
            f"{where}: {key}: no file {shown(path)}; give a path from the config's folder, or an absolute one"
        )
    return _load_own(Stamp.of(path))


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
    examples = formats.all_formats()[card.format].read(contents, Layout(card.n_features, card.label_column))
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
def _load_own(stamp: Stamp) -> Dataset:
    path = stamp.path
    content = read_content(path)
    name = formats.format_of(bare_name(path.name), content)
    examples = formats.all_formats()[name].read([Content(content, shown(path))], Layout())
    return Dataset.of(examples, {path.name: hashlib.sha256(content).hexdigest()}, formats.revision(name), len(content))


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
