"""Reading and checking a results folder: the manifest and the runs, typed."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from budgetrun.base.errors import AlteredError, InputError, all_printable, printable
from budgetrun.config.kinds import learners_for
from budgetrun.config.report import report_of
from budgetrun.config.schema import AlgorithmSpec, Config, DatasetSpec, ReportSpec, TableSpec, value_text
from budgetrun.results.store.files import AGAIN, COLUMNS, MANIFEST, advice, read_manifest, read_table
from budgetrun.results.store.optimum import Bracket, Problem, with_gaps

# Finished runs of learners and of algorithms that see all examples at once have finite numbers there.
OF_LEARNER = ("mistakes", "online_error", "support_size")
FORCE = "repeat: budgetrun sweep CONFIG --force"


@dataclass(frozen=True)
class Setting:
    """The values of the parameters that tell a run from others of its label on the same dataset, the budget aside."""

    items: tuple[str, ...] = ()  # ``eta=0.1``, one for each parameter; empty where nothing is swept
    # Sorts settings by their numbers, or in the order of the config where it has text, such as formulas.
    rank: tuple[Any, ...] = field(default=(), compare=False)
    position: tuple[int, ...] = field(default=(), compare=False)  # sorts them as the config lists their values

    @property
    def text(self) -> str:
        """All items, ``eta=0.1, C=2``."""
        return ", ".join(self.items)

    def within(self, other: Setting) -> bool:
        """Return True if the other has all of these values, and maybe more."""
        return set(self.items) <= set(other.items)


NO_SETTING = Setting()


def items_of(text: str) -> frozenset[str]:
    """Return the items of a setting's text; the commas inside a list do not precede a name."""
    return frozenset(re.split(r",\s*(?=[\w+.]+=)", text)) if text else frozenset()


def in_order(settings: Iterable[Setting]) -> list[Setting]:
    """Return settings once each, in the order of their values."""
    return sorted(set(settings), key=lambda setting: (setting.rank, setting.items))


def listed(names: Iterable[str]) -> str:
    """Return names separated by commas, or by semicolons where one of them has a comma."""
    names = list(names)
    return ("; " if any("," in name for name in names) else ", ").join(names)


@dataclass(frozen=True)
class Failure:
    """A run, or something else of the sweep, that failed: in words which one (may be empty), and its error."""

    what: str
    error: str


@dataclass(frozen=True)
class Results:
    """The manifest and the runs of a sweep."""

    folder: Path
    runs_path: Path
    manifest: dict[str, Any]  # ``manifest.json``, unchanged
    config: Config  # the resolved config; one without datasets and algorithms where the manifest has none
    # The finished runs with the columns of `COLUMNS`, ``setting`` a `Setting`, and more: the ``kind`` and ``value`` of
    # the budget as the config asks for it; the number of the ``place``, of which all runs have the same dataset, label,
    # budget and setting, and of the ``stream``, of which they have the same dataset, task and repetition; and the
    # ``gap_to_best`` of an objective. Counts that every run has are int64, other counts and numbers float64, NaN where
    # empty.
    runs: pd.DataFrame
    failed: pd.DataFrame  # the runs that did not finish, same columns
    brackets: dict[Problem, Bracket] = field(default_factory=dict)  # of the optimum of each problem
    incomplete: str = ""  # how the runs differ from those that were planned, in words

    @property
    def of_batch(self) -> bool:
        """True for runs that see all examples at once and minimize an objective, False for learners."""
        return bool(self.brackets)

    @property
    def name(self) -> str:
        """The config's name, for titles."""
        return str(self.manifest.get("name") or self.folder.resolve().name)

    @property
    def report(self) -> ReportSpec:
        """The config's ``report`` section."""
        return self.config.report

    @cached_property
    def tables(self) -> tuple[TableSpec, ...]:
        """The tables that the config asks for, with their published numbers."""
        return report_of(self.manifest, self.folder / MANIFEST).tables

    @cached_property
    def datasets(self) -> list[str]:
        """Labels of the datasets with a finished run, in the config's order."""
        return _present([spec.label for spec in self.config.datasets], self.runs["dataset"].unique())

    @cached_property
    def labels(self) -> list[str]:
        """Labels of the algorithms with a finished run, in the config's order."""
        return _present([spec.label for spec in self.config.algorithms], self.runs["label"].unique())

    @cached_property
    def specs(self) -> dict[str, DatasetSpec]:
        """The config's datasets, by label."""
        return {spec.label: spec for spec in self.config.datasets}

    @cached_property
    def algorithms(self) -> dict[str, AlgorithmSpec]:
        """The config's algorithms, by label."""
        return {spec.label: spec for spec in self.config.algorithms}

    @cached_property
    def families(self) -> dict[str, str]:
        """The families of the learners, by label; empty for what is no learner, or none of this version."""
        known = learners_for(self.config.problem.name)
        return {
            label: next((one.family for one in known.get(spec.name, {}).values()), "")
            for label, spec in self.algorithms.items()
        }

    def title(self, label: str) -> str:
        """Return the title of a dataset or an algorithm, given by its label."""
        return self.report.titles.get(label, label)

    def titles(self, labels: Iterable[str]) -> str:
        """Return the titles of several, as `listed`."""
        return listed(map(self.title, labels))

    @cached_property
    def failures(self) -> list[Failure]:
        """The runs that failed, then what else the manifest names."""
        noted = self.manifest.get("failures") or []
        known = {*self.failed["run_id"], *self.runs["run_id"]} if noted else {}
        noted = [Failure("", item) for item in noted if item not in known]
        return [*map(_failure, self.failed.to_dict("records")), *noted]

    @cached_property
    def _settings(self) -> dict[tuple[str, str], list[Setting]]:
        keys = self.runs[["dataset", "label"]].assign(setting=self.runs["setting"].map(id))
        groups = self.runs[~keys.duplicated()].groupby(["dataset", "label"])["setting"]
        return {(str(dataset), str(label)): list(own) for (dataset, label), own in groups}

    def settings(self, label: str, dataset: str | None = None) -> list[Setting]:
        """Return the settings of a label with a finished run (on a dataset), in the order of their values."""
        found = (own for (d, a), own in self._settings.items() if a == label and dataset in (None, d))
        return in_order(chain.from_iterable(found))

    def own_text(self, dataset: str, label: str, setting: Setting) -> str:
        """Return a setting without the values of the algorithm that the budget follows."""
        spec = self.algorithms.get(label)
        n_kernel = len(_swept_kernels(self.config).get(dataset, ()))
        return ", ".join(setting.items[: n_kernel + len(_on(spec, dataset).swept)] if spec else setting.items)


def load(folder: Path) -> Results:
    """Read and check a results folder; control characters in its texts become their escapes.

    Raises InputError: no such folder, a file missing or torn, a column missing, a value that is not a number, or no
    finished run.
    Raises AlteredError: the table is not as the sweep wrote it.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such results folder; make one first: budgetrun sweep CONFIG")
    manifest, config = _read_config(folder / MANIFEST)
    table = read_table(folder)
    if table is None:
        raise InputError(f"{folder}: neither runs.csv nor runs.csv.gz; make them first: budgetrun sweep CONFIG")
    path = table.path
    if altered := table.altered:
        raise AlteredError(f"{altered}; {advice(folder)}")
    if table.damage:
        raise InputError(f"{path}: not readable as {'Parquet' if table.is_large else 'CSV'} ({table.damage}); {AGAIN}")
    read = _read_parquet if table.is_large else _read_csv
    frame = _typed(read(table.data, path), config, path)
    done = frame["status"] == "done"
    # Without a copy where all are finished.
    runs, failed = frame if done.all() else frame[done].reset_index(drop=True), frame[~done].reset_index(drop=True)
    results = Results(folder, path, manifest, config, runs, failed, incomplete=_incomplete(frame["run_id"], manifest))
    if not len(runs):
        n = len(results.failures)
        first = f"; the first of {n} failures: {results.failures[0].error}" if n else ""
        raise InputError(f"{path}: no finished run{first}; run the sweep first: budgetrun sweep CONFIG")
    _check_finished(runs, path)
    runs, brackets = with_gaps(runs)
    return replace(results, runs=runs, brackets=brackets)


def _read_config(path: Path) -> tuple[dict[str, Any], Config]:
    manifest = all_printable(read_manifest(path))
    if not manifest.get("config"):
        return manifest, Config(name="unnamed", datasets=(), algorithms=())
    try:
        return manifest, Config.from_resolved(manifest["config"])
    except (ValueError, RecursionError) as error:
        why = " ".join(str(error).split("\n")[:3])
        raise InputError(f"{path}: no config that this version reads ({why}); {AGAIN}") from None


def _incomplete(run_ids: pd.Series[str], manifest: dict[str, Any]) -> str:
    """Return in words how the runs differ from those that the manifest says were planned; empty if they do not."""
    planned = manifest.get("plan") or {}
    n = planned.get("runs")
    if n is None:
        return ""
    if len(run_ids) < n:
        return f"only {len(run_ids):,} of {n:,} planned runs are here"
    ids = "\n".join(sorted(run_ids.to_numpy(dtype=object)))
    same = planned.get("sha256") in (None, hashlib.sha256(ids.encode("utf-8", "replace")).hexdigest())
    return "" if same else f"the {len(run_ids):,} runs here are not the {n:,} planned ones"


def _read_csv(data: bytes, path: Path) -> pd.DataFrame:
    """Return all columns, text as it is: a label such as "NA" or a task such as "01234" must not become anything else.

    Numbers are float64, NaN where empty, or text if one of them is none.
    """
    texts: Any = {column.name: str for column in COLUMNS if column.kind in ("text", "json")}
    numbers: Any = {column.name: np.float64 for column in COLUMNS if column.kind in ("count", "number")}
    options: Any = {"keep_default_na": False, "encoding": "utf-8"}
    typed: Any = {"dtype": texts | numbers, "na_values": {name: [""] for name in numbers}}
    try:
        try:
            frame: pd.DataFrame = pd.read_csv(io.BytesIO(data), **typed, **options)
        except ValueError:
            frame = pd.read_csv(io.BytesIO(data), dtype=str, **options)
    except pd.errors.EmptyDataError:
        raise InputError(f"{path}: empty; run the sweep first: budgetrun sweep CONFIG") from None
    except ValueError as error:
        raise InputError(f"{path}: not readable as CSV ({' '.join(str(error).split())}); {AGAIN}") from None
    if missing := [column for column in COLUMNS if column.name not in frame and not column.may_be_missing]:
        names = ", ".join(column.name for column in missing)
        if all(column.since > "0.1" for column in missing):
            raise InputError(f"{path}: no column {names}, so an earlier version made these runs; {AGAIN}")
        noun = "column" if len(missing) == 1 else "columns"
        raise InputError(f"{path}: {noun} {names} missing; a results folder comes from: budgetrun sweep CONFIG")
    return _cleaned(frame)


def _read_parquet(data: bytes, path: Path) -> pd.DataFrame:
    """Return all columns, as `_read_csv` does."""
    import pyarrow as pa

    from budgetrun.results.store.large import SCHEMA, read_columns

    try:
        table = read_columns(data, SCHEMA.names)
    except ValueError as error:
        raise InputError(f"{path}: not readable as Parquet ({error}); {AGAIN}") from None
    # Empty columns of a million runs, which `_typed` makes anew, would take most of the memory.
    optional = [column.name for column in COLUMNS if column.may_be_missing and column.kind in ("count", "number")]
    table = table.drop_columns([name for name in optional if table[name].null_count == table.num_rows > 0])
    # Counts too are floats, NaN where empty.
    floats = [field.with_type(pa.float64()) if field.type == pa.int64() else field for field in table.schema]
    table = table.cast(pa.schema(floats))
    # Each column is freed once it is converted, as nothing else refers to it.
    return _cleaned(table.to_pandas(split_blocks=True, self_destruct=True))


def _cleaned(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which texts that are missing are empty, and those that are shown have no control characters."""
    for name in (column.name for column in COLUMNS if column.kind in ("text", "json") and column.name in frame):
        # A line with too few cells has none.
        if frame[name].isna().any():
            frame[name] = frame[name].fillna("")
    for name in ("dataset", "task", "label", "kernel", "error"):
        cleaned = {text: printable(text) for text in frame[name].unique()}
        if any(text != shown for text, shown in cleaned.items()):
            frame[name] = frame[name].map(cleaned)
    return frame


def _typed(frame: pd.DataFrame, config: Config, path: Path) -> pd.DataFrame:
    """Return the table with numbers and settings in place of their texts, and with the columns that `Results` names."""
    # One for all columns that are empty.
    empty = pd.Series(np.nan, index=frame.index)
    values: dict[str, Any] = {
        column.name: _numbers(frame[column.name], path, column.kind == "count" and column.filled_by == "every")
        if column.name in frame
        else empty
        for column in COLUMNS
        if column.kind in ("count", "number")
    }
    for text in frame["parameters"].unique():
        _json_object(text, "parameters", path)
    algorithms = {spec.label: spec for spec in config.algorithms}
    kernels = _swept_kernels(config)
    keys = ["dataset", "label", "setting"]
    what = frame.groupby(keys, sort=False).ngroup()
    found = list(frame.loc[~what.duplicated(), keys].itertuples(index=False, name=None))
    settings, own = np.empty(len(found), dtype=object), np.zeros(len(found), dtype=bool)
    equal: dict[tuple[str, str, Setting], Setting] = {}
    for i, (dataset, label, text) in enumerate(found):
        spec = algorithms.get(label)
        source = algorithms.get(spec.budget_of or "") if spec else None
        shown = all_printable(_json_object(text, "setting", path))
        setting = _setting(shown, kernels.get(dataset, {}), *(one and _on(one, dataset) for one in (spec, source)))
        # Equal settings of a label on a dataset are one object, which is quick to compare.
        settings[i] = equal.setdefault((dataset, label, setting), setting)
        # The config gives the algorithm one budget on this dataset, and maybe another on others.
        budgets = spec.by_dataset.get("budget") if spec else None
        own[i] = budgets is not None and len(budgets.by_dataset.get(dataset, ())) == 1
    values["setting"] = pd.Series(settings[what], index=frame.index, dtype=object)
    frame = frame.assign(**values)
    budget, fraction, memory = (frame[name].notna() for name in ("budget", "budget_fraction", "learner_memory"))
    kinds = np.array(["none", "budget", "dataset", "fraction", "memory"], dtype=object)
    kind = np.select([memory, fraction, budget & own[what], budget], [4, 3, 2, 1], 0)
    value = frame["learner_memory"].fillna(frame["budget_fraction"]).fillna(frame["budget"]).fillna(0.0)
    return frame.assign(
        kind=kinds[kind],
        value=value,
        place=value.groupby([np.array([id(one) for one in settings])[what], kind, value], sort=False).ngroup(),
        stream=frame.groupby(["dataset", "task", "repetition"]).ngroup(),
    )


def _numbers(text: pd.Series[Any], path: Path, is_whole: bool) -> pd.Series[Any]:
    if text.dtype == np.float64:
        numbers, bad = text, ~np.isfinite(text) & is_whole
    else:
        numbers = pd.to_numeric(text.where(text != "", "nan"), errors="coerce").astype(np.float64)
        bad = (~np.isfinite(numbers) & is_whole) | (numbers.isna() & (text != "") & (text.str.lower() != "nan"))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        wanted = "an integer" if is_whole else "a number or empty"
        raise InputError(f"{path}:{row + 2}: {text.name}: must be {wanted}, got {text.iloc[row]!r:.80}")
    return numbers.astype(np.int64) if is_whole else numbers


def _json_object(text: str, column: str, path: Path) -> dict[str, Any]:
    try:
        values = json.loads(text or "{}")
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise InputError(f"{path}: {column}: must be a JSON object, got {text!r:.80}; repeat: budgetrun sweep CONFIG")
    return values


def _check_finished(runs: pd.DataFrame, path: Path) -> None:
    solved = runs["objective"].notna()
    for column in ("n_examples", *OF_LEARNER, "seconds", "objective"):
        exempt = solved if column in OF_LEARNER else ~solved & (column == "objective")
        bad = runs.loc[~exempt & ~np.isfinite(runs[column]), "run_id"]
        if len(bad):
            raise InputError(f"{path}: {column}: run {bad.iloc[0]:.80} is done without a finite number; {FORCE}")
    twice = runs.loc[runs["run_id"].duplicated(), "run_id"]
    if len(twice):
        raise InputError(f"{path}: run {twice.iloc[0]:.80} is listed twice, so means would be wrong; {FORCE}")


def _setting(
    values: dict[str, Any], kernel: dict[str, list[Any]], spec: AlgorithmSpec | None, source: AlgorithmSpec | None
) -> Setting:
    """Return the setting of a run: the kernel's values, its own, then those of the algorithm that its budget follows.

    ``kernel`` has the values over which the kernel sweeps, and ``source`` is what the budget follows, if anything.
    """
    rank: list[Any] = [tuple(values)]
    positions = []
    for name, value in values.items():
        own, key = spec if spec and name in spec.swept else source, name.rpartition(".")[2]
        given: Any = kernel.get(name) or (own and (own.budget if key == "budget" else own.parameters.get(key)))
        known = list(given) if isinstance(given, list | tuple) else []
        position = known.index(value) if value in known else len(known)
        has_text = any(isinstance(one, str) for one in [value, *known])
        rank.append(position if has_text or not isinstance(value, int | float) else value)
        positions.append(position)
    return Setting(tuple(f"{name}={_exact(value)}" for name, value in values.items()), tuple(rank), tuple(positions))


def _swept_kernels(config: Config) -> dict[str, dict[str, list[Any]]]:
    """Return the values over which the datasets' kernels sweep; earlier manifests may lack a dataset."""
    return {spec.label: spec.kernel.swept for spec in config.datasets if spec.kernel}


def _on(spec: AlgorithmSpec, dataset: str) -> AlgorithmSpec:
    return spec.on(dataset) if spec.has(dataset) else spec


def _exact(value: Any) -> str:
    """Return a value as tables show it, or in full if that would round it: no two values may read alike."""
    text = value_text(value)
    return repr(value) if isinstance(value, float) and float(text) != value else text


def _present(order: list[str], found: Iterable[str]) -> list[str]:
    names = dict.fromkeys(str(name) for name in found)
    return [*(name for name in order if name in names), *(name for name in names if name not in order)]


def _failure(run: dict[Any, Any]) -> Failure:
    what = [*(str(run[key]) for key in ("dataset", "label") if run[key]), *run["setting"].items]
    for key in ("task", "repetition", "seed", "budget", "budget_fraction"):
        if run[key] == run[key] and run[key] != "-":
            value = f"{run[key]:g}" if isinstance(run[key], float) else run[key]
            what.append(f"{key.replace('_', ' ')} {value}")
    return Failure(", ".join(what), run["error"] or "no reason recorded")
