"""Kivinen, Smola & Williamson (2004): NORMA for regression, truncated."""

import math

from reference.kernel_expansion import cases
from reference.projection import TOLERANCE
from reference.targets import note, predict, start, stream

NAME = "norma"


def norma(X, y, k, step=0.5, regulariser=0.01, budget=None, loss="squared", epsilon=0.1, nu=None):
    trace, alpha = start()
    for t, x_t, y_t in stream(X, y):
        score = predict(alpha, X, x_t, k)
        error = y_t - score
        large = abs(error) > epsilon + TOLERANCE
        # alpha_i = (1 - eta lambda) alpha_i for i < t
        alpha = {i: (1 - step * regulariser) * a for i, a in alpha.items()}
        if nu is not None:  # epsilon = epsilon + (1 - nu) eta, or epsilon - nu eta
            epsilon += (1 - nu) * step if large else -nu * step
        if loss == "squared":
            alpha[t] = step * error
        elif large:
            alpha[t] = step * (math.copysign(1, error) if loss == "insensitive" else error)
        if budget is not None and len(alpha) > budget:
            del alpha[next(iter(alpha))]
        note(trace, score, alpha, loss == "squared" or large or nu is not None)
    return trace


REGRESSION_CASES = cases(
    norma,
    {},
    {"budget": 1, "step": 0.6},
    {"budget": 15, "loss": "insensitive", "epsilon": 0.5, "regulariser": 0.05},
    {"budget": 25, "loss": "insensitive", "step": 0.2, "nu": 0.3},
    {"budget": 30, "loss": "dead_zone", "epsilon": 0.2, "regulariser": 0.0},
)
