"""Dekel, Shalev-Shwartz & Singer (2008), section 2: the kernel Perceptron."""

from reference.kernel_expansion import Trace, is_mistake, record, stream, value


def perceptron(X, y, k, tie="mistake"):
    trace = Trace()
    alpha = {}  # I_1 is empty, so f_1 = 0
    for t, x_t, y_t in stream(X, y):
        score = value(alpha, X, x_t, k)  # f_t(x_t)
        mistake = is_mistake(y_t, score, tie)
        if mistake:  # y_t f_t(x_t) <= 0
            alpha[t] = y_t  # t is inserted into the active set, with weight y_t
        record(trace, score, mistake, alpha)
    return trace


CASES = [(None, {}, perceptron)]
