"""The diabetes data, which scikit-learn contains."""

from __future__ import annotations

import numpy as np

OPTIONS: dict[str, tuple[type, float]] = {}


def counts() -> dict[float, int]:
    """Return the number of examples, under a label that stands for all of them."""
    return {0.0: 442}


def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the data as measured.

    Parameters
    ----------
    rng : Generator
        Unused: nothing is random.

    Returns
    -------
    X : ndarray, shape (442, 10), float64
    y : ndarray, shape (442,), float64
    """
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, scaled=False)
    return X, y
