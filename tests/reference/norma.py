"""Kivinen, Smola & Williamson (2004): NORMA with the soft margin loss, truncated."""

import math

from reference import targets
from reference.kernel_expansion import cases, is_mistake, record, rounded_value, stream
from reference.projection import TOLERANCE, ProjectionTrace


def norma(X, y, k, step, budget=None, regulariser=0.0, rho=1.0, tie="mistake"):
    trace = ProjectionTrace()
    alpha = {}
    for t, x_t, y_t in stream(X, y):
        score = rounded_value(alpha, X, x_t, k)
        update = y_t * score < rho * (1 - TOLERANCE)
        # alpha_i = (1 - eta lambda) alpha_i for i < t
        alpha = {i: (1 - step * regulariser) * a for i, a in alpha.items()}
        if update:
            # alpha_t = eta sigma_t y_t, with sigma_t = 1 if y_t f(x_t) < rho
            alpha[t] = step * y_t
            # truncation: the oldest term is dropped
            if budget is not None and len(alpha) > budget:
                del alpha[next(iter(alpha))]
        record(trace, score, is_mistake(y_t, score, tie), alpha, update)
    return trace


def of_numbers(X, y, k, step=0.5, regulariser=0.01, budget=None, loss="squared", epsilon=0.1, nu=None):
    """Kivinen, Smola & Williamson (2004): NORMA for regression, truncated."""
    trace, alpha = targets.start()
    for t, x_t, y_t in targets.stream(X, y):
        score = targets.predict(alpha, X, x_t, k)
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
        targets.note(trace, score, alpha, loss == "squared" or large or nu is not None)
    return trace


CASES = cases(
    norma, {"budget": 1, "step": 0.6}, {"budget": 15, "step": 0.4, "regulariser": 0.05},
    {"budget": 30, "step": 0.3, "rho": 0.2}, {"step": 2.0, "regulariser": 0.1},
)  # fmt: skip
REGRESSION_CASES = cases(
    of_numbers,
    {},
    {"budget": 1, "step": 0.6},
    {"budget": 15, "loss": "insensitive", "epsilon": 0.5, "regulariser": 0.05},
    {"budget": 25, "loss": "insensitive", "step": 0.2, "nu": 0.3},
    {"budget": 30, "loss": "dead_zone", "epsilon": 0.2, "regulariser": 0.0},
)
