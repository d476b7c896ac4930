"""The tables of a report, as the config asks for them: their rows, verdicts and files."""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from budgetrun.base import grid
from budgetrun.base.errors import capitalised
from budgetrun.base.files import make_folder
from budgetrun.base.files import write as write_file
from budgetrun.config.quantities import QUANTITIES, SECONDS, Quantity
from budgetrun.config.schema import FindingSpec, Published, TableSpec
from budgetrun.results.report import comparison, formats
from budgetrun.results.report.layout import Block, Cell, Listing, Outside, Row, Table, Tolerance, Verdict
from budgetrun.results.report.notes import notes
from budgetrun.results.report.numbers import NO_BUDGET, Budget, Measurements, Place, PublishedNumbers, measure
from budgetrun.results.report.selection import LATER, choose
from budgetrun.results.store.read import NO_SETTING, Results, Setting, in_order, items_of

# More blocks than this hide how numbers change with the budget: then there is one block per dataset.
MOST_BUDGET_BLOCKS = 6


def build(results: Results) -> list[Table]:
    """Return the tables that the config asks for, or default ones where it asks for none."""
    return [_table(results, spec) for spec in results.tables or _default_specs(results)]


def write(folder: Path, tables: list[Table], listings: list[Listing]) -> list[Path]:
    """Write ``<name>.csv``, ``.md`` and ``.tex`` of every table and return their paths."""
    make_folder(folder)
    names = {table.name for table in tables}
    texts: dict[Path, str] = {}
    every: list[Table | Listing] = [*tables, *listings]
    for table in every:
        # A table of the config keeps its name.
        name = f"{table.name}_of_sweep" if isinstance(table, Listing) and table.name in names else table.name
        texts |= {folder / f"{name}.{suffix}": writer(table) for suffix, writer in formats.WRITERS.items()}
        if isinstance(table, Table) and table.candidates:
            # No table's name has a dot.
            texts[folder / f"{name}.candidates.csv"] = grid.csv(table.candidate_rows())
        if isinstance(table, Table) and table.paired:
            texts[folder / f"{name}.paired.csv"] = grid.csv(comparison.paired_rows(table))
    for path, text in texts.items():
        write_file(path, text)
    return list(texts)


def quantity_of(spec: TableSpec) -> Quantity:
    """Return what a table shows: after a choice by the first tenth, errors are those of the remaining rounds."""
    quantity = QUANTITIES[spec.quantity]
    return LATER.get(quantity, quantity) if spec.choose is not None and spec.choose.by == "prefix" else quantity


def _default_specs(results: Results) -> list[TableSpec]:
    if results.of_batch:
        return [TableSpec(name=name, quantity=name) for name in ("objective", "gap", "seconds")]
    error = QUANTITIES[results.config.problem.error]
    metrics = [TableSpec(name=name, quantity=name) for name in results.config.metrics if name in QUANTITIES]
    return [TableSpec(name=error.name, caption=f"{capitalised(error.in_words)}.", quantity=error.name), *metrics]


def _table(results: Results, spec: TableSpec) -> Table:
    quantity = quantity_of(spec)
    divisor, reference = (spec.relative_to, None) if spec.quantity == "seconds_ratio" else (None, spec.relative_to)
    columns = list(dict.fromkeys(spec.columns or results.labels))
    datasets = list(spec.rows or results.datasets)
    choice = choose(results, spec)
    # Without a caption, the source and what is shown; of a caption, the first sentence and the rest.
    title, remark = f"{results.manifest.get('source') or spec.name}: {quantity.in_words}", ""
    if spec.caption is not None:
        title, _, remark = re.sub(r"\.(?:$| (?=[A-Za-z|]))", "\n", spec.caption, count=1).partition("\n")
    if results.report.compares:
        remark = " ".join(filter(None, (comparison.broken(results, spec, choice.candidates), remark)))
    measured, ran = measure(choice.results, quantity, divisor), measure(choice.results, SECONDS)
    published = PublishedNumbers.in_table(spec, divisor)
    rows = _Rows(results, datasets, columns, measured, ran, published, reference, choice.texts)
    tolerance = Tolerance(spec.tolerance, spec.tolerance_sd)
    table = Table(
        *(spec.name, title, remark),
        titles=results.report.titles,
        quantity=quantity,
        columns=columns,
        blocks=rows.blocks(),
        tolerance=Tolerance() if tolerance == (None, None) else tolerance,
        relative_to=reference,
        candidates=choice.candidates,
    )
    if results.report.compares and quantity.lower_is_better and quantity is not SECONDS:
        table = comparison.compared(table, results, choice.results.runs)
    table = replace(
        table,
        outside=_outside(results, table),
        best=_best(table, datasets, spec.aliases),
        notes=[*notes(results, table, choice.notes, divisor), *(comparison.notes(table) if table.paired else [])],
    )
    # Of the published numbers, those on datasets of the config that did not run, such as optional ones, are missing.
    absent = results.specs.keys() & set(spec.rows or results.specs) - set(results.datasets)
    compared = {spec.aliases.get(column, column) for column in columns if column != divisor}
    not_run = [row for row in spec.published if row.dataset in absent and row.label in compared]
    return replace(table, verdict=_verdict(table, spec, divisor, not_run))


@dataclass(frozen=True)
class _Rows:
    """The rows of a table.

    A row is a dataset, a budget and a setting. A label without a budget is shown in the rows of every budget, and one
    with fewer swept parameters, or none, in every row whose setting includes its own values.
    """

    results: Results
    # Labels of datasets and of algorithms.
    datasets: list[str]
    columns: list[str]
    measured: Measurements
    # All that ran has its seconds, which decide the layout: some of it may have no number to show.
    ran: Measurements
    published: PublishedNumbers
    reference: str | None  # the column that ratios are relative to
    chosen: dict[Place, str]  # the settings that were chosen

    def blocks(self) -> list[Block]:
        """Return a block for each budget, or for each dataset where that shows the effect of the budget better."""
        budgets, title = self._budgets(), self.results.title
        settings = {(row, budget): self._settings(row, budget) for row in self.datasets for budget in budgets}
        if budgets and budgets != [NO_BUDGET]:
            left = {row: self._left_over(row, [s for b in budgets for s in settings[row, b]]) for row in self.datasets}
            if any(left.values()):
                budgets = [*budgets, NO_BUDGET]
                settings |= {(row, NO_BUDGET): own for row, own in left.items()}
        titles = {b: b.title() or ("no budget" if len(budgets) > 1 else "") for b in budgets}
        if len(budgets) > 1 and (len(self.datasets) == 1 or len(budgets) > MOST_BUDGET_BLOCKS):
            rows = {a: [self._row(titles[b], a, b, s) for b in budgets for s in settings[a, b]] for a in self.datasets}
            return [Block(title(row), "budget", _merged(own)) for row, own in rows.items()]
        rows_of = {b: [self._row(title(a), a, b, s) for a in self.datasets for s in settings[a, b]] for b in budgets}
        return [Block(titles[budget], "dataset", own) for budget, own in rows_of.items()]

    @cached_property
    def _places(self) -> dict[tuple[str, str], list[Place]]:
        places: dict[tuple[str, str], list[Place]] = {}
        for place in self.ran:
            places.setdefault(place[:2], []).append(place)
        return places

    def _of_row(self, row: str) -> list[Place]:
        return [place for column in self.columns for place in self._places.get((row, column), [])]

    def _of_published(self, row: str) -> list[tuple[Budget, frozenset[str]]]:
        return [key for column in self.columns for key in self.published.of(row, column)]

    def _budgets(self) -> list[Budget]:
        """Return fractions first, then budgets, each rising; "no budget" only where there is nothing else."""
        found = {place.budget for row in self.datasets for place in self._of_row(row)}
        found = found or {budget for row in self.datasets for budget, _ in self._of_published(row)}
        ranks = {"fraction": 0, "budget": 1, "memory": 2}
        real = [budget for budget in found if budget.kind in ranks]
        return sorted(real, key=lambda budget: (ranks[budget.kind], budget.value)) or [NO_BUDGET] * bool(found)

    def _settings(self, row: str, budget: Budget) -> list[Setting]:
        """Return the settings of a dataset's rows with this budget; one without any is a row, too."""
        here = self._of_row(row)
        own = {p.setting for p in here if (NO_BUDGET if p.budget.is_everywhere else p.budget) == budget}
        if not here:
            own = {Setting(tuple(sorted(items))) for b, items in self._of_published(row) if b == budget}
        # A setting within another one is shown in its row.
        return in_order(s for s in own if not any(s != other and s.within(other) for other in own)) or [NO_SETTING]

    def _left_over(self, row: str, shown: list[Setting]) -> list[Setting]:
        """Return the settings of labels without a budget that fit into no row of a budget."""
        own = (s for s in self._settings(row, NO_BUDGET) if s.items)
        return [setting for setting in own if not any(setting.within(other) for other in shown)]

    def _row(self, header: str, row: str, budget: Budget, setting: Setting) -> Row:
        at = [Place(row, column, budget, setting) for column in self.columns]
        places = list(map(self._find, at))
        cells = list(map(self._cell, at, places))
        ran = [self.ran[place] for place in places if place is not None and place.budget == budget]
        means = [one.budget for one in ran]
        # ``mean B 793``, or a range where the columns' budgets follow different algorithms.
        text, number = f"mean B {sum(means) / len(means):,.0f}" if means else "", None
        if means and max(means) > 1.01 * min(means):
            text = f"mean B {min(means):,.0f} to {max(means):,.0f}"
        own = any(spec.label == row and spec.path is not None for spec in self.results.config.datasets)
        if own and budget != NO_BUDGET and len(set(means)) == 1 and all(m.n_streams == 1 for m in ran):
            number = int(means[0])
            text = f"B {number:,}"
        return Row(header, setting, text if budget.kind == "fraction" else "", cells, number)

    def _cell(self, at: Place, found: Place | None) -> Cell:
        """Return the cell of a place, with the budget of the block where the label has none, and of its runs."""
        relative = None
        measured, number = self.measured.get(found) if found else None, self._published(at, found)
        if self.reference is not None and measured and number and number.value:
            other = at._replace(label=self.reference)
            ran = self._find(other)
            base, base_number = self.measured.get(ran) if ran else None, self._published(other, ran)
            if base and base.mean and base_number and base_number.value:
                relative = (measured.mean / number.value) / (base.mean / base_number.value)
        place = found or at
        if place.budget == NO_BUDGET:
            place = place._replace(budget=at.budget)
        source = self.published.source(at.dataset, at.label)
        printed = self.published.find(at, any_setting=place.setting == NO_SETTING) is not None
        return Cell(place, measured, number, source, relative, self.chosen.get(found, "") if found else "", printed)

    def _find(self, at: Place) -> Place | None:
        """Return whose runs a cell shows."""
        fitting = [
            place
            for place in self._places.get((at.dataset, at.label), [])
            if (place.budget == at.budget or place.budget.is_everywhere) and place.setting.within(at.setting)
        ]
        return max(fitting, key=lambda p: (p.budget == at.budget, len(p.setting.items)), default=None)

    def _published(self, at: Place, found: Place | None) -> Published | None:
        if found is not None:
            return self.published.of_measured(found, at.budget)
        number = self.published.find(at, any_budget=at.budget == NO_BUDGET)
        # An algorithm that never ran may be published without a setting.
        if number is None and not self._places.get((at.dataset, at.label)):
            number = self.published.find(at._replace(setting=NO_SETTING), any_budget=at.budget == NO_BUDGET)
        return number


def _merged(rows: list[Row]) -> list[Row]:
    """Return the rows of a dataset's budgets, with those of the same number as one."""
    groups: dict[Any, list[Row]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(i if row.number is None else (row.setting, row.number), []).append(row)
    found = []
    for first, *others in groups.values():
        if first.number is not None:
            number = f"B = {first.number}"
            titles = [row.header for row in (first, *others) if row.header != number]
            header = " = ".join([*dict.fromkeys(titles), number]).replace(" = B", "")
            columns = list(zip(first.cells, *(row.cells for row in others), strict=True))
            cells = [next((cell for cell in column if cell.measured), column[0]) for column in columns]
            shown = {id(cell) for cell in cells}
            same = [cell for row in (first, *others) for cell in row.cells if id(cell) not in shown]
            first = first._replace(header=header, mean_budget="", cells=cells, same=tuple(same))
        found.append(first)
    return found


def _outside(results: Results, table: Table) -> list[Outside]:
    """Return the cells outside the tolerance, each once, with the findings on them."""
    found: dict[Place, Outside] = {}
    for cell in table.cells:
        if cell.is_outside(table.tolerance):
            findings = [one for one in results.report.findings if _is_on(one, cell)]
            dataset, label, budget, setting = cell.place
            names = results.title(dataset), results.title(label), setting.text or cell.chosen
            text = ", ".join(filter(None, (*names, budget.title() if cell.has_budget else "")))
            item = Outside(cell, text, [one.text for one in findings], all(one.open for one in findings))
            found.setdefault(cell.key, item)
    return list(found.values())


def _is_on(finding: FindingSpec, cell: Cell) -> bool:
    """Return True if a finding's selectors choose this cell; a budget chooses no cell of an algorithm without one."""
    dataset, label, budget, setting = cell.place
    items = {*setting.items, *items_of(cell.chosen)}
    kind = {"fraction": "budget_fraction", "budget": "budget", "dataset": "budget"}.get(budget.kind)
    own = {"dataset": dataset, "label": label} | ({kind: budget.value} if kind and cell.has_budget else {})
    wanted = {key: getattr(finding, key) for key in ("dataset", "label", "budget_fraction", "budget")}
    return all(value is None or own.get(key) in _several(value) for key, value in wanted.items()) and (
        finding.setting is None or any(items_of(text) <= items for text in _several(finding.setting))
    )


def _several(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def other_findings(results: Results, tables: list[Table]) -> list[str]:
    """Return the texts of the findings that are on no cell outside a tolerance."""
    used = {text for table in tables for item in table.outside for text in item.findings}
    return [finding.text for finding in results.report.findings if finding.text not in used]


def _best(table: Table, datasets: list[str], aliases: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return one column and one dataset of those that share their published numbers, and all others.

    The one with the smallest share of cells outside the tolerance is chosen; of equal ones, the one that has no alias,
    then the first. Columns are chosen on the datasets that have no alias, datasets on the columns that were chosen.
    """

    def fittest(names: list[str], own: list[Cell], at: int) -> list[str]:
        misfits, groups = {}, defaultdict(list)
        for name in sorted(names, key=aliases.__contains__):
            found = [cell.is_outside(table.tolerance) for cell in own if cell.place[at] == name]
            misfits[name] = sum(found) / len(found) if found else math.inf
            groups[aliases.get(name, name)].append(name)
        chosen = {min(group, key=misfits.__getitem__) for group in groups.values()}
        return [name for name in names if name in chosen]

    compared = [cell for cell in table.cells if cell.percent is not None]
    chosen = fittest(table.columns, [cell for cell in compared if cell.place.dataset not in aliases], 1)
    return chosen, fittest(datasets, [cell for cell in compared if cell.place.label in chosen], 0)


def _verdict(table: Table, spec: TableSpec, divisor: str | None, not_run: list[Published]) -> Verdict | None:
    """Return the verdict on the readings that fit best; None if no number is published.

    ``divisor`` is the column that others are divided by, whose ratio of 1 says nothing; ``not_run`` has what is
    published of datasets that did not run.
    """

    def n_within(readings: Collection[str]) -> int:
        """Count the distinct cells within the tolerance if these readings take the place of the first ones."""
        others = (spec.aliases.keys() | {spec.aliases[name] for name in readings}) - set(readings)
        found = _distinct(cell for cell in counted if not {*cell.place[:2]} & others)
        return sum(cell.percent is not None and not cell.is_outside(table.tolerance) for cell in found)

    columns, datasets = table.best
    counted = _once(cell for cell in table.cells if cell.published and cell.place.label != divisor)
    here = _distinct(c for c in counted if c.place.label in columns and c.place.dataset in datasets)
    if not here and not not_run:
        return None
    is_open = {item.cell.key: item.is_open for item in table.outside}

    def what(cell: Cell) -> Published:
        """Return what is published, for an algorithm without a budget without that of the block."""
        assert cell.published is not None
        return cell.published if cell.has_budget else replace(cell.published, budget=None, budget_fraction=None)

    def state(cell: Cell) -> str:
        if cell.percent is None:
            return "missing"
        return {None: "within", False: "explained", True: "open"}[is_open.get(cell.key)]

    cells = [(what(cell), state(cell)) for cell in here] + [(row, "missing") for row in not_run]
    has_others = any(name in spec.aliases for name in (*columns, *datasets))
    return Verdict(
        cells=[((table.quantity.name, row), own) for row, own in cells],
        tolerance=table.tolerance,
        fitted=spec.choose is not None and spec.choose.by == "printed",
        first=n_within(()) if has_others or spec.as_written else None,
        written=n_within(spec.as_written) if spec.as_written else None,
    )


def _distinct(cells: Iterable[Cell]) -> list[Cell]:
    """Return one of the cells of a dataset that have the same measured and the same published number."""
    found: dict[Any, Cell] = {}
    for cell in cells:
        if cell.measured is None or cell.published is None:
            found[cell.key] = cell
        else:
            found.setdefault((cell.place.dataset, cell.measured.mean, cell.published.value), cell)
    return list(found.values())


def _once(cells: Iterable[Cell]) -> list[Cell]:
    """Return the cells as often as they are published: a number without a budget is repeated in each block."""
    groups: dict[Place, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.key, []).append(cell)
    return [cell for group in groups.values() for cell in ([c for c in group if c.is_printed] or group[:1])]
