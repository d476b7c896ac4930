"""The two Gaussian clouds of the Forgetron paper's synthetic experiment."""

from __future__ import annotations

from typing import Any

import numpy as np

OPTIONS = {"n_per_class": (int, 1), "spread": ("variance", "standard_deviation")}
_AXES = np.array([0.2, 2.0])


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
