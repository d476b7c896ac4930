"""Functions for learners that bound ||f||."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np


class Normed(Protocol):
    """A form of hypothesis that tracks its norm."""

    @property
    def norm_sq(self) -> float: ...

    def scale(self, phi: float) -> None: ...


def into_ball(f: Normed, radius: float) -> None:
    """f *= min(1, radius / ||f||)."""
    if f.norm_sq > radius**2:
        f.scale(radius / math.sqrt(f.norm_sq))


def with_norm(weights: np.ndarray, K: np.ndarray, norm: float) -> tuple[np.ndarray, float]:
    """Return the weights, shape (n,), scaled to ||f|| = norm, and ||f||^2; unchanged weights if f = 0.

    ``K`` is the Gram matrix of their examples, shape (n, n).
    """
    norm_sq = float(weights @ K @ weights)
    if norm_sq <= 0:
        return weights, norm_sq
    return weights * (norm / math.sqrt(norm_sq)), norm**2
