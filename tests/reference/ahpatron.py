"""Liao, Li, Liao, Hu & Dang (2024), Algorithm 2: Ahpatron."""

import math

import numpy as np

from reference.kernel_expansion import cases, is_mistake, record, rounded_value, stream
from reference.projection import ProjectionTrace, gram


def ahpatron(X, y, k, budget, epsilon, U=None, step=None, eta=0.0005, norm="kept", halving="largest", tie="mistake"):
    U = math.sqrt(budget) / 2 if U is None else U
    step = U / math.sqrt(4 * budget) if step is None else step
    K = gram(X, k)
    trace = ProjectionTrace()
    alpha = {}

    def length(a):
        weights = np.array(list(a.values()))
        return math.sqrt(max(0.0, weights @ K[np.ix_(list(a), list(a))] @ weights))

    for t, x_t, y_t in stream(X, y):
        score = rounded_value(alpha, X, x_t, k)
        update = y_t * score < 1 - epsilon - 1e-9
        if update and len(alpha) == budget:
            # S_2: the half with the largest weights, the older among equal ones; S_1: the rest
            largest = max(map(abs, alpha.values()))
            # (weights that differ by rounding only are equal)
            ranked = sorted(alpha, key=lambda i: (-round(abs(alpha[i]) / largest, 9), i))
            S_2, S_1 = sorted(ranked[: budget // 2]), ranked[budget // 2 :]
            if halving == "program":
                # the oldest of those that are not below the median
                sizes = {i: round(abs(alpha[i]) / largest, 9) for i in sorted(alpha)}
                median = sorted(sizes.values())[budget // 2 - 1 : budget // 2 + 1]
                heavy = [i for i in sizes if sizes[i] >= sum(median) / 2]
                S_2 = heavy[: budget // 2]
                S_1 = [i for i in sizes if i not in S_2]
            # theta = (K_2 + eta I)^{-1} K_21 alpha_1, eq. (9)
            K_2, K_21 = K[np.ix_(S_2, S_2)], K[np.ix_(S_2, S_1)]
            theta = np.linalg.inv(K_2 + eta * np.eye(len(S_2))) @ K_21 @ np.array([alpha[i] for i in S_1])
            c_t = length(alpha) / U if norm == "kept" else 0.6
            alpha = {i: alpha[i] + theta_i for i, theta_i in zip(S_2, theta.tolist(), strict=True)}
            size = length(alpha)
            if size > 0:
                alpha = {i: a * c_t * U / size for i, a in alpha.items()}
        if update:
            alpha[t] = y_t * step
            size = length(alpha)
            shrink = min(1.0, U / size) if size > 0 else 1.0
            alpha = {i: a * shrink for i, a in alpha.items()}
        record(trace, score, is_mistake(y_t, score, tie), alpha, update)
    return trace


CASES = cases(
    ahpatron, {"budget": 2, "epsilon": 0.5}, {"budget": 20, "epsilon": 0.5},
    {"budget": 40, "epsilon": 0.8, "norm": "shrunk"}, {"budget": 20, "epsilon": 0.6, "halving": "program"},
    {"budget": 1000, "epsilon": 0.6},
)  # fmt: skip
