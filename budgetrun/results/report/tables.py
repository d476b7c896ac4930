"""The tables of a report, as the config asks for them, and what the runs cost."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from budgetrun.base import grid
from budgetrun.base.files import make_folder
from budgetrun.base.files import write as write_file
from budgetrun.config.quantities import (
    GAP,
    OBJECTIVE,
    ONLINE_ERROR,
    QUANTITIES,
    REST_ERROR,
    REST_RMSE,
    RMSE,
    SECONDS,
    SECONDS_RATIO,
    Quantity,
)
from budgetrun.config.schema import FindingSpec, Published, TableSpec
from budgetrun.results.report import formats, published, readings, words
from budgetrun.results.report.aggregate import Place, measure
from budgetrun.results.report.layout import DEFAULT_TOLERANCE, Cell, Listing, Outside, Table, Tolerance
from budgetrun.results.report.notes import notes
from budgetrun.results.report.rows import Rows
from budgetrun.results.report.selection import choose
from budgetrun.results.store.read import Results, items_of


def build(results: Results) -> list[Table]:
    """Return the tables that the config asks for, or default ones where it asks for none."""
    return [_table(results, spec) for spec in results.tables or _default_specs(results)]


def write(folder: Path, tables: list[Table], costs: list[Listing]) -> list[Path]:
    """Write ``<name>.csv``, ``.md`` and ``.tex`` of every table and return their paths."""
    make_folder(folder)
    names = {table.name for table in tables}
    texts: dict[Path, str] = {}
    every: list[Table | Listing] = [*tables, *costs]
    for table in every:
        # A table of the config keeps its name.
        name = f"{table.name}_of_sweep" if isinstance(table, Listing) and table.name in names else table.name
        texts |= {folder / f"{name}.{suffix}": writer(table) for suffix, writer in formats.WRITERS.items()}
        if isinstance(table, Table) and table.candidates:
            # No table's name has a dot.
            texts[folder / f"{name}.candidates.csv"] = grid.csv(words.candidate_rows(table))
    for path, text in texts.items():
        write_file(path, text)
    return list(texts)


def quantity_of(spec: TableSpec) -> Quantity:
    """Return what a table shows: after a choice by the first tenth, errors are those of the remaining rounds."""
    quantity = QUANTITIES[spec.quantity]
    by_prefix = spec.choose is not None and spec.choose.by == "prefix"
    return {ONLINE_ERROR: REST_ERROR, RMSE: REST_RMSE}.get(quantity, quantity) if by_prefix else quantity


def _default_specs(results: Results) -> list[TableSpec]:
    if results.of_batch:
        return [TableSpec(name=quantity.name, quantity=quantity.name) for quantity in (OBJECTIVE, GAP, SECONDS)]
    error = QUANTITIES[results.config.problem.error]
    caption = f"{error.in_words[0].upper()}{error.in_words[1:]}."
    metrics = [TableSpec(name=name, quantity=name) for name in results.config.metrics]
    return [TableSpec(name=error.name, caption=caption, quantity=error.name), *metrics]


def _table(results: Results, spec: TableSpec) -> Table:
    quantity = quantity_of(spec)
    divisor, reference = (spec.relative_to, None) if quantity is SECONDS_RATIO else (None, spec.relative_to)
    columns = list(dict.fromkeys(spec.columns or results.labels))
    rows = list(spec.rows or results.datasets)
    choice, shown = None, results
    if spec.choose is not None:
        labels = columns if spec.relative_to is None else [*columns, spec.relative_to]
        choice = choose(results, spec, spec.choose, rows, labels)
        shown = choice.results
    # Everything that ran has its seconds, so they decide the layout.
    measured, ran = measure(shown, quantity, divisor), measure(shown, SECONDS)
    numbers, texts = published.shown(spec, divisor), choice.texts if choice else {}
    own = {dataset.label for dataset in results.config.datasets if dataset.path is not None}
    blocks = Rows(rows, columns, measured, ran, numbers, reference, texts, results.title, own).blocks()
    tolerance = Tolerance(spec.tolerance, spec.tolerance_sd)
    if tolerance == (None, None):
        tolerance = Tolerance(DEFAULT_TOLERANCE)
    table = Table(
        *(spec.name, *_title(results, spec, quantity)),
        titles=results.report.titles,
        quantity=quantity,
        columns=columns,
        blocks=blocks,
        tolerance=tolerance,
        relative_to=reference,
        candidates=choice.candidates if choice else [],
    )
    table = replace(
        table,
        outside=_outside(results, table.cells, tolerance),
        best=readings.best(columns, rows, table.cells, spec.aliases, tolerance),
        notes=notes(results, table, choice.notes if choice else [], divisor),
    )
    n_absent = len(_absent(results, spec, [column for column in columns if column != divisor]))
    return replace(table, verdict=readings.verdict(table, spec.aliases, divisor, n_absent))


def _title(results: Results, spec: TableSpec, quantity: Quantity) -> tuple[str, str]:
    """Return the first sentence of the caption and the rest; without a caption, the source and what is shown."""
    if spec.caption is None:
        return f"{results.manifest.get('source') or spec.name}: {quantity.in_words}", ""
    title, _, remark = re.sub(r"\.(?:$| (?=[A-Za-z|]))", "\n", spec.caption, count=1).partition("\n")
    return title, remark


def _absent(results: Results, spec: TableSpec, columns: list[str]) -> list[Published]:
    """Return the published numbers on datasets of the config that did not run, such as optional ones."""
    wanted = {dataset.label for dataset in results.config.datasets}
    absent = (wanted if spec.rows is None else wanted & set(spec.rows)) - set(results.datasets)
    labels = {spec.aliases.get(column, column) for column in columns}
    return [row for row in spec.published if row.dataset in absent and row.label in labels]


def _outside(results: Results, cells: list[Cell], tolerance: Tolerance) -> list[Outside]:
    """Return the cells outside the tolerance, each once, with the findings on them."""
    found: dict[Place, Outside] = {}
    for cell in cells:
        if cell.is_outside(tolerance):
            findings = [one for one in results.report.findings if _is_on(one, cell)]
            dataset, label, budget, setting = cell.place
            names = results.title(dataset), results.title(label), setting.text or cell.chosen
            text = ", ".join(filter(None, (*names, budget.title() if cell.has_budget else "")))
            item = Outside(cell, text, [one.text for one in findings], all(one.open for one in findings))
            found.setdefault(item.key, item)
    return list(found.values())


def _is_on(finding: FindingSpec, cell: Cell) -> bool:
    """Return True if a finding's selectors choose this cell; a budget chooses no cell of an algorithm without one."""
    dataset, label, budget, setting = cell.place
    items = {*setting.items, *items_of(cell.chosen)}
    fraction = budget.value if budget.kind == "fraction" and cell.has_budget else None
    fixed = budget.value if budget.kind in ("budget", "dataset") and cell.has_budget else None
    return (
        (finding.dataset is None or dataset in _several(finding.dataset))
        and (finding.label is None or label in _several(finding.label))
        and (finding.setting is None or any(items_of(text) <= items for text in _several(finding.setting)))
        and (finding.budget_fraction is None or fraction in _several(finding.budget_fraction))
        and (finding.budget is None or fixed in _several(finding.budget))
    )


def _several(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def other_findings(results: Results, tables: list[Table]) -> list[str]:
    """Return the texts of the findings that are on no cell outside a tolerance."""
    used = {text for table in tables for item in table.outside for text in item.findings}
    return [finding.text for finding in results.report.findings if finding.text not in used]


def costs(results: Results) -> list[Listing]:
    """Return the sums of the runs' seconds and, where the manifest has them, the times of the sweep's jobs."""
    sums = results.runs.groupby(["dataset", "label"])["seconds"].sum()
    labels = results.labels
    rows: list[list[Any]] = []
    for dataset in results.datasets:
        own = sums[dataset]
        rows.append([dataset, *(own.get(label) for label in labels), own.reindex(labels).sum()])
    swept = any(setting.items for label in labels for setting in results.settings(label))
    over = "tasks, repetitions, seeds, budgets and settings" if swept else "tasks, repetitions, seeds and budgets"
    title, remark = f"Seconds recorded with the runs, summed over {over}", ""
    if results.of_batch:
        compiling = results.runs["compile_seconds"].sum()
        remark = f"Compiling, which does not count, took {compiling:,.1f} s more."
    titles = results.report.titles
    listings = [Listing("seconds", title, remark, titles, ["dataset", *labels, "all"], rows, 1)]
    parts = results.manifest.get("parts") or []
    if parts:
        keys = ("runs", "wall_seconds", "cpu_seconds")
        rows = [
            [str(part.get("dataset", "")), tuple(map(str, part.get("algorithms") or [])), *map(part.get, keys)]
            for part in parts
        ]
        title = "Times of the sweep's jobs: the algorithms of a job read one stream together"
        listings.append(Listing("parts", title, "", titles, ["dataset", "algorithms", *keys], rows, 2))
    return listings
