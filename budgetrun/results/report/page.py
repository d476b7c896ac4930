"""``report.html``: one page with all that a reader needs to judge the results; it loads nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Template
from markupsafe import escape

from budgetrun.base.files import write as write_file
from budgetrun.base.grid import Cell, Grid, Raw
from budgetrun.results.plotting import slug
from budgetrun.results.report import formats
from budgetrun.results.report.figures import Drawn
from budgetrun.results.report.layout import NONE, Listing, Table
from budgetrun.results.report.notes import warnings
from budgetrun.results.report.tables import other_findings
from budgetrun.results.store.files import MANIFEST
from budgetrun.results.store.read import Results, listed

# The parts of a verdict, and what the index calls them.
_CELLS = {
    "within": "published cells within",
    "explained": "outside, explained",
    "open": "open",
    "missing": "not measured",
}
_OF_DATASETS = ["dataset", "examples", "features", "tasks", "repetitions", "finished runs", "kernel"]
_OF_DATASETS += ["examples held as"]


def write(
    results: Results, tables: list[Table], selections: list[Listing], costs: list[Listing], figures: list[Drawn]
) -> Path:
    """Write the page and return its path."""
    datasets, findings = _datasets(results), other_findings(results, tables)
    # A paper's table leads its page; otherwise figures do.
    figures_first = not tables[0].title.startswith("Table")
    contents = [(f"table-{table.name}", table.title) for table in tables]
    contents[1:1] = [("findings", "Findings")] if findings else []
    if figures:
        contents.insert(0 if figures_first else len(contents), ("figures", "Figures"))
    contents += [(listing.name, listing.title) for listing in selections]
    contents += [("choices", "Choices")] if results.report.choices else []
    contents += [("run", "What was run"), ("time", "Time"), ("provenance", "Provenance")]
    text = template("page.html.jinja").render(
        title=title_of(results),
        results=results,
        contents=contents,
        figures_first=figures_first,
        finding=finding(results, tables),
        tables=tables,
        selections=selections,
        costs=costs,
        figures=figures,
        datasets=datasets,
        dataset_grid=Grid(_OF_DATASETS, [one["row"] for one in datasets], words=(0, 6, 7)),
        facts=_facts(results),
        provenance=_provenance(results),
        findings=findings,
        warnings=warnings(results),
    )
    path = results.folder / "report.html"
    write_file(path, text)
    return path


def write_index(folder: Path, reports: Iterable[tuple[Results, list[Table]]]) -> Path:
    """Write ``index.html``, which leads to the pages of the results folders in a folder, and return its path.

    Pages are grouped as their configs say: by paper, the oldest first, then by question.
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    for results, tables in reports:
        groups.setdefault(results.report.group or "Other results", []).append(
            {
                "name": results.folder.name,
                "title": title_of(results),
                "finding": finding(results, tables),
                "verdicts": [table.verdict for table in tables if table.verdict],
                "titles": [table.title for table in tables if table.verdict],
                "figure": _first_figure(results),
                "n_runs": len(results.runs),
                "end": results.manifest.get("end"),
                "warnings": warnings(results),
            }
        )
    years = {name: re.search(r"\((\d{4})\)", name) for name in groups}
    groups = dict(sorted(groups.items(), key=lambda one: (int((years[one[0]] or [0, 9999])[1]), one[0])))
    # Folders of other commands have no manifest.
    others = (path for suffix in ("html", "md") for path in folder.glob(f"*/*.{suffix}"))
    found = sorted(path.relative_to(folder).as_posix() for path in others if not (path.parent / MANIFEST).exists())
    path = folder / "index.html"
    totals = _totals(groups) if len(groups) > 1 else None
    write_file(path, template("index.html.jinja").render(title="Results", groups=groups, totals=totals, others=found))
    return path


def _totals(groups: dict[str, list[dict[str, Any]]]) -> Grid:
    """Return how many pages and runs each group has, and how many published cells it reaches."""
    heads: list[str | Cell] = []
    counts: list[list[int]] = []
    for i, (name, pages) in enumerate(groups.items()):
        verdicts = [verdict for page in pages for verdict in page["verdicts"]]
        cells = (sum(getattr(verdict, key) for verdict in verdicts) for key in _CELLS)
        heads.append(Cell(Raw(f'<a href="#group-{i}">{escape(name)}</a>')))
        counts.append([len(pages), sum(page["n_runs"] for page in pages), *cells])
    counts.append([sum(column) for column in zip(*counts, strict=True)])
    rows: list[list[str | Cell]] = [
        [head, *map("{:,}".format, own)] for head, own in zip([*heads, "all"], counts, strict=True)
    ]
    return Grid(["", "pages", "runs", *_CELLS.values()], rows)


def _first_figure(results: Results) -> str:
    """Return the path of one figure of a results folder, from the folder above; empty if there is none."""
    folder = results.folder / "figures"
    paths = [folder / f"{slug(spec.name)}.png" for spec in results.report.figures] + sorted(folder.glob("*.png"))
    return next((f"{results.folder.name}/figures/{path.name}" for path in paths if path.is_file()), "")


def template(name: str) -> Template:
    """Return the template of a page, with the filters that all pages share."""
    environment = formats.environment()
    environment.filters.update(when=_when, words=_words)
    return environment.get_template(name)


def title_of(results: Results) -> str:
    """Return the title of a page."""
    return results.report.title or results.manifest.get("source") or results.name


def finding(results: Results, tables: list[Table]) -> str:
    """Return in a sentence or two what was found; empty if the verdicts on published numbers say it."""
    if results.report.finding or any(table.verdict for table in tables):
        return results.report.finding or ""
    return next(filter(None, (table.leaders for table in tables)), "")


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
        row = [results.title(label), *map(_words, [*cells, about.get("kind") or None])]
        found.append({"files": {}, "notes": [], "sha256": None} | about | {"label": row[0], "row": row})
    return found


def _facts(results: Results) -> list[tuple[str, str]]:
    """Return the settings that hold for all runs."""
    config, tie = results.config, None
    compiled = results.manifest.get("compiled")
    problem = config.problem
    if problem.ties and not results.of_batch:
        tied = "f(x) = 0" if problem.of_signs else "a largest score that another class shares"
        counts = {"mistake": f"{tied} counts as a mistake", "positive": "f(x) = 0 predicts +1"}
        tie = f"{config.tie}: {counts[config.tie]}"
    names = []
    for label in results.labels:
        texts = [setting.text for setting in results.settings(label) if setting.items]
        names.append(results.title(label) + (f" ({'; '.join(texts)})" if texts else ""))
    return _known(
        ("Profile", results.manifest.get("profile")),
        ("Solvers" if results.of_batch else "Learners", listed(names)),
        ("Tie", tie),
        ("Arithmetic", config.dtype),
        ("Loops", None if compiled is None else "compiled" if compiled else "numpy"),
    )


def _provenance(results: Results) -> list[tuple[str, str]]:
    """Return what made these results: times, code and machine."""
    manifest = results.manifest
    git = manifest.get("git") or {}
    commit = git.get("commit")
    if commit:
        commit = f"{commit} ({'with uncommitted changes' if git.get('dirty') else 'clean'})"
    names = {"cpu": "CPU", "blas": "BLAS"}
    versions = [(names.get(name, name), value) for name, value in (manifest.get("versions") or {}).items()]
    return _known(
        ("Config", results.name),
        ("Started", _when(manifest.get("start"))),
        ("Ended", _when(manifest.get("end"))),
        ("Wall time", _duration(manifest.get("seconds"))),
        ("Parallel jobs", manifest.get("jobs")),
        ("Seed", manifest.get("seed")),
        ("Git commit", commit or "none (not a checkout)"),
        ("Code hash", manifest.get("code")),
        *versions,
    )


def _known(*facts: tuple[str, Any]) -> list[tuple[str, str]]:
    return [(name, _words(value)) for name, value in facts if value is not None]


def _words(value: Any) -> str:
    """Return a value of the manifest in words: counts with commas, lists and dicts item by item."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    if isinstance(value, int):
        return f"{value:,}"
    return NONE if value is None else str(value)


def _duration(seconds: Any) -> str:
    """Return ``12.3 s``, ``3 min 20 s`` or ``1 h 5 min``."""
    if not isinstance(seconds, int | float):
        return NONE
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, of_hour = divmod(minutes, 60)
    return f"{hours} h {of_hour} min" if hours else f"{minutes} min {rest} s"


def _when(value: Any) -> str:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return _words(value)
    return f"{moment:%Y-%m-%d %H:%M:%S}" + (f" {moment:%Z}" if moment.tzinfo else "")
