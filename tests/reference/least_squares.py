"""Duchi, Hazan & Singer (2011), Figure 1 (diagonal, without regulariser), and plain gradient descent: squared loss."""

import numpy as np

from reference import targets
from reference.explicit import ExplicitTrace, dot, settled
from reference.kernel_expansion import cases, record
from reference.logistic import expanded, read, stepped


def least_squares(X, y, k, step=0.1, rates="adagrad", inputs="as_given", splines=False, pairs=0):
    trace = ExplicitTrace()
    X, _ = read(X, inputs)
    w = squared = np.zeros(len(expanded(X[0], splines, pairs)))
    for _, x_t, y_t in targets.stream(X, y):
        z = expanded(x_t, splines, pairs)
        score = settled(dot(w, z), step)
        w, squared = stepped(w, squared, y_t - score, z, step, rates)
        record(trace, score, False, {}, True)
    return trace


REGRESSION_CASES = cases(
    least_squares, {}, {"step": 0.05, "rates": "constant"}, {"step": 0.2, "rates": "normalised"},
    {"inputs": "standardised"}, {"splines": True}, {"step": 0.03, "pairs": 64},
    {"step": 0.03, "splines": True, "pairs": 1},
)  # fmt: skip
