"""Le, Nguyen, Nguyen & Phung (2016): DualSGD with k-merging, in the order of the authors' program.

The traces have f times lambda t, after t rounds, as the engine has it.
"""

import math
from functools import partial

import numpy as np

from reference import multiclass
from reference.explicit import ExplicitTrace, dot, settled, waves
from reference.kernel_expansion import is_mistake, record, stream, value
from reference.projection import TOLERANCE


def drawn(X, k, features, seed, frequencies):
    """For k(a, b) = exp(-gamma |a - b|^2), N(0, 2 gamma); the program has the standard deviation 2 gamma."""
    gamma = -math.log(k(np.zeros(1), np.ones(1)))
    deviation = math.sqrt(2 * gamma) if frequencies == "right" else 2 * gamma
    return np.random.default_rng(seed).normal(0, deviation, (features, np.shape(X)[1]))


def derivative(loss, margin):
    """alpha, for y = 1"""
    if loss == "hinge":
        return -1.0 if margin <= 1 + TOLERANCE else 0.0
    return -1 / (1 + math.exp(min(margin, 700)))


def smallest(alpha, k, unit):
    """The k of smallest |a|, one after the other; of several that are equal, the oldest."""
    left, leaving = {i: max(abs(a) for a in np.atleast_1d(row)) for i, row in alpha.items()}, []
    for _ in range(k):
        i = next(i for i, a in left.items() if a <= min(left.values()) + TOLERANCE * unit)
        del left[i]
        leaving.append(i)
    return leaving


def dualsgd(X, y, k, budget, features, regulariser, merged, loss="hinge", seed=0, frequencies="right", tie="mistake"):
    U = drawn(X, k, features, seed, frequencies)
    z = waves(U)
    Z = [z(x) for _, x, _ in stream(X, y)]
    trace = ExplicitTrace()
    alpha, r = {}, np.zeros(2 * len(U))
    for t, (i, x_t, y_t) in enumerate(stream(X, y), start=1):
        # f = sum a_i k + z(x)'r
        before = regulariser * (t - 1)
        scaled = settled(before * (value(alpha, X, x_t, k) + dot(Z[i], r)), 1.0)
        score = scaled / before if before else 0.0
        # the derivative of the loss at the score
        derived = y_t * derivative(loss, y_t * score)
        # all a and r *= (t - 1) / t
        alpha, r = {j: a * (t - 1) / t for j, a in alpha.items()}, r * (t - 1) / t
        # full: the k support examples of smallest |a| leave, r += sum a_i z(x_i)
        if len(alpha) == budget:
            for j in smallest(alpha, merged, 1 / (regulariser * t)):
                r = r + alpha.pop(j) * Z[j]
        # append x_t with a = -alpha / (lambda t), every round
        alpha[i] = -derived / (regulariser * t)
        record(trace, scaled, is_mistake(y_t, scaled, tie), {j: a * regulariser * t for j, a in alpha.items()}, True)
    T = regulariser * len(trace.scores)
    trace.final = lambda x: T * (value(alpha, X, x, k) + dot(z(x), r))
    return trace


def multiclass_dualsgd(
    X, codes, k, n_classes, budget, features, regulariser, merged, loss="hinge", seed=0, frequencies="right"
):
    U = drawn(X, k, features, seed, frequencies)
    z = waves(U)
    Z = [z(x) for _, x, _ in stream(X, codes)]
    trace = ExplicitTrace()
    alpha, r = {}, np.zeros((n_classes, 2 * len(U)))
    for t, (i, x_t, y_t) in enumerate(stream(X, codes), start=1):
        before = regulariser * (t - 1)
        values = multiclass.values(alpha, X, x_t, k, n_classes)
        scaled = [before * (s + dot(Z[i], r_c)) for s, r_c in zip(values, r, strict=True)]
        rival, lead = multiclass.best_rival(scaled, y_t)
        derived = derivative(loss, lead / before if before else 0.0)
        alpha, r = {j: [a * (t - 1) / t for a in row] for j, row in alpha.items()}, r * (t - 1) / t
        if len(alpha) == budget:
            for j in smallest(alpha, merged, 1 / (regulariser * t)):
                r = r + np.outer(alpha.pop(j), Z[j])
        alpha[i] = [0.0] * n_classes
        alpha[i][y_t] -= derived / (regulariser * t)
        alpha[i][rival] += derived / (regulariser * t)
        unscaled = {j: [a * regulariser * t for a in row] for j, row in alpha.items()}
        record(trace, scaled, lead <= 0, unscaled, True)
    return trace


GIVEN = [
    {"budget": 12, "features": 10, "regulariser": 0.05, "k": 4},
    {"budget": 1, "features": 8, "regulariser": 0.02, "k": 1, "seed": 3},
    {"budget": 20, "features": 15, "regulariser": 0.1, "k": 5, "loss": "logistic"},
    {"budget": 30, "features": 10, "regulariser": 0.01, "k": 30, "frequencies": "program"},
]


def case(function, given):
    return None, given, partial(function, merged=given["k"], **{key: g for key, g in given.items() if key != "k"})


CASES = [case(dualsgd, given) for given in GIVEN]
MULTICLASS_CASES = [case(multiclass_dualsgd, given) for given in GIVEN[::2]]
