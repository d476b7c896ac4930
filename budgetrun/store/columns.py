"""The columns of runs.csv, declared once: what each holds, and which runs fill it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Column:
    """A column of runs.csv.

    Attributes
    ----------
    name : str
    kind : {"text", "count", "number", "json"}
        ``count`` is an integer, ``number`` a float; either may be empty.
    filled_by : {"every", "finished", "learner", "solver", "some"}
        Which rows have a value: every one; every finished run; every finished run of a learner or of a solver; or
        some runs only (those with a budget, a test set, ...).
    since : str
        The version that wrote it first; a results folder of an earlier one comes without it.
    """

    name: str
    kind: Literal["text", "count", "number", "json"]
    filled_by: Literal["every", "finished", "learner", "solver", "some"]
    since: str = "0.1"


COLUMNS = (
    Column("run_id", "text", "every"),
    Column("dataset", "text", "every"),
    Column("task", "text", "every"),
    Column("repetition", "count", "every"),
    Column("seed", "count", "every"),
    Column("algorithm", "text", "every"),
    Column("parameters", "json", "every"),
    Column("kernel", "text", "some"),
    Column("budget", "count", "some"),
    Column("n_examples", "count", "finished"),
    Column("mistakes", "count", "learner"),
    Column("online_error", "number", "learner"),
    Column("updates", "count", "finished"),
    Column("margin_updates", "count", "learner"),
    Column("support_size", "count", "learner"),
    Column("max_support_size", "count", "learner"),
    Column("seconds", "number", "finished"),
    Column("peak_memory_mb", "number", "every"),
    Column("status", "text", "every"),
    Column("error", "text", "some"),
    Column("label", "text", "every"),
    Column("budget_fraction", "number", "some"),
    Column("test_error", "number", "some"),
    Column("last_test_error", "number", "some"),
    Column("objective", "number", "solver"),
    Column("lower_bound", "number", "some"),
    Column("gap", "number", "some"),
    Column("steps", "count", "solver"),
    Column("unlearning_steps", "count", "solver"),
    Column("epochs", "count", "solver"),
    Column("compile_seconds", "number", "solver"),
    Column("prefix_examples", "count", "learner"),
    Column("prefix_mistakes", "count", "learner"),
    Column("facts", "json", "learner"),
    Column("setting", "json", "every", since="0.2"),
)
