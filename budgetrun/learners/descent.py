"""Stochastic gradient descent with the step 1 / (lambda t), for rules that act in every round.

Round t multiplies f by (t - 1) / t, and adds an example with weight a y / (lambda t), where -a y is the derivative of
the loss at f(x). These rules store f times lambda t, after t rounds: then weights are a y, and do not decay.
"""

from __future__ import annotations

import math
from typing import Literal

Loss = Literal["hinge", "logistic"]


def descent(hinge: bool, margin: float, unit: float, rounding: float) -> float:
    """Return a, which is at least 0.

    With ``hinge``, the loss is max(0, 1 - y f(x)), and a is 1 for y f(x) <= 1 (or more by at most ``rounding``), else
    0; otherwise the loss is log(1 + exp(-y f(x))), and a = 1 / (1 + exp(y f(x))). ``margin`` is y f(x) as it is stored,
    times ``unit``: lambda times the number of earlier rounds; f = 0 if that is 0.
    """
    if hinge:
        return 1.0 if margin <= (1 + rounding) * unit else 0.0
    small = math.exp(-abs(margin) / unit) if unit > 0 else 1.0
    return small / (1 + small) if margin > 0 else 1 / (1 + small)
