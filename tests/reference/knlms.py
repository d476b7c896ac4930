"""Richard, Bermudez & Honeine (2009): KNLMS with the coherence criterion."""

import math

from reference.kernel_expansion import cases
from reference.projection import TOLERANCE
from reference.targets import note, predict, start, stream


def knlms(X, y, k, step=0.5, coherence=0.95, regulariser=0.01, budget=None):
    trace, alpha = start()
    for t, x_t, d_t in stream(X, y):
        score = predict(alpha, X, x_t, k)
        column = k.column(X, x_t)
        lengths = {i: math.sqrt(k(X[i], X[i]) * k(x_t, x_t)) for i in alpha}
        # max |k(x_t, x_i)| <= mu_0: the dictionary grows, with the weight 0
        incoherent = all(abs(column[i]) <= (coherence + TOLERANCE) * lengths[i] for i in alpha)
        if incoherent and (budget is None or len(alpha) < budget):
            alpha[t] = 0.0
        h = {i: column[i] for i in alpha}
        # alpha += eta / (epsilon + ||h||^2) (d_t - h' alpha) h
        energy = regulariser + math.fsum(h_i * h_i for h_i in h.values())
        alpha = {i: a + step / energy * (d_t - score) * h[i] for i, a in alpha.items()}
        note(trace, score, alpha, True)
    return trace


REGRESSION_CASES = cases(
    knlms, {}, {"budget": 12, "step": 0.2, "coherence": 0.6}, {"coherence": 0.3, "regulariser": 0.5},
    {"budget": 1, "coherence": 1.0, "regulariser": 0.001},
)  # fmt: skip
