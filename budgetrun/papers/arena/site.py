"""The site of an arena: error against bytes and time on each stream, ranks, and where each learner wins and loses."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup

from budgetrun.base.errors import InputError, counted
from budgetrun.base.files import write
from budgetrun.base.problem import KEPT_BYTES
from budgetrun.config.quantities import REST_ERROR
from budgetrun.config.schema import ChooseSpec, TableSpec
from budgetrun.data.cards import card
from budgetrun.papers.arena.base import package
from budgetrun.results.compare import diagram, drawn
from budgetrun.results.report.formats import template
from budgetrun.results.report.numbers import NO_BUDGET, Budget, Place, places_of
from budgetrun.results.report.selection import choose
from budgetrun.results.statistics import LEVEL, friedman, holm, mean_ranks, minus, paired
from budgetrun.results.store.curves import Curves
from budgetrun.results.store.read import Results

# The points of a curve, and the learners of a diagram of ranks.
_POINTS, _SHOWN = 24, 12
# The names of families on the page, where they are others.
_TITLES = {"combined": "auto", "program": "other packages", "": "other"}


@dataclass(frozen=True)
class Entry:
    """A learner on a stream with one budget: its error in percent by repetition, and what a run takes."""

    place: Place
    errors: pd.Series[float]
    bytes: float
    microseconds: float  # per round, in the fastest run
    run_ids: list[str]

    @property
    def mean(self) -> float:
        return float(self.errors.mean())

    @property
    def half(self) -> float:
        """Half of the 95% interval of the mean; 0 with one repetition."""
        low, high = paired(self.errors.to_numpy())[1:3]
        return 0.0 if math.isnan(high) else (high - low) / 2


class Arena:
    """The results of an arena, with the settings that the first rounds chose; an InputError if no run has its bytes."""

    def __init__(self, results: Results) -> None:
        if KEPT_BYTES not in results.runs or results.runs[KEPT_BYTES].isna().all():
            raise InputError(
                f"{results.runs_path}: no run has {KEPT_BYTES}; add metrics: [{KEPT_BYTES}, ...] to the config"
            )
        self.results = results
        chosen = choose(results, TableSpec(name="site", choose=ChooseSpec(by="prefix")))
        self.notes = chosen.notes
        runs = chosen.results.runs.assign(shown=REST_ERROR.factor * chosen.results.runs[REST_ERROR.column])
        self.entries: dict[tuple[str, str], list[Entry]] = defaultdict(list)
        places = places_of(runs)
        for number, own in runs.groupby("place", sort=False):
            place = places[number]
            # Other work on the machine can only add to it.
            time = 1e6 * float((own["seconds"] / own["n_examples"]).min())
            errors = own.groupby("repetition")["shown"].mean()
            entry = Entry(place, errors, float(own[KEPT_BYTES].mean()), time, list(own["run_id"]))
            self.entries[place.dataset, place.label].append(entry)
        for entries in self.entries.values():
            entries.sort(key=lambda entry: entry.bytes)

    @cached_property
    def sizes(self) -> list[float]:
        """The sizes that learners are held to, ascending; infinity, for no limit, is the last."""
        held = {e.place.budget.value for own in self.entries.values() for e in own if e.place.budget.kind == "memory"}
        return [*sorted(held), math.inf]

    def within(self, dataset: str, label: str, size: float) -> Entry | None:
        """Return what a learner does with at most so many bytes: its largest entry; None if none fits."""
        fit = [e for e in self.entries[dataset, label] if _limit(e) <= size]
        return fit[-1] if fit else None

    def ranks(self, size: float) -> Ranks | None:
        """Compare the learners that fit into a size on every stream; None if fewer than three do."""
        datasets = self.results.datasets
        found = {label: [self.within(d, label, size) for d in datasets] for label in self.results.labels}
        fit = {label: [e for e in own if e] for label, own in found.items() if all(own)}
        if len(fit) < 3 or len(datasets) < 2:
            return None
        means = np.array([[e.mean for e in own] for own in fit.values()]).T
        ranks, labels = mean_ranks(means), list(fit)
        order = np.argsort(ranks, kind="stable")
        return Ranks([labels[i] for i in order], ranks[order], friedman(ranks, len(datasets)).distance)

    @cached_property
    def families(self) -> dict[str, str]:
        """The families of learners, by label; a linear model of another package is linear."""
        found = self.results.families.copy()
        for label in (label for label, family in found.items() if family == "program"):
            given: dict[str, Any] = {name: one for name, (one,) in self.results.algorithms[label].parameters.items()}
            plain = not (given.get("components") or given.get("options"))
            if plain and ("options" in given or str(given.get("model")).startswith("linear_model.")):
                found[label] = "linear"
        return found

    def lost_to_linear(self, size: float) -> list[tuple[str, bool]]:
        """Return the streams where no kernel learner errs less than the best linear one, and if that is beyond chance.

        Both are the best of their family in hindsight.
        """
        found, families = {}, self.families
        for dataset in self.results.datasets:
            fit = [e for label in self.results.labels if (e := self.within(dataset, label, size))]
            kernel, linear = (
                min((e for e in fit if families[e.place.label] == family), key=lambda e: e.mean, default=None)
                for family in ("kernel", "linear")
            )
            if kernel and linear and kernel.mean >= linear.mean:
                found[dataset] = _differ(kernel, linear)
        return [(dataset, p < LEVEL) for dataset, p in zip(found, holm(list(found.values())), strict=True)]

    @cached_property
    def sentences(self) -> list[str]:
        """What the numbers say, for the first screen."""
        title, n = self.results.title, len(self.results.datasets)
        found = []
        for size in self.sizes:
            ranks = self.ranks(size)
            if ranks is None:
                continue
            first, second = ranks.labels[:2]
            of = {label: f"{title(label)} ({rank:.1f})" for label, rank in zip(ranks.labels, ranks.ranks, strict=True)}
            where = "Without a limit" if size == math.inf else f"Within {_size(size)}"
            text = f"{where}, {of[first]} has the best mean rank over {n} streams of the {len(of)} learners that fit"
            parts = [f"{text}, before {of[second]}"]
            for family, name in (("kernel", "kernel learner"), ("linear", "linear one")):
                best = next((label for label in of if self.families[label] == family), first)
                parts += [f"the best {name} is {of[best]}"] if best not in (first, second) else []
            told = "On each stream, the best kernel learner errs less than the best linear one."
            if lost := self.lost_to_linear(size):
                names = ", ".join(title(dataset) for dataset, _ in lost)
                beyond = sum(sure for _, sure in lost)
                where = f"{counted(len(lost), 'stream')}, {beyond} of them beyond chance"
                told = f"All kernel learners lose to a linear one on {where}: {names}."
            near = f"Mean ranks that differ by less than {ranks.distance:.1f} are not told apart."
            found.append(f"{'; '.join(parts)}. {near} {told}")
        return found

    def data(self) -> dict[str, Any]:
        """Return what the page's charts and tables show."""
        results, rows = self.results, []
        datasets, labels = results.datasets, results.labels
        for e in (e for own in self.entries.values() for e in own):
            rows.append({
                "s": datasets.index(e.place.dataset), "a": labels.index(e.place.label), "b": _budget(e),
                "e": round(e.mean, 3), "h": round(e.half, 3), "n": len(e.errors),
                "k": round(e.bytes), "u": float(f"{e.microseconds:.3g}"),
            })  # fmt: skip
        self._mark(rows)
        return {
            "streams": [results.title(one) for one in datasets],
            "learners": [results.title(one) for one in labels],
            "families": [_TITLES.get(family, family) for family in (results.families[one] for one in labels)],
            "sizes": [[_key(size), _size(size)] for size in self.sizes],
            "rows": rows,
            "curves": self._curves(),
        }

    def _mark(self, rows: list[dict[str, Any]]) -> None:
        """Mark, within each size and stream, the best and those not significantly worse at 5% by Holm's method."""
        places = {(r["s"], r["a"], r["b"]): r for r in rows}
        datasets, labels = self.results.datasets, self.results.labels
        for size in self.sizes:
            for s, dataset in enumerate(datasets):
                fit = {label: e for label in labels if (e := self.within(dataset, label, size))}
                if not fit:
                    continue
                best = min(fit.values(), key=lambda e: e.mean)
                others = [e for e in fit.values() if e is not best]
                ps = holm([_differ(e, best) for e in others])
                for e, p in [(best, 1.0), *zip(others, ps, strict=True)]:
                    row = places[s, labels.index(e.place.label), _budget(e)]
                    row.setdefault("w", {})[_key(size)] = [round(e.mean - best.mean, 3), not p < LEVEL]

    def _curves(self) -> list[dict[str, Any]]:
        """Return error against rounds of each learner with its most bytes, if the sweep's curves are there."""
        curves, found = Curves(self.results.folder / "curves"), []
        for (dataset, label), own in self.entries.items():
            e = own[-1]
            if curves.missing(e.run_ids):
                continue
            rounds, mistakes = curves.read(e.run_ids, "mistakes")
            shown = np.unique(np.searchsorted(rounds, np.geomspace(max(20, rounds[0]), rounds[-1], _POINTS)))
            error = 100 * mistakes.mean(axis=0)[shown] / rounds[shown]
            found.append({
                "s": self.results.datasets.index(dataset), "a": self.results.labels.index(label),
                "t": rounds[shown].tolist(), "e": np.round(error, 2).tolist(),
            })  # fmt: skip
        return found

    def diagrams(self) -> list[tuple[str, Markup]]:
        """Return a critical-difference diagram for each size, of the learners with the best ranks."""
        found = []
        for size in self.sizes:
            if ranks := self.ranks(size):
                names = list(map(self.results.title, ranks.labels[:_SHOWN]))
                figure = diagram(names, ranks.ranks[:_SHOWN].tolist(), ranks.distance)
                caption = (
                    f"{_size(size)}: mean ranks over {counted(len(self.results.datasets), 'stream')} of the "
                    f"{len(names)} best of {len(ranks.labels)} learners that fit on every stream"
                )
                found.append((caption, drawn(figure)))
        return found

    def streams(self) -> list[dict[str, str]]:
        """Return what a reader needs to know of each stream."""
        found = []
        for label in self.results.datasets:
            spec, info = self.results.specs[label], self.results.manifest["datasets"][label]
            known = None if spec.path else card(spec.name)
            found.append({
                "title": self.results.title(label), "rounds": f"{info['n_examples']:,}",
                "features": f"{info['n_features']:,}", "licence": known.licence if known else "",
                "source": known.source if known else "", "order": "as it comes" if spec.order == "file" else "permuted",
            })  # fmt: skip
        return found

    def write(self, folder: Path) -> list[Path]:
        """Write a page, and the charts' library beside it; return the paths. An InputError: its package is missing."""
        seconds = self.results.runs["seconds"].sum()
        page = template("site.html.jinja").render(
            title=self.results.report.title or self.results.name, arena=self, results=self.results,
            data=json.dumps(self.data(), separators=(",", ":")), versions=self.results.manifest["versions"],
            hours=f"{seconds / 3600:.1f}",
        )  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        bundle = folder / "charts.js"
        if not bundle.is_file():
            write(bundle, package("vl_convert", "'budgetrun[arena]'").javascript_bundle())
        write(folder / "index.html", page)
        return [folder / "index.html", bundle]


class Ranks(NamedTuple):
    """Mean ranks over streams within a size, the best learner first, and Nemenyi's critical difference."""

    labels: list[str]
    ranks: np.ndarray
    distance: float


def _limit(entry: Entry) -> float:
    """Return the size that an entry is held to, or else what it keeps."""
    return entry.place.budget.value if entry.place.budget.kind == "memory" else entry.bytes


def _budget(entry: Entry) -> str:
    return "" if entry.place.budget == NO_BUDGET else entry.place.budget.title()


def _size(size: float) -> str:
    return "any number of bytes" if size == math.inf else Budget("memory", size).title()


def _key(size: float) -> str:
    """Return the name of a size in the page's data."""
    return "any" if size == math.inf else f"{size:.0f}"


def _differ(one: Entry, other: Entry) -> float:
    """Return the p of a paired t-test over the repetitions; nan of one alone."""
    return paired(minus(one.errors, other.errors).dropna().to_numpy()).p
