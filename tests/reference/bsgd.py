"""Wang, Crammer & Vucetic (2012): BSGD with the step 1 / (lambda t), maintained by removal or projection.

The traces have f times lambda t, after t rounds, as the engine has it.
"""

import numpy as np

from reference.kernel_expansion import cases, is_mistake, record, rounded_value, stream
from reference.projection import TOLERANCE, ProjectionTrace, gram


def bsgd(X, y, k, budget, regulariser, projects, ridge=0.001, first="paper", tie="mistake"):
    K = gram(X, k)
    trace = ProjectionTrace()
    alpha = {}
    for t, (i, x_t, y_t) in enumerate(stream(X, y), start=1):
        score = rounded_value(alpha, X, x_t, k)
        # if y_t w_t . phi(x_t) < 1
        update = y_t * score < 1 - TOLERANCE
        # w <- (1 - eta_t lambda) w, eta_t = 1 / (lambda t)
        eta = 1 / (regulariser * t)
        alpha = {j: (1 - eta * regulariser) * a for j, a in alpha.items()}
        # (the authors' program: the last one that it finds equal)
        equal = first == "program" and is_gaussian(k) and any(int(k(X[j], x_t) * 1e8 + 0.5) == 10**8 for j in alpha)
        if update and not (equal and len(alpha) == budget):
            # w <- w + eta_t y_t phi(x_t)
            alpha[i] = 2 * y_t if first == "program" and t == 1 else eta * y_t
        if len(alpha) > budget:
            # p = argmin |alpha_p|; of several that are equal, the oldest
            least = min(map(abs, alpha.values()))
            p = next(j for j, a in alpha.items() if abs(a) <= least + TOLERANCE * eta)
            a_p = alpha.pop(p)
            if projects:
                # Delta alpha = alpha_p K^-1 k_p, over the rest
                rest = list(alpha)
                K_rest = K[np.ix_(rest, rest)] + ridge * np.eye(len(rest))
                for j, share in zip(rest, np.linalg.solve(K_rest, K[rest, p]), strict=True):
                    alpha[j] += a_p * share
        scaled = {j: a * regulariser * t for j, a in alpha.items()}
        record(trace, score * regulariser * (t - 1), is_mistake(y_t, score, tie), scaled, update)
    return trace


def is_gaussian(k):
    return k(np.zeros(1), np.zeros(1)) == k(np.ones(1), np.ones(1)) == 1


CASES = cases(
    bsgd,
    *({"budget": B, "regulariser": r} for B, r in ((1, 0.1), (12, 0.01), (40, 0.1), (1000, 0.02))),
    variant="removal",
    projects=False,
)
CASES += cases(
    bsgd,
    *({"budget": B, "regulariser": r, "first": "program"} for B, r in ((1, 0.1), (12, 0.01), (12, 0.7))),
    variant="removal",
    projects=False,
)
CASES += cases(
    bsgd,
    *({"budget": B, "regulariser": r} | g for B, r, g in ((1, 0.1, {}), (12, 0.05, {}), (30, 0.02, {"ridge": 0.01}))),
    variant="projection",
    projects=True,
)
