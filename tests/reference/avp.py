"""Liao, Li, Liao, Hu & Dang (2024), Algorithm 1: AVP."""

import math

from reference.kernel_expansion import cases, is_mistake, record, rounded_value, stream
from reference.projection import ProjectionTrace, gram, norm


def avp(X, y, k, epsilon, U=None, tie="mistake"):
    K = gram(X, k)
    trace = ProjectionTrace()
    alpha = {}  # S_1 is empty, f_1 = 0
    misses = 0
    for t, x_t, y_t in stream(X, y):
        score = rounded_value(alpha, X, x_t, k)
        update = y_t * score < 1 - epsilon - 1e-9
        if update:
            misses += y_t * score <= 0
            # lambda_t = 1 (Corollary 1) or U / sqrt(U^2 + the rounds so far with y f(x) <= 0) (Corollary 2)
            alpha[t] = y_t * (1.0 if U is None else U / math.sqrt(U**2 + misses))
            size = norm(alpha, K)
            shrink = min(1.0, U / size) if U is not None and size > 0 else 1.0  # Proj(g) = min{1, U / ||g||} g
            for i in alpha:
                alpha[i] *= shrink
        record(trace, score, is_mistake(y_t, score, tie), alpha, update)
    return trace


CASES = cases(avp, {"epsilon": 0.6}, {"epsilon": 0.51, "U": 3.0}, {"epsilon": 0.9, "U": 0.7})
