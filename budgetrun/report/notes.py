"""The sentences under a table: how to read a cell, what differs between columns, what is missing."""

from __future__ import annotations

from budgetrun.config.schema import value_text
from budgetrun.report.layout import Table
from budgetrun.report.quantities import GAP, OBJECTIVE, REST_ERROR, SECONDS, SECONDS_RATIO, TEST_ERROR
from budgetrun.store import optimum as brackets
from budgetrun.store.read import NO_SETTING, Results, is_by_dataset, typed_values


def notes(results: Results, table: Table, of_choice: list[str], below: str | None) -> list[str]:
    """Return the notes of a table; ``below`` is whose seconds the others' are divided by, None for no ratios."""
    cell = "measured mean ± standard deviation"
    beside = ["chosen setting; "] if table.has_chosen else []
    if table.has_printed:
        beside.append("printed, difference relative to the print")
        beside += [", in printed standard deviations"] if table.has_sds else []
    if beside:
        cell += f" ({''.join(beside).removesuffix('; ')})"
    unit = ", in percent" if table.quantity.is_percent else ""
    said = [
        f"A cell reads: {cell}{unit}. The standard deviation is over repetitions × tasks after averaging over "
        "seeds; one stream alone has none.",
        *of_choice,
    ]
    if below is not None:
        of_print = ", and the print's by the print's" if table.has_printed else ""
        said.append(f"Seconds are divided by those of {below} on the same data{of_print}.")
    # Results of before there was a choice do not say it.
    if table.quantity in (SECONDS, SECONDS_RATIO) and not results.of_solvers and "alone" in results.config:
        said.append(_of_sharing(results))
    if any(cell.budget.kind == "fraction" for cell in table.cells):
        said.append(f"B is the budget, p {_reference_of(results, table.columns)} on the same stream.")
    if table.quantity is REST_ERROR and table.has_printed:
        said.append("The printed numbers are of all rounds.")
    said += _by_dataset(results, table)
    if table.quantity is TEST_ERROR and any(c.measured is None for c in table.cells):
        said.append("Only learners that keep every example they hold have an averaged hypothesis of bounded size.")
    for ours, theirs in dict.fromkeys(
        pair
        for cell in table.cells
        if cell.printed is not None
        for pair in zip((cell.dataset, cell.label), cell.source, strict=True)
        if pair[0] != pair[1]
    ):
        said.append(f"{ours} is compared with the printed numbers of {theirs}.")
    if table.quantity in (OBJECTIVE, GAP):
        if table.quantity is GAP:
            said.append(
                "A gap is objective / L - 1, L the largest lower bound of all runs: it is at least the true one."
            )
        said += brackets.notes(results.brackets, dict.fromkeys(cell.dataset for cell in table.cells))
    if results.of_solvers:
        said += _unfinished(results, table)
    if any(cell.measured and cell.measured.n_failed for cell in table.cells):
        said.append("† Some of this cell's runs failed; the mean is over those that finished.")
    return said + warnings(results)


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


def _of_sharing(results: Results) -> str:
    """Return in words whether the learners' seconds are their own."""
    if results.config["alone"]:
        return "Every run was made on its own, so its seconds are all that it needed."
    return (
        "The learners of a stream shared kernel values: a run's seconds are its own and its part of what was shared, "
        "and say little of what it would need alone (alone: true in the config)."
    )


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
