"""The results folder: runs that survive whatever ends the process that made them.

Finished runs are first written to ``parts/``, a file a job, each line with a checksum of its own; ``runs.csv`` is
rewritten from them whenever a job is finished. Every file is written beside its place and renamed into it. A torn line
of either counts as a run that was not made.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock

from budgetrun.errors import InputError
from budgetrun.store import columns

COLUMNS = tuple(column.name for column in columns.COLUMNS)
# Of solvers alone; rows of learners come without them.
SOLVER_COLUMNS = ("objective", "lower_bound", "gap", "steps", "unlearning_steps", "epochs", "compile_seconds")
# Results of earlier versions do not have these.
LATER_COLUMNS = (
    "test_error", "last_test_error", *SOLVER_COLUMNS, "prefix_examples", "prefix_mistakes", "facts", "setting",
)  # fmt: skip

Row = dict[str, str]


class Store:
    """One results folder.

    Parameters
    ----------
    folder : Path
        ``results/<name>``; it need not exist yet.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.parts = folder / "parts"
        self.curves = folder / "curves"
        self._seen: dict[str, int] = {}
        self._rows: dict[str, Row] | None = None
        self._lines: dict[str, tuple[tuple[Any, ...], str, Row]] = {}

    def open(self, manifest: dict[str, Any], force: bool = False) -> None:
        """Make the folder ready for the runs of a config, and write its manifest.

        With ``force`` an older folder is moved aside, to ``<name>.old-<time>``.

        Raises
        ------
        InputError
            The folder cannot be written, or another config made it.
        """
        try:
            if force and self.folder.exists():
                self.folder.rename(self.folder.with_name(f"{self.folder.name}.old-{time.strftime('%Y%m%d-%H%M%S')}"))
            self.parts.mkdir(parents=True, exist_ok=True)
            self.curves.mkdir(exist_ok=True)
            with self._lock():
                self._check_config(manifest["config"])
                self.write_manifest(manifest)
        except OSError as error:
            raise InputError(
                f"{self.folder}: the results folder cannot be written ({error.strerror}); "
                f"name another with --results DIR"
            ) from None

    def manifest(self) -> dict[str, Any] | None:
        """Return the manifest, or None if there is none that can be read."""
        try:
            found = json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and isinstance(found.get("config"), dict) else None

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest."""
        _replace(self.folder / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")

    def save(self, job_id: str, rows: Iterable[dict[str, Any]]) -> None:
        """Keep the runs of a finished job; nothing that happens afterwards loses them."""
        lines = []
        for row in rows:
            whole = dict.fromkeys(SOLVER_COLUMNS) | row
            text = json.dumps({column: _text(whole[column]) for column in COLUMNS}, ensure_ascii=False)
            lines.append(f"{zlib.crc32(text.encode()):08x} {text}\n")
        _replace(self.parts / f"{job_id}.jsonl", "".join(lines))

    def save_curves(self, job_id: str, curves: dict[str, Any]) -> None:
        """Keep the curves of a finished job."""
        import numpy as np

        packed = io.BytesIO()
        np.savez_compressed(packed, **curves)
        _replace(self.curves / f"{job_id}.npz", packed.getvalue())

    def drop_unfinished_writes(self) -> None:
        """Remove what processes that are no more were about to write; nothing refers to it."""
        for path in [path for place in (self.folder, self.parts, self.curves) for path in place.glob(".*.tmp")]:
            writer = path.name.split(".")[-2]
            if not (writer.isdecimal() and psutil.pid_exists(int(writer))):
                path.unlink(missing_ok=True)

    def rows(self) -> Mapping[str, Row]:
        """Return every run that is kept here, by run id: from `runs.csv` and from whatever finished after it."""
        if self._rows is None:
            self._rows = {row["run_id"]: row for row in self._read_table()}
        for path in sorted(self.parts.glob("*.jsonl")):
            try:
                stamp = path.stat().st_mtime_ns
                new = _read_part(path) if self._seen.get(path.name) != stamp else []
            except FileNotFoundError:
                continue
            self._seen[path.name] = stamp
            for row in new:
                known = self._rows.get(row["run_id"])
                if known is None or row["status"] == "done" or known["status"] != "done":
                    self._rows[row["run_id"]] = row
        return self._rows

    def prune(self, keep: Callable[[Row], bool]) -> None:
        """Forget the runs that ``keep`` says no to, parts and curves included; `write_table` makes it so."""
        self._rows = {key: row for key, row in self.rows().items() if keep(row)}
        for path in self.parts.glob("*.jsonl"):
            rows = _read_part(path)
            kept = [row for row in rows if keep(row)]
            if rows and not kept:
                path.unlink()
                (self.curves / f"{path.stem}.npz").unlink(missing_ok=True)
            elif len(kept) < len(rows):
                self.save(path.stem, kept)

    def write_table(self) -> None:
        """Rewrite ``runs.csv``, sorted."""
        with self._lock():
            rows, known = self.rows(), self._lines
            # In the order of last time, so that little is left to sort.
            lines = {key: known[key] for key in known if key in rows and known[key][2] is rows[key]}
            lines |= {key: (_order(row), _line(row), row) for key, row in rows.items() if key not in lines}
            self._lines = dict(sorted(lines.items(), key=lambda item: item[1][0]))
            text = "".join([_line({c: c for c in COLUMNS}), *(line for _, line, _ in self._lines.values())])
            _replace(self.folder / "runs.csv", text)

    def _check_config(self, config: dict[str, Any]) -> None:
        old = self.manifest()
        if old is None:
            return
        # How results are shown may change; what they are may not.
        shown = {"source", "description", "report"}
        before = _up_to_date(old["config"])
        differing = sorted(k for k in {*config, *before} - shown if config.get(k) != before.get(k))
        if not differing:
            return
        raise InputError(
            f"{self.folder}: these results were made by another config (it differs in: {', '.join(differing)}); "
            f"give the config another name, another folder with --results DIR, or move them aside with --force"
        )

    def _read_table(self) -> list[Row]:
        """Return the whole rows of `runs.csv`, or of `runs.csv.gz` where only that is."""
        plain, packed = self.folder / "runs.csv", self.folder / "runs.csv.gz"
        try:
            data = plain.read_bytes() if plain.is_file() else gzip.decompress(packed.read_bytes())
        except (OSError, EOFError, zlib.error):
            return []
        # The last line is whole only if it ends.
        text = data[: data.rfind(b"\n") + 1].decode("utf-8", errors="replace")
        found = []
        try:
            for line in csv.DictReader(io.StringIO(text, newline="")):
                row = dict.fromkeys(LATER_COLUMNS, "") | line
                if _is_whole(row):
                    found.append({column: row[column] for column in COLUMNS})
        except csv.Error:
            pass
        return found

    def _lock(self) -> FileLock:
        return FileLock(self.folder / "store.lock")


def _read_part(path: Path) -> list[Row]:
    rows = []
    for line in path.read_bytes().split(b"\n"):
        checksum, _, text = line.partition(b" ")
        if text and checksum == b"%08x" % zlib.crc32(text):
            rows.append(dict.fromkeys(LATER_COLUMNS, "") | json.loads(text))
    return [row for row in rows if _is_whole(row)]


def _is_whole(row: dict[Any, Any]) -> bool:
    """Tell whether a row has all its columns, and numbers that agree with one another."""
    if not all(isinstance(row.get(column), str) for column in COLUMNS):
        return False
    try:
        _order(row)
        for column in set(LATER_COLUMNS) - {"facts", "setting"}:
            float(row[column] or 0)
        json.loads(row["facts"] or "{}")
        json.loads(row["setting"] or "{}")
        if row["status"] == "done":
            if row["objective"]:
                return math.isfinite(float(row["objective"])) and float(row["seconds"]) >= 0
            return float(row["online_error"]) == int(row["mistakes"]) / int(row["n_examples"])
    except (ValueError, ZeroDivisionError):
        return False
    return row["status"] == "failed"


def _up_to_date(config: dict[str, Any]) -> dict[str, Any]:
    """Return a resolved config with what this version adds to it; as it is, if this version cannot read it."""
    from budgetrun.config.schema import Config

    try:
        return Config.from_resolved(config).resolved()
    except ValueError:
        return config


def _replace(path: Path, content: str | bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _text(value: Any) -> str:
    if value is None:
        return ""
    # numpy's floats are floats whose repr is another.
    return repr(float(value)) if isinstance(value, float) else str(value)


def _line(row: Row) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([row[c] for c in COLUMNS])
    return text.getvalue()


def _order(row: Row) -> tuple[Any, ...]:
    budget = (int(row["budget"]) if row["budget"] else -1, float(row["budget_fraction"] or 0))
    stream = (row["dataset"], row["task"], int(row["repetition"]))
    return *stream, row["label"], *budget, row["parameters"], int(row["seed"])
