"""Li et al. (2024): AVP-OGS, as in the authors' program."""

import math

from reference.kernel_expansion import cases, is_mistake, record, stream
from reference.projection import TOLERANCE, Basis, ProjectionTrace, gram, norm, projected_value

NAME = "avp_ogs"


def avp_ogs(X, y, k, alpha, epsilon=0.6, U=10.0, c=0.5, tie="mistake"):
    K = gram(X, k)
    trace = ProjectionTrace()
    f = {}
    J = Basis()
    # L = 1, lambda = c U
    L, step = 1.0, c * U
    for t, x_t, y_t in stream(X, y):
        score = projected_value(f, X, x_t, k)
        mistake = is_mistake(y_t, score, tie)
        residual, update = None, mistake or y_t * score < 1 - epsilon - TOLERANCE
        if update:
            v, square, residual = approximated(J, K, t, alpha)
            if mistake and f:
                # L += ||v||^2, lambda = c U / sqrt(U^2 + L)
                L += square
                step = c * U / math.sqrt(U**2 + L)
            f = moved(f, y_t * step, v, U, K)
        record(trace, score, mistake, f, update, residual)
    return trace


def approximated(J, K, t, alpha, least=0.0):
    """v, its squared norm, and the error of the projection; x_t joins J if v is k(x_t, .) itself.

    An error of at most ``least`` k(x_t, x_t) is small enough for any alpha.
    """
    k_t = [K[i, t] for i in J.members]
    beta, square, residual = J.project(k_t, K[t, t])
    near = least * K[t, t]
    if (J.members and residual <= max(alpha, near) + TOLERANCE * K[t, t]) or (least and residual <= near):
        return dict(zip(J.members, beta, strict=True)), square, residual
    J.add(t, k_t, K[t, t])
    return {t: 1.0}, K[t, t], residual


def moved(f, weight, v, U, K):
    """f + weight v, cut to the norm U."""
    f = {i: f.get(i, 0.0) + weight * v.get(i, 0.0) for i in f | v}
    shrink = min(1.0, U / max(norm(f, K), U / 2))
    return {i: a * shrink for i, a in f.items()}


CASES = cases(avp_ogs, {"alpha": 0.3}, {"alpha": 0.05, "epsilon": 0.9, "U": 1.5}, {"alpha": 0.6, "c": 0.1})
