"""Sutskever (2009), Algorithm 1: the modified Randomized Budget Perceptron."""

import math

import numpy as np

from reference.kernel_expansion import Trace, cases, is_mistake, record, rounded_value, stream
from reference.projection import gram, norm


def into_ball(alpha, radius, K):
    """pi_C(w) for C = {w : ||w|| <= radius}."""
    size = norm(alpha, K)
    return {i: a * radius / size for i, a in alpha.items()} if size > radius else alpha


def modified_rbp(X, y, k, budget, step=1 / 16, radius=None, seed=0, tie="mistake"):
    B, eta = budget, step
    radius = math.sqrt(B) / 8 if radius is None else radius  # Theorem 1
    K = gram(X, k)
    random = np.random.default_rng(seed)
    trace = Trace()
    alpha = {}  # w_1 <- 0
    for t, x_t, y_t in stream(X, y):
        score = rounded_value(alpha, X, x_t, k)  # p_i <- sign(w_i^T phi(x_i))
        mistake = is_mistake(y_t, score, tie)
        if mistake:  # otherwise w_{i+1} <- w_i
            # s(w_i): w_i as a sum of B terms, zero terms added if it has fewer (footnote 2); I ~ Unif(1, ..., B)
            terms = [*alpha, *[None] * (B - len(alpha))]
            leaving = terms[random.integers(B)]
            # w_i + eta (y_i - p_i) / 2 phi(x_i) - s(w_i)
            alpha = {i: a for i, a in alpha.items() if i != leaving}
            alpha[t] = eta * y_t
            alpha = into_ball(alpha, radius, K)  # w_{i+1} <- pi_C(...)
        record(trace, score, mistake, alpha)
    return trace


CASES = cases(
    modified_rbp, {"budget": 1, "seed": 0}, {"budget": 7, "seed": 3}, {"budget": 30, "seed": 1},
    {"budget": 30, "radius": 0.15, "seed": 2}, {"budget": 20, "step": 1.0, "radius": 2.0, "seed": 4},
    {"budget": 1000, "seed": 5},
)  # fmt: skip
