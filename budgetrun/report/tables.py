"""The tables of a report: cells in the paper's layout, what lies outside the tolerance, and what it all cost."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from budgetrun.report.cells import NO_BUDGET, Budget, Measured, Measurements, Printed, measure
from budgetrun.report.results import Results

DEFAULT_TOLERANCE = 0.05
# More blocks than this, one under another, hide the course over the budget: then one block a dataset.
MOST_BUDGET_BLOCKS = 6


@dataclass(frozen=True)
class Cell:
    """One dataset, learner and budget: ours, the print's, and how far apart.

    ``measured`` or ``printed`` (percent) is None where there is none; ``relative`` is (ours / printed) divided by
    the same ratio of the table's reference column.
    """

    dataset: str
    label: str
    budget: Budget
    measured: Measured | None
    printed: float | None
    source: tuple[str, str]
    relative: float | None

    @property
    def points(self) -> float | None:
        """Ours minus printed, in percentage points."""
        return None if self.measured is None or self.printed is None else self.measured.error - self.printed

    @property
    def percent(self) -> float | None:
        """Ours minus printed, in percent of the printed number; None where that is 0."""
        return None if self.points is None or not self.printed else 100.0 * self.points / self.printed

    def is_outside(self, tolerance: float) -> bool:
        """Whether ours is further from the print than ``tolerance`` (a ratio), as far as rounding tells."""
        return self.percent is not None and abs(self.percent) > 100.0 * tolerance + 1e-9


class Row(NamedTuple):
    """A line of a block; ``mean_budget`` is None where the header already says it."""

    header: str
    mean_budget: float | None
    cells: list[Cell]


class Block(NamedTuple):
    """A part of a table under one title (empty for none); ``by_budget`` tells whether the title is a budget."""

    title: str
    corner: str
    by_budget: bool
    rows: list[Row]


class Outside(NamedTuple):
    """A cell outside the tolerance and the texts of the findings that explain it."""

    cell: Cell
    findings: list[str]

    @property
    def place(self) -> str:
        """Dataset, learner and, for a learner with one, the budget."""
        budget = self.cell.budget.title() if has_budget(self.cell) else ""
        return ", ".join(part for part in (self.cell.dataset, self.cell.label, budget) if part)


@dataclass(frozen=True)
class Table:
    """One table of the report, ready to be written in any format."""

    name: str
    caption: str
    notes: list[str]
    columns: list[str]
    blocks: list[Block]
    tolerance: float
    relative_to: str | None
    printed: Printed
    outside: list[Outside]

    @property
    def file_name(self) -> str:
        """The name without what a file name cannot hold."""
        return slug(self.name)

    @property
    def cells(self) -> list[Cell]:
        """All cells, block by block."""
        return [cell for block in self.blocks for row in block.rows for cell in row.cells]

    @property
    def has_printed(self) -> bool:
        """Whether any cell has a printed number."""
        return any(cell.printed is not None for cell in self.cells)

    @property
    def has_relative(self) -> bool:
        """Whether any cell can be compared relative to the reference column."""
        return any(cell.relative is not None for cell in self.cells)


@dataclass(frozen=True)
class Listing:
    """A simple table: the first ``n_text`` columns are words, the others numbers (None for none)."""

    name: str
    caption: str
    header: list[str]
    rows: list[list[Any]]
    n_text: int


def slug(name: str) -> str:
    """Return a name as a file's: letters, digits, ``. _ -``, never hidden."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._") or "unnamed"


def has_budget(cell: Cell) -> bool:
    """Whether the cell's learner has a budget of its own (a learner without one stands in every block)."""
    return cell.budget.kind != "none" and (cell.measured is None or not math.isnan(cell.measured.budget))


def build(results: Results) -> list[Table]:
    """Return the tables that the config asks for, or one of everything measured where it asks for none."""
    measurements = measure(results.runs, results.failed)
    specs = results.report.get("tables") or [{"name": "online_error", "caption": "Online error in percent."}]
    return [_table(results, spec, measurements) for spec in specs]


def _table(results: Results, spec: dict[str, Any], measurements: Measurements) -> Table:
    name = str(spec["name"])
    expected = (results.manifest.get("expected") or {}).get(name) or []
    printed = Printed(expected, spec.get("aliases") or {}, f"{results.folder / 'manifest.json'}: expected.{name}")
    columns = [label for wanted in spec.get("columns") or results.labels for label in results.expand(wanted)]
    columns = list(dict.fromkeys(columns))
    rows = list(spec.get("rows") or results.datasets)
    reference = spec.get("relative_to")
    tolerance = DEFAULT_TOLERANCE if spec.get("tolerance") is None else float(spec["tolerance"])

    shown = {key: value for key, value in measurements.items() if key[0] in rows and key[1] in columns}
    budgets = _order({budget for _, _, budget in shown}) or _order(
        {budget for row in rows for column in columns for budget in printed.budgets(row, column)}
    )
    cells = {
        (row, column, budget): _cell(row, column, budget, measurements, printed, reference)
        for row in rows
        for column in columns
        for budget in budgets
    }
    blocks = _blocks(rows, columns, budgets, cells)
    made = Table(
        name=name,
        caption=str(spec.get("caption") or f"{results.manifest.get('source') or name}: online error in percent."),
        notes=[],
        columns=columns,
        blocks=blocks,
        tolerance=tolerance,
        relative_to=reference,
        printed=printed,
        outside=_outside(results, blocks, tolerance),
    )
    made.notes.extend(_notes(results, made))
    return made


def _order(budgets: set[Budget]) -> list[Budget]:
    """Fractions first, then budgets, each rising; "no budget" only where there is nothing else."""
    ranks = {"fraction": 0, "budget": 1}
    real = [budget for budget in budgets if budget.kind in ranks]
    return sorted(real, key=lambda budget: (ranks[budget.kind], budget.value)) or [NO_BUDGET] * bool(budgets)


def _cell(
    dataset: str, label: str, budget: Budget, measurements: Measurements, printed: Printed, reference: str | None
) -> Cell:
    measured, number = _pair(dataset, label, budget, measurements, printed)
    relative = None
    if reference is not None and measured is not None and number:
        base, base_number = _pair(dataset, reference, budget, measurements, printed)
        if base is not None and base_number and base.error:
            relative = (measured.error / number) / (base.error / base_number)
    return Cell(dataset, label, budget, measured, number, printed.source(dataset, label), relative)


def _pair(
    dataset: str, label: str, budget: Budget, measurements: Measurements, printed: Printed
) -> tuple[Measured | None, float | None]:
    measured = measurements.get((dataset, label, budget))
    without = measurements.get((dataset, label, NO_BUDGET))
    own_budget = budget.kind != "none" and (measured is not None or without is None)
    number = printed.find(dataset, label, budget, own_budget)
    return (measured or without), number


def _blocks(
    rows: list[str], columns: list[str], budgets: list[Budget], cells: dict[tuple[str, str, Budget], Cell]
) -> list[Block]:
    def line(header: str, row: str, budget: Budget) -> Row:
        own = [cells[row, column, budget] for column in columns]
        means = [cell.measured.budget for cell in own if cell.measured and not math.isnan(cell.measured.budget)]
        mean = sum(means) / len(means) if means and budget.kind == "fraction" else None
        return Row(header, mean, own)

    if len(budgets) > 1 and (len(rows) == 1 or len(budgets) > MOST_BUDGET_BLOCKS):
        return [Block(row, "budget", False, [line(b.title(), row, b) for b in budgets]) for row in rows]
    return [Block(b.title(), "dataset", True, [line(row, row, b) for row in rows]) for b in budgets]


def _outside(results: Results, blocks: list[Block], tolerance: float) -> list[Outside]:
    found: dict[tuple[Any, ...], Outside] = {}
    for cell in (cell for block in blocks for row in block.rows for cell in row.cells):
        if cell.is_outside(tolerance):
            # A learner without a budget stands in every block, but is one cell.
            key = (cell.dataset, cell.label, cell.budget if has_budget(cell) else None)
            texts = [finding["text"] for finding in _findings(results) if explains(results, finding, cell)]
            found.setdefault(key, Outside(cell, texts))
    return list(found.values())


def _findings(results: Results) -> list[dict[str, Any]]:
    return results.report.get("findings") or []


def explains(results: Results, finding: dict[str, Any], cell: Cell) -> bool:
    """Whether a finding's selectors choose this cell; one that names a budget says nothing of a learner without one."""
    datasets = _as_list(finding.get("dataset"))
    labels = [label for wanted in _as_list(finding.get("label")) for label in results.expand(wanted)]
    if (datasets and cell.dataset not in datasets) or (labels and cell.label not in labels):
        return False
    for key, kind in (("budget_fraction", "fraction"), ("budget", "budget")):
        wanted = _as_list(finding.get(key))
        if wanted and (cell.budget.kind != kind or cell.budget.value not in wanted or not has_budget(cell)):
            return False
    return True


def other_findings(results: Results, made: list[Table]) -> list[str]:
    """Return the findings' texts that explain no cell outside a tolerance."""
    used = {text for table in made for item in table.outside for text in item.findings}
    return [finding["text"] for finding in _findings(results) if finding["text"] not in used]


def _as_list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def _notes(results: Results, table: Table) -> list[str]:
    cell = "measured mean ± standard deviation"
    if table.has_printed:
        cell += " (printed, difference relative to the print)"
    notes = [
        f"A cell reads: {cell}, in percent. The standard deviation is over repetitions × tasks after averaging over "
        "seeds; one stream alone has none."
    ]
    if any(cell.budget.kind == "fraction" for cell in table.cells):
        notes.append(f"B is the budget, p the number of mistakes of {_reference_of(results)} on the same stream.")
    for ours, theirs in dict.fromkeys(
        pair
        for cell in table.cells
        if cell.printed is not None
        for pair in zip((cell.dataset, cell.label), cell.source, strict=True)
        if pair[0] != pair[1]
    ):
        notes.append(f"{ours} is compared with the printed numbers of {theirs}.")
    if any(cell.measured and cell.measured.n_failed for cell in table.cells):
        notes.append("† Some of this cell's runs failed; the mean is over those that finished.")
    return notes + warnings(results)


def _reference_of(results: Results) -> str:
    """Return the learner whose mistakes the fractions are of."""
    budgets = [entry.get("budget") for entry in results.config.get("algorithms") or []]
    names = [str(budget["of"]) for budget in budgets if isinstance(budget, dict) and budget.get("of")]
    return " or ".join(dict.fromkeys(names)) or "perceptron"


def warnings(results: Results) -> list[str]:
    """Return a sentence for each reason why these numbers are not the whole experiment."""
    said = []
    profile = results.manifest.get("profile") or "full"
    if profile != "full":
        caps = (results.config.get("profiles") or {}).get(profile) or {}
        limits = ", ".join(f"{key} {value}" for key, value in caps.items() if value is not None)
        said.append(
            f"Profile {profile}{f' (at most: {limits})' if limits else ''}: the runs are cut short to check that "
            "everything works; these numbers are not the full experiment."
        )
    if "end" in results.manifest and results.manifest["end"] is None:
        said.append("The sweep has not come to its end: the means are over the runs that finished so far.")
    return said


def build_costs(results: Results) -> list[Listing]:
    """Return the sums of the runs' seconds and, where the manifest has them, the times of the parts."""
    sums = results.runs.groupby(["dataset", "label"])["seconds"].sum().to_dict()
    labels = results.labels
    rows: list[list[Any]] = []
    for dataset in results.datasets:
        own = [sums.get((dataset, label)) for label in labels]
        rows.append([dataset, *own, sum(value for value in own if value is not None)])
    caption = "Seconds recorded with the runs, summed over tasks, repetitions, seeds and budgets."
    listings = [Listing("seconds", caption, ["dataset", *labels, "all"], rows, 1)]
    parts = results.manifest.get("parts") or []
    if parts:
        rows = [
            [
                str(part.get("dataset", "")),
                ", ".join(map(str, part.get("algorithms") or [])),
                part.get("runs"),
                part.get("wall_seconds"),
                part.get("cpu_seconds"),
            ]
            for part in parts
        ]
        caption = "Times of the sweep's parts: the learners of a part read one stream together."
        header = ["dataset", "algorithms", "runs", "wall_seconds", "cpu_seconds"]
        listings.append(Listing("parts", caption, header, rows, 2))
    return listings
