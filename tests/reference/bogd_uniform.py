"""Zhao, Wang, Wu, Jin & Hoi (2012): BOGD with uniform sampling, as in the program of one of the authors."""

import numpy as np

from reference.kernel_expansion import cases, is_mistake, record, rounded_value, stream
from reference.projection import TOLERANCE, ProjectionTrace

NAME = "bogd"


def bogd(X, y, k, budget, step, regulariser=0.0, clip=1.0, seed=0, tie="mistake"):
    random = np.random.default_rng(seed)
    trace = ProjectionTrace()
    alpha = {}
    for t, x_t, y_t in stream(X, y):
        score = rounded_value(alpha, X, x_t, k)
        update = 1 - y_t * score > TOLERANCE
        # every round alpha *= 1 - eta lambda
        alpha = {i: a * (1 - step * regulariser) for i, a in alpha.items()}
        if update and len(alpha) < budget:
            alpha[t] = step * y_t
        elif update:
            # an example is drawn uniformly and removed
            del alpha[list(alpha)[random.integers(budget)]]
            # the others are multiplied by B / (B - 1)
            alpha = {i: a * budget / (budget - 1) for i, a in alpha.items()}
            alpha[t] = step * y_t
            # all are multiplied by min(1, eta gamma / max |alpha|)
            phi = min(1.0, step * clip / max(map(abs, alpha.values())))
            alpha = {i: a * phi for i, a in alpha.items()}
        record(trace, score, is_mistake(y_t, score, tie), alpha, update)
    return trace


CASES = cases(
    bogd, {"budget": 1, "step": 0.6}, {"budget": 15, "step": 0.4, "regulariser": 0.05, "seed": 3},
    {"budget": 15, "step": 1.5, "regulariser": 0.02, "clip": 2.0}, {"budget": 15, "step": 0.3, "clip": 0.5},
    {"budget": 1000, "step": 2.0, "regulariser": 0.1},
)  # fmt: skip
