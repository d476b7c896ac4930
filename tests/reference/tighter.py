"""Weston, Bordes & Bottou (2005): the Tighter Budget Perceptron, with the cache or all examples for validation."""

from reference.explicit import ExplicitTrace
from reference.kernel_expansion import cases, is_mistake, lengths, record, stream, value
from reference.projection import TOLERANCE


def tighter(X, y, k, budget, beta=0.0, validation="cache", tie="mistake"):
    trace = ExplicitTrace()
    S = {}
    for t, x_t, y_t in stream(X, y):
        score = value(S, X, x_t, k)
        update = y_t * score <= beta + TOLERANCE  # if y f(x) <= beta
        if update:
            if len(S) == budget:  # if the cache is full, remove argmin_i sum_j L(y_j, f(x_j) - a_i y_i k(x_i, x_j))
                errors = {}
                examples = range(t) if validation == "all" else S
                longest = max(lengths(S, X, k))
                least = dict(zip(examples, (TOLERANCE * n * longest for n in lengths(examples, X, k)), strict=True))
                for i in S:
                    without = {j: a for j, a in S.items() if j != i}
                    predicted = {j: 1 if value(without, X, X[j], k) > least[j] else -1 for j in examples}
                    errors[i] = sum(predicted[j] != y[j] for j in examples)
                del S[min(S, key=errors.get)]  # the first, which is the oldest, of several
            S[t] = float(y_t)
        record(trace, score, is_mistake(y_t, score, tie), S)
        trace.updates.append(update or validation == "all")  # to keep the example
    return trace


GIVEN = [
    {"budget": 1, "beta": 0.0},
    {"budget": 5, "beta": 0.1, "validation": "all"},
    {"budget": 9, "beta": 0.0},
    {"budget": 25, "beta": 0.4},
]
CASES = cases(tighter, *GIVEN)
