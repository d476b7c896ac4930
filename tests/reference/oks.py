"""OKS with the constants of a later program, for the logistic loss, and IOKS: Li & Liao (2022)."""

import math

import numpy as np

from reference.explicit import ExplicitTrace
from reference.kernel_expansion import cases, draw, gaussian, is_mistake, record, rounded_value, stream, value
from reference.raker import FACTORS


def widths(k, factors):
    gamma = -math.log(k(np.zeros(1), np.ones(1)))
    return [gaussian(c * gamma) for c in factors]


def note(trace, y_t, score, tie, f, order):
    every = {t: f[i][t] for t, i in order.items()}
    record(trace, score, is_mistake(y_t, score, tie), every, True)


def oks(X, y, k, horizon, factors=FACTORS, step=None, seed=0, tie="mistake"):
    X = np.asarray(X, dtype=float)
    K, T = len(factors), horizon
    d = (K / T) ** (1 / 3)
    eta = math.sqrt(2 * (1 - d) * math.log(K) / (K * T))
    lam = 25 * math.sqrt(d) / math.sqrt(K * T) if step is None else step
    kernels, random, trace = widths(k, factors), np.random.default_rng(seed), ExplicitTrace()
    f, order, L, p = [{} for _ in factors], {}, [0.0] * K, [1 / K] * K
    for t, x_t, y_t in stream(X, y):
        chosen = draw(random, p)  # draw kernel I ~ p, predict and update only f_I
        score = rounded_value(f[chosen], X, x_t, kernels[chosen])
        s = 1 / (1 + math.exp(y_t * score))
        f[chosen][t] = lam * y_t * s / p[chosen]
        order[t] = chosen
        L[chosen] += math.log(1 + math.exp(-y_t * score)) / p[chosen]  # L_I += loss / p_I
        e = [math.exp(-eta * (L_i - min(L))) for L_i in L]
        p = [(1 - d) * e_i / sum(e) + d / K for e_i in e]
        note(trace, y_t, score, tie, f, order)
    chosen = draw(random, p)
    trace.final = lambda x: value(f[chosen], X, x, kernels[chosen])
    return trace


def ioks(X, y, k, horizon, factors=FACTORS, U=15.0, seed=0, tie="mistake"):
    X = np.asarray(X, dtype=float)
    K, T = len(factors), horizon
    kap = math.exp(2 / (3 * math.log(T)))
    kernels, random, trace = widths(k, factors), np.random.default_rng(seed), ExplicitTrace()
    f, order = [{} for _ in factors], {}
    p = q = [1 / K] * K
    eta = [8 * K ** (3 / 8) / (U * math.sqrt(T) * math.log(T) ** (1 / 2))] * K
    rho, norm, norm_tilde_nabla = [2 * K] * K, [0.0] * K, [0.0] * K
    for t, x_t, y_t in stream(X, y):
        It = draw(random, p)
        fx = rounded_value(f[It], X, x_t, kernels[It])
        s, loss = 1 / (1 + math.exp(y_t * fx)), math.log(1 + math.exp(-y_t * fx))
        norm_tilde_nabla[It] += (s / p[It]) ** 2
        lam = math.sqrt(0.5) * U / math.sqrt(1 + norm_tilde_nabla[It])
        tilde_nabla = -s * y_t / p[It]
        f[It][t] = -lam * tilde_nabla
        order[t] = It
        norm[It] = math.sqrt(norm[It] ** 2 - 2 * lam * tilde_nabla * fx + (lam * tilde_nabla) ** 2)
        if norm[It] > U:
            f[It] = {j: a * U / norm[It] for j, a in f[It].items()}
            norm[It] = U
        tilde_ell = [0.0] * K
        tilde_ell[It] = loss / p[It] if p[It] > max(eta) else loss / (p[It] + max(eta))
        q = binary_search(q, eta, tilde_ell)
        p = [(1 - T ** (-3 / 4)) * q_j + T ** (-3 / 4) / K for q_j in q]
        for j in range(K):
            if 1 / p[j] > rho[j]:
                rho[j] = 2 / p[j]
                eta[j] = kap * eta[j]
        note(trace, y_t, fx, tie, f, order)
    It = draw(random, p)
    trace.final = lambda x: value(f[It], X, x, kernels[It])
    return trace


def binary_search(q, eta, tilde_ell):
    """q = (q^(-7/8) + eta (l - lambda*))^(-8/7), with lambda* between 0 and the loss at which they sum to 1."""
    lower, upper = 0.0, max(tilde_ell)
    for _ in range(200):
        lambda_ast = (lower + upper) / 2
        tem = [q_j ** (-7 / 8) + e_j * (l_j - lambda_ast) for q_j, e_j, l_j in zip(q, eta, tilde_ell, strict=True)]
        if min(tem) <= 0 or math.fsum(v ** (-8 / 7) for v in tem) > 1:
            upper = lambda_ast
        else:
            lower = lambda_ast
    tem = [q_j ** (-7 / 8) + e_j * (l_j - lower) for q_j, e_j, l_j in zip(q, eta, tilde_ell, strict=True)]
    return [v ** (-8 / 7) for v in tem]


CASES = cases(
    oks,
    {"horizon": 220},
    {"horizon": 50, "factors": [8.0, 1.0, 0.1], "step": 0.3, "seed": 3},
    {"horizon": 1, "factors": [1.0]},
)
