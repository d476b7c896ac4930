"""The types of parameters, for configs and classifiers: which values are allowed."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field


def _even(value: int) -> int:
    if value % 2:
        raise ValueError(f"must be even, because halving removes half of it, got {value}")
    return value


Count = Annotated[int, Field(ge=1, strict=True)]
Budget = Count
EvenBudget = Annotated[int, Field(ge=2, strict=True), AfterValidator(_even)]
Seed = Annotated[int, Field(ge=0, strict=True)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
AtLeastOne = Annotated[float, Field(ge=1, allow_inf_nan=False)]
# Numbers between 0 and 1, with or without the ends.
Share = Annotated[float, Field(ge=0, le=1)]
PositiveShare = Annotated[float, Field(gt=0, le=1)]
ProperShare = Annotated[float, Field(gt=0, lt=1)]
