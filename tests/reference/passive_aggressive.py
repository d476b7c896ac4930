"""Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006): PA-I."""

from reference.kernel_expansion import Known, cases, is_mistake, record, rounded_value, stream
from reference.multiclass import best_rival, negligible_each, values
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


def multiclass_passive_aggressive(X, codes, k, n_classes, C=1.0):
    """Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006): PA-I for several classes, max-score."""
    trace = ProjectionTrace()
    alpha = {}
    k_size = Known(lambda a, b: abs(k.k(a, b)))
    for t, x_t, y_t in stream(X, codes):
        scores = values(alpha, X, x_t, k, n_classes)
        # The weights are not exact: scores that differ only by rounding are equal.
        sizes = {i: [abs(a) for a in row] for i, row in alpha.items()}
        limits = negligible_each(values(sizes, X, x_t, k_size, n_classes))
        rival, lead = best_rival(scores, y_t, tolerance=limits)
        loss = max(0.0, 1 - lead)
        # A step below C gives a margin of exactly 1: a repeated example must not be added because of rounding.
        changed = loss > TOLERANCE
        if changed:
            # tau = min(C, loss / (2 k(x, x))); an example that is zero everywhere enters with C, and changes no score
            k_tt = k(x_t, x_t)
            tau = min(C, loss / (2 * k_tt)) if k_tt > 0 else C
            alpha[t] = [0.0] * n_classes
            alpha[t][y_t] += tau
            alpha[t][rival] -= tau
        record(trace, scores, lead <= 0, alpha, changed)
    return trace


CASES = cases(passive_aggressive, {}, {"C": 0.05}, {"C": 100.0})
MULTICLASS_CASES = cases(multiclass_passive_aggressive, {}, {"C": 0.05}, {"C": 100.0})
