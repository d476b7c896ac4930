"""Dataset cards: one YAML file a dataset, saying what it is, where it comes from and how its files are known."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from budgetrun.config import yaml
from budgetrun.errors import InputError
from budgetrun.paths import own_folder

Label = int | float | str
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class CardFile(BaseModel):
    """One file of a dataset.

    Attributes
    ----------
    file : str
        Its name under a data folder, e.g. ``libsvm/a9a.xz``; the same name with another of the suffixes none, .gz,
        .bz2, .xz is the same file otherwise compressed.
    folder : bool
        Whether it is a folder of files; then its name may be in any case.
    urls : list of str
        Public addresses of the file, in the order to try; empty where there is none.
    sha256 : str or None
        Of the decompressed content: this decides whether a file is the right one. None where it is not known: then a
        file that is here is used as it is, unverified, and none is ever downloaded.
    sha256_stored : str or None
        Of the compressed file that the card was written from; for people, not checked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    folder: bool = False
    urls: list[str] = []
    sha256: Sha256 | None
    sha256_stored: Sha256 | None = None


class Card(BaseModel):
    """What is known of a dataset before reading it.

    Attributes
    ----------
    name, title, description, source, licence, homepage : str
        ``source`` is the citation.
    format : str
        Which reader its files need.
    n_features : int
        d.
    files : dict of part to list of CardFile
        Empty for a generated dataset.
    n_examples : dict of part to int
    labels : dict of part to (dict of label to count)
        Both may lack parts whose files have no checksum.
    nnz : dict of part to int
        Non-zero values, for datasets that are read as sparse matrices.
    default_parts : list of str
        The parts of a stream whose config names none.
    positive : list of labels or None
        The labels that become +1 in a binary task whose config names none; None: the larger of two.
    label_column : 'first' or 'last'
        For format csv.
    options : dict
        A generated dataset's options with their defaults.
    version : int or None
        A generated dataset's: changes whenever its points do.
    obtain : str
        How to come by files that are never downloaded; a clause for a message.
    notes : list of str
        What a reader of results should know of the data.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    description: str
    source: str
    licence: str
    homepage: str
    format: Literal["idx", "libsvm", "csv", "zip_digits", "census_income", "timit", "generated"]
    n_features: Annotated[int, Field(ge=1)]
    files: dict[str, list[CardFile]] = {}
    n_examples: dict[str, int] = {}
    labels: dict[str, dict[int | str, int]] = {}
    nnz: dict[str, int] = {}
    default_parts: list[str] = []
    positive: list[int | str] | None = None
    label_column: Literal["first", "last"] = "first"
    options: dict[str, Any] = {}
    version: int | None = None
    obtain: str = ""
    notes: list[str] = []

    @model_validator(mode="after")
    def _parts_agree(self) -> Card:
        if self.format == "generated":
            if self.files or self.version is None:
                raise ValueError("a generated dataset has a version and no files")
            return self
        parts = set(self.files)
        if not parts or not set(self.n_examples) | set(self.labels) | set(self.nnz) <= parts:
            raise ValueError("files, n_examples and labels must name the same parts")
        if not self.default_parts or not set(self.default_parts) <= parts:
            raise ValueError("default_parts must be parts of files")
        for part in parts:
            if self.has_checksums((part,)) and not (part in self.n_examples and part in self.labels):
                raise ValueError(f"part {part} has checksums, so n_examples and labels must name it")
            if part in self.labels and sum(self.labels[part].values()) != self.n_examples.get(part):
                raise ValueError(f"the label counts of part {part} do not add up to its n_examples")
        return self

    def has_checksums(self, parts: tuple[str, ...]) -> bool:
        """Return whether the checksum of every file of some parts is known."""
        return all(file.sha256 for file in self.files_of(parts))

    def chosen_parts(self, parts: Sequence[str] | None, key: str = "parts") -> tuple[str, ...]:
        """Return the parts to read, in order: those named under ``key``, else the card's default.

        Raises
        ------
        InputError
            An unknown part, one named twice, or any for a generated dataset.
        """
        if parts is None:
            return tuple(self.default_parts)
        known = " ".join(self.files) or "none"
        for part in parts:
            if part not in self.files:
                raise InputError(f"dataset '{self.name}': {key}: unknown part '{part}'; its parts are: {known}")
        if not parts or len(set(parts)) < len(parts):
            raise InputError(f"dataset '{self.name}': {key}: name each part once; its parts are: {known}")
        return tuple(parts)

    def files_of(self, parts: tuple[str, ...]) -> list[CardFile]:
        """Return the files of some parts, in order."""
        return [file for part in parts for file in self.files[part]]

    def label_counts(self, parts: tuple[str, ...]) -> dict[Label, int]:
        """Return how many examples of some parts have each label, labels ascending."""
        found = {label for part in parts for label in self.labels[part]}
        labels = sorted(found, key=lambda label: (isinstance(label, str), label))
        return {label: sum(self.labels[part].get(label, 0) for part in parts) for label in labels}


def list_cards() -> list[Card]:
    """Return all cards, sorted by name."""
    return [_read_card(path) for path in sorted(_folder().glob("*.yaml"))]


def card(name: str) -> Card:
    """Return the card of a dataset.

    Raises
    ------
    InputError
        No such card; names the nearest ones. Or the card itself is at fault.
    """
    path = _folder() / f"{name}.yaml"
    names = [path.stem for path in sorted(_folder().glob("*.yaml"))]
    if name not in names:
        near = difflib.get_close_matches(name, names, n=3)
        guess = f"did you mean {' or '.join(repr(n) for n in near)}?" if near else f"known: {' '.join(names)}"
        raise InputError(f"unknown dataset '{name}'; {guess}  (budgetrun list datasets; your own file needs 'path')")
    return _read_card(path)


def combined_sha256(hashes: list[str]) -> str:
    """Return one hash for a list of files: its own for a single one, else the hash of the hashes in order."""
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def _folder() -> Path:
    return own_folder("datasets")


@lru_cache(maxsize=64)
def _read_card(path: Path) -> Card:
    try:
        read = Card.model_validate(yaml.load(path))
    except ValidationError as error:
        raise InputError(f"{path}: not a dataset card: {error}") from error
    if read.name != path.stem:
        raise InputError(f"{path}: a card is named after its file, got name '{read.name}'")
    return read
