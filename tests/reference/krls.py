"""Engel, Mannor & Meir (2004), Table I: KRLS, whose dictionary stops growing when the budget is full."""

import numpy as np

from reference.kernel_expansion import cases, is_mistake
from reference.projection import TOLERANCE
from reference.targets import note, predict, start, stream


def krls(X, y, k, nu=1e-4, budget=None):
    trace, alpha = start()
    Kinv = P = np.zeros((0, 0), dtype=np.longdouble)
    for t, x_t, y_t in stream(X, y):
        score = predict(alpha, X, x_t, k)
        D, weights = list(alpha), np.array(list(alpha.values()), dtype=np.longdouble)
        k_tt, column = k(x_t, x_t), k.column(X, x_t)
        k_t = np.array([column[i] for i in D], dtype=np.longdouble)
        error = y_t - k_t @ weights
        a_t = Kinv @ k_t  # ALD test
        delta = k_tt - k_t @ a_t
        if delta > nu + TOLERANCE * k_tt and (budget is None or len(D) < budget):
            # K_t^-1 and P_t grow
            n = len(D)
            bordered, grown = np.zeros((2, n + 1, n + 1), dtype=np.longdouble)
            bordered[:n, :n] = delta * Kinv + np.outer(a_t, a_t)
            bordered[:n, n] = bordered[n, :n] = -a_t
            bordered[n, n] = 1
            Kinv = bordered / delta
            grown[:n, :n], grown[n, n] = P, 1
            P = grown
            weights = np.append(weights - a_t / delta * error, error / delta)
            D.append(t)
        elif D:
            # q_t = P_{t-1} a_t / (1 + a_t' P_{t-1} a_t)
            q_t = P @ a_t / (1 + a_t @ P @ a_t)
            P = P - np.outer(q_t, a_t @ P)
            weights = weights + Kinv @ q_t * error
        alpha = dict(zip(D, map(float, weights), strict=True))
        note(trace, score, alpha, True)
    return trace


def of_two_classes(X, y, k, tie="mistake", **given):
    trace = krls(X, y, k, **given)
    trace.mistakes = [is_mistake(y_t, score, tie) for y_t, score in zip(y, trace.scores, strict=True)]
    return trace


CASES = cases(of_two_classes, {"nu": 0.05}, {"nu": 0.2, "budget": 8}, {"nu": 0.01, "budget": 40})
REGRESSION_CASES = cases(krls, {"nu": 0.05}, {"nu": 0.2, "budget": 8}, {"nu": 0.01, "budget": 40})
