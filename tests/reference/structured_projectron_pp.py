"""Orabona, Keshet & Caputo (2009), section 5, structured output: the Projectron++ on pairs (x, label).

The joint kernel is k(x, x') L(y, y') for a matrix L over the labels, and the margin gamma a cost(y, y').
"""

import numpy as np

from reference.kernel_expansion import cases, record, stream
from reference.multiclass import best_rival, negligible_solved
from reference.multiclass import values as prototypes
from reference.projection import LEAST, TOLERANCE, Basis, ProjectionTrace, allowed, cost_of_projecting, margin_step

NAME = "projectron++"


def structured_projectron_pp(
    X, codes, k, n_classes, eta, threshold="distance", label_kernel=None, cost=None, on_margins=True
):
    """Without a label kernel the classes are orthogonal; without a cost every confusion costs 1.

    Without ``on_margins``, this is the Projectron, which learns from mistakes only.
    """
    L = np.eye(n_classes) if label_kernel is None else np.asarray(label_kernel, dtype=float)
    cost = 1 - np.eye(n_classes) if cost is None else np.asarray(cost, dtype=float)
    trace = ProjectionTrace()
    alpha = {}
    S = Basis()  # of pairs (i, c), one inverse for all

    def products(x, c):  # of k((x, c), .) with every pair of the support set
        column = k.column(X, x)
        return np.array([column[i] * L[e, c] for i, e in S.members])

    def add_projection(d, weight):
        for (i, c), d_i in zip(S.members, d, strict=True):
            alpha[i][c] += weight * d_i

    for t, x_t, y_t in stream(X, codes):
        # f(x, c) = sum of alpha_{i,e} k(x_i, x) L(e, c)
        by_label = prototypes(alpha, X, x_t, k, n_classes)
        scores = [float(sum(by_label[e] * L[e, c] for e in range(n_classes))) for c in range(n_classes)]
        least = max(negligible_solved(alpha, X, x_t, k, n_classes))
        rival, lead = best_rival(scores, y_t, tolerance=least)
        mistake = lead <= 0
        if mistake:
            loss = None  # the step is 1
        else:  # the most violated margin: the largest cost(y, r) - f_y + f_r
            rival, short = best_rival(scores, y_t, handicap=list(cost[y_t]), tolerance=least)
            loss = -short
        residual, changed = None, mistake
        if mistake or (on_margins and loss > 0):
            k_tt = k(x_t, x_t)
            # the difference k((x, y), .) - k((x, r), .)
            k_d = products(x_t, y_t) - products(x_t, rival)
            k_dd = k_tt * (L[y_t, y_t] + L[rival, rival] - 2 * L[y_t, rival])
            d, square, residual = S.project(k_d, k_dd)
            if mistake and residual <= allowed(eta, threshold) + TOLERANCE * k_tt:
                add_projection(d, 1.0)
            elif mistake:
                for c, sign in ((y_t, 1.0), (rival, -1.0)):
                    k_c, k_cc = products(x_t, c), k_tt * L[c, c]
                    d, _, left = S.project(k_c, k_cc)
                    if left > LEAST * k_cc:
                        alpha.setdefault(t, [0.0] * n_classes)[c] += sign
                        S.add((t, c), k_c, k_cc)
                    else:
                        add_projection(d, sign)
            else:  # margin error; square is ||a||^2
                tau = margin_step(loss, square, cost_of_projecting(residual, k_tt, eta, threshold))
                if tau > 0:
                    changed = True
                    add_projection(d, tau)
        record(trace, scores, mistake, alpha, changed, residual)
    return trace


MULTICLASS_CASES = cases(structured_projectron_pp, *({"eta": eta} for eta in (0.1, 0.3, 0.6, 0.9, 1.5)))
MULTICLASS_CASES += cases(
    structured_projectron_pp, *({"eta": eta, "threshold": "squared_distance"} for eta in (0.1, 0.2, 0.5))
)
