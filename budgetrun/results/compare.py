"""Comparing results folders, or labels in them, over the rounds that they share: `budgetrun compare`."""

from __future__ import annotations

import io
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup

from budgetrun.base.errors import InputError, counted
from budgetrun.base.files import write
from budgetrun.base.grid import Grid, text
from budgetrun.config.quantities import QUANTITIES, Quantity
from budgetrun.config.schema import ChooseSpec, TableSpec
from budgetrun.results.plotting import STYLE, styled
from budgetrun.results.report.formats import template
from budgetrun.results.report.numbers import by_stream, p_in_words
from budgetrun.results.report.selection import LATER, choose
from budgetrun.results.statistics import LEVEL, Friedman, Paired, TestName, friedman, holm, mean_ranks, minus, paired
from budgetrun.results.store.files import AGAIN
from budgetrun.results.store.read import Results, load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What determines the rounds of a stream, given its data; ``name`` is part of the seed of its permutations.
_ROUNDS = ("name", "order", "balanced", "noise", "positive", "n_examples")
# Fewer data sets tell nothing; fewer than the second are called few.
_LEAST, _FEW = 3, 6
# With more pairs than this, the text shows those that differ.
_MOST_LINES = 40


class Unit(NamedTuple):
    """What is compared on one data set; ``label`` is empty where each contender is one label."""

    dataset: str
    label: str = ""
    budget: str = ""
    setting: str = ""

    @property
    def title(self) -> str:
        """All of it."""
        return ", ".join(filter(None, self))


@dataclass(frozen=True)
class Contender:
    """A results folder, or one label in it, maybe with one budget: its values by unit and stream, as they are shown."""

    name: str
    results: Results
    label: str = ""  # empty for the whole folder
    budget: str = ""  # empty for the only one
    values: dict[Unit, pd.Series[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """The difference of a contender from the first one on a unit, over ``n`` streams."""

    unit: Unit
    contender: str
    n: int
    first: float
    mean: float
    paired: Paired
    p_holm: float  # adjusted for all differences
    is_beyond: bool  # worse by more than the tolerance, and not by chance

    @property
    def differs(self) -> bool:
        """True if it is beyond the tolerance, or not by chance."""
        return self.is_beyond or self.p_holm < LEVEL


@dataclass(frozen=True)
class Overall:
    """The contenders over data sets: mean ranks with Friedman's test, and a Wilcoxon test of each pair."""

    unit: Unit  # without a data set
    n: int
    ranks: list[float]
    friedman: Friedman
    pairs: list[tuple[str, str, Paired]]
    p_holm: list[float] = field(default_factory=list)  # of the pairs, adjusted for those of all units

    @property
    def differs(self) -> bool:
        """True if a pair does not differ by chance."""
        return any(p < LEVEL for p in self.p_holm)


@dataclass(frozen=True)
class Comparison:
    """What `compare` found; ``absent`` has sentences on what the first has and another has not."""

    contenders: list[str]
    quantity: Quantity
    test: TestName
    tolerance: float | None
    differences: list[Difference]
    overall: list[Overall]
    absent: list[str]
    notes: list[str]

    @property
    def failed(self) -> bool:
        """True if a tolerance was given, and a difference is beyond it or something is absent."""
        return self.tolerance is not None and (bool(self.absent) or any(one.is_beyond for one in self.differences))

    @property
    def summary(self) -> str:
        """The counts of differences in a sentence."""
        n, differ = len(self.differences), sum(one.p_holm < LEVEL for one in self.differences)
        found = f"{counted(n, 'pair')} of {self.quantity.in_words}: {differ:,} differ{'s' * (differ == 1)} at 5%"
        if self.tolerance is not None:
            n_beyond = sum(one.is_beyond for one in self.differences)
            found += f"; {n_beyond:,} worse than {self.contenders[0]} by more than {self.tolerance:g}%"
        return found + "."

    @property
    def remarks(self) -> list[str]:
        """What the numbers mean."""
        name, effect = {
            "t": ("the paired t-test", "the mean difference in standard deviations"),
            "wilcoxon": ("Wilcoxon's signed-rank test", "the rank-biserial correlation, from -1 to 1"),
        }[self.test]
        remarks = [
            f"Differences from {self.contenders[0]}, with 95% intervals over the streams, permutations and splits. p is"
            f" by {name}, and p (Holm) adjusted for all pairs; * if that is below 5%. The effect is {effect}."
        ]
        if self.overall:
            remarks.append(
                "Over data sets, a rank of 1 is the best. By Nemenyi's test at 5%, mean ranks that differ by less than "
                "the critical difference are not told apart; pairs are tested by Wilcoxon's signed-rank test over the "
                "means of the data sets, with Holm's method."
            )
        if any(one.n < _FEW for one in self.overall):
            remarks.append(f"Fewer than {_FEW} data sets are few: such a test says little.")
        return [*remarks, *self.notes]

    def grids(self, is_short: bool = False) -> list[Grid]:
        """Return the tables in words; the short one leaves out pairs that do not differ, if there are many pairs."""
        is_short &= len(self.differences) > _MOST_LINES
        shown = [one for one in self.differences if not is_short or one.differs]
        several = len(self.contenders) > 2
        heads, words = _heads(shown), self.quantity.write
        rows = []
        for one in shown:
            mean, low, high, p, effect = one.paired
            named = [*(getattr(one.unit, head) for head in heads), *[one.contender] * several, f"{one.n}"]
            interval = f"{self._signed(low)} to {self._signed(high)}" if one.n > 1 else ""
            percent = f"{100 * mean / abs(one.first):+.1f}%" if one.first else ""
            numbers = [words(one.first), words(one.mean), self._signed(mean), interval, percent]
            mark = "beyond" if one.is_beyond else "*" * one.differs
            rows.append([*named, *numbers, p_in_words(p), p_in_words(one.p_holm), _effect(effect), mark])
        unit = self.quantity.difference_unit.strip()
        # Of two, the second one names its column.
        columns = [*heads, *["compared"] * several, "streams", self.contenders[0]]
        columns += ["mean" if several else self.contenders[1], f"difference ({unit})" if unit else "difference"]
        columns += ["95% interval", "percent", "p", "p (Holm)", "effect", ""]
        title = "Pairs that differ" if is_short else "By stream"
        found = [Grid(columns, rows, title, {*range(len(heads) + several), len(columns) - 1})] if rows else []
        return found + self._over_data_sets([one for one in self.overall if not is_short or one.differs])

    def _over_data_sets(self, shown: list[Overall]) -> list[Grid]:
        if not shown:
            return []
        heads = _heads(shown)
        ranks, pairs = [], []
        for one in shown:
            named, (chi2, p, f, distance) = [getattr(one.unit, head) for head in heads], one.friedman
            tested = [f"{chi2:.2f}", p_in_words(p), f"{f:.2f}", f"{distance:.2f}"]
            ranks.append([*named, f"{one.n}", *map("{:.3f}".format, one.ranks), *tested])
            for (first, second, test), p in zip(one.pairs, one.p_holm, strict=True):
                own = [f"{second} - {first}", f"{one.n}", self._signed(test.mean)]
                pairs.append([*named, *own, p_in_words(test.p), p_in_words(p), _effect(test.effect)])
        columns = [*heads, "data sets", *self.contenders, "chi-squared", "p", "F", "critical difference"]
        tested = [*heads, "pair", "data sets", "mean difference", "p", "p (Holm)", "effect"]
        return [
            Grid(columns, ranks, "Mean ranks over data sets, with Friedman's test", range(len(heads))),
            Grid(tested, pairs, "Pairs over data sets", range(len(heads) + 1)),
        ]

    def _signed(self, value: float) -> str:
        shown = self.quantity.write(value)
        return shown if shown.startswith("-") else f"+{shown}"

    def text(self, width: float = math.inf) -> str:
        """Return the tables, the remarks and the summary for a terminal."""
        parts = [*(text(grid, width).strip("\n") for grid in self.grids(is_short=True)), "\n".join(self.remarks)]
        return "\n\n".join([*parts, "\n".join([*self.absent, self.summary])])

    def write(self, path: Path) -> None:
        """Write all numbers as JSON, null for what is not known, or else a page that loads nothing, by suffix.

        The page has a critical-difference diagram of three or more contenders.
        """
        if path.suffix == ".json":
            told = {"quantity": self.quantity.name, "unit": self.quantity.unit, "failed": self.failed}
            write(path, json.dumps(_flat(vars(self) | told), indent=1) + "\n")
            return
        shown = self.overall if len(self.contenders) >= _LEAST else []
        diagrams = [drawn(diagram(self.contenders, one.ranks, one.friedman.distance)) for one in shown]
        title = "Comparison of " + ", ".join(self.contenders)
        write(path, template("compare.html.jinja").render(title=title, found=self, diagrams=diagrams))


def compare(
    given: Sequence[str], quantity: str | None = None, test: TestName = "t", tolerance: float | None = None
) -> Comparison:
    """Compare results folders, each ``FOLDER``, or labels, each ``FOLDER:LABEL`` or ``FOLDER:LABEL@BUDGET``.

    ``quantity`` is one of `QUANTITIES`, by default the error; ``tolerance``, in percent of the first one's mean, is how
    much worse another may be. It is exceeded by a mean that is worse by more, if the difference is not due to chance at
    5% by Holm's method, or if there is only one stream.

    Raises InputError: something given is not there, or the rounds of a data set are not the same.
    """
    found = [_open(one) for one in given]
    if len({bool(one.label) for one in found}) > 1:
        bare = next(one.name for one in found if not one.label)
        raise InputError(f"{bare}: give a label with each results folder (FOLDER:LABEL), or with none of them")
    shown = _quantity(quantity, [one.results for one in found])
    notes: list[str] = []
    if any(len(one.results.settings(one.label, data)) > 1 for one in found for data in one.results.datasets):
        # A label has the setting that the first tenth of each stream chooses.
        spec = TableSpec(name="compare", quantity=shown.name, choose=ChooseSpec(by="prefix"))
        choices = [choose(one.results, spec.model_copy(update={"columns": (one.label,)})) for one in found]
        shown = LATER.get(shown, shown)
        notes += [note for choice in choices for note in choice.notes]
        found = [replace(one, results=choice.results) for one, choice in zip(found, choices, strict=True)]
    short = [f"{one.label}@{one.budget}" if one.budget else one.label or one.results.folder.name for one in found]
    names = short if len(set(short)) == len(short) else given
    found = [replace(one, name=name) for one, name in zip(found, names, strict=True)]
    # Data sets are called as in the first.
    first, *others = (replace(one, values=_values(one, shown)) for one in found)
    others = [replace(one, values=_renamed(first, one)) for one in others]
    absent = [
        f"{one.name}: lacks {len(units):,} of the {len(first.values):,} units that {first.name} has, such as "
        f"{units[0].title}"
        for one in others
        if (units := [unit for unit in first.values if unit not in one.values])
    ]
    sign = 1 if shown.lower_is_better else -1
    differences = _differences(first, others, test, sign, math.inf if tolerance is None else tolerance)
    if not differences:
        raise InputError(f"{', '.join(given)}: no runs on the same data in common; {absent[0]}")
    overall = _overall([first, *others], sign)
    more = sum(unit not in first.values for one in others for unit in one.values)
    notes += [f"Left out: {counted(more, 'unit')} that {first.name} does not have."] if more else []
    return Comparison(list(names), shown, test, tolerance, differences, overall, absent, list(dict.fromkeys(notes)))


def _open(given: str) -> Contender:
    if ":" not in given or Path(given).is_dir():
        return Contender(given, load(Path(given)))
    # Folders and labels may have colons of their own.
    cuts = [(given[:at], given[at + 1 :]) for at, sign in enumerate(given) if sign == ":"]
    folder, label = next((cut for cut in cuts if Path(cut[0]).is_dir()), cuts[-1])
    results = load(Path(folder))
    budget = ""
    if label not in results.labels and label.rpartition("@")[0] in results.labels:
        label, _, budget = label.rpartition("@")
    if label not in results.labels:
        raise InputError(f"{given}: no label {label!r} in {folder}; its labels are {', '.join(results.labels)}")
    return Contender(given, results, label, budget)


def _quantity(name: str | None, every: Sequence[Results]) -> Quantity:
    errors = {results.config.problem.error for results in every}
    if len(errors) > 1:
        raise InputError("compare: classes and numbers cannot be compared; give folders of one kind")
    quantity = QUANTITIES[name or errors.pop()]
    for results in every:
        if quantity.column not in results.runs or results.runs[quantity.column].isna().all():
            raise InputError(f"{results.runs_path}: no run has a value of {quantity.name}")
    return quantity


def _values(one: Contender, quantity: Quantity) -> dict[Unit, pd.Series[float]]:
    name, label, budget, runs = one.name, one.label, one.budget, one.results.runs
    found: dict[Unit, pd.Series[float]] = {}
    titles: dict[str, list[str]] = defaultdict(list)
    for place, values in by_stream(runs[runs["label"] == label] if label else runs, quantity).items():
        title = place.budget.title().removeprefix("B = ")
        if label:
            titles[place.dataset].append(title)
            if budget and title != budget:
                continue
            unit = Unit(place.dataset)
        else:
            unit = Unit(place.dataset, place.label, "" if place.budget.is_everywhere else title, place.setting.text)
        if unit in found:
            known = ", ".join(titles[place.dataset])
            raise InputError(f"{name}: has several budgets on {place.dataset} ({known}); name one: {name}@{title}")
        found[unit] = values
    if label and not titles:
        raise InputError(f"{name}: no run has a value of {quantity.name}")
    if label and not found:
        known = ", ".join(dict.fromkeys(title for own in titles.values() for title in own))
        raise InputError(f"{name}: no budget {budget!r}; its budgets are {known}")
    return found


def _checksum(results: Results, dataset: str) -> tuple[str, str]:
    """Return the checksum of a data set's content, and what its labels are used for."""
    sha256 = (results.manifest.get("datasets", {}).get(dataset) or {}).get("sha256")
    spec = results.specs.get(dataset)
    if not sha256 or spec is None:
        raise InputError(f"{results.folder}: no checksum of {dataset}; {AGAIN} --force")
    return sha256, spec.task


def _rounds(results: Results, dataset: str) -> dict[str, Any]:
    """Return what determines the rounds, given the data; the first rounds are chosen after the permutation."""
    spec = results.specs[dataset]
    found = spec.model_dump(mode="json", include=set(_ROUNDS))
    of_streams = (one for one in results.manifest.get("revisions", ()) if re.fullmatch(r"stream \d+", one))
    found["revision of streams"] = next(of_streams, None)
    if "rest_error" in results.runs:
        early = results.runs.loc[results.runs["dataset"] == dataset, "prefix_examples"]
        found["number of first rounds"] = sorted(set(early.astype(int)))
    if spec.order == "file" and not spec.balanced and not spec.noise:
        return found | {"name": ""}
    return found | {"seed": results.config.seed}


def _renamed(first: Contender, other: Contender) -> dict[Unit, pd.Series[float]]:
    """Return the values of another contender with the first one's names of the data sets.

    Raises InputError: a data set is the same, but its rounds are not.
    """
    names: dict[str, str] = {}
    mine = {dataset: _checksum(first.results, dataset) for dataset in dict.fromkeys(u.dataset for u in first.values)}
    for dataset in dict.fromkeys(unit.dataset for unit in other.values):
        alike = [name for name, checksum in mine.items() if checksum == _checksum(other.results, dataset)]
        there = _rounds(other.results, dataset)
        same = [name for name in alike if _rounds(first.results, name) == there]
        # Labels tell entries apart that have the same rounds, and differ in scaling.
        if same:
            target = dataset if dataset in same else same[0]
            names |= {dataset: target} if target not in names.values() else {}
        elif alike:
            here = _rounds(first.results, alike[0])
            keys = [key for key in {**here, **there} if here.get(key) != there.get(key)]
            told = "; ".join(f"{key} is {here.get(key)!r} and {there.get(key)!r}" for key in keys)
            raise InputError(
                f"{first.name}, {other.name}: the data of {dataset} are the same, but not the permutations or rounds: "
                f"{told}; repeat one of the sweeps with the other's values"
            )
    found = {
        u._replace(dataset=names.get(u.dataset, f"{u.dataset} of {other.name}")): v for u, v in other.values.items()
    }
    for unit, values in first.values.items():
        if unit in found and not values.index.equals(found[unit].index):
            common = len(values.index.intersection(found[unit].index))
            raise InputError(
                f"{first.name}, {other.name}: other permutations of {unit.title}: {len(values)} and {len(found[unit])}"
                f", {common} of them in both; complete the sweeps, or repeat one with equal repetitions"
            )
    return found


def _differences(
    first: Contender, others: Iterable[Contender], test: TestName, sign: int, tolerance: float
) -> list[Difference]:
    """Return the differences on all units in common; ``sign`` is -1 where larger values are better."""
    both = [(unit, values, other) for unit, values in first.values.items() for other in others if unit in other.values]
    tests = [paired(minus(other.values[unit], values).to_numpy(), test) for unit, values, other in both]
    found = []
    for (unit, values, other), one, p in zip(both, tests, holm([one.p for one in tests]), strict=True):
        n, mean, theirs = len(values), float(values.mean()), float(other.values[unit].mean())
        # A single stream has no test, and no chance of agreeing.
        is_beyond = sign * one.mean > tolerance / 100 * abs(mean) and (n == 1 or p < LEVEL)
        found.append(Difference(unit, other.name, n, mean, theirs, one, p, is_beyond))
    return found


def _overall(contenders: list[Contender], sign: int) -> list[Overall]:
    """Return the ranks of the contenders for each label, budget and setting that all have on enough data sets."""
    groups: dict[Unit, list[Unit]] = defaultdict(list)
    for unit in contenders[0].values:
        if all(unit in one.values for one in contenders):
            groups[unit._replace(dataset="")].append(unit)
    found = []
    for group, units in groups.items():
        if len(units) < _LEAST:
            continue
        means = np.array([[one.values[unit].mean() for one in contenders] for unit in units])
        ranks = mean_ranks(sign * means)
        pairs = [
            (contenders[i].name, contenders[j].name, paired(minus(means[:, j], means[:, i]), "wilcoxon"))
            for i, j in combinations(range(len(contenders)), 2)
        ]
        found.append(Overall(group, len(units), ranks.tolist(), friedman(ranks, len(units)), pairs))
    adjusted = iter(holm([test.p for one in found for _, _, test in one.pairs]))
    return [replace(one, p_holm=[next(adjusted) for _ in one.pairs]) for one in found]


def diagram(names: Sequence[str], ranks: Sequence[float], distance: float) -> Figure:
    """Draw a critical-difference diagram: bars join mean ranks that Nemenyi's test does not tell apart."""
    order = np.argsort(ranks, kind="stable")
    n, sorted_ranks = len(names), np.asarray(ranks)[order]
    # These may be some of many.
    last = max(n, math.ceil(sorted_ranks[-1]), 1 + distance)
    # Names stand at both sides.
    with styled(6 + 0.13 * max(map(len, names)), 1.6 + 0.18 * n) as figure:
        axes = figure.add_subplot()
        axes.set(xlim=(1, last), ylim=(-1.2 - (n + 1) // 2, 1.4), yticks=[])
        axes.xaxis.tick_top()
        axes.spines["top"].set_visible(True)
        axes.spines[["left", "bottom"]].set_visible(False)
        axes.grid(False)
        axes.plot([1, 1 + distance], [1, 1], color="black", marker="|", clip_on=False)
        axes.text(1 + distance / 2, 1.1, f"critical difference {distance:.2f}", ha="center", fontsize=9)
        ends = [int(np.searchsorted(sorted_ranks, low + distance, side="right")) for low in sorted_ranks]
        bars = [(i, end) for i, end in enumerate(ends) if end - i > 1 and (i == 0 or end > ends[i - 1])]
        for k, (i, end) in enumerate(bars):
            axes.plot([sorted_ranks[i], sorted_ranks[end - 1]], [0.6 - 0.3 * k] * 2, color="black", linewidth=3)
        for k, i in enumerate(order):
            left = k < (n + 1) // 2
            height = -1 - (k if left else n - 1 - k)
            edge = 1 if left else last
            axes.plot([ranks[i], ranks[i], edge], [1.4, height, height], color="#777777", linewidth=1)
            name = f"{names[i]} {ranks[i]:.2f} "
            axes.text(edge, height, name, ha="right" if left else "left", va="center", fontsize=9)
    return figure


def drawn(figure: Figure) -> Markup:
    """Return a figure as a part of a page, the same in each process."""
    import matplotlib

    found = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(found, format="svg", metadata={"Date": None})
    return Markup(found.getvalue()[found.getvalue().index("<svg") :])


def _heads(shown: Sequence[Difference | Overall]) -> list[str]:
    """Return which parts of the units any of them has."""
    return [name for name in Unit._fields if any(getattr(one.unit, name) for one in shown)]


def _effect(effect: float) -> str:
    return "" if math.isnan(effect) else f"{effect:+.2f}"


def _flat(value: Any) -> Any:
    """Return a value as JSON has it: objects by their fields, and null for a number that is not finite."""
    if isinstance(value, Unit | Paired | Friedman):
        value = value._asdict()
    if isinstance(value, Difference | Overall):
        value = vars(value)
    if isinstance(value, dict):
        return {key: _flat(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_flat(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
