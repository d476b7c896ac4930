"""Sweeps from Python, and what they wrote as data frames."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from budgetrun.base.errors import InputError, say
from budgetrun.config import load as load_config
from budgetrun.config.reader import find, read
from budgetrun.config.schema import Config, DatasetSpec
from budgetrun.config.yaml import parse, read_text
from budgetrun.data.tables import open_table
from budgetrun.results.report.tables import build
from budgetrun.results.store import read as stored
from budgetrun.results.store.curves import Curves
from budgetrun.results.store.files import COLUMNS
from budgetrun.runner.plan import Options
from budgetrun.runner.sweep import sweep as run_sweep


def sweep(
    config: str | Path | Mapping[str, Any],
    *,
    data: Mapping[str, Any] | None = None,
    results: str | Path = "results",
    jobs: int | None = None,
    profile: str = "full",
    backend: str = "local",
    scheduler: str | None = None,
) -> Results:
    """Run a config, skipping finished runs, as ``budgetrun sweep`` does.

    Parameters
    ----------
    config : str, Path or dict
        A file, the name of a config that comes with budgetrun, or what a YAML file would contain.
    data : dict of str to data, or None
        For datasets of the config, by ``label`` or ``name``: a path; a data frame of pandas, polars or Arrow, with the
        column of the labels; or a pair (X, y) of examples and labels. In a dict without ``datasets``, each becomes one.
        Data in memory are written to a temporary file for the workers, and recorded by its checksum. If the dataset
        has no ``label_column``, the column of the labels is detected and printed on standard error.
    results : str or Path
        The folder that holds one results folder per config.
    jobs : int >= 1, or None
        Worker processes; None for one per core, or a single one if run times are compared.
    profile : str
        A profile of the config.
    backend : str
        Where the workers run: ``local``, ``loky``, ``dask``, or another backend that is registered with joblib.
    scheduler : str or None
        The address of a dask scheduler, for ``dask``.

    Returns
    -------
    Results
        Of all runs of the config; runs that failed are in its ``failed``.

    Raises
    ------
    InputError
        The config or the data cannot be used, or no run finished; the message says why.
    KeyboardInterrupt
        Finished runs are kept; the same call continues.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs: must be an integer >= 1 or None, got {jobs}")
    with tempfile.TemporaryDirectory(prefix="budgetrun-") as folder:
        loaded = _config(config, dict(data or {}), Path(folder)).apply_profile(profile)
        again = "the same call of budgetrun.sweep"
        options = Options(Path(results), jobs, backend=backend, scheduler=scheduler, called=again)
        code = run_sweep(loaded, options)
    if code == 130:
        raise KeyboardInterrupt
    return load_results(options.folder(loaded))


def load_results(folder: str | Path) -> Results:
    """Read the results folder of a config.

    Raises InputError: it is not a results folder, has no finished run, or is damaged.
    Raises AlteredError: the table of runs is not as the sweep wrote it.
    """
    return Results(Path(folder))


class Results:
    """The results of a sweep, read only.

    Attributes
    ----------
    folder : Path
    manifest : dict
        The content of ``manifest.json``: the config, versions, revisions, streams with their checksums, times.
    runs : DataFrame
        The finished runs, one per row, with the columns of ``runs.csv`` in their types: text, Int64 (counts, which may
        be missing) or float64. ``setting`` is text such as ``eta=0.1``.
    failed : DataFrame
        The runs that failed, with the same columns; ``error`` says why.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read = stored.load(folder)
        self.manifest: dict[str, Any] = self._read.manifest
        self.runs, self.failed = _plain(self._read.runs), _plain(self._read.failed)

    @cached_property
    def _tables(self) -> dict[str, Any]:
        return {table.name: table for table in build(self._read)}

    @property
    def tables(self) -> list[str]:
        """The names of the tables that the config asks for, or of the default ones."""
        return list(self._tables)

    def table(self, name: str | None = None) -> pd.DataFrame:
        """Return a table of the report in long form, one row per cell; the first one by default.

        Raises InputError: there is no table of that name.
        """
        name = self.tables[0] if name is None else name
        if name not in self._tables:
            raise InputError(f"{self.folder}: no table {name!r}; there are {', '.join(self.tables)}")
        header, *rows = self._tables[name].csv_rows
        return pd.DataFrame(rows, columns=header).apply(_numbers)

    def curves(self, name: str = "mistakes", *, dataset: str | None = None, label: str | None = None) -> pd.DataFrame:
        """Return what was recorded along the runs of learners, one row per run and round.

        ``name`` is "mistakes" or "support_size"; ``dataset`` and ``label`` select the runs of one dataset or algorithm,
        by its label. The columns are run_id, dataset, label, setting, budget, task, repetition, seed, rounds and
        ``name``.

        Raises InputError: there are no such runs, or the folder has no curves of them (committed folders have none).
        """
        if name not in ("mistakes", "support_size"):
            raise InputError(f"curves: must be mistakes or support_size, got {name!r}")
        runs, curves = self.runs, Curves(self.folder / "curves")
        for column, wanted in (("dataset", dataset), ("label", label)):
            if wanted is not None and wanted not in set(runs[column]):
                raise InputError(f"{self.folder}: no finished run with {column} {wanted!r}")
            runs = runs if wanted is None else runs[runs[column] == wanted]
        runs = runs[[not curves.missing([run_id]) for run_id in runs["run_id"]]]
        if not len(runs):
            raise InputError(f"{self.folder}: no curves of these runs; run the sweep again with --force to record them")
        keys = ["run_id", "dataset", "label", "setting", "budget", "task", "repetition", "seed"]
        parts = []
        for run_id in runs["run_id"]:
            rounds, values = curves.read([run_id], name)
            parts.append(pd.DataFrame({"run_id": run_id, "rounds": rounds, name: values[0].astype(np.int64)}))
        return runs[keys].merge(pd.concat(parts), on="run_id")

    def __repr__(self) -> str:
        failed = f", {len(self.failed):,} failed" if len(self.failed) else ""
        return f"<Results of {self.folder}: {len(self.runs):,} runs{failed}; tables {', '.join(self.tables)}>"


# Stands for the folder of data that were in memory, in what is recorded.
_MEMORY = "(in memory) "


def _config(config: str | Path | Mapping[str, Any], data: dict[str, Any], folder: Path) -> Config:
    """Return the config with its data on disk."""
    if isinstance(config, Mapping):
        content, path = dict(config), Path("config")
    elif not data:
        return load_config(config)
    else:
        path = find(str(config))
        content = parse(read_text(path)).data
        if not isinstance(content, dict):
            return load_config(config)
    if data:
        entries = content.get("datasets") or [{"name": name} for name in data]
        names = [entry.get("label") or entry.get("name") for entry in entries]
        for name in data:
            if name not in names:
                known = ", ".join(map(str, names))
                raise InputError(f"data: {name!r} is not a dataset of the config; its datasets are {known}")
        content["datasets"] = [
            entry | _file(name, data[name], entry, folder) if name in data else entry
            for entry, name in zip(entries, names, strict=True)
        ]
    try:
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    except yaml.YAMLError as error:
        raise InputError(f"{path}: a config consists of what YAML can hold ({str(error).splitlines()[0]})") from None
    found = read(text, path)

    # Records must not depend on the temporary folder, so that the same data continue the same results.
    def recorded(one: DatasetSpec) -> DatasetSpec:
        if one.path is None or one.path.parent != folder:
            return one
        return one.model_copy(update={"typed_path": f"{_MEMORY}{one.path.name}"})

    changed = {"file": "", "text": text.replace(f"{folder}{os.sep}", _MEMORY)}
    return found.model_copy(update=changed | {"datasets": tuple(map(recorded, found.datasets))})


def _file(name: str, given: Any, entry: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Write data to a file, if they are not in one; return the keys of the dataset that change."""
    if isinstance(given, str | os.PathLike):
        return {"path": os.path.abspath(given)}
    label, X = entry.get("label_column"), given
    if isinstance(given, tuple) and len(given) == 2:
        X, y = given
        if hasattr(X, "tocsr"):
            path, y, rows = folder / f"{name}.npz", np.asarray(y), X.tocsr()
            if y.dtype.kind not in "biuf":
                raise InputError(f"data: {name!r}: the labels of sparse examples must be numbers, got {y.dtype}")
            np.savez(path, data=rows.data, indices=rows.indices, indptr=rows.indptr, shape=np.array(rows.shape), y=y)
            return {"path": str(path)}
        table, label = _arrow(X, name), "label"
        if label in table.column_names:
            raise InputError(
                f"data: {name!r}: X has a column 'label'; rename it, or give one data frame with the labels"
            )
        if len(y) != table.num_rows:
            raise InputError(f"data: {name!r}: X has {table.num_rows:,} rows and y has {len(y):,}; they must be equal")
        table = table.append_column(label, [np.asarray(y).tolist()])
    else:
        table = _arrow(X, name)
        if label is None:
            found = open_table(table, name=name)
            label = None if found.label_column is None else found.label_column.name
            say(f"{name}: {found.label_found}")
    from pyarrow import feather

    path = folder / f"{name}.arrow"
    feather.write_feather(table, path, compression="uncompressed")
    return {"path": str(path), "label_column": label}


def _arrow(X: Any, name: str) -> Any:
    """Return a data frame, or an array with columns x1, x2, ..., as an Arrow table without further details."""
    import narwhals as nw
    import pyarrow as pa

    if isinstance(X, list | np.ndarray):
        array = np.asarray(X)
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise InputError(
                f"data: {name!r}: X has shape {array.shape} and type {array.dtype}; rows of numbers are needed"
            )
        return pa.table({f"x{i}": array[:, i - 1] for i in range(1, array.shape[1] + 1)})
    try:
        table = nw.from_native(X, eager_only=True).to_arrow()
    except TypeError:
        wanted = "a path, a data frame of pandas, polars or Arrow, or a pair (X, y)"
        raise InputError(f"data: {name!r}: must be {wanted}, got {type(X).__name__}") from None
    return table.replace_schema_metadata(None)


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return runs with the columns of runs.csv alone; counts may be missing."""
    kinds = {column.name: column.kind for column in COLUMNS if column.name in frame}
    found = frame[list(kinds)].assign(setting=[setting.text for setting in frame["setting"]])
    return found.astype({name: "Int64" for name, kind in kinds.items() if kind == "count"})


def _numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column as numbers, if all that is not empty in it are."""
    try:
        return pd.to_numeric(column.where(column != "", None))
    except (TypeError, ValueError):
        return column
