"""Wang & Vucetic (2010): BPA-S, BPA-NN and BPA-P, from the objective that each update minimizes."""

from functools import partial

import numpy as np

from reference import multiclass
from reference.kernel_expansion import Known, cases, first_smallest, is_mistake, record, rounded_value, stream
from reference.projection import TOLERANCE, ProjectionTrace, gram


def bpa(X, y, k, budget, nearest, C=1.0, keep=False, tie="mistake"):
    K = gram(X, k)
    trace = ProjectionTrace()
    w = {}
    for t, x_t, y_t in stream(X, y):
        score = rounded_value(w, X, x_t, k)
        loss = max(0.0, 1 - y_t * score)
        update = loss > TOLERANCE
        if update and len(w) < budget:
            # PA-I
            w[t] = y_t * clipped(loss, K[t, t], C)
        elif update:
            found = []
            for r in w:
                # V: the new example and, for NN, the example nearest to the one that leaves
                V = [t]
                others = [i for i in w if i != r]
                if nearest and others:
                    distances = [K[r, r] + K[i, i] - 2 * K[r, i] for i in others]
                    near = min(distances) + TOLERANCE
                    V.append(next(i for i, d in zip(others, distances, strict=True) if d <= near))
                K_V = K[V][:, V]
                squares = K_V.diagonal().prod()
                # (of two that span a line only the first one that is not zero is used)
                if len(V) == 2 and squares - K_V[0, 1] ** 2 <= TOLERANCE * squares:
                    V = [V[0] if K[t, t] > 0 else V[1]]
                    K_V = K[V][:, V]
                inverse = np.linalg.inv(K_V) if K_V[0, 0] > 0 else np.zeros((1, 1))
                k_r, k_t = K[V, r], K[V, t]
                onto_r, onto_t = inverse @ k_r, inverse @ k_t
                # tau = clip((1 - y (f - a_r k_rt + a_r (K_V^-1 k_r)' k_t)) / ((K_V^-1 k_t)' k_t), 0, C)
                tau = clipped(1 - y_t * (score - w[r] * K[r, t] + w[r] * (onto_r @ k_t)), onto_t @ k_t, C)
                # w_{t+1} = w_t - a_r phi_r + sum_{i in V} beta_i phi_i, beta = a_r K_V^-1 k_r + y tau K_V^-1 k_t
                after = {i: a for i, a in w.items() if i != r}
                after[t] = 0.0 if K[t, t] > 0 else y_t * tau
                for i, beta in zip(V, w[r] * onto_r + y_t * tau * onto_t, strict=True):
                    after[i] = after.get(i, 0.0) + beta
                # Q = ||w_{t+1} - w_t||^2 / 2 + C loss(w_{t+1})
                change = {i: after.get(i, 0.0) - w.get(i, 0.0) for i in {r, *V}}
                rounds, moved = list(change), np.array(list(change.values()))
                distance = moved @ K[rounds][:, rounds] @ moved
                margin = y_t * sum(a * K[i, t] for i, a in after.items())
                found.append((distance / 2 + C * max(0.0, 1 - margin), after))
            Q, after = best(found, w, K)
            if not (keep and C * loss - slack(loss, K[t, t], C) <= Q):
                w = after
        record(trace, score, is_mistake(y_t, score, tie), w, update)
    return trace


def best(found, w, K):
    """The least Q, and the weights with it; among equal ones, up to rounding, the oldest example leaves."""
    # Half of the squared norm of the part of f that leaves, and what Q is rounded to.
    sizes = [0.5 * float(np.dot(w[i], w[i])) * K[i, i] + 1e-5 * Q for i, (Q, _) in zip(w, found, strict=True)]
    return found[first_smallest([Q for Q, _ in found], sizes)]


def slack(loss, square, C):
    """How much below C loss the best Q may be by rounding: 1e-9 of what the step alone saves, halved as in Q."""
    tau = clipped(loss, square, C)
    return 0.5e-9 * (2 * C - tau) * tau * square


def projecting(X, y, k, budget, C=1.0, keep=False, ridge=0.001, tie="mistake"):
    """BPA-P; the squared norm of the weights of a projection, times the ridge, is part of its error."""
    K = gram(X, k)
    trace = ProjectionTrace()
    w = {}
    for t, x_t, y_t in stream(X, y):
        score = rounded_value(w, X, x_t, k)
        loss = max(0.0, 1 - y_t * score)
        update = loss > TOLERANCE
        if update:
            # V has t, so the best step is that of PA-I
            tau = clipped(loss, K[t, t], C)
            after = w | {t: y_t * tau}
        if update and len(w) == budget:
            found = []
            for r in w:
                V = [i for i in after if i != r]
                # a_r K_V^-1 k_r
                onto_r = np.linalg.solve(K[V][:, V] + ridge * np.eye(len(V)), K[V, r])
                left = K[r, r] + ridge - onto_r @ K[V, r]
                Q = (w[r] ** 2 * left + tau**2 * K[t, t]) / 2 + C * (loss - tau * K[t, t])
                found.append((Q, {i: after[i] + w[r] * share for i, share in zip(V, onto_r, strict=True)}))
            Q, after = best(found, w, K)
            if keep and C * loss - slack(loss, K[t, t], C) <= Q:
                after = w
        if update:
            w = after
        record(trace, score, is_mistake(y_t, score, tie), w, update)
    return trace


def several(X, codes, k, n_classes, budget, C=1.0):
    """Multiclass BPA-S: every class's part of the example that leaves is projected on the new one."""
    K = gram(X, k)
    k_size = Known(lambda a, b: abs(k.k(a, b)))
    trace = ProjectionTrace()
    w = {}
    for t, x_t, y_t in stream(X, codes):
        scores = multiclass.values(w, X, x_t, k, n_classes)
        sizes = multiclass.values({i: np.abs(a) for i, a in w.items()}, X, x_t, k_size, n_classes)
        rival, lead = multiclass.best_rival(scores, y_t, tolerance=multiclass.negligible_each(sizes))
        loss = max(0.0, 1 - lead)
        update = loss > TOLERANCE
        if update:
            # tau = min(C, loss / 2), for k(x, x) = 1
            tau = clipped(loss, 2 * K[t, t], C)
            after = w | {t: np.array([tau * ((c == y_t) - (c == rival)) for c in range(n_classes)])}
        if update and len(w) == budget:
            found = []
            for r in w:
                changed = {i: a for i, a in after.items() if i != r}
                changed[t] = after[t] + w[r] * (K[r, t] / K[t, t] if K[t, t] > 0 else 0.0)
                # (the weights of the others are as before)
                rounds, moved = [r, t], np.array([-w[r], changed[t]])
                distance = np.sum(moved * (K[rounds][:, rounds] @ moved))
                # the loss, with the new rival
                now = [sum(a[c] * K[i, t] for i, a in changed.items()) for c in range(n_classes)]
                loss_now = max(0.0, 1 - (now[y_t] - max(s for c, s in enumerate(now) if c != y_t)))
                found.append((distance / 2 + C * loss_now, changed))
            _, after = best(found, w, K)
        if update:
            w = after
        record(trace, scores, lead <= 0, w, update)
    return trace


def clipped(numerator, denominator, C):
    return min(C, max(0.0, numerator / denominator)) if denominator > 0 else C


CASES = [
    (variant, given, partial(bpa, nearest=variant == "nearest", **given))
    for variant in ("simple", "nearest")
    for given in ({"budget": 1}, {"budget": 12}, {"budget": 30, "C": 0.1}, {"budget": 12, "C": 0.3, "keep": True})
]
CASES += cases(
    projecting, {"budget": 1}, {"budget": 12, "keep": True}, {"budget": 20, "C": 0.3, "ridge": 0.01},
    variant="projecting",
)  # fmt: skip
MULTICLASS_CASES = cases(several, {"budget": 1}, {"budget": 12}, {"budget": 30, "C": 0.1}, variant="simple")
