"""The files of a results folder: the columns of its table, its checksum, and the shape of ``manifest.json``.

The table is ``runs.csv``, or ``runs.parquet`` once it had `LARGE` runs. Beside it, ``runs.csv.sha256`` has the sum
of the uncompressed table in the format of the program sha256sum, and the number of its runs. While the table is
replaced it has two sums, the new one and the old one, so that one is right if the process is killed in between. A
folder without this file comes from an earlier version; its table cannot be checked.
"""

import csv
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from budgetrun.base.errors import InputError
from budgetrun.base.files import explained, write
from budgetrun.base.problem import BINARY, KEPT_BYTES, REGRESSION
from budgetrun.config.problems import quoted

MANIFEST, RUNS, PARQUET = "manifest.json", "runs.csv", "runs.parquet"
# The runs from which on the table is Parquet.
LARGE = 100_000
AGAIN = "repeat the sweep: budgetrun sweep CONFIG"


@dataclass(frozen=True)
class Column:
    """A column of runs.csv."""

    name: str
    kind: Literal["text", "count", "number", "json"]  # an integer is a count, a float a number; either may be empty
    # The rows that have a value: every one; every finished run; every finished run of a learner, or of an algorithm
    # that sees all examples at once; those that record something about a bound; runs on data with a test set; or some
    # runs only (those with a budget, ...).
    filled_by: Literal["every", "finished", "learner", "batch", "bounded", "tested", "some"]
    since: str = "0.1"  # the version that wrote it first; a results folder of an earlier one comes without it

    @property
    def may_be_missing(self) -> bool:
        """True if a results folder without such runs, or one of an earlier version, need not have the column."""
        return self.filled_by in ("batch", "bounded", "tested") or self.since > "0.2"


COLUMNS = (
    Column("run_id", "text", "every"),
    Column("dataset", "text", "every"),
    Column("task", "text", "every"),
    Column("repetition", "count", "every"),
    Column("seed", "count", "every"),
    Column("algorithm", "text", "every"),
    Column("parameters", "json", "every"),
    Column("kernel", "text", "some"),
    Column("budget", "count", "some"),
    Column("n_examples", "count", "finished"),
    Column("mistakes", "count", "learner"),
    Column("online_error", "number", "learner"),
    Column("updates", "count", "finished"),
    Column("margin_updates", "count", "learner"),
    Column("support_size", "count", "learner"),
    Column("max_support_size", "count", "learner"),
    Column("seconds", "number", "finished"),
    Column("peak_memory_mb", "number", "every"),
    Column("status", "text", "every"),
    Column("error", "text", "some"),
    Column("label", "text", "every"),
    Column("budget_fraction", "number", "some"),
    Column("test_error", "number", "tested"),
    Column("last_test_error", "number", "tested"),
    Column("objective", "number", "batch"),
    Column("lower_bound", "number", "bounded"),
    Column("gap", "number", "bounded"),
    Column("steps", "count", "batch"),
    Column("unlearning_steps", "count", "batch"),
    Column("epochs", "count", "batch"),
    Column("compile_seconds", "number", "batch"),
    Column("prefix_examples", "count", "learner"),
    Column("prefix_mistakes", "count", "learner"),
    Column("facts", "json", "bounded"),
    Column("setting", "json", "every", since="0.2"),
    Column("zero_scores", "count", "learner", since="0.3"),
    # Metrics that the config asks for, and, with F1 or kappa, the counts of each class (row) predicted as each other.
    *(Column(name, "number", "some", since="0.3") for name in BINARY.metrics if name != KEPT_BYTES),
    *(Column(name, "json", "some", since="0.3") for name in BINARY.columns),
    *(Column(name, "number", "some", since="0.3") for name in REGRESSION.columns),
    Column("learner_memory", "count", "some", since="0.3"),
    Column(KEPT_BYTES, "number", "some", since="0.3"),
)


@dataclass(frozen=True)
class Table:
    """``runs.csv``, ``runs.csv.gz`` or ``runs.parquet``, as far as it can be read."""

    path: Path
    data: bytes  # uncompressed; a last line of text without an end is torn and left out
    # The sum of all of it, empty if it cannot be read to its end, and why it cannot.
    digest: str
    damage: str
    # What was recorded: the number of runs that the sweep wrote, and the sums that it may have; None for nothing.
    n_runs: int
    sums: tuple[str, ...] | None

    @property
    def is_large(self) -> bool:
        """True for Parquet."""
        return self.path.name == PARQUET

    @property
    def altered(self) -> str:
        """In words how it differs from what the sweep wrote; empty if it does not, or if nobody knows."""
        if self.sums is None or self.digest in self.sums:
            return ""
        n_runs = self.n_runs if self.is_large else -1
        with suppress(csv.Error):
            for _ in () if self.is_large else csv.reader(io.StringIO(self.data.decode("utf-8", "replace"), newline="")):
                n_runs += 1
        if n_runs < self.n_runs:
            return f"{self.path}: has only {max(n_runs, 0):,} of the {self.n_runs:,} runs that the sweep wrote"
        why = f"its sha256 is not that in {self.path.name.removesuffix('.gz')}.sha256"
        return f"{self.path}: is not as the sweep wrote it ({why}), so numbers in it may be wrong"


def advice(folder: Path) -> str:
    """Return what to do about an altered table."""
    return (
        "restore the file from a copy, or repeat the sweep: budgetrun sweep CONFIG --force; "
        f"to accept it as it is, delete {_sums(folder, PARQUET if (folder / PARQUET).exists() else RUNS)}"
    )


def _sums(folder: Path, name: str) -> Path:
    return folder / f"{name}.sha256"


def first_of(folder: Path, *names: str) -> Path | None:
    """Return the first of some files of a folder that is there, as it is or compressed; None if none is."""
    # Reading a pipe would never end.
    return next(filter(os.path.isfile, (folder / f"{name}{end}" for name in names for end in ("", ".gz"))), None)


def read_table(folder: Path) -> Table | None:
    """Return the table of a folder, compressed or not; None if there is none."""
    # A process that was killed when the table became large may leave both.
    path = first_of(folder, PARQUET, RUNS)
    if path is None:
        return None
    buffer, damage = io.BytesIO(), ""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            shutil.copyfileobj(file, buffer)
    except (OSError, EOFError, zlib.error) as error:
        damage = " ".join(str(error).split()) or type(error).__name__
    data, name = buffer.getvalue(), path.name.removesuffix(".gz")
    digest = "" if damage else hashlib.sha256(data).hexdigest()
    intact = data if name == PARQUET else data[: data.rfind(b"\n") + 1]
    return Table(path, intact, digest, damage, *_recorded(_sums(folder, name)))


def _recorded(path: Path) -> tuple[int, tuple[str, ...] | None]:
    if not os.path.lexists(path):
        return 0, None
    text = ""
    with suppress(OSError, ValueError):
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
    n_runs = re.search(r"^# (\d{1,12}) runs$", text, re.ASCII | re.MULTILINE)
    return int(n_runs[1]) if n_runs else 0, tuple(re.findall(r"^([0-9a-f]{64})  ", text, re.MULTILINE))


def record(folder: Path, n_runs: int, *sums: str, name: str = RUNS) -> None:
    """Record the number of runs and the sums that the table may have now."""
    lines = [f"# {n_runs} runs", *(f"{one}  {name}" for one in dict.fromkeys(sums))]
    write(_sums(folder, name), "\n".join(lines) + "\n")


def replace_table(folder: Path, table: str | bytes, n_runs: int) -> None:
    """Replace the table, and what is recorded of it; a process that is killed in between leaves both valid.

    Bytes are Parquet, which takes the place of a text.
    """
    name, data = (RUNS, table.encode("utf-8")) if isinstance(table, str) else (PARQUET, table)
    new = hashlib.sha256(data).hexdigest()
    _, old = _recorded(_sums(folder, name))
    if old is None:
        before = read_table(folder)
        old = (before.digest,) if before else ()
    record(folder, n_runs, new, *old, name=name)
    write(folder / name, data)
    if old:
        record(folder, n_runs, new, name=name)
    if name == PARQUET:
        for path in (folder / RUNS, folder / f"{RUNS}.gz", _sums(folder, RUNS)):
            with explained(path):
                path.unlink(missing_ok=True)


Seconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


class _Plan(BaseModel, strict=True):
    runs: Count = 0
    sha256: str = ""


class _Git(BaseModel, strict=True):
    commit: str | None = None
    dirty: bool | None = None


class _Stream(BaseModel, strict=True):
    n_examples: Count = 0
    n_features: Count = 0
    nnz_per_row: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    task_names: list[str] = []
    sha256: str = ""
    files: dict[str, str] = {}
    notes: list[str] = []
    classes: list[str | int | float] = []
    n_classes: Count = 0
    n_test: Count = 0
    readers: list[str] = []
    kind: str = ""


class _Part(BaseModel, strict=True):
    dataset: str
    runs: Count
    wall_seconds: Seconds
    cpu_seconds: Seconds
    algorithms: list[str]


class _Sweep(BaseModel, strict=True):
    shard: str = ""
    start: str | None = None
    end: str | None = None
    seconds: Seconds = 0.0
    jobs: int = 1
    parts: list[_Part] = []
    versions: dict[str, str] = {}
    git: _Git = _Git()


class _Manifest(_Sweep, strict=True):
    name: str = ""
    source: str | None = None
    description: str | None = None
    config: dict[str, Any] | None = None
    config_text: str = ""
    config_file: str = ""
    expected: dict[str, list[dict[str, Any]]] = {}
    choose_expected: dict[str, list[dict[str, Any]]] = {}
    profile: str | None = None
    seed: int = 0
    revisions: list[str] = []
    code: str = ""
    compiled: bool | None = None
    plan: _Plan = _Plan()
    datasets: dict[str, _Stream] = {}
    merged: list[_Sweep] = []
    failures: list[str] = []


def read_manifest(path: Path) -> dict[str, Any]:
    """Return a manifest; parts of it may be missing, but what is there has the right type.

    What it says of the config is checked where that is read.

    Raises InputError: no such file, or it is not a manifest.
    """
    if not os.path.isfile(path):
        raise InputError(
            f"{path}: no such file, so this is not a results folder; make one first: budgetrun sweep CONFIG"
        )
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"{path}: not readable as JSON ({error}); {AGAIN}") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: must hold a JSON object; {AGAIN}")
    try:
        _Manifest.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(key) if str(key).isalnum() else quoted(key) for key in first["loc"])
        raise InputError(f"{path}: {where}: {first['msg']}; {AGAIN}") from None
    return found
