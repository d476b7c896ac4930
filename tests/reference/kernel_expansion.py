"""What the transliterations share: kernel values by their definition, and f(x) = sum_i alpha_i k(x_i, x)."""

import math
from dataclasses import dataclass, field

import numpy as np


def once(k):
    """k, with each value for a pair of short examples computed once: nearly all the time of a trace goes there."""
    known = {}

    def value_of(a, b):
        if a.nbytes > 64:
            return k(a, b)
        pair = a.tobytes() + b.tobytes()
        found = known.get(pair)
        if found is None:
            if len(known) > 500_000:
                known.clear()
            found = known[pair] = k(a, b)
        return found

    return value_of


def gaussian(gamma):
    return once(lambda a, b: math.exp(-gamma * float(((a - b) ** 2).sum())))


def polynomial(degree, gamma, coef0):
    return once(lambda a, b: (gamma * float((a * b).sum()) + coef0) ** degree)


def linear():
    return once(lambda a, b: float((a * b).sum()))


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
    """f(x), for alpha = {i: weight}; summed exactly, so that what cancels on paper cancels here."""
    return math.fsum(a * k(X[i], x) for i, a in alpha.items())


def rounded_value(alpha, X, x, k):
    """f(x) for weights that are not exact: a sum whose terms cancel but for rounding is 0."""
    terms = [a * k(X[i], x) for i, a in alpha.items()]
    total = math.fsum(terms)
    return 0.0 if abs(total) <= 1e-9 * math.fsum(map(abs, terms)) else total


def is_mistake(y, score, tie):
    if score == 0:
        return True if tie == "mistake" else y < 0
    return y * score < 0


def first_smallest(values):
    """The first index of the least value; values that differ by rounding only count as equal."""
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
