"""The curves that sweeps record, in ``curves/``: counts after rounds, and objectives after seconds."""

import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetrun.base.problem import METRICS_IN_CURVES, SQUARED_ERROR

Floats = NDArray[np.float64]
# Errors of reading an unfinished or damaged file, or one with other arrays.
_TORN = (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error)


class Curves:
    """The files of a folder ``curves/``, which need not exist; read when the first curve or trace is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[tuple[Path, str], NDArray[Any]] = {}

    def missing(self, run_ids: Sequence[str]) -> int:
        """Return how many of these runs have no curves."""
        return sum(run_id not in self._places for run_id in run_ids)

    def read(self, run_ids: Sequence[str], name: str) -> tuple[NDArray[np.int64], Floats]:
        """Return the rounds at which all of some runs were recorded, shape (n,), and their curves, shape (runs, n).

        The name is mistakes, support_size, squared_error (a sum, for regression only), or one of `METRICS_IN_CURVES`.
        """
        places = [self._places[run_id] for run_id in run_ids]
        rounds_of = {path: self._read[path, "rounds"] for path, _ in places}
        rounds = reduce(np.intersect1d, rounds_of.values())
        columns = {path: np.searchsorted(own, rounds) for path, own in rounds_of.items()}
        values = [self._read[path, name][row, columns[path]] for path, row in places]
        return rounds, np.array(values, dtype=np.float64)

    def trace(self, run_id: str) -> tuple[Floats, Floats] | None:
        """Return seconds and objectives of a run, shape (n,) each, seconds not falling; None without any."""
        return self._traces.get(run_id)

    @cached_property
    def _places(self) -> dict[str, tuple[Path, int]]:
        places: dict[str, tuple[Path, int]] = {}
        optional = (*METRICS_IN_CURVES, SQUARED_ERROR)
        for path, arrays in self._files("run_id", "rounds", "mistakes", "support_size", optional=optional):
            places |= {str(run_id): (path, row) for row, run_id in enumerate(arrays["run_id"])}
            self._read |= {(path, name): array for name, array in arrays.items()}
        return places

    @cached_property
    def _traces(self) -> dict[str, tuple[Floats, Floats]]:
        traces = {}
        for _, arrays in self._files("run_id", "seconds", "objective"):
            for run_id, seconds, objective in zip(*arrays.values(), strict=True):
                known = np.isfinite(seconds) & np.isfinite(objective)
                if known.any():
                    # Points that are runs of their own may seem to come before earlier ones.
                    rising = np.minimum.accumulate(seconds[known][::-1])[::-1]
                    traces[str(run_id)] = rising, objective[known]
        return traces

    def _files(self, *names: str, optional: Sequence[str] = ()) -> Iterator[tuple[Path, dict[str, NDArray[Any]]]]:
        """Yield the path and the named arrays of each file that has them all; a torn file counts as missing."""
        # Reading a pipe would never end.
        for path in filter(os.path.isfile, sorted(self._folder.glob("*.npz"))):
            try:
                # numpy leaves a torn file open.
                with path.open("rb") as file, np.load(file) as data:
                    arrays = {name: data[name] for name in (*names, *(name for name in optional if name in data))}
            except _TORN:
                continue
            yield path, arrays
