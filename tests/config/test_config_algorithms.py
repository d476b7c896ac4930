"""Algorithms of a config: the whole message of each mistake, and values to sweep over."""

# ruff: noqa: E501  (whole messages stay on one line)

import json

import pytest
from config.demo import GOOD, Drawing, load, message, replaced

from budgetrun import kernels, learners
from budgetrun.base.registry import parameters
from budgetrun.config.problems import ValueType

pytestmark = pytest.mark.usefixtures("demo_folder")

# (line, what stands there instead, the messages)
MISTAKES = [
    # Algorithms.
    (10, "  - rbp", ["10: algorithms[2]: must be a mapping (key: value), got 'rbp'"]),
    (10, "  - {budget: 3}",
     ["10: algorithms[2].name: missing; must be the name of an algorithm  (budgetrun list algorithms)"]),
    (10, "  - {name: drawin, label: drawing, budget: 0}",
     ["10: algorithms[2].name: unknown 'drawin'; did you mean 'drawing'?  (budgetrun list algorithms)"]),
    # It is not also missing from budgets or from the report.
    (8, "  - {name: percepton}",
     ["8: algorithms[0].name: unknown 'percepton'; did you mean 'perceptron'?  (budgetrun list algorithms)"]),
    (10, "  - {name: drawin, budget: 3}",
     ["10: algorithms[2].name: unknown 'drawin'; did you mean 'drawing'?  (budgetrun list algorithms)"]),
    (10, "  - {name: ranking, label: drawing, eta: 1}",
     ["10: algorithms[2].name: 'ranking' learns several classes only; it needs datasets with task: multiclass"
      "  (allowed: perceptron, fading, drawing, command, river, scikit_learn, vowpal_wabbit)"]),
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
]  # fmt: skip


@pytest.mark.parametrize(("number", "line", "messages"), MISTAKES)
def test_each_mistake_has_its_message(number, line, messages):
    assert message(replaced(number, line)) == messages


def test_a_list_is_not_a_sweep_if_the_parameter_is_a_list():
    line = "  - {name: fading, variant: fast, label: drawing, phi: [1, m], steps: [3, 4], schedule: {a: 1}}"
    found = [run.parameters for run in load(replaced(10, line)).algorithms[2].expand()]
    assert found == [{"phi": phi, "steps": [3, 4], "schedule": {"a": 1.0}, "project": False} for phi in (1.0, "m")]


def test_numbers_are_the_same_however_they_are_typed():
    lines = [f"  - {{name: drawing, budget: 3, rate: {typed}}}" for typed in ("1", "1.0", "1e0", "+1.")]
    runs = [next(load(replaced(10, line)).algorithms[2].expand()) for line in lines]
    assert [json.dumps(run.parameters) for run in runs] == ['{"rate": 1.0}'] * 4


def test_every_parameter_of_every_learner_and_kernel_has_words(monkeypatch):
    monkeypatch.undo()
    known = [*learners.registry().values(), *learners.registry("multiclass").values()]
    classes = [learner for variants in known for learner in variants.values()]
    for owner in (*classes, *kernels.registry().values()):
        for name, parameter in parameters(owner).items():
            assert ValueType(parameter.annotation).wanted, (owner, name)


def test_a_parameter_that_came_later_is_in_the_config_only_if_it_is_given(monkeypatch):
    monkeypatch.setattr(Drawing, "added", {"rate": 0.5})
    assert "rate" not in load(GOOD.replace("rate: 1e-1, ", "")).algorithms[2].parameters
    assert load(GOOD).algorithms[2].parameters["rate"] == (0.1,)
