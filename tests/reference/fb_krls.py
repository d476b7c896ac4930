"""Van Vaerenbergh, Santamaria, Liu & Principe (2010): FB-KRLS, with every system solved anew."""

import numpy as np

from reference.kernel_expansion import cases
from reference.projection import TOLERANCE, gram
from reference.targets import note, predict, start, stream


def fb_krls(X, y, k, budget, regulariser=0.01):
    trace, alpha = start()
    K = gram(X, k)
    for t, x_t, _ in stream(X, y):
        score = predict(alpha, X, x_t, k)
        D = [*alpha, t]
        a, inverse = solved(K, D, y, regulariser)
        if len(D) > budget:
            # the smallest |a_i| / [K^-1]_ii leaves; the oldest, if several are
            errors = np.abs(a) / inverse.diagonal()
            del D[int(np.argmax(errors <= errors.min() + TOLERANCE * errors.max()))]
            a, _ = solved(K, D, y, regulariser)
        alpha = dict(zip(D, a.tolist(), strict=True))
        note(trace, score, alpha, True)
    return trace


def solved(K, D, y, regulariser):
    """(K + lambda I)^-1 y, and the inverse."""
    inverse = np.linalg.inv(K[np.ix_(D, D)] + regulariser * np.eye(len(D)))
    return inverse @ np.array([y[i] for i in D], dtype=float), inverse


REGRESSION_CASES = cases(
    fb_krls, {"budget": 15}, {"budget": 1, "regulariser": 0.5}, {"budget": 40, "regulariser": 0.1}, {"budget": 500}
)
