"""Types of parameters, for configs and estimators: which values are allowed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field


def _even(value: int) -> int:
    if value % 2:
        raise ValueError(f"must be even, because halving removes half of it, got {value}")
    return value


def _in_range(value: float) -> float:
    if value and not _SMALLEST <= value <= 1 / _SMALLEST:
        raise ValueError(f"must be between {_SMALLEST:g} and {1 / _SMALLEST:g}, got {value}")
    return value


def _countable(value: int) -> int:
    if value > _MOST:
        raise ValueError(f"must be at most {_MOST:,}")
    return value


# Far beyond what is useful; squares, and products of two such numbers, neither overflow nor underflow to 0.
_SMALLEST = 1e-100
_MOST = 10**15
InRange = AfterValidator(_in_range)
# A learner learns labels -1 and +1, classes, or numbers.
Task = Literal["binary", "multiclass", "regression"]
Countable = AfterValidator(_countable)
Count = Annotated[int, Field(ge=1, strict=True), Countable]
Budget = Count
EvenBudget = Annotated[int, Field(ge=2, strict=True), Countable, AfterValidator(_even)]
Seed = Annotated[int, Field(ge=0, strict=True), Countable]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), InRange]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), InRange]
AtLeastOne = Annotated[float, Field(ge=1, allow_inf_nan=False), InRange]
# Numbers between 0 and 1, with or without the ends.
Share = Annotated[float, Field(ge=0, le=1)]
PositiveShare = Annotated[float, Field(gt=0, le=1), InRange]
ProperShare = Annotated[float, Field(gt=0, lt=1), InRange]
# The widths of several kernels, each by a factor of the gamma of one Gaussian kernel.
Factors = Annotated[tuple[Positive, ...], Field(min_length=1)]
