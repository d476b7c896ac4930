"""Gentile (2001): ALMA_2, on normalised examples x' = x / ||x||, where ||x||^2 = k(x, x)."""

import math

from reference.kernel_expansion import cases, is_mistake, record, rounded_value, stream
from reference.projection import ProjectionTrace, gram, norm


def length(x, k):
    """||x||; 1 for an example that is zero everywhere, which then is its own x'."""
    return math.sqrt(k(x, x)) or 1.0


def alma(X, y, k, alpha=0.9, B=None, C=2**0.5, tie="mistake"):
    B = 1 / alpha if B is None else B
    K = gram(X, k)
    trace = ProjectionTrace()
    weights = {}  # of the functions k(x'_i, .)
    count = 1  # the k of the paper: 1 + the updates so far

    def unprimed():  # the weights of the functions k(x_i, .)
        return {i: w / length(X[i], k) for i, w in weights.items()}

    for t, x_t, y_t in stream(X, y):
        score = rounded_value(unprimed(), X, x_t, k)  # f(x) = ||x|| f(x')
        mistake = is_mistake(y_t, score, tie)
        update = y_t * score / length(x_t, k) <= (1 - alpha) * B / math.sqrt(count)
        if update:
            weights[t] = y_t * C / math.sqrt(count)  # f + y (C / sqrt k) k(x', .)
            shrink = max(1.0, norm(unprimed(), K))
            for i in weights:  # f / max(1, ||f||)
                weights[i] /= shrink
            count += 1
        record(trace, score, mistake, unprimed(), update)
    return trace


CASES = cases(alma, {}, {"alpha": 1.0}, {"alpha": 0.5}, {"alpha": 0.3, "B": 1.0, "C": 0.5})
