"""Zhang & Liao (2019): SkeGD; Wen et al. (2024): FORKS; with what is chosen on their pages."""

import math

import numpy as np

from reference.explicit import ExplicitTrace, dot, settled
from reference.kernel_expansion import cases, is_mistake, record, rounded_value, stream
from reference.nogd import settled_vectors
from reference.projection import TOLERANCE, gram


def rounded(x):
    return max(1, math.floor(x + 0.5))


def features(Phi_pp, Phi_pm, rank, trace):
    """Phi_pp ~ V D V^T of this rank; Q = pinv(Phi_pm) V D^1/2."""
    D, V = np.linalg.eigh(Phi_pp)
    D, V = D[::-1], settled_vectors(D[::-1], V[:, ::-1])
    D = np.array([v if v > TOLERANCE * trace else 0.0 for v in D])
    U, s, W = np.linalg.svd(Phi_pm)
    pinv = sum((np.outer(W[i], U[:, i]) / s[i] for i in range(len(s)) if s[i] > 1e-6 * trace), np.zeros(Phi_pm.T.shape))
    return pinv @ V[:, :rank] @ np.diag(np.sqrt(D[:rank]))


def skegd(
    X,
    y,
    k,
    budget,
    second_order=False,
    step=0.2,
    columns=None,
    sampled=None,
    rank=None,
    cycle=100,
    curvature=0.2,
    alpha=0.01,
    C=1.0,
    seed=0,
    tie="mistake",
):
    columns = rounded(0.75 * budget) if columns is None else columns
    sampled = rounded(0.2 * columns) if sampled is None else sampled
    rank = rounded(0.1 * budget) if rank is None else rank
    K = gram(X, k)
    random = np.random.default_rng(seed)
    trace = ExplicitTrace()
    weights, S, S_m, Q, w, losses = {}, [], [], None, None, 0
    for t, x_t, y_t in stream(X, y):
        if w is None:
            score = rounded_value(weights, X, x_t, k)
        else:  # phi(x) = Q^T S_m^T k(x)
            phi = Q.T @ K[np.ix_(S_m, [t])][:, 0]
            score = settled(dot(w, phi), step * math.sqrt(K[t, t]))
        loss = 1 - y_t * score > TOLERANCE
        if loss and w is None:  # kernel gradient descent, until there are B support vectors
            weights[t] = step * y_t
            S = list(weights)
            if len(S) == budget:
                K_B = K[np.ix_(S, S)]
                # S_p: one number, +1 or -1, per row; S_m: sampled columns of I
                at, signs = random.integers(columns, size=budget), random.integers(2, size=budget)
                S_p = np.zeros((budget, columns))
                for i in range(budget):
                    S_p[i, at[i]] = -1 if signs[i] else 1
                m = random.choice(budget, size=sampled, replace=False)
                S_m = [S[i] for i in m]
                Phi_pp, Phi_pm = S_p.T @ K_B @ S_p, S_p.T @ K_B[:, m]
                Q = features(Phi_pp, Phi_pm, rank, np.trace(K_B))
                # w = (a^T k) pinv(phi_t)
                phi = Q.T @ K[S_m, t]
                f = sum(a * K[i, t] for i, a in weights.items())
                w = f * phi / dot(phi, phi) if dot(phi, phi) > TOLERANCE * K[t, t] else np.zeros(rank)
                A = alpha * np.eye(rank)
        elif loss:
            if second_order:
                # w moves to |w . phi| <= C by the metric of A; squared hinge loss; A += curvature g g^T; w -= A^-1 g
                value = max(-C, min(score, C))
                if value != score:
                    direction = np.linalg.solve(A, phi)
                    w = w - (score - value) / dot(phi, direction) * direction
                g = -2 * y_t * (1 - y_t * value) * phi
                A = A + curvature * np.outer(g, g)
                w = w - np.linalg.solve(A, g)
            else:
                w = w + step * y_t * phi
            losses += 1
            if losses % cycle == 0:
                # a new row s of S_p; Phi_pm += s (psi^T S_m), Phi_pp += s u^T + u s^T + k s s^T, u = S_p^T psi
                s = np.zeros(columns)
                place = random.integers(columns)
                s[place] = -1 if random.integers(2) else 1
                psi = K[S, t]
                u = S_p.T @ psi
                Phi_pm = Phi_pm + np.outer(s, psi[m])
                Phi_pp = Phi_pp + np.outer(s, u) + np.outer(u, s) + K[t, t] * np.outer(s, s)
                Q = features(Phi_pp, Phi_pm, rank, np.trace(K_B))
                if second_order:
                    w, A = np.zeros(rank), alpha * np.eye(rank)
        if w is not None:
            a = dict(zip(S_m, (Q @ w).tolist(), strict=True))
            weights = {i: a.get(i, 0.0) for i in S}
        record(trace, score, is_mistake(y_t, score, tie), weights, loss)
    return trace


GIVEN = [
    {"budget": 20, "cycle": 7},
    {"budget": 30, "columns": 12, "sampled": 6, "rank": 4, "step": 0.5, "cycle": 3, "seed": 4},
    {"budget": 1000},
]
CASES = cases(skegd, *GIVEN)
