"""The sentences below a table: how to read a cell, what differs between columns, what is missing."""

import pandas as pd

from budgetrun.config.quantities import GAP, OBJECTIVE, REST_ERROR, SECONDS, SECONDS_RATIO, TEST_ERROR
from budgetrun.config.schema import value_text
from budgetrun.kernels.width import ROUNDS
from budgetrun.learners.one_vs_rest import is_one_vs_rest
from budgetrun.results.report.layout import Table
from budgetrun.results.store import optimum
from budgetrun.results.store.read import NO_SETTING, Results

# The share of rounds with a score of 0 from which on a warning says so.
_MOST_ZEROS = 0.5
_ALONE = "Each run was made on its own, so its seconds are all that it needed."
_SHARED = (
    "The learners of a stream shared kernel values: the seconds of a run are its own and its part of what was shared, "
    "and do not tell what it would need alone (alone: true in the config)."
)


def notes(results: Results, table: Table, of_choice: list[str], divisor: str | None) -> list[str]:
    """Return the notes of a table; ``divisor`` is whose seconds the others' are divided by, None for no ratios."""
    notes = [_of_cells(table), *of_choice]
    if divisor is not None:
        published = "; published seconds by its published seconds" if "published" in table.shows else ""
        notes.append(f"Seconds are divided by those of {results.title(divisor)} on the same data{published}.")
    of_learners = table.quantity in (SECONDS, SECONDS_RATIO) and not results.of_batch
    # Earlier configs do not have this key.
    if of_learners and "alone" in results.config.model_fields_set:
        notes.append(_ALONE if results.config.alone else _SHARED)
    if any(cell.place.budget.kind == "fraction" for cell in table.cells):
        notes.append(f"B is the budget, p {_reference(results, table.columns)} on the same stream.")
    if table.quantity is REST_ERROR and "published" in table.shows:
        notes.append("The published numbers are of all rounds.")
    notes += [*_one_vs_rest(results, table), *_by_dataset(results, table), *_by_data(results, table)]
    if table.quantity is TEST_ERROR and any(cell.measured is None for cell in table.cells):
        notes.append("Only learners that never drop an example have an averaged hypothesis of bounded size.")
    for cell in table.cells:
        for name, other in zip(cell.place[:2], cell.source, strict=True):
            if cell.published is not None and name != other:
                notes.append(f"{results.title(name)} is compared with the published numbers of {results.title(other)}.")
    datasets = dict.fromkeys(cell.place.dataset for cell in table.cells)
    if table.quantity is GAP:
        notes.append("A gap is objective / L - 1, L the largest lower bound of all runs: it is at least the true one.")
    if table.quantity in (OBJECTIVE, GAP):
        notes += optimum.notes(results.brackets, datasets, results.title)
    if results.of_batch:
        notes += _unfinished(results, table)
    if any(cell.measured and cell.measured.n_failed for cell in table.cells):
        notes.append("† Some of this cell's runs failed; the mean is over those that finished.")
    return list(dict.fromkeys([*notes, *warnings(results)]))


def warnings(results: Results) -> list[str]:
    """Return a sentence for each reason why these numbers are not the whole experiment."""
    runs, found = results.runs, []
    if (profile := results.manifest.get("profile") or "full") != "full":
        caps = results.config.profiles[profile].model_dump() if profile in results.config.profiles else {}
        limits = ", ".join(f"{key} {value}" for key, value in caps.items() if value is not None)
        found.append(
            f"Profile {profile}{f' (at most: {limits})' if limits else ''}: the runs are cut short to check that "
            "everything works; these numbers are not the full experiment."
        )
    if "end" in results.manifest and results.manifest["end"] is None:
        found.append("The sweep is not complete: the means are over the runs that have finished so far.")
    if results.incomplete:
        found.append(f"These results are incomplete: {results.incomplete}.")
    # On some datasets, most scores of a learner may be exactly 0.
    for dataset, own in runs[runs["zero_scores"] > _MOST_ZEROS * runs["n_examples"]].groupby("dataset", sort=False):
        share = (own["zero_scores"] / own["n_examples"]).max()
        gaussian = own["kernel"].str.startswith("gaussian").any()
        underflow = ", or kernel values underflow (scale the features, or take a smaller gamma)" if gaussian else ""
        found.append(
            f"Warning: on {results.title(str(dataset))}, the score of {_zeros(results, str(dataset), own)} was exactly "
            f"0 in up to {share:.0%} of the rounds. That is so where no example is held, or examples share no feature"
            f"{underflow}."
        )
    return found


def _zeros(results: Results, dataset: str, runs: pd.DataFrame) -> str:
    """Return the learners of runs on a dataset, with the settings of those that also have others."""
    names = []
    for label, own in runs.groupby("label", sort=False):
        (first, *others), n = dict.fromkeys(own["setting"]), len(results.settings(str(label), dataset))
        which = f"{1 + len(others)} of {n} settings" if others else results.own_text(dataset, str(label), first)
        names.append(results.title(str(label)) + (f" ({which})" if 1 + len(others) < n else ""))
    return "; ".join(names)


def _of_cells(table: Table) -> str:
    beside = ["chosen setting"] if "chosen" in table.shows else []
    if "published" in table.shows:
        in_sds = ", in published standard deviations" if "in_sds" in table.shows else ""
        beside.append(f"published, difference relative to the published value{in_sds}")
    cell = "measured mean ± standard deviation" + (f" ({'; '.join(beside)})" if beside else "")
    unit = ", in percent" if table.quantity.is_percent else ""
    single = [one.measured for one in table.cells if one.measured and one.measured.n_streams == 1]
    seeds = any(one.n_seeds > 1 for one in single)
    of_one = "with a single stream, it is over its seeds" if seeds else "a single stream has none"
    return (
        f"A cell reads: {cell}{unit}. The standard deviation is over repetitions × tasks after averaging over seeds; "
        f"{of_one}."
    )


def _one_vs_rest(results: Results, table: Table) -> list[str]:
    """Return what budgets and support sizes are where each class has a learner of its own."""
    known = results.algorithms
    labels = [label for label in table.columns if label in known and is_one_vs_rest(known[label].variant)]
    untold = [label for label in labels if "one-vs-rest" not in results.title(label)]
    which = f" ({results.titles(untold)})" if untold else ""
    text = "one learner per class, each with the budget B; support sizes count the different examples of all classes"
    return [f"One-vs-rest{which}: {text}."] if labels else []


def _by_dataset(results: Results, table: Table) -> list[str]:
    """Return a sentence for each parameter or budget with one value per dataset, of the labels that share them."""
    shown = {cell.place.dataset for cell in table.cells}
    alike: dict[tuple[str, str], list[str]] = {}
    for label in table.columns:
        spec = results.algorithms.get(label)
        by_dataset = spec.by_dataset if spec else {}
        for name in sorted(by_dataset, key=lambda name: name != "budget"):
            values = {data: by_dataset[name].by_dataset.get(data, ()) for data in results.datasets if data in shown}
            single = ((data, own[0]) for data, own in values.items() if len(own) == 1)
            text = ", ".join(f"{results.title(data)} {value_text(value)}" for data, value in single)
            alike.setdefault(("B" if name == "budget" else name, text), []).append(label)
    return [f"{name} of {results.titles(labels)}: {text}." for (name, text), labels in alike.items() if text]


def _by_data(results: Results, table: Table) -> list[str]:
    """Return a sentence for each dataset whose kernel, or scaling, follows from its rounds."""
    shown = {cell.place.dataset for cell in table.cells}
    sentences = []
    for spec in results.config.datasets:
        known = (results.manifest.get("datasets") or {}).get(spec.label) or {}
        where = f"{results.title(spec.label)}: "
        # `budgetrun run` has said so in a note, of the rounds that it had seen.
        said = any("median heuristic" in note for note in known.get("notes", ()))
        if spec.label in shown and spec.kernel and spec.kernel.is_auto and known.get("median_gamma") and not said:
            n = min(ROUNDS, known["n_examples"])
            whose = " of the first repetition" if (spec.repetitions or 1) > 1 else ""
            gamma = f"{known['median_gamma']:g}"
            sentences.append(f"{where}gamma auto: {gamma}, the median heuristic on the first {n:,} rounds{whose}.")
        if spec.label in shown and spec.scale == "running":
            sentences.append(f"{where}each row is scaled by the rows before it (scale: running).")
    return sentences


def _unfinished(results: Results, table: Table) -> list[str]:
    """Return a sentence for each cell some of whose runs stopped before they were done."""
    shown, title = {cell.place[:2] for cell in table.cells}, results.title
    runs = results.runs[results.runs["error"] != ""]
    found = dict.fromkeys(zip(runs["dataset"], runs["label"], runs["error"], strict=True))
    return [f"{title(dataset)}, {title(label)}: {why}." for dataset, label, why in found if (dataset, label) in shown]


def _reference(results: Results, columns: list[str]) -> str:
    """Return in words what budgets are fractions of."""
    followers: dict[str, list[str]] = {}
    for label, spec in results.algorithms.items():
        if label in columns and spec.budget_of:
            followers.setdefault(spec.budget_of, []).append(label)
    texts = []
    for source, labels in followers.items():
        runs = results.runs[results.runs["label"] == source]
        keeps_all = len(runs) and (runs["support_size"] == runs["mistakes"]).all()
        counted = "number of mistakes" if keeps_all else "final support size"
        swept = results.settings(source) not in ([], [NO_SETTING])
        whose = f" (for {results.titles(labels)})" if len(followers) > 1 else ""
        texts.append(f"the {counted} of {results.title(source)}{' at the same setting' if swept else ''}{whose}")
    return " or ".join(texts) or "the final support size of another algorithm"
