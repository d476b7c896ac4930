"""Chen, Zhao, Zhu & Principe (2012): QKLMS, whose set of examples stops growing when the budget is full."""

import numpy as np

from reference.kernel_expansion import cases, first_smallest
from reference.projection import TOLERANCE
from reference.targets import note, predict, start, stream


def qklms(X, y, k, step=0.9, epsilon=0.1, budget=None):
    trace, alpha = start()
    X = np.asarray(X, dtype=float)
    for t, x_t, d_t in stream(X, y):
        score = predict(alpha, X, x_t, k)
        e_t = d_t - score
        # the distance from the nearest one: dis(u_t, C)
        held = list(alpha)
        squares = [float(((X[i] - x_t) ** 2).sum()) for i in held]
        nearest = first_smallest(squares) if held else None
        if held and squares[nearest] <= epsilon**2 + TOLERANCE:
            alpha[held[nearest]] += step * e_t
        elif budget is None or len(alpha) < budget:
            alpha[t] = step * e_t
        note(trace, score, alpha, True)
    return trace


REGRESSION_CASES = cases(
    qklms, {}, {"epsilon": 1.0, "step": 0.4}, {"epsilon": 0.5, "budget": 10, "step": 0.3}, {"epsilon": 0}
)
