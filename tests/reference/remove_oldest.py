"""Dekel, Shalev-Shwartz & Singer (2008), section 3: the Remove-Oldest Perceptron."""

from reference.kernel_expansion import Trace, cases, is_mistake, record, stream, value


def remove_oldest(X, y, k, budget, tie="mistake"):
    trace = Trace()
    alpha = {}
    for t, x_t, y_t in stream(X, y):
        score = value(alpha, X, x_t, k)
        mistake = is_mistake(y_t, score, tie)
        if mistake:
            alpha[t] = y_t  # I'_t = I_t + {t}, eq. (7)
            if len(alpha) == budget + 1:  # |I'_t| = B + 1, eq. (9)
                r = min(alpha)  # r_t = min I'_t
                mu = alpha[r] * value(alpha, X, X[r], k)
                trace.Q.append(3 - 2 * mu)  # Psi(1, mu), after Corollary 1
                del alpha[r]
        record(trace, score, mistake, alpha)
    return trace


CASES = cases(remove_oldest, *({"budget": B} for B in (1, 7, 30)))
