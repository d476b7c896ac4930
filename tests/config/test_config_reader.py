"""Config files: the top of a config, profiles, and files that are not configs."""

# ruff: noqa: E501  (whole messages stay on one line)

import subprocess
import sys
from pathlib import Path

import faults
import pytest
from config.demo import DATASET_KEYS, GOOD, KEYS, load, message, replaced
from sweeping import TOP

from budgetrun import config

pytestmark = pytest.mark.usefixtures("demo_folder")

# (line, what stands there instead, the messages)
MISTAKES = [
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
    (6, "metrics: [f1, kapa]",
     ["6: metrics[1]: must be one of sliding_error, fading_error, f1, kappa, auc, brier, log_loss, kept_bytes, prefix_log_loss, got "
      "'kapa'"]),
    (6, "repetitions: true", ["6: repetitions: must be an integer >= 1, got true"]),
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
def test_each_mistake_has_its_message(number, line, messages):
    assert message(replaced(number, line)) == messages


TABLE = "dataset,label\n" + "digits,perceptron\n" * 1000


@pytest.mark.parametrize(("text", "found"), [
    ("", "nothing"), ("# a comment\n", "nothing"), ("- a\n", "a list"), ("3\n", "3"),
    (TABLE, "'dataset,label digits,perceptron digits,perceptron digits,...'"),
])  # fmt: skip
def test_what_is_not_a_config(text, found):
    wanted = "must be a config: YAML with the keys name, datasets and algorithms"
    assert message(text) == [f"1: {wanted}, got {found}  (for examples: budgetrun list configs)"]


EMPTY = [f"1: {key}: missing; must be a list with at least one item" for key in ("datasets", "algorithms")]


@pytest.mark.parametrize(("text", "messages"), [
    ("!a b\n", ["1: tag '!a' cannot be used here; write the plain value"]),
    ("text " * 100 + ": 1\n",
     [f"1: {'text ' * 11}te...: unknown key  (allowed: {KEYS})",
      "1: name: missing; must be a name made of lower-case letters, digits, '_' and '-'", *EMPTY]),
    ("[" * 1000, ["1: is nested more than 30 levels deep"]),
    ("name: a\ndatasets: []\nalgorithms: perceptron\n",
     ["2: datasets: must be a list with at least one item, got an empty list",
      "3: algorithms: must be a list with at least one item, got 'perceptron'"]),
    ("name: a\n", EMPTY),
])  # fmt: skip
def test_too_little_to_be_a_config(text, messages):
    assert message(text) == messages


def test_all_mistakes_come_at_once_in_the_order_of_the_file():
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
        "5: kernel.gamma: must be a number > 0 or 'auto', got 'abc'",
        "10: algorithms[1].seeds: must be an integer >= 1 or 'by_repetition', got 0",
        "11: algorithms[1].budget: key given twice, first on line 9",
        "14: report.tables[0].columns[0]: no algorithm has the label 'perceptro'; did you mean 'perceptron'?"
        "  (allowed: perceptron, drawing)",
    ]


def test_profiles_cap():
    found = load(replaced(4, "  - {name: digits, n_examples: 20, repetitions: 5}"), "ci")
    assert [(d.n_examples, d.repetitions) for d in found.datasets] == [(50, 1), (20, 1)]
    assert [a.seeds for a in found.algorithms] == [1, 1, 1]
    assert (found.tasks, found.repetitions, found.profile) == (3, 1, "ci")
    whole = load(GOOD)
    assert whole.apply_profile("full") is whole


def test_a_profile_without_caps_changes_nothing_else():
    found = load(replaced(20, "  same:"), "same")
    assert found.model_copy(update={"profile": "full"}) == load(replaced(20, "  same:"))


def test_unknown_profile():
    assert faults.message(load, GOOD, "c") == "demo.yaml: unknown profile 'c'; did you mean 'ci'?  (allowed: full, ci)"


def test_configs_of_budgetrun_are_found_by_name(tmp_path, monkeypatch):
    assert config.list_configs() == [("quickstart", "A paper"), ("torn", "")]
    assert config.load("quickstart").file == str(tmp_path / "configs" / "quickstart.yaml")
    monkeypatch.chdir(tmp_path)
    assert config.load("quickstart").file == "configs/quickstart.yaml"


def test_a_file_comes_before_a_config_of_that_name():
    Path("quickstart").write_text(GOOD)
    assert config.load("quickstart").name == "demo"


@pytest.mark.parametrize(("typed", "text"), [
    ("quickstrat", "quickstrat: no such file or config; did you mean 'quickstart'?  (budgetrun list configs)"),
    ("a/quickstrt.yaml", "a/quickstrt.yaml: no such file or config; did you mean 'quickstart'?  (budgetrun list configs)"),
    ("zzz", "zzz: no such file or config  (budgetrun list configs)"),
    (".", ".: a folder, not a config; name a file in it, such as NAME.yaml"),
    ("../configs", "../configs: a folder, not a config; name a file in it, such as ../configs/NAME.yaml"),
])  # fmt: skip
def test_unknown_config(typed, text):
    assert faults.message(config.load, typed) == text


@pytest.mark.parametrize(("content", "text"), [
    (b"name: caf\xe9\n", "demo.yaml: not UTF-8 text (byte 9); save it as UTF-8"),
    ("name: demo".encode("utf-16"), "demo.yaml: not UTF-8 text (byte 0); save it as UTF-8"),
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "demo.yaml: is a binary file, not YAML text; name another file"),
    (b"name: demo\0", "demo.yaml: is a binary file, not YAML text; name another file"),
])  # fmt: skip
def test_a_file_that_is_not_text(content, text):
    Path("demo.yaml").write_bytes(content)
    assert faults.message(config.load, "demo.yaml") == text


def test_importing_configs_needs_no_numerical_library():
    code = (
        "import sys, budgetrun.config.schema, budgetrun.config.reader\n"
        "print({'numpy', 'scipy', 'pandas', 'sklearn', 'matplotlib'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=TOP)
    assert done.stdout == "set()\n"


def test_every_config_that_comes_with_budgetrun_is_good(monkeypatch):
    monkeypatch.undo()
    for name, told in config.list_configs():
        loaded = config.load(name)
        assert (loaded.source or loaded.description) == told != ""
