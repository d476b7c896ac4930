"""Weston, Bordes & Bottou (2005): the Tighter Budget Perceptron, with the cache as its validation set."""

from functools import partial

from reference.explicit import ExplicitTrace
from reference.kernel_expansion import is_mistake, record, stream, value
from reference.projection import TOLERANCE


def tighter(X, y, k, budget, beta=0.0, tie="mistake"):
    trace = ExplicitTrace()
    S = {}
    for t, x_t, y_t in stream(X, y):
        score = value(S, X, x_t, k)
        update = y_t * score <= beta + TOLERANCE  # if y f(x) <= beta
        if update:
            if len(S) == budget:  # if the cache is full, remove argmin_i sum_j L(y_j, f(x_j) - a_i y_i k(x_i, x_j))
                errors = {}
                for i in S:
                    without = {j: a for j, a in S.items() if j != i}
                    predicted = {j: 1 if value(without, X, X[j], k) > TOLERANCE else -1 for j in S}
                    errors[i] = sum(predicted[j] != y[j] for j in S)
                del S[min(S, key=errors.get)]  # the first, which is the oldest, of several
            S[t] = float(y_t)
        record(trace, score, is_mistake(y_t, score, tie), S)
        trace.updates.append(update)
    return trace


CASES = [
    (None, {"budget": B, "beta": b}, partial(tighter, budget=B, beta=b)) for B, b in ((1, 0.0), (9, 0.0), (25, 0.4))
]
