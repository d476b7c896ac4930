"""Li & Liao (2023): POMDR, as Liao, Li, Liao, Hu & Dang (2024) ran it."""

import math

import numpy as np

from reference.explicit import ExplicitTrace
from reference.kernel_expansion import cases, is_mistake, record, stream, value
from reference.projection import TOLERANCE, gram, norm


def rounded_sum(terms):
    total = math.fsum(terms)
    return 0.0 if abs(total) <= 1e-9 * math.fsum(map(abs, terms)) else total


def pomdr(X, y, k, budget, first_budget, eta, U=25.0, halving="before", tie="mistake"):
    K = gram(X, k)
    trace = ExplicitTrace()
    alpha, A, factor, halved = {}, 0.0, 1.0, False

    def inner(a, b):
        return math.fsum(p * q * K[i, j] for i, p in a.items() for j, q in b.items())

    def halve():
        nonlocal alpha, A, factor, halved
        # the older half stays, each leaving example's weight goes to the staying example nearest to it
        older, younger = list(alpha)[: budget // 2], list(alpha)[budget // 2 :]
        moved = {i: alpha[i] for i in older}
        for j in younger:
            largest = max(K[i, j] for i in older)
            moved[next(i for i in older if K[i, j] >= largest - 1e-9 * math.sqrt(K[i, i] * K[j, j]))] += alpha[j]
        size = norm(moved, K)
        alpha = {i: a * U / size if size > 0 else a for i, a in moved.items()}  # to norm exactly U
        A, factor, halved = 0.0, 0.1, True  # from now on lambda_t = 0.1 U / sqrt(3 + A)

    for t, _, y_t in stream(X, y):
        # h_t: mean over the last min(15, t - 1) rounds of y_j k(x_j, .)
        last = range(max(0, t - 15), t)
        h = {j: y[j] / len(last) for j in last}
        h_t = math.fsum(a * K[j, t] for j, a in h.items())
        step = factor * U / math.sqrt(3 + A)  # lambda_t
        # predict with f(x_t) + lambda_t h_t
        score = rounded_sum([a * K[i, t] for i, a in alpha.items()] + [step * a * K[j, t] for j, a in h.items()])
        update = 1 - y_t * score > TOLERANCE
        if update:  # act when y times that is < 1
            if len(alpha) == budget:
                halve()
                step = factor * U / math.sqrt(3 + A)
            S, e_squared = list(alpha), K[t, t]
            if not halved and len(alpha) < first_budget:  # phase one
                d = np.linalg.solve(K[np.ix_(S, S)], K[S, t]) if S else np.empty(0)  # d = K^{-1} k(x_t)
                e_squared = max(0.0, K[t, t] - float(d @ K[S, t]))
            if not halved and len(alpha) < first_budget and e_squared <= eta**2 + TOLERANCE * K[t, t]:
                P = dict(zip(S, d.tolist(), strict=True))
                for i in S:  # alpha += lambda_t y d
                    alpha[i] += step * y_t * P[i]
                A += max(0.0, inner(P, P) - 2 * y_t * inner(P, h))
            else:  # add x_t with lambda_t y
                alpha[t] = step * y_t
                A += max(0.0, K[t, t] - 2 * y_t * h_t)
            size = norm(alpha, K)
            if size > U:  # f is scaled back to norm U if it exceeds U
                alpha = {i: a * U / size for i, a in alpha.items()}
            if halving == "after" and len(alpha) == budget:
                halve()
        record(trace, score, is_mistake(y_t, score, tie), alpha, update)

    last = range(max(0, len(y) - 15), len(y))
    hint = {j: factor * U / math.sqrt(3 + A) * y[j] / len(last) for j in last}
    trace.final = lambda x: value(alpha, X, x, k) + value(hint, X, x, k)
    return trace


CASES = cases(
    pomdr,
    {"budget": 20, "first_budget": 8, "eta": 0.3},
    {"budget": 2, "first_budget": 1, "eta": 0.3, "U": 3.0},
    {"budget": 40, "first_budget": 40, "eta": 0.5},
    {"budget": 1000, "first_budget": 10, "eta": 0.5, "U": 5.0},
    {"budget": 2, "first_budget": 1, "eta": 0.3, "U": 3.0, "halving": "after"},
    {"budget": 20, "first_budget": 20, "eta": 0.3, "halving": "after"},
)
