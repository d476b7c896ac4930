"""Zhao, Wang, Wu, Jin & Hoi (2012): BOGD++, and the program of the comparison of 2024."""

import numpy as np

from reference.kernel_expansion import cases, draw, is_mistake, record, rounded_value, stream
from reference.projection import TOLERANCE, ProjectionTrace

NAME = "bogd++"


def bogd(X, y, k, budget, step, regulariser=0.0, clip=1.0, seed=0, reading="algorithm", tie="mistake"):
    random = np.random.default_rng(seed)
    decay = 1 - step * regulariser
    trace = ProjectionTrace()
    alpha = {}
    for t, x_t, y_t in stream(X, y):
        score = rounded_value(alpha, X, x_t, k)
        update = 1 - y_t * score > TOLERANCE
        # every round alpha *= 1 - eta lambda
        alpha = {i: a * decay for i, a in alpha.items()}
        if update:
            if len(alpha) == budget:
                # draw r with probability p_r = 1 - s |alpha_r|, s = (B - 1) / sum |alpha|
                s = (budget - 1) / sum(map(abs, alpha.values()))
                p = {i: 1 - s * abs(a) for i, a in alpha.items()}
                # an entry below 0: set it to 0 and renormalise
                total = sum(p_i for p_i in p.values() if p_i > 0)
                p = {i: max(0.0, p_i) / total for i, p_i in p.items()}
                r = list(p)[draw(random, p.values())]
                for i in alpha:
                    if i == r:
                        continue
                    if reading == "algorithm":  # every survivor i is divided by 1 - p_i
                        alpha[i] /= 1 - p[i]
                    else:  # all survivors by 1 - p_r, and a second decay
                        alpha[i] *= decay / (1 - p[r])
                    # then weights are clipped to [-eta gamma, eta gamma]
                    alpha[i] = max(-step * clip, min(alpha[i], step * clip))
                # the new example takes r's place with weight eta y
                alpha = {t if i == r else i: step * y_t if i == r else a for i, a in alpha.items()}
            else:
                alpha[t] = step * y_t
        record(trace, score, is_mistake(y_t, score, tie), alpha, update)
    return trace


CASES = cases(
    bogd,
    {"budget": 1, "step": 0.6},
    {"budget": 15, "step": 0.4, "regulariser": 0.05, "seed": 3},
    {"budget": 15, "step": 1.5, "regulariser": 0.02, "clip": 2.0},
    {"budget": 15, "step": 0.4, "regulariser": 0.05, "reading": "program"},
    {"budget": 1000, "step": 2.0, "regulariser": 0.1},
)
