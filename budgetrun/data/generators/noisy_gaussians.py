"""The two Gaussian clouds of the Forgetron paper's synthetic experiment."""

from __future__ import annotations

from typing import Any

import numpy as np

from budgetrun.base.errors import InputError
from budgetrun.data.generators.options import check_number, completed

SPREADS = ("variance", "standard_deviation")
_AXES = np.array([0.2, 2.0])


def check(options: dict[str, Any], defaults: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the options completed by their defaults: n_per_class (int, >= 1) and spread (one of `SPREADS`)."""
    chosen = completed(options, defaults, where)
    check_number("n_per_class", chosen["n_per_class"], 1, where, int)
    if chosen["spread"] not in SPREADS:
        raise InputError(f"{where}: options.spread: must be one of {' '.join(SPREADS)}, got {chosen['spread']!r}")
    return chosen


def counts(n_per_class: int, **_: Any) -> dict[int, int]:
    """Return the number of examples with each label."""
    return {-1: n_per_class, 1: n_per_class}


def draw(rng: np.random.Generator, n_per_class: int, spread: str) -> tuple[np.ndarray, np.ndarray]:
    """Draw points around (1, 1), labelled +1, and as many around (-1, -1), labelled -1.

    Parameters
    ----------
    rng : Generator
    n_per_class : int, >= 1
    spread : 'variance' or 'standard_deviation'
        What 0.2 and 2 are for the two axes; ``variance`` is as published: covariance diag(0.2, 2).

    Returns
    -------
    X : ndarray, shape (2 n_per_class, 2), float64, the positive points first
    y : ndarray, shape (2 n_per_class,), int, -1 or +1
    """
    deviation = np.sqrt(_AXES) if spread == "variance" else _AXES
    y = np.repeat([1, -1], n_per_class)
    return y[:, None] + rng.standard_normal((2 * n_per_class, 2)) * deviation, y
