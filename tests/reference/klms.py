"""Liu, Pokharel & Principe (2008): KLMS, stopped when the budget is full."""

from reference.kernel_expansion import cases
from reference.targets import note, predict, start, stream


def klms(X, y, k, step, budget=None):
    trace, alpha = start()
    for t, x_t, d_t in stream(X, y):
        score = predict(alpha, X, x_t, k)
        e_t = d_t - score
        update = budget is None or len(alpha) < budget
        if update:  # a_t = eta e_t
            alpha[t] = step * e_t
        note(trace, score, alpha, update)
    return trace


REGRESSION_CASES = cases(klms, {"step": 0.5}, {"budget": 20, "step": 0.3}, {"budget": 1, "step": 1.0})
