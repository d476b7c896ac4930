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
    g = [slope * z_j for z_j in z]
    if rates == "constant":
        return [w_j + step * g_j for w_j, g_j in zip(w, g, strict=True)], squared
    if rates == "normalised":
        return [w_j + step * g_j / dot(z, z) for w_j, g_j in zip(w, g, strict=True)], squared
    squared = [s + g_j * g_j for s, g_j in zip(squared, g, strict=True)]  # diag(G_t)
    moved = [w_j + (step * g_j / math.sqrt(s) if s > 0 else 0) for w_j, g_j, s in zip(w, g, squared, strict=True)]
    return moved, squared


KNOTS = [-10, -5, -3, -2, -1.5, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10]


def hats(x):
    """For each feature, the piecewise linear functions that are 1 at one knot and 0 at the others; not that of 0."""
    heights = np.transpose([np.interp(x, KNOTS, [float(knot == own) for knot in KNOTS]) for own in KNOTS if own])
    return [height if height > 1e-9 else 0.0 for height in heights.ravel().tolist()]


def read(X, inputs, splines):
    """The inputs of a linear learner in each round, and the function that makes those of another example."""
    X, scale = standardised(X) if inputs == "standardised" else (X, list)
    return ([hats(x) for x in X], lambda x: hats(scale(x))) if splines else (X, scale)


def logistic(X, y, k, step=0.1, rates="adagrad", inputs="as_given", splines=False, tie="mistake"):
    trace = ExplicitTrace()
    X, scale = read(X, inputs, splines)
    w = [0.0] * (np.shape(X)[1] + 1)
    squared = [0.0] * len(w)
    for _, x_t, y_t in stream(X, y):
        z = [1.0, *x_t]
        score = settled(dot(w, z), step)
        mistake = is_mistake(y_t, score, tie)
        w, squared = stepped(w, squared, y_t * slope(y_t * score), z, step, rates)
        record(trace, score, mistake, {}, True)
    trace.final = lambda x: dot(w, [1.0, *scale(x)])
    return trace


CASES = cases(
    logistic,
    {},
    {"step": 0.5},
    {"step": 0.01, "rates": "constant"},
    {"step": 0.2, "rates": "normalised"},
    {"inputs": "standardised"},
    {"splines": True},
)
