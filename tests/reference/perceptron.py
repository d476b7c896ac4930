"""Dekel, Shalev-Shwartz & Singer (2008), section 2: the kernel Perceptron."""

from reference.kernel_expansion import Trace, is_mistake, record, stream, value
from reference.multiclass import best_rival, values


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


def multiclass_perceptron(X, codes, k, n_classes):
    """Crammer & Singer (2003): the Perceptron of several classes with the max-score update."""
    trace = Trace()
    alpha = {}
    for t, x_t, y_t in stream(X, codes):
        scores = values(alpha, X, x_t, k, n_classes)
        rival, lead = best_rival(scores, y_t, tolerance=0.0)
        mistake = lead <= 0  # f_y <= max_{r != y} f_r
        if mistake:  # x_t enters with +1 for its class and -1 for the rival
            alpha[t] = [0.0] * n_classes
            alpha[t][y_t] += 1
            alpha[t][rival] -= 1
        record(trace, scores, mistake, alpha)
    return trace


CASES = [(None, {}, perceptron)]
MULTICLASS_CASES = [(None, {}, multiclass_perceptron)]
