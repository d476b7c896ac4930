"""Functions that the references share: kernel values by definition, and f(x) = sum_i alpha_i k(x_i, x)."""

import math
from dataclasses import dataclass, field

import numpy as np


def gaussian(gamma):
    return lambda a, b: math.exp(-gamma * float(((a - b) ** 2).sum()))


def polynomial(degree, gamma, coef0):
    return lambda a, b: (gamma * float((a * b).sum()) + coef0) ** degree


def linear():
    return lambda a, b: float((a * b).sum())


@dataclass
class Trace:
    """What happened, round by round."""

    scores: list = field(default_factory=list)
    mistakes: list = field(default_factory=list)
    active: list = field(default_factory=list)  # I_{t+1}, in order of age
    alpha: list = field(default_factory=list)
    phi: list = field(default_factory=list)
    Q: list = field(default_factory=list)
    Phi: list = field(default_factory=list)


def value(alpha, X, x, k):
    """f(x), for alpha = {i: weight}; an exact sum, so that terms that cancel on paper cancel here."""
    return math.fsum(a * k(X[i], x) for i, a in alpha.items())


def rounded_value(alpha, X, x, k):
    """f(x) for weights that are not exact: a sum whose terms cancel except for rounding is 0."""
    terms = [a * k(X[i], x) for i, a in alpha.items()]
    total = math.fsum(terms)
    return 0.0 if abs(total) <= 1e-9 * math.fsum(map(abs, terms)) else total


def is_mistake(y, score, tie):
    if score == 0:
        return True if tie == "mistake" else y < 0
    return y * score < 0


def first_smallest(values):
    """The first index of the smallest value; values that differ only by rounding count as equal."""
    least = min(values)
    return next(i for i, v in enumerate(values) if v <= least + 1e-9)


def record(trace, score, mistake, alpha):
    trace.scores.append(score)
    trace.mistakes.append(mistake)
    trace.active.append(list(alpha))
    trace.alpha.append(list(alpha.values()))


def stream(X, y):
    X = np.asarray(X, dtype=float)
    return ((t, X[t], int(y[t])) for t in range(len(y)))
