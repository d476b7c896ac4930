"""Made datasets with cards of their own, in folders that belong to one test."""

import gzip
import hashlib

import numpy as np
import pytest
import yaml
from made_files import idx

from budgetrun.data import files


class Made:
    """A folder of cards, a folder of data files and an empty cache."""

    def __init__(self, top):
        self.cards = top / "cards"
        self.data = top / "data"
        self.cache = top / "cache"
        self.cards.mkdir()
        self.data.mkdir()

    def add(self, name, contents, labels, **fields):
        """Write a card; ``contents`` is {part: {file: bytes}}. Return {file: bytes as stored}."""
        listed, stored = {}, {}
        for part, of_part in contents.items():
            listed[part] = []
            for file, content in of_part.items():
                stored[file] = gzip.compress(content) if file.endswith(".gz") else content
                hashes = [hashlib.sha256(data).hexdigest() for data in (content, stored[file])]
                listed[part].append({"file": file, "sha256": hashes[0], "sha256_stored": hashes[1], "urls": []})
        card = {
            "name": name, "title": name, "description": "made", "source": "made", "licence": "none",
            "homepage": "none", "files": listed, "labels": labels, "default_parts": list(contents),
            "n_examples": {part: sum(counts.values()) for part, counts in labels.items()}, **fields,
        }  # fmt: skip
        self.write(card)
        return stored

    def write(self, card):
        (self.cards / f"{card['name']}.yaml").write_text(yaml.safe_dump(card))

    def place(self, stored, folder=None):
        for file, data in stored.items():
            path = (folder or self.data) / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """A cache folder without anything in it, and no other folder of data."""
    monkeypatch.setattr(files, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.delenv(files.ENVIRONMENT, raising=False)
    return tmp_path / "cache"


@pytest.fixture
def made(tmp_path, monkeypatch, empty_cache):
    made = Made(tmp_path)
    monkeypatch.setattr("budgetrun.base.files.own_folder", lambda name: made.cards)
    monkeypatch.setattr(files, "RETRIES", 0)
    return made


@pytest.fixture
def digits(made):
    """Thirty images of 2 x 3 pixels, three of each digit, in data/."""
    images = np.arange(180, dtype=np.uint8).reshape(30, 2, 3)
    labels = np.tile(np.arange(10, dtype=np.uint8), 3)
    contents = {"train": {"d/images.gz": idx(images), "d/labels.gz": idx(labels)}}
    made.place(made.add("digits", contents, {"train": dict.fromkeys(range(10), 3)}, format="idx", n_features=6))
    return made


@pytest.fixture
def pair(made):
    """Two parts of LIBSVM text with labels 0 and 1, sparse, in data/."""
    train = b"".join(b"%d %d:1 80:0.5\n" % (i % 4 == 0, i + 1) for i in range(40))
    test = b"1 3:2\n0\n"
    contents = {"train": {"p/pair": train}, "test": {"p/pair.t": test}}
    labels = {"train": {0: 30, 1: 10}, "test": {0: 1, 1: 1}}
    given = {"format": "libsvm", "n_features": 100, "nnz": {"train": 80, "test": 1}, "default_parts": ["train"]}
    made.place(made.add("pair", contents, labels, **given))
    return made
