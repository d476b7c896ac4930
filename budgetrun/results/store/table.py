"""The file with the runs, ``runs.csv`` or ``runs.csv.gz``, and the check that it is as the last sweep wrote it.

``runs.csv.sha256`` has the sum of the uncompressed table in the format of the program sha256sum, and the number of its
runs. While the table is replaced it has two sums, the new one and the old one, so that one of them is right if the
process is killed in between. A folder without this file comes from an earlier version; its table cannot be checked.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import re
import shutil
import zlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from budgetrun.base.files import write

NAME, SUMS = "runs.csv", "runs.csv.sha256"


class Recorded(NamedTuple):
    """The number of runs that a sweep wrote, and the sums that its table may have."""

    n_runs: int
    sums: tuple[str, ...]


class Content(NamedTuple):
    """A table's lines, uncompressed; a last one without an end is torn and left out.

    ``digest`` is the sum of all of it, empty if it cannot be read to its end, and ``damage`` says why it cannot.
    """

    lines: bytes
    digest: str
    damage: str


def find(folder: Path) -> Path | None:
    """Return the file with the runs, compressed or not; None if there is none."""
    paths = (folder / NAME, folder / f"{NAME}.gz")
    # Reading a pipe would never end.
    return next((path for path in paths if os.path.isfile(path)), None)


def read(path: Path) -> Content:
    """Return what a table holds, as far as it can be read."""
    buffer, damage = io.BytesIO(), ""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            shutil.copyfileobj(file, buffer)
    except (OSError, EOFError, zlib.error) as error:
        damage = " ".join(str(error).split()) or type(error).__name__
    data = buffer.getvalue()
    return Content(data[: data.rfind(b"\n") + 1], "" if damage else hashlib.sha256(data).hexdigest(), damage)


def recorded(folder: Path) -> Recorded | None:
    """Return what was recorded of a folder's table; None if nothing was."""
    path = folder / SUMS
    if not os.path.lexists(path):
        return None
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
    except (OSError, ValueError):
        text = ""
    n_runs = re.search(r"^# (\d{1,12}) runs$", text, re.ASCII | re.MULTILINE)
    return Recorded(int(n_runs[1]) if n_runs else 0, tuple(re.findall(r"^([0-9a-f]{64})  ", text, re.MULTILINE)))


def record(folder: Path, n_runs: int, *sums: str) -> None:
    """Record the sums that the table may have now."""
    lines = [f"# {n_runs} runs", *(f"{one}  {NAME}" for one in dict.fromkeys(sums))]
    write(folder / SUMS, "\n".join(lines) + "\n")


def replace(folder: Path, text: str, n_runs: int) -> None:
    """Replace the table, and what is recorded of it; a process that is killed in between leaves both valid."""
    data = text.encode("utf-8")
    new = hashlib.sha256(data).hexdigest()
    known = recorded(folder)
    path = find(folder)
    old = known.sums if known else () if path is None else (read(path).digest,)
    record(folder, n_runs, new, *old)
    write(folder / NAME, data)
    if old:
        record(folder, n_runs, new)


def altered(path: Path, content: Content, known: Recorded | None) -> str:
    """Return in words how a table differs from what the sweep wrote; empty if it does not, or if nobody knows."""
    if known is None or content.digest in known.sums:
        return ""
    n_runs = -1
    with suppress(csv.Error):
        for _ in csv.reader(io.StringIO(content.lines.decode("utf-8", "replace"), newline="")):
            n_runs += 1
    if n_runs < known.n_runs:
        return f"{path}: has only {max(n_runs, 0):,} of the {known.n_runs:,} runs that the sweep wrote"
    return f"{path}: is not as the sweep wrote it (its sha256 is not that in {SUMS}), so numbers in it may be wrong"


def advice(folder: Path) -> str:
    """Return what to do about an altered table."""
    return (
        "restore the file from a copy, or repeat the sweep: budgetrun sweep CONFIG --force; "
        f"to accept it as it is, delete {folder / SUMS}"
    )
