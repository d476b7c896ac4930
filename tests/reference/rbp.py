"""Cesa-Bianchi & Gentile (2006): the Randomized Budget Perceptron ("CG")."""

import numpy as np

from reference.kernel_expansion import Trace, cases, is_mistake, record, stream, value
from reference.multiclass import best_rival, values


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


def multiclass_rbp(X, codes, k, n_classes, budget, seed):
    """Orabona, Keshet & Caputo (2009), section 7: the Multiclass Random Budget Perceptron ("MRBP")."""
    random = np.random.default_rng(seed)
    trace = Trace()
    alpha = {}
    for t, x_t, y_t in stream(X, codes):
        scores = values(alpha, X, x_t, k, n_classes)
        rival, lead = best_rival(scores, y_t, tolerance=0.0)
        mistake = lead <= 0
        if mistake:
            if len(alpha) == budget:  # a random example leaves all classes ...
                del alpha[list(alpha)[random.integers(budget)]]
            alpha[t] = [0.0] * n_classes  # ... then the new one enters, as with the Perceptron
            alpha[t][y_t] += 1
            alpha[t][rival] -= 1
        record(trace, scores, mistake, alpha)
    return trace


CASES = cases(rbp, *({"budget": B, "seed": s} for B, s in ((1, 0), (7, 3), (30, 1))))
MULTICLASS_CASES = cases(multiclass_rbp, *({"budget": B, "seed": s} for B, s in ((1, 0), (7, 3), (30, 1))))
