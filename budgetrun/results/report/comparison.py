"""Comparisons of learners: the rules of fair ones that a table breaks, and tests of its differences.

The rules are those of docs/configs.md, "Comparing learners".
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from budgetrun.base.problem import PREFIX_LOG_LOSS
from budgetrun.config.schema import MemoryBudget, TableSpec
from budgetrun.results import statistics
from budgetrun.results.report.layout import Cell, Row, Table
from budgetrun.results.report.numbers import Place, by_stream
from budgetrun.results.report.selection import Candidate
from budgetrun.results.statistics import LEVEL, holm
from budgetrun.results.store.read import Results

PERMUTATIONS = 20


def broken(results: Results, spec: TableSpec, candidates: Sequence[Candidate]) -> str:
    """Return a sentence on the rules that a table breaks; empty if there are none."""
    config, runs = results.config, results.runs
    own = [one for label, one in results.algorithms.items() if spec.columns is None or label in spec.columns]
    families = {one.label: results.families[one.label] for one in own}
    data_scaled = all(one.scale != "none" for one in config.datasets)
    scaled = [families[one.label] == "linear" and (data_scaled or "inputs" in one.parameters) for one in own]
    repetitions = int(runs.groupby("dataset")["repetition"].nunique().min())
    limits = sorted({one.n_examples for one in config.datasets if one.n_examples})
    by = spec.choose and spec.choose.by
    honest = any(one.choose and one.choose.by == "prefix" for one in results.tables)
    at_end, n_chosen = _at_ends(candidates)
    counts = {len(results.settings(one.label)) for one in own if families[one.label] in ("kernel", "combined")}
    sizes = sorted(n for n in counts if n > 1) or [1]
    late = by == "prefix" and (runs["prefix_examples"] >= runs["n_examples"] // 2).any()
    of_classes = config.problem.of_classes
    found = {
        "1 (without the larger class)": of_classes and "constant" not in families.values(),
        "1 (without a linear learner of scaled inputs)": not any(scaled),
        "2 (settings are chosen in hindsight)": by != "prefix" and bool(candidates) and not honest,
        "2 (settings are chosen by mistakes, not by a loss)": by == "prefix"
        and of_classes
        and PREFIX_LOG_LOSS not in config.metrics,
        "2 (settings are chosen on few examples of a class)": late and of_classes,
        "3 (one kernel per data set)": runs.groupby("dataset")["kernel"].nunique().max() == 1,
        f"3 ({sizes[0]} to {sizes[-1]} settings per learner)": len(sizes) > 1,
        f"3 ({at_end:,} of {n_chosen:,} chosen values are an end of their grid)": at_end > 0,
        "4 (budgets count examples, not bytes)": any(
            one.budget and not isinstance(one.budget, MemoryBudget) for one in own
        ),
        f"5 ({repetitions} permutation{'s' * (repetitions > 1)}, not {PERMUTATIONS})": repetitions < PERMUTATIONS,
        "6 (without tests)": repetitions < 2,
        f"7 (the first {' to '.join(f'{n:,}' for n in limits[:: max(1, len(limits) - 1)])} rounds)": limits,
        "7 (without a stream that drifts)": all(one.order == "permuted" for one in config.datasets),
    }
    rules = "; ".join(text for text, is_broken in found.items() if is_broken)
    return f"Breaks these rules of fair comparisons: {rules}." if rules else ""


def _at_ends(candidates: Sequence[Candidate]) -> tuple[int, int]:
    """Return how many chosen values of parameters are the first or the last of their grid, and how many there are."""
    # How many streams chose each value, by place and parameter.
    grids: dict[Any, Counter[str]] = defaultdict(Counter)
    for one in candidates:
        for item in one.place.setting.items:
            grids[*one.place[:3], item.partition("=")[0]][item] += one.n_streams
    counts = [list(grid.values()) for grid in grids.values() if len(grid) > 1]
    return sum(own[0] + own[-1] for own in counts), sum(map(sum, counts))


# By a cell and the best of its row: their difference in the table's unit, and its p by Holm's method in the table.
Pairs = dict[tuple[Place, Place], tuple[statistics.Paired, float]]


def compared(table: Table, results: Results, runs: pd.DataFrame) -> Table:
    """Return a table with the differences of its cells, whose ``runs`` are given, from the best of their rows.

    Cells are marked by * if they are the best of their row, or not significantly worse at 5%, and by ‡ if not below the
    larger class.
    """
    paired = _paired(table, runs)
    blocks = [
        block._replace(rows=[_marked(row, paired, results.families) for row in block.rows]) for block in table.blocks
    ]
    return replace(table, blocks=blocks, paired=paired)


def _paired(table: Table, runs: pd.DataFrame) -> Pairs:
    means = by_stream(runs, table.quantity)
    tests = {}
    for row in (row for block in table.blocks for row in block.rows):
        best, cells = _compared(row)
        for cell in cells:
            if best and cell is not best and (cell.key, best.key) not in tests:
                differences = statistics.minus(means[cell.key], means[best.key]).dropna().to_numpy()
                if len(differences) > 1:
                    tests[cell.key, best.key] = statistics.paired(differences)
    adjusted = holm([one.p for one in tests.values()])
    return {keys: (one, p) for (keys, one), p in zip(tests.items(), adjusted, strict=True)}


def _marked(row: Row, paired: Pairs, families: dict[str, str]) -> Row:
    best, cells = _compared(row)
    if best is None:
        return row
    key, floor = best.key, [_mean(cell) for cell in cells if families.get(cell.place.label) == "constant"]

    def mark(cell: Cell) -> str:
        _, p = paired.get((cell.key, key), (None, 0.0))
        above = floor and _mean(cell) >= floor[0] and families.get(cell.place.label) != "constant"
        return "*" * (cell is best or p >= LEVEL) + "‡" * bool(above)

    return row._replace(cells=[replace(cell, mark=mark(cell)) if cell.measured else cell for cell in row.cells])


def _compared(row: Row) -> tuple[Cell | None, list[Cell]]:
    """Return the best of the measured cells of a row with several, and these; None and none of another row."""
    cells = [cell for cell in row.cells if cell.measured]
    return (min(cells, key=_mean), cells) if len(cells) > 1 else (None, [])


def _mean(cell: Cell) -> float:
    assert cell.measured
    return cell.measured.mean


def notes(table: Table) -> list[str]:
    """Return what the marks mean, and the mean ranks of the columns over the rows with Friedman's test."""
    found = []
    if table.paired:
        found.append(
            "A star: the best of its row, or not significantly worse at 5% (paired t-test over the permutations, by "
            f"Holm's method over the table); differences with 95% intervals are in {table.name}.paired.csv."
        )
    if any("‡" in cell.mark for cell in table.cells):
        found.append("‡ Not below the error of always predicting the larger class.")
    for block in table.blocks:
        means = [[c.measured.mean for c in row.cells if c.measured] for row in block.rows]
        # A data set counts once, also if it has rows of several settings or budgets.
        datasets = {cell.place.dataset for row in block.rows for cell in row.cells}
        few = len(means) < 3 or not table.columns[2:]
        if few or len(datasets) < len(means) or {len(row) for row in means} != {len(table.columns)}:
            continue
        ranks = statistics.mean_ranks(np.array(means))
        chi2, p, _, distance = statistics.friedman(ranks, len(means))
        named = ", ".join(f"{table.called(table.columns[i])} {ranks[i]:.2f}" for i in np.argsort(ranks, kind="stable"))
        found.append(
            f"Mean ranks over {len(means)} data sets: {named}. Friedman's chi-squared is {chi2:.2f} (p = {p:.2g}); by "
            f"Nemenyi's test at 5%, ranks that differ by less than {distance:.2f} are not told apart."
        )
    return found


def paired_rows(table: Table) -> list[list[Any]]:
    """Return the header and the rows of the file of differences."""
    names = ["label", "budget", "setting"]
    found = [["dataset", *names, *(f"best_{name}" for name in names), "difference", "low", "high", "p", "p_holm"]]
    for (place, best), (test, p_holm) in table.paired.items():
        both = [(each.label, each.budget.title(), each.setting.text) for each in (place, best)]
        found.append([place.dataset, *both[0], *both[1], *test[:4], p_holm])
    return found
