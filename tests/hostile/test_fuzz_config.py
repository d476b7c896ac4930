"""Configs that are damaged, or whose values are replaced by hostile ones: they are valid, or refused in a sentence."""

import resource
import time
from pathlib import Path

import pytest
import yaml
from damage import damaged
from hypothesis import given
from hypothesis import strategies as st
from sentences import one_sentence

from budgetrun.base.errors import InputError
from budgetrun.base.files import own_folder
from budgetrun.config.problems import MOST_PROBLEMS
from budgetrun.config.reader import list_configs, read

pytestmark = pytest.mark.faults

FILES = {name: own_folder("configs") / f"{name}.yaml" for name, _ in list_configs()}
# The longest take most of the time, and hold nothing that no other has.
SHORT = sorted(name for name, path in FILES.items() if path.stat().st_size < 6500)
SECONDS, MEGABYTES = 5, 300
# Values as typed, which may be no YAML at all.
TYPED = (
    ".inf", "-.inf", ".nan", "1e400", "1e308", "1e-320", "1e-170", "-1", "0", "-0.0", "1.5", "true", "~", "''",
    "[]", "{}", "2020-01-01", "!!binary aGk=", "!!python/object:os.system x", "9" * 5000, "0x" + "f" * 400, "１２",
    "'12'", "[[[1]]]", "100000000000", "{of: perceptron, fractions: [1.7e308, 1e-320]}", "{by_dataset: []}",
    "{of: [1]}", "<<", "*x", "&x 3", "'" + "-" * 20000 + "T'", "'" + "(" * 20000 + "T'", "'" + "(" * 90 + "T'",
    "'T**T**T**T'", "'log(-T)'", "'1/(T-T)'", '"\\ud800"', '"\\e[31m"', '"\\0"', '"a\\nb"', '"\\u202e"',
    "~nosuchuser/x", "/dev/zero", "/tmp", "../../evil", "a/b", "..", "con", "é", "a" * 300, "b" * 5000, "-x", "? a",
    "{1: 2, 1: 3}", "[1, 1]", "by_repetition", "{null: 1}", "[null, [], {}]",
)  # fmt: skip


def refused_or_valid(text, path):
    """Check that a config is read, or refused with a list of sentences, quickly and within bounds of memory."""
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        config = read(text, path)
    except InputError as error:
        lines = str(error).split("\n")
        assert len(lines) <= MOST_PROBLEMS + 1
        for line in lines:
            assert line.startswith(f"{path}:")
            one_sentence(line, most=1200 + len(str(path)))
    else:
        assert all(config.count(dataset.label) >= 1 for dataset in config.datasets)
    assert time.process_time() - began < SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEGABYTES * 1024


@st.composite
def replaced(draw, name):
    """Draw a config with some values replaced, removed or repeated, or with some keys renamed."""
    text = yaml.dump(_changed(draw, yaml.safe_load(FILES[name].read_text()), draw(st.integers(1, 3))), width=1000)
    for number, typed in enumerate(TYPED):
        text = text.replace(f"_typed{number}_", typed)
    return text


def _changed(draw, data, n):
    for _ in range(n):
        places = [*_places(data)]
        if not places:
            break
        holder, key = draw(st.sampled_from(places))
        hostile = f"_typed{draw(st.integers(0, len(TYPED) - 1))}_"
        kind = draw(st.sampled_from(("value", "value", "value", "key", "remove", "double", "other")))
        if kind == "value":
            holder[key] = hostile
        elif kind == "key" and isinstance(holder, dict):
            holder[hostile] = holder.pop(key)
        elif kind == "remove":
            del holder[key]
        elif kind == "double" and isinstance(holder, list):
            holder += [holder[key]] * draw(st.integers(1, 30))
        else:
            there, other = draw(st.sampled_from(places))
            holder[key] = yaml.safe_load(yaml.safe_dump(there[other]))
    return data


def _places(data):
    keys = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        yield data, key
        yield from _places(data[key])


@given(st.data())
def test_a_damaged_config(data):
    name = data.draw(st.sampled_from(SHORT))
    content = data.draw(damaged(FILES[name].read_bytes()))
    refused_or_valid(content.decode("utf-8", "replace"), FILES[name])


@given(st.data())
def test_a_config_with_hostile_values(data):
    name = data.draw(st.sampled_from(SHORT))
    refused_or_valid(data.draw(replaced(name)), FILES[name])


@given(
    st.lists(st.sampled_from(["&a ", "*a", "[", "]", "{", "}", "a: ", "- ", "\n", " ", "x", "1", "? ", "!!", "'", "|"]))
)
def test_any_yaml(words):
    refused_or_valid("".join(words), Path("x.yaml"))
