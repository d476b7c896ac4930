"""Dekel, Shalev-Shwartz & Singer (2008), section 4: the Shrinking Perceptron."""

import math
from functools import partial

from reference.kernel_expansion import Trace, is_mistake, record, stream, value


def shrinking_perceptron(X, y, k, schedule, tie="mistake"):
    """``schedule(m, norm)`` gives phi_t for the m-th mistake, where norm is ||f'_t||."""
    trace = Trace()
    alpha = {}
    m = 0
    for t, x_t, y_t in stream(X, y):
        score = value(alpha, X, x_t, k)
        mistake = is_mistake(y_t, score, tie)
        if mistake:
            m += 1
            alpha[t] = y_t  # f'_t = f_t + y_t sigma_{t,t} k(x_t, .), sigma_{t,t} = 1, eq. (19)
            norm = math.sqrt(max(0.0, sum(alpha[i] * value(alpha, X, X[i], k) for i in alpha)))
            phi = schedule(m, norm)
            for i in alpha:  # f_{t+1} = phi_t f'_t
                alpha[i] *= phi
            trace.phi.append(phi)
        record(trace, score, mistake, alpha)
    return trace


SCHEDULES = {
    0.9: lambda m, norm: 0.9,
    1.0: lambda m, norm: 1.0,
    "m / (m + 1)": lambda m, norm: m / (m + 1),
    "min(0.99, 2.5 / norm)": lambda m, norm: min(0.99, 2.5 / norm) if norm else 0.99,
}
CASES = [(None, {"phi": phi}, partial(shrinking_perceptron, schedule=given)) for phi, given in SCHEDULES.items()]
