"""Lu, Hoi, Wang, Zhao & Liu (2016), Algorithm 2: NOGD."""

import math

import numpy as np

from reference import targets
from reference.explicit import ExplicitTrace, dot, settled
from reference.kernel_expansion import cases, is_mistake, record, rounded_value, stream
from reference.projection import TOLERANCE, gram


def nogd(X, y, k, budget, step, rank=None, reading="algorithm", tie="mistake"):
    """Without a tie, for numbers, with the step of Li et al. (2024), and all eigenpairs by default."""
    if rank is None:
        rank = max(1, int(0.2 * budget + 0.5)) if tie else budget
    K = gram(X, k)
    trace = ExplicitTrace()
    alpha, w, L_r, V_r = {}, None, None, None
    for t, x_t, y_t in stream(X, y) if tie else targets.stream(X, y):
        if w is None:  # phase one
            score = rounded_value(alpha, X, x_t, k)
        else:  # z(x) = L_r^{-1/2} V_r^T k(x)
            z_t = (V_r.T @ K[list(alpha), t]) / np.sqrt(L_r)
            score = settled(dot(w, z_t), step * math.sqrt(K[t, t]))
        update = not tie or 1 - y_t * score > TOLERANCE
        slope = y_t if tie else 2 * (y_t - score)
        if update and w is None:  # on y f(x) < 1 add with weight eta y, until |S| = B
            alpha[t] = step * slope
            if len(alpha) == budget:
                S = list(alpha)
                L, V = np.linalg.eigh(K[np.ix_(S, S)])  # K_S = V L V^T
                # top r eigenpairs, without eigenvalues that are 0 except for rounding
                L, V = L[::-1], V[:, ::-1]
                if reading == "program":
                    V = settled_vectors(L, V)
                top = [i for i in range(rank) if L[i] > TOLERANCE * L[0]]
                L_r, V_r = L[top], V[:, top]
                weights = np.array(list(alpha.values()))
                # w = L_r^{1/2} V_r^T alpha; the program has V in the place of V^T
                w = np.sqrt(L_r) * (V_r.T @ weights if reading == "algorithm" else (V @ weights)[top])
        elif update:  # on y w.z < 1: w += eta y z
            w = w + step * slope * z_t
        if w is not None:  # w . z(x) = sum_i alpha_i k(x_i, x) with these alpha
            alpha = dict(zip(alpha, (V_r @ (w / np.sqrt(L_r))).tolist(), strict=True))
        record(trace, score, is_mistake(y_t, score, tie) if tie else False, alpha, update)
    return trace


def settled_vectors(L, V):
    """Eigenvectors by the projections on eigenspaces alone, which do not depend on signs and bases."""
    columns, same = [], []
    for j in range(len(L)):
        same.append(j)
        if j + 1 < len(L) and L[j] - L[j + 1] <= TOLERANCE * L[0]:
            continue  # equal eigenvalues
        P = V[:, same] @ V[:, same].T
        for _ in same:  # pivoted Cholesky: the largest pivot, the first if several are
            i = min(i for i in range(len(L)) if P[i, i] >= P.diagonal().max() - TOLERANCE)
            columns.append(P[:, i] / math.sqrt(P[i, i]))
            P = P - np.outer(columns[-1], columns[-1])
        same = []
    return np.array(columns).T


CASES = cases(nogd, {"budget": 20, "step": 0.3}, {"budget": 40, "step": 0.7, "rank": 5}, {"budget": 1000, "step": 0.5})
REGRESSION_CASES = cases(
    nogd, {"budget": 10, "step": 0.1}, {"budget": 40, "step": 0.2, "rank": 5}, {"budget": 1000, "step": 0.2}, tie=None
)
