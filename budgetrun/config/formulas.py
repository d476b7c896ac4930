"""Parameters typed as formulas in T, the number of rounds: checked with the config, computed once T is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from budgetrun.config.problems import Field
from budgetrun.expressions import Formula

if TYPE_CHECKING:
    from budgetrun.config.schema import RunSpec

_NAMES = ("T",)


@cache
def parameter_fields(cls: type) -> dict[str, Field]:
    """Return what a learner, solver or kernel takes; a learner's seed is not for configs to give."""
    from budgetrun import learners

    signature: Iterable[tuple[str, Any]] = learners.parameters(cls).items()
    return {name: Field(p.annotation, p.default is p.empty) for name, p in signature if name != "seed"}


def is_formula(value: Any, field: Field) -> bool:
    """Whether a value that stands where a number is wanted is meant as a formula: text, and no number in quotes."""
    if not isinstance(value, str) or not field.takes_formulas:
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def problem(text: str, field: Field) -> str:
    """Return the sentence for a text that `is_formula`, but no good one; empty if it is."""
    try:
        formula = Formula(text, _NAMES)
    except ValueError as error:
        return f"must be {field.wanted}, or a formula in T: {error}"
    return "" if formula.used else f"must be {field.wanted}, or a formula in T: {text!r} has no T"


def computed(text: str, n_rounds: int) -> float | None:
    """Return the number that a formula comes to; None for a text that is none, or comes to no real number."""
    try:
        value = Formula(text, _NAMES)(T=float(n_rounds))
    except (ArithmeticError, ValueError, TypeError):
        # A root of a negative number is complex, which functions do not take.
        return None
    return None if isinstance(value, complex) else value


def formulas(parameters: Mapping[str, Any], cls: type) -> dict[str, str]:
    """Return the parameters of a learner or solver that are typed as formulas."""
    fields = parameter_fields(cls)
    return {name: value for name, value in parameters.items() if is_formula(value, fields[name])}


def resolve(spec: RunSpec, cls: type, n_rounds: int) -> RunSpec:
    """Return a run's spec with numbers in place of formulas, which `RunSpec.typed` then has.

    Raises
    ------
    ValueError
        A number is none that the learner or solver takes, or it refuses them together; one line for each.
    """
    typed = formulas(spec.parameters, cls)
    if not typed:
        return spec
    numbers: dict[str, Any] = {}
    problems = []
    for name, text in typed.items():
        numbers[name], wrong = _number(text, parameter_fields(cls)[name], n_rounds)
        problems += [f"{name}: {text!r} with T = {n_rounds:,}{wrong}"] if wrong else []
    if problems:
        raise ValueError("\n".join(problems))
    resolved = replace(spec, parameters=spec.parameters | numbers, typed=typed)
    if spec.budget_fraction is None:
        _try(resolved, cls, n_rounds)
    return resolved


def _number(text: str, field: Field, n_rounds: int) -> tuple[Any, str]:
    """Return the number, or what is wrong with it."""
    value = computed(text, n_rounds)
    if value is None:
        return None, " comes to no real number"
    whole = field.is_whole and value.is_integer()
    good, problems = field.check(int(value) if whole else value)
    advice = f"; write round({text})" if field.is_whole and not whole else ""
    return good, "".join(f": {wrong}{advice}" for wrong in problems.values())


def _try(spec: RunSpec, cls: Any, n_rounds: int) -> None:
    """Build the learner or solver once: what its parameters may not be together only it knows."""
    extra: dict[str, Any] = {} if spec.budget is None else {"budget": spec.budget}
    if cls.draws:
        extra["seed"] = spec.seed
    try:
        cls(**spec.parameters, **extra)
    except ValueError as error:
        numbers = ", ".join(f"{name} = {text} = {spec.parameters[name]:.6g}" for name, text in spec.typed.items())
        raise ValueError(f"with T = {n_rounds:,}, {numbers}: {error}") from None
