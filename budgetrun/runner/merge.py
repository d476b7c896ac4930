"""Putting results folders of one config together: those of shards, or of machines that ran other datasets."""

import hashlib
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from budgetrun.base.errors import InputError, counted, say
from budgetrun.base.files import write
from budgetrun.results.store import files
from budgetrun.results.store.files import MANIFEST, read_manifest
from budgetrun.results.store.large import LargeRows
from budgetrun.results.store.write import MEASURED, Row, Store, differing_keys
from budgetrun.runner.plan import Plan
from budgetrun.runner.provenance import add_part, replanned, summary
from budgetrun.runner.shards import parse
from budgetrun.runner.status import line

# The most missing runs that are named.
_NAMED = 10
# What a results folder may hold before its manifest is written.
_EMPTY = {"parts", "curves", "store.lock"}
# A number with a fraction; sums in another order, on another processor, may differ by so much, relative to them.
_FRACTION, _ROUNDING = re.compile(r"(-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+)"), 1e-9


def merge(folders: Sequence[Path], into: Path) -> str:
    """Put the finished runs of results folders into one, with those that it has; return a line on what it has now.

    Nothing is lost if it is killed: the same call goes on.

    Raises InputError: one of them is not a results folder, or the folders do not go together.
    """
    if (into / MANIFEST).exists():
        if read_manifest(into / MANIFEST).get("shard"):
            raise InputError(f"--into {into}: is a shard, which its next sweep would continue; give another folder")
        folders = [into, *folders]
    elif into.is_dir() and {name for name in os.listdir(into) if not name.endswith(".tmp")} - _EMPTY:
        raise InputError(f"--into {into}: holds other files than results; give a new folder, or one with results")
    # Each once, under its first name.
    resolved = [folder.resolve() for folder in folders]
    folders = [folder for i, folder in enumerate(folders) if resolved.index(resolved[i]) == i]
    manifests = [read_manifest(folder / MANIFEST) for folder in folders]
    given = list(zip(folders, manifests, strict=True))
    for folder, found in given:
        _check_alike(given[0], (folder, found))
        Store(folder).check()
    combined = _combined(manifests)
    try:
        config, plan = replanned(combined)
    except ValueError as error:
        raise InputError(f"{folders[0]}: this version cannot read its config ({error})") from None
    rows: dict[str, Row] | LargeRows = {} if len(plan.runs) < files.LARGE else LargeRows()
    origin: dict[str, Path] = {}
    for folder in folders:
        # One at a time: together, they may not fit into memory.
        store = Store(folder)
        if plan.outdated(store.rows()):
            raise InputError(
                f"{store.folder}: its runs are of other code or data than this version plans; merge with the version "
                f"that made them, or repeat: budgetrun sweep"
            )
        for row in store.rows().values():
            run_id = row["run_id"]
            known = rows.get(run_id)
            if known is None or (known["status"] != "done" and row["status"] == "done"):
                rows[run_id], origin[run_id] = row, store.folder
            elif row["status"] == "done" and (names := _different(known, row)):
                values = " and ".join(f"{one[names[0]]:.60}" for one in (known, row))
                raise InputError(
                    f"{store.folder}: run {run_id} is also in {origin[run_id]}, with another {names[0]} ({values}); "
                    f"one of the two is wrong: repeat both with --force"
                )
    combined |= {"plan": summary(plan.runs), "failures": sorted(key for key in rows if rows[key]["status"] == "failed")}
    target = Store(into)
    # A report of what a kill leaves behind takes the runs from the parts.
    target.open(combined | {"end": None})
    for path in (path for folder in folders for path in folder.glob("curves/*.npz")):
        if not (target.curves / path.name).exists():
            write(target.curves / path.name, path.read_bytes())
    new = {run_id for run_id, folder in origin.items() if folder != into}
    name = f"merged-{hashlib.sha256(''.join(sorted(new)).encode()).hexdigest()[:16]}"
    target.add(name, (row for row in rows.values() if row["run_id"] in new), len(rows))
    target.write_manifest(combined)
    _say_missing(plan, rows, combined)
    return line(into, combined, (config, plan), rows)


def _check_alike(first: tuple[Path, dict[str, Any]], other: tuple[Path, dict[str, Any]]) -> None:
    """Raise an error unless two folders come from one config, and from the same code and data."""
    for folder, found in (first, other):
        if lacking := [key for key in _NEEDED if found.get(key) is None]:
            raise InputError(f"{folder / MANIFEST}: has no {', '.join(lacking)}, so it is not that of a sweep")
    (one, a), (two, b) = first, other
    facts = [
        (
            {"profile": found.get("profile")},
            {"version": found["versions"].get("budgetrun")},
            # A machine without the files of a dataset has fewer of these.
            dict(part.rpartition(" ")[::2] for part in found["revisions"]),
            {label: about.get("sha256") for label, about in found["datasets"].items()},
        )
        for found in (a, b)
    ]
    differing = {"config": differing_keys(a["config"], b["config"])}
    for what, x, y in zip(("profile", "version of budgetrun", "code", "data"), *facts, strict=True):
        differing[what] = [f"{key} {x[key]}, {y[key]}" for key in sorted(x.keys() & y.keys()) if x[key] != y[key]]
    for what, names in differing.items():
        if names:
            raise InputError(
                f"{two}: differs from {one} in its {what} ({'; '.join(names)}); only parts of one sweep can be merged"
            )


def _combined(manifests: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the manifest of all: times are sums over the folders, versions and commits those of each."""
    # A merged folder lists what it consists of, so that merging it again counts nothing twice.
    entries = {
        (entry.get("start") or "", entry.get("shard")): entry
        for manifest in manifests
        for entry in manifest.get("merged") or [{key: manifest[key] for key in _OF_ENTRY if key in manifest}]
    }
    merged = [{"parts": [], "versions": {}, "git": {}, "end": None} | entries[key] for key in sorted(entries, key=str)]
    parts: list[dict[str, Any]] = []
    for part in (part for entry in merged for part in entry["parts"]):
        add_part(parts, part)
    whole = {key: value for key, value in manifests[0].items() if key != "shard"}
    commits = [entry["git"].get("commit") for entry in merged]
    return whole | {
        "datasets": {label: facts for manifest in manifests for label, facts in manifest["datasets"].items()},
        "revisions": sorted({part for manifest in manifests for part in manifest["revisions"]}),
        "versions": {
            name: _joined(entry["versions"].get(name) for entry in merged)
            for name in dict.fromkeys(name for entry in merged for name in entry["versions"])
        },
        "git": {"commit": _joined(commits) or None, "dirty": any(entry["git"].get("dirty") for entry in merged)},
        "start": min(start for start, _ in entries),
        "end": max((entry["end"] for entry in merged if entry["end"]), default=None),
        "seconds": round(sum(entry.get("seconds", 0.0) for entry in merged), 1),
        "jobs": max(entry.get("jobs", 1) for entry in merged),
        "parts": parts,
        "merged": merged,
    }


_NEEDED = ("config", "revisions", "versions", "datasets", "git", "start", "parts", "seconds", "jobs")
_OF_ENTRY = ("shard", "start", "end", "seconds", "jobs", "parts", "versions", "git")


def _joined(texts: Iterable[str | None]) -> str:
    return "; ".join(dict.fromkeys(filter(None, texts)))


def _different(one: Row, other: Row) -> list[str]:
    """Return the columns in which two rows of one run have different outcomes, beyond rounding."""
    return [
        name for name in one if name not in MEASURED and one[name] != other[name] and not _close(one[name], other[name])
    ]


def _close(one: str, other: str) -> bool:
    # Numbers alternate with what stands between them.
    texts = list(zip(_FRACTION.split(one), _FRACTION.split(other), strict=False))
    same = _FRACTION.split(one)[::2] == _FRACTION.split(other)[::2]
    return same and all(math.isclose(float(a), float(b), rel_tol=_ROUNDING) for a, b in texts[1::2])


def _say_missing(plan: Plan, rows: Mapping[str, Row], manifest: dict[str, Any]) -> None:
    """Name the runs that no folder has, and the shards that are missing."""
    missing = [run for run in plan.runs if run.run_id not in rows]
    shards = {shard for entry in manifest["merged"] if (shard := parse(entry.get("shard")))}
    for of in sorted({of for _, of in shards}):
        if absent := [str(part) for part in range(1, of + 1) if (part, of) not in shards]:
            say(f"of {of} shards, these are missing: {', '.join(absent)}")
    for run in missing[:_NAMED]:
        say(f"missing: {run}")
    if len(missing) > _NAMED:
        say(f"missing: {counted(len(missing) - _NAMED, 'run')} more than these")
