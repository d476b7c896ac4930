"""The stated limits of configs: size, depth, aliases, numbers, settings, runs, names; beyond them, one sentence."""

import gc
import os
import time
from pathlib import Path

import faults
import pytest
from config.demo import GOOD, message, replaced
from faults import raises

from budgetrun.base.errors import InputError
from budgetrun.base.params import Formula
from budgetrun.config import reader
from budgetrun.config.problems import MOST_PROBLEMS, FileName, Name, ValueType, value_types
from budgetrun.config.reader import MOST_SETTINGS, load, read
from budgetrun.config.schema import MOST_RUNS, DatasetSpec
from budgetrun.config.yaml import MOST_BYTES, parse, read_text
from budgetrun.runner.plan import make_plan

BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
TOO_MANY = "has more than 50,000 values and keys, those of an alias counted each time that it is used"
TOO_LONG = "has more than 1,000,000 characters, those of an alias counted each time that it is used"
TOO_DEEP = "is nested more than 30 levels deep"
CONFIG = "name: many\ndatasets: [{name: a9a}]\nkernel: {name: linear}\nalgorithms:\n"


@pytest.mark.parametrize(("text", "said"), [
    (BOMB, TOO_MANY),
    ("a: [" + "1," * 5000 + "]", TOO_MANY),
    ("a: &x '" + "y" * 100_000 + "'\nb: [" + ",".join(["*x"] * 20) + "]", TOO_LONG),
    ("[" * 500 + "]" * 500, TOO_DEEP),
    ("[" * 100_000, TOO_DEEP),
    ("- " * 600 + "a", TOO_DEEP),
    ("x" * 100_000 + ": 1", "not valid YAML: mapping values are not allowed here"),
    ("a: " + "9" * 5000, "9" * 57 + "... is not an integer of at most 64 bits"),
    ("a: 9223372036854775808", "9223372036854775808 is not an integer of at most 64 bits"),
    ('a: "\\e[31m"', "'\\x1b[31m' has a control character; remove it"),
    ('a: "\\ud800"', "'\\ud800' has a control character; remove it"),
    ('a: "\\u202egpj"', "'\\u202egpj' has a control character; remove it"),
])  # fmt: skip
def test_what_yaml_may_hold(text, said, monkeypatch):
    monkeypatch.setattr("budgetrun.config.yaml.MOST_VALUES", 5000)
    began = time.process_time()
    assert parse(text).problems[0].text == said
    assert time.process_time() - began < 5


def test_only_files_of_a_limited_size_are_read(tmp_path):
    large, pipe = tmp_path / "large.yaml", tmp_path / "pipe.yaml"
    large.write_text("#" * (MOST_BYTES + 1))
    os.mkfifo(pipe)
    for path, said in (
        (large, "is larger than 1,000,000 bytes, the most for such a file"),
        (pipe, "is a pipe or a device; name a file"),
        (Path("/dev/zero"), "is a pipe or a device; name a file"),
        (tmp_path, "is a folder; name a file in it"),
        (tmp_path / ("a" * 5000), "cannot be read (File name too long)"),
    ):
        assert faults.message(read_text, path) == f"{path}: {said}"
    raises(InputError, "no such file or config", load, "a" * 5000)


def test_checking_takes_time_in_proportion_to_the_budgets():
    seconds = {}
    for count in (1_000, 10_000):
        budgets = ", ".join(map(str, range(1, count + 1)))
        # Collections of what other tests left behind take longer than the config.
        gc.disable()
        began = time.process_time()
        config = read(f"{CONFIG}  - {{name: forgetron, budget: [{budgets}]}}\n", Path("x.yaml"))
        seconds[count] = time.process_time() - began
        gc.enable()
        assert config.count("a9a") == count
    # Time that grows with the square would be 100 times as much.
    assert seconds[10_000] < 30 * seconds[1_000]


SEEDS = f"makes 100,000,000,000 runs or more; a config may have {MOST_RUNS:,} runs"
SETTINGS = f"makes 160,000 runs or more; a config may have {MOST_SETTINGS:,} settings of an algorithm"


@pytest.mark.parametrize(
    ("algorithm", "said"),
    [("{name: rbp, budget: 10, seeds: 100000000000}", SEEDS), ("{name: alma, C: [%s], B: [%s]}", SETTINGS)],
)
def test_runs_are_counted_before_they_are_made(algorithm, said):
    values = ", ".join(str(i + 1) for i in range(400))
    raised = faults.message(read, CONFIG + "  - " + algorithm.replace("%s", values) + "\n", Path("x.yaml"))
    assert raised == f"x.yaml:5: algorithms[0]: {said}: make several configs"


def test_the_count_is_that_of_the_runs():
    rbp = "  - {name: rbp, seeds: 3, budget: [5, 10]}\n  - {name: passive_aggressive, C: [1, 2]}\n"
    text = f"{CONFIG}{rbp}  - {{name: forgetron, budget: {{of: rbp, fractions: [0.5, 1]}}}}\n"
    config = read(text, Path("x.yaml"))
    assert config.count("a9a") == len(list(config.expand("a9a"))) == 12


def test_a_plan_of_too_many_runs_is_refused(monkeypatch):
    text = "name: x\ndatasets: [{name: noisy_gaussians, repetitions: 20}]\nkernel: {name: linear}\n"
    config = read(f"{text}algorithms: [{{name: perceptron}}]\n", Path("x.yaml"))
    monkeypatch.setattr("budgetrun.runner.plan.MOST_RUNS", 19)
    raises(InputError, r"^x\.yaml: has more than 19 runs; make several configs$", make_plan, config)


@pytest.mark.usefixtures("demo_folder")
def test_problems_are_listed_up_to_a_number():
    lines = message(GOOD + "".join(f"x{i}: 1\n" for i in range(5000)))
    assert len(lines) == MOST_PROBLEMS + 1


NAMES = ["../../evil", "/abs", "a/b", ".", "..", "CON", "con", "com1", "a\nb", "é", "🙂", "a" * 101, "a" * 300]


@pytest.mark.parametrize("name", [*NAMES, "", " ", "a\0"])
def test_names_of_files_stay_in_their_folder(name):
    assert ValueType(FileName).check(name)[1]
    profile = "{" + repr(name) + ": {}}" if name.isprintable() else '{"a\\nb": {}}'
    faults.message(read, f"{CONFIG}  - {{name: perceptron}}\nprofiles: {profile}\n", Path("x.yaml"))


@pytest.mark.parametrize("name", ["a\nb", "a" * 101, "", " "])
def test_labels_are_one_short_line(name):
    assert value_types(DatasetSpec)["label"].check(name)[1]
    assert ValueType(Name).check(name)[1]


def test_formulas_of_any_length_and_depth():
    assert Formula("-" * 199 + "T", ("T",))(T=2.0) == -2.0
    for text in ("-" * 20_000 + "T", "(" * 20_000 + "T", "(" * 150 + "T", "1" * 5000):
        with pytest.raises(ValueError, match=r"and a formula may have 200$|is not a formula$") as raised:
            Formula(text, ("T",))
        assert len(str(raised.value)) < 200


@pytest.mark.parametrize(("line", "said"), [
    ("{name: gaussian, sigma: 1e-170}", "sigma: must be between 1e-100 and 1e+100, got 1e-170"),
    ("{name: gaussian, gamma: 1e308}", "gamma: must be between 1e-100 and 1e+100, got 1e+308"),
    ("{name: gaussian, gamma: .inf}", "gamma: must be a finite number, got .inf"),
    ("{name: gaussian, gamma: true}", "gamma: must be a number > 0 or 'auto', got true"),
    ("{name: polynomial, degree: 1000000000}", "degree: must be an integer >= 1 and <= 1000, got 1000000000"),
])  # fmt: skip
def test_numbers_in_range(line, said):
    text = CONFIG.replace("{name: linear}", line) + "  - {name: perceptron}\n"
    assert faults.message(read, text, Path("x.yaml")) == f"x.yaml:3: kernel.{said}"


@pytest.mark.usefixtures("demo_folder")
def test_paths_that_cannot_be():
    for path in ("~nosuchuser/x", "a" * 5000, "/dev/zero"):
        (line,) = message(replaced(4, f"  - {{name: own, path: {path}, order: permuted}}"))
        assert line.startswith("4: datasets[1].path: no such file: ")
        assert len(line) < 1100


def test_budgets_that_are_fractions():
    rbp = "  - {name: rbp, budget: {of: perceptron, fractions: [1.7e308, 1e-320]}}\n"
    text = f"{CONFIG}  - {{name: perceptron}}\n{rbp}"
    assert faults.message(read, text, Path("x.yaml")).split("\n") == [
        "x.yaml:6: algorithms[1].budget.fractions[0]: must be between 1e-100 and 1e+100, got 1.7e+308",
        "x.yaml:6: algorithms[1].budget.fractions[1]: must be between 1e-100 and 1e+100, got 1e-320",
    ]


def test_a_dataset_without_a_name_beside_values_by_dataset():
    text = "name: x\ndatasets: [{name: a9a}, {label: [b]}]\nkernel: {name: linear}\nalgorithms:\n"
    with pytest.raises(InputError, match=r"datasets\[1\]\.name: missing"):
        read(f"{text}  - {{name: rbp, budget: {{by_dataset: {{b: 5}}}}}}\n", Path("x.yaml"))


def test_of_a_large_folder_without_parquet_only_some_names_are_read(tmp_path, monkeypatch):
    nested = tmp_path / "table" / "year=2026"
    nested.mkdir(parents=True)
    (nested / "part-0.parquet").touch()
    assert reader._has_parts(tmp_path / "table")
    assert not reader._has_parts(nested / "part-0.parquet")
    for i in range(5):
        (tmp_path / f"{i}.txt").touch()
    monkeypatch.setattr(reader, "_MOST_NAMES", 5)
    assert not reader._has_parts(tmp_path)
