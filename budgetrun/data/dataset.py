"""A dataset in memory, before any order or task: read once, kept while the process works on it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from budgetrun.data import files
from budgetrun.data.cards import Card, CardFile, Label
from budgetrun.data.cards import card as card_named
from budgetrun.data.content import Stamp, bare_name, read_content
from budgetrun.data.formats.csv import parse_table
from budgetrun.data.formats.idx import parse_idx
from budgetrun.data.formats.libsvm import parse_libsvm
from budgetrun.data.formats.npz import parse_npz
from budgetrun.data.timit import reader as timit
from budgetrun.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# LIBSVM text of no more features than this is cheaper dense: a row of a product costs less than the bookkeeping.
DENSE_FEATURES = 64
DENSE_SHARE = 0.5
# By format, raised whenever what is read from the same file changes; part of the run ids of its data.
REVISIONS = {"census_income": 1, "csv": 1, "idx": 1, "libsvm": 1, "npz": 1, "timit": 1, "zip_digits": 1}


def reader(kind: str) -> str:
    """Return a format with its reader's revision, such as ``libsvm 1``."""
    return f"{kind} {REVISIONS[kind]}"


def generated(card: Card) -> str:
    """Return the same of generated data, whose revision is the version on the card."""
    return f"{card.name} {card.version}"


@dataclass(frozen=True)
class Dataset:
    """Examples and labels in file order.

    Attributes
    ----------
    X : ndarray, shape (n, d), float64 or uint8; or csr_array, shape (n, d), float64
        Shared between callers: never change it.
    codes : ndarray, shape (n,), int
        Each example's position in ``classes``.
    classes : tuple of labels, ascending
        The labels found; whole numbers as int.
    sha256s : dict of file name to str
        Of the decompressed contents.
    reader : str
        As `reader` says it.
    open_ended : bool
        Whether there may be further features, all zero: LIBSVM text of the user's own ends with the last one named.
    """

    X: np.ndarray | csr_array
    codes: np.ndarray
    classes: tuple[Label, ...]
    sha256s: dict[str, str]
    reader: str
    open_ended: bool = False

    @classmethod
    def of(
        cls, X: np.ndarray | csr_array, y: np.ndarray, sha256s: dict[str, str], reader: str, open_ended: bool = False
    ) -> Dataset:
        """Return a dataset from examples and labels as read."""
        found, codes = np.unique(y, return_inverse=True)
        labels = found.tolist()
        whole = tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in labels)
        return cls(X, codes.astype(np.int32), whole, sha256s, reader, open_ended)

    @property
    def counts(self) -> dict[Label, int]:
        """How many examples have each label, labels ascending."""
        return dict(zip(self.classes, np.bincount(self.codes).tolist(), strict=True))


def load_card(card: Card, parts: tuple[str, ...], data_dir: Path | None = None) -> Dataset:
    """Return some parts of a card's dataset, one after the other, from files that are found or fetched and verified.

    Raises
    ------
    InputError
        A file is at fault, or, unverified, does not hold what the card says.
    DataMissingError
        A file is neither here nor to be had.
    """
    paths = files.locate(card, parts, data_dir)
    stamps = tuple(
        timit.stamp(path, part) if card.format == "timit" else Stamp.of(path)
        for path, part in zip(paths, [part for part in parts for _ in card.files[part]], strict=True)
    )
    return _load_card(card.name, parts, stamps)


def load_own(path: Path, where: str, key: str = "path") -> Dataset:
    """Return a user's own file: .npz, .csv, .tsv, .libsvm, .svm, else by its looks; through .gz, .bz2, .xz.

    Any other name is read as LIBSVM text if a colon stands in its first 64 KB, else as a table.

    Raises
    ------
    InputError
        No such file, or it is at fault.
    """
    if not path.is_file():
        raise InputError(f"{where}: {key}: no file {path}; give a path from the config's folder, or an absolute one")
    return _load_own(Stamp.of(path))


@lru_cache(maxsize=2)
def _load_card(name: str, parts: tuple[str, ...], stamps: tuple[Stamp, ...]) -> Dataset:
    card = card_named(name)
    wanted = card.files_of(parts)
    if card.format == "timit":
        return _load_timit(parts, wanted, stamps)
    read = [_read_verified(card, file, stamp.path) for file, stamp in zip(wanted, stamps, strict=True)]
    X, y = _parse_card(card, [content for content, _ in read], [file.file for file in wanted])
    sha256s = {file.file: sha256 for file, (_, sha256) in zip(wanted, read, strict=True)}
    dataset = Dataset.of(X, y, sha256s, reader(card.format))
    if not card.has_checksums(parts):
        _check_counts(card, parts, dataset, " and ".join(str(stamp.path) for stamp in stamps))
    return dataset


def _load_timit(parts: tuple[str, ...], folders: list[CardFile], stamps: tuple[Stamp, ...]) -> Dataset:
    read = [timit.read_timit(stamp.path, part) for stamp, part in zip(stamps, parts, strict=True)]
    # Joining copies; a single part is the rule, and large.
    X = read[0][0] if len(read) == 1 else np.concatenate([X for X, _, _ in read])
    sha256s = {folder.file: sha256 for folder, (_, _, sha256) in zip(folders, read, strict=True)}
    return Dataset.of(X, np.concatenate([y for _, y, _ in read]), sha256s, reader("timit"))


def _check_counts(card: Card, parts: tuple[str, ...], dataset: Dataset, where: str) -> None:
    """Hold what unverified files were found to hold against what their card says of them."""
    if set(parts) <= set(card.n_examples):
        n_examples = sum(card.n_examples[part] for part in parts)
        if len(dataset.codes) != n_examples:
            told = f"{len(dataset.codes):,} examples where the card of dataset '{card.name}' says {n_examples:,}"
            raise InputError(f"{where}: {told}; the file is another one or not whole: replace it by the original")
    if set(parts) <= set(card.labels) and dataset.counts != card.label_counts(parts):
        found, said = (_counted(counts) for counts in (dataset.counts, card.label_counts(parts)))
        told = f"labels {found} where the card of dataset '{card.name}' says {said}"
        raise InputError(f"{where}: {told}; the file is another one or not whole: replace it by the original")


def _counted(counts: dict[Label, int]) -> str:
    shown = [f"{label}:{count:,}" for label, count in counts.items()]
    return " ".join(shown[:20]) + (" ..." if len(shown) > 20 else "")


@lru_cache(maxsize=2)
def _load_own(stamp: Stamp) -> Dataset:
    content = read_content(stamp.path)
    where = str(stamp.path)
    kind = Path(bare_name(stamp.path.name)).suffix.lower()
    X: np.ndarray | csr_array
    open_ended = False
    if kind == ".npz":
        name, (X, y) = "npz", parse_npz(content, where)
    elif kind in (".libsvm", ".svm") or (kind not in (".csv", ".tsv") and b":" in content[: 1 << 16]):
        sparse, y = parse_libsvm(content, where)
        name, X, open_ended = "libsvm", _denser(sparse), True
    else:
        name, (X, y) = "csv", parse_table(content, where)
    return Dataset.of(X, y, {stamp.path.name: hashlib.sha256(content).hexdigest()}, reader(name), open_ended)


def _read_verified(card: Card, file: CardFile, path: Path) -> tuple[bytes, str]:
    """Read a file; the very bytes that are parsed are those that were hashed."""
    content = read_content(path)
    found = hashlib.sha256(content).hexdigest()
    files.check_sha256(card, file, path, found)
    return content, found


def _parse_card(card: Card, contents: list[bytes], names: list[str]) -> tuple[np.ndarray | csr_array, np.ndarray]:
    if card.format == "census_income":
        from budgetrun.data.formats.census_income import parse_census

        # All parts at once, so that they share categories and ranges.
        return parse_census(b"".join(contents))
    if card.format == "idx":
        arrays = [parse_idx(content, name) for content, name in zip(contents, names, strict=True)]
        images = np.concatenate([part.reshape(len(part), -1) for part in arrays[0::2]])
        return images, np.concatenate(arrays[1::2])
    if card.format == "libsvm":
        pairs = [parse_libsvm(*named, card.n_features) for named in zip(contents, names, strict=True)]
        from scipy.sparse import vstack

        return _denser(vstack([X for X, _ in pairs], format="csr")), np.concatenate([y for _, y in pairs])
    tables = [parse_table(*named, card.label_column) for named in zip(contents, names, strict=True)]
    X = np.concatenate([X for X, _ in tables])
    if card.format == "zip_digits":
        X = (X + 1.0) / 2.0  # grey values are in [-1, 1] in the file
    return X, np.concatenate([y for _, y in tables])


def _denser(X: csr_array) -> np.ndarray | csr_array:
    """Return a sparse matrix as a dense one where that is cheaper: few features, or at least half of the values."""
    n, d = X.shape
    return X.toarray() if d <= DENSE_FEATURES or X.nnz >= DENSE_SHARE * n * d else X
