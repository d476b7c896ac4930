"""Li & Liao (2023): AOGD-ALD, as in the authors' program."""

import math

from reference.kernel_expansion import cases, is_mistake, record
from reference.ogs import approximated, moved
from reference.projection import Basis, ProjectionTrace, gram, projected_value
from reference.targets import stream


def aogd_ald(X, y, k, alpha, U=2.0, c=1.0, offset=1.0, switch=None, tie="mistake"):
    K = gram(X, k)
    trace = ProjectionTrace()
    f = {}
    J = Basis()
    S = offset
    for t, x_t, y_t in stream(X, y):
        score = projected_value(f, X, x_t, k)
        e = score - y_t
        if switch is None or len(J.members) < switch:
            v, square, residual = approximated(J, K, t, alpha)
        else:
            # J has reached B_0: from now on every example is added
            v, square, residual = {t: 1.0}, K[t, t], None
        # S += 4 e^2 ||v||^2, then f -= 2 e c U / sqrt(S) v, cut to U
        S += 4 * e**2 * square
        f = moved(f, -2 * e * c * U / math.sqrt(S), v, U, K)
        record(trace, score, is_mistake(y_t, score, tie), f, True, residual)
    return trace


CASES = cases(aogd_ald, {"alpha": 0.3}, {"alpha": 0.05, "U": 4.0, "c": 0.5}, {"alpha": 0.1, "switch": 9})

# Labels may be any numbers.
REGRESSION_CASES = CASES
