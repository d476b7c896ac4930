"""The cells outside a table's tolerance, and which of the config's findings explain them."""

from __future__ import annotations

from typing import Any

from budgetrun.report.layout import Block, Cell, Outside, Table, Tolerance, has_budget
from budgetrun.store.read import Results, items_of


def outside(results: Results, blocks: list[Block], tolerance: Tolerance) -> list[Outside]:
    """Return the cells outside the tolerance, each once, with the findings that explain them."""
    found: dict[tuple[Any, ...], Outside] = {}
    for cell in (cell for block in blocks for row in block.rows for cell in row.cells):
        if cell.is_outside(tolerance):
            # A learner without a budget stands in every block, but is one cell.
            key = (cell.dataset, cell.label, cell.setting, cell.budget if has_budget(cell) else None)
            texts = [finding["text"] for finding in _findings(results) if explains(finding, cell)]
            found.setdefault(key, Outside(cell, texts))
    return list(found.values())


def explains(finding: dict[str, Any], cell: Cell) -> bool:
    """Whether a finding's selectors choose this cell; one that names a budget says nothing of a learner without one."""
    datasets, labels = _as_list(finding.get("dataset")), _as_list(finding.get("label"))
    if (datasets and cell.dataset not in datasets) or (labels and cell.label not in labels):
        return False
    settings = [items_of(text) for text in _as_list(finding.get("setting"))]
    if settings and not any(items <= {*cell.setting.items, *items_of(cell.chosen)} for items in settings):
        return False
    for key, kind in (("budget_fraction", "fraction"), ("budget", "budget")):
        wanted = _as_list(finding.get(key))
        kinds = (kind, "dataset") if kind == "budget" else (kind,)
        if wanted and (cell.budget.kind not in kinds or cell.budget.value not in wanted or not has_budget(cell)):
            return False
    return True


def other_findings(results: Results, made: list[Table]) -> list[str]:
    """Return the findings' texts that explain no cell outside a tolerance."""
    used = {text for table in made for item in table.outside for text in item.findings}
    return [finding["text"] for finding in _findings(results) if finding["text"] not in used]


def _findings(results: Results) -> list[dict[str, Any]]:
    return results.report.get("findings") or []


def _as_list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]
