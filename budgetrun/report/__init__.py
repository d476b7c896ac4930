"""Tables, figures and one HTML page, made from what a sweep left in its results folder and from nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

__all__ = ["summary", "write_figures", "write_report"]


def write_report(folder: Path) -> list[Path]:
    """Write every table, every figure and the page ``report.html`` of a results folder.

    Parameters
    ----------
    folder : Path
        A results folder: ``manifest.json`` and ``runs.csv`` (or ``runs.csv.gz``).

    Returns
    -------
    list of Path
        The files written: ``tables/*``, ``figures/*``, ``report.html``, in this order.

    Raises
    ------
    InputError
        The folder holds no finished run, or something in it cannot be read.
    """
    from budgetrun.report import costs, export, figures, page, tables
    from budgetrun.store.read import load

    results = load(Path(folder))
    made = tables.build(results)
    times = costs.build(results)
    table_files = export.write(results, made, times)
    drawn = figures.draw(results, made)
    figure_files = [path for figure in drawn for path in figure.written]
    return [*table_files, *figure_files, page.write(results, made, times, drawn)]


def write_figures(folder: Path) -> list[Path]:
    """Write ``figures/<name>.png`` and ``.svg`` of a results folder and return their paths.

    A figure without a finished run to show is left out, and so is one against the rounds whose curves are not there.
    Raises InputError as `write_report` does.
    """
    from budgetrun.report import figures, tables
    from budgetrun.store.read import load

    results = load(Path(folder))
    return [path for figure in figures.draw(results, tables.build(results)) for path in figure.written]


def summary(folder: Path) -> str:
    """Return the words for the end of a sweep: the first table against the print, then where the files are.

    Raises InputError as `write_report` does.
    """
    from budgetrun.report import tables
    from budgetrun.report.formats import plain
    from budgetrun.store.read import load

    results = load(Path(folder))
    # Where the output is no terminal: a width that logs and mails keep.
    width = shutil.get_terminal_size(fallback=(100, 24)).columns
    lines = [plain(tables.build(results)[0], width)]
    if len(results.failures):
        noun = "run" if len(results.failures) == 1 else "runs"
        lines.append(f"{len(results.failures)} {noun} failed; the means are over those that finished.\n")
    page = results.folder / "report.html"
    places = {"runs": results.runs_path, "tables": results.folder / "tables", "figures": results.folder / "figures"}
    lines += [f"{name:<8} {path}" for name, path in {**places, "page": page}.items() if path.exists()]
    if not page.exists():
        lines.append(f"For the page, type: budgetrun report {results.folder}")
    return "\n".join(lines) + "\n"
