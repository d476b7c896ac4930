"""Strict YAML and formulas: what texts become, where values stand, and each way a text can be wrong."""

import math
import re
from typing import Annotated, Literal

import pytest
from faults import message, raises
from pydantic import AfterValidator, Field

from budgetrun.base.errors import InputError
from budgetrun.base.params import Formula
from budgetrun.config.kinds import is_formula, wrong_formula
from budgetrun.config.problems import ValueType
from budgetrun.config.yaml import Document, Mistake, dotted, load, parse


@pytest.mark.parametrize(("text", "value"), [
    ("1e-3", 0.001), ("1E5", 1e5), (".5", 0.5), ("-1.", -1.0), ("+1", 1), ("-7", -7), ("012", 12), ("0o17", 15),
    ("0x1F", 31), (".inf", math.inf), ("-.Inf", -math.inf), ("true", True), ("False", False), ("on", "on"),
    ("off", "off"), ("yes", "yes"), ("no", "no"), ("y", "y"), ("1_000", "1_000"), ("1:30", "1:30"),
    ("2008-01-31", "2008-01-31"), ("01234|56789", "01234|56789"), ("1e", "1e"), (".", "."), ("'1'", "1"),
    ('"true"', "true"), ("~", None), ("null", None), ("", None), ("!!str 5", "5"), ("!!float 1", 1.0),
    ("{a: [1, {b: x}]}", {"a": [1, {"b": "x"}]}),
])  # fmt: skip
def test_values(text, value):
    document = parse(f"key: {text}\n")
    assert document.problems == []
    assert document.data == {"key": value}
    assert type(document.data["key"]) is type(value)


def test_lines_of_keys_and_items():
    document = parse("a: 1\nb:\n  - x\n  - c: >\n      folded\n      text\n    d: 2\n\ne: [1,\n    2]\n")
    assert document.problems == []
    assert document.lines == {
        (): 1, ("a",): 1, ("b",): 2, ("b", 0): 3, ("b", 1): 4, ("b", 1, "c"): 4, ("b", 1, "d"): 7,
        ("e",): 9, ("e", 0): 9, ("e", 1): 10,
    }  # fmt: skip


def test_line_of_what_is_not_there_is_that_of_what_holds_it():
    document = parse("a: 1\nb:\n  - {c: 1}\n")
    assert document.line(("b", 0, "missing", "deeper")) == 3
    assert document.line(("missing",)) == 1


def test_an_alias_stands_for_its_anchor():
    document = parse("a: &values [1, 2]\nb: *values\n")
    assert document.problems == []
    assert document.data == {"a": [1, 2], "b": [1, 2]}
    assert document.lines[("b",)] == 2
    assert document.lines[("b", 0)] == 1


@pytest.mark.parametrize(("text", "problems"), [
    ("a: 1\nb: 2\na: 3\n", ["3: a: key given twice, first on line 1"]),
    ("a: {x: 1, x: 2}\nb:\n  - c: 1\n    c: 2\n", ["1: a.x: key given twice, first on line 1",
     "4: b[0].c: key given twice, first on line 3"]),
    ("a: !colour red\n", ["1: a: tag '!colour' cannot be used here; write the plain value"]),
    ("a: !!set {x, y}\n", ["1: a: tag '!!set' cannot be used here; write the plain value"]),
    ("a: !!seq {x: 1}\n", ["1: a: tag '!!seq' cannot be used here; write the plain value"]),
    ("a: !x [1]\n", ["1: a: tag '!x' cannot be used here; write the plain value"]),
    ("a: !!float x\n", ["1: a: tag '!!float' cannot be used here; write the plain value"]),
    ("a: 1\n? [b]\n: 2\n", ["2: a key must be text or a number"]),
    ("a: &a [*a]\n", ["1: a[0]: this alias stands for something that contains it"]),
    ("a: *b\n", ["1: not valid YAML: found undefined alias 'b'"]),
    ("a: 1\nb: c: d\n", ["2: not valid YAML: mapping values are not allowed here"]),
    ("a:\n\t- b\n",
     ["2: not valid YAML: found character '\\t' that cannot start any token; indent with spaces, not tabs"]),
    ("a: [1,\nb: 2\n", ["3: not valid YAML: expected ',' or ']', but got '<stream end>' "
     "(while parsing a flow sequence that begins on line 1)"]),
    ("a: 1\n---\nb: 2\n", ["2: not valid YAML: but found another document "
     "(expected a single document in the stream that begins on line 1)"]),
    ("a: 1\nb: \x07\n", ["2: not valid YAML: character #x0007 is not allowed"]),
])  # fmt: skip
def test_problems(text, problems):
    assert [str(problem) for problem in parse(text).problems] == problems


def test_single_cases():
    assert [len(Mistake(1, (), "x" * n).said) for n in (1000, 1001)] == [1000, 1003]
    assert math.isnan(parse("key: .nan").data["key"])
    assert parse("# nothing but a comment\n") == Document(None, {(): 1})
    # The first of two values stands.
    assert parse("a: 1\na: 2\n").data == {"a": 1}
    assert dotted(("algorithms", 1, "budget", "fractions", 0)) == "algorithms[1].budget.fractions[0]"
    assert dotted(()) == ""


def test_a_file_is_loaded_or_each_problem_is_reported(tmp_path):
    path = tmp_path / "card.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1e-3\r\nb: on\r\n")
    assert load(path) == {"a": 0.001, "b": "on"}
    path.write_text("a: 1\na: 2\nb: !c d\n")
    assert message(load, path).split("\n") == [
        f"{path}:2: a: key given twice, first on line 1",
        f"{path}:3: b: tag '!c' cannot be used here; write the plain value",
    ]
    raises(InputError, r": cannot be read \(No such file or directory\)$", load, tmp_path / "none.yaml")
    raises(InputError, r": is a folder; name a file in it$", load, tmp_path)


@pytest.mark.parametrize(("text", "value"), [
    ("round(2.5)", 3), ("round(3.5)", 4), ("round(-0.5)", 0), ("round(0.49)", 0), ("round(10 * log(T))", 46),
    ("T ** -0.5", 0.1), ("min(T, 3, 8)", 3), ("8 / T**2", 8e-4),
])  # fmt: skip
def test_values_of_formulas(text, value):
    assert Formula(text, ("T",))(T=100.0) == pytest.approx(value, rel=1e-15)


def test_names_that_occur():
    assert Formula("m + log(norm)", ("m", "norm", "T")).used == {"m", "norm"}
    assert Formula("2 * 3", ("T",)).used == set()


@pytest.mark.parametrize(("text", "message"), [
    ("round(T, 2)", "'round(T, 2)': round takes one value, got 2"),
    ("max(T)", "'max(T)': max takes two values or more, got 1"),
    ("T +", "'T +' is not a formula"),
    ("t", "'t' may use only numbers, + - * / **, sqrt log exp min max round and T"),
    ("T // 2", "'T // 2' may use only numbers, + - * / **, sqrt log exp min max round and T"),
    ("__import__('os')", "\"__import__('os')\" may use only numbers, + - * / **, sqrt log exp min max round and T"),
])  # fmt: skip
def test_what_a_formula_is_not(text, message):
    raises(ValueError, f"^{re.escape(message)}$", Formula, text, ("T",))


def _even(number):
    return number


@pytest.mark.parametrize(("annotation", "takes", "whole"), [
    (float, True, False),
    (float | None, True, False),
    (Annotated[float, Field(gt=0)], True, False),
    (Annotated[int, Field(ge=1), AfterValidator(_even)], True, True),
    (float | Literal["kept"], False, False),
    (float | str, False, False),
    (str | None, False, True),
    (Literal["kept", "shrunk"], False, True),
    (bool, False, True),
    (dict[str, float], False, True),
    (tuple[float, ...], False, True),
])  # fmt: skip
def test_formulas_stand_where_a_number_and_no_text_can(annotation, takes, whole):
    wanted = ValueType(annotation)
    assert wanted.takes_formulas == takes
    assert wanted.is_whole == whole
    assert is_formula("1 / T", wanted) == takes
    assert not is_formula(0.5, wanted)
    assert not is_formula("0.5", wanted)


def test_the_sentence_says_what_else_may_stand_there():
    wanted = ValueType(Annotated[float, Field(gt=0)])
    assert wrong_formula("1 / T", wanted) == ""
    assert wrong_formula("1 / 3", wanted) == "must be a number > 0, or a formula in T: '1 / 3' has no T"
