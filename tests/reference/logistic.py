"""Duchi, Hazan & Singer (2011), Figure 1 (diagonal, without regulariser), and plain gradient descent: logistic loss."""

import math

import numpy as np

from reference.explicit import ExplicitTrace, dot, settled
from reference.kernel_expansion import cases, is_mistake, record, stream
from reference.standardised import standardised


def slope(margin):
    """Minus the derivative of log(1 + exp(-margin))."""
    return 1 / (1 + math.exp(margin)) if margin < 0 else math.exp(-margin) / (1 + math.exp(-margin))


def stepped(w, squared, slope, z, step, rates):
    """The weights after a step along g, and the sums of squared derivatives; g is slope z."""
    g = slope * z
    if rates == "constant":
        return w + step * g, squared
    if rates == "normalised":
        return w + step * g / dot(z, z), squared
    squared = squared + g * g  # diag(G_t)
    return w + np.divide(step * g, np.sqrt(squared), out=np.zeros(len(w)), where=squared > 0), squared


KNOTS = [-10, -5, -3, -2, -1.5, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10]


def hats(x):
    """For each feature, the piecewise linear functions that are 1 at one knot and 0 at the others; not that of 0."""
    heights = np.transpose([np.interp(x, KNOTS, [float(knot == own) for knot in KNOTS]) for own in KNOTS if own])
    return [height if height > 1e-9 else 0.0 for height in heights.ravel().tolist()]


def expanded(x, splines, pairs):
    """z for an input x: with the 1, and all products of two entries of the first ``pairs`` features."""
    z = np.array([1.0, *(hats(x) if splines else x)])
    most = 1 + pairs * (len(KNOTS) - 1 if splines else 1)
    return np.append(np.outer(z[:most], z[:most])[np.triu_indices(len(z[:most]))], z[most:]) if pairs else z


def read(X, inputs):
    """The inputs of a linear learner in each round, and the function that makes those of another example."""
    return standardised(X) if inputs == "standardised" else (X, list)


def logistic(X, y, k, step=0.1, rates="adagrad", inputs="as_given", splines=False, pairs=0, tie="mistake"):
    trace = ExplicitTrace()
    X, scale = read(X, inputs)
    w = squared = np.zeros(len(expanded(X[0], splines, pairs)))
    for _, x_t, y_t in stream(X, y):
        z = expanded(x_t, splines, pairs)
        score = settled(dot(w, z), step)
        mistake = is_mistake(y_t, score, tie)
        w, squared = stepped(w, squared, y_t * slope(y_t * score), z, step, rates)
        record(trace, score, mistake, {}, True)
    trace.final = lambda x: dot(w, expanded(scale(x), splines, pairs))
    return trace


CASES = cases(
    logistic, {}, {"step": 0.5}, {"step": 0.01, "rates": "constant"}, {"step": 0.2, "rates": "normalised"},
    {"inputs": "standardised"}, {"splines": True}, {"pairs": 64}, {"pairs": 1},
    {"step": 0.03, "splines": True, "pairs": 24},
)  # fmt: skip
