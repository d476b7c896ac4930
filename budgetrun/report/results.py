"""A results folder, read and checked: the manifest and the runs, as everything else in this package takes them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from budgetrun.errors import InputError

TEXT_COLUMNS = ("run_id", "dataset", "task", "repetition", "seed", "label", "parameters", "kernel", "status")
NUMBER_COLUMNS = ("n_examples", "mistakes", "online_error", "support_size", "seconds")
OPTIONAL_NUMBER_COLUMNS = ("budget", "budget_fraction")

# With the keys that start with `budget`: all other parameters tell learners apart.
NOT_A_SETTING = ("of", "fraction", "fractions", "seed")


@dataclass(frozen=True)
class Results:
    """What a sweep left behind.

    Attributes
    ----------
    folder, runs_path : Path
    manifest : dict
        ``manifest.json`` as it stands.
    runs : DataFrame
        The finished runs. `label` tells the settings of a swept parameter apart (``fogd [eta=0.1]``), `base_label`
        is the config's; numbers are float64, NaN where empty.
    failed : DataFrame
        The runs that did not finish, same columns.
    failures : list of dict
        ``what`` and ``error`` of each failure, from `failed` and the manifest together.
    """

    folder: Path
    runs_path: Path
    manifest: dict[str, Any]
    runs: pd.DataFrame
    failed: pd.DataFrame
    failures: list[dict[str, str]]

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
        """Labels of the learners with a finished run, in the config's order, a sweep's settings by their values."""
        found = self.runs[["base_label", "label"]].drop_duplicates()
        order = _in_order(_names(self.config.get("algorithms")), found["base_label"])
        return [label for base in order for label in found.loc[found["base_label"] == base, "label"]]

    def expand(self, label: str) -> list[str]:
        """Return the labels that a config's label stands for: itself, or one for each setting of its sweep."""
        found = self.runs.loc[self.runs["base_label"] == label, "label"].unique()
        return [other for other in self.labels if other in found] or [label]


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
    frame = _tell_sweeps_apart(_read_runs(path), path)
    done = frame["status"] == "done"
    runs, failed = frame[done].reset_index(drop=True), frame[~done].reset_index(drop=True)
    failures = _failures(failed, runs, manifest.get("failures") or [])
    if not len(runs):
        first = f"; the first of {len(failures)} failures: {failures[0]['error']}" if failures else ""
        raise InputError(f"{path}: no finished run{first}; run the sweep first: budgetrun sweep CONFIG")
    _check_finished(runs, path)
    return Results(folder, path, manifest, runs, failed, failures)


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
    for column in (*NUMBER_COLUMNS, *OPTIONAL_NUMBER_COLUMNS):
        text = frame[column]
        numbers = pd.to_numeric(text.where(text != "", "nan"), errors="coerce").astype(np.float64)
        bad = numbers.isna() & (text != "") & (text.str.lower() != "nan")
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise InputError(f"{path}:{row + 2}: {column}: must be a number or empty, got {text.iloc[row]!r}")
        frame[column] = numbers
    return frame


def _check_finished(runs: pd.DataFrame, path: Path) -> None:
    for column in NUMBER_COLUMNS:
        bad = ~np.isfinite(runs[column])
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


def _tell_sweeps_apart(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Append to a label what varies under it on one dataset, so that no mean mixes two settings."""
    settings = {text: _settings(text, path) for text in frame["parameters"].unique()}
    # Finished runs decide: a run may fail before its kernel is known.
    kinds = frame.loc[frame["status"] == "done", ["dataset", "label", "parameters", "kernel"]].drop_duplicates()
    varying: dict[str, list[str]] = {}
    for (_, label), group in kinds.groupby(["dataset", "label"], sort=False):
        rows = [{**settings[p], "kernel": k} for p, k in zip(group["parameters"], group["kernel"], strict=True)]
        known = varying.setdefault(str(label), [])
        for key in dict.fromkeys(key for row in rows for key in row):
            if key not in known and len({json.dumps(row.get(key)) for row in rows}) > 1:
                known.append(key)
    named = frame.assign(base_label=frame["label"])
    if not any(varying.values()):
        return named
    ranks, labels = [], []
    for label, text, kernel in zip(frame["label"], frame["parameters"], frame["kernel"], strict=True):
        values = {**settings[text], "kernel": kernel}
        own = {key: values.get(key) for key in varying.get(label, [])}
        suffix = ", ".join(str(value) if key == "kernel" else f"{key}={_short(value)}" for key, value in own.items())
        labels.append(f"{label} [{suffix}]" if own else label)
        ranks.append([_sortable(value) for value in own.values()])
    named["label"] = labels
    # By the settings' values, so that the order of labels is theirs too; runs keep their order otherwise.
    return named.iloc[sorted(range(len(ranks)), key=lambda i: ranks[i])].reset_index(drop=True)


def _settings(text: str, path: Path) -> dict[str, Any]:
    """Return a run's parameters without those that say how the budget came about or which draw it was."""
    try:
        values = json.loads(text or "{}")
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise InputError(f"{path}: parameters: must be a JSON object, got {text!r}; repeat: budgetrun sweep CONFIG")
    return {key: value for key, value in values.items() if not key.startswith("budget") and key not in NOT_A_SETTING}


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)


def _sortable(value: Any) -> tuple[int, float, str]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return (0, float(value), "") if number else (1, 0.0, str(value))


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
    for key in ("task", "repetition", "seed", "budget", "budget_fraction"):
        value = item.get(key)
        if value is not None and value == value and str(value) not in ("", "-"):
            what.append(f"{key.replace('_', ' ')} {value:g}" if isinstance(value, float) else f"{key} {value}")
    error = item.get("error")
    return {"what": ", ".join(what), "error": str(error) if error and error == error else "no reason recorded"}
