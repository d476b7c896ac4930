"""Unit vectors that come in turn: no learner that holds fewer of them keeps up with their sum."""

from __future__ import annotations

import numpy as np

OPTIONS = {"n_examples": (int, 2)}
N_VECTORS = 21


def counts(n_examples: int) -> dict[int, int]:
    """Return the number of examples with each label."""
    positive = int((_which(n_examples) % 2 == 0).sum())
    return {-1: n_examples - positive, 1: positive}


def draw(rng: np.random.Generator, n_examples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard unit vectors one after the other, again and again; every other one is labelled -1.

    Parameters
    ----------
    rng : Generator
        Unused: nothing is random.
    n_examples : int, >= 2

    Returns
    -------
    X : ndarray, shape (n_examples, `N_VECTORS`), float64
    y : ndarray, shape (n_examples,), int, -1 or +1
    """
    which = _which(n_examples)
    return np.eye(N_VECTORS)[which], 1 - 2 * (which % 2)


def _which(n_examples: int) -> np.ndarray:
    return np.arange(n_examples) % N_VECTORS
