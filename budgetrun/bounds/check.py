"""From the rows of a results folder to both sides of each bound."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from budgetrun import solvers, theory
from budgetrun.config.schema import DatasetSpec
from budgetrun.data import open_stream, stream_info
from budgetrun.errors import DataMissingError, InputError
from budgetrun.kernels import squares
from budgetrun.learners import find
from budgetrun.theory import Bound, Competitors, Run, Verdict, mpu

if TYPE_CHECKING:
    import pandas as pd

    from budgetrun.data import Stream
    from budgetrun.store.read import Results

# Of the interval whose lower end must be above a bound on an expectation for that to count as violated.
CONFIDENCE = 0.999
NO_SEEDS = "a bound on an expectation: not testable with one seed"
NO_STEPS = "needs the columns steps and objective; run the sweep again"


@dataclass(frozen=True)
class Row:
    """A bound on a run, or on the mean of runs that differ by their seeds.

    Attributes
    ----------
    run_ids : tuple of str
    dataset, task, label, setting : str
    repetition : int
    budget : int or None
    n_examples : int
    bound : Bound or None
        None for a solver's.
    run : Run or None
    verdict : Verdict
    """

    run_ids: tuple[str, ...]
    dataset: str
    task: str
    repetition: int
    label: str
    setting: str
    budget: int | None
    n_examples: int
    bound: Bound | None
    run: Run | None
    verdict: Verdict

    @property
    def stream(self) -> tuple[str, int, str]:
        """Dataset, repetition and task."""
        return self.dataset, self.repetition, self.task

    @property
    def name(self) -> str:
        """What tells the run from others, in words."""
        parts = [self.dataset, *([self.task] if self.task != "-" else []), f"repetition {self.repetition}", self.label]
        parts += [self.setting] if self.setting else []
        parts += [f"budget {self.budget}"] if self.budget is not None else []
        runs = f"run {self.run_ids[0]}" if len(self.run_ids) == 1 else f"the {len(self.run_ids)} seeds"
        return f"{runs} ({', '.join(parts)})"


@dataclass
class Checked:
    """What came of it.

    Attributes
    ----------
    rows : list of Row
    competitors : dict
        By stream: of the first one of each dataset.
    n_checked, n_runs : int
        Runs looked at, and finished runs there are.
    without : list of str
        Labels that no bound is about.
    missing : list of str
        A sentence for each dataset whose data are missing.
    """

    rows: list[Row] = field(default_factory=list)
    competitors: dict[tuple[str, int, str], Competitors] = field(default_factory=dict)
    n_checked: int = 0
    n_runs: int = 0
    without: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    @property
    def violations(self) -> list[str]:
        """A sentence for each bound that does not hold."""
        return [
            f"violated: {row.name}: {row.verdict.count:,.6g} {row.verdict.counts}, and {row.verdict.theorem} allows "
            f"{row.verdict.value:,.6g}"
            for row in self.rows
            if row.verdict.violated
        ]


def check(results: Results, data_dir: Path | None, streams: int | None) -> Checked:
    """Evaluate the bounds on the runs of at most so many streams of each dataset; None for all."""
    config = results.config
    bounds, checked = theory.registry(), Checked(n_runs=len(results.runs))
    specs = {spec.label: spec for spec in config.datasets}
    labels: set[str] = set()
    for dataset in results.datasets:
        runs = results.runs[results.runs["dataset"] == dataset]
        chosen = _streams(runs, streams)
        try:
            _check_data(specs[dataset], data_dir, results)
            for repetition in sorted({repetition for repetition, _ in chosen}):
                tasks = [task for r, task in chosen if r == repetition]
                here = runs[(runs["repetition"].astype(int) == repetition) & runs["task"].isin(tasks)]
                stream = open_stream(specs[dataset], config.seed, repetition, data_dir, tasks)
                rows, competitors = _check_stream(here, specs[dataset], stream, bounds)
                checked.rows += rows
                labels |= {row.label for row in rows}
                checked.n_checked += len(here)
                first = dataset, *chosen[0]
                if repetition == first[1] and first[2] in competitors:
                    checked.competitors[first] = competitors[first[2]]
        except DataMissingError as error:
            checked.missing.append(str(error))
    looked_at = {dataset for dataset in results.datasets if any(row.dataset == dataset for row in checked.rows)}
    present = results.runs[results.runs["dataset"].isin(looked_at)]["label"] if checked.rows else results.runs["label"]
    checked.without = [label for label in dict.fromkeys(present) if label not in labels]
    return checked


def _streams(runs: pd.DataFrame, most: int | None) -> list[tuple[int, str]]:
    """Return repetition and task of the streams to look at: first repetitions before further tasks."""
    known = {(int(r), t) for r, t in zip(runs["repetition"], runs["task"], strict=True)}
    return sorted(known, key=lambda item: (item[1], item[0]) if len({t for _, t in known}) == 1 else item)[:most]


def _check_data(spec: DatasetSpec, data_dir: Path | None, results: Results) -> None:
    """Refuse data that are not those of the runs."""
    recorded = (results.manifest.get("datasets") or {}).get(spec.label) or {}
    found = stream_info(spec, data_dir).sha256
    if recorded.get("sha256") not in (None, found):
        raise InputError(
            f"the data of '{spec.label}' here are not those of the runs in {results.folder} (sha256 {found[:12]}, "
            f"there {recorded['sha256'][:12]}); give the folder with these data as --data, or run the sweep again"
        )


def _check_stream(
    runs: pd.DataFrame, spec: DatasetSpec, stream: Stream, bounds: list[Bound]
) -> tuple[list[Row], dict[str, Competitors]]:
    """Return the rows of the runs on the tasks of one repetition, and the competitors on each task."""
    assert spec.kernel is not None
    kernel = spec.kernel.build()
    largest = float(kernel.diagonal(squares(stream.X)).max())
    entries = [_entry(row, spec, largest) for row in runs.to_dict("records")]
    made = [(entry, bound) for entry in entries if entry.run for bound in theory.about(bounds, entry.run.learner)]
    # Competitors take time, and bounds that are void need none.
    live = [(e, bound) for e, bound in made if e.run and bound.compares and not bound.why_void(e.run)]
    tasks = {entry.row["task"] for entry, _ in live}
    competitors = {}
    if live:
        wanted = {task: stream.tasks[task] for task in stream.tasks if task in tasks}
        n_classes = len(stream.classes) if spec.task == "multiclass" else None
        shifting = any(bound.shifting for _, bound in live)
        competitors = theory.find(stream.X, wanted, kernel, n_classes, shifting=shifting)
    rows = [_row([entry], bound, competitors) for entry, bound in made if not _is_of_mean(bound)]
    rows += [_row(group, bound, competitors) for group, bound in _by_seed(made)]
    rows += [row for entry in entries if entry.run is None for row in _solver_rows(entry, largest)]
    return rows, competitors


@dataclass(frozen=True)
class _Entry:
    """A row of the table of runs, with what bounds need of it; ``run`` is None for a solver's."""

    row: dict[str, Any]
    run: Run | None


def _entry(row: dict[Any, Any], spec: DatasetSpec, largest_square: float) -> _Entry:
    if not math.isnan(row["objective"]):
        return _Entry(row, None)
    parameters = _parameters(row)
    variant = parameters.pop("variant", None)
    learner_class = find(row["algorithm"], variant, multiclass=spec.task == "multiclass")
    if not math.isnan(row["budget"]):
        parameters["budget"] = int(row["budget"])
    if learner_class.draws:
        parameters["seed"] = int(row["seed"])
    facts = json.loads(row.get("facts") or "null")
    learner = learner_class(**parameters)
    return _Entry(row, Run(learner, row["mistakes"], float(row["updates"]), largest_square, facts))


def _parameters(row: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a run but for budget and seed."""
    return {name: value for name, value in json.loads(row["parameters"]).items() if name != "budget"}


def _is_of_mean(bound: Bound) -> bool:
    return bound.counts == "expected mistakes"


def _by_seed(made: list[tuple[_Entry, Bound]]) -> Iterator[tuple[list[_Entry], Bound]]:
    """Yield the runs that differ by their seeds alone, with each bound on their mean."""
    groups: dict[tuple[Any, ...], tuple[list[_Entry], Bound]] = {}
    for entry, bound in made:
        if _is_of_mean(bound):
            row = entry.row
            key = bound, row["task"], row["repetition"], row["label"], row["parameters"], row["budget"], row["kernel"]
            groups.setdefault(key, ([], bound))[0].append(entry)
    yield from groups.values()


def _row(group: list[_Entry], bound: Bound, competitors: dict[str, Competitors]) -> Row:
    row, run = group[0].row, group[0].run
    assert run is not None
    counts = np.array([entry.row["mistakes"] for entry in group], dtype=float)
    run = replace(run, mistakes=float(counts.mean()))
    verdict = bound.check(run, competitors.get(row["task"]))
    if _is_of_mean(bound) and verdict.applies:
        known = {"lower": _lower_end(counts)} if len(group) > 1 else {"reason": NO_SEEDS}
        verdict = replace(verdict, **known)
    return _with_verdict(group, bound, run, verdict)


def _lower_end(counts: np.ndarray) -> float:
    """Return the lower end of the confidence interval of the mean that some counts are drawn with."""
    from scipy.stats import t

    n = len(counts)
    return float(counts.mean() - t.ppf((1 + CONFIDENCE) / 2, n - 1) * counts.std(ddof=1) / math.sqrt(n))


def _solver_rows(entry: _Entry, largest_square: float) -> list[Row]:
    """Return the bound on the updates of an MPU; nothing for other solvers."""
    row, parameters = entry.row, _parameters(entry.row)
    if row["algorithm"] != "mpu":
        return []
    solver_class: Any = solvers.find("mpu")
    solver = solver_class(**parameters, seed=int(row["seed"]))
    square = largest_square + (solver.rho or 0.0) ** 2
    limit, b, delta_b = mpu.thresholds(solver.C, solver.delta, solver.delta_b, square, solver.hard_margin)
    theorem = mpu.THEOREM_1 if limit is None else mpu.THEOREM_2
    steps = row["steps"]
    if math.isnan(steps):
        verdict = Verdict(theorem, "updates", math.nan, reason=NO_STEPS)
    elif limit is None:
        # The objective of weights with a margin of 1, which is no larger than the largest margin allows.
        margin = 1 / math.sqrt(2 * row["objective"])
        value = mpu.separable_updates(square, b, delta_b, margin)
        asked = f"the largest margin is >= {margin:.4g}, the one found"
        verdict = Verdict(theorem, "updates", float(steps), value, asked)
    else:
        value = mpu.updates(int(row["n_examples"]), limit, square, b, delta_b)
        verdict = Verdict(theorem, "updates", float(steps), value, "delta_b > R^2")
    return [_with_verdict([entry], None, None, verdict)]


def _with_verdict(group: list[_Entry], bound: Bound | None, run: Run | None, verdict: Verdict) -> Row:
    row = group[0].row
    return Row(
        run_ids=tuple(str(entry.row["run_id"]) for entry in group),
        dataset=row["dataset"],
        task=row["task"],
        repetition=int(row["repetition"]),
        label=row["label"],
        setting=row["setting"].text,
        budget=None if math.isnan(row["budget"]) else int(row["budget"]),
        n_examples=int(row["n_examples"]),
        bound=bound,
        run=run,
        verdict=verdict,
    )
