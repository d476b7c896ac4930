"""``report.html``: one page with all that a reader needs to trust or doubt a result, nothing fetched from elsewhere."""

from __future__ import annotations

import base64
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from budgetrun.report import formats
from budgetrun.report.figures import Drawn
from budgetrun.report.findings import other_findings
from budgetrun.report.layout import Cell, Listing, Table, Tolerance
from budgetrun.report.notes import warnings
from budgetrun.store.read import Results

MINUS = "−"


def write(results: Results, made: list[Table], costs: list[Listing], drawn: list[Drawn]) -> Path:
    """Write the page and return its path."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        signed=lambda value, quantity: formats.signed(value, quantity).replace("-", MINUS),
        number=formats.number,
        ratio=formats.ratio_text,
        count=_count,
        duration=_duration,
        when=_when,
        words=_words,
        breakable=_breakable,
        data_uri=_data_uri,
    )
    text = environment.get_template("page.html.jinja").render(
        title=results.name,
        manifest=results.manifest,
        tables=made,
        costs=costs,
        figures=drawn,
        datasets=_datasets(results),
        facts=_facts(results),
        provenance=_provenance(results.manifest),
        choices=results.report.get("choices") or [],
        findings=other_findings(results, made),
        failures=results.failures,
        n_runs=len(results.runs),
        warnings=warnings(results),
        level=_level,
        candidates=lambda table: formats.candidate_rows(table, lambda number, quantity: quantity.text(number)),
        formats=formats,
    )
    path = results.folder / "report.html"
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _level(cell: Cell, tolerance: Tolerance) -> str:
    """Return the class that colours a difference: ``near`` within the tolerance, ``off`` within twice it."""
    if not cell.is_outside(tolerance):
        return "near"
    return "far" if cell.is_outside(tolerance.twice) else "off"


def _datasets(results: Results) -> list[dict[str, Any]]:
    """Return a line for each dataset that was read or run: its label, sizes, hashes, notes, kernels and failures."""
    known = results.manifest.get("datasets") or {}
    lines = []
    for label in dict.fromkeys([*results.datasets, *known]):
        about = known.get(label) or {}
        runs = results.runs[results.runs["dataset"] == label]
        lines.append(
            {
                "label": label,
                "n_examples": about.get("n_examples"),
                "n_features": about.get("n_features"),
                "n_tasks": runs["task"].nunique(),
                "n_repetitions": runs["repetition"].nunique(),
                "n_runs": len(runs),
                "kernels": list(runs["kernel"].unique()),
                "sha256": about.get("sha256"),
                "files": about.get("files") or {},
                "notes": about.get("notes") or [],
            }
        )
    return lines


def _facts(results: Results) -> list[tuple[str, str]]:
    """Return the settings that hold for all runs."""
    config = results.config
    tie = {"mistake": "mistake: f(x) = 0 counts as a mistake", "positive": "positive: f(x) = 0 predicts +1"}
    if any(isinstance(entry, dict) and entry.get("task") == "multiclass" for entry in config.get("datasets") or []):
        tie["mistake"] = "mistake: a largest score that another class shares counts as a mistake"
    facts = [
        ("Profile", results.manifest.get("profile")),
        ("Solvers" if results.of_solvers else "Learners", ", ".join(map(partial(_learner, results), results.labels))),
        ("Tie", None if results.of_solvers else tie.get(str(config.get("tie")), config.get("tie"))),
        ("Arithmetic", config.get("dtype")),
    ]
    return [(name, _words(value)) for name, value in facts if value is not None]


def _learner(results: Results, label: str) -> str:
    """Return a label with its settings, where it has several."""
    texts = [setting.text for setting in results.settings(label) if setting.items]
    return f"{label} ({'; '.join(texts)})" if texts else label


def _provenance(manifest: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what made these results: times, code and machine."""
    git = manifest.get("git") or {}
    commit = git.get("commit")
    if commit:
        commit = f"{commit} ({'with uncommitted changes' if git.get('dirty') else 'clean'})"
    lines = [
        ("Started", _when(manifest.get("start"))),
        ("Ended", _when(manifest.get("end"))),
        ("Wall time", _duration(manifest.get("seconds"))),
        ("Parallel jobs", manifest.get("jobs")),
        ("Seed", manifest.get("seed")),
        ("Git commit", commit or "none (not a checkout)"),
        ("Code hash", manifest.get("code")),
    ]
    names = {"cpu": "CPU", "blas": "BLAS"}
    lines += [(names.get(name, name), value) for name, value in (manifest.get("versions") or {}).items()]
    return [(name, _words(value)) for name, value in lines if value is not None]


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    return formats.NONE if value is None else str(value)


def _breakable(label: str) -> Markup:
    """Return a column's label, escaped, with leave to break the line before a bracket."""
    return escape(label).replace("(", Markup("<wbr>(")).replace("[", Markup("<wbr>["))


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else _words(value)


def _duration(seconds: Any) -> str:
    """Return ``12.3 s``, ``3 min 20 s`` or ``1 h 5 min``."""
    if not isinstance(seconds, int | float):
        return formats.NONE
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


def _data_uri(path: Path) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode("ascii")
