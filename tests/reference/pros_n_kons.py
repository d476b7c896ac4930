"""Calandriello, Lazaric & Valko (2017): PROS-N-KONS and CON-KONS, with the dictionary of KORS."""

import math

import numpy as np

from reference.explicit import ExplicitTrace, dot
from reference.kernel_expansion import cases, is_mistake, record, stream
from reference.projection import LEAST, TOLERANCE, Basis, gram


def kons(
    X,
    y,
    k,
    restarts,
    g=5.0,
    alpha=1.0,
    beta=1.0,
    epsilon=0.5,
    C=1.0,
    curvature=None,
    seed=0,
    reading="algorithm",
    tie="mistake",
):
    K = gram(X, k)
    random = np.random.default_rng(seed)
    sigma = 1 / (8 * C**2) if curvature is None else curvature
    trace = ExplicitTrace()
    members, S = [], []  # the dictionary, and S_i = 1 / sqrt(p_i)
    basis = Basis()  # the members that are not in the span of the earlier ones
    frame = np.zeros((0, 0))  # the columns U D^-1/2, so that phi = frame' k
    w, A = np.zeros(0), np.zeros((0, 0))
    for t, _, y_t in stream(X, y):
        # K = U D U' of the dictionary, phi = D^-1/2 U'k
        phi = frame.T @ K[basis.members, t]
        # w = v - sign(v'phi) max(|v'phi| - C, 0) / (phi'A^-1 phi) A^-1 phi
        value = dot(w, phi)
        if abs(value) > C:
            direction = np.linalg.solve(A, phi)
            w = w - math.copysign(abs(value) - C, value) / dot(phi, direction) * direction
        score = dot(w, phi)
        score = 0.0 if abs(score) <= TOLERANCE else score
        # G = 2 (f - y) phi, A += sigma / 2 G G', v = w - A^-1 G
        G = 2 * (score - y_t) * phi
        A_before, A = A, A + sigma / 2 * np.outer(G, G)
        before = restarts and reading == "program"
        w = w - np.linalg.solve(A_before if before else A, G)
        # KORS: tau = (1 + eps) / g (1 - k~'(K~ + g I)^-1 k~), with x_t appended at weight 1
        rows, weights = [*members, t], np.array([*S, 1.0])
        K_S = weights[:, None] * K[np.ix_(rows, rows)] * weights
        k_S = weights * K[rows, t]
        tau = (1 + epsilon) / g * (K[t, t] - k_S @ np.linalg.solve(K_S + g * np.eye(len(rows)), k_S))
        p = min(beta * tau, 1.0)
        if random.random() < p:
            members, S = rows, [*S, 1 / math.sqrt(p)]
            k_t = K[basis.members, t]
            old, old_members = frame, list(basis.members)
            if basis.project(k_t, K[t, t])[2] > LEAST * K[t, t]:
                basis.add(t, k_t, K[t, t])
                D, U = np.linalg.eigh(K[np.ix_(basis.members, basis.members)])
                frame = U / np.sqrt(D)
            n = frame.shape[1]
            if restarts:
                w, A = np.zeros(n), alpha * np.eye(n)
            else:
                # R = map of the old frame to the new one
                R = frame.T @ K[np.ix_(basis.members, old_members)] @ old
                more = 0.0 if reading == "program" else alpha
                w = R @ w
                A = R @ (A - more * np.eye(old.shape[1])) @ R.T + alpha * np.eye(n)
        weights = dict(zip(basis.members, (frame @ w).tolist(), strict=True))
        record(trace, score, is_mistake(y_t, score, tie), {i: weights.get(i, 0.0) for i in members}, True)
    rows = [np.asarray(X, dtype=float)[i] for i in basis.members]
    trace.final = lambda x: max(-C, min(C, dot(w, frame.T @ np.array([k(row, x) for row in rows]))))
    return trace


GIVEN = [{}, {"g": 2.0, "seed": 3, "reading": "program"}, {"g": 4.0, "C": 0.5, "alpha": 0.3, "beta": 0.6, "seed": 1}]
CASES = cases(kons, *GIVEN, restarts=True)
