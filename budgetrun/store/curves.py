"""The curves that a sweep recorded: counts after so many rounds, run by run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

import numpy as np

from budgetrun.report.parts import read_parts


class Curves:
    """The files of ``curves/``; each is read once, when the first curve is asked for.

    Parameters
    ----------
    folder : Path
        Of the files; it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._where: dict[str, tuple[Path, int]] | None = None
        self._read: dict[tuple[Path, str], np.ndarray] = {}

    def missing(self, run_ids: Sequence[str]) -> int:
        """Return how many of these runs have no curves."""
        where = self._places()
        return sum(run_id not in where for run_id in run_ids)

    def read(self, run_ids: Sequence[str], name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the curves of some runs, all of which have some.

        Parameters
        ----------
        run_ids : sequence of str, at least one
        name : {"mistakes", "support_size"}

        Returns
        -------
        rounds : ndarray of int, shape (n,), rising
            Those at which all of the runs were recorded.
        values : ndarray of float64, shape (len(run_ids), n)
            The counts after so many rounds.
        """
        where = [self._places()[run_id] for run_id in run_ids]
        of_file = {path: self._read[path, "rounds"] for path, _ in where}
        rounds = reduce(np.intersect1d, of_file.values())
        columns = {path: np.searchsorted(own, rounds) for path, own in of_file.items()}
        values = [self._read[path, name][row, columns[path]] for path, row in where]
        return rounds, np.array(values, dtype=np.float64)

    def _places(self) -> dict[str, tuple[Path, int]]:
        if self._where is None:
            self._where = {}
            for path, arrays in read_parts(self._folder, ("run_id", "rounds", "mistakes", "support_size")):
                self._where |= {str(run_id): (path, row) for row, run_id in enumerate(arrays["run_id"])}
                self._read |= {(path, name): array for name, array in arrays.items()}
        return self._where
