"""Functions that the references of regression learners share."""

import numpy as np

from reference.kernel_expansion import record, rounded_value
from reference.projection import ProjectionTrace


def stream(X, y):
    X = np.asarray(X, dtype=float)
    return ((t, X[t], float(y[t])) for t in range(len(y)))


def start():
    """A trace and f = 0, as {i: weight}."""
    return ProjectionTrace(), {}


def predict(alpha, X, x_t, k):
    return rounded_value(alpha, X, x_t, k)


def note(trace, score, alpha, update):
    record(trace, score, False, alpha, update)
