"""Check the runs of a results folder: both sides of each bound on each of them."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from budgetrun.base.errors import DataMissingError, InputError
from budgetrun.base.problem import problem_of
from budgetrun.config import kinds
from budgetrun.config.schema import DatasetSpec, SelectSpec
from budgetrun.data import Stream, open_stream, stream_info
from budgetrun.kernels import Kernel, squares
from budgetrun.papers import theory
from budgetrun.papers.theory import Bound, Competitors, Run, Verdict
from budgetrun.play import selection
from budgetrun.results.store.read import Results

# A bound on an expectation is violated if the lower end of the mean's interval with this confidence is above it.
CONFIDENCE = 0.999
NO_SEEDS = "a bound on an expectation: not testable with one seed"
# Dataset, repetition, task and kernel.
StreamKey = tuple[str, int, str, str]


@dataclass(frozen=True)
class Row:
    """A bound on a run, or on the mean of runs that differ only in their seeds."""

    run_ids: tuple[str, ...]
    dataset: str
    task: str
    repetition: int
    kernel: str
    label: str
    setting: str
    budget: int | None
    n_examples: int
    bound: Bound | None  # None, as the run, for a bound on a rule of selection
    run: Run | None
    verdict: Verdict

    @property
    def stream(self) -> StreamKey:
        """Dataset, repetition, task and kernel."""
        return self.dataset, self.repetition, self.task, self.kernel

    @property
    def name(self) -> str:
        """The run or runs in words, for messages."""
        parts = [self.dataset, *([self.task] if self.task != "-" else []), f"repetition {self.repetition}", self.label]
        parts += [self.setting] if self.setting else []
        parts += [f"budget {self.budget}"] if self.budget is not None else []
        runs = f"run {self.run_ids[0]}" if len(self.run_ids) == 1 else f"the {len(self.run_ids)} seeds"
        return f"{runs} ({', '.join(parts)})"


@dataclass
class Checked:
    """The outcome of checking a results folder."""

    rows: list[Row] = field(default_factory=list)
    # Those on the first stream of each dataset, with its first kernel.
    competitors: dict[StreamKey, Competitors] = field(default_factory=dict)
    n_checked: int = 0
    n_runs: int = 0  # all finished runs
    without: list[str] = field(default_factory=list)  # labels without any bound
    missing: list[str] = field(default_factory=list)  # a sentence for each dataset whose data are missing

    @property
    def violations(self) -> list[str]:
        """A sentence for each bound that is violated."""
        return [
            f"violated: {row.name}: {row.verdict.count:,.6g} {row.verdict.counts}, but {row.verdict.theorem} allows "
            f"{row.verdict.value:,.6g}"
            for row in self.rows
            if row.verdict.violated
        ]


def check(results: Results, data_dir: Path | None, streams: int | None) -> Checked:
    """Evaluate the bounds on the runs of a results folder; see `budgetrun.papers.bounds.report.write_bounds`."""
    config = results.config
    checked = Checked(n_runs=len(results.runs))
    selections = {spec.label: spec for spec in config.select}
    kind = kinds.find(config.kind) if config.kind else None
    for dataset in results.datasets:
        spec, recorded = results.specs[dataset], (results.manifest.get("datasets") or {}).get(dataset) or {}
        assert spec.kernel is not None
        runs = results.runs[results.runs["dataset"] == dataset]
        # All tasks of a repetition before the next repetition.
        every = sorted({(int(r), task) for r, task in zip(runs["repetition"], runs["task"], strict=True)})
        chosen = every[:streams]
        try:
            sha256 = _check_data(spec, recorded.get("sha256"), data_dir, results.folder)
            kernels = [kernel.build() for kernel, _ in spec.kernel.each(recorded.get("median_gamma"))]
            for repetition in sorted({repetition for repetition, _ in chosen}):
                tasks = [task for r, task in chosen if r == repetition]
                here = runs[(runs["repetition"].astype(int) == repetition) & runs["task"].isin(tasks)]
                wanted = None if kind and kind.of_all_tasks else tasks
                stream = open_stream(spec, config.seed, repetition, data_dir, wanted, sha256)
                checked.n_checked += len(here)
                checked.rows += _selection_rows(here, selections)
                here = here[~here["label"].isin(selections)]
                for kernel in kernels:
                    own = here[here["kernel"] == str(kernel)] if len(kernels) > 1 else here
                    competitors: dict[str, Competitors] = {}
                    found = kind.bounds(_records(own), stream, kernel, config) if kind else None
                    if found is None:
                        rows, competitors = _check_stream(own, spec, stream, kernel)
                    else:
                        rows = [_row([row], verdict) for row, verdict in found]
                    checked.rows += rows
                    drawn = any(key[0] == dataset for key in checked.competitors)
                    if not drawn and repetition == chosen[0][0] and chosen[0][1] in competitors:
                        key = dataset, *chosen[0], str(own["kernel"].iloc[0])
                        checked.competitors[key] = competitors[chosen[0][1]]
        except DataMissingError as error:
            checked.missing.append(str(error))
    labels = {row.label for row in checked.rows}
    datasets = {row.dataset for row in checked.rows} or set(results.datasets)
    present = results.runs[results.runs["dataset"].isin(datasets)]["label"]
    checked.without = [label for label in dict.fromkeys(present) if label not in labels]
    return checked


def _check_data(spec: DatasetSpec, recorded: str | None, data_dir: Path | None, folder: Path) -> str:
    """Return the checksum of the data; raise an error if it is not the recorded one, that of the runs."""
    found = stream_info(spec, data_dir).sha256
    if recorded is not None and recorded != found:
        raise InputError(
            f"the data of '{spec.label}' are not those of the runs in {folder} (sha256 {found[:12]}, but the "
            f"runs had {recorded[:12]}); give the folder with their data as --data, or run the sweep again"
        )
    return found


def _check_stream(
    runs: pd.DataFrame, spec: DatasetSpec, stream: Stream, kernel: Kernel
) -> tuple[list[Row], dict[str, Competitors]]:
    """Return the rows of the runs with a kernel on the tasks of a repetition, and the competitors on each task."""
    largest = float(kernel.diagonal(squares(stream.X)).max())
    entries = [_Entry(row, _run(row, spec, largest)) for row in _records(runs)]
    bounds = theory.registry()
    pairs = [(entry, bound) for entry in entries for bound in theory.about(bounds, entry.run.learner)]
    # Finding competitors takes time, and void bounds do not need them.
    live = [(entry, bound) for entry, bound in pairs if bound.compares and not bound.why_void(entry.run)]
    tasks = {entry.row["task"] for entry, _ in live}
    competitors = {}
    if live:
        wanted = {task: stream.tasks[task] for task in stream.tasks if task in tasks}
        n_classes = problem_of(spec.task).n_classes(len(stream.classes))
        shifting = any(bound.shifting for _, bound in live)
        competitors = theory.find(stream.X, wanted, kernel, n_classes, shifting=shifting)
    # A bound on an expectation is checked on the mean of the runs that differ only in their seeds.
    groups: dict[tuple[Any, ...], list[_Entry]] = {}
    for entry, bound in sorted(pairs, key=lambda pair: _is_on_mean(pair[1])):
        row = entry.row
        of = ("task", "repetition", "label", "parameters", "budget", "kernel") if _is_on_mean(bound) else ("run_id",)
        groups.setdefault((bound, *(row[name] for name in of)), []).append(entry)
    return [_checked(group, bound, competitors) for (bound, *_), group in groups.items()], competitors


def _records(runs: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in runs.to_dict("records")]


class _Entry(NamedTuple):
    """A row of runs.csv, and the run that bounds are checked on."""

    row: dict[str, Any]
    run: Run


def _run(row: dict[str, Any], spec: DatasetSpec, largest_square: float) -> Run:
    parameters = json.loads(row["parameters"])
    algorithm = kinds.class_of(row["algorithm"], parameters.pop("variant", None), problem_of(spec.task).name)
    parameters.pop("budget", None)
    if not math.isnan(row["budget"]):
        parameters["budget"] = int(row["budget"])
    if algorithm.draws:
        parameters["seed"] = int(row["seed"])
    # A row of a learner has no objective.
    updates = float(row["updates"]) if math.isnan(row["objective"]) else row["steps"]
    facts, of_all = json.loads(row.get("facts") or "null"), (row["objective"], int(row["n_examples"]))
    return Run(algorithm(**parameters), row["mistakes"], updates, largest_square, facts, *of_all)


def _is_on_mean(bound: Bound) -> bool:
    return bound.counts == "expected mistakes"


def _checked(group: list[_Entry], bound: Bound, competitors: dict[str, Competitors]) -> Row:
    counts = np.array([entry.row["mistakes"] for entry in group], dtype=np.float64)
    run = replace(group[0].run, mistakes=float(counts.mean()))
    verdict = bound.check(run, competitors.get(group[0].row["task"]))
    if _is_on_mean(bound) and verdict.applies:
        verdict = replace(verdict, lower=_lower_end(counts)) if len(group) > 1 else replace(verdict, reason=NO_SEEDS)
    return _row([entry.row for entry in group], verdict, bound, run)


def _lower_end(counts: NDArray[np.float64]) -> float:
    """Return the lower end of the confidence interval of the mean of the distribution of these counts."""
    from scipy.stats import t

    n = len(counts)
    return float(counts.mean() - t.ppf((1 + CONFIDENCE) / 2, n - 1) * counts.std(ddof=1) / math.sqrt(n))


def _selection_rows(runs: pd.DataFrame, selections: Mapping[str, SelectSpec]) -> list[Row]:
    """Return the bounds on the rules among some runs of a repetition, whose candidates are among these runs."""
    found = []
    for row in _records(runs[runs["label"].isin(selections)]):
        spec = selections[row["label"]]
        rule = selection.registry()[spec.rule](**spec.parameters)
        facts, T = json.loads(row["facts"]), int(row["n_examples"])
        fewest = runs.loc[(runs["task"] == row["task"]) & runs["label"].isin(spec.of), "mistakes"].min()
        if facts["live"] == facts["candidates"]:
            # As the candidates' own runs say, whatever the rule has counted.
            facts["best_mistakes"] = float(fewest)
        for bound in rule.guarantees(facts, row["mistakes"], T):
            text = f"fewest mistakes of a candidate, L*: {fewest:,.0f}"
            found.append(_row([row], Verdict(bound.theorem, bound.counts, bound.count, bound.value, text)))
    return found


def _row(rows: list[dict[str, Any]], verdict: Verdict, bound: Bound | None = None, run: Run | None = None) -> Row:
    row = rows[0]
    same = {name: row[name] for name in ("dataset", "task", "kernel", "label")}
    return Row(
        **same,
        run_ids=tuple(str(of_seed["run_id"]) for of_seed in rows),
        repetition=int(row["repetition"]),
        setting=row["setting"].text,
        budget=None if math.isnan(row["budget"]) else int(row["budget"]),
        n_examples=int(row["n_examples"]),
        bound=bound,
        run=run,
        verdict=verdict,
    )
