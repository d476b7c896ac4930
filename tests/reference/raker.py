"""Shen, Chen & Giannakis (2019): Raker, with the forms that its page states."""

import math

import numpy as np

from reference import targets
from reference.explicit import ExplicitTrace, dot, settled, waves
from reference.kernel_expansion import cases, is_mistake, record, stream

FACTORS = (16.0, 4.0, 1.0, 0.25, 0.0625, 0.015625)


def feature_maps(X, k, factors, features, seed, frequencies):
    """For each kernel exp(-c gamma |a - b|^2), z(x) = [cos Ux, sin Ux] / sqrt(D)."""
    gamma, d = -math.log(k(np.zeros(1), np.ones(1))), np.shape(X)[1]
    random, maps = np.random.default_rng(seed), []
    for c in factors:
        if frequencies == "independent":
            U = random.normal(size=(features, d))
        else:
            rows = []
            while len(rows) < features:  # blocks of orthonormal rows
                rows += gram_schmidt(random.normal(size=(d, min(d, features - len(rows)))).T)
            # the squared lengths: chi^2 with d degrees of freedom as for normal rows, in the program with one
            degrees = d if frequencies == "orthogonal" else 1
            squares = random.chisquare(degrees, features)
            U = np.array([math.sqrt(s) * row for s, row in zip(squares, rows, strict=True)])
        maps.append(waves(math.sqrt(2 * c * gamma) * U))
    return maps


def gram_schmidt(vectors):
    found = []
    for v in vectors:
        for _ in range(2):  # twice is enough
            v = v - sum((dot(u, v) * u for u in found), np.zeros(len(v)))
        found.append(v / math.sqrt(dot(v, v)))
    return found


def logistic(y, f):
    """The loss, and its derivative."""
    return math.log1p(math.exp(-y * f)), -y / (1 + math.exp(y * f))


def squared(y, f):
    return (f - y) ** 2, 2 * (f - y)


def raker(
    X, y, k, step, loss, rate, factors=FACTORS, features=50, regulariser=0.0, frequencies="orthogonal", seed=0, tie=None
):
    maps = feature_maps(X, k, factors, features, seed, frequencies)
    K = len(factors)
    trace = ExplicitTrace()
    w, L, p = [np.zeros(2 * features) for _ in range(K)], [0.0] * K, [1 / K] * K
    unit = step * (2 if loss is squared else 1)
    for _, x_t, y_t in stream(X, y) if tie else targets.stream(X, y):
        Z = [z_i(x_t) for z_i in maps]
        f = [settled(dot(w[i], Z[i]), unit) for i in range(K)]
        score = settled(math.fsum(p[i] * f[i] for i in range(K)), unit)  # f = sum p_i f_i
        for i in range(K):
            l_i, derivative = loss(y_t, f[i])
            L[i] += l_i + regulariser * dot(w[i], w[i])  # L_i += loss + mu |w_i|^2
            w[i] = (1 - 2 * step * regulariser) * w[i] - step * derivative * Z[i]
        p = [math.exp(-rate * (L_i - min(L))) for L_i in L]  # p ~ exp(-rate L)
        p = [p_i / sum(p) for p_i in p]
        record(trace, score, is_mistake(y_t, score, tie) if tie else False, {}, True)
    trace.final = lambda x: math.fsum(p[i] * dot(w[i], maps[i](x)) for i in range(K))
    return trace


def of_classes(X, y, k, step, rate=None, tie="mistake", **given):
    return raker(X, y, k, step, logistic, step / 2 if rate is None else rate, tie=tie, **given)


def of_numbers(X, y, k, step, rate=None, **given):
    return raker(X, y, k, step, squared, step if rate is None else rate, **given)


GIVEN = [
    {"features": 7, "step": 0.5, "factors": [4.0, 1.0, 0.1]},
    {"features": 5, "step": 0.2, "regulariser": 0.01, "rate": 0.7, "seed": 2, "frequencies": "independent"},
    {"features": 4, "step": 0.3, "factors": [1.0], "frequencies": "program"},
]
CASES = cases(of_classes, *GIVEN)
REGRESSION_CASES = cases(of_numbers, *GIVEN)
