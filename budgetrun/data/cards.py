"""Dataset cards: one YAML file per dataset, with its source, its files and their checksums."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from budgetrun.base.errors import InputError
from budgetrun.base.files import own_files
from budgetrun.config import yaml
from budgetrun.config.schema import Label
from budgetrun.data.formats import LabelColumn, all_formats, revision

# Below a data folder, never beside it.
FilePath = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$", max_length=200)
]
Values = Literal["bits", "integers", "floats"]  # a constant times 0 and 1, or times small whole numbers, or any others
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class CardFile(BaseModel):
    """One file of a dataset; in a data folder it may be uncompressed, or compressed with any of .gz, .bz2 and .xz."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: FilePath
    urls: list[str] = []  # public addresses, in the order in which they are tried
    sha256: Sha256 | None  # of the decompressed content; if None, a file found is used unverified, and none downloaded
    sha256_stored: Sha256 | None = None  # of the compressed file from which the card was written; not checked


class Card(BaseModel):
    """Properties of a dataset that are known before it is read; most fields of data are by part."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    description: str
    source: str  # the citation
    licence: str
    homepage: str
    format: str  # a module of `budgetrun.data.formats`, or ``generated``
    n_features: Annotated[int, Field(ge=1)]
    files: dict[str, list[CardFile]] = {}  # empty for a generated dataset
    n_examples: dict[str, int] = {}
    labels: dict[str, dict[int | str, int]] = {}  # counts; may lack parts whose files have no known checksum
    nnz: dict[str, int] = {}  # non-zero values, for datasets that are read as sparse matrices
    values: Values = "floats"
    default_parts: list[str] = []  # of a stream whose config names none
    positive: list[int | str] | None = None  # the labels that become +1 by default; None for the larger of two
    label_column: LabelColumn = "first"  # of a table
    numbers: bool = False  # the labels are measured numbers, for regression
    options: dict[str, Any] = {}  # of a generated dataset, with their defaults
    version: int | None = None  # of a generated dataset; changes whenever its points do
    obtain: str = ""  # how to get files that are never downloaded, as a clause for messages
    notes: list[str] = []  # facts about the data for readers of results

    @model_validator(mode="after")
    def _parts_agree(self) -> Card:
        if self.format == "generated":
            if self.files or self.version is None:
                raise ValueError("a generated dataset has a version and no files")
            return self
        if self.format not in (known := all_formats()):
            raise ValueError(f"format: unknown {self.format!r}; known: {' '.join(known)} generated")
        parts = set(self.files)
        if not parts or set(self.n_examples) != parts or not set(self.labels) | set(self.nnz) <= parts:
            raise ValueError("n_examples must name the parts of files, and labels and nnz no others")
        if not self.default_parts or not set(self.default_parts) <= parts:
            raise ValueError("default_parts must be parts of files")
        for part in parts:
            if part in self.labels:
                if sum(self.labels[part].values()) != self.n_examples[part]:
                    raise ValueError(f"the label counts of part {part} do not add up to its n_examples")
            elif self.has_checksums((part,)):
                raise ValueError(f"part {part} has checksums, so labels must name it")
        return self

    @property
    def reader(self) -> str:
        """The format with its revision, such as ``libsvm 1``, or the generator with its version."""
        return f"{self.name} {self.version}" if self.format == "generated" else revision(self.format)

    def has_checksums(self, parts: tuple[str, ...]) -> bool:
        """Tell whether the checksums of all files of some parts are known."""
        return all(file.sha256 for file in self.files_of(parts))

    def chosen_parts(self, parts: Sequence[str] | None, key: str = "parts") -> tuple[str, ...]:
        """Return the parts to read, in order: those named in the config's ``key``, otherwise the card's default.

        An InputError says that a part is unknown, or named twice, or that generated data have no parts.
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
        """Return the number of examples with each label in some parts, labels ascending."""
        found = {label for part in parts for label in self.labels[part]}
        labels = sorted(found, key=lambda label: (isinstance(label, str), label))
        return {label: sum(self.labels[part].get(label, 0) for part in parts) for label in labels}


def list_cards() -> list[Card]:
    """Return all cards, sorted by name."""
    return [_read_card(path) for path in own_files("datasets").values()]


def card(name: str) -> Card:
    """Return the card of a dataset; an InputError names the nearest ones if there is none, or the fault of its file."""
    paths = own_files("datasets")
    if name not in paths:
        near = difflib.get_close_matches(name, paths, n=3)
        guess = f"did you mean {' or '.join(repr(n) for n in near)}?" if near else f"known: {' '.join(paths)}"
        raise InputError(f"unknown dataset '{name}'; {guess}  (budgetrun list datasets; your own file needs 'path')")
    return _read_card(paths[name])


def combined_sha256(hashes: Iterable[str]) -> str:
    """Return one hash for several files: the hash of their hashes in order; for a single file, its own."""
    first, *others = hashes
    return hashlib.sha256("\n".join([first, *others]).encode()).hexdigest() if others else first


@lru_cache(maxsize=64)
def _read_card(path: Path) -> Card:
    try:
        read = Card.model_validate(yaml.load(path))
    except ValidationError as error:
        faults = [(yaml.dotted(fault["loc"]), fault["msg"].removeprefix("Value error, ")) for fault in error.errors()]
        told = "; ".join(f"{where}: {fault}" if where else fault for where, fault in faults)
        raise InputError(f"{path}: not a dataset card: {told}") from error
    if read.name != path.stem:
        raise InputError(f"{path}: a card is named after its file, got name '{read.name}'")
    return read
