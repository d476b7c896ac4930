"""What a spec asks for: a card or a user's own file, loaded, or told of without drawing it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun.data import files
from budgetrun.data.cards import Card, Label, card, combined_sha256
from budgetrun.data.dataset import Dataset, generated, load_card, load_own, reader
from budgetrun.data.generators import generator
from budgetrun.errors import InputError

if TYPE_CHECKING:
    from budgetrun.config.schema import DatasetSpec


@dataclass(frozen=True)
class Facts:
    """What is known of the data of a stream or of a test set.

    Attributes
    ----------
    counts : dict of label to int
        How many examples have each label, labels ascending.
    n_features : int
    nnz : int or None
        Non-zero values; None if the data are dense.
    files : dict of file name to str
        The sha256 of each file's decompressed content.
    sha256 : str
        Of all of them together, or of a generator's name, version and options.
    reader : str
        The format of the data, with its reader's revision, such as ``libsvm 1``.
    notes : list of str
    open_ended : bool
        Whether there may be further features, all zero.
    """

    counts: dict[Label, int]
    n_features: int
    nnz: int | None
    files: dict[str, str]
    sha256: str
    reader: str
    notes: list[str] = field(default_factory=list)
    open_ended: bool = False

    @classmethod
    def of(cls, dataset: Dataset, notes: Sequence[str] = ()) -> Facts:
        """Return what is known of data in memory."""
        nnz = None if isinstance(dataset.X, np.ndarray) else int(dataset.X.nnz)
        sha256 = combined_sha256(list(dataset.sha256s.values()))
        n_features = int(dataset.X.shape[1])
        return cls(
            dataset.counts, n_features, nnz, dataset.sha256s, sha256, dataset.reader, list(notes), dataset.open_ended
        )


def where_of(spec: DatasetSpec) -> str:
    """Return what a message calls a dataset."""
    return f"dataset '{spec.label}'"


def card_of(spec: DatasetSpec) -> Card | None:
    """Return the card a spec names, or None for a user's own file; refuse what does not go together."""
    known = card(spec.name) if spec.path is None else None
    where = where_of(spec)
    generated = known is not None and known.format == "generated"
    for key, parts in (("parts", spec.parts), ("test", spec.test)):
        if parts is not None and known is None:
            instead = "remove it" if key == "parts" else "name the file of the test set with 'test_path'"
            raise InputError(f"{where}: '{key}' belongs to a dataset with a card, not to one with 'path'; {instead}")
        if parts is not None and generated:
            raise InputError(f"{where}: a generated dataset has no parts; remove '{key}'")
    if spec.test_path is not None and known is not None:
        instead = "remove it" if generated else "name the card's parts to test on with 'test'"
        raise InputError(f"{where}: 'test_path' belongs to a dataset with 'path', not to one with a card; {instead}")
    if spec.options and not generated:
        raise InputError(f"{where}: 'options' belongs to a generated dataset such as noisy_gaussians; remove it")
    if known is not None and spec.test is not None:
        learned = sorted(set(known.chosen_parts(spec.parts)) & set(known.chosen_parts(spec.test, "test")))
        if learned:
            raise InputError(
                f"{where}: test: part '{learned[0]}' is one of the stream's; a test set has examples that are not "
                "learned: name another part, or fewer 'parts'"
            )
    if spec.task == "multiclass":
        for key, given in (("noise", spec.noise), ("balanced", spec.balanced)):
            if given:
                raise InputError(f"{where}: '{key}' does not go with 'task: multiclass'; remove one of them")
    return known


def load(spec: DatasetSpec, known: Card | None, data_dir: Path | None) -> Dataset:
    """Return the data of a stream that is not generated, in file order."""
    if known is None:
        assert spec.path is not None
        return load_own(Path(spec.path), where_of(spec))
    return load_card(known, known.chosen_parts(spec.parts), data_dir)


def facts_of(spec: DatasetSpec, known: Card | None, data_dir: Path | None, download: bool) -> Facts:
    """Return what is known of a stream's data."""
    if known is None:
        return Facts.of(load(spec, known, data_dir))
    if known.format != "generated":
        return card_facts(known, known.chosen_parts(spec.parts), data_dir, download)
    source = generator(known.name)
    options = source.check(spec.options, known.options, where_of(spec))
    sha256 = _generator_sha256(known, options)
    return Facts(source.counts(**options), known.n_features, None, {}, sha256, generated(known), known.notes)


def card_facts(known: Card, parts: tuple[str, ...], data_dir: Path | None, download: bool) -> Facts:
    """Return what is known of some parts of a card, whose files are found or fetched and verified.

    Where the card does not know the checksums of all of them, they are read.
    """
    files.fetch(known, data_dir, parts, download)
    if not known.has_checksums(parts):
        dataset = load_card(known, parts, data_dir)
        unverified = [file.file for file in known.files_of(parts) if file.sha256 is None]
        told = [
            f"Unverified: the checksum of {name} is not known; that of the one used is {dataset.sha256s[name]}."
            for name in unverified
        ]
        return Facts.of(dataset, [*known.notes, *told])
    nnz = sum(known.nnz[part] for part in parts) if known.nnz else None
    hashes = {file.file: file.sha256 for file in known.files_of(parts) if file.sha256 is not None}
    sha256 = combined_sha256(list(hashes.values()))
    return Facts(known.label_counts(parts), known.n_features, nnz, hashes, sha256, reader(known.format), known.notes)


def _generator_sha256(known: Card, options: dict[str, Any]) -> str:
    text = f"{known.name} version={known.version} " + " ".join(f"{name}={options[name]}" for name in sorted(options))
    return hashlib.sha256(text.encode()).hexdigest()
