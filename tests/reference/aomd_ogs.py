"""Li et al. (2024): AOMD-OGS with the hinge and the squared loss, as in the authors' programs."""

import math

from reference.aogd_ald import aogd_ald
from reference.explicit import ExplicitTrace
from reference.kernel_expansion import cases, is_mistake, record, stream, value
from reference.ogs import approximated, moved
from reference.projection import LEAST, TOLERANCE, Basis, gram, negligible


def hinge(X, y, k, alpha, U=20.0, c=0.5, M=15, tie="mistake"):
    K = gram(X, k)
    trace = ExplicitTrace()
    f = {}
    J = Basis()
    S = 0.0
    for t, _, y_t in stream(X, y):
        # h: mean of y_r k(x_r, .) over the last min(M, t - 1) examples
        last = range(max(0, t - M), t)
        h = {r: y[r] / len(last) for r in last}
        # predict with f + lambda h, lambda = c U / sqrt(3 + S)
        step = c * U / math.sqrt(3 + S)
        terms = [a * K[i, t] for i, a in f.items()] + [step * a * K[r, t] for r, a in h.items()]
        score = math.fsum(terms)
        score = 0.0 if abs(score) <= negligible(terms) else score
        update = 1 - y_t * score > TOLERANCE
        residual = None
        if update:
            v, square, residual = approximated(J, K, t, alpha, LEAST)
            f = moved(f, step * y_t, v, U, K)
            # S += max(||v||^2 - 2 y <v, h>, 0)
            S += max(0.0, square - 2 * y_t * math.fsum(b * a * K[i, r] for i, b in v.items() for r, a in h.items()))
        record(trace, score, is_mistake(y_t, score, tie), f, update, residual)

    last = range(max(0, len(y) - M), len(y))
    hint = {r: c * U / math.sqrt(3 + S) * y[r] / len(last) for r in last}
    trace.final = lambda x: value(f, X, x, k) + value(hint, X, x, k)
    return trace


def square(X, y, k, alpha, U=4.0, c=0.5, offset=None, switch=None, tie="mistake"):
    # the program of AOGD-ALD with other constants: S = 0.04 (U + 1)^2 at first
    return aogd_ald(X, y, k, alpha, U, c, 0.04 * (U + 1) ** 2 if offset is None else offset, switch, tie)


CASES = cases(
    hinge, {"alpha": 0.3}, {"alpha": 0.05, "U": 2.0, "M": 4}, {"alpha": 0.6, "c": 0.1, "M": 300}, variant="hinge"
)
# Labels may be any numbers.
REGRESSION_CASES = cases(square, {"alpha": 0.3}, {"alpha": 0.1, "U": 0.5, "switch": 12}, variant="square")
CASES += REGRESSION_CASES
