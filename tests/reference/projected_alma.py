"""Orabona, Keshet & Caputo (2009), section 6 and Theorem 7: ALMA_2 with projections."""

import math

from reference.alma import length
from reference.kernel_expansion import cases, is_mistake, record, stream
from reference.projection import TOLERANCE, Basis, ProjectionTrace, allowed, gram, norm, projected_value


def projected_alma(
    X, y, k, eta, alpha=0.0, B=1.0, C=2**0.5 - 1, threshold="distance", delta="hypothesis", tie="mistake"
):
    assert abs(C**2 + 2 * (1 - alpha) * B * C - 1) <= TOLERANCE
    K = gram(X, k)
    trace = ProjectionTrace()
    weights = {}  # of the functions k(x_i, .)
    S = Basis()
    count = 1  # the k of the paper: 1 + the updates so far
    for t, x_t, y_t in stream(X, y):
        score = projected_value(weights, X, x_t, k)
        mistake = is_mistake(y_t, score, tie)
        update = y_t * score / length(x_t, k) <= (1 - alpha) * B / math.sqrt(count)
        residual = None
        if update:
            # f' = f + y (C / sqrt k) k(x', .), the temporary hypothesis
            step = C / math.sqrt(count)
            column = k.column(X, x_t)
            k_t = [column[i] for i in S.members]
            k_tt = k(x_t, x_t)
            d, _, residual = S.project(k_t, k_tt)
            # delta = f' - f'' is that step times what is left of k(x', .); the proof of Theorem 7 needs the latter
            scale = step if delta == "hypothesis" else 1.0
            residual *= scale**2 / length(x_t, k) ** 2
            if residual <= allowed(eta, threshold) + TOLERANCE * scale**2:  # ||delta|| <= eta: f''
                for i, d_i in zip(S.members, d, strict=True):
                    weights[i] += y_t * step * d_i / length(x_t, k)
            else:  # f'
                weights[t] = y_t * step / length(x_t, k)
                S.add(t, k_t, k_tt)
            shrink = max(1.0, norm(weights, K))
            for i in weights:  # back to the unit ball, f / max(1, ||f||)
                weights[i] /= shrink
            count += 1
        record(trace, score, mistake, weights, update, residual)
    return trace


CASES = cases(
    projected_alma,
    {"eta": 0.02},
    {"eta": 0.1, "alpha": 1.0, "B": 1.0, "C": 1.0},
    {"eta": 0.2, "alpha": 0.9, "B": 1.0, "C": math.sqrt(1.01) - 0.1},
    {"eta": 0.01, "threshold": "squared_distance"},
    {"eta": 0.3, "delta": "example"},
)
# As with the Projectron: where examples are exactly dependent, or clearly not.
EXACT_CASES = cases(projected_alma, {"eta": 0.0})
