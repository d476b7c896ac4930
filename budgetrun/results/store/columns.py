"""The columns of runs.csv, each declared once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from budgetrun.base.problem import BINARY, REGRESSION


@dataclass(frozen=True)
class Column:
    """A column of runs.csv."""

    name: str
    # An integer is a count, a float a number; either may be empty.
    kind: Literal["text", "count", "number", "json"]
    # The rows that have a value: every one; every finished run; every finished run of a learner, or of an algorithm
    # that sees all examples at once; those that record something about a bound; runs on data with a test set; or some
    # runs only (those with a budget, ...).
    filled_by: Literal["every", "finished", "learner", "batch", "bounded", "tested", "some"]
    # The version that wrote it first; a results folder of an earlier one comes without it.
    since: str = "0.1"

    @property
    def may_be_missing(self) -> bool:
        """True if a results folder without such runs, or one of an earlier version, need not have the column."""
        return self.filled_by in ("batch", "bounded", "tested") or self.since > "0.2"


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
    Column("test_error", "number", "tested"),
    Column("last_test_error", "number", "tested"),
    Column("objective", "number", "batch"),
    Column("lower_bound", "number", "bounded"),
    Column("gap", "number", "bounded"),
    Column("steps", "count", "batch"),
    Column("unlearning_steps", "count", "batch"),
    Column("epochs", "count", "batch"),
    Column("compile_seconds", "number", "batch"),
    Column("prefix_examples", "count", "learner"),
    Column("prefix_mistakes", "count", "learner"),
    Column("facts", "json", "bounded"),
    Column("setting", "json", "every", since="0.2"),
    Column("zero_scores", "count", "learner", since="0.3"),
    # Metrics that the config asks for, and, with F1 or kappa, the counts of each class (row) predicted as each other.
    *(Column(name, "number", "some", since="0.3") for name in BINARY.metrics),
    *(Column(name, "json", "some", since="0.3") for name in BINARY.columns),
    *(Column(name, "number", "some", since="0.3") for name in REGRESSION.columns),
)
