"""Dekel, Shalev-Shwartz & Singer (2008): the Forgetrons of Fig. 2, Fig. 3 and section 7."""

import math

from reference.kernel_expansion import Trace, cases, first_smallest, is_mistake, record, stream, value


def psi(lam, mu):
    return lam**2 + 2 * lam - 2 * lam * mu  # eq. (15)


def Phi_of(norm, phi, U):
    """Eq. (24)."""
    if phi * norm >= U:
        return 1.0  # J_1
    if norm <= U:
        return phi  # J_2
    return phi * norm / U  # J_3


def norm_of(f, X, k):
    return math.sqrt(max(0.0, math.fsum(f[i] * value(f, X, X[i], k) for i in f)))


def basic(X, y, k, budget, tie="mistake", cap="every_mistake", logarithm="natural"):
    """Fig. 2."""
    B = budget
    log = math.log if logarithm == "natural" else math.log2
    U = 0.25 * math.sqrt((B + 1) / log(B + 1))
    trace = Trace()
    sigma, Q = {}, 0.0  # I_1 is empty
    for t, x_t, y_t in stream(X, y):
        f = {i: y[i] * sigma[i] for i in sigma}
        score = value(f, X, x_t, k)
        mistake = is_mistake(y_t, score, tie)
        if mistake:
            # (1) I'_t = I_t + {t};  f'_t = f_t + y_t k(x_t, .)
            sigma[t] = 1.0
            f[t] = y_t
            norm = norm_of(f, X, k)
            # (2) phi_t, and every weight shrinks
            phi = (B + 1) ** (-1 / (2 * (B + 1)))
            if (cap == "every_mistake" or len(sigma) > B) and norm > 0:
                phi = min(phi, U / norm)
            for i in sigma:
                sigma[i] *= phi
            trace.phi.append(phi)
            trace.Phi.append(Phi_of(norm, phi, U))
            # (3) past the budget the oldest is removed
            if len(sigma) > B:
                r = min(sigma)
                Q += psi(sigma[r], phi * y[r] * value(f, X, X[r], k))
                del sigma[r]
            trace.Q.append(Q)
        record(trace, score, mistake, {i: y[i] * sigma[i] for i in sigma})
    return trace


def phi_of(sigma_r, mu, Q, M):
    """Eqs. (43)-(44), as published."""
    a = sigma_r**2 - 2 * sigma_r * mu
    b = 2 * sigma_r
    c = Q - 15 / 32 * M
    d = b**2 - 4 * a * c
    if a > 0 or (a < 0 and d > 0 and (-b - math.sqrt(d)) / (2 * a) > 1):
        return min(1.0, (-b + math.sqrt(d)) / (2 * a))
    if a == 0:
        return min(1.0, -c / b)
    return 1.0


def self_tuned(X, y, k, budget, tie="mistake", choose=None):
    """Fig. 3; ``choose`` picks r_t otherwise than min I_t (section 7)."""
    B = budget
    U = 0.25 * math.sqrt((B + 1) / math.log(B + 1))
    trace = Trace()
    sigma, Q, M = {}, 0.0, 0
    for t, x_t, y_t in stream(X, y):
        f = {i: y[i] * sigma[i] for i in sigma}
        score = value(f, X, x_t, k)
        mistake = is_mistake(y_t, score, tie)
        if mistake:
            M += 1
            I_t = list(sigma)
            sigma[t] = 1.0  # (1) I'_t = I_t + {t}
            f[t] = y_t
            if len(sigma) > B:
                # (2) r_t, phi_t and the shrinking
                r = choose(I_t, sigma, f, Q, M) if choose else min(I_t)
                mu = y[r] * value(f, X, X[r], k)
                phi = phi_of(sigma[r], mu, Q, M)
                for i in sigma:
                    sigma[i] *= phi
                Q += psi(sigma[r], phi * mu)
                trace.phi.append(phi)
                trace.Phi.append(Phi_of(norm_of(f, X, k), phi, U))
                # (3) I_{t+1} = I'_t - {r_t}
                del sigma[r]
            assert Q <= 15 / 32 * M + 1e-9
            trace.Q.append(Q)
        record(trace, score, mistake, {i: y[i] * sigma[i] for i in sigma})
    return trace


def greedy(X, y, k, budget, tie="mistake", test="per_round"):
    """Section 7: eqs. (51)-(52)."""

    def choose(I_t, sigma, f, Q, M):
        damage = [psi(sigma[i], y[i] * value(f, X, X[i], k)) for i in I_t]
        j = first_smallest(damage)
        allowed = 15 / 32 if test == "per_round" else 15 / 32 * M - Q
        # A tight constraint gives damages of exactly 15/32: rounding must not decide.
        return I_t[j] if damage[j] <= allowed + 1e-9 else min(I_t)

    return self_tuned(X, y, k, budget, tie, choose)


CASES = cases(
    basic, *({"budget": B} for B in (1, 8, 30)), {"budget": 8, "cap": "when_full"},
    {"budget": 20, "cap": "when_full", "logarithm": "base2"}, variant="basic",
)  # fmt: skip
CASES += cases(self_tuned, *({"budget": B} for B in (1, 2, 8, 30)), variant="self_tuned")
CASES += cases(greedy, *({"budget": B} for B in (1, 8, 30)), {"budget": 8, "test": "cumulative"}, variant="greedy")
