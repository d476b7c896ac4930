"""The files of a dataset: found on this machine or downloaded, and compared with the checksums of its card."""

import hashlib
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from budgetrun.base.errors import DataMissingError, InputError, counted
from budgetrun.base.files import checkout, is_file
from budgetrun.data.cards import Card, CardFile
from budgetrun.data.content import DECOMPRESS, Stamp, bare_name, compression, hashed, read_content

ENVIRONMENT = "BUDGETRUN_DATA"
RETRIES = 2
TIMEOUT_SECONDS = 30.0
_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\x00": ".xz"}


def cache_folder() -> Path:
    """Return the folder for downloads: ``datasets/cache`` in a checkout, otherwise the platform's cache folder."""
    if top := checkout():
        return top / "datasets" / "cache"
    import pooch

    return Path(pooch.os_cache("budgetrun"))


def search_folders(data_dir: Path | None = None) -> list[Path]:
    """Return the folders in which files are looked for, in order: ``data_dir``, $BUDGETRUN_DATA, the cache."""
    folders = []
    for origin, given in (("--data", data_dir), (f"${ENVIRONMENT}", os.environ.get(ENVIRONMENT))):
        if given:
            folder = Path(given)
            if not os.path.isdir(folder):
                raise InputError(f"{origin}: no folder {folder}; give the folder that holds the data files")
            folders.append(folder.resolve())
    return [*folders, cache_folder()]


def find(file: CardFile, data_dir: Path | None = None) -> Path | None:
    """Return the path of a card's file on this machine, or None.

    In each folder, the name is tried with and without its subfolder: first as in the card, then plain and with the
    suffixes .gz, .bz2 and .xz. The first file found is used, even if its checksum turns out to be wrong.
    """
    names = [
        name
        for tried in (file.file, Path(file.file).name)
        for name in (tried, *(bare_name(tried) + suffix for suffix in ("", *DECOMPRESS)))
    ]
    places = (folder / name for folder in search_folders(data_dir) for name in names)
    return next(filter(is_file, places), None)


def check_sha256(card: Card, file: CardFile, path: Path, found: str) -> None:
    """Raise an InputError if the card has another sha256 for the file's content than ``found``."""
    if file.sha256 is not None and found != file.sha256:
        raise InputError(
            f"{path}: not the {file.file} of dataset '{card.name}': the sha256 of its content is {found}, expected "
            f"{file.sha256}; replace it with the original, or remove it and type 'budgetrun data fetch {card.name}'"
        )


def fetch(
    card: Card, data_dir: Path | None = None, parts: Sequence[str] | None = None, download: bool = True
) -> list[Path]:
    """Return the files of some parts of a dataset (None for all), verified.

    They are looked for in ``data_dir`` first, where nothing is ever written. With ``download``, missing ones are
    downloaded into the cache folder, except those without a known checksum, which are used unverified.

    Raises InputError: the content of a file is not what the card says.
    Raises DataMissingError: files are missing; the message names each and where to put it.
    """
    chosen = card.chosen_parts(list(card.files) if parts is None else parts) if card.files else ()
    paths = locate(card, chosen, data_dir, download)
    for file, path in zip(card.files_of(chosen), paths, strict=True):
        if file.sha256 is not None:
            check_sha256(card, file, path, hashed(Stamp.of(path))[0])
    return paths


def locate(card: Card, parts: tuple[str, ...], data_dir: Path | None = None, download: bool = True) -> list[Path]:
    """Return the paths of the files of some parts, as `fetch` does, but without verifying those found here."""
    files = card.files_of(parts)
    paths = [find(file, data_dir) for file in files]
    reasons, offline = list[str](), False
    for at, file in enumerate(files):
        if paths[at] is None and file.sha256 is None:
            reasons.append(card.obtain or "files without a known checksum are never downloaded")
        elif paths[at] is None and download and not offline:
            paths[at], why, offline = _download(card, file)
            reasons += [why] if paths[at] is None else []
    absent = [file for file, path in zip(files, paths, strict=True) if path is None]
    if absent:
        count = f"{len(absent)} of {counted(len(files), 'file')} {'is' if len(absent) == 1 else 'are'}"
        why = "; ".join(dict.fromkeys(reasons)) or "nothing was downloaded"
        places = ""
        for file in absent:
            by_hand = f" (from {' or '.join(file.urls)})" if file.urls and file.sha256 is None else ""
            places += f"\n  put {file.file}{by_hand} at {cache_folder() / file.file}"
        raise DataMissingError(
            f"dataset '{card.name}': {count} missing, and {why}{places}\n"
            f"  or name a folder that has them with --data or ${ENVIRONMENT}"
        )
    return [path for path in paths if path is not None]


def verify(card: Card, data_dir: Path | None = None) -> list[tuple[CardFile, Path | None, str]]:
    """Return each file of a card with its path and its state. Nothing is downloaded.

    The state is ``ok``, ``missing``, ``wrong checksum``, ``unreadable``, or without a known checksum ``unverified``.
    """
    found: list[tuple[CardFile, Path | None, str]] = []
    for file in card.files_of(tuple(card.files)):
        path, state = find(file, data_dir), "missing"
        if path is not None:
            try:
                matches = hashed(Stamp.of(path))[0] == file.sha256
                state = "unverified" if file.sha256 is None else "ok" if matches else "wrong checksum"
            except InputError:
                state = "unreadable"
        found.append((file, path, state))
    return found


def _download(card: Card, file: CardFile) -> tuple[Path | None, str, bool]:
    """Return the path of a file from the first of its addresses that has it: complete and verified, or None.

    If it is None, a clause says why, and whether trying further files would be pointless.
    """
    import requests

    why, offline = f"{file.file} has no public address; see datasets/{card.name}.yaml for how it was made", False
    target = cache_folder() / file.file
    for url in file.urls:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".partial-") as partial:
            try:
                arrived = _retrieve(url, Path(partial))
                found = hashlib.sha256(read_content(arrived)).hexdigest()
            except requests.exceptions.RequestException as error:
                offline = isinstance(error, requests.exceptions.ConnectionError)
                told = type(error).__name__ if error.response is None else f"HTTP {error.response.status_code}"
                why = f"the download of {url} failed ({told})"
            except InputError:
                why, offline = f"{url} sent a damaged file, which was discarded", False
            else:
                if found == file.sha256:
                    kept = target.with_name(bare_name(target.name) + compression(arrived.name))
                    return arrived.replace(kept), "", False
                told = f"sha256 {found}, expected {file.sha256}"
                why, offline = f"{url} sent another file, which was discarded: {told}", False
    return None, why, offline


def _retrieve(url: str, folder: Path) -> Path:
    """Download into an empty folder; the file's suffix follows from its content, not from the name on the server."""
    import pooch

    name = Path(url).name
    downloader = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=TIMEOUT_SECONDS)
    source = pooch.create(folder, base_url="", registry={name: None}, urls={name: url}, retry_if_failed=RETRIES)
    arrived = Path(source.fetch(name, downloader=downloader))
    with arrived.open("rb") as opened:
        head = opened.read(6)
    suffix = next((suffix for magic, suffix in _MAGIC.items() if head.startswith(magic)), "")
    return arrived.rename(folder / (bare_name(name) + suffix))
