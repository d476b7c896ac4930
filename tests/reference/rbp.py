"""Cesa-Bianchi & Gentile (2006): the Randomized Budget Perceptron ("CG")."""

import numpy as np

from reference.kernel_expansion import Trace, cases, is_mistake, record, stream, value


def rbp(X, y, k, budget, seed, tie="mistake"):
    random = np.random.default_rng(seed)
    trace = Trace()
    alpha = {}
    for t, x_t, y_t in stream(X, y):
        score = value(alpha, X, x_t, k)
        mistake = is_mistake(y_t, score, tie)
        if mistake:
            if len(alpha) == budget:  # a random active example leaves ...
                del alpha[list(alpha)[random.integers(budget)]]
            alpha[t] = y_t  # ... then the new one enters
        record(trace, score, mistake, alpha)
    return trace


CASES = cases(rbp, *({"budget": B, "seed": s} for B, s in ((1, 0), (7, 3), (30, 1))))
