"""The tables as files: the long form as CSV, the paper's layout as Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from budgetrun.report import formats
from budgetrun.report.layout import Listing, Table
from budgetrun.report.quantities import GAP
from budgetrun.store.read import Results


def write(results: Results, made: list[Table], costs: list[Listing]) -> list[Path]:
    """Write ``tables/<name>.csv``, ``.md`` and ``.tex`` of every table and return their paths."""
    folder = results.folder / "tables"
    folder.mkdir(exist_ok=True)
    paths: list[Path] = []
    for table in made:
        texts = {"csv": long_form(table), "md": formats.markdown(table), "tex": formats.latex(table)}
        paths += _write_all(folder / table.file_name, texts)
        if table.candidates:
            # No table's name has a dot.
            rows = formats.candidate_rows(table, lambda number, _: number)
            paths += _write_all(folder / table.file_name, {"candidates.csv": _csv(rows)})
    for listing in costs:
        texts = {
            "csv": _csv([listing.header, *listing.rows]),
            "md": formats.markdown_listing(listing),
            "tex": formats.latex_listing(listing),
        }
        # A config's own table keeps its name.
        taken = listing.name in {table.file_name for table in made}
        paths += _write_all(folder / (f"{listing.name}_of_sweep" if taken else listing.name), texts)
    return paths


def _write_all(stem: Path, texts: dict[str, str]) -> list[Path]:
    paths = []
    for suffix, text in texts.items():
        path = stem.with_name(f"{stem.name}.{suffix}")
        path.write_text(text, encoding="utf-8", newline="\n")
        paths.append(path)
    return paths


_GAPS = ("gap", "sd", "sd_over_seeds", "min", "max")


def _columns(table: Table) -> list[str]:
    """Return the header of the long form: the unit is in the names where it is percent."""
    quantity = table.quantity
    settings = any(row.setting.items for block in table.blocks for row in block.rows)
    percent, points = ("_percent", "_points") if quantity.is_percent else ("", "")
    return [
        "dataset",
        "label",
        *(["setting"] if settings else []),
        *(["chosen"] if table.has_chosen else []),
        "budget_fraction",
        "budget",
        "budget_mean",
        "n_runs",
        "n_streams",
        "n_seeds",
        "n_failed",
        quantity.column,
        f"sd{percent}",
        "sd_over_seeds",
        "min",
        "max",
        "support_size_mean",
        f"printed{percent}",
        *([f"printed_sd{percent}"] if table.has_sds else []),
        "printed_dataset",
        "printed_label",
        f"difference{points}",
        "difference_percent",
        *(["difference_in_sd"] if table.has_sds else []),
        "relative_to_reference",
        "outside_tolerance",
    ]


def long_form(table: Table) -> str:
    """Return the table as CSV, one row a cell, in the unit of the table; empty where there is none."""
    columns = _columns(table)
    percent, points = ("_percent", "_points") if table.quantity.is_percent else ("", "")
    # A learner without settings stands in the row of each, with the same numbers.
    rows: dict[tuple[Any, ...], None] = {tuple(columns): None}
    for cell in table.cells:
        m = cell.measured
        if m is None and cell.printed is None:
            continue
        values = {
            "dataset": cell.dataset,
            "label": cell.label,
            "setting": cell.setting.text,
            "chosen": cell.chosen,
            "budget_fraction": cell.budget.value if cell.budget.kind == "fraction" else None,
            "budget": cell.budget.value if cell.budget.kind in ("budget", "dataset") else None,
            f"printed{percent}": cell.printed,
            f"printed_sd{percent}": cell.printed_sd,
            "difference_in_sd": cell.in_sds,
            f"difference{points}": cell.difference,
            "difference_percent": cell.percent,
            "relative_to_reference": cell.relative,
        }
        if cell.printed is not None:
            values |= {"printed_dataset": cell.source[0], "printed_label": cell.source[1]}
        if cell.percent is not None:
            values["outside_tolerance"] = "yes" if cell.is_outside(table.tolerance) else "no"
        if m is not None:
            values |= {
                "budget_mean": m.budget,
                "n_runs": m.n_runs,
                "n_streams": m.n_streams,
                "n_seeds": m.n_seeds,
                "n_failed": m.n_failed,
                table.quantity.column: m.mean,
                f"sd{percent}": m.sd,
                "sd_over_seeds": m.sd_over_seeds,
                "min": m.minimum,
                "max": m.maximum,
                "support_size_mean": m.support_size,
            }
        if table.quantity is GAP:
            # They are far below 1, and their figures count.
            known = {key: values[key] for key in _GAPS if key in values}
            values |= {key: f"{value:.6g}" for key, value in known.items() if not math.isnan(value)}
        rows[tuple(_exact(values.get(column)) for column in columns)] = None
    return _csv(rows)


def _csv(rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([[_exact(value) for value in row] for row in rows])
    return text.getvalue()


def _exact(value: Any) -> Any:
    """Eight digits after the point at most, whole numbers without one, nothing for None and NaN."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.8f}".rstrip("0").rstrip(".")
    return "" if value is None else value
