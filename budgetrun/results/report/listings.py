"""The simple tables of a report: what runs cost, and selections on the stream."""

import json
from typing import Any

import numpy as np
import pandas as pd

from budgetrun.config.schema import SelectSpec
from budgetrun.results.report.layout import Listing
from budgetrun.results.report.numbers import STREAM
from budgetrun.results.store.read import Results

# The columns of the table of selections, and their headings on pages. "Later" is after the first tenth.
_HEADINGS = {
    "candidates": "candidates",
    "left": "left",
    "rule_percent": "rule",
    "best_percent": "best",
    "above_best_percent": "above best",
    "rest_rule_percent": "later: rule",
    "rest_first_tenth_percent": "later: choice of the first tenth",
    "rest_best_percent": "later: best",
    "examples": "examples",
    "best_examples": "examples of the best",
    "rule_seconds": "seconds",
    "best_seconds": "seconds of the best",
}
# The columns of runs that they come from.
_NEEDED = ["label", "facts", "mistakes", "prefix_mistakes", "n_examples", "prefix_examples", "online_error"]
_NEEDED += ["max_support_size", "seconds"]


def costs(results: Results) -> list[Listing]:
    """Return the sums of the runs' seconds and, where the manifest has them, the times of the sweep's jobs."""
    sums = results.runs.groupby(["dataset", "label"])["seconds"].sum()
    labels, titles = results.labels, results.report.titles
    rows: list[list[Any]] = []
    for dataset in results.datasets:
        own = sums[dataset]
        rows.append([dataset, *(own.get(label) for label in labels), own.reindex(labels).sum()])
    swept = any(setting.items for label in labels for setting in results.settings(label))
    over = "tasks, repetitions, seeds, budgets and settings" if swept else "tasks, repetitions, seeds and budgets"
    title, remark = f"Seconds recorded with the runs, summed over {over}", ""
    if results.of_batch:
        remark = f"Compiling, which does not count, took {results.runs['compile_seconds'].sum():,.1f} s more."
    listings = [Listing("seconds", title, remark, titles, ["dataset", *labels, "all"], rows, 1)]
    if parts := results.manifest.get("parts"):
        keys = ("runs", "wall_seconds", "cpu_seconds")
        rows = [[part["dataset"], tuple(part["algorithms"]), *map(part.get, keys)] for part in parts]
        title = "Times of the sweep's jobs: the algorithms of a job read one stream together"
        listings.append(Listing("parts", title, of_part(results), titles, ["dataset", "algorithms", *keys], rows, 2))
    return listings


def of_part(results: Results) -> str:
    """Return a sentence on which runs the manifest's times are of; empty if they are of all."""
    timed, n = sum(part["runs"] for part in results.manifest.get("parts") or ()), len(results.runs)
    return f"Of {timed:,} of the {n:,} runs; earlier sweeps made the others." if 0 < timed < n else ""


def selections(results: Results) -> list[Listing]:
    """Return a rule of selection beside a choice on the first tenth and the best candidate in hindsight.

    The numbers are means over the streams; the list is empty if the config has no selections.
    """
    if not results.config.select:
        return []
    rows = []
    # Copying all columns for each stream is slow.
    runs = results.runs[["dataset", *STREAM, *_NEEDED]]
    for dataset in results.datasets:
        streams = [own for _, own in runs[runs["dataset"] == dataset].groupby(STREAM)]
        for spec in results.config.select:
            found = [_of_selection(own, spec) for own in streams if spec.label in set(own["label"])]
            if found := [numbers for numbers in found if numbers]:
                means = pd.DataFrame(found, columns=list(_HEADINGS)).mean()
                rows.append([dataset, spec.label, *(None if np.isnan(mean) else mean for mean in means.tolist())])
    if not rows:
        return []
    remark = (
        "The rule's online error in percent; that of the best candidate, which has the fewest mistakes on the stream, "
        "as is known in hindsight; and how much more the rule errs, in percent of that. Later: the same over the "
        "rounds after the first tenth, and the error there of the candidate with the fewest mistakes in the first "
        "tenth. Examples: the most that all live candidates held together, and the most that the best one held. "
        "Seconds: of the rule with all its candidates, and of the best one. Means over the streams."
    )
    titles = results.report.titles | _HEADINGS
    header = ["dataset", "selection", *_HEADINGS]
    return [Listing("selections", "Selection on the stream", remark, titles, header, rows, 2)]


def _of_selection(runs: pd.DataFrame, spec: SelectSpec) -> list[Any]:
    """Return the numbers of a selection on a stream; none if a candidate's run is missing."""
    rule, candidates = runs[runs["label"] == spec.label].iloc[0], runs[runs["label"].isin(spec.of)]
    facts = json.loads(rule["facts"])
    if len(candidates) != facts["candidates"]:
        return []
    best, early = (
        candidates.iloc[int(candidates[name].fillna(np.inf).argmin())] for name in ("mistakes", "prefix_mistakes")
    )

    def rest(run: Any) -> float:
        n = run["n_examples"] - run["prefix_examples"]
        return 100 * (run["mistakes"] - run["prefix_mistakes"]) / n if n else float("nan")

    error, least = 100 * rule["online_error"], 100 * best["online_error"]
    above = 100 * (error / least - 1) if least else float("nan")
    held = rule["max_support_size"], best["max_support_size"]
    return [
        *(facts["candidates"], facts["live"], error, least, above, rest(rule), rest(early), rest(best)),
        *(*held, rule["seconds"], best["seconds"]),
    ]
