"""A config with stand-in learners, and helpers that break one of its lines."""

# ruff: noqa: E501

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import AfterValidator, Field

from budgetrun import config
from budgetrun.base.errors import InputError
from budgetrun.base.params import Budget, Seed
from budgetrun.learners import BinaryLearner, MulticlassLearner

GOOD = """\
name: demo
datasets:
  - {name: digits, label: mine, path: stream.csv, order: file, repetitions: 1}
  - {name: digits, task: equal_splits, scale: unit_norm}
kernel: {name: gaussian, gamma: 1}
repetitions: 2
algorithms:
  - {name: perceptron}
  - {name: fading, budget: {of: perceptron, fractions: [0.25, 1]}}
  - {name: drawing, budget: [2, 3], rate: 1e-1, seeds: 2}
report:
  tables:
    - {name: t1, expected: printed.csv, columns: [perceptron, drawing], rows: [mine], relative_to: perceptron, aliases: {mine: digits}}
  figures:
    - {name: f1, dataset: mine, lines: [drawing], point: perceptron, band: [drawing], x: budget_fraction}
  choices: ["said"]
  findings:
    - {dataset: mine, label: [drawing, perceptron], budget_fraction: 1, text: "found"}
profiles:
  ci: {n_examples: 50, tasks: 3, repetitions: 1, seeds: 1}
"""


PRINTED = """\
dataset,label,budget_fraction,online_error_percent
digits,perceptron,,7.5
digits,fading(slow),0.25,12
"""


KEYS = "name, source, description, seed, datasets, kernel, tie, dtype, repetitions, alone, timeout_seconds, "
KEYS += "algorithms, select, metrics, report, profiles"


DATASET_KEYS = (
    "name, label, path, task, parts, scale, order, balanced, noise, positive, n_examples, options, repetitions, kernel, "
    "test, test_path, optional, label_column, missing"
)


MULTICLASS = """\
name: demo
tie: mistake
datasets:
  - {name: digits, task: multiclass, test: [test]}
  - {name: own, path: stream.csv, test_path: stream.csv, task: multiclass}
kernel: {name: gaussian, gamma: 1}
algorithms:
  - {name: perceptron}
  - {name: ranking, eta: [0.1, 0.2], hierarchy: "(0 1) 2"}
report:
  tables:
    - {name: t1, quantity: test_error, expected: printed.csv}
  figures:
    - {name: f1, dataset: own, lines: [ranking], x: support_size, y: last_test_error, log_x: true}
  findings:
    - {label: ranking, setting: [eta=0.1], text: "found"}
"""


def _formula(text):
    if "?" in text:
        raise ValueError(f"{text!r} is not a formula")
    return text


class Perceptron(BinaryLearner):
    name = "perceptron"

    def __init__(self) -> None: ...

    def update(self, f, y, score): ...


class Slow(Perceptron):
    name, variant, default_variant = "fading", "slow", True

    def __init__(self, *, budget: Budget, reading: Literal["literal", "fitted"] = "literal") -> None:
        if budget == 13:
            raise ValueError("fading(slow) has no budget of 13")


class Fast(Perceptron):
    name, variant = "fading", "fast"
    default_variant = False

    def __init__(
        self,
        *,
        phi: Annotated[float, Field(gt=0, le=1)] | Annotated[str, AfterValidator(_formula)],
        steps: tuple[Annotated[int, Field(ge=1)], ...] = (1, 2),
        schedule: dict[str, float] | None = None,
        project: bool = False,
    ) -> None: ...


class Drawing(Perceptron):
    name, draws = "drawing", True

    def __init__(self, *, budget: Budget, rate: Annotated[float, Field(gt=0)] = 0.5, seed: Seed = 0) -> None: ...


class ManyClasses(MulticlassLearner):
    name = "perceptron"

    def __init__(self) -> None: ...

    def update(self, f, y, rival, lead): ...


class Ranking(ManyClasses):
    name = "ranking"

    def __init__(self, *, eta: Annotated[float, Field(gt=0)], hierarchy: str | None = None) -> None: ...


def load(text, profile="full"):
    Path("demo.yaml").write_text(text, encoding="utf-8")
    return config.load("demo.yaml", profile)


def message(text):
    """Return the lines of the error that a text gives, without the file's name, which each must begin with."""
    with pytest.raises(InputError) as caught:
        load(text)
    lines = str(caught.value).split("\n")
    assert all(line.startswith("demo.yaml:") for line in lines)
    return [line.removeprefix("demo.yaml:") for line in lines]


def replaced(number, line):
    """Return the good config with another line in one place."""
    lines = GOOD.splitlines()
    lines[number - 1] = line
    return "\n".join(lines) + "\n"
