"""A results folder, read and checked: the manifest and the runs, as everything else in this package takes them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from budgetrun.config.formulas import computed
from budgetrun.config.schema import setting_text
from budgetrun.errors import InputError
from budgetrun.store.optimum import Bracket, with_gaps

TEXT_COLUMNS = ("run_id", "dataset", "task", "repetition", "seed", "label", "parameters", "kernel", "status")
NUMBER_COLUMNS = ("n_examples", "mistakes", "online_error", "support_size", "seconds")
OPTIONAL_NUMBER_COLUMNS = ("budget", "budget_fraction")
# Those of a run that finished: of a learner, and of a solver.
OF_LEARNER = ("n_examples", "mistakes", "online_error", "support_size", "seconds")
OF_SOLVER = ("n_examples", "objective", "seconds")
# Results of before there were test sets, or solvers, come without them.
LATER_NUMBER_COLUMNS = (
    "margin_updates",
    "test_error",
    "last_test_error",
    "objective",
    "lower_bound",
    "gap",
    "compile_seconds",
    "prefix_examples",
    "prefix_mistakes",
)

# With the keys that start with `budget`: all other parameters tell learners apart.
NOT_A_SETTING = ("of", "fraction", "fractions", "seed")


@dataclass(frozen=True)
class Setting:
    """The values of what a learner's entry sweeps over, and of what the learner sweeps that its budget follows.

    Attributes
    ----------
    items : tuple of str
        ``eta=0.1``, one for each parameter; empty where nothing is swept.
    rank : tuple
        Sorts settings by their values.
    position : tuple of int
        Sorts them as the config lists their values.
    """

    items: tuple[str, ...] = ()
    rank: tuple[Any, ...] = field(default=(), compare=False)
    position: tuple[int, ...] = field(default=(), compare=False)

    @property
    def text(self) -> str:
        """All items, ``eta=0.1, C=2``."""
        return ", ".join(self.items)

    def within(self, other: Setting) -> bool:
        """Whether the other has all of these values, and maybe more."""
        return set(self.items) <= set(other.items)


NO_SETTING = Setting()


def items_of(text: str) -> frozenset[str]:
    """Return the items of a setting's text; the commas of a list do not stand before a name."""
    return frozenset(re.split(r",\s*(?=[\w+.]+=)", text)) if text else frozenset()


@dataclass(frozen=True)
class Results:
    """What a sweep left behind.

    Attributes
    ----------
    folder, runs_path : Path
    manifest : dict
        ``manifest.json`` as it stands.
    runs : DataFrame
        The finished runs, with a `Setting` each in the column `setting`, whether the budget is the dataset's own in
        `own_budget`, and of solvers the `gap_to_best`; numbers are float64, NaN where empty.
    failed : DataFrame
        The runs that did not finish, same columns.
    swept : dict of (dataset, label) to list of str
        What each label sweeps itself there: the first items of its settings.
    failures : list of dict
        ``what`` and ``error`` of each failure, from `failed` and the manifest together.
    brackets : dict
        Of solvers: what is known of the optimum of each problem.
    """

    folder: Path
    runs_path: Path
    manifest: dict[str, Any]
    runs: pd.DataFrame
    failed: pd.DataFrame
    swept: dict[tuple[str, str], list[str]]
    failures: list[dict[str, str]]
    brackets: dict[tuple[str, ...], Bracket] = field(default_factory=dict)

    @property
    def of_solvers(self) -> bool:
        """Whether these are runs of batch solvers."""
        return bool(self.brackets)

    @property
    def name(self) -> str:
        """The config's name, for titles."""
        return str(self.manifest.get("name") or self.folder.resolve().name)

    @property
    def config(self) -> dict[str, Any]:
        """The resolved config."""
        return self.manifest.get("config") or {}

    @property
    def report(self) -> dict[str, Any]:
        """The config's ``report`` section, empty without one."""
        return self.config.get("report") or {}

    @property
    def datasets(self) -> list[str]:
        """Labels of the datasets with a finished run, in the config's order."""
        return _in_order(_names(self.config.get("datasets")), self.runs["dataset"])

    @property
    def labels(self) -> list[str]:
        """Labels of the learners with a finished run, in the config's order."""
        return _in_order(_names(self.config.get("algorithms")), self.runs["label"])

    @property
    def entries(self) -> dict[str, dict[str, Any]]:
        """The config's algorithms, by label."""
        return _entries(self.config)

    def settings(self, label: str, dataset: str | None = None) -> list[Setting]:
        """Return the settings of a label with a finished run (on a dataset), in the order of their values."""
        of_label = self.runs["label"] == label
        return in_order(self.runs.loc[of_label & ((dataset is None) | (self.runs["dataset"] == dataset)), "setting"])

    def own_text(self, dataset: str, label: str, setting: Setting) -> str:
        """Return a setting without what is the learner's that the budget follows."""
        return ", ".join(setting.items[: len(self.swept.get((dataset, label), []))])


def in_order(settings: Iterable[Setting]) -> list[Setting]:
    """Return settings once each, in the order of their values."""
    return sorted(set(settings), key=lambda setting: (setting.rank, setting.items))


def load(folder: Path) -> Results:
    """Read and check a results folder.

    Parameters
    ----------
    folder : Path
        Holds ``manifest.json`` and ``runs.csv`` or ``runs.csv.gz``.

    Raises
    ------
    InputError
        No such folder, a file missing or torn, a column missing, a value that is no number, or no finished run.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such results folder; make one first: budgetrun sweep CONFIG")
    manifest = _read_manifest(folder / "manifest.json")
    path = next((p for p in (folder / "runs.csv", folder / "runs.csv.gz") if p.is_file()), None)
    if path is None:
        raise InputError(f"{folder}: neither runs.csv nor runs.csv.gz; make them first: budgetrun sweep CONFIG")
    frame, swept = _with_settings(_read_runs(path), manifest.get("config") or {}, path)
    done = frame["status"] == "done"
    runs, failed = frame[done].reset_index(drop=True), frame[~done].reset_index(drop=True)
    failures = _failures(failed, runs, manifest.get("failures") or [])
    if not len(runs):
        first = f"; the first of {len(failures)} failures: {failures[0]['error']}" if failures else ""
        raise InputError(f"{path}: no finished run{first}; run the sweep first: budgetrun sweep CONFIG")
    _check_finished(runs, path)
    runs, brackets = with_gaps(runs)
    return Results(folder, path, manifest, runs, failed, swept, failures, brackets)


def _read_manifest(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"{path}: no such file, so this is no results folder; make one first: budgetrun sweep CONFIG")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not readable as JSON ({error}); repeat the sweep: budgetrun sweep CONFIG") from None
    if not isinstance(manifest, dict):
        raise InputError(f"{path}: must hold a JSON object; repeat the sweep: budgetrun sweep CONFIG")
    return manifest


def _read_runs(path: Path) -> pd.DataFrame:
    try:
        # As text first: a label such as "NA" or a task such as "01234" must not be taken for something else.
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8")
    except pd.errors.EmptyDataError:
        raise InputError(f"{path}: empty; run the sweep first: budgetrun sweep CONFIG") from None
    except (pd.errors.ParserError, EOFError, OSError, ValueError) as error:
        reason = str(error).strip()
        raise InputError(f"{path}: not readable as CSV ({reason}); repeat the sweep: budgetrun sweep CONFIG") from None
    needed = (*TEXT_COLUMNS, *NUMBER_COLUMNS, *OPTIONAL_NUMBER_COLUMNS)
    missing = [column for column in needed if column not in frame]
    if missing:
        noun = "column" if len(missing) == 1 else "columns"
        raise InputError(
            f"{path}: {noun} {', '.join(missing)} missing; a results folder comes from: budgetrun sweep CONFIG"
        )
    for column in LATER_NUMBER_COLUMNS:
        if column not in frame:
            frame[column] = ""
    for column in (*NUMBER_COLUMNS, *OPTIONAL_NUMBER_COLUMNS, *LATER_NUMBER_COLUMNS):
        text = frame[column]
        numbers = pd.to_numeric(text.where(text != "", "nan"), errors="coerce").astype(np.float64)
        bad = numbers.isna() & (text != "") & (text.str.lower() != "nan")
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise InputError(f"{path}:{row + 2}: {column}: must be a number or empty, got {text.iloc[row]!r}")
        frame[column] = numbers
    return frame


def _check_finished(runs: pd.DataFrame, path: Path) -> None:
    solved = runs["objective"].notna()
    for column in dict.fromkeys((*OF_LEARNER, *OF_SOLVER)):
        needed = solved & (column in OF_SOLVER) | ~solved & (column in OF_LEARNER)
        bad = needed & ~np.isfinite(runs[column])
        if bad.any():
            run = runs.loc[bad, "run_id"].iloc[0]
            raise InputError(
                f"{path}: {column}: run {run} is done without a finite number; repeat: budgetrun sweep CONFIG --force"
            )
    twice = runs["run_id"].duplicated()
    if twice.any():
        run = runs.loc[twice, "run_id"].iloc[0]
        raise InputError(
            f"{path}: run {run} stands there twice, so means would be wrong; repeat: budgetrun sweep CONFIG --force"
        )


def _with_settings(
    frame: pd.DataFrame, config: dict[str, Any], path: Path
) -> tuple[pd.DataFrame, dict[tuple[str, str], list[str]]]:
    """Add the columns `setting`, so that no mean mixes two of them, and `own_budget`; return also what is swept."""
    parameters = {text: _parameters(text, path) for text in frame["parameters"].unique()}
    own = {text: {k: v for k, v in values.items() if _is_setting(k)} for text, values in parameters.items()}
    entries = _entries(config)
    swept = _swept(frame, entries, own)
    rounds = frame.groupby("dataset")["n_examples"].max().to_dict()
    made: dict[tuple[str, str, str, str], Setting] = {}
    texts: dict[str, str] = {}
    columns = ["dataset", "label", "parameters", "kernel"]
    for dataset, label, text, kernel in frame[columns].drop_duplicates().itertuples(index=False):
        values = {**own[text], "kernel": kernel}
        keys = swept.get((dataset, label), [])
        chosen = {key: values.get(key) for key in keys}
        typed = {key: typed_values(entries.get(label, {}), key, dataset) for key in keys}
        for key, value in _source_setting(parameters[text]).items():
            source = parameters[text]["budget"]["of"]
            name = f"{source}.{key}" if key in chosen else key
            chosen[name], typed[name] = value, typed_values(entries.get(source, {}), key, dataset)
        # Formulas are not in the order of their numbers, which differ from dataset to dataset.
        by_position = {key for key, value in chosen.items() if _is_number(value) and any(map(_is_text, typed[key]))}
        chosen = {key: _as_typed(value, typed[key], rounds[dataset]) for key, value in chosen.items()}
        position = {key: _index(value, typed[key]) for key, value in chosen.items()}
        rank = [(0, position[key], "") if key in by_position else _sortable(value) for key, value in chosen.items()]
        items = tuple(_item(key, value, texts) for key, value in chosen.items())
        made[dataset, label, text, kernel] = Setting(items, (tuple(chosen), *rank), tuple(position.values()))
    of_run = zip(*(frame[column] for column in columns), strict=True)
    settings = pd.Series([made[key] for key in of_run], index=frame.index, dtype=object)
    own_budgets = {
        (dataset, label): len(typed_values(entries.get(label, {}), "budget", dataset)) == 1
        and is_by_dataset(entries[label]["budget"])
        for dataset, label in frame[["dataset", "label"]].drop_duplicates().itertuples(index=False)
    }
    has_own = [own_budgets[key] for key in zip(frame["dataset"], frame["label"], strict=True)]
    return frame.assign(setting=settings, own_budget=np.array(has_own, dtype=bool)), swept


def _swept(
    frame: pd.DataFrame, entries: dict[str, dict[str, Any]], own: dict[str, dict[str, Any]]
) -> dict[tuple[str, str], list[str]]:
    """Return what each label sweeps on each dataset: parameters with several values in the config, then others."""
    # What varies although the config says nothing of it, in finished runs: one may fail before its kernel is known.
    kinds = frame.loc[frame["status"] == "done", ["dataset", "label", "parameters", "kernel"]].drop_duplicates()
    varying: dict[tuple[str, str], list[str]] = {}
    for key, group in kinds.groupby(["dataset", "label"], sort=False):
        rows = [{**own[p], "kernel": k} for p, k in zip(group["parameters"], group["kernel"], strict=True)]
        names = dict.fromkeys(name for row in rows for name in row)
        varying[key] = [name for name in names if len({json.dumps(row.get(name)) for row in rows}) > 1]
    swept: dict[tuple[str, str], list[str]] = {}
    for dataset, label in frame[["dataset", "label"]].drop_duplicates().itertuples(index=False):
        entry = entries.get(label, {})
        parameters = entry.get("parameters") or {}
        known = [name for name in parameters if len(typed_values(entry, name, dataset)) > 1]
        for place, names in varying.items():
            for name in names:
                # What has values by dataset is the others' own affair.
                elsewhere = place[0] != dataset and is_by_dataset(parameters.get(name))
                if place[1] == label and name not in known and not elsewhere:
                    known.append(name)
        swept[dataset, label] = known
    return swept


def _entries(config: dict[str, Any]) -> dict[str, dict[str, Any]]:
    entries = [entry for entry in config.get("algorithms") or [] if isinstance(entry, dict)]
    return {str(entry.get("label") or entry.get("name")): entry for entry in entries}


def is_by_dataset(values: Any) -> bool:
    """Whether a parameter or budget of the config has values by dataset."""
    return isinstance(values, dict) and isinstance(values.get("by_dataset"), dict)


def typed_values(entry: dict[str, Any], name: str, dataset: str) -> list[Any]:
    """Return the values that an entry of the config has for a parameter, or for ``budget``, on a dataset."""
    values = entry.get("budget") if name == "budget" else (entry.get("parameters") or {}).get(name)
    if is_by_dataset(values):
        values = values["by_dataset"].get(dataset)
    return values if isinstance(values, list) else []


def _parameters(text: str, path: Path) -> dict[str, Any]:
    try:
        values = json.loads(text or "{}")
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise InputError(f"{path}: parameters: must be a JSON object, got {text!r}; repeat: budgetrun sweep CONFIG")
    return values


def _is_setting(key: str) -> bool:
    """Whether a run's parameter says neither how the budget came about nor which draw it was."""
    return not key.startswith("budget") and key not in NOT_A_SETTING


def _source_setting(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the setting of the learner that the budget follows, where that has several."""
    budget = parameters.get("budget")
    setting = budget.get("setting") if isinstance(budget, dict) else None
    return setting if isinstance(setting, dict) else {}


def _item(key: str, value: Any, texts: dict[str, str]) -> str:
    """Return ``eta=0.1``; two values that would read alike are written in full."""
    text = str(value) if key == "kernel" else setting_text({key: value})
    number = isinstance(value, int | float) and not isinstance(value, bool)
    exact = repr(float(value)) if number else json.dumps(value)
    return text if texts.setdefault(text, exact) == exact else f"{key}={exact}"


def _as_typed(value: Any, typed: list[Any], n_rounds: float) -> Any:
    """Return the formula of the config that a number was typed as, or else the value."""
    if not _is_number(value) or math.isnan(n_rounds):
        return value
    return next((text for text in filter(_is_text, typed) if computed(text, int(n_rounds)) == value), value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _index(value: Any, typed: list[Any]) -> int:
    """Return where a value stands among those of the config; behind them if it is none of them."""
    return typed.index(value) if value in typed else len(typed)


def _sortable(value: Any) -> tuple[int, float, str]:
    return (0, float(value), "") if _is_number(value) else (1, 0.0, str(value))


def _names(entries: Any) -> list[str]:
    """Return the labels of the config's list of datasets or algorithms."""
    return [str(entry.get("label") or entry.get("name")) for entry in entries or [] if isinstance(entry, dict)]


def _in_order(order: list[str], present: Iterable[str]) -> list[str]:
    found = dict.fromkeys(str(name) for name in present)
    return [name for name in dict.fromkeys(order) if name in found] + [name for name in found if name not in order]


def _failures(failed: pd.DataFrame, runs: pd.DataFrame, noted: list[str]) -> list[dict[str, str]]:
    listed = [_failure(row) for row in failed.to_dict("records")]
    known = {*failed["run_id"], *runs["run_id"]}
    # The manifest names them by run_id; what runs.csv does not know is listed as it stands.
    return listed + [{"what": "", "error": str(item)} for item in noted if item not in known]


def _failure(item: dict[str, Any]) -> dict[str, str]:
    what = [str(item[key]) for key in ("dataset", "label") if item.get(key)]
    what += item["setting"].items
    for key in ("task", "repetition", "seed", "budget", "budget_fraction"):
        value = item.get(key)
        if value is not None and value == value and str(value) not in ("", "-"):
            what.append(f"{key.replace('_', ' ')} {value:g}" if isinstance(value, float) else f"{key} {value}")
    error = item.get("error")
    return {"what": ", ".join(what), "error": str(error) if error and error == error else "no reason recorded"}
