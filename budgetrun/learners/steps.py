"""Steps that several learners take: onto a ball, and of stochastic gradient descent."""

import math
from typing import Any, Literal

import numpy as np

Loss = Literal["hinge", "logistic"]


def into_ball(f: Any, radius: float) -> None:
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


def descent(hinge: bool, margin: float, unit: float, rounding: float) -> float:
    """Return a, at least 0, of a step a y / (lambda t) of gradient descent; -a y is the derivative of the loss at f(x).

    For rules that act in every round: round t multiplies f by (t - 1) / t, and adds an example with this weight. They
    store f times lambda t, after t rounds: then weights are a y, and do not decay.

    With ``hinge``, the loss is max(0, 1 - y f(x)), and a is 1 for y f(x) <= 1 (or more by at most ``rounding``), else
    0; otherwise the loss is log(1 + exp(-y f(x))), and a = 1 / (1 + exp(y f(x))). ``margin`` is y f(x) as it is stored,
    times ``unit``: lambda times the number of earlier rounds; f = 0 if that is 0.
    """
    if hinge:
        return 1.0 if margin <= (1 + rounding) * unit else 0.0
    return logistic_slope(margin / unit) if unit > 0 else 0.5


def logistic_slope(margin: float) -> float:
    """Return 1 / (1 + exp(margin)). numpy's exp has another last digit for some numbers, on which outcomes depend."""
    small = math.exp(-abs(margin))
    return (small if margin > 0 else 1.0) / (1 + small)
