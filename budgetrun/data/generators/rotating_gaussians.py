"""Two Gaussian clouds that rotate about the origin during the stream."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

OPTIONS = {"n_examples": (int, 2), "turns": (float, 0), "deviation": (float, 1e-6)}


def refused(n_examples: int, **_: Any) -> str | None:
    """Refuse an odd number of examples."""
    return f"options.n_examples: must be even, half for each label, got {n_examples}" if n_examples % 2 else None


def counts(n_examples: int, **_: Any) -> dict[int, int]:
    """Return the number of examples with each label."""
    return {-1: n_examples // 2, 1: n_examples // 2}


def changes(n_examples: int, turns: float, **_: Any) -> dict[int, str]:
    """Return what has changed after so many rounds: every half turn, the clouds have changed places."""
    half_turns = range(1, math.ceil(2 * turns))
    return {math.ceil(n_examples * k / (2 * turns)): "the clouds have changed places" for k in half_turns}


def draw(rng: np.random.Generator, n_examples: int, turns: float, deviation: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw points around m_t, labelled +1, and around -m_t, labelled -1, where m_t rotates at constant speed.

    Parameters
    ----------
    rng : Generator
    n_examples : int, even
        T; half of them have each label, in random order.
    turns : float
        The number of turns of the clouds; after half a turn they have changed places.
    deviation : float
        The standard deviation of a point about its centre, in each direction; |m_t| = sqrt(2).

    Returns
    -------
    X : ndarray, shape (n_examples, 2), float64, in the order of time
    y : ndarray, shape (n_examples,), int, -1 or +1
    """
    y = rng.permutation(np.repeat([1, -1], n_examples // 2))
    angle = np.pi / 4 + 2 * np.pi * turns * np.arange(n_examples) / n_examples
    centres = np.sqrt(2) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return y[:, None] * centres + deviation * rng.standard_normal((n_examples, 2)), y
