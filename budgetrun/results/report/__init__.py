"""Tables, figures and one HTML page of a results folder, computed from its files alone."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from budgetrun.base.errors import counted
from budgetrun.results.report import figures, listings, page, tables
from budgetrun.results.report.evidence import with_numbers
from budgetrun.results.report.formats import plain
from budgetrun.results.report.layout import Table
from budgetrun.results.store.read import load

__all__ = ["Report", "write_index"]


class Report:
    """The report of a results folder, which is read once.

    Raises
    ------
    InputError
        The folder holds no finished run, or something in it cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.results = with_numbers(load(Path(folder)))

    @cached_property
    def tables(self) -> list[Table]:
        """The tables that the config asks for."""
        return tables.build(self.results)

    @property
    def incomplete(self) -> str:
        """A sentence on the runs that differ from those that were planned; empty if none do."""
        path, how = self.results.runs_path, self.results.incomplete
        return f"{path}: {how}; to complete them, see: budgetrun status {self.results.folder}" if how else ""

    def write(self) -> list[Path]:
        """Write ``tables/*``, ``figures/*`` and ``report.html``; return the paths in this order."""
        selections, costs = listings.selections(self.results), listings.costs(self.results)
        table_files = tables.write(self.results.folder / "tables", self.tables, [*selections, *costs])
        drawn = figures.draw(self.results)
        figure_files = [path for figure in drawn for path in figure.written]
        return [*table_files, *figure_files, page.write(self.results, self.tables, selections, costs, drawn)]

    def draw(self) -> list[Path]:
        """Write ``figures/*`` alone; return the paths."""
        return [path for figure in figures.draw(self.results) for path in figure.written]

    def summary(self) -> str:
        """Return the first table and where the files are, for the end of a sweep."""
        results = self.results
        # Where the output is not a terminal: a width that fits logs and mails.
        width = shutil.get_terminal_size(fallback=(100, 24)).columns
        lines = [plain(self.tables[0], width)]
        if results.failures:
            lines.append(f"{counted(len(results.failures), 'run')} failed; the means are over those that finished.\n")
        files = {"tables": "tables", "figures": "figures", "page": "report.html"}
        places = {"runs": results.runs_path, **{name: results.folder / file for name, file in files.items()}}
        lines += [f"{name:<8} {path}" for name, path in places.items() if path.exists()]
        if not places["page"].exists():
            lines.append(f"To make the page, type: budgetrun report {results.folder}")
        return "\n".join(lines) + "\n"


def write_index(folder: Path, reports: Iterable[Report]) -> Path:
    """Write ``index.html`` of a folder with results folders, given their reports; return its path."""
    return page.write_index(folder, [(report.results, report.tables) for report in reports])
