"""Sutskever (2009), Algorithm 2: the simplified Forgetron."""

import math

from reference.kernel_expansion import Trace, cases, is_mistake, record, rounded_value, stream
from reference.modified_rbp import into_ball
from reference.projection import gram

NAME = "forgetron"


def simplified_forgetron(X, y, k, budget, step=1 / 32, radius=None, regulariser=None, tie="mistake"):
    B, eta = budget, step
    U = math.sqrt(B / (32 * math.log2(8 * B))) if radius is None else 2 * radius  # eq. (12)
    lam = 1 / U**2 if regulariser is None else regulariser
    K = gram(X, k)
    trace = Trace()
    alpha = {}  # w_1 <- 0
    for t, x_t, y_t in stream(X, y):
        score = rounded_value(alpha, X, x_t, k)  # p_i <- sign(w_i^T phi(x_i))
        mistake = is_mistake(y_t, score, tie)
        if mistake:
            w = dict(alpha)  # w_{i+1} <- w_i
            # If w_{i+1}'s active set is equal to B, then remove the vector with the smallest weight
            if len(w) == B:
                del w[min(w, key=lambda i: abs(w[i]))]
            # w_{i+1} <- w_{i+1} + eta (y_i - p_i) / 2 phi(x_i) - lambda eta w_{i+1}
            alpha = {i: a - lam * eta * a for i, a in w.items()}
            alpha[t] = eta * y_t
            alpha = into_ball(alpha, U / 2, K)  # w_{i+1} <- pi_C(w_{i+1})
        record(trace, score, mistake, alpha)
    return trace


CASES = cases(
    simplified_forgetron, {"budget": 6}, {"budget": 30}, {"budget": 500},
    {"budget": 30, "radius": 0.05, "regulariser": 3.0}, {"budget": 20, "radius": 0.1, "regulariser": 0.0},
    {"budget": 3, "step": 1.0, "radius": 2.0}, variant="simplified",
)  # fmt: skip
