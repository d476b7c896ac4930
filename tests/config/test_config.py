"""Configs: each mistake's whole message, sweeps, profiles, and the way through a manifest."""

# ruff: noqa: E501  (whole messages stay on one line)

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, Field

from budgetrun import config, kernels, learners
from budgetrun.config.problems import ValueType
from budgetrun.config.schema import (
    AlgorithmSpec,
    ByDataset,
    Config,
    DatasetSpec,
    FractionBudget,
    KernelSpec,
    Published,
    RunSpec,
    setting_text,
)
from budgetrun.errors import InputError
from budgetrun.learners import Budget, Learner, Seed

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
ROOT = Path(__file__).parents[1]
KEYS = "name, source, description, seed, datasets, kernel, tie, dtype, repetitions, alone, algorithms, report, profiles"
DATASET_KEYS = (
    "name, label, path, task, parts, scale, order, balanced, noise, positive, n_examples, options, repetitions, kernel, "
    "test, test_path, optional"
)


def _formula(text: str) -> str:
    if "?" in text:
        raise ValueError(f"{text!r} is not a formula")
    return text


class Perceptron(Learner):
    name = "perceptron"

    def __init__(self) -> None: ...

    def update(self, f: Any, y: int, score: float) -> None: ...


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


class ManyClasses(Perceptron):
    multiclass = True


class Ranking(Perceptron):
    name, multiclass = "ranking", True

    def __init__(self, *, eta: Annotated[float, Field(gt=0)], hierarchy: str | None = None) -> None: ...


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory with data, printed numbers, cards and packaged configs of its own, and stand-in learners."""
    work = tmp_path / "work"
    for folder in ("work", "configs", "datasets"):
        (tmp_path / folder).mkdir()
    (work / "stream.csv").write_text("1,0\n-1,1\n")
    (work / "printed.csv").write_text(PRINTED)
    (tmp_path / "datasets" / "digits.yaml").write_text("format: idx\n")
    (tmp_path / "datasets" / "clouds.yaml").write_text("format: generated\n")
    (tmp_path / "configs" / "quickstart.yaml").write_text(
        "name: quickstart\nsource: A paper\ndatasets: [{name: digits}]\nkernel: {name: linear}\n"
        "algorithms: [{name: perceptron}]\n"
    )
    (tmp_path / "configs" / "torn.yaml").write_text("name: [")
    monkeypatch.chdir(work)
    for module in ("reader", "datasets"):
        monkeypatch.setattr(f"budgetrun.config.{module}.own_folder", tmp_path.joinpath)
    known = {"perceptron": {None: Perceptron}, "fading": {"fast": Fast, "slow": Slow}, "drawing": {None: Drawing}}
    several = {"perceptron": {None: ManyClasses}, "ranking": {None: Ranking}}
    monkeypatch.setattr(learners, "registry", lambda multiclass=False: several if multiclass else known)


def load(text: str, profile: str = "full") -> Config:
    Path("demo.yaml").write_text(text, encoding="utf-8")
    return config.load("demo.yaml", profile)


def message(text: str) -> list[str]:
    """Return the lines of the error that a text gives, without the file's name, which each must begin with."""
    with pytest.raises(InputError) as caught:
        load(text)
    lines = str(caught.value).split("\n")
    assert all(line.startswith("demo.yaml:") for line in lines)
    return [line.removeprefix("demo.yaml:") for line in lines]


def replaced(number: int, line: str) -> str:
    """Return the good config with another line in one place."""
    lines = GOOD.splitlines()
    lines[number - 1] = line
    return "\n".join(lines) + "\n"


# (line, what stands there instead, the messages)
MISTAKES: list[tuple[int, str, list[str]]] = [
    # The top.
    (1, "#", ["1: name: missing; must be a name made of lower-case letters, digits, '_' and '-'"]),
    (1, "name: A b", ["1: name: must be a name made of lower-case letters, digits, '_' and '-', got 'A b'"]),
    (1, "nam: demo\nname: demo", [f"1: nam: unknown key; did you mean 'name'?  (allowed: {KEYS})"]),
    (1, "name: demo\nprofile: ci", [f"2: profile: unknown key; did you mean 'profiles'?  (allowed: {KEYS})"]),
    (1, "name: demo\n7: x", [f"2: [7]: unknown key  (allowed: {KEYS})"]),
    (1, "name: demo\nname: other", ["2: name: key given twice, first on line 1"]),
    (1, "name: demo\nseed: -1", ["2: seed: must be an integer >= 0, got -1"]),
    (1, "name: demo\nseed: 1.0", ["2: seed: must be an integer >= 0, got 1.0"]),
    (1, "name: demo\ntie: maybe", ["2: tie: must be one of mistake, positive, got 'maybe'"]),
    (1, "name: demo\ndtype:", ["2: dtype: must be one of float64, float32, got nothing"]),
    (1, "name: demo\nsource: 3", ["2: source: must be text, got 3"]),
    (6, "repetitions: true", ["6: repetitions: must be an integer >= 1, got true"]),
    # Kernels.
    (5, "#", ["3: datasets[0].kernel: missing; give this dataset a kernel, or the whole config one",
              "4: datasets[1].kernel: missing; give this dataset a kernel, or the whole config one"]),
    (5, "kernel: gaussian", ["5: kernel: must be a mapping (key: value), got 'gaussian'"]),
    (5, "kernel: {gamma: 1}", ["5: kernel.name: missing; must be one of gaussian, linear, polynomial"]),
    (5, "kernel: {name: gausian}", ["5: kernel.name: unknown 'gausian'; did you mean 'gaussian'?  (budgetrun list kernels)"]),
    (5, "kernel: {name: [gaussian]}", ["5: kernel.name: must be a name, got a list  (budgetrun list kernels)"]),
    (5, "kernel: {name: gaussian, gama: 1}",
     ["5: kernel.gama: unknown key; did you mean 'gamma'?  (allowed: name, gamma, sigma)"]),
    (5, "kernel: {name: gaussian, gamma: 0}", ["5: kernel.gamma: must be a number > 0, got 0"]),
    (5, "kernel: {name: gaussian, gamma: .inf}", ["5: kernel.gamma: must be a finite number, got .inf"]),
    (5, "kernel: {name: gaussian}",
     ["5: kernel: the gaussian kernel takes either gamma or sigma (gamma = 1 / (2 sigma^2))"]),
    (4, "  - {name: digits, kernel: {name: polynomial, degree: 0}}",
     ["4: datasets[1].kernel.degree: must be an integer >= 1, got 0"]),
    # Datasets.
    (4, "  - digits", ["4: datasets[1]: must be a mapping (key: value), got 'digits'"]),
    (4, "  - {label: x}", ["4: datasets[1].name: missing; must be text that is not empty"]),
    (4, "  - {name: digit}",
     ["4: datasets[1].name: unknown 'digit'; did you mean 'digits'?  (budgetrun data list; a file of your own needs path)"]),
    (4, "  - {name: digits, scal: unit_norm}",
     [f"4: datasets[1].scal: unknown key; did you mean 'scale'?  (allowed: {DATASET_KEYS})"]),
    (4, "  - {name: digits, typed_path: x}", [f"4: datasets[1].typed_path: unknown key; did you mean 'test_path'?  (allowed: {DATASET_KEYS})"]),
    (4, "  - {name: digits, label: ''}", ["4: datasets[1].label: must be text that is not empty, got ''"]),
    (4, "  - {name: digits, scale: unit}",
     ["4: datasets[1].scale: must be one of none, unit_norm, minmax, standard, got 'unit'"]),
    (4, "  - {name: digits, noise: 0.6}", ["4: datasets[1].noise: must be a number >= 0 and <= 0.5, got 0.6"]),
    (4, "  - {name: digits, noise: abc}", ["4: datasets[1].noise: must be a number >= 0 and <= 0.5, got 'abc'"]),
    (4, "  - {name: digits, balanced: yes}", ["4: datasets[1].balanced: must be true or false, got 'yes'"]),
    (4, "  - {name: digits, parts: train}",
     ["4: datasets[1].parts: must be a list with at least one item, each text that is not empty, got 'train'"]),
    (4, "  - {name: digits, parts: [train, 3]}",
     ["4: datasets[1].parts[1]: must be text that is not empty, got 3"]),
    (4, "  - {name: digits, parts: [3]}", ["4: datasets[1].parts[0]: must be text that is not empty, got 3"]),
    (4, "  - {name: digits, positive: {a: 1}}",
     ["4: datasets[1].positive: must be an integer or a number or text or a list, each an integer or a number or text, "
      "got a mapping"]),
    (4, "  - {name: digits, options: [1]}", ["4: datasets[1].options: must be a mapping (key: value), got a list"]),
    (4, "  - {name: own, path: no.csv}", ["4: datasets[1].path: no such file: no.csv"]),
    (4, "  - {name: digits, order: file}",
     ["4: datasets[1].order: with order: file, each of the 2 repetitions would be the same; "
      "use repetitions: 1 or order: permuted"]),
    (4, "  - {name: digits, label: mine}",
     ["4: datasets[1].label: label 'mine' is already used by datasets[0]; give this entry a label of its own"]),
    (4, "  - {name: digits, task: multi}",
     ["4: datasets[1].task: must be one of binary, equal_splits, multiclass, got 'multi'"]),
    (4, "  - {name: digits, task: multiclass}",
     ["4: datasets[1].task: is multiclass, and that of datasets[0] is not; "
      "a config's datasets are all multiclass, or none is: make two configs"]),
    (4, "  - {name: digits, test: train}",
     ["4: datasets[1].test: must be a list with at least one item, each text that is not empty, got 'train'"]),
    (4, "  - {name: clouds, test: [a]}",
     ["4: datasets[1].test: names parts of a card; generated data have none; remove it"]),
    (4, "  - {name: own, path: stream.csv, test: [a]}",
     ["4: datasets[1].test: names parts of a card; a file of your own is tested on test_path: FILE"]),
    (4, "  - {name: own, path: stream.csv, test_path: no.csv}", ["4: datasets[1].test_path: no such file: no.csv"]),
    (4, "  - {name: digits, test_path: stream.csv}",
     ["4: datasets[1].test_path: goes with path, a file of your own; for a card write test: [parts]"]),
    (4, "  - {name: digits, typed_test_path: x}",
     [f"4: datasets[1].typed_test_path: unknown key; did you mean 'test_path'?  (allowed: {DATASET_KEYS})"]),
    # Algorithms.
    (10, "  - rbp", ["10: algorithms[2]: must be a mapping (key: value), got 'rbp'"]),
    (10, "  - {budget: 3}",
     ["10: algorithms[2].name: missing; must be the name of an algorithm  (budgetrun list algorithms)"]),
    (10, "  - {name: drawin, label: drawing, budget: 0}",
     ["10: algorithms[2].name: unknown 'drawin'; did you mean 'drawing'?  (budgetrun list algorithms)"]),
    (10, "  - {name: ranking, label: drawing, eta: 1}",
     ["10: algorithms[2].name: 'ranking' learns several classes only; it needs datasets with task: multiclass"
      "  (allowed: perceptron, fading, drawing)"]),
    (10, "  - {name: 3, label: drawing}", ["10: algorithms[2].name: must be a name, got 3  (budgetrun list algorithms)"]),
    (10, "  - {name: fading, label: drawing, variant: fats}",
     ["10: algorithms[2].variant: unknown 'fats'; did you mean 'fast'?  (allowed: fast, slow)"]),
    (10, "  - {name: drawing, variant: basic}",
     ["10: algorithms[2].variant: unknown 'basic'; drawing has no variants"]),
    (10, "  - {name: drawing}", ["10: algorithms[2].budget: missing; must be an integer >= 1"]),
    (10, "  - {name: drawing, budget: 0}", ["10: algorithms[2].budget: must be an integer >= 1, got 0"]),
    (10, "  - {name: drawing, budget: p/4}", ["10: algorithms[2].budget: must be an integer >= 1, got 'p/4'"]),
    (10, "  - {name: drawing, budget: [2, 0, 1.5]}",
     ["10: algorithms[2].budget[1]: must be an integer >= 1, got 0",
      "10: algorithms[2].budget[2]: must be an integer >= 1, got 1.5"]),
    (10, "  - {name: drawing, budget: [2, 3, 2]}", ["10: algorithms[2].budget[2]: 2 is in this list twice"]),
    (10, "  - {name: drawing, budget: 2, rate: [1, 1.0]}", ["10: algorithms[2].rate[1]: 1.0 is in this list twice"]),
    (10, "  - {name: drawing, budget: []}",
     ["10: algorithms[2].budget: must be an integer >= 1, or a list with at least one such value, got an empty list"]),
    (10, "  - {name: drawing, budget: {of: cks, fractions: 1}}",
     ["10: algorithms[2].budget.fractions: must be a list with at least one item, each a number > 0, got 1",
      "10: algorithms[2].budget.of: no algorithm has the label 'cks'; add one, or name another  (allowed: perceptron)"]),
    (10, "  - {name: drawing, budget: {of: perceptron, fractions: [0, .5, .5]}}",
     ["10: algorithms[2].budget.fractions[0]: must be a number > 0, got 0"]),
    (10, "  - {name: drawing, budget: {of: perceptron, fractions: [.5, .5], more: 1}}",
     ["10: algorithms[2].budget.more: unknown key  (allowed: of, fractions)",
      "10: algorithms[2].budget.fractions[1]: 0.5 is in this list twice"]),
    (10, "  - {name: drawing, budget: {of: ''}}",
     ["10: algorithms[2].budget.of: must be text that is not empty, got ''"]),
    (10, "  - {name: drawing, budget: {fractions: [1]}}",
     ["10: algorithms[2].budget.of: missing; must be text that is not empty"]),
    (10, "  - {name: drawing, budget: {of: percepton}}",
     ["10: algorithms[2].budget.of: no algorithm has the label 'percepton'; did you mean 'perceptron'?"
      "  (allowed: perceptron)"]),
    (10, "  - {name: drawing, budget: {of: cks}}",
     ["10: algorithms[2].budget.of: no algorithm has the label 'cks'; add one, or name another  (allowed: perceptron)"]),
    (10, "  - {name: drawing, budget: {of: drawing}}",
     ["10: algorithms[2].budget.of: 'drawing' takes its own budget from another algorithm; name one that does not"
      "  (allowed: perceptron)"]),
    (10, "  - {name: drawing, budget: {of: fading(slow)}}",
     ["10: algorithms[2].budget.of: 'fading(slow)' takes its own budget from another algorithm; name one that does not"
      "  (allowed: perceptron)"]),
    (8, "  - {name: fading, variant: fast, phi: 1, label: p}",
     ["9: algorithms[1].budget.of: no algorithm has the label 'perceptron'; add one, or name another  (allowed: p, drawing)",
      "13: report.tables[0].columns[0]: no algorithm has the label 'perceptron'  (allowed: p, fading(slow), drawing)",
      "13: report.tables[0].relative_to: no algorithm has the label 'perceptron'  (allowed: p, fading(slow), drawing)",
      "15: report.figures[0].point: no algorithm has the label 'perceptron'  (allowed: p, fading(slow), drawing)",
      "18: report.findings[0].label[1]: no algorithm has the label 'perceptron'  (allowed: p, fading(slow), drawing)"]),
    (10, "  - {name: drawing, budget: 3, rates: 2}",
     ["10: algorithms[2].rates: unknown key; did you mean 'rate'?  (allowed: name, variant, label, seeds, budget, rate)"]),
    (8, "  - {name: perceptron, budget: 3}",
     ["8: algorithms[0].budget: unknown key  (allowed: name, variant, label)"]),
    (10, "  - {name: drawing, budget: 3, seed: 1}",
     ["10: algorithms[2].seed: cannot be given here; write seeds: n for the seeds 0 to n - 1"]),
    (10, "  - {name: drawing, budget: 3, seeds: [0, 1]}", ["10: algorithms[2].seeds: must be an integer >= 1 or 'by_repetition', got a list"]),
    (10, "  - {name: drawing, budget: 3, seeds: by_task}",
     ["10: algorithms[2].seeds: must be an integer >= 1 or 'by_repetition', got 'by_task'"]),
    (8, "  - {name: perceptron, seed: 1, seeds: 2}",
     ["8: algorithms[0].seed: cannot be given here; perceptron draws nothing at random",
      "8: algorithms[0].seeds: cannot be given here; perceptron draws nothing at random"]),
    (10, "  - {name: fading, label: drawing, budget: 3, reading: fited}",
     ["10: algorithms[2].reading: must be one of literal, fitted, got 'fited'"]),
    (10, "  - {name: fading, label: drawing, budget: [12, 13]}", ["10: algorithms[2]: fading(slow) has no budget of 13"]),
    (10, "  - {name: fading, variant: fast, label: drawing, phi: 'm ?', steps: [1, 0], schedule: {a: b}, project: on}",
     ["10: algorithms[2].phi: 'm ?' is not a formula",
      "10: algorithms[2].steps[1]: must be an integer >= 1, got 0",
      "10: algorithms[2].schedule.a: must be a number, got 'b'",
      "10: algorithms[2].project: must be true or false, got 'on'"]),
    (10, "  - {name: fading, variant: fast, label: drawing, phi: [0.5, 2], steps: 3}",
     ["10: algorithms[2].phi[1]: must be a number > 0 and <= 1 or text, got 2",
      "10: algorithms[2].steps: must be a list, each an integer >= 1, got 3"]),
    (10, "  - {name: drawing, budget: 3}\n  - {name: drawing, budget: 4}",
     ["11: algorithms[3].label: label 'drawing' is already used by algorithms[2]; give this entry a label of its own"]),
    (10, "  - {name: drawing, budget: 3}\n  - {name: fading, variant: slow, budget: 4}",
     ["11: algorithms[3].label: label 'fading(slow)' is already used by algorithms[1]; give this entry a label of its own"]),
    # Values by dataset.
    (10, "  - {name: drawing, budget: {by_dataset: {mine: 2, digit: 3}}}",
     ["10: algorithms[2].budget.by_dataset.digit: no dataset has the label 'digit'; did you mean 'digits'?"
      "  (allowed: mine, digits)",
      "10: algorithms[2].budget.by_dataset: missing: digits; every dataset of the config needs a value"]),
    (10, "  - {name: drawing, budget: {by_dataset: {mine: 0, digits: [3, 3]}}, rate: {by_dataset: {mine: [], digits: x}}}",
     ["10: algorithms[2].budget.by_dataset.mine: must be an integer >= 1, got 0",
      "10: algorithms[2].budget.by_dataset.digits[1]: 3 is in this list twice",
      "10: algorithms[2].rate.by_dataset.mine: must be a number > 0, or a list with at least one such value, "
      "got an empty list",
      "10: algorithms[2].rate.by_dataset.digits: must be a number > 0, or a formula in T: 'x' may use only numbers, "
      "+ - * / **, sqrt log exp min max round and T"]),
    (10, "  - {name: drawing, budget: {by_dataset: [2, 3], fractions: [1]}}",
     ["10: algorithms[2].budget.fractions: unknown key  (allowed: by_dataset)",
      "10: algorithms[2].budget.by_dataset: must be a mapping (dataset: value), got a list"]),
    (10, "  - {name: drawing, budget: {by_dataset: {mine: {of: perceptron}, digits: 3}}}",
     ["10: algorithms[2].budget.by_dataset.mine: must be an integer >= 1, got a mapping"]),
    (10, "  - {name: fading, label: drawing, budget: {by_dataset: {mine: 12, digits: 13}}}",
     ["10: algorithms[2]: on dataset 'digits': fading(slow) has no budget of 13"]),
    # Formulas in T.
    (10, "  - {name: drawing, budget: 3, rate: [1 / n, 1 +, '0.1', min(T), 2 * 3]}",
     ["10: algorithms[2].rate[0]: must be a number > 0, or a formula in T: '1 / n' may use only numbers, + - * / **, "
      "sqrt log exp min max round and T",
      "10: algorithms[2].rate[1]: must be a number > 0, or a formula in T: '1 +' is not a formula",
      "10: algorithms[2].rate[2]: must be a number > 0, got '0.1'",
      "10: algorithms[2].rate[3]: must be a number > 0, or a formula in T: 'min(T)': min takes two values or more, got 1",
      "10: algorithms[2].rate[4]: must be a number > 0, or a formula in T: '2 * 3' has no T"]),
    (10, "  - {name: drawing, budget: T / 4}", ["10: algorithms[2].budget: must be an integer >= 1, got 'T / 4'"]),
    # The report.
    (13, "    - {name: t1, choose: online_error}",
     ["13: report.tables[0].choose: must be a mapping (key: value), got 'online_error'"]),
    (13, "    - {name: t1, choose: {quantity: seconds}}",
     ["13: report.tables[0].choose.by: missing; must be one of online_error, prefix, printed",
      "13: report.tables[0].choose.quantity: must be one of margin_updates, support_size, got 'seconds'"]),
    (13, "    - {name: t1, choose: {by: printed}}",
     ["13: report.tables[0].choose.quantity: missing; with by: printed must be one of margin_updates, support_size",
      "13: report.tables[0].choose.expected: missing; with by: printed must be the file of the published numbers"]),
    (13, "    - {name: t1, choose: {by: prefix, quantity: support_size, expected: printed.csv}}",
     ["13: report.tables[0].choose.quantity: goes with by: printed; remove it",
      "13: report.tables[0].choose.expected: goes with by: printed; remove it"]),
    (13, "    - {name: t1, choose: {by: printed, quantity: support_size, expected: printed.csv}}",
     ["13: report.tables[0].choose.expected: printed.csv:1: column 'support_size' is missing"
      "  (needed: dataset, label, support_size)"]),
    (13, "    - {name: t1, expected: printed.csv, tolerance_sd: 3}",
     ["13: report.tables[0].tolerance_sd: needs published standard deviations, and printed.csv has no "
      "online_error_percent_sd"]),
    (13, "    - {name: t1, quantity: seconds_ratio}",
     ["13: report.tables[0].relative_to: missing; must be the label of the algorithm whose seconds the others' are "
      "divided by"]),
    (13, "    - {name: t1, quantity: seconds_ratio, relative_to: drawing}",
     ["13: report.tables[0].relative_to: 'drawing' has several budgets, and seconds are divided by those of one; "
      "name another"]),
    (13, "    - {name: t1, columns: [percepton]}",
     ["13: report.tables[0].columns[0]: no algorithm has the label 'percepton'; did you mean 'perceptron'?"
      "  (allowed: perceptron, fading(slow), drawing)"]),
    (13, "    - {name: t1, rows: [digit], relative_to: mine}",
     ["13: report.tables[0].relative_to: no algorithm has the label 'mine'"
      "  (allowed: perceptron, fading(slow), drawing)",
      "13: report.tables[0].rows[0]: no dataset has the label 'digit'; did you mean 'digits'?  (allowed: mine, digits)"]),
    (13, "    - {name: t1, tolerance: 0}", ["13: report.tables[0].tolerance: must be a number > 0, got 0"]),
    (13, "    - {name: t1, columns: []}",
     ["13: report.tables[0].columns: must be a list with at least one item, each text, got an empty list"]),
    (13, "    - {name: t1, aliases: {nobody: digits}}",
     ["13: report.tables[0].aliases.nobody: no algorithm or dataset has the label 'nobody'"
      "  (allowed: perceptron, fading(slow), drawing, mine, digits)"]),
    (13, "    - {name: t1, expected: printed.csv, aliases: {mine: digit}}",
     ["13: report.tables[0].aliases.mine: printed.csv has no dataset or label 'digit'; did you mean 'digits'?"]),
    (13, "    - {name: t1, expected: no.csv}", ["13: report.tables[0].expected: no such file: no.csv"]),
    (13, "    - {name: t1}\n    - {name: t1}",
     ["14: report.tables[1].name: name 't1' is already used by report.tables[0]; give this entry a name of its own"]),
    (13, "    - {name: t1, published: []}",
     ["13: report.tables[0].published: unknown key"
      "  (allowed: name, caption, expected, columns, rows, quantity, choose, relative_to, tolerance, tolerance_sd, aliases)"]),
    (13, "    - {name: t1, quantity: test_errors}",
     ["13: report.tables[0].quantity: must be one of online_error, support_size, margin_updates, test_error, "
      "last_test_error, seconds, objective, gap, seconds_ratio, got 'test_errors'"]),
    (13, "    - {name: t1, quantity: test_error}",
     ["13: report.tables[0].quantity: test_error needs a test set, and no dataset has one; "
      "add test: [parts], or test_path: FILE next to path"]),
    (13, "    - {name: t1, quantity: last_test_error, rows: [mine]}",
     ["13: report.tables[0].quantity: last_test_error needs a test set, and dataset 'mine' has none; "
      "add test: [parts], or test_path: FILE next to path"]),
    (13, "    - {name: t1, quantity: support_size, expected: printed.csv}",
     ["13: report.tables[0].expected: printed.csv:1: column 'support_size' is missing"
      "  (needed: dataset, label, support_size)"]),
    (15, "    - {name: f1, dataset: x, lines: [y], point: z, band: [drawing, v], x: time}",
     ["15: report.figures[0].x: must be one of budget, budget_fraction, rounds, support_size, seconds, got 'time'",
      "15: report.figures[0].dataset: no dataset has the label 'x'  (allowed: mine, digits)",
      "15: report.figures[0].lines[0]: no algorithm has the label 'y'  (allowed: perceptron, fading(slow), drawing)",
      "15: report.figures[0].point: no algorithm has the label 'z'  (allowed: perceptron, fading(slow), drawing)",
      "15: report.figures[0].band[1]: no algorithm has the label 'v'  (allowed: perceptron, fading(slow), drawing)"]),
    (15, "    - {name: f1, dataset: mine, lines: [drawing], y: support_size}",
     ["15: report.figures[0].y: with x: budget must be one of online_error, test_error, last_test_error, got 'support_size'"]),
    (15, "    - {name: f1, dataset: mine, lines: [drawing], x: rounds, y: test_error, point: perceptron, log_x: maybe}",
     ["15: report.figures[0].log_x: must be true or false, got 'maybe'",
      "15: report.figures[0].y: with x: rounds must be one of online_error, support_size, got 'test_error'"]),
    (15, "    - {name: f1, dataset: mine, lines: [drawing], x: support_size, y: test_error, band: [drawing]}",
     ["15: report.figures[0].y: test_error needs a test set, and dataset 'mine' has none; "
      "add test: [parts], or test_path: FILE next to path",
      "15: report.figures[0].band: goes with x: budget or budget_fraction, not with x: support_size; "
      "put its labels into lines"]),
    (15, "    - {name: f1, dataset: mine, lines: [drawing], y: error, band: [drawing]}",
     ["15: report.figures[0].y: must be one of online_error, support_size, test_error, last_test_error, gap, got 'error'"]),
    (15, "    - f1", ["15: report.figures[0]: must be a mapping (key: value), got 'f1'"]),
    (16, "  choices: said", ["16: report.choices: must be a list, each text that is not empty, got 'said'"]),
    (18, "    - {dataset: x, label: [drawing, y], budget: 0}",
     ["18: report.findings[0].budget: must be an integer >= 1 or a list, each an integer >= 1, got 0",
      "18: report.findings[0].text: missing; must be text that is not empty",
      "18: report.findings[0].dataset: no dataset has the label 'x'  (allowed: mine, digits)",
      "18: report.findings[0].label[1]: no algorithm has the label 'y'  (allowed: perceptron, fading(slow), drawing)"]),
    # Profiles.
    (20, "  ci: {tasks: 0, example: 3}",
     ["20: profiles.ci.example: unknown key; did you mean 'n_examples'?"
      "  (allowed: n_examples, tasks, repetitions, seeds)",
      "20: profiles.ci.tasks: must be an integer >= 1, got 0"]),
    (20, "  full: {seeds: 1}", ["20: profiles.full: is the name of the whole config; choose another"]),
    (20, "  ci: 3", ["20: profiles.ci: must be a mapping (key: value), got 3"]),
    # Not YAML.
    (5, "kernel: name: gaussian", ["5: not valid YAML: mapping values are not allowed here"]),
]  # fmt: skip


@pytest.mark.parametrize(("number", "line", "messages"), MISTAKES)
def test_each_mistake_has_its_message(number: int, line: str, messages: list[str]) -> None:
    assert message(replaced(number, line)) == messages


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        *(
            (text, [f"1: must be a config: YAML with the keys name, datasets and algorithms, got {found}"
                    "  (for examples: budgetrun list configs)"])
            for text, found in (
                ("", "nothing"),
                ("# a comment\n", "nothing"),
                ("- a\n", "a list"),
                ("3\n", "3"),
                ("dataset,label\n" + "digits,perceptron\n" * 1000,
                 "'dataset,label digits,perceptron digits,perceptron digits,...'"),
            )
        ),
        ("!a b\n", ["1: tag '!a' cannot be used here; write the plain value"]),
        ("text " * 100 + ": 1\n", [
            f"1: {'text ' * 11}te...: unknown key  (allowed: {KEYS})",
            "1: name: missing; must be a name made of lower-case letters, digits, '_' and '-'",
            "1: datasets: missing; must be a list with at least one item",
            "1: algorithms: missing; must be a list with at least one item",
        ]),
        ("[" * 5000, ["1: not valid YAML: nested too deeply"]),
        (
            "name: a\ndatasets: []\nalgorithms: perceptron\n",
            [
                "2: datasets: must be a list with at least one item, got an empty list",
                "3: algorithms: must be a list with at least one item, got 'perceptron'",
            ],
        ),
        (
            "name: a\n",
            [
                "1: datasets: missing; must be a list with at least one item",
                "1: algorithms: missing; must be a list with at least one item",
            ],
        ),
    ],
)
def test_too_little_to_be_a_config(text: str, messages: list[str]) -> None:
    assert message(text) == messages


def test_all_mistakes_come_at_once_in_the_order_of_the_file() -> None:
    text = """\
name: demo
seeed: 3
datasets:
  - {name: digits, scal: unit_norm}
kernel: {name: gaussian, gamma: abc}
algorithms:
  - name: perceptron
  - name: drawing
    budget: 3
    seeds: 0
    budget: 4
report:
  tables:
    - {name: t1, columns: [perceptro]}
"""
    assert message(text) == [
        f"2: seeed: unknown key; did you mean 'seed'?  (allowed: {KEYS})",
        f"4: datasets[0].scal: unknown key; did you mean 'scale'?  (allowed: {DATASET_KEYS})",
        "5: kernel.gamma: must be a number > 0, got 'abc'",
        "10: algorithms[1].seeds: must be an integer >= 1 or 'by_repetition', got 0",
        "11: algorithms[1].budget: key given twice, first on line 9",
        "14: report.tables[0].columns[0]: no algorithm has the label 'perceptro'; did you mean 'perceptron'?"
        "  (allowed: perceptron, drawing)",
    ]


def test_a_label_that_cannot_be_told_is_not_missed_by_the_report() -> None:
    lines = message(replaced(10, "  - {name: drawin, budget: 3}"))
    assert lines == ["10: algorithms[2].name: unknown 'drawin'; did you mean 'drawing'?  (budgetrun list algorithms)"]


@pytest.mark.parametrize(
    ("csv", "messages"),
    [
        (
            "dataset,labl,online_error_percent\n",
            [
                "printed.csv:1: column 'label' is missing  (needed: dataset, label, online_error_percent)",
                "printed.csv:1: column 'labl': unknown key; did you mean 'label'?"
                "  (allowed: dataset, label, online_error_percent, budget, budget_fraction, setting, support_size, "
                "margin_updates, test_error_percent, last_test_error_percent, seconds, objective, gap, "
                "online_error_percent_sd, support_size_sd, margin_updates_sd, test_error_percent_sd, "
                "last_test_error_percent_sd, seconds_sd, objective_sd, gap_sd)",
            ],
        ),
        (
            "dataset,label,budget,online_error_percent\n"
            "digits,a,1.5,x\n"
            "digits,b,,\n"
            "digits,c,,101\n"
            "digits,d\n"
            "digits,e,3,1\n"
            "digits,e,3,2\n",
            [
                "printed.csv:2: budget: must be an integer >= 1 or empty, got '1.5'",
                "printed.csv:2: online_error_percent: must be a number from 0 to 100, got 'x'",
                "printed.csv:3: online_error_percent: must be a number from 0 to 100, got ''",
                "printed.csv:4: online_error_percent: must be a number from 0 to 100, got '101'",
                "printed.csv:5: must have 4 cells, like the first line, got 2",
                "printed.csv:7: the same dataset, label, budget and setting as in line 6",
            ],
        ),
        (
            "dataset,label,budget_fraction,online_error_percent\ndigits,a,0,5\n",
            ["printed.csv:2: budget_fraction: must be a number > 0 or empty, got '0'"],
        ),
        (
            "dataset,label,setting,online_error_percent\ndigits,a,0.1,5\ndigits,a,eta=,5\ndigits,a,eta=.1,5\ndigits,a,eta=0.10,6\n",
            [
                "printed.csv:2: setting: must be like eta=0.1, or eta=0.1, C=2, or empty, got '0.1'",
                "printed.csv:3: setting: must be like eta=0.1, or eta=0.1, C=2, or empty, got 'eta='",
                "printed.csv:3: the same dataset, label, budget and setting as in line 2",
                "printed.csv:5: the same dataset, label, budget and setting as in line 4",
            ],
        ),
    ],
)
def test_printed_numbers_are_checked(csv: str, messages: list[str]) -> None:
    Path("printed.csv").write_text(csv)
    assert message(GOOD) == [f"13: report.tables[0].expected: {text}" for text in messages]


def test_printed_numbers_that_are_no_text() -> None:
    Path("printed.csv").write_bytes(b"\xff\xfe")
    (line,) = message(GOOD)
    assert line.startswith("13: report.tables[0].expected: printed.csv: cannot be read as UTF-8 text ('utf-8' codec")


def test_a_good_config() -> None:
    found = load(GOOD)
    kernel = KernelSpec(name="gaussian", parameters={"gamma": 1.0})
    assert found.datasets == (
        DatasetSpec(
            name="digits", label="mine", path=Path("stream.csv"), order="file", repetitions=1, kernel=kernel,
            typed_path="stream.csv",
        ),
        DatasetSpec(name="digits", task="equal_splits", scale="unit_norm", repetitions=2, kernel=kernel),
    )  # fmt: skip
    assert found.datasets[1].label == "digits"
    assert str(kernel.build()) == "gaussian(gamma=1)"
    assert found.algorithms == (
        AlgorithmSpec(name="perceptron", label="perceptron"),
        AlgorithmSpec(
            name="fading", variant="slow", label="fading(slow)", parameters={"reading": ("literal",)},
            budget=FractionBudget(of="perceptron", fractions=(0.25, 1.0)),
        ),
        AlgorithmSpec(name="drawing", label="drawing", seeds=2, budget=(2, 3), parameters={"rate": (0.1,)}),
    )  # fmt: skip
    (table,) = found.report.tables
    assert table.published == (
        Published("digits", "perceptron", 7.5),
        Published("digits", "fading(slow)", 12.0, budget_fraction=0.25),
    )
    assert table.tolerance == 0.05
    assert found.report.findings[0].label == ("drawing", "perceptron")
    assert (found.file, found.text, found.profile, found.tasks) == ("demo.yaml", GOOD, "full", None)


def test_a_config_survives_its_manifest() -> None:
    found = load(GOOD, "ci")
    resolved = json.loads(json.dumps(found.resolved()))
    assert resolved == found.resolved()
    assert resolved["datasets"][0]["path"] == "stream.csv"
    assert type(resolved["kernel"]["parameters"]["gamma"]) is float
    Path("stream.csv").unlink()
    Path("printed.csv").unlink()
    back = Config.from_resolved(resolved)
    assert back.resolved() == resolved
    assert back.profile == "ci"
    assert [list(a.expand()) for a in back.algorithms] == [list(a.expand()) for a in found.algorithms]


def test_a_manifest_whose_budgets_have_no_source_is_not_read() -> None:
    resolved = load(GOOD).resolved()
    resolved["algorithms"][0]["label"] = "p"
    with pytest.raises(ValueError, match=r"budget of 'fading\(slow\)': no algorithm has the label 'perceptron'"):
        Config.from_resolved(resolved)


def test_printed_numbers_are_no_part_of_the_resolved_config() -> None:
    (table,) = load(GOOD).resolved()["report"]["tables"]
    assert "published" not in table
    assert table["expected"] == "printed.csv"


def test_sweeps_expand_in_the_order_of_the_config() -> None:
    text = replaced(10, "  - {name: drawing, rate: [2, 1], budget: [5, 3], seeds: 2}")
    runs = list(load(text).algorithms[2].expand())
    assert runs == [
        RunSpec("drawing", "drawing", None, {"rate": rate}, budget, None, seed)
        for rate in (2.0, 1.0)
        for budget in (5, 3)
        for seed in (0, 1)
    ]


def test_fractions_and_learners_without_a_budget_expand() -> None:
    perceptron, fading, _ = load(GOOD).algorithms
    assert list(perceptron.expand()) == [RunSpec("perceptron", "perceptron", None, {}, None, None, 0)]
    assert list(fading.expand()) == [
        RunSpec("fading(slow)", "fading", "slow", {"reading": "literal"}, None, fraction, 0, "perceptron")
        for fraction in (0.25, 1.0)
    ]


SWEPT = replaced(
    10,
    "  - {name: drawing, rate: [2, 1], budget: 5, seeds: 2}\n"
    "  - {name: fading, label: same, budget: {of: drawing}}\n"
    "  - {name: drawing, label: both, rate: [2, 1], budget: [5, 6]}\n"
    "  - {name: fading, label: of both, budget: {of: both, fractions: [0.5]}}\n"
    "  - {name: drawing, label: clash, rate: [3, 4], budget: {of: both, fractions: [0.5]}}",
)


def test_every_setting_of_a_source_gives_budgets() -> None:
    found = load(SWEPT)
    specs = list(found.expand())
    of = {label: [spec for spec in specs if spec.label == label] for label in ("same", "of both")}
    assert [(s.budget, s.budget_fraction, s.budget_of, s.budget_setting) for s in of["same"]] == [
        (None, 1.0, "drawing", {"rate": 2.0}),
        (None, 1.0, "drawing", {"rate": 1.0}),
    ]
    assert [(s.budget_fraction, s.budget_of, s.budget_setting) for s in of["of both"]] == [
        (0.5, "both", {"rate": rate, "budget": budget}) for rate in (2.0, 1.0) for budget in (5, 6)
    ]
    assert {s.label: list(s.setting) for s in specs} == {
        "perceptron": [], "fading(slow)": [], "drawing": ["rate"], "same": ["rate"], "both": ["rate"],
        "of both": ["rate", "budget"], "clash": ["rate", "both.rate", "budget"],
    }  # fmt: skip
    assert [s.setting for s in specs if s.label == "clash"][1] == {"rate": 3.0, "both.rate": 2.0, "budget": 6}
    back = Config.from_resolved(found.resolved())
    assert list(back.expand()) == specs


BY_DATASET = replaced(
    10,
    "  - {name: drawing, budget: {by_dataset: {mine: 4, digits: [5, 6]}}, seeds: 2,\n"
    "     rate: {by_dataset: {mine: 1, digits: [2, 1 / sqrt(T)]}}}\n"
    "  - {name: fading, label: same, budget: {of: drawing}}\n"
    "  - {name: drawing, label: alike, budget: {by_dataset: {digits: 5, mine: [5, 7]}}, rate: [1, T**-1]}",
)


def test_values_by_dataset() -> None:
    found = load(BY_DATASET)
    drawing = found.algorithms[2]
    assert drawing.by_dataset == {
        "rate": ByDataset(by_dataset={"mine": (1.0,), "digits": (2.0, "1 / sqrt(T)")}),
        "budget": ByDataset(by_dataset={"mine": (4,), "digits": (5, 6)}),
    }

    def of(dataset: str, label: str) -> list[Any]:
        runs = [run for run in found.expand(dataset) if run.label == label]
        return [(run.parameters.get("rate"), run.budget or run.budget_setting, run.seed) for run in runs]

    assert of("mine", "drawing") == [(1.0, 4, 0), (1.0, 4, 1)]
    assert of("digits", "drawing") == [
        (rate, budget, seed) for rate in (2.0, "1 / sqrt(T)") for budget in (5, 6) for seed in (0, 1)
    ]
    # One value is no setting.
    assert of("mine", "same") == [(None, {}, 0)]
    settings = [{"rate": rate, "budget": budget} for rate in (2.0, "1 / sqrt(T)") for budget in (5, 6)]
    assert of("digits", "same") == [(None, setting, 0) for setting in settings]
    assert of("mine", "alike") == [(rate, budget, 0) for rate in (1.0, "T**-1") for budget in (5, 7)]
    assert list(found.expand()) == list(found.expand("mine"))


def test_values_by_dataset_survive_a_manifest() -> None:
    found = load(BY_DATASET)
    resolved = json.loads(json.dumps(found.resolved()))
    assert resolved["algorithms"][2]["budget"] == {"by_dataset": {"mine": [4], "digits": [5, 6]}}
    back = Config.from_resolved(resolved)
    for label in ("mine", "digits"):
        assert list(back.expand(label)) == list(found.expand(label))
    del resolved["algorithms"][2]["budget"]["by_dataset"]["digits"]
    with pytest.raises(ValueError, match="budget of 'drawing': no value for dataset 'digits'"):
        Config.from_resolved(resolved)


def test_seeds_by_repetition_are_no_seeds_to_cap() -> None:
    found = load(replaced(10, "  - {name: drawing, budget: 3, seeds: by_repetition}"), "ci")
    assert [a.seeds for a in found.algorithms] == [1, 1, "by_repetition"]
    assert [run.seed for run in found.algorithms[2].expand()] == [0]
    assert Config.from_resolved(found.resolved()).algorithms[2].seeds == "by_repetition"


def test_runs_of_their_own() -> None:
    assert not load(GOOD).timed
    assert load(f"alone: true\n{GOOD}").timed


def test_a_table_may_choose_among_settings() -> None:
    Path("printed.csv").write_text(
        "dataset,label,support_size,online_error_percent,online_error_percent_sd\ndigits,drawing,9,,\n"
        "mine,drawing,,7.5,0.5\nmine,perceptron,,8,\n"
    )
    chosen = "choose: {by: printed, quantity: support_size, expected: printed.csv}"
    lines = [
        f"    - {{name: t1, {chosen}, expected: printed.csv, tolerance_sd: 3}}",
        "    - {name: t2, choose: {by: prefix}, expected: printed.csv, tolerance: 0.1, tolerance_sd: 3}",
        "    - {name: t3, quantity: seconds_ratio, relative_to: perceptron, choose: {by: online_error}}",
        "    - {name: t4, quantity: margin_updates}",
    ]
    found = load(replaced(13, "\n".join(lines)))
    one, two, three, four = found.report.tables
    assert one.choose is not None
    assert (one.choose.by, one.choose.quantity) == ("printed", "support_size")
    assert [row.value for row in one.choose.published] == [9.0]
    assert [(row.value, row.sd) for row in one.published] == [(7.5, 0.5), (8.0, None)]
    assert [(t.tolerance, t.tolerance_sd) for t in (one, two, three)] == [(None, 3.0), (0.1, 3.0), (0.05, None)]
    assert four.choose is None
    back = Config.from_resolved(found.resolved())
    assert back.resolved() == found.resolved()
    assert "published" not in found.resolved()["report"]["tables"][0]["choose"]


def test_solvers_are_not_chosen_among() -> None:
    text = (
        "name: demo\ndatasets: [{name: digits}]\nkernel: {name: linear}\nalgorithms: [{name: mpu}]\n"
        "report: {tables: [{name: t1, choose: {by: online_error}}]}\n"
    )
    assert message(text) == [
        "5: report.tables[0].choose: goes with learners, and the algorithms are solvers; remove it"
    ]


def test_seconds_are_divided_by_those_of_one_setting() -> None:
    swept = replaced(10, "  - {name: drawing, budget: 3, rate: [1, 2]}")
    table = "    - {name: t1, quantity: seconds_ratio, relative_to: drawing"
    old = GOOD.splitlines()[12]
    assert message(swept.replace(old, f"{table}}}")) == [
        "13: report.tables[0].relative_to: 'drawing' has several settings, and seconds are divided by those of one; "
        "name another, or let the table choose"
    ]
    assert load(swept.replace(old, f"{table}, choose: {{by: prefix}}}}")).report.tables[0].relative_to == "drawing"


def test_an_entry_that_cannot_be_told_is_not_missed_by_budgets() -> None:
    lines = message(replaced(8, "  - {name: percepton}"))
    assert lines == [
        "8: algorithms[0].name: unknown 'percepton'; did you mean 'perceptron'?  (budgetrun list algorithms)"
    ]


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


def test_a_good_config_of_several_classes() -> None:
    Path("printed.csv").write_text(
        'dataset,label,setting,test_error_percent,online_error_percent\ndigits,ranking,"eta=1e-1, C = 2",7,\n'
        "digits,perceptron,,,3\n"
    )
    found = load(MULTICLASS)
    assert found.multiclass
    assert not load(GOOD).multiclass
    digits, own = found.datasets
    assert (digits.test, digits.test_path, digits.has_test) == (("test",), None, True)
    assert (own.test_path, own.typed_test_path) == (Path("stream.csv"), "stream.csv")
    assert [(spec.label, spec.multiclass) for spec in found.expand()] == [
        ("perceptron", True),
        *[("ranking", True)] * 2,
    ]
    (table,) = found.report.tables
    assert table.published == (Published("digits", "ranking", 7.0, setting="eta=0.1, C=2"),)
    (figure,) = found.report.figures
    assert (figure.x, figure.y, figure.log_x) == ("support_size", "last_test_error", True)
    assert found.report.findings[0].setting == ("eta=0.1",)
    resolved = found.resolved()
    assert [entry["test_path"] for entry in resolved["datasets"]] == [None, "stream.csv"]
    assert list(Config.from_resolved(resolved).expand()) == list(found.expand())


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        (
            "test: [test]",
            "noise: 0.1, balanced: true, positive: 0",
            [
                "4: datasets[0].noise: goes with two classes, not with task: multiclass; remove it",
                "4: datasets[0].balanced: goes with two classes, not with task: multiclass; remove it",
                "4: datasets[0].positive: goes with two classes, not with task: multiclass; remove it",
            ],
        ),
        (
            "tie: mistake",
            "tie: positive",
            ["2: tie: must be 'mistake' with task: multiclass, where no score of 0 predicts +1, got 'positive'"],
        ),
        (
            "{name: perceptron}",
            "{name: drawing, budget: 3}",
            [
                "8: algorithms[0].name: 'drawing' learns two classes only, and the task is multiclass"
                "  (allowed: perceptron, ranking)"
            ],
        ),
        (
            "{name: perceptron}",
            "{name: percepton}",
            ["8: algorithms[0].name: unknown 'percepton'; did you mean 'perceptron'?  (budgetrun list algorithms)"],
        ),
        (
            ", task: multiclass}",
            "}",
            [
                "5: datasets[1].task: is of two classes, and that of datasets[0] is not; "
                "a config's datasets are all multiclass, or none is: make two configs"
            ],
        ),
    ],
)
def test_several_classes_have_mistakes_of_their_own(old: str, new: str, messages: list[str]) -> None:
    Path("printed.csv").write_text("dataset,label,test_error_percent\n")
    assert message(MULTICLASS.replace(old, new)) == messages


def test_printed_numbers_of_other_quantities() -> None:
    text = replaced(13, "    - {name: t1, quantity: support_size, expected: printed.csv}")
    Path("printed.csv").write_text("dataset,label,support_size\ndigits,perceptron,793\n")
    (row,) = load(text).report.tables[0].published
    assert row == Published("digits", "perceptron", 793.0)
    Path("printed.csv").write_text("dataset,label,support_size\ndigits,perceptron,-1\ndigits,rbp,\n")
    assert message(text) == [
        "13: report.tables[0].expected: printed.csv:2: support_size: must be a number >= 0, got '-1'",
        "13: report.tables[0].expected: printed.csv:3: support_size: must be a number >= 0, got ''",
    ]


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({}, ""),
        ({"eta": 0.1, "C": 2.0}, "eta=0.1, C=2"),
        ({"eta": 1e-5, "project": True, "threshold": "distance"}, "eta=1e-05, project=true, threshold=distance"),
        ({"steps": [1, 2.5], "hierarchy": None, "budget": 12345}, "steps=[1, 2.5], hierarchy=none, budget=12345"),
    ],
)
def test_settings_are_shown_shortly(parameters: dict[str, Any], text: str) -> None:
    assert setting_text(parameters) == text


def test_a_list_is_no_sweep_where_the_parameter_is_a_list() -> None:
    text = replaced(
        10, "  - {name: fading, variant: fast, label: drawing, phi: [1, m], steps: [3, 4], schedule: {a: 1}}"
    )
    runs = list(load(text).algorithms[2].expand())
    assert [run.parameters for run in runs] == [
        {"phi": phi, "steps": [3, 4], "schedule": {"a": 1.0}, "project": False} for phi in (1.0, "m")
    ]


def test_the_same_numbers_are_read_however_they_are_typed() -> None:
    runs = [
        next(load(replaced(10, f"  - {{name: drawing, budget: 3, rate: {typed}}}")).algorithms[2].expand())
        for typed in ("1", "1.0", "1e0", "+1.")
    ]
    assert [json.dumps(run.parameters) for run in runs] == ['{"rate": 1.0}'] * 4


def test_generated_and_noisy_streams_differ_in_file_order_too() -> None:
    for entry in ("{name: clouds, order: file}", "{name: digits, order: file, noise: 0.1}"):
        assert load(replaced(4, f"  - {entry}")).datasets[1].repetitions == 2
    assert load(replaced(4, "  - {name: digits, order: file, balanced: true}")).datasets[1].balanced


def test_a_path_is_looked_for_beside_the_config_first(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "demo.yaml").write_text(GOOD)
    (folder / "printed.csv").write_text(PRINTED)
    assert config.load(folder / "demo.yaml").datasets[0].path == Path("stream.csv")
    (folder / "stream.csv").write_text("1,0\n")
    found = config.load(folder / "demo.yaml")
    assert found.datasets[0].path == folder / "stream.csv"
    assert found.resolved()["datasets"][0]["path"] == "stream.csv"
    (folder / "stream.csv").unlink()
    Path("stream.csv").unlink()
    with pytest.raises(InputError) as caught:
        config.load("../elsewhere/demo.yaml")
    places = "../elsewhere/stream.csv or stream.csv"
    assert str(caught.value) == f"../elsewhere/demo.yaml:3: datasets[0].path: no such file: {places}"


def test_profiles_cap() -> None:
    found = load(replaced(4, "  - {name: digits, n_examples: 20, repetitions: 5}"), "ci")
    assert [(d.n_examples, d.repetitions) for d in found.datasets] == [(50, 1), (20, 1)]
    assert [a.seeds for a in found.algorithms] == [1, 1, 1]
    assert (found.tasks, found.repetitions, found.profile) == (3, 1, "ci")
    whole = load(GOOD)
    assert whole.apply_profile("full") is whole


def test_a_profile_without_caps_changes_nothing_else() -> None:
    found = load(replaced(20, "  same:"), "same")
    assert found.model_copy(update={"profile": "full"}) == load(replaced(20, "  same:"))


def test_an_unknown_profile_is_told() -> None:
    with pytest.raises(InputError) as caught:
        load(GOOD, "c")
    assert str(caught.value) == "demo.yaml: unknown profile 'c'; did you mean 'ci'?  (allowed: full, ci)"


def test_configs_that_come_with_budgetrun_have_bare_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.list_configs() == [("quickstart", "A paper"), ("torn", "")]
    assert config.load("quickstart").file == str(tmp_path / "configs" / "quickstart.yaml")
    monkeypatch.chdir(tmp_path)
    assert config.load("quickstart").file == "configs/quickstart.yaml"


def test_a_file_of_that_name_wins() -> None:
    Path("quickstart").write_text(GOOD)
    assert config.load("quickstart").name == "demo"


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("quickstrat", "quickstrat: no such file or config; did you mean 'quickstart'?  (budgetrun list configs)"),
        ("a/quickstrt.yaml", "a/quickstrt.yaml: no such file or config; did you mean 'quickstart'?  (budgetrun list configs)"),
        ("zzz", "zzz: no such file or config  (budgetrun list configs)"),
        (".", ".: a folder, not a config; name a file in it, such as NAME.yaml"),
        ("../configs", "../configs: a folder, not a config; name a file in it, such as ../configs/NAME.yaml"),
    ],
)  # fmt: skip
def test_an_unknown_config_is_told(typed: str, text: str) -> None:
    with pytest.raises(InputError) as caught:
        config.load(typed)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"name: caf\xe9\n", "demo.yaml: not UTF-8 text (byte 9); save it as UTF-8"),
        ("name: demo".encode("utf-16"), "demo.yaml: not UTF-8 text (byte 0); save it as UTF-8"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "demo.yaml: is a binary file, not YAML text; name another file"),
        (b"name: demo\0", "demo.yaml: is a binary file, not YAML text; name another file"),
    ],
)
def test_a_file_that_is_no_text(content: bytes, text: str) -> None:
    Path("demo.yaml").write_bytes(content)
    with pytest.raises(InputError) as caught:
        config.load("demo.yaml")
    assert str(caught.value) == text


def test_specs_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load(GOOD).datasets[0].name = "other"


def test_importing_configs_needs_no_numerical_library() -> None:
    code = (
        "import sys, budgetrun.config.schema, budgetrun.config.reader\n"
        "print({'numpy', 'scipy', 'pandas', 'sklearn', 'matplotlib'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "set()\n"


def test_every_config_that_comes_with_budgetrun_is_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for name, source in config.list_configs():
        assert config.load(name).source == source


def test_every_parameter_of_every_learner_and_kernel_has_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    known = [*learners.registry().values(), *learners.registry(multiclass=True).values()]
    classes = [learner for variants in known for learner in variants.values()]
    for owner in (*classes, *kernels.registry().values()):
        for name, parameter in learners.parameters(owner).items():
            assert ValueType(parameter.annotation).wanted, (owner, name)
