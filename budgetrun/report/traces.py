"""The traces that solvers left: the objective after so many seconds, run by run."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from budgetrun.report.curves import TORN


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
            for path in sorted(self._folder.glob("*.npz")):
                try:
                    # numpy leaves a file open that it takes for torn.
                    with path.open("rb") as file, np.load(file) as data:
                        arrays = [data[name] for name in ("run_id", "seconds", "objective")]
                except TORN:
                    continue
                for one, seconds, objective in zip(*arrays, strict=True):
                    known = np.isfinite(seconds) & np.isfinite(objective)
                    if known.any():
                        # Points that are runs of their own may seem to come before earlier ones.
                        rising = np.minimum.accumulate(seconds[known][::-1])[::-1]
                        self._traces[str(one)] = rising, objective[known]
        return self._traces.get(run_id)
