"""Crammer, Kandola & Singer (2004): the aggressive Perceptron with a fixed and with a variable cache size."""

from reference.explicit import ExplicitTrace
from reference.kernel_expansion import cases, first_smallest, is_mistake, lengths, record, stream, value
from reference.projection import TOLERANCE


def margins_without(C, X, y, k):
    """y_i (w - alpha_i y_i x_i) . x_i for every i in C"""
    return {i: y[i] * value({j: a for j, a in C.items() if j != i}, X, X[i], k) for i in C}


def most_redundant(margins, X, k):
    """the example of the largest margin"""
    of_each = lengths(margins, X, k)
    return list(margins)[first_smallest([-m for m in margins.values()], [n * max(of_each) for n in of_each])]


def fixed(X, y, k, budget, beta=0.0, tie="mistake"):
    trace = ExplicitTrace()
    C = {}
    for t, x_t, y_t in stream(X, y):
        score = value(C, X, x_t, k)
        update = y_t * score <= beta + TOLERANCE
        if update:
            if len(C) == budget:  # if |C| = n, remove one example: the one of the largest margin without it
                margins = margins_without(C, X, y, k)
                del C[most_redundant(margins, X, k)]
            C[t] = y_t  # insert t, with alpha_t = 1
        record(trace, score, is_mistake(y_t, score, tie), C, update)
    return trace


def variable(X, y, k, beta, tie="mistake"):
    trace = ExplicitTrace()
    C = {}
    for t, x_t, y_t in stream(X, y):
        score = value(C, X, x_t, k)
        update = y_t * score <= beta + TOLERANCE
        if update:
            C[t] = y_t
            while True:  # while beta <= y_i (w - alpha_i y_i x_i) . x_i for an i in C, remove it
                margins = margins_without(C, X, y, k)
                if all(m < beta - TOLERANCE for m in margins.values()):
                    break
                del C[most_redundant(margins, X, k)]
        record(trace, score, is_mistake(y_t, score, tie), C, update)
    return trace


CASES = cases(fixed, *({"budget": B, "beta": b} for B, b in ((1, 0.0), (9, 0.0), (25, 0.4))), variant="fixed")
CASES += cases(variable, *({"beta": b} for b in (0.3, 1.0)), variant="variable")
