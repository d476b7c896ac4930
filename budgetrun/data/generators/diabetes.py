"""The diabetes data, which scikit-learn contains."""

from __future__ import annotations

import numpy as np

OPTIONS: dict[str, tuple[type, float]] = {}


def counts() -> dict[float, int]:
    """Return the number of examples, under a label that stands for all of them."""
    return {0.0: 442}


def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the data as measured, shapes (442, 10) and (442,), float64; nothing is random."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, scaled=False)
    return X, y
