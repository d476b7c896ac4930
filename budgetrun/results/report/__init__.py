"""Tables, figures and one HTML page of a results folder, computed from its files alone.

The page, ``report.html``, loads nothing; an index leads to the pages of several folders.
"""

import re
import shutil
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from markupsafe import escape

from budgetrun.base.errors import capitalised, counted
from budgetrun.base.files import write
from budgetrun.base.grid import Grid, Raw
from budgetrun.config.quantities import QUANTITIES
from budgetrun.results.plotting import slug
from budgetrun.results.report import figures, listings, tables
from budgetrun.results.report.evidence import with_numbers
from budgetrun.results.report.figures import Drawn
from budgetrun.results.report.formats import in_words, plain, template
from budgetrun.results.report.layout import Listing, Table
from budgetrun.results.report.notes import warnings
from budgetrun.results.report.numbers import NO_BUDGET, Place, measure
from budgetrun.results.store.files import MANIFEST
from budgetrun.results.store.read import Results, listed, load

# The parts of a verdict, and what the index calls them.
_CELLS = {
    "within": "published cells within",
    "explained": "outside, explained",
    "open": "open",
    "missing": "not measured",
}
_DATASETS = ["dataset", "examples", "features", "tasks", "repetitions", "finished runs", "kernel", "examples held as"]


class Report:
    """The report of a results folder, which is read once.

    Raises InputError: the folder holds no finished run, or something in it cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.results = with_numbers(load(Path(folder)))
        self.warnings = warnings(self.results)

    @cached_property
    def tables(self) -> list[Table]:
        """The tables that the config asks for."""
        return tables.build(self.results)

    @property
    def incomplete(self) -> str:
        """A sentence on the runs that differ from those that were planned; empty if none do."""
        path, how = self.results.runs_path, self.results.incomplete
        return f"{path}: {how}; to complete them, see: budgetrun status {self.results.folder}" if how else ""

    @property
    def title(self) -> str:
        """The title of the page."""
        return self.results.report.title or self.results.manifest.get("source") or self.results.name

    @cached_property
    def headline(self) -> str:
        """The errors of the best learners beside that of a trivial prediction; empty without the latter.

        For example: ``Auto errs 5.41%; the larger class 44.31%; ...``.
        """
        results = self.results
        problem, known, families = results.config.problem, results.algorithms, results.families
        if results.of_batch or len(results.datasets) != 1 or "constant" not in families.values():
            return ""
        quantity = QUANTITIES[problem.error]
        measured = measure(results, quantity)
        best: dict[str, Place] = {}
        for place in sorted(measured, key=lambda place: measured[place].mean):
            # Rules of selection are no learners.
            best.setdefault(families.get(place.label, "combined"), place)
        names = {"constant": problem.constant}
        for family, place in best.items():
            title = results.title(place.label)
            details = [place.budget.title()] if place.budget != NO_BUDGET and family == "kernel" else []
            swept = known[place.label].swept if place.label in known and family != "kernel" else None
            items = [item for item in place.setting.items if swept is None or item.partition("=")[0] in swept]
            full = ", ".join([title, *details, *items])
            if family == "kernel":
                several = sum(families.get(other.label) == family for other in measured) > 1
                full = f"{'best kernel learner ' if several else ''}{full}{',' if details else ''}"
            names.setdefault(family, full[0].lower() + full[1:] if family == "linear" else full)
        order = ("combined", "constant", "linear", "kernel") if "combined" in best else ("kernel", "constant", "linear")
        shown = [family for family in order if family in best]
        names[shown[0]] += " errs" if problem.of_classes else f" has an {problem.error_title} of"
        text = "; ".join(f"{names[one]} {quantity.write(measured[best[one]].mean)}{quantity.unit}" for one in shown)
        chosen = any(len(results.settings(best[family].label)) > 1 for family in shown)
        return f"{capitalised(text)}.{' Settings are the best in hindsight.' if chosen else ''}"

    @property
    def finding(self) -> str:
        """What was found, in a sentence or two; empty if the verdicts on published numbers say it."""
        if self.results.report.finding or any(table.verdict for table in self.tables):
            return self.results.report.finding or ""
        return self.headline or next(filter(None, (table.leaders for table in self.tables)), "")

    @property
    def first_figure(self) -> str:
        """The path of one figure, from the folder above; empty if there is none."""
        folder = self.results.folder / "figures"
        paths = [folder / f"{slug(spec.name)}.png" for spec in self.results.report.figures]
        found = next(filter(Path.is_file, [*paths, *sorted(folder.glob("*.png"))]), None)
        return f"{self.results.folder.name}/figures/{found.name}" if found else ""

    def write(self) -> list[Path]:
        """Write ``tables/*``, ``figures/*`` and ``report.html``; return the paths in this order."""
        selections, costs = listings.selections(self.results), listings.costs(self.results)
        table_files = tables.write(self.results.folder / "tables", self.tables, [*selections, *costs])
        drawn = figures.draw(self.results)
        path = self.results.folder / "report.html"
        write(path, self._page(selections, costs, drawn))
        return [*table_files, *(path for figure in drawn for path in figure.written), path]

    def _page(self, selections: list[Listing], costs: list[Listing], drawn: list[Drawn]) -> str:
        datasets, findings = _datasets(self.results), tables.other_findings(self.results, self.tables)
        return template("page.html.jinja").render(
            title=self.title,
            report=self,
            results=self.results,
            # A paper's table leads its page; otherwise figures do.
            figures_first=not self.tables[0].title.startswith("Table"),
            selections=selections,
            costs=costs,
            of_part=listings.of_part(self.results),
            figures=drawn,
            datasets=datasets,
            dataset_grid=Grid(_DATASETS, [one["row"] for one in datasets], words=(0, 6, 7)),
            algorithms=_algorithms(self.results),
            findings=findings,
        )

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
    """Write ``index.html``, which leads to the pages of the results folders in a folder, and return its path.

    Pages are grouped as their configs say: by paper, the oldest first, then by question.
    """
    groups: dict[str, list[Report]] = {}
    for report in reports:
        groups.setdefault(report.results.report.group or "Other results", []).append(report)
    years = {name: re.search(r"\((\d{4})\)", name) for name in groups}
    groups = dict(sorted(groups.items(), key=lambda one: (int((years[one[0]] or [0, 9999])[1]), one[0])))
    # Folders of other commands have no manifest.
    others = (path for suffix in ("html", "md") for path in folder.glob(f"*/*.{suffix}"))
    found = sorted(path.relative_to(folder).as_posix() for path in others if not (path.parent / MANIFEST).exists())
    path = folder / "index.html"
    totals = _totals(groups) if len(groups) > 1 else None
    write(path, template("index.html.jinja").render(title="Results", groups=groups, totals=totals, others=found))
    return path


def _totals(groups: dict[str, list[Report]]) -> Grid:
    """Return how many pages and runs each group has, and how many published cells it reaches.

    A cell that several tables show counts once, as in the longest of them. Where published numbers chose the settings,
    it does not count.
    """
    heads = [Raw(f'<a href="#group-{i}">{escape(name)}</a>') for i, name in enumerate(groups)]
    counts: list[list[int]] = []
    for reports in groups.values():
        verdicts = [table.verdict for report in reports for table in report.tables if table.verdict]
        longest_last = sorted((one.cells for one in verdicts if not one.fitted), key=len)
        states = list({what: state for cells in longest_last for what, state in cells}.values())
        runs = sum(len(report.results.runs) for report in reports)
        counts.append([len(reports), runs, *(states.count(state) for state in _CELLS)])
    counts.append([sum(column) for column in zip(*counts, strict=True)])
    rows = [[head, *map("{:,}".format, own)] for head, own in zip([*heads, "all"], counts, strict=True)]
    return Grid(["", "pages", "runs", *_CELLS.values()], rows)


def _datasets(results: Results) -> list[dict[str, Any]]:
    """Return what the page says of each dataset that was read or run: what the manifest has, and a row of a table."""
    known = results.manifest.get("datasets") or {}
    found = []
    for label in dict.fromkeys([*results.datasets, *known]):
        about = known.get(label) or {}
        runs = results.runs[results.runs["dataset"] == label]
        learned = runs[~runs["label"].isin([spec.label for spec in results.config.select])]
        kernels = ", ".join(learned["kernel"].unique()) or None
        counts = runs["task"].nunique(), runs["repetition"].nunique(), len(runs)
        cells = [about.get("n_examples"), about.get("n_features"), *counts, kernels]
        row = [results.title(label), *map(in_words, [*cells, about.get("kind") or None])]
        found.append({"files": {}, "notes": [], "sha256": None} | about | {"label": row[0], "row": row})
    return found


def _algorithms(results: Results) -> str:
    """Return the titles of the algorithms, each with its settings."""
    names = []
    for label in results.labels:
        texts = [setting.text for setting in results.settings(label) if setting.items]
        names.append(results.title(label) + (f" ({'; '.join(texts)})" if texts else ""))
    return listed(names)
