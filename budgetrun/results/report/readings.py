"""The verdict on a table's published cells, and the readings of a paper's text that fit best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from budgetrun.results.report.aggregate import Place
from budgetrun.results.report.layout import Cell, Outside, Table, Tolerance, Verdict


def best(
    columns: list[str], datasets: list[str], cells: list[Cell], aliases: Mapping[str, str], tolerance: Tolerance
) -> tuple[list[str], list[str]]:
    """Return one column and one dataset of those that share their published numbers, and all others.

    The one with the smallest share of cells outside the tolerance is chosen; of equal ones, the one that has no alias,
    then the first. Columns are chosen on the datasets that have no alias, datasets on the columns that were chosen.
    """
    own = [cell for cell in cells if cell.place.dataset not in aliases]
    fits = {column: _misfit((c for c in own if c.place.label == column), tolerance) for column in columns}
    chosen = _smallest(columns, aliases, fits)
    own = [cell for cell in cells if cell.place.label in chosen]
    fits = {dataset: _misfit((c for c in own if c.place.dataset == dataset), tolerance) for dataset in datasets}
    return chosen, _smallest(datasets, aliases, fits)


def _misfit(cells: Iterable[Cell], tolerance: Tolerance) -> float:
    found = [cell.is_outside(tolerance) for cell in cells if cell.percent is not None]
    return sum(found) / len(found) if found else math.inf


def _smallest(names: list[str], aliases: Mapping[str, str], misfits: Mapping[str, float]) -> list[str]:
    """Return the name with the smallest misfit of each group with the same published numbers, in the old order."""
    groups: dict[str, list[str]] = {}
    for name in sorted(names, key=aliases.__contains__):
        groups.setdefault(aliases.get(name, name), []).append(name)
    chosen = {min(group, key=misfits.__getitem__) for group in groups.values()}
    return [name for name in names if name in chosen]


def verdict(table: Table, aliases: Mapping[str, str], divisor: str | None, n_absent: int) -> Verdict | None:
    """Return the verdict on the readings that fit best; None if no number is published.

    ``divisor`` is the column that others are divided by, whose ratio of 1 says nothing; ``n_absent`` is the number of
    published cells on datasets that did not run.
    """
    columns, datasets = table.best
    counted = _once(cell for cell in table.cells if cell.published and cell.place.label != divisor)
    here = [cell for cell in counted if cell.place.label in columns and cell.place.dataset in datasets]
    if not here and not n_absent:
        return None
    compared = [cell for cell in here if cell.percent is not None]
    is_open = {item.key: item.is_open for item in table.outside}
    states = [is_open.get(Outside.key_of(cell)) for cell in compared]
    first = [cell for cell in counted if cell.percent is not None and not {*cell.place[:2]} & aliases.keys()]
    has_others = any(name in aliases for name in (*columns, *datasets))
    return Verdict(
        within=states.count(None),
        explained=states.count(False),
        open=states.count(True),
        missing=len(here) - len(compared) + n_absent,
        tolerance=table.tolerance,
        first=sum(not cell.is_outside(table.tolerance) for cell in first) if has_others else None,
    )


def _once(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells as often as they are published: a number without a budget is repeated in each block."""
    groups: dict[Place, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(Outside.key_of(cell), []).append(cell)
    return [cell for group in groups.values() for cell in ([c for c in group if c.is_printed] or group[:1])]
