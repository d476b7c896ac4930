"""Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006): PA-I."""

from reference.kernel_expansion import cases, is_mistake, record, rounded_value, stream
from reference.projection import TOLERANCE, ProjectionTrace


def passive_aggressive(X, y, k, C=1.0, tie="mistake"):
    trace = ProjectionTrace()
    alpha = {}
    for t, x_t, y_t in stream(X, y):
        score = rounded_value(alpha, X, x_t, k)
        loss = max(0.0, 1 - y_t * score)  # the hinge loss
        # A step below C gives a margin of exactly 1: a repeated example must not be added because of rounding.
        changed = loss > TOLERANCE
        if changed:
            # tau = min(C, loss / k(x, x)); an example that is zero everywhere enters with C, and changes no score
            k_tt = k(x_t, x_t)
            tau = min(C, loss / k_tt) if k_tt > 0 else C
            alpha[t] = y_t * tau
        record(trace, score, is_mistake(y_t, score, tie), alpha, changed)
    return trace


CASES = cases(passive_aggressive, {}, {"C": 0.05}, {"C": 100.0})
