"""The options of `budgetrun run`, what it chooses for those left open, and the config with the same settings."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from budgetrun import learners
from budgetrun.base.errors import CONTROL, InputError, capitalised, one_line, printable
from budgetrun.base.files import is_url
from budgetrun.base.params import STARTING
from budgetrun.base.problem import METRICS_IN_CURVES, Problem, problem_of, problem_with
from budgetrun.base.registry import parameters
from budgetrun.config.problems import FileName, ValueType, allowed_names, nearest
from budgetrun.config.quantities import METRICS, QUANTITIES, WINDOWED
from budgetrun.config.schema import AUTO
from budgetrun.config.yaml import Plain
from budgetrun.data.tables import Table
from budgetrun.data.tables.encode import Missing
from budgetrun.kernels.kinds import Matrix
from budgetrun.kernels.width import ROUNDS, median_gamma
from budgetrun.results.plotting import slug
from budgetrun.runner.live.kept import scaler

# The rounds that choices are made from.
FIRST = ROUNDS
_MOST_CLASSES = 100
BUDGETS = (100, 300, 1000)
_SEEDS = 3
_FORMS = {
    "--algorithm": ("NAME or NAME(VARIANT)", "  (budgetrun list algorithms)"),
    "--select": ("the name of a rule", ""),
}
# Columns with their captions that tables of regression show besides the RMSE.
_MORE = {"mae": "Mean absolute error", "r2": "R2: 1 for no errors, 0 for those of predicting the mean of all labels"}
_ALGORITHM = re.compile(r"(?P<name>[A-Za-z0-9_+]+)(\((?P<variant>[a-z_]+)\))?(:(?P<values>.+))?")
# A comma in brackets belongs to a list.
_COMMA = re.compile(r",(?![^\[]*\])")


# Options that have another name than what they set.
_OPTIONS = {"algorithms": "algorithm", "budgets": "budget", "continues": "continue"}


@dataclass(frozen=True)
class Request:
    """The arguments of `budgetrun run`, as its help describes them."""

    source: str
    label: str | None = None
    budgets: tuple[int, ...] = BUDGETS
    algorithms: tuple[str, ...] = ()
    quick: bool = False
    select: tuple[str, ...] = ()
    gamma: tuple[str, ...] = ("auto",)
    scale: str = "auto"
    task: str = "auto"
    missing: Missing = "fill"
    classes: tuple[str, ...] = ()
    seeds: int = _SEEDS
    metrics: tuple[str, ...] = ()
    shuffle: int | None = None
    name: str | None = None
    results: Path = Path("results")
    replay: bool = False
    force: bool = False
    continues: Path | None = None  # the results folder whose learners go on with this stream
    numbered: bool = False  # the name is one of several folders of the same stream

    @property
    def from_pipe(self) -> bool:
        """True for standard input, which can be read only once."""
        return self.source == "-"

    @cached_property
    def title(self) -> str:
        """The name of the results folder."""
        if self.name or self.from_pipe:
            return self.name or "stdin"
        source = re.split("[?#]", self.source)[0] if is_url(self.source) else self.source
        name = printable(Path(source).name.partition(".")[0].lower()) or "data"
        found = slug(name)
        # Names of figures, which add to it, have at most 100 characters.
        return found if len(found) <= 80 else f"{found[:70]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"

    @cached_property
    def folder(self) -> Path:
        """The results folder."""
        return self.results / self.title


def options_of(names: Iterable[str]) -> list[str]:
    """Return the options that set some fields of a `Request`."""
    return [f"--{_OPTIONS.get(name, name)}" for name in names]


@dataclass(frozen=True)
class Choices:
    """The choices for a request, made from the first rows of its stream."""

    task: str
    scale: str
    gammas: tuple[float | str, ...]
    median_gamma: float | None  # the value of ``auto`` among them
    label_column: str | int | None  # as a config names it
    n_rows: int | None


def budgets_of(text: str) -> tuple[int, ...]:
    """Return the budgets in a text such as ``100,300``, ascending.

    Raises InputError: one of them is not a whole number of at least 1.
    """
    found = [part.strip() for part in text.split(",")]
    wrong = [part for part in found if not (re.fullmatch(r"[0-9]{1,18}", part) and int(part) >= 1)]
    if wrong:
        raise InputError(
            f"--budget {text}: {wrong[0]!r} must be a whole number of at least 1, for example 100,300,1000"
        )
    return tuple(sorted({int(part) for part in found}))


def check_name(name: str) -> None:
    """Raise an InputError if a name of a results folder is not one that a config can have."""
    for problem in ValueType(FileName).check(name)[1].values():
        raise InputError(f"--name {one_line(name)}: {problem}")


def metrics_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of metrics, each once.

    Raises InputError: there is no such metric.
    """
    for name in names:
        if name not in METRICS:
            raise InputError(f"--metrics: no metric {name!r}{nearest(name, METRICS)}{allowed_names(METRICS)}")
    return tuple(dict.fromkeys(names))


def config_text(request: Request, choices: Choices, seen: list[str]) -> str:
    """Return the settings of a request as the YAML of a config, with ``seen`` as comments.

    Raises InputError: an algorithm is not written as ``NAME``, ``NAME(VARIANT)`` or either with ``:KEY=VALUE,...``.
    """
    problem = problem_of(choices.task)
    entries, always, _ = learners_of(request, choices.task, choices.n_rows)
    found = [_completed(entry, request, problem) for entry in [*entries, *always]]
    rules = [_parsed(text, "--select", "rule") for text in request.select]
    for text, rule in zip(request.select, rules, strict=True):
        if rule.keys() & {"of", "label"}:
            raise InputError(f"--select {text}: a rule follows all learners here; write a config for of and label")
        # Not those that are only there to be compared with.
        rule |= {"of": [label for _, label, _ in found[: len(entries)]], "label": rule["rule"]}
    dataset: dict[str, Any] = {"name": request.title, "path": request.source}
    if choices.label_column is not None:
        dataset["label_column"] = choices.label_column
    if request.missing != "refuse":
        dataset["missing"] = request.missing
    dataset |= {"task": choices.task, "scale": choices.scale}
    dataset["order"] = "file" if request.shuffle is None else "permuted"
    gammas = list(choices.gammas)
    config = {
        "name": request.title,
        "description": f"One pass over the stream {request.source}.",
        "seed": request.shuffle or 0,
        "datasets": [dataset],
        "kernel": {"name": "gaussian", "gamma": gammas if len(gammas) > 1 else gammas[0]},
        "algorithms": [entry for entry, _, _ in found],
        **({"select": rules} if rules else {}),
        **({"metrics": list(request.metrics)} if request.metrics else {}),
        "report": _report(request, problem, found, [entry["rule"] for entry in rules]),
    }
    # Names from the data may have line ends, which would end the comment.
    told = [one_line(text) for text in (f"The settings of: budgetrun run {request.source}", *seen)]
    comments = "".join(f"# {line}\n" for line in told)
    return comments + yaml.dump(
        config, Dumper=Plain, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120
    )


def learners_of(
    request: Request, task: str, n_rows: int | None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Return the entries of the learners that a request names, or of the default ones; of those in every table; and
    the names of those that would hold too many examples.
    """
    known = yaml.safe_load(Path(__file__).with_name("defaults.yaml").read_text(encoding="utf-8"))[task]
    entries, left_out = [_parsed(text) for text in request.algorithms], []
    if not entries:
        budget = _middle(request.budgets)
        entries = [{**entry, "budget": max(2, budget - budget % 2)} for entry in known["first"]]
        for entry in () if request.quick else known["more"]:
            most = entry.pop("most_rounds", None)
            if most is None or (n_rows is not None and n_rows <= most):
                entries.append(entry)
            else:
                left_out.append(entry["name"])
    named = {entry["name"] for entry in entries}
    return entries, [entry for entry in known["always"] if entry["name"] not in named], left_out


def _middle(budgets: Iterable[int]) -> int:
    return (found := sorted(budgets))[len(found) // 2]


def _parsed(text: str, option: str = "--algorithm", called: str = "name") -> dict[str, Any]:
    """Return the entry of a config for ``NAME(VARIANT):KEY=VALUE,...``; ``called`` is the key of the name."""
    found = _ALGORITHM.fullmatch(text.strip())
    if found is None:
        form, where = _FORMS[option]
        raise InputError(
            f"{option} {text}: must be {form}, with parameters after a colon as KEY=VALUE,KEY=VALUE{where}"
        )
    entry: dict[str, Any] = {called: found["name"] if called != "name" else _named(found["name"])}
    if found["variant"]:
        entry["variant"] = found["variant"]
    for pair in filter(None, _COMMA.split(found["values"] or "")):
        key, equals, value = pair.partition("=")
        wrong = InputError(f"{option} {text}: {pair!r} must be KEY=VALUE, or KEY=[VALUE,VALUE] for a list")
        if not equals:
            raise wrong
        try:
            entry[key.strip()] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise wrong from None
    return entry


def _named(text: str) -> str:
    """Return the name of a learner that may be written as its class is, such as ``PassiveAggressive``."""
    if text.islower():
        return text
    plain = {name.replace("_", ""): name for task in learners.BASES for name in learners.registry(task)}
    return plain.get(text.lower().replace("_", ""), text)


def _completed(entry: dict[str, Any], request: Request, problem: Problem) -> tuple[dict[str, Any], str, str]:
    """Return an entry with the budgets and seeds that its learner takes; its label in configs, and its family."""
    try:
        learner: Any = learners.find(entry["name"], entry.get("variant"), problem.name)
    except KeyError:
        # The reader of configs says what is wrong with it.
        return entry, entry["name"], ""
    wanted = parameters(learner)
    budget = {"budget": list(request.budgets)} if "budget" in wanted else {}
    required = {name for name, one in wanted.items() if one.default is one.empty} - entry.keys()
    seeds = {"seeds": request.seeds} if learner.draws and request.seeds > 1 else {}
    label = entry.get("label") or (f"{entry['name']}({learner.variant})" if learner.variant else entry["name"])
    entry = budget | entry | {name: STARTING[name] for name in STARTING if name in required} | seeds
    return entry, label, learner.family


def _report(
    request: Request, problem: Problem, found: list[tuple[dict[str, Any], str, str]], rules: list[str]
) -> dict[str, Any]:
    """Return the section ``report`` of a config, given what `_completed` returned for each learner."""
    name = request.title
    with_budget = [label for entry, label, _ in found if "budget" in entry]
    # Its error, often far above all others, would press them together.
    constant = [label for _, label, family in found if family == "constant"]
    titles = dict.fromkeys(constant, capitalised(problem.constant.removeprefix("the ")))
    labels = [label for _, label, family in found if family != "constant"]
    listed = [entry["budget"] for entry, _, _ in found if entry.get("budget") is not None]
    budgets = {budget for one in listed for budget in (one if isinstance(one, list) else [one])}
    # Lines of all budgets would be too many.
    middle = _middle(budgets) if len(budgets) > 1 else None
    shown = f" (B = {middle:,})" if middle else ""
    over = {"dataset": name, "lines": labels, "x": "rounds", **({"budget": middle} if middle else {})}
    numbers, quantity = not problem.of_classes, QUANTITIES[problem.error]
    error, windowed = capitalised(quantity.noun), WINDOWED[problem.error].name
    part = f"{error} in each part" if numbers else "Error in each part of the stream"
    figures: list[dict[str, Any]] = [
        {"name": f"{name}_error", "title": f"{error} so far{shown}", **over, "lines": [*labels, *rules]},
        {"name": f"{name}_windows", "title": f"{part}{shown}", **over, "lines": [*labels, *rules], "y": windowed},
    ]
    if request.quick:
        del figures[1]
    if with_budget and len(budgets) > 1:
        points = [label for label in labels if label not in with_budget]
        lines = {"dataset": name, "lines": [*with_budget, *points]}
        figures.append({"name": f"{name}_budget", "title": f"{error} against the budget", **lines})
    for metric in request.metrics:
        if metric in METRICS_IN_CURVES:
            title = f"{capitalised(METRICS[metric].noun)}{shown}"
            figures.append({"name": f"{name}_{metric}", "title": title, **over, "y": metric})
    unit = " (%)" if quantity.is_percent else ""
    tables: list[dict[str, Any]] = [
        {"name": name, "caption": f"{error}{unit}: each example is predicted before its label is learned."},
        *({"name": f"{name}_{key}", "caption": noun, "quantity": key} for key, noun in _MORE.items() if numbers),
        {"name": f"{name}_size", "caption": "Examples held at the end", "quantity": "support_size"},
    ]
    for metric in request.metrics:
        caption = capitalised(METRICS[metric].in_words)
        tables.append({"name": f"{name}_{metric}", "caption": caption, "quantity": metric})
    return {"tables": tables, "figures": figures, "titles": titles}


def choices(request: Request, table: Table, first: Matrix) -> tuple[Choices, list[str]]:
    """Return the choices, with a sentence for each that the user did not make.

    ``first`` are the first examples of the stream, shape (n, d), 1 <= n <= `FIRST`.

    Raises InputError: the stream does not fit the request.
    """
    said = [f"{capitalised(table.label_found)}."] if table.label_found else []
    said += table.notes()
    task = _task(request, table)
    if request.task == "auto":
        said.append(f"Task: {task}, because there are {len(table.classes)} classes.")
    scale = request.scale
    if scale == "auto":
        values = first if isinstance(first, np.ndarray) else first.data
        values = values[values != 0]
        bits = not values.size or values.min() == values.max()
        scale = "none" if bits else "running"
        why = "each row is scaled by the mean and deviation of the rows before it (to leave them alone: --scale none)"
        if bits:
            why = f"every value of the first {first.shape[0]:,} rows is 0 or {values.max(initial=0):.4g}"
        said.append(f"Scale: {scale}{', because ' if bits else ': '}{why}.")
    gammas = tuple(map(_gamma, request.gamma))
    median = None
    if AUTO in gammas:
        try:
            median = median_gamma(scaler(scale, first.shape[1]).scaled(first.copy()))
        except ValueError as error:
            raise InputError(f"{table.where}: --gamma auto: {error}") from None
        said.append(f"gamma: {median:g}, the median heuristic on the first {first.shape[0]:,} rounds.")
    said += [
        f"{name} is left out: it is too slow or too large on a long stream; to include it: --algorithm {name}."
        for name in learners_of(request, task, table.n_rows)[2]
    ]
    column = table.label_column
    # A config holds no control characters.
    by_name = column is not None and column.named and not CONTROL.search(column.name)
    label = None if column is None else column.name if by_name else column.position
    return Choices(task, scale, gammas, median, label, table.n_rows), said


def _task(request: Request, table: Table) -> str:
    # This counts the rows, too.
    n = len(table.classes)
    if not problem_of(request.task).of_classes:
        for option, values in (("--metrics", request.metrics), ("--classes", request.classes)):
            if values:
                given = ",".join(values)
                raise InputError(f"{option} {given}: goes with classes, not with --task regression; remove it")
        return request.task
    shown = " ".join(map(str, table.classes[:10])) + (" ..." if n > 10 else "")
    if n < 2:
        if request.from_pipe and not request.classes:
            raise InputError(
                f"{table.where}: every row that has come so far has the label {shown}; name all labels (--classes)"
            )
        raise InputError(f"{table.where}: every row has the label {shown}; nothing can be learned from a single class")
    if n > _MOST_CLASSES:
        raise InputError(
            f"{table.where}: the labels have {n:,} different values ({shown}): these look like measurements, not "
            "classes; name another column with --label, or learn numbers with --task regression"
        )
    if request.task == "binary" and n != 2:
        raise InputError(f"{table.where}: --task binary needs two classes, found {n}: {shown}; use --task multiclass")
    return problem_with(n).name if request.task == "auto" else request.task


def _gamma(text: str) -> float | str:
    if text == AUTO:
        return text
    try:
        gamma = float(text)
    except ValueError:
        gamma = 0.0
    if not 1e-100 <= gamma <= 1e100:
        raise InputError(f"--gamma {text}: must be auto or a number above 0")
    return gamma
