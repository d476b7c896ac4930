"""Comparisons of learners: the rules of fair ones that a table breaks, and tests of its differences.

The rules are those of docs/configs.md, "Comparing learners".
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from budgetrun.base.problem import PREFIX_LOG_LOSS
from budgetrun.config.schema import MemoryBudget, TableSpec
from budgetrun.results import statistics
from budgetrun.results.report.layout import Cell, Table
from budgetrun.results.report.numbers import STREAM, Place, places_of
from budgetrun.results.report.selection import Candidate
from budgetrun.results.statistics import LEVEL, holm
from budgetrun.results.store.read import Results

PERMUTATIONS = 20


def broken(results: Results, spec: TableSpec, candidates: Sequence[Candidate]) -> str:
    """Return a sentence on the rules that a table breaks; empty if there are none."""
    config, runs = results.config, results.runs
    own = [one for label, one in results.algorithms.items() if spec.columns is None or label in spec.columns]
    families = {one.label: results.families[one.label] for one in own}
    scaled = [families[one.label] == "linear" and "inputs" in one.parameters for one in own]
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


class Paired(NamedTuple):
    """The difference of a cell from the best of its row, over the streams of both, in the table's unit."""

    best: str
    test: statistics.Paired
    p_holm: float  # by Holm's method in the table


def paired(table: Table, runs: pd.DataFrame) -> dict[Place, Paired]:
    """Return the difference of each cell from the best of its row, but for that cell itself."""
    runs = runs.assign(shown=table.quantity.factor * runs[table.quantity.column]).dropna(subset=["shown"])
    numbers = {place: number for number, place in places_of(runs).items()}
    means = runs.groupby(["place", *STREAM])["shown"].mean()
    found: dict[Place, Paired] = {}
    for _, best, others in _rows(table):
        for cell in others:
            first, second = (means[numbers[one.key]] for one in (cell, best))
            differences = (first - second).dropna().to_numpy()
            if len(differences) > 1:
                found[cell.key] = Paired(best.place.label, statistics.paired(differences), math.nan)
    adjusted = holm([one.test.p for one in found.values()])
    return {key: one._replace(p_holm=p) for (key, one), p in zip(found.items(), adjusted, strict=True)}


def marks(table: Table, results: Results) -> dict[Place, str]:
    """Return * for the best cells of rows, and those not worse at 5%; and ‡ for those not below the larger class."""
    found: dict[Place, str] = {}
    for cells, best, _ in _rows(table):
        floor = [c.measured.mean for c in cells if c.measured and results.families.get(c.place.label) == "constant"]
        for cell in cells:
            assert cell.measured
            alike = cell is best or (cell.key in table.paired and table.paired[cell.key].p_holm >= LEVEL)
            above = floor and cell.measured.mean >= floor[0] and results.families.get(cell.place.label) != "constant"
            found[cell.key] = "*" * alike + "‡" * bool(above)
    return found


def _rows(table: Table) -> Iterator[tuple[list[Cell], Cell, list[Cell]]]:
    """Return the measured cells of each row with several, the best of them, and the others."""
    for row in (row for block in table.blocks for row in block.rows):
        if len(cells := [cell for cell in row.cells if cell.measured]) > 1:
            best = min(cells, key=lambda cell: cell.measured.mean if cell.measured else math.inf)
            yield cells, best, [cell for cell in cells if cell is not best]


def notes(table: Table) -> list[str]:
    """Return what the marks mean, and the mean ranks of the columns over the rows with Friedman's test."""
    found = []
    if table.paired:
        found.append(
            "A star: the best of its row, or not worse at 5% (paired t-test over the permutations, by Holm's method "
            f"over the table); differences with 95% intervals are in {table.name}.paired.csv."
        )
    if any("‡" in mark for mark in table.marks.values()):
        found.append("‡ Not below the error of always predicting the larger class.")
    for block in table.blocks:
        means = [[c.measured.mean for c in row.cells if c.measured] for row in block.rows]
        if len(means) < 3 or not table.columns[2:] or {len(row) for row in means} != {len(table.columns)}:
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
    header = ["dataset", "label", "budget", "setting", "best", "difference", "low", "high", "p", "p_holm"]
    rows = (((*key[:2], key.budget.title(), key.setting.text), one) for key, one in table.paired.items())
    return [header, *([*place, one.best, *one.test[:4], one.p_holm] for place, one in rows)]
