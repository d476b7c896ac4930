"""The tables of a report, as the config asks for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from budgetrun.report.cells import Measurements, Printed, measure
from budgetrun.report.choose import Choice, choose
from budgetrun.report.findings import outside
from budgetrun.report.grid import Grid
from budgetrun.report.layout import DEFAULT_TOLERANCE, Table, Tolerance
from budgetrun.report.notes import notes
from budgetrun.report.quantities import (
    GAP,
    OBJECTIVE,
    ONLINE_ERROR,
    QUANTITIES,
    REST_ERROR,
    SECONDS,
    SECONDS_RATIO,
    Quantity,
)
from budgetrun.report.ratios import printed_ratios, with_ratios
from budgetrun.store.read import Results


def build(results: Results) -> list[Table]:
    """Return the tables that the config asks for, or one of everything measured where it asks for none."""
    specs = results.report.get("tables") or _default_specs(results)
    kinds = {_kind(spec) for spec in specs if not spec.get("choose")}
    measured = {kind: _measure(results, *kind) for kind in kinds}
    # All that ran has its seconds, so they tell the layout of any table.
    ran = measured.get((SECONDS, None)) or _measure(results, SECONDS, None)
    made = []
    for spec in specs:
        if spec.get("choose"):
            choice = _choice(results, spec)
            chosen = replace(results, runs=choice.runs, failed=choice.failed)
            made.append(_table(results, spec, _measure(chosen, *_kind(spec)), _measure(chosen, SECONDS, None), choice))
        else:
            made.append(_table(results, spec, measured[_kind(spec)], ran))
    return made


def _choice(results: Results, spec: dict[str, Any]) -> Choice:
    labels = [*(spec.get("columns") or results.labels), spec.get("relative_to")]
    return choose(results, spec, spec.get("rows") or results.datasets, filter(None, labels))


def _default_specs(results: Results) -> list[dict[str, Any]]:
    if results.of_solvers:
        return [{"name": quantity.name, "quantity": quantity.name} for quantity in (OBJECTIVE, GAP, SECONDS)]
    return [{"name": "online_error", "caption": "Online error in percent."}]


def _quantity(spec: dict[str, Any]) -> Quantity:
    quantity = QUANTITIES[str(spec.get("quantity") or ONLINE_ERROR.name)]
    by_prefix = (spec.get("choose") or {}).get("by") == "prefix"
    # What was seen before the choice does not count.
    return REST_ERROR if by_prefix and quantity is ONLINE_ERROR else quantity


def _kind(spec: dict[str, Any]) -> tuple[Quantity, str | None]:
    """Return what a table shows and, of ratios of seconds, whose seconds are below."""
    quantity = _quantity(spec)
    return quantity, str(spec.get("relative_to")) if quantity is SECONDS_RATIO else None


def _measure(results: Results, quantity: Quantity, reference: str | None) -> Measurements:
    runs = results.runs if reference is None else with_ratios(results.runs, reference)
    return measure(runs, results.failed, quantity)


def _table(
    results: Results,
    spec: dict[str, Any],
    measurements: Measurements,
    ran: Measurements,
    choice: Choice | None = None,
) -> Table:
    name, quantity = str(spec["name"]), _quantity(spec)
    expected = (results.manifest.get("expected") or {}).get(name) or []
    where = f"{results.folder / 'manifest.json'}: expected.{name}"
    aliases = spec.get("aliases") or {}
    _, below = _kind(spec)
    if below is not None:
        expected = printed_ratios(expected, aliases.get(below, below))
    printed = Printed(expected, aliases, where, quantity)
    columns = list(dict.fromkeys(spec.get("columns") or results.labels))
    rows = list(spec.get("rows") or results.datasets)
    tolerance = Tolerance(spec.get("tolerance"), spec.get("tolerance_sd"))
    if tolerance == (None, None):
        tolerance = Tolerance(DEFAULT_TOLERANCE)
    reference = spec.get("relative_to") if below is None else None
    grid = Grid(rows, columns, measurements, ran, printed, reference, choice.texts if choice else {})
    blocks = grid.blocks()
    made = Table(
        name=name,
        caption=str(spec.get("caption") or f"{results.manifest.get('source') or name}: {quantity.in_words}."),
        quantity=quantity,
        notes=[],
        columns=columns,
        blocks=blocks,
        tolerance=tolerance,
        relative_to=grid.reference,
        printed=printed,
        outside=outside(results, blocks, tolerance),
        candidates=choice.candidates if choice else [],
    )
    made.notes.extend(notes(results, made, choice.notes if choice else [], below))
    return made
