"""NOGD for regression: Lu, Hoi, Wang, Zhao & Liu (2016), with the step of Li et al. (2024)."""

import math

import numpy as np

from reference.explicit import ExplicitTrace, dot, settled
from reference.kernel_expansion import cases
from reference.projection import TOLERANCE, gram
from reference.targets import note, predict, stream

NAME = "nogd"


def nogd(X, y, k, budget, step, rank=None):
    K = gram(X, k)
    trace = ExplicitTrace()
    alpha, w = {}, None
    for t, x_t, y_t in stream(X, y):
        if w is None:
            score = predict(alpha, X, x_t, k)
            alpha[t] = 2 * step * (y_t - score)  # the first B examples: KLMS
            if len(alpha) == budget:
                S = list(alpha)
                D, V = np.linalg.eigh(K[np.ix_(S, S)])
                D, V = D[::-1], V[:, ::-1]
                top = [i for i in range(budget if rank is None else rank) if D[i] > TOLERANCE * D[0]]
                D, V = D[top], V[:, top]
                w = np.sqrt(D) * (V.T @ np.array(list(alpha.values())))  # w_0 = D^1/2 V' a
        else:
            phi = (V.T @ K[list(alpha), t]) / np.sqrt(D)  # phi = D^-1/2 V' k
            score = settled(dot(w, phi), step * math.sqrt(K[t, t]))
            w = w - 2 * step * (score - y_t) * phi
        if w is not None:
            alpha = dict(zip(alpha, (V @ (w / np.sqrt(D))).tolist(), strict=True))
        note(trace, score, alpha, True)
    return trace


REGRESSION_CASES = cases(
    nogd, {"budget": 10, "step": 0.1}, {"budget": 40, "step": 0.2, "rank": 5}, {"budget": 1000, "step": 0.2}
)
