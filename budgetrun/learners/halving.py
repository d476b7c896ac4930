"""What the learners share that halve their support set."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field


def _even(budget: int) -> int:
    if budget % 2:
        raise ValueError(f"must be even, since half of it leaves at a time, got {budget}")
    return budget


EvenBudget = Annotated[int, Field(ge=2, strict=True), AfterValidator(_even)]


def with_norm(weights: np.ndarray, K: np.ndarray, norm: float) -> tuple[np.ndarray, float]:
    """Return the weights scaled to ||f|| = norm, and ||f||^2.

    Weights whose f is 0 come back as they are.

    Parameters
    ----------
    weights : ndarray of float64, shape (n,)
    K : ndarray of float64, shape (n, n)
        The Gram matrix of their examples.
    norm : float, >= 0
    """
    norm_sq = float(weights @ K @ weights)
    if norm_sq <= 0:
        return weights, norm_sq
    return weights * (norm / math.sqrt(norm_sq)), norm**2
