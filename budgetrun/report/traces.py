"""The traces that solvers left: the objective after so many seconds, run by run."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from budgetrun.report.parts import read_parts


class Traces:
    """The files of ``curves/``; they are read when the first trace is asked for.

    Parameters
    ----------
    folder : Path
        Of the files; it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._traces: dict[str, tuple[np.ndarray, np.ndarray]] | None = None

    def of(self, run_id: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Return seconds and objectives of a run, shape (n,) each, n >= 1, seconds not falling; None without any."""
        if self._traces is None:
            self._traces = {}
            for _, arrays in read_parts(self._folder, ("run_id", "seconds", "objective")):
                for one, seconds, objective in zip(*arrays.values(), strict=True):
                    known = np.isfinite(seconds) & np.isfinite(objective)
                    if known.any():
                        # Points that are runs of their own may seem to come before earlier ones.
                        rising = np.minimum.accumulate(seconds[known][::-1])[::-1]
                        self._traces[str(one)] = rising, objective[known]
        return self._traces.get(run_id)
