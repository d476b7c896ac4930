"""The tables of a report: cells in the paper's layout, what lies outside the tolerance, and what it all cost."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from budgetrun.config import value_text
from budgetrun.report import brackets
from budgetrun.report.cells import NO_BUDGET, Budget, Measured, Measurements, Place, Printed, measure
from budgetrun.report.choose import Candidate, Choice, choose
from budgetrun.report.quantities import (
    GAP,
    OBJECTIVE,
    ONLINE_ERROR,
    QUANTITIES,
    REST_ERROR,
    SECONDS,
    SECONDS_RATIO,
    TEST_ERROR,
    Quantity,
)
from budgetrun.report.ratios import printed_ratios, with_ratios
from budgetrun.report.results import (
    NO_SETTING,
    Results,
    Setting,
    in_order,
    is_by_dataset,
    items_of,
    typed_values,
)

DEFAULT_TOLERANCE = 0.05


class Tolerance(NamedTuple):
    """How far from the print a cell may be: relative to the print, or in printed standard deviations; either counts.

    ``relative`` is None where standard deviations are asked for alone; a cell whose print has none is then held to
    `DEFAULT_TOLERANCE`.
    """

    relative: float | None
    sds: float | None = None

    @property
    def text(self) -> str:
        """In words: ``5%``, ``3 printed sd`` or ``5% or 3 printed sd``."""
        relative = None if self.relative is None else f"{100 * self.relative:g}%"
        sds = None if self.sds is None else f"{self.sds:g} printed sd"
        return " or ".join(filter(None, (relative, sds)))

    @property
    def twice(self) -> Tolerance:
        """Twice as far."""
        relative, sds = (None if limit is None else 2 * limit for limit in self)
        return Tolerance(relative, sds)


# More blocks than this, one under another, hide the course over the budget: then one block a dataset.
MOST_BUDGET_BLOCKS = 6


@dataclass(frozen=True)
class Cell:
    """One dataset, learner, setting and budget: ours, the print's, and how far apart.

    ``measured`` or ``printed`` (in the table's unit) is None where there is none; ``setting`` is the learner's own;
    ``relative`` is (ours / printed) divided by the same ratio of the table's reference column. ``printed_sd`` is the
    printed standard deviation, None or 0 for none; ``chosen`` is the setting that was chosen for the cell.
    """

    dataset: str
    label: str
    budget: Budget
    setting: Setting
    measured: Measured | None
    printed: float | None
    source: tuple[str, str]
    relative: float | None
    printed_sd: float | None = None
    chosen: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus printed, in the table's unit (percentage points for errors)."""
        return None if self.measured is None or self.printed is None else self.measured.mean - self.printed

    @property
    def percent(self) -> float | None:
        """Ours minus printed, in percent of the printed number; None where that is 0."""
        return None if self.difference is None or not self.printed else 100.0 * self.difference / self.printed

    @property
    def in_sds(self) -> float | None:
        """Ours minus printed, in printed standard deviations; None without one."""
        return None if self.difference is None or not self.printed_sd else self.difference / self.printed_sd

    def is_outside(self, tolerance: Tolerance) -> bool:
        """Whether ours is further from the print than it may be, as far as rounding tells."""
        by_sds = tolerance.sds is not None and self.in_sds is not None
        if by_sds and abs(self.in_sds or 0.0) > (tolerance.sds or 0.0) + 1e-9:
            return True
        relative = tolerance.relative
        if relative is None and not by_sds:
            relative = DEFAULT_TOLERANCE
        return relative is not None and self.percent is not None and abs(self.percent) > 100.0 * relative + 1e-9


class Row(NamedTuple):
    """A line of a block.

    ``header`` is a dataset or a budget's title; ``mean_budget`` says what a budget that follows another learner came
    to, empty where the header already says it.
    """

    header: str
    setting: Setting
    mean_budget: str
    cells: list[Cell]

    @property
    def label(self) -> str:
        """The header and the setting."""
        return ", ".join(part for part in (self.header, self.setting.text) if part)

    @property
    def full_label(self) -> str:
        """The label and, where the settings' budgets differ, the mean budget."""
        return f"{self.label} ({self.mean_budget})" if self.mean_budget and self.setting.items else self.label


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
        """Dataset, learner and, for a learner with them, its setting and budget."""
        budget = self.cell.budget.title() if has_budget(self.cell) else ""
        parts = (self.cell.dataset, self.cell.label, self.cell.setting.text or self.cell.chosen, budget)
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True)
class Table:
    """One table of the report, ready to be written in any format."""

    name: str
    caption: str
    quantity: Quantity
    notes: list[str]
    columns: list[str]
    blocks: list[Block]
    tolerance: Tolerance
    relative_to: str | None
    printed: Printed
    outside: list[Outside]
    candidates: list[Candidate]

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
    def has_sds(self) -> bool:
        """Whether any cell can be compared in printed standard deviations."""
        return any(cell.in_sds is not None for cell in self.cells)

    @property
    def has_chosen(self) -> bool:
        """Whether any cell shows a setting that was chosen."""
        return any(cell.chosen for cell in self.cells)

    @property
    def explanations(self) -> list[str]:
        """The findings on the cells outside, each once, in the order of these."""
        return list(dict.fromkeys(text for item in self.outside for text in item.findings))

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
    grid = _Grid(rows, columns, measurements, ran, printed, reference, choice.texts if choice else {})
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
        outside=_outside(results, blocks, tolerance),
        candidates=choice.candidates if choice else [],
    )
    first, *others = _notes(results, made)
    made.notes.append(first)
    made.notes.extend(choice.notes if choice else [])
    if below is not None:
        of_print = ", and the print's by the print's" if made.has_printed else ""
        made.notes.append(f"Seconds are divided by those of {below} on the same data{of_print}.")
    # Results of before there was a choice do not say it.
    if quantity in (SECONDS, SECONDS_RATIO) and not results.of_solvers and "alone" in results.config:
        made.notes.append(_of_sharing(results))
    made.notes.extend(others)
    return made


def _of_sharing(results: Results) -> str:
    """Return in words whether the learners' seconds are their own."""
    if results.config["alone"]:
        return "Every run was made on its own, so its seconds are all that it needed."
    return (
        "The learners of a stream shared kernel values: a run's seconds are its own and its part of what was shared, "
        "and say little of what it would need alone (alone: true in the config)."
    )


class _Grid:
    """Which rows a table has and what stands in them.

    A row is a dataset, a budget and a setting. A learner without a budget stands in the rows of every budget, and one
    with fewer swept parameters, or none, in every row whose setting has its own values.
    """

    def __init__(
        self,
        rows: list[str],
        columns: list[str],
        measurements: Measurements,
        ran: Measurements,
        printed: Printed,
        reference: str | None,
        chosen: dict[Place, str],
    ) -> None:
        self.rows = rows
        self.columns = columns
        self.reference = reference
        self._measurements = measurements
        self._printed = printed
        self._chosen = chosen
        self._ran = ran
        self._places: dict[tuple[str, str], list[Place]] = {}
        for place in ran:
            self._places.setdefault((place.dataset, place.label), []).append(place)

    def blocks(self) -> list[Block]:
        """Return a block for each budget, or for each dataset where that shows the course over the budgets better."""
        budgets = self._budgets()
        settings = {(row, budget): self._settings(row, budget) for row in self.rows for budget in budgets}
        if budgets and budgets != [NO_BUDGET]:
            left = {row: self._left_over(row, [s for b in budgets for s in settings[row, b]]) for row in self.rows}
            if any(left.values()):
                budgets = [*budgets, NO_BUDGET]
                settings |= {(row, NO_BUDGET): own for row, own in left.items()}
        lone = budgets == [NO_BUDGET]
        titles = {b: b.title() or ("" if lone else "no budget") for b in budgets}
        if len(budgets) > 1 and (len(self.rows) == 1 or len(budgets) > MOST_BUDGET_BLOCKS):
            return [
                Block(
                    row,
                    "budget",
                    False,
                    [self._row(titles[b], row, b, setting) for b in budgets for setting in settings[row, b]],
                )
                for row in self.rows
            ]
        return [
            Block(
                titles[b],
                "dataset",
                b != NO_BUDGET,
                [self._row(row, row, b, setting) for row in self.rows for setting in settings[row, b]],
            )
            for b in budgets
        ]

    def _of_row(self, row: str) -> list[Place]:
        return [place for column in self.columns for place in self._places.get((row, column), [])]

    def _budgets(self) -> list[Budget]:
        """Fractions first, then budgets, each rising; "no budget" only where there is nothing else."""
        found = {place.budget for row in self.rows for place in self._of_row(row)} or {
            budget for row in self.rows for column in self.columns for budget, _ in self._printed.places(row, column)
        }
        ranks = {"fraction": 0, "budget": 1}
        real = [budget for budget in found if budget.kind in ranks]
        return sorted(real, key=lambda budget: (ranks[budget.kind], budget.value)) or [NO_BUDGET] * bool(found)

    def _settings(self, row: str, budget: Budget) -> list[Setting]:
        """Return the settings of a dataset's rows with this budget; one without any is a row, too."""
        here = self._of_row(row)
        own = {place.setting for place in here if _block_of(place.budget) == budget}
        if not here:
            printed = [place for column in self.columns for place in self._printed.places(row, column)]
            own = {setting for b, setting in printed if b == budget}
        # What lies within another setting stands in its row.
        return in_order(s for s in own if not any(s != other and s.within(other) for other in own)) or [NO_SETTING]

    def _left_over(self, row: str, shown: list[Setting]) -> list[Setting]:
        """Return the settings of learners without a budget that no row of a budget has room for."""
        own = (s for s in self._settings(row, NO_BUDGET) if s.items)
        return [setting for setting in own if not any(setting.within(other) for other in shown)]

    def _row(self, header: str, row: str, budget: Budget, setting: Setting) -> Row:
        cells = [self._cell(row, column, budget, setting) for column in self.columns]
        places = (self._find(row, column, budget, setting) for column in self.columns)
        means = [self._ran[place].budget for place in places if place is not None and place.budget == budget]
        return Row(header, setting, _mean_budget(means) if budget.kind == "fraction" else "", cells)

    def _cell(self, row: str, column: str, budget: Budget, setting: Setting) -> Cell:
        place, measured, (number, sd) = self._pair(row, column, budget, setting)
        relative = None
        if self.reference is not None and measured is not None and number:
            _, base, (base_number, _) = self._pair(row, self.reference, budget, setting)
            if base is not None and base_number and base.mean:
                relative = (measured.mean / number) / (base.mean / base_number)
        source = self._printed.source(row, column)
        found = self._find(row, column, budget, setting)
        chosen = "" if found is None else self._chosen.get(found, "")
        return Cell(row, column, place.budget, place.setting, measured, number, source, relative, sd, chosen)

    def _find(self, row: str, column: str, budget: Budget, setting: Setting) -> Place | None:
        """Return whose runs stand in a cell."""
        fitting = [
            place
            for place in self._places.get((row, column), [])
            if (place.budget == budget or place.budget.is_everywhere) and place.setting.within(setting)
        ]
        return max(fitting, key=lambda p: (p.budget == budget, len(p.setting.items)), default=None)

    def _pair(
        self, row: str, column: str, budget: Budget, setting: Setting
    ) -> tuple[Place, Measured | None, tuple[float | None, float | None]]:
        """Return the place that a cell shows, what was measured there and what is printed, with its deviation.

        The budget is that of the block, where the learner has none.
        """
        place = self._find(row, column, budget, setting)
        if place is None:
            # What never ran may be printed without a setting.
            tried = [setting] if self._places.get((row, column)) else [setting, NO_SETTING]
            found = [self._printed.find_with_sd(row, column, budget, budget != NO_BUDGET, one) for one in tried]
            known = next((pair for pair in found if pair[0] is not None), (None, None))
            return Place(row, column, budget, setting), None, known
        has_budget = place.budget != NO_BUDGET
        shown = place._replace(budget=place.budget if has_budget else budget)
        has_setting = bool(place.setting.items)
        pair = self._printed.find_with_sd(row, column, shown.budget, has_budget, place.setting, has_setting)
        return shown, self._measurements.get(place), pair


def _block_of(budget: Budget) -> Budget:
    return NO_BUDGET if budget.is_everywhere else budget


def _mean_budget(means: list[float]) -> str:
    """Return ``mean B 793``, a range where the columns' budgets follow different learners, or nothing."""
    if not means:
        return ""
    if max(means) > 1.01 * min(means):
        return f"mean B {min(means):,.0f} to {max(means):,.0f}"
    return f"mean B {sum(means) / len(means):,.0f}"


def _outside(results: Results, blocks: list[Block], tolerance: Tolerance) -> list[Outside]:
    found: dict[tuple[Any, ...], Outside] = {}
    for cell in (cell for block in blocks for row in block.rows for cell in row.cells):
        if cell.is_outside(tolerance):
            # A learner without a budget stands in every block, but is one cell.
            key = (cell.dataset, cell.label, cell.setting, cell.budget if has_budget(cell) else None)
            texts = [finding["text"] for finding in _findings(results) if explains(finding, cell)]
            found.setdefault(key, Outside(cell, texts))
    return list(found.values())


def _findings(results: Results) -> list[dict[str, Any]]:
    return results.report.get("findings") or []


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


def _as_list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def _notes(results: Results, table: Table) -> list[str]:
    cell = "measured mean ± standard deviation"
    beside = ["chosen setting; "] if table.has_chosen else []
    if table.has_printed:
        beside.append("printed, difference relative to the print")
        beside += [", in printed standard deviations"] if table.has_sds else []
    if beside:
        cell += f" ({''.join(beside).removesuffix('; ')})"
    unit = ", in percent" if table.quantity.is_percent else ""
    notes = [
        f"A cell reads: {cell}{unit}. The standard deviation is over repetitions × tasks after averaging over "
        "seeds; one stream alone has none."
    ]
    if any(cell.budget.kind == "fraction" for cell in table.cells):
        notes.append(f"B is the budget, p {_reference_of(results, table.columns)} on the same stream.")
    if table.quantity is REST_ERROR and table.has_printed:
        notes.append("The printed numbers are of all rounds.")
    notes += _by_dataset(results, table)
    if table.quantity is TEST_ERROR and any(c.measured is None for c in table.cells):
        notes.append("Only learners that keep every example they hold have an averaged hypothesis of bounded size.")
    for ours, theirs in dict.fromkeys(
        pair
        for cell in table.cells
        if cell.printed is not None
        for pair in zip((cell.dataset, cell.label), cell.source, strict=True)
        if pair[0] != pair[1]
    ):
        notes.append(f"{ours} is compared with the printed numbers of {theirs}.")
    if table.quantity in (OBJECTIVE, GAP):
        if table.quantity is GAP:
            notes.append(
                "A gap is objective / L - 1, L the largest lower bound of all runs: it is at least the true one."
            )
        notes += brackets.notes(results.brackets, dict.fromkeys(cell.dataset for cell in table.cells))
    if results.of_solvers:
        notes += _unfinished(results, table)
    if any(cell.measured and cell.measured.n_failed for cell in table.cells):
        notes.append("† Some of this cell's runs failed; the mean is over those that finished.")
    return notes + warnings(results)


def _by_dataset(results: Results, table: Table) -> list[str]:
    """Return a sentence for each parameter or budget with one value a dataset, of the learners that share them."""
    rows = [dataset for dataset in results.datasets if dataset in {cell.dataset for cell in table.cells}]
    alike: dict[tuple[str, str], list[str]] = {}
    for label in table.columns:
        entry = results.entries.get(label, {})
        for name, values in {"budget": entry.get("budget"), **(entry.get("parameters") or {})}.items():
            if is_by_dataset(values):
                told = {dataset: typed_values(entry, name, dataset) for dataset in rows}
                text = ", ".join(f"{d} {value_text(own[0])}" for d, own in told.items() if len(own) == 1)
                alike.setdefault(("B" if name == "budget" else name, text), []).append(label)
    return [f"{name} of {', '.join(labels)}: {text}." for (name, text), labels in alike.items() if text]


def _unfinished(results: Results, table: Table) -> list[str]:
    """Return a sentence for each cell some of whose runs stopped before they were done."""
    shown = {(cell.dataset, cell.label) for cell in table.cells}
    runs = results.runs[results.runs["error"].astype(str).str.len() > 0]
    said = {(row.dataset, row.label, row.error): None for row in runs.itertuples() if (row.dataset, row.label) in shown}
    return [f"{dataset}, {label}: {why}." for dataset, label, why in said]


def _reference_of(results: Results, columns: list[str]) -> str:
    """Return in words what the fractions are of: the mistakes of a Perceptron, the final support size of another."""
    entries = [entry for entry in results.config.get("algorithms") or [] if isinstance(entry, dict)]
    names = {str(entry.get("label") or entry.get("name")): str(entry.get("name")) for entry in entries}
    swept = {label for label in names if results.settings(label) not in ([], [NO_SETTING])}
    followers: dict[str, list[str]] = {}
    for entry in entries:
        label, budget = str(entry.get("label") or entry.get("name")), entry.get("budget")
        if label in columns and isinstance(budget, dict) and budget.get("of"):
            followers.setdefault(str(budget["of"]), []).append(label)
    parts = []
    for source, labels in (followers or {"perceptron": []}).items():
        counted = "number of mistakes" if names.get(source, source) == "perceptron" else "final support size"
        whose = f" (of {', '.join(labels)})" if len(followers) > 1 else ""
        parts.append(f"the {counted} of {source}{' at the same setting' if source in swept else ''}{whose}")
    return " or ".join(parts)


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
    swept = any(setting.items for setting in results.runs["setting"].unique())
    over = "tasks, repetitions, seeds, budgets and settings" if swept else "tasks, repetitions, seeds and budgets"
    caption = f"Seconds recorded with the runs, summed over {over}."
    if results.of_solvers:
        compiling = results.runs["compile_seconds"].sum()
        caption += f" Compiling, which does not count, took {compiling:,.1f} s more."
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
