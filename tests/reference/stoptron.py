"""The Stoptron, as Wang, Crammer & Vucetic (2012), section 2.4, describe it."""

from reference.kernel_expansion import Trace, cases, is_mistake, record, stream, value


def stoptron(X, y, k, budget, tie="mistake"):
    trace = Trace()
    alpha = {}
    for t, x_t, y_t in stream(X, y):
        score = value(alpha, X, x_t, k)
        mistake = is_mistake(y_t, score, tie)
        # the Perceptron, which terminates when it has B support vectors
        if mistake and len(alpha) < budget:
            alpha[t] = y_t
        record(trace, score, mistake, alpha)
    return trace


CASES = cases(stoptron, *({"budget": B} for B in (1, 12, 40)))
