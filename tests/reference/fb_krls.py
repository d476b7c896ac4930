"""Van Vaerenbergh, Santamaria, Liu & Principe (2010): FB-KRLS, with every system solved anew."""

import numpy as np

from reference.kernel_expansion import cases, first_smallest
from reference.projection import gram
from reference.targets import note, predict, start, stream


def fb_krls(X, y, k, budget, regulariser=0.01, label_step=0.0):
    trace, alpha = start()
    given, y = y, np.array(y, dtype=float)
    K = gram(X, k)
    for t, x_t, y_t in stream(X, given):
        score = predict(alpha, X, x_t, k)
        for i in alpha:  # y_i <- y_i - eta k(x_i, x) (y_i - y)
            y[i] -= label_step * K[i, t] * (y[i] - y_t)
        D = [*alpha, t]
        a, inverse = solved(K, D, y, regulariser)
        if len(D) > budget:
            # the smallest |a_i| / [K^-1]_ii leaves; the oldest, if several are
            terms = np.abs(inverse) @ np.abs([y[i] for i in D])
            errors, sizes = (of / inverse.diagonal() for of in (np.abs(a), terms))
            del D[first_smallest(errors.tolist(), sizes.tolist())]
            a, _ = solved(K, D, y, regulariser)
        alpha = dict(zip(D, a.tolist(), strict=True))
        note(trace, score, alpha, True)
    return trace


def solved(K, D, y, regulariser):
    """(K + lambda I)^-1 y, and the inverse."""
    inverse = np.linalg.inv(K[np.ix_(D, D)] + regulariser * np.eye(len(D)))
    return inverse @ np.array([y[i] for i in D], dtype=float), inverse


REGRESSION_CASES = cases(
    fb_krls, {"budget": 15}, {"budget": 20, "label_step": 0.3}, {"budget": 1, "regulariser": 0.5},
    {"budget": 40, "regulariser": 0.1}, {"budget": 500},
)  # fmt: skip
