"""The results folder: finished runs survive whatever ends the process that ran them.

The runs of a finished job are first written to ``parts/``, one file per job and one line per run, each line with a
checksum of its own; then ``runs.csv`` is rewritten. Every file is written under a temporary name and renamed. A torn
line of either counts as a run that was never finished. A table that is not as it was written is only replaced, and its
runs only count, if the parts have them all.

From `files.LARGE` runs on, ``runs.parquet`` takes its place, and parts that it contains are removed. Sweeps of one
folder then read the table again when another one has replaced it.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
from filelock import FileLock

from budgetrun.base.errors import AlteredError, CannotWriteError, InputError
from budgetrun.base.files import explained, make_folder, write
from budgetrun.results.store import files
from budgetrun.results.store.files import COLUMNS, MANIFEST, PARQUET, advice, read_manifest, read_table, replace_table

if TYPE_CHECKING:
    from budgetrun.results.store.large import LargeRows

# A run as it is measured, and as it is stored: the text of each column.
Value = str | int | float | None
Record = dict[str, Value]
Row = Mapping[str, str]

# The columns that differ from one sweep to the next.
MEASURED = ("seconds", "peak_memory_mb", "compile_seconds")
_NAMES = tuple(column.name for column in COLUMNS)
# Results may lack columns of later versions, and those that not every finished run fills.
_OPTIONAL = {c.name: "" for c in COLUMNS if c.since != "0.1" or c.filled_by not in ("every", "finished")}
# Readers of a column's text, which raise ValueError; many rows share one text of JSON.
_read_json = lru_cache(maxsize=10_000)(json.loads)
_READERS = {c.name: _read_json if c.kind == "json" else float for c in COLUMNS if c.kind != "text"}


def record(**values: Value) -> Record:
    """Return a run with all columns of `COLUMNS`: the values given, and None elsewhere.

    Raises ValueError: there is no such column, or one that every run fills is None.
    """
    unknown = values.keys() - set(_NAMES)
    empty = [c.name for c in COLUMNS if c.filled_by == "every" and values.get(c.name) is None]
    if unknown or empty:
        raise ValueError(f"unknown columns: {sorted(unknown)}; columns that must not be empty: {empty}")
    return dict.fromkeys(_NAMES) | values


def move_aside(folder: Path) -> None:
    """Rename a results folder, if it is there, to ``<name>.old-<time>``; a second one of a second has a number."""
    if folder.exists():
        name = f"{folder.name}.old-{time.strftime('%Y%m%d-%H%M%S')}"
        names = chain([name], (f"{name}-{n}" for n in count(2)))
        with explained(folder):
            folder.rename(next(path for path in map(folder.with_name, names) if not path.exists()))


def differing_keys(config: dict[str, Any], before: dict[str, Any]) -> list[str]:
    """Return the keys in which a resolved config has other runs than one that may be of another version."""
    from budgetrun.config.schema import Config

    # With the keys that this version adds; unchanged if this version cannot read it.
    with suppress(ValueError):
        before = Config.from_resolved(before).resolved()
    # These keys say how results are shown, and what other folders hold; they may change.
    shown = {"source", "description", "report", "profiles"}
    return sorted(k for k in {*config, *before} - shown if config.get(k) != before.get(k))


class Store:
    """One results folder, ``results/<name>``, which need not exist yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.parts = folder / "parts"
        self.curves = folder / "curves"
        self._lock = FileLock(folder / "store.lock")
        self._seen: dict[str, int] = {}
        self._rows: dict[str, Row] | LargeRows | None = None
        # The table of a large folder that was read; None for other folders.
        self._read: tuple[int, int] | None = None
        # In words how the table differs from what was written; empty if it does not, or if the parts replace it.
        self._altered = ""
        # The same, if the parts have replaced it.
        self.rebuilt = ""

    def open(self, manifest: dict[str, Any], force: bool = False) -> None:
        """Prepare the folder for the runs of a config, and write its manifest.

        With ``force``, an existing folder is renamed to ``<name>.old-<time>``.

        Raises InputError: the folder cannot be written, it holds the results of another config, or its table was
        altered.
        """
        try:
            if force:
                move_aside(self.folder)
            make_folder(self.parts)
            make_folder(self.curves)
            with self._locked():
                old = self.manifest()
                if old and (differing := differing_keys(manifest["config"], old["config"])):
                    raise InputError(
                        f"{self.folder}: these results are those of another config (it differs in: "
                        f"{', '.join(differing)}); rename the config, choose another folder with --results DIR, or "
                        "move these results aside with --force"
                    )
                self.check()
                self.write_manifest(manifest)
        except CannotWriteError as error:
            raise InputError(
                f"{self.folder}: the results folder cannot be written ({error.reason}); "
                f"choose another with --results DIR"
            ) from None

    def manifest(self) -> dict[str, Any] | None:
        """Return the manifest; None if it is missing or unreadable."""
        try:
            found = read_manifest(self.folder / MANIFEST)
        except InputError:
            return None
        return found if found.get("config") else None

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest."""
        write(self.folder / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")

    def save(self, job_id: str, rows: Iterable[Mapping[str, Value]]) -> None:
        """Store the runs of a finished job; nothing that happens afterwards loses them."""
        texts = (json.dumps({name: _text(row[name]) for name in _NAMES}, ensure_ascii=False) for row in rows)
        write(self.parts / f"{job_id}.jsonl", "".join(f"{zlib.crc32(text.encode()):08x} {text}\n" for text in texts))

    def add(self, job_id: str, rows: Iterable[Row], n_runs: int) -> None:
        """Store runs of other folders, and rewrite the table, which then has ``n_runs`` runs."""
        with self._locked():
            if n_runs >= files.LARGE:
                self._rows = held = _as_large(self.rows())
                for row in rows:
                    held[row["run_id"]] = row
            elif rows := list(rows):
                self.save(job_id, rows)
            self.write_table()

    def save_curves(self, job_id: str, curves: dict[str, Any]) -> None:
        """Store the curves of a finished job."""
        import numpy as np

        packed = io.BytesIO()
        np.savez_compressed(packed, **curves)
        write(self.curves / f"{job_id}.npz", packed.getvalue())

    def drop_unfinished_writes(self) -> None:
        """Remove the temporary files of processes that have ended."""
        for path in list(self.folder.rglob(".*.tmp")):
            writer = path.name.split(".")[-2]
            if not (writer.isdecimal() and psutil.pid_exists(int(writer))):
                with explained(path):
                    path.unlink(missing_ok=True)

    def rows(self) -> dict[str, Row] | LargeRows:
        """Return every stored run by its id: from the table, and from jobs that finished after it was written."""
        if self._rows is None or self._read != self._large_table():
            # Parts that the table does not have are read again.
            self._seen, self._read = {}, self._large_table()
            self._rows = self._read_table()
        self._add_parts(self._rows)
        return self._rows

    def ids(self, status: str) -> set[str]:
        """Return the ids of the stored runs of this status, ``done`` or ``failed``."""
        rows = self.rows()
        if isinstance(rows, dict):
            return {run_id for run_id, row in rows.items() if row["status"] == status}
        return rows.ids(status)

    def _large_table(self) -> tuple[int, int] | None:
        with suppress(OSError):
            found = (self.folder / PARQUET).stat()
            return found.st_ino, found.st_mtime_ns
        return None

    def _add_parts(self, rows: dict[str, Row] | LargeRows) -> None:
        """Add the runs of the parts that are new or have changed."""
        for path in sorted(self.parts.glob("*.jsonl")):
            try:
                stamp = path.stat().st_mtime_ns
                new = _read_part(path) if self._seen.get(path.name) != stamp else []
            except OSError:
                continue
            self._seen[path.name] = stamp
            for row in new:
                known = rows.get(row["run_id"])
                if known is None or row["status"] == "done" or known["status"] != "done":
                    rows[row["run_id"]] = row

    def check(self) -> None:
        """Raise an error if ``runs.csv`` is not as it was written, and the parts cannot replace it.

        Raises AlteredError: says what to do.
        """
        self.rows()
        if self._altered:
            raise AlteredError(f"{self._altered}; {advice(self.folder)}")

    def prune(self, keep: Callable[[Row], bool]) -> None:
        """Remove the runs for which ``keep`` is false, also from parts and curves; call `write_table` afterwards."""
        rows = self.rows()
        left = {key: rows[key] for key in rows if keep(rows[key])}
        self._rows = left if isinstance(rows, dict) else rows.only(left)
        for path in self.parts.glob("*.jsonl"):
            part = _read_part(path)
            kept = [row for row in part if keep(row)]
            if part and not kept:
                with explained(path):
                    path.unlink()
                    (self.curves / f"{path.stem}.npz").unlink(missing_ok=True)
            elif len(kept) < len(part):
                self.save(path.stem, kept)

    def write_table(self) -> None:
        """Rewrite the table, sorted.

        Raises AlteredError: as `check`: what somebody edited must not pass for what was written.
        """
        self.check()
        with self._locked():
            rows = self.rows()
            if not isinstance(rows, dict) or len(rows) >= files.LARGE:
                self._write_large(rows)
                return
            header = {name: name for name in _NAMES}
            replace_table(self.folder, "".join(map(_line, [header, *sorted(rows.values(), key=_order)])), len(rows))

    def _write_large(self, rows: dict[str, Row] | LargeRows) -> None:
        from budgetrun.results.store.large import LargeRows

        rows = _as_large(rows)
        if rows.changed:
            replace_table(self.folder, data := rows.packed(), len(rows))
            self._rows, self._read = LargeRows(data), self._large_table()
        for name, stamp in self._seen.items():
            with explained(self.parts / name), suppress(FileNotFoundError):
                # A job that was retried meanwhile has another part.
                if (self.parts / name).stat().st_mtime_ns == stamp:
                    (self.parts / name).unlink()
        self._seen = {}

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with explained(self.folder):
            self._lock.acquire()
        try:
            yield
        finally:
            with explained(self.folder):
                self._lock.release()

    def _read_table(self) -> dict[str, Row] | LargeRows:
        """Return the intact rows of the table, or none if it was altered and the parts have all of its runs."""
        table = read_table(self.folder)
        self._altered = ""
        if table is None:
            return {}
        found: dict[str, Row] | LargeRows = {}
        if table.is_large:
            from budgetrun.results.store.large import LargeRows

            try:
                found = LargeRows(table.data)
            except ValueError as error:
                self._altered = table.altered or f"{table.path}: not readable as Parquet ({error})"
                return found
        with suppress(csv.Error):
            text = "" if table.is_large else table.data.decode("utf-8", "replace")
            for line in csv.DictReader(io.StringIO(text, newline="")):
                row = _OPTIONAL | line
                if _is_intact(row):
                    found[row["run_id"]] = {name: row[name] for name in _NAMES}
        if altered := table.altered:
            kept: dict[str, Row] = {}
            self._add_parts(kept)
            if len(kept) >= (table.n_runs or len(found)) > 0:
                self.rebuilt = altered
                return kept
            self._altered = altered
            self._seen = {}
        return found


def _as_large(rows: dict[str, Row] | LargeRows) -> LargeRows:
    from budgetrun.results.store.large import LargeRows

    return rows if isinstance(rows, LargeRows) else LargeRows(rows=rows.values())


def _read_part(path: Path) -> list[Row]:
    # Reading a pipe would never end.
    if not os.path.isfile(path):
        return []
    rows = []
    for line in path.read_bytes().split(b"\n"):
        checksum, _, text = line.partition(b" ")
        if text and checksum == b"%08x" % zlib.crc32(text):
            with suppress(ValueError, TypeError, RecursionError):
                row = _OPTIONAL | json.loads(text)
                # Half surrogate pairs are valid JSON, but not text that can be written.
                "".join(row.values()).encode()
                rows.append(row)
    return [row for row in rows if _is_intact(row)]


def _is_intact(row: Row) -> bool:
    """Return whether a row has all columns, with values of their kinds that agree with one another."""
    # The csv module gives None for the fields that a torn line lacks.
    if not row.keys() >= set(_NAMES) or None in row.values():
        return False
    try:
        for name, read in _READERS.items():
            read(row[name] or "0")
        _order(row)
        if row["status"] == "done":
            n = int(row["n_examples"])
            if not 0 <= float(row["seconds"]) < math.inf or n < 1:
                return False
            if row["objective"]:
                return math.isfinite(float(row["objective"]))
            return float(row["online_error"]) == int(row["mistakes"]) / n and int(row["support_size"]) >= 0
    except (ValueError, OverflowError, RecursionError):
        return False
    return row["status"] == "failed"


def _text(value: Value) -> str:
    if value is None:
        return ""
    # numpy's floats have a repr of their own.
    return repr(float(value)) if isinstance(value, float) else str(value)


def _line(row: Row) -> str:
    text = io.StringIO()
    # Only what is in the end of a line is quoted: a carriage return within a cell has to be.
    csv.writer(text, lineterminator="\r\n").writerow([row[name] for name in _NAMES])
    return text.getvalue()[:-2] + "\n"


def _order(row: Row) -> tuple[Any, ...]:
    budget = (int(row["budget"]) if row["budget"] else -1, float(row["budget_fraction"] or 0))
    stream = (row["dataset"], row["task"], int(row["repetition"]))
    return *stream, row["label"], *budget, row["parameters"], int(row["seed"]), row["kernel"], row["run_id"]
