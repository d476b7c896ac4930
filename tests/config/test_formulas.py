"""Formulas that a config may have: what they may be made of, and which values are meant as one."""

import re
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, Field

from budgetrun.base.params import Formula
from budgetrun.config.kinds import is_formula, wrong_formula
from budgetrun.config.problems import ValueType


@pytest.mark.parametrize(("text", "value"), [
    ("round(2.5)", 3), ("round(3.5)", 4), ("round(-0.5)", 0), ("round(0.49)", 0), ("round(10 * log(T))", 46),
    ("T ** -0.5", 0.1), ("min(T, 3, 8)", 3), ("8 / T**2", 8e-4),
])  # fmt: skip
def test_values(text: str, value: float) -> None:
    assert Formula(text, ("T",))(T=100.0) == pytest.approx(value, rel=1e-15)


def test_names_that_occur() -> None:
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
def test_what_a_formula_is_not(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Formula(text, ("T",))


def _even(number: int) -> int:
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
def test_formulas_stand_where_a_number_and_no_text_can(annotation: Any, takes: bool, whole: bool) -> None:
    wanted = ValueType(annotation)
    assert wanted.takes_formulas == takes
    assert wanted.is_whole == whole
    assert is_formula("1 / T", wanted) == takes
    assert not is_formula(0.5, wanted)
    assert not is_formula("0.5", wanted)


def test_the_sentence_says_what_else_may_stand_there() -> None:
    wanted = ValueType(Annotated[float, Field(gt=0)])
    assert wrong_formula("1 / T", wanted) == ""
    assert wrong_formula("1 / 3", wanted) == "must be a number > 0, or a formula in T: '1 / 3' has no T"
