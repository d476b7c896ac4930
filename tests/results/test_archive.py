"""Archives of results folders: all that is needed, the same bytes again, and metadata as their specifications ask."""

import hashlib
import json
import tarfile

import archive
import pytest
from sweeping import config, swept_folder

from budgetrun.data.cards import list_cards
from budgetrun.results.store.read import load


def test_an_archive_has_the_results_and_says_what_they_are(tmp_path):
    folder = swept_folder(config(tmp_path), tmp_path / "results")
    path = archive.pack(folder, tmp_path / "out")
    first = path.read_bytes()
    assert archive.pack(folder, tmp_path / "out").read_bytes() == first
    with tarfile.open(path) as packed:
        packed.extractall(tmp_path / "read", filter="data")
    read = tmp_path / "read" / "small"
    assert len(load(read).runs) == 16
    files = {one.relative_to(read).as_posix() for one in read.rglob("*") if one.is_file()}
    assert {"runs.csv", "runs.csv.sha256", "manifest.json", "croissant/noisy_gaussians.json"} < files
    assert any(name.startswith("curves/") for name in files)
    assert not any(name.startswith(("parts/", "store.lock")) for name in files)
    # RO-Crate 1.1: the descriptor, the root with its required properties, and one entity per file.
    crate = json.loads((read / "ro-crate-metadata.json").read_text())
    assert crate["@context"] == "https://w3id.org/ro/crate/1.1/context"
    entities = {one["@id"]: one for one in crate["@graph"]}
    assert len(entities) == len(crate["@graph"])
    descriptor, root = entities["ro-crate-metadata.json"], entities["./"]
    assert descriptor["@type"] == "CreativeWork"
    assert descriptor["about"] == {"@id": "./"}
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    assert root["@type"] == "Dataset"
    assert all(root[key] for key in ("name", "description", "datePublished", "license"))
    assert root["license"]["@id"] in entities
    assert {part["@id"] for part in root["hasPart"]} == files - {"ro-crate-metadata.json"}
    for name in files - {"ro-crate-metadata.json"}:
        data = (read / name).read_bytes()
        assert entities[name]["@type"] == "File"
        assert entities[name]["contentSize"] == str(len(data))
        assert entities[name]["sha256"] == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("card", list_cards(), ids=lambda card: card.name)
def test_croissant_has_what_its_specification_requires(card):
    found = json.loads(json.dumps(archive.croissant(card)))
    assert (found["@type"], found["conformsTo"]) == ("sc:Dataset", "http://mlcommons.org/croissant/1.0")
    assert all(isinstance(found[key], str) and found[key] for key in ("name", "description", "license", "url"))
    ids = [file["@id"] for file in found["distribution"]]
    assert len(ids) == len(set(ids))
    for file in found["distribution"]:
        assert file["@type"] == "cr:FileObject"
        assert all(file[key] for key in ("name", "contentUrl", "encodingFormat"))
        assert len(file["sha256"]) == 64
    stated = {file.sha256 for part in card.files.values() for file in part} - {None}
    assert {file["sha256"] for file in found["distribution"]} == stated
