"""Pack results folders with everything that is too large to be committed, and describe them: RO-Crate and Croissant.

Each folder becomes build/archive/NAME.tar.gz: runs, manifest, curves, tables, figures and page; a file
`ro-crate-metadata.json`, which lists them with their checksums; and `croissant/DATASET.json` for each data set that has
a card. The same folder gives the same bytes.

Usage: python scripts/results/archive.py [FOLDER...]         (without one: each that has files that are not committed)
"""

import argparse
import gzip
import hashlib
import io
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from budgetrun.data.cards import Card, list_cards
from budgetrun.results.store.files import MANIFEST, read_manifest

TOP = Path(__file__).resolve().parents[2]
OUT = TOP / "build" / "archive"
HOME = "https://github.com/budgetrun/budgetrun"
LICENCE = "https://spdx.org/licenses/MIT"
CRATE = "ro-crate-metadata.json"
# By the end of a file's name.
FORMATS = {
    ".csv": "text/csv", ".gz": "application/gzip", ".json": "application/json", ".html": "text/html",
    ".md": "text/markdown", ".npz": "application/zip", ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png", ".sha256": "text/plain", ".svg": "image/svg+xml", ".tex": "text/x-tex",
}  # fmt: skip
CROISSANT_CONTEXT = {
    "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/", "dct": "http://purl.org/dc/terms/", "citeAs": "cr:citeAs",
    "conformsTo": "dct:conformsTo", "recordSet": "cr:recordSet", "field": "cr:field",
}  # fmt: skip


def croissant(card: Card) -> dict[str, Any]:
    """Return the Croissant metadata (1.0) of a data set's card; checksums are those of the decompressed content."""
    files = [file for part in card.files.values() for file in part]
    known = {file.file: file for file in files if file.sha256}
    return {
        "@context": CROISSANT_CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": card.name,
        "alternateName": card.title,
        "description": " ".join([card.description, *card.notes]),
        "citeAs": card.source,
        "license": card.licence,
        "url": card.homepage or HOME,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "contentUrl": file.urls[0] if file.urls else name,
                "encodingFormat": FORMATS.get(Path(name).suffix, "application/octet-stream"),
                "sha256": file.sha256,
                "description": "The checksum is that of the decompressed content.",
            }
            for name, file in known.items()
        ],
    }


def crate(manifest: dict[str, Any], files: dict[str, bytes]) -> dict[str, Any]:
    """Return the RO-Crate metadata (1.1) of a results folder with these files."""
    entities = [
        {
            "@id": name,
            "@type": "File",
            "contentSize": str(len(data)),
            "encodingFormat": FORMATS.get(Path(name).suffix, "application/octet-stream"),
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        for name, data in files.items()
    ]
    commit = (manifest.get("git") or {}).get("commit")
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": manifest["name"],
        "description": manifest.get("description") or manifest.get("source") or f"Results of {manifest['name']}",
        "datePublished": manifest.get("end") or manifest.get("start"),
        "license": {"@id": LICENCE},
        "hasPart": [{"@id": name} for name in files],
        "mentions": {"@id": "#budgetrun"},
    }
    about = {"@id": CRATE, "@type": "CreativeWork", "about": {"@id": "./"}}
    about |= {"conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"}}
    program = {"@id": "#budgetrun", "@type": "SoftwareApplication", "name": "budgetrun", "url": HOME}
    program |= {"softwareVersion": " ".join(filter(None, [manifest["versions"].get("budgetrun"), commit]))}
    licence = {"@id": LICENCE, "@type": "CreativeWork", "name": "MIT License"}
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": [about, root, licence, program, *entities]}


def pack(folder: Path, out: Path) -> Path:
    """Write the archive of a results folder, and return its path."""
    manifest = read_manifest(folder / MANIFEST)
    kept = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in (".lock", ".tmp"))
    # The table has the runs of the parts.
    kept = (path for path in kept if path.parent != folder / "parts")
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in kept if path.name != CRATE}
    used = {spec["name"] for spec in manifest["config"]["datasets"] if not spec.get("path")}
    for card in list_cards():
        if card.name in used:
            files[f"croissant/{card.name}.json"] = _text(croissant(card))
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{folder.resolve().name}.tar.gz"
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed, tarfile.open(
        fileobj=packed, mode="w"
    ) as archive:  # fmt: skip
        for name, data in [(CRATE, _text(crate(manifest, files))), *files.items()]:
            entry = tarfile.TarInfo(f"{folder.resolve().name}/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def _text(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def uncommitted() -> list[Path]:
    """Return the results folders of this checkout with files that are not committed, tables for LaTeX and SVG aside."""
    listed = subprocess.check_output(["git", "-C", TOP, "ls-files", "--others", "-z", "results"], text=True)
    paths = [TOP / name for name in listed.split("\0") if name.endswith((".npz", ".csv", ".gz", ".parquet"))]
    folders = {TOP / "results" / path.relative_to(TOP / "results").parts[0] for path in paths}
    return sorted(folder for folder in folders if (folder / MANIFEST).is_file() and "." not in folder.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=OUT, help="where archives go")
    chosen = parser.parse_args()
    for folder in chosen.folders or uncommitted():
        path = pack(folder, chosen.out)
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
