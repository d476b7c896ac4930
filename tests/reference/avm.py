"""Le, Nguyen, Nguyen & Phung (2017): AVM, in the order of the authors' program.

The traces have f times lambda t, after t rounds, as the engine has it.
"""

import numpy as np

from reference.dualsgd import derivative
from reference.kernel_expansion import cases, first_smallest, is_mistake, record, rounded_value, stream
from reference.projection import TOLERANCE, ProjectionTrace


def avm(X, y, k, delta, regulariser, max_size=None, loss="hinge", cells=False, tie="mistake"):
    X = np.asarray(X, dtype=float)
    trace = ProjectionTrace()
    alpha = {}
    for t, (i, x_t, y_t) in enumerate(stream(X, y), start=1):
        score = rounded_value(alpha, X, x_t, k)
        derived = y_t * derivative(loss, y_t * score)
        # a *= (t - 1) / t, w = -alpha / (lambda t)
        alpha = {j: a * (t - 1) / t for j, a in alpha.items()}
        w = -derived / (regulariser * t)
        c = core(alpha, X, x_t, delta, cells)
        if c is not None:
            alpha[c] += w  # the nearest core within delta
            if abs(alpha[c]) <= TOLERANCE / (regulariser * t):
                alpha[c] = 0.0  # steps that cancel except for rounding
        elif max_size is None or len(alpha) < max_size:
            alpha[i] = w  # a new core, also with w = 0; else the update is dropped
        scaled = {j: a * regulariser * t for j, a in alpha.items()}
        record(trace, score * regulariser * (t - 1), is_mistake(y_t, score, tie), scaled, True)
    return trace


def core(cores, X, x, delta, cells):
    """The nearest core that stands for x, the oldest of those that are equally near, or None."""

    def stands(c):
        apart = max(abs(X[c] - x)) / delta if cells else float(((X[c] - x) ** 2).sum()) / delta**2
        return apart <= 1 + TOLERANCE

    near = {c: float(((X[c] - x) ** 2).sum()) for c in cores if stands(c)}
    squares = list(near.values())
    return list(near)[first_smallest(squares, squares)] if near else None


GIVEN = [
    {"delta": 1.0, "regulariser": 0.05},
    {"delta": 0.5, "regulariser": 0.02, "max_size": 10},
    {"delta": 1.5, "regulariser": 0.1, "loss": "logistic", "max_size": 25},
]
CASES = cases(avm, *GIVEN, variant="hypersphere")
CASES += cases(avm, *GIVEN, variant="hypercell", cells=True)
