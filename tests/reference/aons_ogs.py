"""Li et al. (2024): AONS-OGS (Li & Liao, 2023: NONS-ALD), as in the authors' program, in the frame K^-1/2."""

import math

import numpy as np

from reference.explicit import ExplicitTrace
from reference.kernel_expansion import cases, is_mistake, record, value
from reference.ogs import approximated
from reference.projection import LEAST, Basis, gram, negligible
from reference.targets import stream


def aons_ogs(X, y, k, alpha, C=1.0, mu=1.0, order="paper", tie="mistake"):
    K = gram(X, k)
    trace = ExplicitTrace()
    J, frame, weights = Basis(), np.zeros((0, 0)), {}
    A, w = np.zeros((0, 0)), np.zeros(0)
    eta = 1 / (4 * C**2 + 4)
    for t, _, y_t in stream(X, y):
        S = list(J.members)
        phi = frame @ K[S, t]
        # what the round before leaves for this example: the projection of v on |w' phi| <= C, and f(x) = w' phi
        terms = [weights[i] * K[i, t] for i in S]
        v_phi = math.fsum(terms)
        v_phi = 0.0 if abs(v_phi) <= negligible(terms) else v_phi
        score = max(-C, min(v_phi, C))
        if abs(v_phi) > C:
            A_phi = np.linalg.solve(A, phi)
            w = w - math.copysign(abs(v_phi) - C, v_phi) / (phi @ A_phi) * A_phi
        _, _, residual = approximated(J, K, t, alpha, LEAST)
        grown = len(J.members) > len(S)
        if grown:
            values, vectors = np.linalg.eigh(K[np.ix_(J.members, J.members)])
            new = (vectors / np.sqrt(values)).T  # D^-1/2 U'
            R = new @ K[np.ix_(J.members, S)] @ frame.T  # from the old frame to the new one
            A, w, frame = mu * np.eye(len(new)) + R @ (A - mu * np.eye(len(S))) @ R.T, R @ w, new
            phi = frame @ K[J.members, t]
        if S:  # the first example is only added
            g = 2 * (score - y_t) * phi
            before, A = A, A + eta * np.outer(g, g)
            w = w - np.linalg.solve(before if order == "program" and not grown else A, g)
        weights = dict(zip(J.members, (w @ frame).tolist(), strict=True))
        record(trace, score, is_mistake(y_t, score, tie), weights, True, residual)
    trace.final = lambda x: max(-C, min(value(weights, X, x, k), C))
    return trace


CASES = cases(
    aons_ogs, {"alpha": 0.3}, {"alpha": 0.05, "C": 0.4, "mu": 0.2}, {"alpha": 0.1, "order": "program"},
    {"alpha": 0.3, "C": 0.5, "mu": 0.3, "order": "program"},
)  # fmt: skip
# Labels may be any numbers.
REGRESSION_CASES = CASES
