"""`budgetrun bounds`: both sides of the papers' bounds, for each run of a results folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Report", "write_bounds"]


@dataclass(frozen=True)
class Report:
    """The outcome of checking a results folder."""

    text: str  # the table, the number of runs checked, and the files written
    violated: list[str]  # a sentence for each bound that is violated
    missing: list[str]  # a sentence for each dataset whose data are missing; its runs were not checked
    incomplete: str  # a sentence if runs that were planned are missing; otherwise empty


def write_bounds(folder: Path, data_dir: Path | None = None, streams: int | None = 3) -> Report:
    """Evaluate every bound on the runs of a results folder; write ``bounds.csv`` and ``figures/bounds_*.png``.

    Parameters
    ----------
    folder : Path
        A results folder. Only the figures need its ``curves/``.
    data_dir : Path or None
        The folder to look for data in first; the streams are drawn again.
    streams : int, >= 1, or None
        The most streams of each dataset, those of the first repetitions and tasks; None for all.

    Raises
    ------
    InputError
        The folder holds no finished run, or data differ from those of the runs.
    """
    from budgetrun.papers.bounds.check import check
    from budgetrun.papers.bounds.figure import draw
    from budgetrun.papers.bounds.text import summary, write_csv
    from budgetrun.results.store.read import load

    results = load(Path(folder))
    checked = check(results, data_dir, streams)
    write_csv(results.folder / "bounds.csv", checked.rows)
    incomplete = f"{results.runs_path}: {results.incomplete}" if results.incomplete else ""
    return Report(summary(results, checked, draw(results, checked)), checked.violations, checked.missing, incomplete)
