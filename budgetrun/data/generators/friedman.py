"""Friedman's first regression problem."""

from __future__ import annotations

import numpy as np

OPTIONS = {"n_examples": (int, 2), "noise": (float, 0)}


def draw(rng: np.random.Generator, n_examples: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw points x of the unit cube with labels 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 + noise.

    Parameters
    ----------
    rng : Generator
    n_examples : int, >= 2
    noise : float, >= 0
        The standard deviation of the Gaussian noise.

    Returns
    -------
    X : ndarray, shape (n_examples, 10), float64, uniform; the labels do not depend on the last five features
    y : ndarray, shape (n_examples,), float64
    """
    X = rng.random((n_examples, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + noise * rng.standard_normal(n_examples)
