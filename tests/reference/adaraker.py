"""Shen, Chen & Giannakis (2019): AdaRaker, as in the authors' programs for two classes and for numbers.

Features are divided by sqrt(D), and only copies that have begun count.
"""

import math

import numpy as np

from reference import targets
from reference.explicit import ExplicitTrace, dot, settled
from reference.kernel_expansion import cases, is_mistake, record, stream
from reference.projection import TOLERANCE
from reference.raker import FACTORS, feature_maps, logistic, squared


def ratio(er):
    """(er - mm) / mr"""
    mx, mn = max(er), min(er)
    mm, mr = (mx + mn) / 2, (mx - mn) / 2
    return [(e - mm) / mr if mr > TOLERANCE * mx else 1.0 for e in er]


def adaraker(
    X, y, k, step, regulariser, rate, loss, factors, features, beta=0.5, frequencies="orthogonal", seed=0, tie=None
):
    maps = feature_maps(X, k, factors, features, seed, frequencies)
    K = len(factors)
    numbers = loss is squared
    unit = step * (2 if numbers else 1)
    trace = ExplicitTrace()
    w, theta, act_w = [], [], []

    def begin_round(t):
        n_act = 1 if t == 1 else math.floor(math.log2(t - 1)) + 1
        for j in range(1, n_act + 1):  # the program's k
            if j > len(w):
                w.append([np.zeros(2 * features) for _ in range(K)])
                theta.append([1 / K] * K)
                act_w.append(None)
            if (t - 1) % 2 ** (j - 1) == 0:  # act_w(k) = params.eta
                act_w[j - 1] = rate * scale(j)
        return n_act

    def scale(j):
        return min(1 / 2, 1 / math.sqrt(2**j))

    def predict(f):
        """f_hat of each copy, and of all."""
        own = [sum(th * f_i for th, f_i in zip(theta[j], f[j], strict=True)) / sum(theta[j]) for j in range(len(f))]
        return own, sum(a * f_j for a, f_j in zip(act_w, own, strict=True)) / sum(act_w)

    n_act = begin_round(1)
    for t, (_, x_t, y_t) in enumerate(stream(X, y) if tie else targets.stream(X, y), start=1):
        Z = [z_i(x_t) for z_i in maps]
        f = [[settled(dot(w[j][i], Z[i]), unit) for i in range(K)] for j in range(n_act)]
        own, score = predict(f)
        own, score = [settled(f_j, unit) for f_j in own], settled(score, unit)
        for j in range(n_act):
            eta = step * scale(j + 1)
            for i in range(K):  # w = (1 - eta lambda) w - eta l_g
                w[j][i] = (1 - eta * regulariser) * w[j][i] - eta * loss(y_t, f[j][i])[1] * Z[i]
            if numbers:  # theta .* beta^ratio + 1e-12
                theta[j] = [
                    th * beta**r + 1e-12 for th, r in zip(theta[j], ratio([(y_t - v) ** 2 for v in f[j]]), strict=True)
                ]
                if max(theta[j]) > 1e10:
                    theta[j] = [th / sum(theta[j]) for th in theta[j]]
            else:  # theta / sum(theta) .* beta^er + 0.0001
                theta[j] = [
                    th / sum(theta[j]) * beta ** (y_t * v < 0) + 0.0001 for th, v in zip(theta[j], f[j], strict=True)
                ]
        er = [(v - y_t) ** 2 if numbers else float(y_t * v < 0) for v in own]
        factors_of_copies = [(rate * scale(n_act)) ** r for r in ratio(er)]
        act_w[:] = [a * b + 1e-10 for a, b in zip(act_w, factors_of_copies, strict=True)]
        act_w[:] = [a / sum(act_w) for a in act_w]
        record(trace, score, is_mistake(y_t, score, tie) if tie else False, {}, True)
        n_act = begin_round(t + 1)
    trace.final = lambda x: predict([[dot(w[j][i], maps[i](x)) for i in range(K)] for j in range(n_act)])[1]
    return trace


def of_classes(X, y, k, step=50.0, regulariser=1e-5, rate=1.0, factors=FACTORS, features=50, tie="mistake", **given):
    return adaraker(X, y, k, step, regulariser, rate, logistic, factors, features, tie=tie, **given)


def of_numbers(X, y, k, step=0.5, regulariser=2e-4, rate=0.1, factors=FACTORS, features=50, **given):
    return adaraker(X, y, k, step, regulariser, rate, squared, factors, features, **given)


GIVEN = [
    {"features": 4, "step": 4.0, "factors": [4.0, 1.0, 0.1]},
    {"features": 3, "step": 0.7, "regulariser": 0.02, "beta": 0.8, "rate": 0.5, "seed": 2, "frequencies": "program"},
]
CASES = cases(of_classes, *GIVEN)
REGRESSION_CASES = cases(of_numbers, *(given | {"step": given["step"] / 4} for given in GIVEN))
