"""Rosenblatt (1958): the Perceptron on the features themselves."""

import math

import numpy as np

from reference.explicit import ExplicitTrace, dot, settled
from reference.kernel_expansion import is_mistake, record, stream


def linear_perceptron(X, y, k, tie="mistake"):
    trace = ExplicitTrace()
    w = np.zeros(np.shape(X)[1])
    for _, x_t, y_t in stream(X, y):
        x_t = np.asarray(x_t, dtype=float)
        score = settled(dot(w, x_t), math.sqrt(dot(x_t, x_t)) or 1.0)
        mistake = is_mistake(y_t, score, tie)
        if mistake:  # on y w.x <= 0: w += y x
            w = w + y_t * x_t
        record(trace, score, mistake, {}, mistake)
    trace.final = lambda x: dot(w, x)
    return trace


CASES = [(None, {}, linear_perceptron)]
