"""Kernels and datasets of a config: the whole message of each mistake."""

# ruff: noqa: E501  (whole messages stay on one line)

from pathlib import Path

import faults
import pytest
from config.demo import DATASET_KEYS, GOOD, MULTICLASS, PRINTED, load, message, replaced

from budgetrun import config

pytestmark = pytest.mark.usefixtures("demo_folder")

# (line, what stands there instead, the messages)
MISTAKES = [
    # Kernels.
    (5, "#", ["3: datasets[0].kernel: missing; give this dataset a kernel, or the whole config one",
              "4: datasets[1].kernel: missing; give this dataset a kernel, or the whole config one"]),
    (5, "kernel: gaussian", ["5: kernel: must be a mapping (key: value), got 'gaussian'"]),
    (5, "kernel: {gamma: 1}", ["5: kernel.name: missing; must be one of gaussian, linear, polynomial, multitask"]),
    (5, "kernel: {name: gausian}", ["5: kernel.name: unknown 'gausian'; did you mean 'gaussian'?  (budgetrun list kernels)"]),
    (5, "kernel: {name: [gaussian]}", ["5: kernel.name: must be a name, got a list  (budgetrun list kernels)"]),
    (5, "kernel: {name: gaussian, gama: 1}",
     ["5: kernel.gama: unknown key; did you mean 'gamma'?  (allowed: name, gamma, sigma, products)"]),
    (5, "kernel: {name: gaussian, gamma: 0}", ["5: kernel.gamma: must be a number > 0 or 'auto', got 0"]),
    (5, "kernel: {name: gaussian, gamma: [0.1, 1, 0.1, 0, mean]}",
     ["5: kernel.gamma[2]: 0.1 is in this list twice",
      "5: kernel.gamma[3]: must be a number > 0 or 'auto', got 0",
      "5: kernel.gamma[4]: must be a number > 0 or 'auto', got 'mean'"]),
    (5, "kernel: {name: gaussian, gamma: []}",
     ["5: kernel.gamma: must be a number > 0 or 'auto', or a list with at least one such value, got an empty list"]),
    (5, "kernel: {name: gaussian, sigma: auto}", ["5: kernel.sigma: must be a number > 0, got 'auto'"]),
    (5, "kernel: {name: polynomial, gamma: auto}", ["5: kernel.gamma: must be a number > 0, got 'auto'"]),
    (5, "kernel: {name: gaussian, gamma: [1, 2], sigma: 3}",
     ["5: kernel: the gaussian kernel takes either gamma or sigma (gamma = 1 / (2 sigma^2))"]),
    (5, "kernel: {name: gaussian, gamma: .inf}", ["5: kernel.gamma: must be a finite number, got .inf"]),
    (5, "kernel: {name: gaussian}",
     ["5: kernel: the gaussian kernel takes either gamma or sigma (gamma = 1 / (2 sigma^2))"]),
    (4, "  - {name: digits, kernel: {name: polynomial, degree: 0}}",
     ["4: datasets[1].kernel.degree: must be an integer >= 1 and <= 1000, got 0"]),
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
     ["4: datasets[1].scale: must be one of none, unit_norm, minmax, standard, running, got 'unit'"]),
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
    (4, "  - {name: own, path: no.csv, order: permuted}", ["4: datasets[1].path: no such file: no.csv"]),
    (4, "  - {name: own, path: stream.csv}",
     ["4: datasets[1].order: with order: file, the default for a file of your own, each of the 2 repetitions would be "
      "the same; use repetitions: 1 or order: permuted"]),
    (4, "  - {name: digits, order: file}",
     ["4: datasets[1].order: with order: file, each of the 2 repetitions would be the same; "
      "use repetitions: 1 or order: permuted"]),
    (4, "  - {name: digits, label: mine}",
     ["4: datasets[1].label: label 'mine' is already used by datasets[0]; give this entry a label of its own"]),
    (4, "  - {name: digits, task: multi}",
     ["4: datasets[1].task: must be one of binary, equal_splits, multiclass, regression, got 'multi'"]),
    (4, "  - {name: digits, task: equal_splits, balanced: true}",
     ["4: datasets[1].balanced: goes with two classes, not with task: equal_splits; remove it"]),
    (4, "  - {name: digits, task: multiclass}",
     ["4: datasets[1].task: is multiclass, and that of datasets[0] is not; "
      "a config's datasets are all multiclass, or none is: make two configs"]),
    (4, "  - {name: digits, test: train}",
     ["4: datasets[1].test: must be a list with at least one item, each text that is not empty, got 'train'"]),
    (4, "  - {name: clouds, test: [a]}",
     ["4: datasets[1].test: names parts of a card; generated data have none; remove it"]),
    (4, "  - {name: own, path: stream.csv, order: permuted, test: [a]}",
     ["4: datasets[1].test: names parts of a card; a file of your own is tested on test_path: FILE"]),
    (4, "  - {name: own, path: stream.csv, order: permuted, test_path: no.csv}", ["4: datasets[1].test_path: no such file: no.csv"]),
    (4, "  - {name: digits, test_path: stream.csv}",
     ["4: datasets[1].test_path: goes with path, a file of your own; for a card write test: [parts]"]),
    (4, "  - {name: digits, typed_test_path: x}",
     [f"4: datasets[1].typed_test_path: unknown key; did you mean 'test_path'?  (allowed: {DATASET_KEYS})"]),
]  # fmt: skip


@pytest.mark.parametrize(("number", "line", "messages"), MISTAKES)
def test_each_mistake_has_its_message(number, line, messages):
    assert message(replaced(number, line)) == messages


@pytest.mark.parametrize(("old", "new", "messages"), [
    ("test: [test]", "noise: 0.1, balanced: true, positive: 0",
     [f"4: datasets[0].{key}: goes with two classes, not with task: multiclass; remove it"
      for key in ("noise", "balanced", "positive")]),
    ("tie: mistake", "tie: positive",
     ["2: tie: must be 'mistake' with task: multiclass, where no score of 0 predicts +1, got 'positive'"]),
    ("{name: perceptron}", "{name: drawing, variant: basic, budget: 3}",
     ["8: algorithms[0].variant: unknown 'basic'  (allowed: one_vs_rest)"]),
    ("{name: perceptron}", "{name: percepton}",
     ["8: algorithms[0].name: unknown 'percepton'; did you mean 'perceptron'?  (budgetrun list algorithms)"]),
    (", task: multiclass}", "}",
     ["5: datasets[1].task: is of two classes, and that of datasets[0] is not; "
      "a config's datasets are all multiclass, or none is: make two configs"]),
])  # fmt: skip
def test_mistakes_with_several_classes(old, new, messages):
    Path("printed.csv").write_text("dataset,label,test_error_percent\n")
    assert message(MULTICLASS.replace(old, new)) == messages


def test_generated_and_noisy_streams_differ_between_repetitions_in_file_order():
    for entry in ("{name: clouds, order: file}", "{name: digits, order: file, noise: 0.1}"):
        assert load(replaced(4, f"  - {entry}")).datasets[1].repetitions == 2
    assert load(replaced(4, "  - {name: digits, order: file, balanced: true}")).datasets[1].balanced


def test_a_path_is_first_looked_for_next_to_the_config(tmp_path):
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
    told = "../elsewhere/demo.yaml:3: datasets[0].path: no such file: ../elsewhere/stream.csv or stream.csv"
    assert faults.message(config.load, "../elsewhere/demo.yaml") == told


def test_a_file_of_ones_own_is_not_shuffled_unless_asked():
    orders = {}
    for given in ("", ", order: file", ", order: permuted", ", noise: 0.1, repetitions: 2"):
        entry = f"  - {{name: own, path: stream.csv, repetitions: 1{given}}}".replace("repetitions: 1, noise", "noise")
        orders[given] = load(replaced(4, entry)).datasets[1].order
    assert orders.pop(", order: permuted") == "permuted"
    assert orders == dict.fromkeys(("", ", order: file", ", noise: 0.1, repetitions: 2"), "file")
    assert load(replaced(4, "  - {name: digits}")).datasets[1].order == "permuted"
