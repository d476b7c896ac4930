"""Kivinen, Smola & Williamson (2004): NORMA with the soft margin loss, truncated."""

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


CASES = cases(
    norma,
    {"budget": 1, "step": 0.6},
    {"budget": 15, "step": 0.4, "regulariser": 0.05},
    {"budget": 30, "step": 0.3, "rho": 0.2},
    {"step": 2.0, "regulariser": 0.1},
)
